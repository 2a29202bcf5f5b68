//! Files of a project as source text: comments, imports, and bodies whose names come from what each item does.

use std::fmt::Write;

use anyhow::bail;

use crate::project::{File, Item, Project};

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    Rust,
    TypeScript,
    C,
}

impl Language {
    pub(crate) fn named(name: &str) -> anyhow::Result<Self> {
        Ok(match name {
            "python" => Self::Python,
            "rust" => Self::Rust,
            "typescript" => Self::TypeScript,
            "c" => Self::C,
            _ => bail!("no language {name}"),
        })
    }

    /// Returns how a comment begins.
    pub(crate) fn comment(self) -> &'static str {
        if self == Self::Python { "#" } else { "//" }
    }
}

/// Returns the text of a source file.
pub(crate) fn source(project: &Project, file: &File) -> String {
    let language = project.language;
    let mut text = match language {
        Language::Python => format!("\"\"\"{}\"\"\"\n\nimport logging\n", file.about),
        Language::Rust => format!("//! {}\n\nuse std::io;\n\n", file.about),
        Language::TypeScript => format!("// {}\n\n", file.about),
        Language::C => format!("/* {} */\n\n#include <stddef.h>\n#include \"internal.h\"\n", file.about),
    };
    for used in &file.uses {
        import(language, &file.path, used, &mut text);
    }
    for (n, item) in file.items.iter().enumerate() {
        text.push('\n');
        define(project, file, item, n, &mut text);
    }
    text
}

/// Returns the path and text of a file's test.
pub(crate) fn test(project: &Project, file: &File) -> (String, String) {
    let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    let language = project.language;
    let path = match language {
        Language::Python | Language::C => format!("tests/test_{}.{extension}", file.path_words()),
        Language::Rust => format!("tests/{}.rs", file.path_words()),
        Language::TypeScript => format!("{directory}/{stem}.test.{extension}"),
    };
    let mut text = format!("{} Tests of {stem}.\n", language.comment());
    import(language, &path, &file.path, &mut text);
    for item in file.items.iter().filter(|item| !item.does.is_empty()) {
        let words = names_in(&item.does).join("_");
        let (name, call) = (format!("{}_{words}", item.name), &item.name);
        let _ = match language {
            Language::Python => write!(text, "\ndef test_{name}():\n    assert {call}(1, 2) == 3\n"),
            Language::Rust => {
                write!(text, "\n#[test]\nfn {name}() {{\n    assert_eq!({call}(1, 2), 3);\n}}\n")
            }
            Language::TypeScript => {
                write!(text, "\ntest(\"{}\", () => {{\n  expect({call}(1, 2)).toBe(3);\n}});\n", item.does)
            }
            Language::C => {
                write!(text, "\nstatic void {name}(void) {{\n    ASSERT_EQ({call}(1, 2), 3);\n}}\n")
            }
        };
    }
    (path, text)
}

/// Returns prose and data beside the sources: what has the words of many files and is rarely what changes.
pub(crate) fn documents(project: &Project) -> Vec<(String, String)> {
    let mut readme = String::from("# Overview\n\n");
    let mut reference = String::from("# Reference\n\n");
    let mut lock = String::from("{\"packages\": {\n");
    for file in &project.files {
        let _ = writeln!(readme, "- {}", file.about);
        let _ = writeln!(lock, "  \"{}\": {{\"version\": \"1.0.{}\"}},", file.path_words(), file.about.len());
        for item in &file.items {
            let _ = writeln!(reference, "## {}\n\n{}\n", item.name, item.does);
        }
    }
    vec![
        ("README.md".to_owned(), readme),
        ("docs/reference.md".to_owned(), reference),
        ("CHANGELOG.md".to_owned(), "# Changes\n\n## 1.0\n\n- First release.\n".to_owned()),
        ("package-lock.json".to_owned(), lock + "}}\n"),
        (
            "LICENSE".to_owned(),
            "Permission is granted to use, copy and change this for any purpose.\n".to_owned(),
        ),
        (".editorconfig".to_owned(), "root = true\n\n[*]\nindent_style = space\n".to_owned()),
    ]
}

impl File {
    /// Returns the path below the first directory as one word.
    fn path_words(&self) -> String {
        let below = self.path.split_once('/').map_or(self.path.as_str(), |(_, below)| below);
        below.split('.').next().unwrap_or(below).replace('/', "_")
    }
}

fn import(language: Language, from: &str, used: &str, text: &mut String) {
    let stem = used.split('.').next().unwrap_or(used);
    let name = stem.rsplit('/').next().unwrap_or(stem);
    let _ = match language {
        Language::Python => {
            let package = stem.rsplit_once('/').map_or("", |(package, _)| package).replace('/', ".");
            writeln!(text, "from {package} import {name}")
        }
        Language::Rust => {
            writeln!(text, "use crate::{};", stem.trim_start_matches("src/").replace('/', "::"))
        }
        Language::TypeScript => {
            let up = "../".repeat(from.matches('/').count().saturating_sub(1));
            writeln!(text, "import * as {name} from \"{up}{}\";", stem.trim_start_matches("src/"))
        }
        Language::C => writeln!(text, "#include \"{name}.h\""),
    };
}

/// Writes a function or a type. Its locals are named by what it does, and it calls what the file uses.
fn define(project: &Project, file: &File, item: &Item, n: usize, text: &mut String) {
    let names = names_in(if item.does.is_empty() { &file.about } else { &item.does });
    let (first, name) = (names.first().map_or("value", String::as_str), &item.name);
    let is_type = item.does.is_empty();
    let _ = match (project.language, is_type) {
        (Language::Python, true) => writeln!(text, "class {name}:\n    def __init__(self, {first}):"),
        (Language::Python, false) => {
            writeln!(text, "def {name}({first}, options=None):\n    \"\"\"{}.\"\"\"", item.does)
        }
        (Language::Rust, true) => {
            writeln!(text, "pub struct {name};\n\nimpl {name} {{\n    pub fn new() -> Self {{")
        }
        (Language::Rust, false) => {
            writeln!(
                text,
                "/// {}.\npub fn {name}({first}: u64, limit: u64) -> io::Result<u64> {{",
                item.does
            )
        }
        (Language::TypeScript, true) => {
            writeln!(text, "export class {name} {{\n  constructor({first}: number) {{")
        }
        (Language::TypeScript, false) => {
            writeln!(text, "// {}.\nexport function {name}({first}: number, limit = 0) {{", item.does)
        }
        (Language::C, _) => {
            writeln!(text, "/* {}. */\nint {name}(struct context *context, size_t {first}) {{", item.does)
        }
    };
    body(project, file, &names, n, text);
    text.push_str(match (project.language, is_type) {
        (Language::Python, _) => "",
        (Language::Rust, true) => "        Self\n    }\n}\n",
        (Language::Rust, false) => "    Ok(limit)\n}\n",
        (Language::TypeScript, true) => "  }\n}\n",
        (Language::TypeScript, false) => "  return limit;\n}\n",
        (Language::C, _) => "    return 0;\n}\n",
    });
}

fn body(project: &Project, file: &File, names: &[String], n: usize, text: &mut String) {
    let used: Vec<&File> = project.files.iter().filter(|other| file.uses.contains(&other.path)).collect();
    let mut before = names.first().cloned().unwrap_or_else(|| "value".to_owned());
    for (step, name) in names.iter().skip(1).enumerate() {
        let call = used.get((n + step) % used.len().max(1)).and_then(|other| {
            let item = other.items.get(step % other.items.len())?;
            let stem = other.path.rsplit('/').next()?.split('.').next()?;
            Some(match project.language {
                Language::Python | Language::TypeScript => format!("{stem}.{}({before})", item.name),
                Language::Rust => format!("{stem}::{}({before})", item.name),
                Language::C => format!("{}(context, {before})", item.name),
            })
        });
        let call = call.unwrap_or_else(|| format!("{before} + {step}"));
        let _ = match project.language {
            Language::Python => writeln!(
                text,
                "    {name} = {call}\n    if not {name}:\n        logging.debug(\"no {name}\")"
            ),
            Language::Rust => writeln!(
                text,
                "    let {name} = {call};\n    if {name} == 0 {{\n        log::debug!(\"no {name}\");\n    }}"
            ),
            Language::TypeScript => {
                writeln!(text, "  const {name} = {call};\n  if (!{name}) console.debug(\"no {name}\");")
            }
            Language::C => writeln!(
                text,
                "    size_t {name} = {call};\n    if ({name} == 0) log_write(context, \"no {name}\");"
            ),
        };
        before.clone_from(name);
    }
    if project.language == Language::Python {
        let _ = writeln!(text, "    return {before}");
    }
}

/// Returns the longer words of a sentence, each once.
fn names_in(sentence: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in sentence.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() > 3) {
        let word = word.to_ascii_lowercase();
        if !names.contains(&word) {
            names.push(word);
        }
    }
    names
}
