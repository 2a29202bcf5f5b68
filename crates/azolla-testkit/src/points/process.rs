//! The process of a walk, as its arguments say: one with a trap, or a rival that works all the time.

use std::{io::Read, path::PathBuf, sync::Arc, thread};

use anyhow::{Context, bail};
use azolla_control_plane::poll::{self, Until};
use azolla_protocol::AzollaType;
use azolla_substrate::Opening;
use tokio::sync::watch;

use super::{
    desk::Desk,
    ground::clean_parts,
    place::Place,
    scene::Scene,
    trap::{Trap, say},
};

/// Runs what the arguments say: `ROOT STORE scene SCENE ROUNDS [POINT ACTION]`, which records where no point is given, or
/// `ROOT STORE rival`. STORE is the address of a database, or `-` for files in ROOT. It prints a line for everything
/// that its reader has to know.
pub async fn run(arguments: &[String]) -> anyhow::Result<()> {
    let [root, store, rest @ ..] = arguments else { bail!("ROOT STORE …") };
    let database = (store != "-").then(|| store.clone());
    let place = Place { root: PathBuf::from(root), database };
    match &rest.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["rival"] => rival(&place).await,
        ["scene", scene, rounds] => play(place, scene.parse()?, rounds.parse()?, Trap::new(None)).await,
        ["scene", scene, rounds, point, action] => {
            let trap = Trap::new(Some((point.parse()?, action.parse()?)));
            play(place, scene.parse()?, rounds.parse()?, trap).await
        }
        _ => bail!("scene SCENE ROUNDS [POINT ACTION], or rival"),
    }
}

/// Plays a scene until the trap springs, at most so often. Where a rival works on the same, a scene may find less left to
/// do than it would alone; it is played again then.
async fn play(place: Place, scene: Scene, rounds: usize, trap: Trap) -> anyhow::Result<()> {
    let mut desk = Desk::new(place, trap).await?;
    for _ in 0..rounds {
        let played = scene.play(&mut desk).await;
        if desk.trap.is_sprung() {
            // What fails after that may fail.
            break;
        }
        match played {
            Err(error) if desk.trap.is_armed() => say(format_args!("failed {error:#}")),
            played => played.with_context(|| format!("scene {scene}"))?,
        }
    }
    say("done");
    Ok(())
}

/// Works without faults until its input ends.
async fn rival(place: &Place) -> anyhow::Result<()> {
    let parts = clean_parts(place)?;
    let stop = watch::channel(false).0;
    let mut contexts = Vec::new();
    for azolla_type in [AzollaType::CodePatch, AzollaType::TaskMgmt] {
        let store = place.open(azolla_type, Opening::Existing).await?;
        contexts.push(Arc::new(parts.context(azolla_type, store, &stop)));
    }
    let asked_to_stop = stop.clone();
    thread::spawn(move || {
        // Whoever started it closes its input, or is gone.
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        asked_to_stop.send_replace(true);
    });
    say("ready");
    poll::run(contexts, Until::Stopped, &stop).await?;
    say("done");
    Ok(())
}
