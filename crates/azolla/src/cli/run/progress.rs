//! What is under way: one line on a terminal, redrawn about once a second; elsewhere one plain line per step.

use std::{sync::Arc, time::Duration};

use azolla_control_plane::Activity;
use tokio::task::JoinHandle;

use super::contexts::Working;
use crate::{
    cli::progress::{draw, is_watched},
    screen::{duration, remark},
    under_way::{Noted, UnderWay},
};

/// The line on a terminal, if there is one.
pub(crate) struct Drawing(Option<JoinHandle<()>>);

/// How often the line is redrawn.
const REDRAWN_EVERY: Duration = Duration::from_secs(1);

/// Takes note of a step, and prints it where nobody sees a line change.
pub(super) fn show(under_way: &UnderWay, activity: &Activity) {
    let Some(objective_id) = &activity.objective_id else {
        // No step that ends: a line that stays.
        if is_watched() {
            draw("");
        }
        return remark(&format!("{} {}", activity.azolla_id, activity.step));
    };
    // How far a known one is shows on a terminal alone, the next time the line is drawn.
    if under_way.note(objective_id, activity) == Noted::New && !is_watched() {
        remark(&format!("{objective_id} {}", activity.step));
    }
}

/// Draws the line until the drawing is ended.
pub(super) fn begin(under_way: &Arc<UnderWay>, working: &Working) -> Drawing {
    if !is_watched() {
        return Drawing(None);
    }
    let (under_way, working) = (under_way.clone(), working.clone());
    Drawing(Some(tokio::spawn(async move {
        let mut moves = under_way.moves();
        let mut tick = tokio::time::interval(REDRAWN_EVERY);
        let mut drawn = false;
        loop {
            match line(&under_way) {
                // Nothing is under way: nothing is drawn, and nothing wakes up.
                None => {
                    if std::mem::take(&mut drawn) {
                        draw("");
                    }
                    if moves.changed().await.is_err() {
                        return;
                    }
                }
                Some(line) => {
                    draw(&line);
                    drawn = true;
                    tick.tick().await;
                    for context in working.all() {
                        // A store that does not answer now is asked again in a second.
                        let _ = under_way.forget_over(&context.identity.azolla_id, context.read()).await;
                    }
                }
            }
        }
    })))
}

fn line(under_way: &UnderWay) -> Option<String> {
    let steps = under_way.steps();
    let latest = steps.last()?;
    let of = latest.limit_ms.map_or_else(String::new, |limit| format!(" of {}", duration(limit)));
    // In whole seconds, as the line changes.
    let elapsed = match latest.elapsed_ms() / 1_000 {
        0 => "0 s".to_owned(),
        seconds => duration(seconds.saturating_mul(1_000)),
    };
    let more = if steps.len() > 1 { format!("  (and {} more)", steps.len() - 1) } else { String::new() };
    let detail = latest.detail.as_ref().map_or_else(String::new, |detail| format!(", {detail}"));
    Some(format!("{}  {}{detail}  {elapsed}{of}{more}", latest.objective_id, latest.step))
}

impl Drawing {
    /// Leaves the line clean for what is printed next.
    pub(crate) async fn end(self) {
        if let Some(task) = self.0 {
            task.abort();
            let _ = task.await;
            draw("");
        }
    }
}
