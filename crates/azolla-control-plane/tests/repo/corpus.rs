//! Answers as models write them, good and bad, each with the files or the words that come of it (T32).
//!
//! `tests/edits/*.txt` hold the cases, written by thought and not from what the program printed. A line that begins
//! with `§ ` opens a part:
//!
//! - `files NAME`, then `base` parts: files that cases share
//! - `case TITLE`, `uses NAME`, `base PATH [crlf] [cut] [mode=M]`, `answer [crlf]`: what is there and what is said;
//!   `cut` is a file whose last line has no end
//! - `becomes PATH [crlf] [cut] [mode=M]`, `gone PATH`, `nothing`, `refused`: what comes of it, and nothing else

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use azolla_control_plane::repo::{Attempt, Candidate, GitRepository, Repository, TakeError};
use futures_util::{StreamExt, stream};

use crate::support::{World, attempt};

/// Text and mode.
type Files = BTreeMap<String, (String, String)>;

#[derive(Clone, Debug, Default)]
struct Case {
    title: String,
    base: Files,
    answer: String,
    expected: Expected,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Expected {
    #[default]
    Unsaid,
    /// Files that are there afterwards; none for those that are gone.
    Changed(BTreeMap<String, Option<(String, String)>>),
    Nothing,
    Refused(String),
}

#[tokio::test]
async fn t32_every_answer_of_the_corpus_becomes_the_files_or_the_words_that_it_should() {
    let cases = cases();
    let world = World::new();
    let bases = commit_bases(&world, &cases);
    let repository = world.open();
    repository.base("corpus").await.unwrap();
    let failures: Vec<String> = stream::iter(cases.iter().zip(&bases))
        .map(|(case, base)| run(&world, &repository, case, attempt(base)))
        .buffer_unordered(4)
        .filter_map(|failure| async { failure })
        .collect()
        .await;
    assert!(failures.is_empty(), "{} of {} cases:\n\n{}", failures.len(), cases.len(), failures.join("\n\n"));
}

#[test]
fn the_corpus_has_at_least_two_hundred_answers_and_many_that_are_refused() {
    let cases = cases();
    let refused = cases.iter().filter(|case| matches!(case.expected, Expected::Refused(_))).count();
    assert!(cases.len() >= 200 && refused >= 60, "{} cases, {refused} of them refused", cases.len());
    let mut titles: Vec<&str> = cases.iter().map(|case| case.title.as_str()).collect();
    titles.sort_unstable();
    let twice: Vec<_> = titles.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

/// Returns what is wrong with what came of a case.
async fn run(world: &World, repository: &GitRepository, case: &Case, attempt: Attempt) -> Option<String> {
    let taken = repository.take(&attempt, Candidate::Text(&case.answer)).await;
    let found = match taken {
        Ok(taken) => {
            let listed = world.mirror_run(&["ls-tree", "-r", &taken.commit]);
            let mut changed = BTreeMap::new();
            for path in &taken.paths {
                let bytes = repository.file(&taken.commit, path, 1 << 20).await.unwrap();
                let text = bytes.map(|bytes| String::from_utf8(bytes).unwrap());
                changed.insert(path.clone(), text.map(|text| (text, mode_of(&listed, path))));
            }
            Expected::Changed(changed)
        }
        Err(TakeError::NoChange) => Expected::Nothing,
        Err(TakeError::Refused { reason, .. }) => Expected::Refused(reason),
        Err(error) => return Some(format!("{}: {error}", case.title)),
    };
    (found != case.expected)
        .then(|| format!("{}\n  expected {:?}\n  found    {:?}", case.title, case.expected, found))
}

/// Returns the mode of a file, if it is not that of an ordinary one.
fn mode_of(listed: &str, path: &str) -> String {
    let line = listed.lines().find(|line| line.ends_with(&format!("\t{path}"))).unwrap_or_default();
    line.split(' ').next().filter(|mode| *mode != "100644").unwrap_or_default().to_owned()
}

/// Commits the files of each case, one after the other, on a branch of the operator's; returns the commits.
fn commit_bases(world: &World, cases: &[Case]) -> Vec<String> {
    let mut stream = String::new();
    for (n, case) in cases.iter().enumerate() {
        let name = "x <x@example.org> 0 +0000";
        writeln!(stream, "commit refs/heads/corpus\nmark :{}\ncommitter {name}\ndata 1\nx", n + 1).unwrap();
        if n > 0 {
            writeln!(stream, "from :{n}").unwrap();
        }
        stream.push_str("deleteall\n");
        for (path, (text, mode)) in &case.base {
            let mode = if mode.is_empty() { "100644" } else { mode };
            writeln!(stream, "M {mode} inline {path}\ndata {}\n{text}", text.len()).unwrap();
        }
    }
    let file = world.dir.path().join("stream");
    fs::write(&file, stream).unwrap();
    world.run(&["config", "alias.import", "!git fast-import --quiet < \"$1\"; :"]);
    world.run(&["import", file.to_str().unwrap()]);
    let list = world.run(&["rev-list", "--reverse", "refs/heads/corpus"]);
    let commits: Vec<String> = list.lines().map(str::to_owned).collect();
    assert_eq!(commits.len(), cases.len());
    commits
}

fn cases() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edits");
    let mut paths: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| read(&fs::read_to_string(path).unwrap(), path)).collect()
}

fn read(text: &str, path: &Path) -> Vec<Case> {
    let theme = path.file_stem().unwrap().to_str().unwrap();
    let mut shared: BTreeMap<String, Files> = BTreeMap::new();
    let mut cases: Vec<Case> = Vec::new();
    let mut open: Option<String> = None;
    let text = text.strip_suffix('\n').unwrap_or(text);
    for part in format!("\n{text}").split("\n§ ").skip(1) {
        let (head, body) = part.split_once('\n').unwrap_or((part, ""));
        let body = if body.is_empty() { String::new() } else { format!("{body}\n") };
        let (kind, rest) = head.split_once(' ').unwrap_or((head, ""));
        match kind {
            "files" => {
                open = Some(rest.to_owned());
                shared.insert(rest.to_owned(), Files::new());
                continue;
            }
            "case" => {
                open = None;
                cases.push(Case { title: format!("{theme}: {rest}"), ..Case::default() });
                continue;
            }
            _ => {}
        }
        if let Some(name) = &open {
            assert_eq!(kind, "base", "{theme}: {head}");
            let (path, file) = file(rest, &body);
            shared.get_mut(name).unwrap().insert(path, file);
            continue;
        }
        let case = cases.last_mut().unwrap();
        match kind {
            "uses" => case.base.extend(shared[rest].clone()),
            "base" => case.base.extend([file(rest, &body)]),
            "answer" if rest == "crlf" => case.answer = body.replace('\n', "\r\n"),
            "answer" => case.answer = body,
            "becomes" => {
                let (path, file) = file(rest, &body);
                case.expected.changed().insert(path, Some(file));
            }
            "gone" => drop(case.expected.changed().insert(rest.to_owned(), None)),
            "nothing" => case.expected = Expected::Nothing,
            "refused" => case.expected = Expected::Refused(body.trim_end().to_owned()),
            _ => panic!("{theme}: {head}"),
        }
    }
    for case in &cases {
        assert_ne!(case.expected, Expected::Unsaid, "{}", case.title);
    }
    cases
}

impl Expected {
    fn changed(&mut self) -> &mut BTreeMap<String, Option<(String, String)>> {
        if *self == Self::Unsaid {
            *self = Self::Changed(BTreeMap::new());
        }
        match self {
            Self::Changed(changed) => changed,
            other => panic!("a case has two ends: {other:?}"),
        }
    }
}

/// Reads `PATH [crlf] [cut] [mode=M]` and a text.
fn file(head: &str, text: &str) -> (String, (String, String)) {
    let mut words = head.split(' ');
    let path = words.next().unwrap().replace('␣', " ");
    let (mut text, mut mode) = (text.to_owned(), String::new());
    for word in words {
        match word.split_once('=') {
            None if word == "crlf" => text = text.replace('\n', "\r\n"),
            None if word == "cut" => {
                text = text.trim_end_matches(['\r', '\n']).to_owned();
            }
            Some(("mode", value)) => mode = value.to_owned(),
            _ => panic!("{head}"),
        }
    }
    (path, (text, mode))
}
