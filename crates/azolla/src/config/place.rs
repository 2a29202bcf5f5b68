//! Where the configuration and the data are, and that nobody else can write there (T35).

use std::{
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use etcetera::base_strategy::{BaseStrategy, Xdg};

/// The paths that the program uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// `config.toml`.
    pub(crate) config: PathBuf,
    /// Substrates, mirrors, worktrees; for its owner alone.
    pub(crate) data: PathBuf,
}

/// Why a place is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsafe {
    /// Somebody else could write there, or reads elsewhere than it seems.
    #[error("{} {what}", .path.display())]
    Refused {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
        /// The command that helps.
        fix: String,
    },
    /// It could not be looked at or made.
    #[error("{} cannot be used", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no home directory.
    #[error("there is no home directory: neither AZOLLA_HOME nor HOME is set")]
    NoHome,
}

impl Place {
    /// Finds the place: `home` (the flag or `$AZOLLA_HOME`), else the XDG directories.
    pub(crate) fn find(home: Option<&Path>) -> Result<Self, Unsafe> {
        if let Some(home) = home {
            let home =
                std::path::absolute(home).map_err(|source| Unsafe::Io { path: home.to_owned(), source })?;
            return Ok(Self { config: home.join("config.toml"), data: home });
        }
        let xdg = Xdg::new().map_err(|_| Unsafe::NoHome)?;
        let config = xdg.config_dir().join("azolla").join("config.toml");
        Ok(Self { config, data: xdg.data_dir().join("azolla") })
    }

    /// Returns the directory of `config.toml`.
    pub(crate) fn config_directory(&self) -> &Path {
        self.config.parent().expect("the configuration is a file in a directory")
    }

    /// Returns the SQLite file of an azolla.
    pub(crate) fn store(&self, id: &azolla_protocol::AzollaId) -> PathBuf {
        self.data.join("azollas").join(format!("{id}.sqlite"))
    }

    /// Returns the bare mirror of an azolla's repository.
    pub(crate) fn mirror(&self, id: &azolla_protocol::AzollaId) -> PathBuf {
        self.data.join("mirrors").join(format!("{id}.git"))
    }

    /// Returns where worktrees go.
    pub(crate) fn scratch(&self, id: &azolla_protocol::AzollaId) -> PathBuf {
        self.data.join("worktrees").join(id.as_str())
    }

    /// Returns where the homes of commands go.
    pub(crate) fn state(&self) -> PathBuf {
        self.data.join("state")
    }

    /// Returns the file of the token that the operator's own programs show.
    pub(crate) fn operator_token(&self) -> PathBuf {
        self.data.join("operator.token")
    }

    /// Returns the file of the token that MCP clients show. It is not the operator's: whoever has that one approves.
    pub(crate) fn mcp_token(&self) -> PathBuf {
        self.data.join("mcp.token")
    }

    /// Returns the file of the token that a peer is asked with, where the operator named no other.
    pub(crate) fn peer_token(&self, id: &azolla_protocol::AzollaId) -> PathBuf {
        self.data.join("peers").join(format!("{id}.token"))
    }

    /// Returns the store of what belongs to no azolla.
    pub(crate) fn home_store(&self) -> PathBuf {
        self.data.join("home.sqlite")
    }

    /// Refuses a place that somebody else can write to (T35), and takes away what others could read.
    pub(crate) fn check(&self) -> Result<(), Unsafe> {
        check(self.config_directory())?;
        check(&self.config)?;
        if check(&self.data)? == Found::There {
            make_private(&self.data)?;
        }
        Ok(())
    }

    /// Makes the directories, for their owner alone.
    pub(crate) fn make(&self) -> Result<(), Unsafe> {
        make(self.config_directory())?;
        make(&self.data)?;
        for below in ["azollas", "mirrors", "worktrees", "state", "peers"] {
            make(&self.data.join(below))?;
        }
        self.check()
    }
}

#[derive(PartialEq, Eq)]
enum Found {
    There,
    Missing,
}

fn check(path: &Path) -> Result<Found, Unsafe> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Missing),
        Err(source) => return Err(Unsafe::Io { path: path.to_owned(), source }),
    };
    let shown = path.display();
    let refuse = |what, fix: String| Err(Unsafe::Refused { path: path.to_owned(), what, fix });
    if found.is_symlink() {
        return refuse(
            "is a symbolic link",
            format!("name the real place with AZOLLA_HOME, or replace {shown} by it"),
        );
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return refuse("belongs to somebody else", format!("sudo chown -R $(id -u) {shown}"));
    }
    if found.mode() & 0o022 != 0 {
        return refuse("can be written by others", format!("chmod go-w {shown}"));
    }
    Ok(Found::There)
}

fn make_private(path: &Path) -> Result<(), Unsafe> {
    let failed = |source| Unsafe::Io { path: path.to_owned(), source };
    let mode = std::fs::symlink_metadata(path).map_err(failed)?.mode();
    if mode & 0o077 != 0 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

fn make(path: &Path) -> Result<(), Unsafe> {
    // What is there is checked before anything is made in it.
    check(path)?;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|source| Unsafe::Io { path: path.to_owned(), source })
}
