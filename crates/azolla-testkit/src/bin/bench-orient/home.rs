//! The real program in a home of its own: where it is, how it is started, what is in its stores.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::ensure;
use azolla_protocol::AzollaId;
use rusqlite::{Connection, config::DbConfig};
use tempfile::TempDir;

use crate::{
    history::{OPEN, artifacts, copy, history},
    template::Template,
};

/// The standing objective that `azolla init` makes.
pub(crate) const STANDING: &str = "obj-ctx-continuity";

/// Azollas of a whole home: one TASK_MGMT, the rest CODE_PATCH.
const PATCH_AZOLLAS: usize = 19;
const TASKS: &str = "az-tasks";

/// Objectives in one copy of a repository's history.
const OBJECTIVES_OF_HISTORY: usize = 2;

/// Returns the n-th CODE_PATCH azolla, from 1.
pub(crate) fn patch_azolla(number: usize) -> AzollaId {
    AzollaId::new(format!("az-app-{number:02}")).expect("an azolla id")
}

/// A home, with the program that works in it.
pub(crate) struct Home {
    program: PathBuf,
    directory: TempDir,
}

impl Home {
    /// Finds the program beside this one, and makes the stores of a configuration.
    pub(crate) fn new(configuration: &str) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?.with_file_name("azolla");
        ensure!(program.is_file(), "{} is missing: run this by scripts/bench", program.display());
        let directory = TempDir::new()?;
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700))?;
        fs::write(directory.path().join("config.toml"), configuration)?;
        let home = Self { program, directory };
        home.run(&["init"])?;
        Ok(home)
    }

    /// Makes a home of twenty azollas with this many artifacts of history over all of them. The operator has looked at it
    /// once; what is open came afterwards.
    pub(crate) async fn filled(templates: &Templates, artifacts: usize) -> anyhow::Result<Self> {
        let home = Self::new(&configuration(PATCH_AZOLLAS))?;
        let each = artifacts / (PATCH_AZOLLAS + 1);
        home.fill(templates, |template| Ok(history((each / artifacts_of(template)?).max(1))), Kind::History)?;
        home.run(&[])?;
        home.fill(templates, |_| Ok(OPEN), Kind::Open)?;
        Ok(home)
    }

    /// Makes a home of one repository with this many confirmed objectives.
    pub(crate) fn with_objectives(templates: &Templates, count: usize) -> anyhow::Result<Self> {
        let home = Self::new(&configuration(1))?;
        let id = patch_azolla(1);
        copy(&templates.patch_history, &home.store(&id), &id, &history(count / OBJECTIVES_OF_HISTORY))?;
        Ok(home)
    }

    fn fill(
        &self,
        templates: &Templates,
        copies: impl Fn(&Template) -> anyhow::Result<crate::history::Copies>,
        kind: Kind,
    ) -> anyhow::Result<()> {
        let (patch, task) = match kind {
            Kind::History => (&templates.patch_history, &templates.task_history),
            Kind::Open => (&templates.patch_open, &templates.task_open),
        };
        let tasks = AzollaId::new(TASKS)?;
        copy(task, &self.store(&tasks), &tasks, &copies(task)?)?;
        for number in 1..=PATCH_AZOLLAS {
            let id = patch_azolla(number);
            copy(patch, &self.store(&id), &id, &copies(patch)?)?;
        }
        Ok(())
    }

    fn store(&self, id: &AzollaId) -> PathBuf {
        self.path().join("azollas").join(format!("{id}.sqlite"))
    }

    /// Returns where the home is.
    pub(crate) fn path(&self) -> &std::path::Path {
        self.directory.path()
    }

    /// Returns a call of the program; nothing of this process's environment gets there but the PATH.
    #[expect(clippy::disallowed_methods, reason = "the program under measurement is started here")]
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.args(arguments).current_dir(self.path()).env_clear().stdin(Stdio::null());
        command.env("PATH", path).env("HOME", self.path()).env("AZOLLA_HOME", self.path());
        command.env("TOKEN", "azt-bench-0000000000000000000000000000");
        command
    }

    /// Runs it to its end and returns what it printed.
    pub(crate) fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        Ok(self.timed(arguments)?.1)
    }

    /// The same, with the milliseconds from its start to the end of its output.
    pub(crate) fn timed(&self, arguments: &[&str]) -> anyhow::Result<(f64, String)> {
        let mut command = self.command(arguments);
        let start = Instant::now();
        let output = command.output()?;
        let time = start.elapsed().as_secs_f64() * 1e3;
        let told = String::from_utf8_lossy(&output.stderr);
        let said = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        ensure!(output.status.success(), "azolla {}: {}\n{said}{told}", arguments.join(" "), output.status);
        Ok((time, said))
    }

    /// Takes how far the operator has looked, to put it back later.
    pub(crate) fn marks(&self) -> anyhow::Result<Vec<(String, String, String)>> {
        let connection = self.home_store()?;
        let mut statement = connection.prepare("SELECT azolla_id, cursor, looked_at FROM look")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Sets how far the operator has looked.
    pub(crate) fn mark(&self, marks: &[(String, String, String)]) -> anyhow::Result<()> {
        let mut connection = self.home_store()?;
        // As the program itself leaves it.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        let transaction = connection.transaction()?;
        transaction.execute("DELETE FROM look", [])?;
        for mark in marks {
            transaction.execute("INSERT INTO look VALUES (?1, ?2, ?3)", (&mark.0, &mark.1, &mark.2))?;
        }
        Ok(transaction.commit()?)
    }

    fn home_store(&self) -> anyhow::Result<Connection> {
        Ok(Connection::open(self.path().join("home.sqlite"))?)
    }
}

enum Kind {
    History,
    Open,
}

fn artifacts_of(template: &Template) -> anyhow::Result<usize> {
    artifacts(template)
}

/// What the stores of a home are copied from.
pub(crate) struct Templates {
    patch_history: Template,
    patch_open: Template,
    task_history: Template,
    task_open: Template,
}

impl Templates {
    /// Makes them.
    pub(crate) async fn new() -> anyhow::Result<Self> {
        Ok(Self {
            patch_history: Template::patch_history().await?,
            patch_open: Template::patch_open().await?,
            task_history: Template::task_history().await?,
            task_open: Template::task_open().await?,
        })
    }
}

/// Returns the configuration of a TASK_MGMT azolla and this many CODE_PATCH ones. No page looks at a repository.
pub(crate) fn configuration(patch_azollas: usize) -> String {
    let mut text = format!(
        "[provider.recorded]\nkind = \"recorded\"\nanswers = \"/nowhere/answer.patch\"\n\n\
         [azolla.{TASKS}]\ntype = \"TASK_MGMT_AZOLLA\"\n"
    );
    for number in 1..=patch_azollas {
        let id = patch_azolla(number);
        text.push_str(&format!(
            "\n[azolla.{id}]\ntype = \"CODE_PATCH_AZOLLA\"\nrepo = \"/nowhere/{id}\"\nbase_branch = \"main\"\n\
             provider = \"recorded\"\n"
        ));
    }
    text
}
