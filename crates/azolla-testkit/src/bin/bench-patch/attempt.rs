//! From the approval to RUN_COMPLETE on a real repository, with an answer that is there at once and no checks. The
//! mirror is there already; the base has moved on since it was last looked at.

use std::{sync::Arc, time::Instant};

use azolla_control_plane::repo::{GitRepository, GitSettings, PatchLimits};
use tempfile::TempDir;

use crate::{
    Size,
    desk::Desk,
    figures::{Figures, Goal},
    git::Git,
    origin::{Origin, PATCH, Shape},
    plumbing::{self, Plumbing},
    spread::Spread,
};

const SMALL: Shape = Shape { directories: 5, files_each: 8 };

/// Against the bare plumbing, on a small repository.
pub(crate) async fn small(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    const PLACE: &str = "small";
    let mut bench = Bench::new(SMALL).await?;
    let mut plumbing = Plumbing::new(&bench.git, &bench.directory.path().join("plumbing.git"))?;
    let (mut ours, mut bare, mut spawns) = (Spread::default(), Spread::default(), Spread::default());
    for round in 0..=size.small_rounds {
        let before = bench.repository.spawns();
        let time = bench.ours().await?;
        let spawned = bench.repository.spawns() - before;
        bench.origin.move_on(&bench.git)?;
        let bare_time = timed(|| plumbing.run(&bench.git, &bench.origin))?;
        // The first round makes the mirrors.
        if round > 0 {
            ours.push(time);
            bare.push(bare_time);
            spawns.push(spawned as f64);
        }
    }
    bench.desk.stop().await?;
    figures.add(PLACE, "process spawns, the most in a round", "", spawns.at(1.0), Goal::AtMost(16.0));
    figures.add(PLACE, "median, approval to RUN_COMPLETE", "ms", ours.median(), Goal::None);
    figures.add(PLACE, "median of the bare plumbing", "ms", bare.median(), Goal::None);
    let ratio = ours.median() / bare.median();
    figures.add(PLACE, "against the bare plumbing", "x", ratio, Goal::MachineAtMost(2.0));
    Ok(())
}

/// Against a working tree, on a repository with many files.
pub(crate) async fn large(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    const PLACE: &str = "large";
    let mut bench = Bench::new(size.large).await?;
    let place = bench.directory.path().join("worktree");
    let (mut ours, mut theirs) = (Spread::default(), Spread::default());
    for round in 0..=size.large_rounds {
        let time = bench.ours().await?;
        bench.origin.move_on(&bench.git)?;
        let tree_time = timed(|| plumbing::worktree(&bench.git, &bench.origin, &place, round))?;
        plumbing::remove_worktree(&bench.git, &bench.origin, &place)?;
        // The first round makes the mirror.
        if round > 0 {
            ours.push(time);
            theirs.push(tree_time);
        }
    }
    bench.desk.stop().await?;
    let files = size.large.directories * size.large.files_each;
    let name = format!("median, approval to RUN_COMPLETE, {files} files");
    figures.add(PLACE, name, "ms", ours.median(), Goal::None);
    figures.add(PLACE, "median of worktree add + apply + commit", "ms", theirs.median(), Goal::None);
    let ratio = theirs.median() / ours.median();
    figures.add(PLACE, "faster than worktree add + apply + commit", "x", ratio, Goal::MachineAtLeast(5.0));
    Ok(())
}

struct Bench {
    git: Git,
    origin: Origin,
    repository: Arc<GitRepository>,
    desk: Desk,
    // Dropped last: everything above is in it.
    directory: TempDir,
}

impl Bench {
    async fn new(shape: Shape) -> anyhow::Result<Self> {
        let directory = TempDir::new()?;
        let git = Git::find()?;
        let origin = Origin::new(&git, &directory.path().join("origin"), shape)?;
        let repo_ref = origin.path().to_string_lossy().into_owned();
        let repository = Arc::new(GitRepository::open(GitSettings {
            repo: repo_ref.clone(),
            mirror: directory.path().join("mirror.git"),
            scratch: directory.path().join("scratch"),
            git: git.program().to_owned(),
            limits: PatchLimits::default(),
        })?);
        let desk = Desk::start(directory.path(), repository.clone(), &repo_ref, PATCH).await?;
        Ok(Self { git, origin, repository, desk, directory })
    }

    /// Takes one objective from its approval to RUN_COMPLETE; returns the milliseconds.
    async fn ours(&mut self) -> anyhow::Result<f64> {
        self.origin.move_on(&self.git)?;
        let approved = self.desk.approve().await?;
        let start = Instant::now();
        self.desk.paused(&approved).await?;
        let time = start.elapsed().as_secs_f64() * 1e3;
        self.desk.confirm(&approved).await?;
        Ok(time)
    }
}

fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}
