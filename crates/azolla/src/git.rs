//! git for the program itself: a question to it, and the repository of the demo. The work is the repository engine's.

use std::{collections::BTreeMap, ffi::OsString, path::Path, time::Duration};

use azolla_process::{Bounds, Capture, Containment, Finished, Program, ResourceLimits, Sandbox};

use crate::deployment;

/// Runs git in a directory, with nobody's configuration and this environment beside it.
pub(crate) async fn run(
    directory: &Path,
    arguments: Vec<OsString>,
    environment: &[(&str, &str)],
) -> anyhow::Result<Finished> {
    // No object is fetched for a question: that would start what the repository names for it (R10).
    let fixed = [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("LC_ALL", "C"),
    ];
    let all = fixed.iter().chain(environment);
    let mut environment: BTreeMap<OsString, OsString> =
        all.map(|(name, value)| (name.into(), value.into())).collect();
    environment.insert("PATH".into(), std::env::var_os("PATH").unwrap_or_default());
    let program = Program {
        path: deployment::git()?,
        arguments,
        directory: directory.to_owned(),
        environment,
        input: Vec::new(),
    };
    let bounds = Bounds {
        time: Some(Duration::from_secs(30)),
        grace: Duration::from_secs(1),
        stdout: Capture::Head(10_000),
        stderr: Capture::Head(10_000),
        containment: Containment::Group,
        limits: ResourceLimits::default(),
        sandbox: Sandbox::Off,
    };
    Ok(azolla_process::run(&program, &bounds).await?)
}
