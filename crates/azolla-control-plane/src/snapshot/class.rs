//! What sort of file a path is, as far as its name tells: some are rarely what an objective is about.

use crate::repo::Entry;

/// Bytes of a file whose text takes part in the ranking.
pub const FILE_BYTES_MAX: u64 = 256 << 10;

/// A sort of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Source, and whatever else is not one of the others.
    Source,
    /// A test.
    Test,
    /// Prose for people.
    Document,
    /// Settings and data.
    Data,
    /// Made by a program or by others: lock files, vendored trees, bundles.
    Foreign,
    /// Nothing that can be shown as text, or too large for it.
    Opaque,
}

impl Class {
    /// Returns by how much a match in such a file counts; `is_about_prose` says that documents are what is looked for.
    pub(super) fn factor(self, is_about_prose: bool) -> f64 {
        match self {
            Self::Document if is_about_prose => 1.5,
            Self::Source => 1.0,
            // Tests repeat the words of what they test; the change itself is usually next to them.
            Self::Test => 0.75,
            // Prose has the words of an objective more often than the code that it is about.
            Self::Document => 0.45,
            Self::Data => 0.5,
            // Still there if it is all that matches.
            Self::Foreign => 0.02,
            Self::Opaque => 0.0,
        }
    }
}

/// Returns the sort of an entry of a tree.
pub fn class(entry: &Entry) -> Class {
    if !entry.is_file() || entry.size == 0 || entry.size > FILE_BYTES_MAX {
        return Class::Opaque;
    }
    let path = entry.path.to_ascii_lowercase();
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let below = |names: &[&str]| directories.split('/').any(|directory| names.contains(&directory));
    if OPAQUE.contains(&extension) {
        Class::Opaque
    } else if below(FOREIGN_DIRECTORIES)
        || FOREIGN_NAMES.contains(&name)
        || FOREIGN_MARKS.iter().any(|mark| name.contains(mark))
        || extension == "lock"
    {
        Class::Foreign
    } else if is_test(name) || below(TEST_DIRECTORIES) {
        Class::Test
    } else if DOCUMENTS.contains(&extension) || name.starts_with("license") || name.starts_with("copying") {
        Class::Document
    } else if DATA.contains(&extension) || name.starts_with('.') {
        Class::Data
    } else {
        Class::Source
    }
}

/// Tells whether a text says of itself that a program wrote it, or has lines that no person writes.
pub(super) fn is_machine_made(text: &str) -> bool {
    /// Lines at the beginning where such a notice stands.
    const NOTICE_LINES: usize = 8;
    /// Bytes of a line, on average, in minified text and in data without line breaks.
    const LINE_BYTES: usize = 300;
    let notice = |line: &str| {
        line.contains("@generated") || line.contains("DO NOT EDIT") || line.contains("Code generated")
    };
    let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
    text.lines().take(NOTICE_LINES).any(notice) || text.len() / lines > LINE_BYTES
}

fn is_test(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    stem.starts_with("test_")
        || matches!(stem, "test" | "tests" | "conftest")
        || ["_test", "_tests", "_spec"].iter().any(|end| stem.ends_with(end))
        || [".test.", ".spec."].iter().any(|mark| name.contains(mark))
}

const OPAQUE: &[&str] = &[
    "7z", "a", "avi", "bin", "bmp", "bz2", "class", "db", "dll", "doc", "docx", "dylib", "eot", "exe", "gif",
    "gz", "ico", "icns", "jar", "jpeg", "jpg", "mo", "mov", "mp3", "mp4", "o", "obj", "ogg", "otf",
    "parquet", "pdf", "png", "ppt", "pptx", "psd", "pyc", "rar", "so", "sqlite", "tar", "tgz", "tif", "tiff",
    "ttf", "wasm", "wav", "webm", "webp", "whl", "woff", "woff2", "xls", "xlsx", "xz", "zip", "zst",
];
const FOREIGN_DIRECTORIES: &[&str] = &[
    "vendor",
    "vendored",
    "third_party",
    "third-party",
    "thirdparty",
    "node_modules",
    "bower_components",
    "dist",
    "generated",
    "__generated__",
    "__snapshots__",
    "site-packages",
    "pods",
    ".yarn",
];
const FOREIGN_NAMES: &[&str] = &[
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "cargo.lock",
    "go.sum",
    "poetry.lock",
    "pipfile.lock",
    "composer.lock",
    "gemfile.lock",
    "uv.lock",
    "flake.lock",
];
const FOREIGN_MARKS: &[&str] = &[
    ".min.",
    ".bundle.",
    "-bundle.",
    "_pb2.",
    ".pb.",
    "_generated.",
    ".generated.",
    ".designer.",
    ".snap",
    ".map",
];
const TEST_DIRECTORIES: &[&str] =
    &["test", "tests", "__tests__", "spec", "specs", "testdata", "fixtures", "benches"];
const DOCUMENTS: &[&str] =
    &["md", "markdown", "mdx", "rst", "adoc", "asciidoc", "txt", "tex", "po", "pot", "org"];
const DATA: &[&str] = &[
    "json",
    "jsonl",
    "yaml",
    "yml",
    "toml",
    "ini",
    "cfg",
    "conf",
    "csv",
    "tsv",
    "xml",
    "svg",
    "properties",
    "plist",
    "env",
    "geojson",
    "ipynb",
    "log",
];
