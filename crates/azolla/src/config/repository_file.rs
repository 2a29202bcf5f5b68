//! `.azolla.toml` of a repository: the little that it may set. It is read from the base commit, never from a checkout,
//! and counts only once the operator has pinned it with `azolla trust`.

use std::path::Path;

use azolla_protocol::limits;

use super::{
    CheckConfig, Problem, keys,
    read::{FileSection, checks, parse},
    report::Fault,
};

/// What a repository says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RepositoryFile {
    /// Its checks, which count where the operator has configured none.
    pub(crate) checks: Vec<CheckConfig>,
    /// A budget; the smaller one of this and the operator's holds.
    pub(crate) budget_ms: Option<u64>,
}

/// The file's name, at the root of the tree.
pub(crate) const NAME: &str = ".azolla.toml";

/// The most bytes that it may have.
pub(crate) const BYTES_MAX: usize = 64 * 1024;

impl RepositoryFile {
    /// Reads the file's bytes.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        let path = Path::new(NAME);
        let text =
            std::str::from_utf8(bytes).map_err(|_| Fault::whole(None, "it is not UTF-8").at("", path))?;
        read(text).map_err(|fault| fault.at(text, path))
    }
}

fn read(text: &str) -> Result<RepositoryFile, Fault> {
    let parsed = parse(text)?;
    let file = FileSection::new("the file", &parsed);
    file.only(&[keys::REPOSITORY_TABLE])?;
    let budget_ms = file.limit("budget_ms", &limits::BUDGET_PATCH_MS)?;
    Ok(RepositoryFile { checks: checks(&file)?, budget_ms })
}
