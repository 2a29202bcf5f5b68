//! `azolla demo`: from nothing over notes to a gated branch, an orientation over two machines and the resume page.

use crate::world::{World, git};

#[test]
fn the_demo_ends_with_a_gated_branch_and_the_resume_page() {
    let world = World::new();
    let directory = world.path("demo");
    let shown = world.azolla(&["demo", "--directory", directory.to_str().unwrap()]).ok();
    for part in [
        "comes from a recorded file: no model is asked",
        "passed  shares with the change",
        "failed  shares without it",
        "500 cents among 3 people: 166 each, not 167",
        "Fix: share.sh: 500 cents among 3 people gives 166 each",
        "from 2 azollas",
        "1. Renew the certificate (az-site",
        "candidate out-",
        "Waiting for you, first things first\n  1. Overdue",
        "Review PR on azolla/obj-",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let branches = git(&directory.join("shares"), &["branch", "--list", "azolla/*"]);
    assert_eq!(branches.lines().count(), 1, "{branches}");
    assert!(!world.home().exists(), "the operator's own home was touched");
}

#[test]
fn a_worker_of_the_configuration_can_do_the_demo() {
    let world = World::with_worker("cat > /dev/null; sed -i 's|.1 / .2|($1 + $2 / 2) / $2|' share.sh\n");
    let directory = world.path("demo");
    let arguments = ["demo", "--provider", "sh", "--directory", directory.to_str().unwrap()];
    let shown = world.azolla(&arguments).ok();
    assert!(shown.contains("The worker is sh, from your configuration."), "{shown}");
    assert!(shown.contains("passed: Fix: share.sh: 500 cents among 3 people gives 166 each\n"), "{shown}");
    let refused = world.azolla(&["demo", "--provider", "other"]).refused(3);
    assert_eq!(refused, "error: there is no provider other\nhint: configured: sh\n");
}
