//! What a power cut must not take: git syncs it. That the name of the ref is synced too is shown where the program runs on a
//! disk of a test's own (`r7_…`).

use std::fs;

use azolla_control_plane::repo::{Published, Repository};
use serde_json::Value;

use crate::{
    publish::{make, with_git},
    support::World,
};

/// G-1, invariant 13: by git's own count, every object of a published branch and the ref itself.
#[tokio::test]
async fn g1_a_published_branch_and_its_objects_are_synced() {
    for world in World::all() {
        let (_, attempt, commit) = make(&world).await;
        let trace = world.dir.path().join("trace");
        let script =
            format!("GIT_TRACE2_EVENT='{}' exec '{}' \"$@\"\n", trace.display(), world.git.display());
        let traced = with_git(&world, &script);
        assert_eq!(traced.publish(&attempt, &commit, &[]).await.unwrap(), Published::Done);
        let told = fs::read_to_string(&trace).unwrap();
        let synced: u64 =
            told.lines().map(|line| synced(&serde_json::from_str(line).unwrap()).unwrap_or(0)).sum();
        let objects = world.run(&["rev-list", "--objects", &commit, "^main"]).lines().count();
        assert!(objects >= 3, "a commit, a tree and a file: {objects}");
        assert_eq!(synced, objects as u64 + 1, "every object and the ref: {told}");
    }
}

/// Returns how many files an event of git's trace says were synced: newer ones have a counter, older ones a text.
fn synced(event: &Value) -> Option<u64> {
    match (event["category"].as_str()?, event["name"].as_str(), event["key"].as_str()) {
        ("fsync", Some("hardware-flush"), _) => event["count"].as_u64(),
        ("fsync", _, Some("fsync/hardware-flush")) => event["value"].as_str()?.parse().ok(),
        _ => None,
    }
}
