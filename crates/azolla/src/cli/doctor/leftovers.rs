//! What processes that are gone left behind. All of it is safe to remove: whoever uses a directory or a mirror holds a
//! lock of the system on it, which goes with the process.

use azolla_diazotroph::provider::CommandProvider;
use azolla_protocol::AzollaType;

use super::Line;
use crate::{deployment::Deployment, screen::quoted};

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
            "azolla doctor --repair; the next run does it too",
        )),
        (true, 0) => Some(Line::good("leftovers", "there was nothing to remove")),
        (true, _) => Some(Line::good("leftovers", format!("removed {all} of runs that were killed"))),
    }
}
