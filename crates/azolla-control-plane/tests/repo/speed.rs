//! How often git is started, from approval to RUN_COMPLETE.

use azolla_control_plane::repo::{Candidate, Published, Repository};

use crate::support::{GOOD, World};

#[tokio::test]
async fn a_whole_run_without_checks_starts_git_fifteen_times() {
    for world in World::all() {
        let repository = world.open();
        let mut steps = Vec::new();
        let mut before = 0;
        let mut step = |name: &'static str| {
            steps.push((name, repository.spawns() - before));
            before = repository.spawns();
        };
        let base = repository.base("main").await.unwrap();
        step("base");
        repository.file(&base, ".azolla.toml", 1 << 16).await.unwrap();
        repository.describe(&base, &|_| Vec::new()).await.unwrap();
        step("describe");
        let attempt = crate::support::attempt(&base);
        let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
        step("take");
        repository.project(&attempt, &taken.commit).await.unwrap();
        step("project");
        let now = repository.base("main").await.unwrap();
        repository.file(&now, ".azolla.toml", 1 << 16).await.unwrap();
        step("gate: base");
        repository.rebuild(&attempt, &taken.diff).await.unwrap();
        step("gate: rebuild");
        repository.project(&attempt, &taken.commit).await.unwrap();
        step("gate: project");
        assert_eq!(repository.publish(&attempt, &taken.commit, &[]).await.unwrap(), Published::Done);
        step("publish");
        let expected = [
            ("base", 1),
            ("describe", 2),
            ("take", 5),
            ("project", 1),
            ("gate: base", 1),
            ("gate: rebuild", 3),
            ("gate: project", 0),
            ("publish", 2),
        ];
        assert_eq!(steps, expected);
    }
}
