//! Where toolchains are, for programs that do not see the operator's home.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// A toolchain that is found by a variable, and without that in a directory of the home.
struct Toolchain {
    variable: &'static str,
    in_home: &'static str,
    /// What of it is read, `""` for all. Where a part can hold a login, the others are listed.
    parts: &'static [&'static str],
}

const TOOLCHAINS: &[Toolchain] = &[
    // Not credentials.toml.
    Toolchain {
        variable: "CARGO_HOME",
        in_home: ".cargo",
        parts: &["bin", "registry", "git", "config.toml", "config", "env"],
    },
    Toolchain { variable: "RUSTUP_HOME", in_home: ".rustup", parts: &[""] },
    Toolchain { variable: "GOPATH", in_home: "go", parts: &["pkg", "bin"] },
    Toolchain { variable: "NVM_DIR", in_home: ".nvm", parts: &[""] },
    Toolchain { variable: "VOLTA_HOME", in_home: ".volta", parts: &[""] },
    Toolchain { variable: "FNM_DIR", in_home: ".local/share/fnm", parts: &[""] },
    Toolchain { variable: "PYENV_ROOT", in_home: ".pyenv", parts: &[""] },
    Toolchain { variable: "PYTHONUSERBASE", in_home: ".local", parts: &["bin", "lib"] },
    Toolchain { variable: "UV_PYTHON_INSTALL_DIR", in_home: ".local/share/uv/python", parts: &[""] },
    Toolchain { variable: "RBENV_ROOT", in_home: ".rbenv", parts: &[""] },
    Toolchain { variable: "ASDF_DATA_DIR", in_home: ".asdf", parts: &[""] },
    Toolchain { variable: "MISE_DATA_DIR", in_home: ".local/share/mise", parts: &[""] },
    Toolchain { variable: "SDKMAN_DIR", in_home: ".sdkman", parts: &["candidates"] },
];

/// Toolchains that only a variable tells of.
const ELSEWHERE: &[&str] = &["GOROOT", "JAVA_HOME", "VIRTUAL_ENV"];

/// Returns what has to be read for the toolchains of an environment, as far as it is there.
pub(super) fn of(environment: &BTreeMap<OsString, OsString>) -> Vec<PathBuf> {
    let home = variable(environment, "HOME");
    let parts = TOOLCHAINS.iter().flat_map(|toolchain| {
        let place = toolchain.place(environment);
        toolchain.parts.iter().filter_map(move |part| Some(place.as_ref()?.join(part)))
    });
    let elsewhere = ELSEWHERE.iter().filter_map(|name| variable(environment, name));
    // Programs in directories that are listed nowhere else, such as ~/bin.
    let listed = environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let listed: Vec<_> = std::env::split_paths(&listed).filter(|directory| directory.is_absolute()).collect();
    // A shim is a script that starts what stands beside its directory (pyenv, rbenv, asdf), wherever that is.
    let shims = listed.iter().filter(|directory| directory.ends_with("shims"));
    let programs: Vec<_> =
        shims.filter_map(|directory| Some(directory.parent()?.to_owned())).chain(listed.clone()).collect();
    // The home, or all homes, is never meant.
    let is_home = |path: &Path| home.as_deref().is_some_and(|home| home.starts_with(path));
    parts.chain(elsewhere).chain(programs).filter(|path| path.exists() && !is_home(path)).collect()
}

/// Returns the environment with the place of every toolchain that is in the home said outright, so that another home
/// does not change it.
pub(super) fn pinned(environment: &BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
    let mut pinned = environment.clone();
    for toolchain in TOOLCHAINS {
        if let Some(place) = toolchain.place(environment)
            && place.exists()
        {
            pinned.insert(toolchain.variable.into(), place.into());
        }
    }
    pinned
}

impl Toolchain {
    fn place(&self, environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
        let in_home = || Some(variable(environment, "HOME")?.join(self.in_home));
        variable(environment, self.variable).or_else(in_home)
    }
}

/// Returns a variable that holds an absolute path.
fn variable(environment: &BTreeMap<OsString, OsString>, name: &str) -> Option<PathBuf> {
    environment.get(OsStr::new(name)).map(PathBuf::from).filter(|path| path.is_absolute())
}
