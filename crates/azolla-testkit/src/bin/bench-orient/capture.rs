//! A note, from the start of the program to its end, against the least that it can cost: a program that starts and says
//! its version, and two durable commits on the same disk, measured in turns with it.

use std::time::Instant;

use crate::{
    Size,
    figures::{Figures, Goal},
    home::{Home, Templates},
    raw::Raw,
    spread::Spread,
};

const PLACE: &str = "capture";

pub(crate) async fn measure(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let home = Home::filled(&Templates::new().await?, size.artifacts[0]).await?;
    let raw = Raw::new(home.path())?;
    let (mut note, mut version, mut commits) = (Spread::default(), Spread::default(), Spread::default());
    for round in 0..=size.captures {
        let (time, id) = home.timed(&["capture", "the login page is slow since Monday"])?;
        anyhow::ensure!(id.starts_with("cap-"), "no id was printed: {id}");
        let least = [git_version()?, raw.commits(2)?.into_iter().next_back().unwrap_or_default()];
        // The first round brings the files into memory.
        if round > 0 {
            note.push(time);
            version.push(least[0]);
            commits.push(least[1]);
        }
    }
    figures.add(PLACE, "git --version", "ms", version.median(), Goal::None);
    figures.add(PLACE, "two raw durable commits", "ms", commits.median(), Goal::None);
    figures.add(PLACE, "azolla capture TEXT", "ms", note.median(), Goal::None);
    let against = note.median() / (version.median() + commits.median());
    figures.add(PLACE, "azolla capture against both together", "x", against, Goal::MachineAtMost(5.0));
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the yardstick has nothing of azolla around it")]
fn git_version() -> anyhow::Result<f64> {
    let mut git = std::process::Command::new("git");
    git.arg("--version").stdin(std::process::Stdio::null());
    let start = Instant::now();
    let output = git.output()?;
    let time = start.elapsed().as_secs_f64() * 1e3;
    anyhow::ensure!(output.status.success(), "git --version ended with {}", output.status);
    Ok(time)
}
