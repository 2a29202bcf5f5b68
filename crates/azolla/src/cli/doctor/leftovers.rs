//! What processes that are gone left behind. All of it is safe to remove: whoever uses a directory or a mirror holds a
//! lock of the system on it, which goes with the process; and a patch that failed never passes.

use azolla_control_plane::{
    repo::{Repository, branch_of},
    verify::{self, LeftBranch},
};
use azolla_diazotroph::provider::CommandProvider;
use azolla_protocol::AzollaType;

use super::Line;
use crate::{config::AzollaConfig, deployment::Deployment, screen::quoted};

/// Is there anything? With `repair` it is removed.
pub(super) fn look(deployment: &Deployment, repair: bool) -> Option<Line> {
    let mut found = Vec::new();
    for azolla in &deployment.config.azollas {
        // Its own line says what is wrong with a repository.
        let repository = deployment.repository(azolla);
        if let (AzollaType::CodePatch, Ok(repository)) = (azolla.azolla_type, repository) {
            found.extend(if repair { repository.remove_leftovers() } else { repository.leftovers() });
        }
    }
    let state = deployment.place.state();
    let runs = if repair { CommandProvider::sweep(&state) } else { CommandProvider::count_left(&state) };
    let runs = match runs {
        Ok(runs) => runs,
        Err(error) => {
            let path = state.display();
            let fix = format!("ls -ld {}", quoted(&path.to_string()));
            return Some(Line::attention("leftovers", format!("{path}: {error}"), fix));
        }
    };
    let count = found.len() + runs;
    let all = if count == 1 { "one thing".to_owned() } else { format!("{count} things") };
    match (repair, count) {
        (false, 0) => None,
        (false, _) => Some(Line::attention(
            "leftovers",
            format!("{all} of runs that were killed"),
            "azolla doctor --repair; the next run does it too, but for old locks",
        )),
        (true, 0) => Some(Line::good("leftovers", "there was nothing to remove")),
        (true, _) => Some(Line::good("leftovers", format!("removed {all} of runs that were killed"))),
    }
}

/// Is a branch at a patch that failed (G-1)? With `repair` it is taken away, unless it is checked out. What cannot be looked
/// at has a line of its own already.
pub(super) async fn branches(deployment: &Deployment, repair: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    for azolla in
        deployment.config.azollas.iter().filter(|azolla| azolla.azolla_type == AzollaType::CodePatch)
    {
        lines.extend(branches_of(deployment, azolla, repair).await.unwrap_or_default());
    }
    lines
}

async fn branches_of(
    deployment: &Deployment,
    azolla: &AzollaConfig,
    repair: bool,
) -> anyhow::Result<Vec<Line>> {
    let repository = deployment.repository(azolla)?;
    let store = deployment.open_to_look(azolla).await?;
    let mut lines = Vec::new();
    for LeftBranch { objective_id, tried, .. } in verify::branches(&*store, &repository).await? {
        let (what, branch) = (format!("{} branch", azolla.id), branch_of(&objective_id));
        let state = format!("{branch} is at a patch that failed, of a run that was killed");
        if !repair {
            lines.push(Line::attention(what, state, "azolla doctor --repair"));
            continue;
        }
        let again = "check another branch out, then: azolla doctor --repair";
        lines.push(match repository.withdraw(&objective_id, &tried.failed, &tried.passed).await {
            Ok(true) => Line::good(what, format!("took {branch} away, which was at a patch that failed")),
            Ok(false) => {
                let state =
                    format!("{state}; it is checked out, in a rebase or bisection, or has moved meanwhile");
                Line::attention(what, state, again)
            }
            Err(error) => Line::attention(what, format!("{state}: {error}"), "azolla doctor --repair"),
        });
    }
    Ok(lines)
}
