//! The gate with checks on real files: what happens while they run, and what they can see.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
};

use azolla_control_plane::{
    Flow, Tick,
    checks::Check,
    operator::Changes,
    repo::{GitRepository, GitSettings, PatchLimits},
};
use azolla_protocol::{
    CheckEvidence, CheckSubject, GateResult, GenerationOutcome, ObjectiveId, ObjectiveStatus, ResourceRef,
    RunId,
};
use azolla_testkit::{Answer, Backend, ScriptedDiazotroph, World, cycle::LEASE_MS, world::REPO};
use tempfile::TempDir;

use crate::{
    gate::{cut_off_after_publishing, pause},
    runner::workorder,
};

mod confined;

const PATCH: &str = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n one\n+two\n";

/// A world on a real repository, with an objective at its gate.
struct Desk {
    world: World,
    id: ObjectiveId,
    directory: TempDir,
}

impl Desk {
    async fn with_checks(scripts: &[&str]) -> Self {
        Self::with(scripts, PATCH).await
    }

    /// Its check is a file, which the patch deletes.
    async fn removing_its_check() -> Self {
        let patch = "diff --git a/check b/check\ndeleted file mode 100755\n--- a/check\n+++ /dev/null\n@@ -1 +0,0 @@\n-#!/bin/sh\n";
        let mut desk = Self::with(&["true"], patch).await;
        desk.world.ctx.settings.checks[0].command = vec!["./check".into()];
        desk
    }

    async fn with(scripts: &[&str], patch: &str) -> Self {
        let directory = TempDir::new().expect("a directory");
        let app = directory.path().join("app");
        fs::create_dir(&app).expect("a repository");
        fs::write(app.join("a.txt"), "one\n").expect("a file");
        fs::write(app.join("check"), "#!/bin/sh\n").expect("a file");
        fs::set_permissions(app.join("check"), fs::Permissions::from_mode(0o755)).expect("a mode");
        git(&app, &["init", "--quiet", "--initial-branch=main"]);
        git(&app, &["add", "--all"]);
        git(&app, &["commit", "--quiet", "--message=x"]);
        let answer = Answer::Outcome(GenerationOutcome::Text(patch.to_owned()));
        let mut world = World::with(Backend::Sqlite, ScriptedDiazotroph::new([answer])).await;
        world.patch().repository = Arc::new(repository(directory.path(), "mirror.git"));
        world.ctx.settings.check_environment =
            [(OsString::from("PATH"), std::env::var_os("PATH").expect("a PATH"))].into();
        // Where a check looks for the sign to go on.
        world.ctx.settings.sandbox.read.push(directory.path().to_owned());
        world.ctx.settings.checks = scripts
            .iter()
            .enumerate()
            .map(|(n, script)| Check {
                name: format!("check-{n}"),
                command: vec![
                    "sh".into(),
                    "-c".into(),
                    script.replace("DIR", &directory.path().display().to_string()),
                ],
                time_ms: 60_000,
            })
            .collect();
        let id = world.executed().await;
        assert_eq!(world.patch().repo_ref, REPO);
        Self { world, id, directory }
    }

    /// Waits until the gate has its claim, which is the second one on the workorder.
    async fn until_claimed(&self) {
        let resource = ResourceRef::from(&workorder(&self.id, 1));
        loop {
            let claim = self.world.store.read().claim(&resource).await.expect("a read").expect("a claim");
            if claim.claim_version == 2 && claim.lease_expires_at > self.world.store.now().await {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Lets the waiting check go on.
    fn go(&self) {
        fs::write(self.directory.path().join("go"), "").expect("a file");
    }

    /// Gates it, and returns why it is blocked and the one thing to do.
    async fn refusal(&self) -> (String, String) {
        assert_eq!(self.world.gate().await, Tick::Advanced);
        assert_eq!(self.world.objective(&self.id).await.objective.status, ObjectiveStatus::Blocked);
        let run = self.world.store.read().run_of(&workorder(&self.id, 1)).await.expect("a read");
        let mut actions = pause(&self.world).await.prioritized_actions;
        assert_eq!(actions.len(), 1, "{actions:?}");
        (run.expect("a run").gate_reason, actions.remove(0))
    }

    async fn evidence(&self) -> Vec<CheckEvidence> {
        let id = RunId::of(&workorder(&self.id, 1));
        self.world.store.read().evidence_of(&id).await.expect("a read").expect("evidence").checks
    }

    fn branch(&self) -> String {
        let list = ["for-each-ref", "--format=%(refname)", "refs/heads/azolla"];
        git(&self.directory.path().join("app"), &list)
    }
}

/// Returns the repository in a directory, with the mirror of that name.
fn repository(directory: &Path, mirror: &str) -> GitRepository {
    let repository = GitRepository::open(GitSettings {
        repo: directory.join("app").display().to_string(),
        mirror: directory.join(mirror),
        scratch: directory.join("scratch"),
        git: which("git"),
        limits: PatchLimits::default(),
    });
    repository.expect("a repository")
}

/// G-1, C-6: a gate on another machine, or after its mirrors were lost, has not seen the base yet.
#[tokio::test]
async fn g1_c6_a_gate_whose_mirror_lacks_the_base_fetches_it() {
    let mut desk = Desk::with_checks(&[]).await;
    desk.world.patch().repository = Arc::new(repository(desk.directory.path(), "other.git"));
    assert_eq!(desk.world.gate().await, Tick::Advanced);
    assert_eq!(desk.world.objective(&desk.id).await.objective.status, ObjectiveStatus::Done);
}

/// Stands still until the file is there; the test makes it.
const WAIT: &str = "until [ -e DIR/go ]; do :; done";

/// G-1: a gate that stood still while it published, and comes back after the FAIL of another, leaves no branch.
#[tokio::test]
async fn g1_a_gate_that_was_overtaken_takes_its_branch_away() {
    let desk = Desk::with_checks(&[WAIT]).await;
    let mut overtaken = pin!(desk.world.gate());
    tokio::select! {
        tick = &mut overtaken => panic!("{tick:?}"),
        () = desk.until_claimed() => {}
    }
    // From here on it stands still.
    desk.world.store.advance(LEASE_MS).await;
    desk.world.operator().cancel(&desk.id, "wrong file").await.expect("cancelled");
    assert_eq!(desk.world.gate().await, Tick::Advanced);
    let run = desk.world.store.read().run_of(&workorder(&desk.id, 1)).await.expect("a read").expect("a run");
    assert_eq!(run.gate_result, GateResult::Fail);
    let Flow::Patch(flow) = &desk.world.ctx.flow else { panic!("a patch azolla") };
    cut_off_after_publishing(&desk.world, &*flow.repository, &desk.id, 1).await;
    assert_ne!(desk.branch(), "");
    assert_eq!(overtaken.await, Tick::Advanced);
    assert_eq!(desk.branch(), "");
}

/// S-3, S-f, W-7: a write of the operator's while checks run costs neither the checks nor the claim.
#[tokio::test]
async fn s3_w7_an_edit_during_the_checks_does_not_lose_them() {
    let desk = Desk::with_checks(&[WAIT]).await;
    let drive = async {
        desk.until_claimed().await;
        let changes = Changes { urgency: Some(1), ..Changes::default() };
        desk.world.operator().edit(&desk.id, changes).await.expect("an edit");
        desk.go();
    };
    let (tick, ()) = tokio::join!(desk.world.gate(), drive);
    assert_eq!(tick, Tick::Advanced);
    let stored = desk.world.objective(&desk.id).await.objective;
    assert_eq!((stored.status, stored.urgency), (ObjectiveStatus::Done, 1));
    let claim = desk.world.store.read().claim(&(&workorder(&desk.id, 1)).into()).await.expect("a read");
    assert_eq!(claim.map(|claim| claim.claim_version), Some(2), "one claim of the gate was enough");
}

/// S-m, G-1: a cancel that comes in while checks run is a FAIL, and nothing is published.
#[tokio::test]
async fn sm_g1_a_cancel_during_the_checks_publishes_nothing() {
    let desk = Desk::with_checks(&[WAIT]).await;
    let drive = async {
        desk.until_claimed().await;
        desk.world.operator().cancel(&desk.id, "no longer needed").await.expect("a cancel");
        desk.go();
    };
    let (tick, ()) = tokio::join!(desk.world.gate(), drive);
    assert_eq!(tick, Tick::Advanced);
    let run = desk.world.store.read().run_of(&workorder(&desk.id, 1)).await.expect("a read").expect("a run");
    assert_eq!(
        (run.gate_result, run.gate_reason.as_str()),
        (GateResult::Fail, "the operator cancelled the run")
    );
    assert_eq!(desk.world.objective(&desk.id).await.objective.status, ObjectiveStatus::Blocked);
    assert_eq!(desk.branch(), "");
}

/// A process that is asked to end during checks gives the claim back and leaves no verdict.
#[tokio::test]
async fn a_gate_that_is_asked_to_stop_gives_its_claim_back() {
    let desk = Desk::with_checks(&[WAIT]).await;
    let drive = async {
        desk.until_claimed().await;
        desk.world.stop.send_replace(true);
    };
    let (tick, ()) = tokio::join!(desk.world.gate(), drive);
    assert_eq!(tick, Tick::Idle);
    assert_eq!(desk.world.store.read().run_of(&workorder(&desk.id, 1)).await.expect("a read"), None);
    desk.world.store.granted(&ResourceRef::from(&workorder(&desk.id, 1))).await;
}

/// PF-7: every check runs on the tree that its evidence names, whatever the one before it did to its files.
#[tokio::test]
async fn pf7_a_check_cannot_change_what_the_next_one_sees() {
    let desk = Desk::with_checks(&["echo three > a.txt", "! grep -q three a.txt && grep -q one a.txt"]).await;
    desk.world.gate().await;
    let evidence =
        desk.world.store.read().evidence_of(&RunId::of(&workorder(&desk.id, 1))).await.expect("a read");
    let checks = evidence.expect("evidence").checks;
    assert!(checks.iter().all(|check| check.sandbox_mode == "bubblewrap+landlock"), "{checks:#?}");
    let seen: Vec<_> = checks.iter().map(|check| (check.subject, check.exit_code)).collect();
    let (patched, base) = (CheckSubject::Patched, CheckSubject::Base);
    assert_eq!(seen, [(patched, Some(0)), (patched, Some(0)), (base, Some(0)), (base, Some(0))]);
    assert_eq!(checks[0].tree, checks[1].tree);
    assert_ne!(checks[0].tree, checks[2].tree);
    assert_eq!(desk.world.objective(&desk.id).await.objective.status, ObjectiveStatus::Done);
}

/// PF-7, PF-8: what cannot be started is no failure of the base, and the one action names what is missing.
#[tokio::test]
async fn pf8_a_check_that_cannot_start_waits_for_the_operator_with_what_is_missing() {
    let mut desk = Desk::with_checks(&["true", "exit 3"]).await;
    desk.world.ctx.settings.checks[0].command = vec!["no-such-tool".into(), "--all".into()];
    let reason =
        "the checks cannot be run: check check-0 cannot be started: no-such-tool was not found on PATH";
    let action =
        format!("Install no-such-tool, or correct check check-0; then: azolla objective retry {}", desk.id);
    assert_eq!(desk.refusal().await, (reason.to_owned(), action));
    let checks = desk.evidence().await;
    let seen: Vec<_> =
        checks.iter().map(|check| (check.subject, check.exit_code, check.sandbox_mode.as_str())).collect();
    let patched = CheckSubject::Patched;
    assert_eq!(seen, [(patched, None, "not run"), (patched, Some(3), "bubblewrap+landlock")]);
}

/// R11: a sandbox that cannot be made is not put down to the patch or to its base.
#[tokio::test]
async fn r11_a_sandbox_that_cannot_be_made_waits_for_the_operator() {
    let mut desk = Desk::with_checks(&["true"]).await;
    let missing = desk.directory.path().join("no-such-cache");
    desk.world.ctx.settings.sandbox.write.push(missing.clone());
    let (reason, action) = desk.refusal().await;
    let place = missing.display().to_string();
    assert!(reason.starts_with("the checks cannot be run: check check-0 cannot be started: "), "{reason}");
    assert!(reason.contains(&place) && action.contains(&place), "{reason}: {action}");
    assert!(action.ends_with(&format!("; then: azolla objective retry {}", desk.id)), "{action}");
    assert!(desk.evidence().await.iter().all(|check| check.sandbox_mode == "not run"));
}

/// PF-8: what fails on the base too is nothing that another attempt could mend.
#[tokio::test]
async fn pf8_a_check_that_fails_on_the_base_too_waits_for_the_operator() {
    let desk = Desk::with_checks(&["exit 3"]).await;
    let action = format!("Make check check-0 pass on the base, then run: azolla objective retry {}", desk.id);
    assert_eq!(desk.refusal().await, ("check check-0 fails on the base too".to_owned(), action));
    let seen: Vec<_> =
        desk.evidence().await.into_iter().map(|check| (check.subject, check.exit_code)).collect();
    assert_eq!(seen, [(CheckSubject::Patched, Some(3)), (CheckSubject::Base, Some(3))]);
}

/// PF-7, R11: a check that hangs is over with its time, and the next attempt is told so.
#[tokio::test]
async fn pf7_a_check_that_hangs_on_the_patch_ran_out_of_time() {
    let mut desk = Desk::with_checks(&["! grep -q two a.txt || while :; do :; done"]).await;
    desk.world.ctx.settings.checks[0].time_ms = 1_000;
    desk.world.gate().await;
    let run = desk.world.store.read().run_of(&workorder(&desk.id, 1)).await.expect("a read").expect("a run");
    assert_eq!(
        (run.gate_result, run.gate_reason.as_str()),
        (GateResult::Fail, "check check-0 ran out of time")
    );
    assert_eq!(desk.world.objective(&desk.id).await.objective.status, ObjectiveStatus::Todo);
    let ends: Vec<_> = desk.evidence().await.iter().map(|check| check.timed_out).collect();
    assert_eq!(ends, [true, false]);
}

/// PF-7: a check that prints a gigabyte is one that passes; what is kept of it is its end.
#[tokio::test]
async fn pf7_a_check_that_prints_a_gigabyte_keeps_its_end() {
    let desk = Desk::with_checks(&["head -c 1000000000 /dev/zero | tr '\\0' x; echo the end"]).await;
    desk.world.gate().await;
    assert_eq!(desk.world.objective(&desk.id).await.objective.status, ObjectiveStatus::Done);
    let checks = desk.evidence().await;
    let tail = &checks[0].output_tail;
    assert!(tail.len() <= 17 * 1024 && tail.trim_end().ends_with("xthe end"), "{} bytes", tail.len());
}

/// PF-7: a stored patch that does not give the commit of its bundle does not pass, whatever the checks would say.
#[tokio::test]
async fn pf7_a_patch_that_does_not_give_its_commit_fails() {
    let desk = Desk::with_checks(&["true"]).await;
    let other = "DROP TRIGGER output_bundle_update; \
                 UPDATE output_bundle SET document = replace(document, '+two', '+three')";
    desk.world.store.raw(other).await.expect("another patch");
    desk.world.gate().await;
    let run = desk.world.store.read().run_of(&workorder(&desk.id, 1)).await.expect("a read").expect("a run");
    assert_eq!(run.gate_result, GateResult::Fail);
    assert!(run.gate_reason.starts_with("base + stored patch is commit "), "{}", run.gate_reason);
    assert_eq!(desk.branch(), "");
}

/// PF-8: a program of the repository's that is on neither side is missing; nobody took it away.
#[tokio::test]
async fn pf8_a_check_that_is_on_no_side_is_told_as_missing() {
    let mut desk = Desk::with_checks(&["true"]).await;
    desk.world.ctx.settings.checks[0].command = vec!["./scripts/check".into()];
    let (reason, action) = desk.refusal().await;
    assert!(reason.ends_with("cannot be started: ./scripts/check is not in the repository"), "{reason}");
    assert!(action.starts_with("Add ./scripts/check, or correct check check-0; then: "), "{action}");
    assert_eq!(desk.evidence().await.len(), 2);
}

/// PF-8: a patch that takes its own check away fails by itself, and the next attempt is told so.
#[tokio::test]
async fn pf8_a_patch_that_removes_its_check_fails_for_that() {
    let desk = Desk::removing_its_check().await;
    desk.world.gate().await;
    let run = desk.world.store.read().run_of(&workorder(&desk.id, 1)).await.expect("a read").expect("a run");
    assert_eq!(
        (run.gate_result, run.gate_reason.as_str()),
        (GateResult::Fail, "check check-0 cannot be started: ./check is not in the repository")
    );
    assert_eq!(desk.world.objective(&desk.id).await.objective.status, ObjectiveStatus::Todo);
    let modes: Vec<_> = desk.evidence().await.into_iter().map(|check| check.sandbox_mode).collect();
    assert_eq!(modes, ["not run", "bubblewrap+landlock"]);
}

fn which(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").expect("a PATH");
    azolla_process::find(name.as_ref(), &path).expect("git is installed")
}

#[expect(clippy::disallowed_methods, reason = "a person's own git")]
fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .args(["-c", "user.name=P", "-c", "user.email=p@localhost.invalid"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}
