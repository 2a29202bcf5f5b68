//! A project as a short text describes it: its files, what is in them, and the fixes of its history.
//!
//! `path | about | uses | items` is a file, with a test if a `+` is before it; `! title | criteria | files` is a fix.

use std::{fmt::Write, path::Path};

use anyhow::{Context, ensure};

use crate::{
    git::Git,
    render::{Language, documents, source, test},
};

/// A project.
pub(crate) struct Project {
    pub(crate) language: Language,
    pub(crate) files: Vec<File>,
    fixes: Vec<Fix>,
}

/// A source file.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) about: String,
    /// The paths of the files that it uses.
    pub(crate) uses: Vec<String>,
    pub(crate) items: Vec<Item>,
    pub(crate) has_test: bool,
}

/// Something that a file defines.
pub(crate) struct Item {
    pub(crate) name: String,
    /// What it does; empty for a type.
    pub(crate) does: String,
}

/// A change of some files, for a reason that is given in the words of somebody who does not know them.
struct Fix {
    title: String,
    criteria: String,
    paths: Vec<String>,
}

impl Project {
    /// Reads the description.
    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let language = lines.next().and_then(|line| line.strip_prefix("language "));
        let language = Language::named(language.context("the first line names the language")?)?;
        let mut project = Self { language, files: Vec::new(), fixes: Vec::new() };
        for line in lines {
            let fields: Vec<&str> = line.trim_start_matches(['+', '!']).split('|').map(str::trim).collect();
            match (line.as_bytes()[0], &fields[..]) {
                (b'!', [title, criteria, paths]) => project.fixes.push(Fix {
                    title: (*title).to_owned(),
                    criteria: (*criteria).to_owned(),
                    paths: paths.split_whitespace().map(str::to_owned).collect(),
                }),
                (first, [path, about, uses, items]) => project.files.push(File {
                    path: (*path).to_owned(),
                    about: (*about).to_owned(),
                    uses: uses.split_whitespace().map(str::to_owned).collect(),
                    items: items.split(';').map(item).collect(),
                    has_test: first == b'+',
                }),
                _ => anyhow::bail!("not a file and not a fix: {line}"),
            }
        }
        project.resolve()?;
        Ok(project)
    }

    /// Puts whole paths where ends of them are.
    fn resolve(&mut self) -> anyhow::Result<()> {
        let paths: Vec<String> = self.files.iter().map(|file| file.path.clone()).collect();
        let find = |end: &str| {
            let is_it = |path: &&String| {
                path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
                    || path.rsplit('/').next().and_then(|name| name.split('.').next()) == Some(end)
            };
            let found: Vec<&String> = paths.iter().filter(is_it).collect();
            ensure!(found.len() == 1, "{end} is {found:?}");
            Ok(found[0].clone())
        };
        for end in self.files.iter_mut().flat_map(|file| &mut file.uses) {
            *end = find(end)?;
        }
        for end in self.fixes.iter_mut().flat_map(|fix| &mut fix.paths) {
            *end = find(end)?;
        }
        Ok(())
    }

    /// Makes a repository of it: everything in one commit, then one for each fix.
    pub(crate) fn write(&self, git: &Git, path: &Path) -> anyhow::Result<()> {
        std::fs::create_dir_all(path)?;
        git.run(path, ["init", "--quiet", "--initial-branch=main", "."], b"")?;
        let mut files: Vec<(String, String)> = documents(self);
        for file in &self.files {
            files.push((file.path.clone(), source(self, file)));
            if file.has_test {
                files.push(test(self, file));
            }
        }
        let mut stream = String::new();
        commit(&mut stream, 0, "Begin", &files);
        for (n, fix) in self.fixes.iter().enumerate() {
            let mut changed = Vec::new();
            for path in &fix.paths {
                let (_, text) =
                    files.iter_mut().find(|(known, _)| known == path).context("a fix of no file")?;
                let _ = writeln!(text, "{} Since release 1.{n}.", self.language.comment());
                changed.push((path.clone(), text.clone()));
            }
            let message = format!("{}\n\n{}", fix.title, fix.criteria);
            commit(&mut stream, n + 1, &message, &changed);
        }
        git.run(path, ["fast-import", "--quiet"], stream.as_bytes()).map(drop)
    }
}

fn item(text: &str) -> Item {
    let (name, does) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    Item { name: name.to_owned(), does: does.to_owned() }
}

/// Writes a commit as `git fast-import` reads it.
fn commit(stream: &mut String, n: usize, message: &str, files: &[(String, String)]) {
    let _ = write!(
        stream,
        "commit refs/heads/main\ncommitter bench <bench@localhost.invalid> {} +0000\ndata {}\n{message}\n",
        1_700_000_000 + n,
        message.len()
    );
    for (path, text) in files {
        let _ = write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len());
    }
}
