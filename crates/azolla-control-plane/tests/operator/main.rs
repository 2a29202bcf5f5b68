//! The operator's steps on a real store, on both backends, around runs that a worker's commits play out.

// clippy.toml allows it in tests; helpers of an integration test are not seen as such.
#![allow(clippy::unwrap_used)]

use azolla_control_plane::operator::{Changes, NewObjective, Operator, OperatorError};
use azolla_protocol::{
    Actor, AzollaType, BlockerId, BlockerKind, BlockerRef, GateResult, JournalStep, Objective, ObjectiveId,
    ObjectiveStatus, ObjectiveStep, ObjectiveType, PauseReason, RunId, WorkOrderId,
};
use azolla_substrate::{Commit, Identity, ObjectiveMark, PauseKey, Write, verify};
use azolla_testkit::{
    Backend, PatchCycle, SequentialIds, TestStore,
    cycle::{pause_state, run_record, valid},
    store::{azolla_id, identity},
};
use serde_json::json;

/// Makes each test twice, as `sqlite::NAME` and `postgres::NAME`.
macro_rules! on_both_backends {
    ($($(#[$attribute:meta])* async fn $name:ident($world:ident: World) $body:block)+) => {
        mod suite {
            use super::*;
            $($(#[$attribute])* pub(super) async fn $name($world: World) $body)+
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::suite::$name(super::World::new(super::Backend::Sqlite).await).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::suite::$name(super::World::new(super::Backend::Postgres).await).await;
            })+
        }
    };
}

/// A store, and the operator at it.
struct World {
    store: TestStore,
    identity: Identity,
    ids: SequentialIds,
}

impl World {
    async fn new(backend: Backend) -> Self {
        Self::of_type(backend, AzollaType::CodePatch).await
    }

    async fn of_type(backend: Backend, azolla_type: AzollaType) -> Self {
        let store = TestStore::of_type(backend, azolla_type).await;
        Self { store, identity: identity(azolla_type), ids: SequentialIds::starting_at(500_000) }
    }

    fn operator(&self) -> Operator<'_> {
        Operator { substrate: &*self.store.store, identity: &self.identity, ids: &self.ids, who: "ada" }
    }

    /// An objective at TODO.
    async fn approved(&self) -> ObjectiveId {
        let id = self.operator().create(ticket()).await.unwrap();
        self.operator().approve(&id).await.unwrap();
        id
    }

    /// An objective whose run passed its gate, and that run.
    async fn done(&self) -> (ObjectiveId, RunId) {
        let id = self.approved().await;
        let run_id = RunId::of(&self.cycle(&id).run(GateResult::Pass).await);
        (id, run_id)
    }

    fn cycle(&self, id: &ObjectiveId) -> PatchCycle<'_> {
        PatchCycle { world: &self.store, objective_id: id.clone() }
    }

    async fn status(&self, id: &ObjectiveId) -> ObjectiveStatus {
        self.cycle(id).stored().await.objective.status
    }

    /// Plays a run whose gate blocks the objective, by the given row of the table.
    async fn gate_blocks(&self, id: &ObjectiveId, step: ObjectiveStep) {
        let cycle = self.cycle(id);
        let work_order_id = cycle.scheduled().await;
        self.execute(&cycle, &work_order_id).await;
        self.gate(&cycle, &work_order_id, step).await;
    }

    async fn execute(&self, cycle: &PatchCycle<'_>, work_order_id: &WorkOrderId) {
        let runner = self.store.granted(&work_order_id.into()).await;
        cycle.execute(runner.fence).await.unwrap();
    }

    async fn gate(&self, cycle: &PatchCycle<'_>, work_order_id: &WorkOrderId, step: ObjectiveStep) {
        let fence = self.store.granted(&work_order_id.into()).await.fence;
        let stored = cycle.stored().await;
        let now = self.store.now().await;
        let mut next = Objective {
            status: ObjectiveStatus::Blocked,
            blocked_reason: Some("the gate failed".into()),
            updated_at: now,
            ..stored.objective.clone()
        };
        next.blocked_on.push(BlockerRef {
            blocker_id: BlockerId::new(format!("blk-{}", work_order_id.body())).unwrap(),
            kind: BlockerKind::UserInput,
            description: "the gate failed".into(),
            resolved: false,
        });
        let id = &cycle.objective_id;
        let commit = Commit::new(self.store.ids.commit_id(), Actor::Gate)
            .with(Write::Gate(valid(run_record(work_order_id, id, GateResult::Fail, now))))
            .with(Write::AdvanceObjective { was: ObjectiveMark::from(&stored), step, next: valid(next) })
            .with(Write::Pause {
                key: PauseKey::Workorder(work_order_id.clone()),
                pause: valid(pause_state(id, PauseReason::GateFailed, now)),
            });
        self.store.store.commit(commit.fenced(fence)).await.unwrap();
    }

    /// The steps of an objective as the journal has them, with who took them.
    async fn journal(&self, id: &ObjectiveId) -> Vec<(JournalStep, Actor)> {
        let rows = self.store.read().journal_of(id.as_str()).await.unwrap();
        rows.into_iter().map(|row| (row.step, row.actor)).collect()
    }

    async fn verified(&self) {
        assert_eq!(verify(self.store.read()).await.unwrap(), []);
    }
}

fn ticket() -> NewObjective {
    NewObjective {
        title: "Round half up".into(),
        acceptance_criteria: "- 0.5 rounds to 1".into(),
        repo_ref: "/repos/app".into(),
        base_branch: "main".into(),
        importance: 2,
        urgency: 3,
    }
}

fn urgency(urgency: u8) -> Changes {
    Changes { urgency: Some(urgency), ..Changes::default() }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(answer: Result<T, OperatorError>) -> String {
    match answer {
        Err(OperatorError::Refused { what, .. }) => what,
        other => panic!("{other:?} is no refusal"),
    }
}

on_both_backends! {
    async fn sa_sb_sj_from_creation_to_confirmation(world: World) {
        let operator = world.operator();
        let id = operator.create(ticket()).await.unwrap();
        assert_eq!(world.status(&id).await, ObjectiveStatus::New);
        world.store.advance(1_000).await;
        let approved = operator.approve(&id).await.unwrap();
        assert_eq!(approved, world.cycle(&id).stored().await.objective);
        let now = world.store.now().await;
        assert_eq!(approved.updated_at, now, "by the store's clock");
        assert_eq!(approved.metadata["approval"], json!({"approved_at": now, "approved_by": "ada"}));
        let work_order_id = world.cycle(&id).run(GateResult::Pass).await;
        let run_id = RunId::of(&work_order_id);
        let confirmed = operator.confirm(&id, Some(&run_id)).await.unwrap();
        let completion = json!({"confirmed_at": now, "confirmed_by": "ada", "run_id": run_id});
        assert_eq!(confirmed.metadata["completion"], completion);
        let again = refused(operator.confirm(&id, Some(&run_id)).await);
        assert_eq!(again, format!("objective {id} is confirmed, which is final"));
        let steps = [
            (JournalStep::Sa, Actor::Operator),
            (JournalStep::Sb, Actor::Operator),
            (JournalStep::Sc, Actor::Scheduler),
            (JournalStep::Se, Actor::Gate),
            (JournalStep::Sj, Actor::Operator),
        ];
        assert_eq!(world.journal(&id).await, steps);
        world.verified().await;
    }

    async fn sl_s3_an_edit_withdraws_the_approval_and_is_refused_while_it_runs(world: World) {
        let operator = world.operator();
        let id = world.approved().await;
        let title = |text: &str| Changes { title: Some(text.into()), ..Changes::default() };
        assert_eq!(operator.edit(&id, title("Other")).await.unwrap().status, ObjectiveStatus::New);
        operator.approve(&id).await.unwrap();
        assert_eq!(operator.withdraw(&id).await.unwrap().status, ObjectiveStatus::New);
        operator.approve(&id).await.unwrap();
        let entries = world.cycle(&id).stored().await.todo_entry;
        assert_eq!(entries, 3, "each approval is an entry into TODO of its own (W-1)");
        world.cycle(&id).scheduled().await;
        let what = refused(operator.edit(&id, title("Third")).await);
        assert!(what.starts_with(&format!("objective {id} is IN_PROGRESS; an edit of title")), "{what}");
        assert_eq!(operator.edit(&id, urgency(0)).await.unwrap().urgency, 0);
        let version = world.cycle(&id).stored().await.version;
        operator.edit(&id, urgency(0)).await.unwrap();
        assert_eq!(world.cycle(&id).stored().await.version, version, "nothing changed, nothing is written");
        world.verified().await;
    }

    async fn sh_retry_runs_again_what_a_gate_blocked(world: World) {
        let operator = world.operator();
        let id = world.approved().await;
        world.gate_blocks(&id, ObjectiveStep::GateFailBlock).await;
        assert_eq!(world.store.read().stream().await.unwrap().waiting, 1);
        let retried = operator.retry(&id, Some(900_000)).await.unwrap();
        assert_eq!((retried.status, &retried.blocked_reason), (ObjectiveStatus::Todo, &None));
        assert_eq!(retried.metadata["budget_ms"], json!(900_000));
        assert!(retried.blocked_on.iter().all(|blocker| blocker.resolved));
        assert_eq!(world.store.read().stream().await.unwrap().waiting, 0, "nothing waits for the operator (O-3)");
        assert_eq!(world.store.read().current_pause_states().await.unwrap(), [], "A-6");
        let work_order_id = world.cycle(&id).run(GateResult::Pass).await;
        operator.confirm(&id, Some(&RunId::of(&work_order_id))).await.unwrap();
        world.verified().await;
    }

    async fn sk_se_sh_a_blocker_added_while_it_runs_outlives_the_gate(world: World) {
        let operator = world.operator();
        let id = world.approved().await;
        let work_order_id = world.cycle(&id).scheduled().await;
        let running = operator.block(&id, "wait for the design", BlockerKind::DesignDecision).await.unwrap();
        assert_eq!(running.status, ObjectiveStatus::InProgress);
        world.execute(&world.cycle(&id), &work_order_id).await;
        world.gate(&world.cycle(&id), &work_order_id, ObjectiveStep::GateFailBlock).await;
        let what = refused(operator.retry(&id, None).await);
        assert!(what.contains("has an open blocker") && what.ends_with("wait for the design"), "{what}");
        let own = &running.blocked_on[0].blocker_id;
        let first = operator.unblock(&id, Some(own)).await.unwrap();
        assert_eq!(first.status, ObjectiveStatus::Blocked, "the machine's is still open");
        assert_eq!(first.blocked_reason.as_deref(), Some("the gate failed"));
        assert_eq!(operator.retry(&id, None).await.unwrap().status, ObjectiveStatus::Todo);
        world.verified().await;
    }

    async fn sk_sh_block_and_unblock_of_what_does_not_run(world: World) {
        let operator = world.operator();
        let id = world.approved().await;
        let blocked = operator.block(&id, "no server", BlockerKind::ExternalSystem).await.unwrap();
        assert_eq!(blocked.blocked_reason.as_deref(), Some("no server"));
        assert_eq!(operator.unblock(&id, None).await.unwrap().status, ObjectiveStatus::Todo);
        let new = operator.create(NewObjective { title: String::new(), ..ticket() }).await.unwrap();
        operator.block(&new, "no title", BlockerKind::UserInput).await.unwrap();
        let what = refused(operator.unblock(&new, None).await);
        assert_eq!(what, format!("objective {new} cannot be run: objective.title: must not be empty"));
        operator.edit(&new, Changes { title: Some("A title".into()), ..Changes::default() }).await.unwrap();
        let unblocked = operator.unblock(&new, None).await.unwrap();
        assert_eq!(unblocked.metadata["approval"]["approved_by"], "ada");
        world.verified().await;
    }

    async fn si_a_rejection_names_the_latest_run_and_enters_todo_again(world: World) {
        let operator = world.operator();
        let (id, first) = world.done().await;
        let rejected = operator.reject(&id, Some(&first), "too clever").await.unwrap();
        assert_eq!(rejected.status, ObjectiveStatus::Todo);
        let second = RunId::of(&world.cycle(&id).run(GateResult::Pass).await);
        let stale = refused(operator.confirm(&id, Some(&first)).await);
        assert_eq!(stale, format!("{first} is not the latest run of objective {id}; that is {second}"));
        let rejected = operator.reject(&id, None, "still too clever").await.unwrap();
        let runs: Vec<_> = rejected.metadata["feedback"].as_array().unwrap().iter()
            .map(|entry| entry["run_id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(runs, [first.as_str(), second.as_str()]);
        let third = RunId::of(&world.cycle(&id).run(GateResult::Pass).await);
        let confirmed = operator.confirm(&id, None).await.unwrap();
        assert_eq!(confirmed.metadata["completion"]["run_id"], json!(third));
        world.verified().await;
    }

    /// The latest run is the one of the latest entry into TODO, whatever the clock did.
    async fn t36_a_clock_that_goes_back_does_not_change_which_run_is_the_latest(world: World) {
        let operator = world.operator();
        let (id, first) = world.done().await;
        operator.reject(&id, Some(&first), "again").await.unwrap();
        world.store.advance(-3_600_000).await;
        let second = RunId::of(&world.cycle(&id).run(GateResult::Pass).await);
        refused(operator.confirm(&id, Some(&first)).await);
        operator.confirm(&id, Some(&second)).await.unwrap();
    }

    async fn sm_a_cancelled_run_ends_blocked_and_can_be_retried(world: World) {
        let operator = world.operator();
        let id = world.approved().await;
        let work_order_id = world.cycle(&id).scheduled().await;
        let asked = operator.cancel(&id, "wrong branch").await.unwrap();
        assert_eq!(asked.status, ObjectiveStatus::InProgress);
        assert_eq!(asked.metadata["cancel"]["reason"], "wrong branch");
        assert_eq!(operator.cancel(&id, "again").await.unwrap(), asked, "the first request stands");
        world.execute(&world.cycle(&id), &work_order_id).await;
        world.gate(&world.cycle(&id), &work_order_id, ObjectiveStep::Cancel).await;
        let retried = operator.retry(&id, None).await.unwrap();
        assert!(!retried.metadata.contains_key("cancel"), "the next run is not cancelled by it");
        world.verified().await;
    }

    async fn so_archived_is_hidden_from_the_workers_and_comes_back(world: World) {
        let operator = world.operator();
        let id = world.approved().await;
        operator.archive(&id).await.unwrap();
        assert_eq!(world.store.read().objectives_awaiting_event(10).await.unwrap().len(), 0);
        assert_eq!(refused(operator.withdraw(&id).await), format!("objective {id} is archived"));
        let back = operator.unarchive(&id).await.unwrap();
        assert_eq!(back.status, ObjectiveStatus::Todo);
        assert_eq!(world.store.read().objectives_awaiting_event(10).await.unwrap().len(), 1);
        world.verified().await;
    }

    /// S-3: nobody overwrites anybody; who came second reads again.
    async fn s3_steps_at_the_same_time_all_count(world: World) {
        let id = world.approved().await;
        world.cycle(&id).scheduled().await;
        let operator = world.operator();
        let block = |reason| operator.block(&id, reason, BlockerKind::UserInput);
        let all = tokio::join!(block("a"), block("b"), block("c"), operator.edit(&id, urgency(0)));
        assert!(all.0.is_ok() && all.1.is_ok() && all.2.is_ok() && all.3.is_ok(), "{all:?}");
        let objective = world.cycle(&id).stored().await.objective;
        let mut reasons: Vec<_> = objective.blocked_on.iter().map(|blocker| blocker.description.as_str()).collect();
        reasons.sort_unstable();
        assert_eq!((reasons, objective.urgency), (vec!["a", "b", "c"], 0));
        world.verified().await;
    }

    async fn a5_what_breaks_the_schema_is_refused_and_nothing_is_written(world: World) {
        let operator = world.operator();
        let what = refused(operator.create(NewObjective { urgency: 5, ..ticket() }).await);
        assert!(what.starts_with("objective.urgency"), "{what}");
        let what = refused(operator.create(NewObjective { title: "t".repeat(501), ..ticket() }).await);
        assert!(what.starts_with("objective.title"), "{what}");
        let id = world.approved().await;
        let before = world.cycle(&id).stored().await;
        refused(operator.edit(&id, urgency(9)).await);
        refused(operator.block(&id, &"x".repeat(10_001), BlockerKind::UserInput).await);
        assert_eq!(world.cycle(&id).stored().await, before);
        let nobody = Operator { who: "", ..operator };
        let (done, run_id) = world.done().await;
        let what = refused(nobody.confirm(&done, Some(&run_id)).await);
        assert!(what.starts_with("objective.metadata.completion.confirmed_by"), "{what}");
    }

    async fn t37_an_id_that_is_taken_is_not_given_twice(world: World) {
        let first = world.operator().create(ticket()).await.unwrap();
        // A source that begins where the first one began.
        let ids = SequentialIds::starting_at(500_000);
        let second = Operator { ids: &ids, ..world.operator() }.create(ticket()).await.unwrap();
        assert_ne!(first, second);
        world.verified().await;
    }

    async fn an_objective_that_is_not_there_is_named(world: World) {
        let id = ObjectiveId::new("obj-nowhere").unwrap();
        let operator = world.operator();
        let answers = [
            operator.approve(&id).await,
            operator.edit(&id, urgency(1)).await,
            operator.confirm(&id, None).await,
            operator.reject(&id, Some(&RunId::new("run-nowhere-1").unwrap()), "no").await,
        ];
        for answer in answers {
            let error = answer.unwrap_err();
            assert!(matches!(error, OperatorError::NotFound { .. }), "{error:?}");
            assert_eq!(error.to_string(), "there is no objective obj-nowhere in az-test");
        }
    }
}

/// S-1: the standing objective of a TASK_MGMT azolla is nobody's to move.
#[tokio::test]
async fn s1_the_standing_objective_stays_where_it_is() {
    let world = World::of_type(Backend::Sqlite, AzollaType::TaskMgmt).await;
    let id = ObjectiveId::new("obj-ctx-continuity").unwrap();
    let now = world.store.now().await;
    let standing = Objective {
        objective_id: id.clone(),
        azolla_id: azolla_id(),
        title: "Continuity".into(),
        acceptance_criteria: "Always.".into(),
        objective_type: ObjectiveType::Standing,
        status: ObjectiveStatus::InProgress,
        importance: 0,
        urgency: 4,
        blocked_reason: None,
        blocked_on: Vec::new(),
        metadata: json!({"scope_description": "everything"}).as_object().cloned().unwrap(),
        created_at: now,
        updated_at: now,
    };
    let write = Write::InsertObjective { objective: valid(standing), step: ObjectiveStep::OpenStanding };
    world.store.done(Actor::Init, write).await;
    let operator = world.operator();
    for answer in [
        operator.block(&id, "no", BlockerKind::UserInput).await,
        operator.unblock(&id, None).await,
        operator.cancel(&id, "no").await,
        operator.archive(&id).await,
        operator.confirm(&id, None).await,
    ] {
        let what = refused(answer);
        assert!(what.starts_with("objective obj-ctx-continuity is STANDING; "), "{what}");
    }
    let what = refused(operator.create(ticket()).await);
    assert_eq!(what, "az-test is a TASK_MGMT_AZOLLA: it takes no tickets");
    world.verified().await;
}
