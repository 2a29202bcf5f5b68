//! The inputs that are kept: `fuzz/corpus/TARGET` and, for every finding, `fuzz/regressions/TARGET`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// An input with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seed {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Returns the place of all corpora.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Returns where the corpus of a target is.
pub(crate) fn folder(target: &str) -> PathBuf {
    root().join("corpus").join(target)
}

/// Returns what is kept for a target, in the order of names: its corpus, then its regressions.
pub(crate) fn load(target: &str) -> io::Result<Vec<Seed>> {
    let mut seeds = Vec::new();
    for place in ["corpus", "regressions"] {
        let folder = root().join(place).join(target);
        if place == "regressions" && !folder.exists() {
            continue;
        }
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            seeds.push(Seed { name: format!("{place}/{target}/{name}"), bytes: fs::read(&path)? });
        }
    }
    Ok(seeds)
}

/// Writes an input under a name that its bytes give it, and returns where.
pub(crate) fn save(folder: &Path, prefix: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{prefix}{:016x}", digest(bytes)));
    fs::write(&path, bytes)?;
    Ok(path)
}

/// FNV-1a: short names that are the same for the same bytes.
fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
