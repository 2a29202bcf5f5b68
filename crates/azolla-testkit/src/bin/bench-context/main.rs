//! `scripts/bench context`: how often the files that a fix changed are among those that a prompt shows.
//!
//! Four repositories are generated, with a history of fixes whose messages read like issues; with `own`, this project's
//! history is measured too. Beside the ranking stand two that use less: paths in alphabetical order, and paths that have
//! words of the objective in them. A generated repository says how the ranking does on words that its author chose; only
//! real histories say more.

mod baseline;
#[path = "../bench-shared/figures.rs"]
mod figures;
#[path = "../bench-patch/git.rs"]
#[expect(dead_code, reason = "the benchmark of the patch flow uses all of it")]
mod git;
mod history;
mod project;
mod recall;
mod render;

use anyhow::{Context, bail, ensure};

use crate::{figures::Figures, git::Git, history::Message, project::Project, recall::Recall};

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let short = arguments.iter().any(|argument| argument == "--short");
    let misses = arguments.iter().any(|argument| argument == "--misses");
    let named: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|name| !name.starts_with("--")).collect();
    if let Some(unknown) = named.iter().find(|name| !PARTS.contains(name)) {
        bail!("there is no part {unknown}; there are {}", PARTS.join(", "));
    }
    let git = Git::find()?;
    let mut figures = Figures::new("context", "part");
    let mut all = Recall::default();
    for part in PARTS.into_iter().filter(|part| named.is_empty() || named.contains(part)) {
        let recall = measure(&git, part).await.with_context(|| format!("measuring {part}"))?;
        if misses {
            recall.print_misses(part);
        }
        recall.report(part, &mut figures);
        if part != OWN {
            all.add(recall);
        }
    }
    if all.fixes() > 0 {
        all.report_goals("all", &mut figures);
    }
    figures.print();
    let missed = figures.missed(short);
    ensure!(missed.is_empty(), "goals missed: {}", missed.join(", "));
    Ok(())
}

/// What can be measured; all of it, unless some are named.
const PARTS: [&str; 5] = ["web", "cli", "app", "library", OWN];

/// The history of the repository in which the benchmark is run.
const OWN: &str = "own";

async fn measure(git: &Git, part: &str) -> anyhow::Result<Recall> {
    let directory = tempfile::TempDir::new()?;
    let text = match part {
        "web" => include_str!("data/web.txt"),
        "cli" => include_str!("data/cli.txt"),
        "app" => include_str!("data/app.txt"),
        "library" => include_str!("data/library.txt"),
        _ => {
            let here = std::env::current_dir()?;
            let root = git.run(&here, ["rev-parse", "--show-toplevel"], b"").context("run it in a clone")?;
            return history::measure(git, root.as_ref(), directory.path(), Message::Subject).await;
        }
    };
    let project = Project::read(text)?;
    let origin = directory.path().join("origin");
    project.write(git, &origin)?;
    history::measure(git, &origin, directory.path(), Message::Whole).await
}
