//! TF-8: the operator's steps on candidates, over two Substrates that can each be away in the middle.

pub(super) mod away;

use std::sync::Arc;

use azolla_control_plane::{
    operator::{CandidateRef, Changes, Operator, OperatorError, Promotion},
    workers::scheduler::has_schedulable_triage,
};
use azolla_protocol::{
    AzollaId, AzollaType, CandidateOutcome, CandidateResolution, CaptureStatus, JournalStep, ObjectiveId,
    ObjectiveStatus, is_archived,
};
use azolla_substrate::{Identity, Opening, SqliteSubstrate, StreamState, Substrate, SubstrateRead};
use azolla_testkit::{Backend, TaskWorld, World, world::REPO};
use serde_json::json;

use self::away::{Away, Paused, Stale, When};
use super::*;

/// A triage of two captures that passed, and an azolla that takes tickets.
struct Desk {
    tasks: TaskWorld,
    patches: World,
    captures: Vec<CaptureId>,
}

impl Desk {
    async fn new(backend: Backend) -> Self {
        let tasks = TaskWorld::new(backend).await;
        let captures = tasks.scheduled(&["fix the login", "buy\tmilk"]).await;
        tasks.runner().await;
        tasks.gate().await;
        Self { tasks, patches: World::new(backend).await, captures }
    }

    fn candidate(&self, number: u64) -> CandidateRef {
        CandidateRef { output_id: output(&self.captures[0], 1), index: number - 1 }
    }

    fn promotion(&self) -> Promotion<'_> {
        promotion(self.patches.operator())
    }

    async fn resolution(&self, which: &CandidateRef) -> Option<CandidateResolution> {
        let all = self.tasks.store.read().resolutions_of(&which.output_id).await.unwrap();
        all.into_iter().find(|resolution| resolution.candidate_index == which.index)
    }

    async fn outcome(&self, which: &CandidateRef) -> Option<CandidateOutcome> {
        self.resolution(which).await.map(|resolution| resolution.outcome)
    }

    async fn waiting(&self) -> u64 {
        self.tasks.store.read().stream().await.unwrap().waiting
    }

    /// How many objectives the target has.
    async fn objectives(&self) -> usize {
        objectives(&self.patches).await
    }
}

/// One more azolla that takes tickets.
struct OtherAzolla {
    identity: Identity,
    store: Arc<dyn Substrate>,
    _directory: tempfile::TempDir,
}

async fn other_azolla(desk: &Desk) -> OtherAzolla {
    let directory = tempfile::tempdir().unwrap();
    let identity =
        Identity { azolla_id: AzollaId::new("az-other").unwrap(), azolla_type: AzollaType::CodePatch };
    let opening = Opening::OrCreate(identity.clone());
    let path = directory.path().join("other.sqlite");
    let store = SqliteSubstrate::open(&path, opening, Arc::new(desk.tasks.store.clock())).await.unwrap();
    OtherAzolla { identity, store: Arc::new(store), _directory: directory }
}

fn promotion(target: Operator<'_>) -> Promotion<'_> {
    Promotion { target, elsewhere: &[], repo_ref: REPO, base_branch: "main", edits: Changes::default() }
}

async fn objectives(world: &World) -> usize {
    let filter = azolla_substrate::ObjectiveFilter { status: None, max_urgency: 4, after: None, limit: 10 };
    world.store.read().objectives(&filter).await.unwrap().len()
}

/// What a refusal says, and what to type next.
fn refusal(error: OperatorError) -> (String, String) {
    match error {
        OperatorError::Refused { what, hint } => (what, hint.unwrap_or_default()),
        OperatorError::NotFound { what } => (what, String::new()),
        OperatorError::Store(error) => panic!("{error}"),
    }
}

/// TF-8, S-a: a candidate becomes an objective, NEW, that names where it comes from.
async fn a_candidate_becomes_an_objective(backend: Backend) {
    let desk = Desk::new(backend).await;
    let which = desk.candidate(1);
    assert_eq!(desk.waiting().await, 1);
    let id = desk.tasks.operator().promote(&which, &desk.promotion()).await.unwrap();
    assert_eq!(id, ObjectiveId::promoted(&which.output_id, 0).unwrap());
    let objective = desk.patches.objective(&id).await.objective;
    assert_eq!((objective.status, objective.title.as_str()), (ObjectiveStatus::New, "fix the login"));
    assert_eq!(objective.acceptance_criteria, "It is done.");
    assert_eq!((objective.importance, objective.urgency), (2, 1));
    let from = json!({"azolla_id": "az-test", "output_id": which.output_id, "candidate_index": 0,
                      "capture_ids": [desk.captures[0]]});
    assert_eq!(objective.metadata["promoted_from"], from);
    assert_eq!(
        (&objective.metadata["repo_ref"], &objective.metadata["base_branch"]),
        (&json!(REPO), &json!("main"))
    );
    let resolution = desk.resolution(&which).await.unwrap();
    assert_eq!((resolution.outcome, resolution.objective_id), (CandidateOutcome::Promoted, Some(id.clone())));
    assert_eq!(resolution.resolved_by, "operator");
    // O-3, A-6: the other candidate still waits, so the page still says so.
    assert_eq!(desk.waiting().await, 1);
    assert!(desk.tasks.standing().await.pause_key.is_some());
    desk.tasks.operator().discard(&desk.candidate(2)).await.unwrap();
    assert_eq!(desk.waiting().await, 0);
    assert_eq!(desk.tasks.standing().await.pause_key, None);
    // S-b: it runs once the operator approves it.
    desk.patches.operator().approve(&id).await.unwrap();
    let (what, hint) = refusal(desk.tasks.operator().promote(&which, &desk.promotion()).await.unwrap_err());
    assert_eq!(what, format!("candidate {which} is PROMOTED: objective {id} is TODO"));
    assert_eq!(hint, format!("azolla objective show {id}"));
    assert_sound(&desk.tasks).await;
}

/// TF-8: what the operator changes about a candidate is what the objective says.
#[tokio::test]
async fn tf8_edits_go_into_the_objective() {
    let desk = Desk::new(Backend::Sqlite).await;
    let edits = Changes {
        title: Some("Fix the login of guests".into()),
        acceptance_criteria: Some("Guests log in.".into()),
        base_branch: Some("next".into()),
        urgency: Some(0),
        ..Changes::default()
    };
    let promotion = Promotion { edits, ..desk.promotion() };
    let id = desk.tasks.operator().promote(&desk.candidate(1), &promotion).await.unwrap();
    let objective = desk.patches.objective(&id).await.objective;
    assert_eq!(objective.title, "Fix the login of guests");
    assert_eq!(objective.acceptance_criteria, "Guests log in.");
    assert_eq!((objective.metadata["base_branch"].as_str(), objective.urgency), (Some("next"), 0));
    // A title of the worker's own is made one line; the operator's is checked.
    let id = desk.tasks.operator().promote(&desk.candidate(2), &desk.promotion()).await.unwrap();
    assert_eq!(desk.patches.objective(&id).await.objective.title, "buy milk");
}

/// TF-8: a target that takes no tickets, or names that git could misread, are refused before anything is written.
#[tokio::test]
async fn tf8_t18_a_promotion_that_cannot_be_is_refused_and_leaves_nothing() {
    let desk = Desk::new(Backend::Sqlite).await;
    let which = desk.candidate(1);
    let to_itself = promotion(desk.tasks.operator());
    let (what, _) = refusal(desk.tasks.operator().promote(&which, &to_itself).await.unwrap_err());
    assert_eq!(what, "az-test is a TASK_MGMT_AZOLLA: it takes no tickets");
    let hostile = Promotion { base_branch: "--upload-pack=id", ..desk.promotion() };
    refusal(desk.tasks.operator().promote(&which, &hostile).await.unwrap_err());
    let two_lines = Changes { title: Some("a\nb".into()), ..Changes::default() };
    let two_lines = Promotion { edits: two_lines, ..desk.promotion() };
    refusal(desk.tasks.operator().promote(&which, &two_lines).await.unwrap_err());
    assert_eq!((desk.outcome(&which).await, desk.objectives().await), (None, 0));
}

/// TF-8: cut anywhere between the two Substrates, the same step again gives one objective and one resolution.
async fn a_cut_between_two_substrates_loses_and_doubles_nothing(backend: Backend) {
    for (at_target, when) in [
        (true, When::BeforeCommit),
        (true, When::AfterCommit),
        (false, When::BeforeCommit),
        (false, When::AfterCommit),
    ] {
        let desk = Desk::new(backend).await;
        let which = desk.candidate(1);
        let (tasks, patches) = (desk.tasks.operator(), desk.patches.operator());
        let away = |store: &std::sync::Arc<dyn Substrate>| Away::new(store.clone(), when);
        let (away_tasks, away_patches) = (away(&desk.tasks.store.store), away(&desk.patches.store.store));
        let cut = match at_target {
            true => {
                let target = Operator { substrate: &away_patches, ..patches };
                tasks.promote(&which, &promotion(target)).await
            }
            false => Operator { substrate: &away_tasks, ..tasks }.promote(&which, &desk.promotion()).await,
        };
        assert!(matches!(cut, Err(OperatorError::Store(_))), "{cut:?}");
        let id = ObjectiveId::promoted(&which.output_id, 0).unwrap();
        match tasks.promote(&which, &desk.promotion()).await {
            Ok(made) => assert_eq!(made, id),
            // All of it was done; only the answer was lost.
            Err(error) => {
                assert!(!at_target && when == When::AfterCommit, "{error}");
                let (what, _) = refusal(error);
                assert_eq!(what, format!("candidate {which} is PROMOTED: objective {id} is NEW"));
            }
        }
        assert_eq!(desk.objectives().await, 1);
        assert_eq!(desk.resolution(&which).await.unwrap().objective_id, Some(id.clone()));
        let journal = desk.tasks.store.read().journal_of(&format!("{}#0", which.output_id)).await.unwrap();
        assert_eq!(journal.iter().filter(|entry| entry.step == JournalStep::Insert).count(), 1);
        assert_eq!(desk.patches.objective(&id).await.version, 1);
        assert_sound(&desk.tasks).await;
    }
}

/// TF-8: a promotion that was cut off is completed where it began, with what the operator says now.
#[tokio::test]
async fn tf8_a_cut_promotion_is_not_doubled_elsewhere() {
    let desk = Desk::new(Backend::Sqlite).await;
    let (which, other) = (desk.candidate(1), World::new(Backend::Sqlite).await);
    let away = Away::new(desk.tasks.store.store.clone(), When::BeforeCommit);
    let cut = Operator { substrate: &away, ..desk.tasks.operator() };
    cut.promote(&which, &desk.promotion()).await.unwrap_err();
    let begun: &dyn SubstrateRead = &*desk.patches.store.store;
    let elsewhere = Promotion { elsewhere: &[begun], ..promotion(other.operator()) };
    let (what, hint) = refusal(desk.tasks.operator().promote(&which, &elsewhere).await.unwrap_err());
    assert_eq!(what, format!("an earlier promotion of {which} is in az-test"));
    assert_eq!(hint, format!("azolla triage promote {which} --azolla az-test"));
    assert_eq!(objectives(&other).await, 0);
    let edits = Changes { title: Some("Said later".into()), ..Changes::default() };
    let id = desk.tasks.operator().promote(&which, &Promotion { edits, ..desk.promotion() }).await.unwrap();
    assert_eq!(desk.patches.objective(&id).await.objective.title, "Said later");
}

/// TF-8: two promotions at once leave one objective that counts, whichever inserts and whichever resolves first.
#[tokio::test]
async fn tf8_two_promotions_at_once_leave_one_objective() {
    let desk = Desk::new(Backend::Sqlite).await;
    let which = desk.candidate(1);
    let id = desk.tasks.operator().promote(&which, &desk.promotion()).await.unwrap();
    // To another azolla: the slower one had read the candidate before the faster one resolved it.
    let other = other_azolla(&desk).await;
    let there = Operator { substrate: &*other.store, identity: &other.identity, ..desk.patches.operator() };
    let stale = Stale::new(desk.tasks.store.store.clone());
    let slower = Operator { substrate: &stale, ..desk.tasks.operator() };
    let refused = refusal(slower.promote(&which, &promotion(there)).await.unwrap_err());
    assert_eq!(refused, (format!("candidate {which} is PROMOTED"), format!("azolla triage undo {which}")));
    assert!(is_archived(&other.store.read().objective(&id).await.unwrap().unwrap().objective));
    assert!(!is_archived(&desk.patches.objective(&id).await.objective));
    // To the same azolla, the slower one is done too.
    let stale = Stale::new(desk.tasks.store.store.clone());
    let slower = Operator { substrate: &stale, ..desk.tasks.operator() };
    assert_eq!(slower.promote(&which, &desk.promotion()).await.unwrap(), id);
    assert_eq!(desk.objectives().await, 1);
    assert!(!is_archived(&desk.patches.objective(&id).await.objective));
}

/// TF-8: one inserts the objective, another finds it there and resolves first: it stays, and both are done.
#[tokio::test]
async fn tf8_whoever_inserted_the_objective_leaves_it_to_whoever_resolved() {
    let desk = Desk::new(Backend::Sqlite).await;
    let which = desk.candidate(1);
    let paused = Paused::new(desk.tasks.store.store.clone());
    let inserter = Operator { substrate: &paused, ..desk.tasks.operator() };
    let first = desk.promotion();
    let meanwhile = async {
        paused.0.reached.notified().await;
        assert_eq!(desk.objectives().await, 1, "it is inserted, and not resolved");
        let id = desk.tasks.operator().promote(&which, &desk.promotion()).await.unwrap();
        paused.0.go.notify_one();
        id
    };
    let (slower, id) = tokio::join!(inserter.promote(&which, &first), meanwhile);
    assert_eq!(slower.unwrap(), id);
    assert!(!is_archived(&desk.patches.objective(&id).await.objective));
    assert_eq!((desk.objectives().await, desk.patches.objective(&id).await.version), (1, 1));
    assert_sound(&desk.tasks).await;
}

/// two close the last two candidates at once: the one that comes second ends the pause_state.
#[tokio::test]
async fn a6_the_last_candidate_is_noticed_when_two_are_closed_at_once() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let desk = Desk::new(backend).await;
        let paused = Paused::new(desk.tasks.store.store.clone());
        let slower = Operator { substrate: &paused, ..desk.tasks.operator() };
        let candidates = [desk.candidate(1), desk.candidate(2)];
        let meanwhile = async {
            paused.0.reached.notified().await;
            desk.tasks.operator().discard(&candidates[1]).await.unwrap();
            assert!(desk.tasks.standing().await.pause_key.is_some(), "the other one looks open");
            paused.0.go.notify_one();
        };
        let (closed, ()) = tokio::join!(slower.discard(&candidates[0]), meanwhile);
        closed.unwrap();
        assert_eq!((desk.waiting().await, desk.tasks.standing().await.pause_key), (0, None), "{backend:?}");
        assert_sound(&desk.tasks).await;
    }
}

/// TF-8: discard, defer and duplicate are recorded once; what is open or DEFERRED can become anything.
async fn outcomes_are_recorded_once(backend: Backend) {
    let desk = Desk::new(backend).await;
    let (operator, which) = (desk.tasks.operator(), desk.candidate(1));
    let there = desk.patches.created().await;
    operator.defer(&which).await.unwrap();
    operator.defer(&which).await.unwrap();
    assert_eq!(desk.outcome(&which).await, Some(CandidateOutcome::Deferred));
    operator.discard(&which).await.unwrap();
    operator.discard(&which).await.unwrap();
    let refused_with = (format!("candidate {which} is DISCARDED"), format!("azolla triage undo {which}"));
    assert_eq!(refusal(operator.defer(&which).await.unwrap_err()), refused_with);
    assert_eq!(refusal(operator.promote(&which, &desk.promotion()).await.unwrap_err()), refused_with);
    let at = desk.patches.store.read();
    assert_eq!(refusal(operator.duplicate(&which, &there, at).await.unwrap_err()), refused_with);
    operator.undo(&which, &[]).await.unwrap();
    assert_eq!(desk.outcome(&which).await, None);
    operator.defer(&which).await.unwrap();
    let nowhere = ObjectiveId::new("obj-nowhere").unwrap();
    let (what, _) = refusal(operator.duplicate(&which, &nowhere, at).await.unwrap_err());
    assert_eq!(what, "there is no objective obj-nowhere");
    let standing = desk.tasks.standing().await.objective.objective_id;
    let (what, hint) =
        refusal(operator.duplicate(&which, &standing, desk.tasks.store.read()).await.unwrap_err());
    assert_eq!(what, format!("{standing} is the standing objective: nothing is a duplicate of it"));
    assert_eq!(hint, "azolla objective list");
    operator.duplicate(&which, &there, at).await.unwrap();
    let resolution = desk.resolution(&which).await.unwrap();
    assert_eq!((resolution.outcome, resolution.objective_id), (CandidateOutcome::Duplicate, Some(there)));
    operator.undo(&which, &[]).await.unwrap();
    let (what, hint) = refusal(operator.undo(&which, &[]).await.unwrap_err());
    assert_eq!(what, format!("candidate {which} is open: there is nothing to undo"));
    assert_eq!(hint, format!("azolla triage promote {which}"));
    operator.promote(&which, &desk.promotion()).await.unwrap();
    let (what, _) = refusal(operator.discard(&which).await.unwrap_err());
    assert_eq!(what, format!("candidate {which} is PROMOTED"));
    assert_sound(&desk.tasks).await;
}

/// TF-8: a promotion is undone while its objective is NEW, and comes back as it was.
async fn a_promotion_is_undone_until_it_is_approved(backend: Backend) {
    let desk = Desk::new(backend).await;
    let (operator, which, target) = (desk.tasks.operator(), desk.candidate(1), desk.patches.operator());
    let id = operator.promote(&which, &desk.promotion()).await.unwrap();
    operator.undo(&which, &[target]).await.unwrap();
    assert!(is_archived(&desk.patches.objective(&id).await.objective));
    assert_eq!(desk.outcome(&which).await, None, "it is open again");
    let (what, hint) = refusal(operator.undo(&which, &[target]).await.unwrap_err());
    assert_eq!(what, format!("candidate {which} is open: there is nothing to undo"));
    assert_eq!(hint, format!("azolla triage promote {which}"));
    // What cannot be is refused before anything of it is brought back.
    for edits in [
        Changes { title: Some("one\ntwo".into()), ..Changes::default() },
        Changes { title: Some("x".repeat(10_000)), ..Changes::default() },
        Changes { base_branch: Some("--upload-pack=x".into()), ..Changes::default() },
    ] {
        refusal(operator.promote(&which, &Promotion { edits, ..desk.promotion() }).await.unwrap_err());
        let objective = desk.patches.objective(&id).await;
        assert!(is_archived(&objective.objective) && objective.version == 2, "{objective:?}");
        assert_eq!(desk.outcome(&which).await, None);
    }
    assert_eq!(operator.promote(&which, &desk.promotion()).await.unwrap(), id);
    assert!(!is_archived(&desk.patches.objective(&id).await.objective));
    target.approve(&id).await.unwrap();
    let (what, hint) = refusal(operator.undo(&which, &[target]).await.unwrap_err());
    assert_eq!(what, format!("objective {id} is TODO; undo needs NEW"));
    assert_eq!(hint, format!("azolla objective withdraw {id}"));
    let (what, _) = refusal(operator.undo(&which, &[]).await.unwrap_err());
    assert_eq!(what, format!("objective {id} is in no azolla of this machine"));
}

/// TF-8, O-3: what was undone waits as before, and can become anything: set aside, left for later, or work elsewhere.
async fn an_undone_promotion_is_a_candidate_like_any_other(backend: Backend) {
    let desk = Desk::new(backend).await;
    let (operator, which) = (desk.tasks.operator(), desk.candidate(1));
    operator.discard(&desk.candidate(2)).await.unwrap();
    let id = operator.promote(&which, &desk.promotion()).await.unwrap();
    let here = desk.patches.operator();
    let open = async || {
        let outputs = desk.tasks.store.read().open_candidates(10).await.unwrap();
        (
            outputs.len() as u64,
            desk.waiting().await,
            desk.tasks.store.read().count_open_candidates().await.unwrap(),
        )
    };
    assert_eq!(open().await, (0, 0, 0));
    operator.undo(&which, &[here]).await.unwrap();
    assert_eq!(open().await, (1, 1, 1));
    operator.discard(&which).await.unwrap();
    operator.undo(&which, &[here]).await.unwrap();
    operator.defer(&which).await.unwrap();
    assert_eq!(open().await, (0, 0, 0));
    operator.undo(&which, &[here]).await.unwrap();
    // To another azolla: what is archived in the first one is no longer in the way, and stays as it is.
    let other = other_azolla(&desk).await;
    let there = Operator { substrate: &*other.store, identity: &other.identity, ..here };
    let elsewhere: &dyn SubstrateRead = &*desk.patches.store.store;
    let moved = Promotion { elsewhere: &[elsewhere], ..promotion(there) };
    assert_eq!(operator.promote(&which, &moved).await.unwrap(), id);
    assert!(!is_archived(&other.store.read().objective(&id).await.unwrap().unwrap().objective));
    assert!(is_archived(&desk.patches.objective(&id).await.objective));
    // And back, though both have it.
    operator.undo(&which, &[here, there]).await.unwrap();
    assert!(is_archived(&other.store.read().objective(&id).await.unwrap().unwrap().objective));
    assert_eq!((open().await, desk.patches.objective(&id).await.version), ((1, 1, 1), 2));
    assert_sound(&desk.tasks).await;
}

/// TF-8: cut off between the two Substrates, the same undo again completes it, and nothing can be promoted twice meanwhile.
#[tokio::test]
async fn tf8_an_undo_that_is_cut_off_is_completed_by_the_same_step() {
    for when in [When::BeforeCommit, When::AfterCommit] {
        let desk = Desk::new(Backend::Sqlite).await;
        let (operator, which, target) = (desk.tasks.operator(), desk.candidate(1), desk.patches.operator());
        let id = operator.promote(&which, &desk.promotion()).await.unwrap();
        let away = Away::new(desk.tasks.store.store.clone(), when);
        let cut = Operator { substrate: &away, ..operator }.undo(&which, &[target]).await;
        assert!(matches!(cut, Err(OperatorError::Store(_))), "{cut:?}");
        assert!(is_archived(&desk.patches.objective(&id).await.objective));
        match operator.undo(&which, &[target]).await {
            Ok(()) => assert_eq!(when, When::BeforeCommit),
            // All of it was done; only the answer was lost.
            Err(error) => {
                assert_eq!(when, When::AfterCommit, "{error}");
                assert!(error.to_string().ends_with("is open: there is nothing to undo"), "{error}");
            }
        }
        assert_eq!((desk.outcome(&which).await, desk.patches.objective(&id).await.version), (None, 2));
        assert_sound(&desk.tasks).await;
    }
}

/// TF-8: what is no candidate is not found, whatever is asked.
#[tokio::test]
async fn tf8_what_is_no_candidate_is_not_found() {
    let desk = Desk::new(Backend::Sqlite).await;
    let operator = desk.tasks.operator();
    let (what, _) = refusal(operator.discard(&desk.candidate(3)).await.unwrap_err());
    let out = output(&desk.captures[0], 1);
    assert_eq!(what, format!("{out} has 2 candidates, numbered from 1; there is no {out}/3"));
    let nowhere: CandidateRef = "out-nowhere/1".parse().unwrap();
    let (what, _) = refusal(operator.defer(&nowhere).await.unwrap_err());
    assert_eq!(what, "there is no out-nowhere in az-test");
    // A bundle that failed its gate has none.
    let failing = TaskWorld::with(Backend::Sqlite, [text("prose")]).await;
    let id = failing.captured("one").await;
    failing.run_to_pause().await.unwrap();
    let failed = CandidateRef { output_id: output(&id, 1), index: 0 };
    let (what, _) = refusal(failing.operator().discard(&failed).await.unwrap_err());
    assert_eq!(what, format!("{} is no triage that passed its gate", output(&id, 1)));
}

/// O-3: outputs with open candidates are what waits for the operator; at the limit no triage begins.
#[tokio::test]
async fn o3_open_candidates_limit_triage() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let mut world = TaskWorld::new(backend).await;
        world.ctx.settings.room.review_limit = 1;
        world.ctx.settings.triage_batch = 1;
        let first = world.captured("one").await;
        let second = world.captured("two").await;
        world.run_to_pause().await.unwrap();
        assert_eq!(world.store.read().stream().await.unwrap(), StreamState { open: 0, waiting: 1 });
        assert_eq!(world.capture(&second).await.attempts, 0);
        // W-4: what waits for the operator does not keep orientation waiting.
        assert!(!has_schedulable_triage(&world.ctx).await.unwrap());
        let candidate = format!("{}/1", output(&first, 1)).parse().unwrap();
        world.operator().defer(&candidate).await.unwrap();
        assert!(has_schedulable_triage(&world.ctx).await.unwrap());
        world.run_to_pause().await.unwrap();
        assert_eq!(world.capture(&second).await.capture.status, CaptureStatus::Processed);
        assert_sound(&world).await;
    }
}

/// A candidate's name reads back, and nothing else does.
#[test]
fn tf8_a_candidate_has_a_name() {
    let which: CandidateRef = "out-abc-1/2".parse().unwrap();
    assert_eq!((which.output_id.as_str(), which.index), ("out-abc-1", 1));
    assert_eq!(which.to_string(), "out-abc-1/2");
    for wrong in ["out-abc-1", "out-abc-1/0", "out-abc-1/", "out-abc-1/x", "obj-abc/1", "/1", "out-a/-1", ""]
    {
        wrong.parse::<CandidateRef>().unwrap_err();
    }
}

mod sqlite {
    use super::Backend::Sqlite;

    #[tokio::test]
    async fn tf8_a_candidate_becomes_an_objective() {
        super::a_candidate_becomes_an_objective(Sqlite).await;
    }

    #[tokio::test]
    async fn tf8_a_cut_between_two_substrates_loses_and_doubles_nothing() {
        super::a_cut_between_two_substrates_loses_and_doubles_nothing(Sqlite).await;
    }

    #[tokio::test]
    async fn tf8_outcomes_are_recorded_once() {
        super::outcomes_are_recorded_once(Sqlite).await;
    }

    #[tokio::test]
    async fn tf8_a_promotion_is_undone_until_it_is_approved() {
        super::a_promotion_is_undone_until_it_is_approved(Sqlite).await;
    }

    #[tokio::test]
    async fn tf8_an_undone_promotion_is_a_candidate_like_any_other() {
        super::an_undone_promotion_is_a_candidate_like_any_other(Sqlite).await;
    }
}

mod postgres {
    use super::Backend::Postgres;

    #[tokio::test]
    async fn tf8_a_candidate_becomes_an_objective() {
        super::a_candidate_becomes_an_objective(Postgres).await;
    }

    #[tokio::test]
    async fn tf8_a_cut_between_two_substrates_loses_and_doubles_nothing() {
        super::a_cut_between_two_substrates_loses_and_doubles_nothing(Postgres).await;
    }

    #[tokio::test]
    async fn tf8_outcomes_are_recorded_once() {
        super::outcomes_are_recorded_once(Postgres).await;
    }

    #[tokio::test]
    async fn tf8_a_promotion_is_undone_until_it_is_approved() {
        super::a_promotion_is_undone_until_it_is_approved(Postgres).await;
    }

    #[tokio::test]
    async fn tf8_an_undone_promotion_is_a_candidate_like_any_other() {
        super::an_undone_promotion_is_a_candidate_like_any_other(Postgres).await;
    }
}
