//! From the start of the program to the end of its output, against `git --version` started in turns with it.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::ensure;

use crate::{
    Size,
    figures::{Figures, Goal},
    git::Git,
    program::Program,
    spread::Spread,
};

const PLACE: &str = "start";

pub(crate) fn measure(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let git = Git::find()?;
    let program = Program::new(&git, 1)?;
    // A result that waits for the operator: the page has something to say.
    let id = program.run(&["objective", "new", "Round half up", "--criteria", "0.5 rounds to 1"])?;
    program.run(&["objective", "approve", &id])?;
    program.run(&["run", "--until-idle"])?;
    let (mut plain, mut version, mut page) = (Spread::default(), Spread::default(), Spread::default());
    for round in 0..=size.starts {
        let times =
            [timed(git.version())?, timed(program.command(&["--version"]))?, timed(program.command(&[]))?];
        // The first round brings the files into memory.
        if round > 0 {
            for (spread, time) in [&mut plain, &mut version, &mut page].into_iter().zip(times) {
                spread.push(time);
            }
        }
    }
    figures.add(PLACE, "git --version", "ms", plain.median(), Goal::None);
    figures.add(PLACE, "azolla --version", "ms", version.median(), Goal::None);
    figures.add(PLACE, "resume page of one azolla", "ms", page.median(), Goal::None);
    let against = |spread: &Spread| spread.median() / plain.median();
    figures.add(PLACE, "azolla --version against git", "x", against(&version), Goal::MachineAtMost(3.0));
    figures.add(PLACE, "resume page against git", "x", against(&page), Goal::MachineAtMost(10.0));
    Ok(())
}

fn timed(mut command: Command) -> anyhow::Result<f64> {
    command.stdin(Stdio::null());
    let start = Instant::now();
    let output = command.output()?;
    let time = start.elapsed().as_secs_f64() * 1e3;
    ensure!(output.status.success() && !output.stdout.is_empty(), "{command:?} ended with {}", output.status);
    Ok(time)
}
