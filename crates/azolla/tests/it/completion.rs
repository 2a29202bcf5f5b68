//! Completion is never inferred: until the operator confirms, every screen says so.

use crate::world::World;

/// S-2, S-j: the same words on every screen, and gone once confirmed.
#[test]
fn s2_sj_a_passed_result_awaits_confirmation_everywhere() {
    let world = World::with_worker("cat > /dev/null; echo two >> a.txt\n");
    let id = world.approved("Add a line");
    world.azolla(&["run", "--until-idle"]).ok();
    let screens: [&[&str]; 5] =
        [&["objective", "list"], &["objective", "show", &id], &["review", &id], &["log", &id], &["resume"]];
    let says = |screen: &[&str]| {
        let text = world.azolla(screen).ok();
        text.contains("awaiting confirmation") || text.contains("awaits confirmation")
    };
    for screen in screens {
        assert!(says(screen), "{screen:?}");
    }
    world.azolla(&["objective", "confirm", &id]).ok();
    for screen in [["objective", "show", &id].as_slice(), &["objective", "list", "--all"], &["resume"]] {
        assert!(!says(screen), "{screen:?}");
    }
}
