//! Export and import: everything comes back byte for byte, on either backend, and work goes on. What is not a
//! whole export of this azolla is refused, and leaves the store as empty as it was.

use std::io::Cursor;

use azolla_control_plane::Tick;
use azolla_protocol::{
    Actor, AzollaType, DOCUMENT_BYTES_MAX, EventId, GateResult, ObjectiveId, ObjectiveStatus, ResourceRef,
};
use azolla_substrate::{
    ArchiveError, ClaimOutcome, CommitOutcome, SubstrateError, SubstrateRead, Write, export, import, verify,
};
use azolla_testkit::{
    Backend, PatchCycle, TestStore, World,
    cycle::{lease, valid},
};
use serde_json::{Value, json};

use crate::everything::{everything, other_azolla};

async fn exported(store: &dyn SubstrateRead) -> Vec<String> {
    let mut lines = Vec::new();
    export(store, &mut |line| {
        lines.push(line.to_owned());
        Ok(())
    })
    .await
    .expect("a store exports");
    lines
}

async fn imported(world: &TestStore, lines: &[String]) -> Result<(), ArchiveError> {
    import(&*world.store, Cursor::new(lines.join("\n") + "\n")).await
}

fn line_of<'a>(lines: &'a [String], kind: &str) -> (usize, &'a str) {
    let marked = format!("\"kind\":\"{kind}\"");
    let position = lines.iter().position(|line| line.contains(&marked)).expect("every kind is there");
    (position, &lines[position])
}

/// Refuses `lines`, and leaves the store empty: the first line of an export and the last are all that there is.
async fn refused(world: &TestStore, lines: &[String]) -> String {
    let error = imported(world, lines).await.expect_err("the archive is refused");
    assert_eq!(exported(world.read()).await.len(), 2, "something was written, though: {error}");
    assert_eq!(world.read().journal_after(azolla_substrate::JournalCursor::default(), 10).await.unwrap(), []);
    error.to_string()
}

/// Replaces one line by what `change` makes of it, and expects a refusal that names the line and `problem`.
async fn refused_line(
    world: &TestStore,
    lines: &[String],
    kind: &str,
    problem: &str,
    change: impl Fn(&str) -> String,
) {
    let (position, line) = line_of(lines, kind);
    let mut broken = lines.to_vec();
    broken[position] = change(line);
    let message = refused(world, &broken).await;
    assert!(message.starts_with(&format!("line {}: ", position + 1)), "{kind}: {message}");
    assert!(message.contains(problem), "{kind}, {problem}: {message}");
}

fn edited(line: &str, change: impl Fn(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(line).expect("a line is JSON");
    change(&mut value);
    value.to_string()
}

on_both_backends! {
    /// byte for byte, into both backends; and every kind of line is in it.
    async fn a4_an_import_exports_the_same_bytes(world: TestStore) {
        everything(&world).await;
        assert_eq!(verify(world.read()).await.unwrap(), []);
        let lines = exported(world.read()).await;
        for kind in ["objective", "objective_version", "capture_buffer", "event", "context_snapshot", "workorder",
            "output_bundle", "run_record", "gate_evidence", "usage_record", "pause_state", "session_manifest",
            "snooze", "candidate", "candidate_resolution", "journal"] {
            line_of(&lines, kind);
        }
        for backend in [Backend::Sqlite, Backend::Postgres] {
            let copy = TestStore::new(backend).await;
            imported(&copy, &lines).await.unwrap();
            assert_eq!(exported(copy.read()).await, lines, "{backend:?}");
            assert_eq!(verify(copy.read()).await.unwrap(), [], "{backend:?}");
        }
    }

    /// T38, C-2: what no document could carry is not granted. An import that would lead there is refused, and whatever else
    /// wrote it holds up nobody behind it.
    async fn t38_c2_a_claim_version_at_its_end_is_refused_and_starves_nobody(world: TestStore) {
        let source = TestStore::new(Backend::Sqlite).await;
        everything(&source).await;
        let mut lines = exported(source.read()).await;
        let granted = lines.iter().position(|line| line.contains("\"step\":\"GRANT\"")).unwrap();
        let at = |version: u64| {
            let mut lines = lines.clone();
            lines[granted] = edited(&lines[granted], |line| line["document"]["claim_version"] = json!(version));
            lines
        };
        for version in [(1 << 50) + 1, (1 << 53) - 1] {
            let message = refused(&world, &at(version)).await;
            assert!(message.starts_with(&format!("line {}: ", granted + 1)), "{message}");
            assert!(message.contains("claim_version") && message.contains(&version.to_string()), "{message}");
        }
        lines = at(1 << 50);
        imported(&TestStore::new(Backend::Sqlite).await, &lines).await.unwrap();

        for (end, then) in [(i64::MAX, "an integer"), ((1 << 53) - 1, "a document")] {
            let backend = match &world.place {
                azolla_testkit::store::Place::File(..) => Backend::Sqlite,
                azolla_testkit::store::Place::Database(_) => Backend::Postgres,
            };
            let world = World::new(backend).await;
            let (stuck, free) = (world.approved().await, world.approved().await);
            world.readiness().await;
            let event = EventId::new(format!("evt-{}-1", stuck.body())).unwrap();
            let past = "2020-01-01T00:00:00.000Z";
            world.store.raw(&format!(
                "INSERT INTO claim_record (resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at,
                     claim_version, granted_at, released_at)
                 VALUES ('EVENT', '{event}', 'own-x', '{past}', '{past}', {end}, '{past}', '{past}')"
            )).await.unwrap();
            assert_eq!(world.store.acquire(&(&event).into()).await, ClaimOutcome::Held, "the end of {then}");
            world.scheduler().await;
            assert_eq!(world.objective(&free).await.objective.status, ObjectiveStatus::InProgress, "{then}");
            assert_eq!(world.objective(&stuck).await.objective.status, ObjectiveStatus::Todo, "{then}");
            // Nor is it waited for once there is room again.
            world.runner().await;
            world.gate().await;
            assert_eq!(world.scheduler().await, Tick::Idle, "{then}");
        }
    }

    /// A-4, C-2, W-1, W-5: the copy goes on where the original stood, and remembers what was done.
    async fn a4_c2_w1_w5_work_goes_on_after_an_import(world: TestStore) {
        let made = everything(&world).await;
        let lines = exported(world.read()).await;
        let other = match &world.place {
            azolla_testkit::store::Place::File(..) => Backend::Postgres,
            azolla_testkit::store::Place::Database(_) => Backend::Sqlite,
        };
        let copy = TestStore::new(other).await;
        copy.advance(86_400_000).await;
        imported(&copy, &lines).await.unwrap();

        // The old claim holds nothing here, and its version is not granted again.
        let resource = ResourceRef::from(&made.open);
        let lost = copy.store.renew_claim(&made.open_claim, lease()).await.unwrap();
        assert_eq!(lost, azolla_substrate::RenewOutcome::Lost);
        let ClaimOutcome::Granted(grant) =
            copy.store.acquire_claim(&resource, &copy.ids.owner_id(), lease(), Actor::Runner).await.unwrap()
        else {
            panic!("an unfinished workorder can be claimed");
        };
        assert_eq!(grant.fence.claim_version, made.open_claim.claim_version + 1);
        let before = world.read().workorder(&made.open).await.unwrap().unwrap();
        assert_eq!(grant.budget_consumed_ms, before.budget_consumed_ms, "B-2: the budget came along");
        assert_eq!(grant.claim_count, before.claim_count + 1, "W-7: so did the count");

        // Every event is known: emitted once, processed once, one workorder each.
        for event_id in [&made.waiting_event, &made.blocked_event] {
            let stored = copy.read().event(event_id).await.unwrap().unwrap();
            let mut event = stored.event;
            (event.processed, event.processed_reason, event.processed_at) = (false, None, None);
            let again = Write::EmitEvent { event: valid(event), entry: stored.entry };
            let error = copy.try_write(Actor::Readiness, again).await.unwrap_err();
            assert!(error.is_refused_by("W-1"), "{error}");
        }
        let processed = EventId::new(format!("evt-{}", made.confirmed.body())).unwrap();
        assert_eq!(copy.acquire(&(&processed).into()).await, ClaimOutcome::Held);
        assert_eq!(copy.acquire(&(&made.confirmed).into()).await, ClaimOutcome::Held);

        // The event that waited is scheduled and runs to its end, under ids that the original did not use.
        let event = copy.read().event(&made.waiting_event).await.unwrap().unwrap().event;
        let cycle = PatchCycle { world: &copy, objective_id: ObjectiveId::new(event.resource_id).unwrap() };
        (0..1_000).for_each(|_| drop(copy.ids.commit_id()));
        let room = crate::everything::ROOM;
        let outcome = cycle.schedule(&made.waiting_event, &copy.ids.owner_id(), room).await.unwrap();
        assert_eq!(outcome, CommitOutcome::Done);
        let work_order_id = azolla_protocol::WorkOrderId::of(&made.waiting_event);
        let runner = copy.granted(&(&work_order_id).into()).await.fence;
        cycle.execute(runner).await.unwrap();
        let gate = copy.granted(&(&work_order_id).into()).await.fence;
        cycle.gate(gate, GateResult::Pass).await.unwrap();
        assert_eq!(verify(copy.read()).await.unwrap(), []);
    }

    /// a run can be rebuilt from five documents, for every link between them is inside them.
    async fn a4_a_run_is_rebuilt_from_five_documents(world: TestStore) {
        let made = everything(&world).await;
        let lines: Vec<Value> = exported(world.read()).await.iter()
            .map(|line| serde_json::from_str(line).unwrap()).collect();
        let one = |kind: &str, fits: &dyn Fn(&Value) -> bool| {
            let found: Vec<_> = lines.iter().filter(|line| line["kind"] == kind && fits(line)).collect();
            assert_eq!(found.len(), 1, "{kind}");
            found[0]["document"].clone()
        };
        let run = one("run_record", &|line| line["document"]["work_order_id"] == json!(made.retried));
        let workorder = one("workorder", &|line| line["document"]["work_order_id"] == run["work_order_id"]);
        let bundle = one("output_bundle", &|line| line["document"]["output_id"] == run["output_id"]);
        let snapshot =
            one("context_snapshot", &|line| line["document"]["snapshot_id"] == workorder["context_snapshot_id"]);
        let built_from = lines.iter()
            .find(|line| line["kind"] == "context_snapshot" && line["document"] == snapshot).unwrap();
        let objective = one("objective_version", &|line| {
            line["document"]["objective_id"] == run["objective_id"]
                && line["store"]["version"] == built_from["store"]["objective_version"]
        });
        assert_eq!(bundle["metadata"]["work_order_id"], workorder["work_order_id"]);
        for document in [&workorder, &bundle, &snapshot, &objective] {
            assert_eq!(document["objective_id"], run["objective_id"]);
        }
        // It is the version that was scheduled, not the one that came of it.
        assert_eq!(objective["status"], "TODO");
        assert_eq!(snapshot["related_yield_refs"], json!([azolla_protocol::OutputId::of(&made.failed)]));
    }

    async fn a4_an_import_needs_an_empty_store(world: TestStore) {
        everything(&world).await;
        let lines = exported(world.read()).await;
        let error = imported(&world, &lines).await.unwrap_err();
        assert!(matches!(error, ArchiveError::Store(SubstrateError::Unusable { .. })), "{error}");
        assert_eq!(exported(world.read()).await, lines);
    }

    async fn a4_y1_an_import_needs_the_same_azolla_and_a_known_version(world: TestStore) {
        let original = TestStore::new(Backend::Sqlite).await;
        everything(&original).await;
        let lines = exported(original.read()).await;
        let header = |change: &dyn Fn(&mut Value)| {
            let mut changed = lines.clone();
            changed[0] = edited(&lines[0], change);
            changed
        };
        for (field, value, problem) in [
            ("azolla_id", json!("az-other"), "is an export of az-other"),
            ("azolla_type", json!(AzollaType::TaskMgmt), "is an export of"),
            ("azolla_type", json!("SOME_AZOLLA"), "is no export"),
            ("export_version", json!(2), "was written by another version"),
            ("store_version", json!(1_000), "was written by another version"),
            ("surprise", json!(1), "unknown field `surprise`"),
        ] {
            let message = refused(&world, &header(&|line| line[field] = value.clone())).await;
            assert!(message.starts_with("line 1: ") && message.contains(problem), "{field}: {message}");
        }
        refused_line(&world, &lines, "objective", "objective.azolla_id: is az-other", |line| {
            edited(line, |line| line["document"]["azolla_id"] = json!(other_azolla()))
        }).await;
    }

    /// whatever end is missing, nothing is written.
    async fn a4_a_file_that_is_cut_off_is_refused(world: TestStore) {
        let original = TestStore::new(Backend::Sqlite).await;
        everything(&original).await;
        let lines = exported(original.read()).await;
        let message = import(&*world.store, Cursor::new("")).await.unwrap_err().to_string();
        assert_eq!(message, "line 1: the archive is empty");
        for kept in [1, 2, lines.len() / 2, lines.len() - 1] {
            let message = refused(&world, &lines[..kept]).await;
            assert_eq!(message, format!("line {}: the archive is cut off here", kept + 1));
        }
        let whole = lines.join("\n");
        for kept in [20, whole.len() / 3, whole.len() - 1] {
            let error = import(&*world.store, Cursor::new(whole.as_bytes()[..kept].to_vec())).await.unwrap_err();
            assert!(matches!(error, ArchiveError::Line { .. }), "{error}");
            assert_eq!(exported(world.read()).await.len(), 2);
        }
        let mut fewer = lines.clone();
        fewer.remove(lines.len() - 5);
        assert!(refused(&world, &fewer).await.contains("counts"));
        let mut twice = lines.clone();
        twice.extend_from_slice(&lines);
        assert!(refused(&world, &twice).await.contains("comes after the end"));
        // The store is as good as new.
        imported(&world, &lines).await.unwrap();
        assert_eq!(exported(world.read()).await, lines);
    }

    /// the error names the line, the field and the rule; nothing of the file is written.
    async fn a5_a_line_that_breaks_a_rule_is_refused(world: TestStore) {
        let original = TestStore::new(Backend::Sqlite).await;
        let made = everything(&original).await;
        let lines = exported(original.read()).await;
        let set = |path: &'static str, value: Value| {
            move |line: &str| edited(line, |line| *line.pointer_mut(path).expect("the field is there") = value.clone())
        };
        refused_line(&world, &lines, "objective", "objective.surprise", |line| {
            edited(line, |line| line["document"]["surprise"] = json!(1))
        }).await;
        refused_line(&world, &lines, "objective", "objective.status", set("/document/status", json!("LATER"))).await;
        refused_line(&world, &lines, "event", "event.type", set("/document/type", json!("SOME_EVENT"))).await;
        refused_line(&world, &lines, "journal", "journal.step", set("/document/step", json!("S-z"))).await;
        refused_line(&world, &lines, "capture_buffer", "capture_buffer.raw_content: must not contain U+0000",
            set("/document/raw_content", json!("a\u{0}b"))).await;
        refused_line(&world, &lines, "run_record", "run_record.run_id", |line| {
            line.replacen("\"run_id\":", "\"run_id\":\"run-other\",\"run_id\":", 1)
        }).await;
        refused_line(&world, &lines, "workorder", "duplicate field `kind`", |line| {
            line.replacen("\"kind\":", "\"kind\":\"event\",\"kind\":", 1)
        }).await;
        refused_line(&world, &lines, "workorder", "unknown kind \"job\"", set("/kind", json!("job"))).await;
        refused_line(&world, &lines, "workorder", "unknown field `surprise`", |line| {
            edited(line, |line| line["surprise"] = json!(1))
        }).await;
        refused_line(&world, &lines, "workorder", "store columns of workorder", set("/store", Value::Null)).await;
        for (kind, field) in [
            ("objective", "todo_entry"), ("objective_version", "version"), ("capture_buffer", "attempts"), ("capture_buffer", "attempts_before"),
            ("event", "claim_count"), ("context_snapshot", "objective_version"), ("workorder", "budget_consumed_ms"),
            ("candidate", "candidate_index"),
        ] {
            for number in [json!(u64::MAX), json!(1_u64 << 53), json!(-1), json!(1.5)] {
                let problem = format!("the store columns of {kind}: {field} must be a whole number from 0 to 9007199254740991");
                refused_line(&world, &lines, kind, &problem, |line| {
                    edited(line, |line| line["store"][field] = number.clone())
                }).await;
            }
        }
        refused_line(&world, &lines, "usage_record", "is longer than", |line| {
            format!("{line}{}", " ".repeat(2 * DOCUMENT_BYTES_MAX))
        }).await;
        refused_line(&world, &lines, "event", "expected ident", |_| "not JSON".into()).await;

        refused_line(&world, &lines, "capture_buffer", "capture_buffer.attempts_before",
            set("/store/attempts_before", json!(99))).await;
        refused_line(&world, &lines, "capture_buffer", "store columns of capture_buffer: invalid type: integer `1`",
            set("/store/held", json!(1))).await;

        // Links to nothing, and what the keys of idempotence refuse.
        refused_line(&world, &lines, "context_snapshot", "context_snapshot.objective_id",
            set("/store/objective_version", json!(99))).await;
        refused_line(&world, &lines, "workorder", "workorder.context_snapshot_id",
            set("/document/context_snapshot_id", json!("snap-none"))).await;
        refused_line(&world, &lines, "run_record", "run_record.output_id",
            set("/document/output_id", json!("out-none"))).await;
        refused_line(&world, &lines, "candidate_resolution", "candidate_resolution.output_id",
            set("/document/output_id", json!("out-none"))).await;
        refused_line(&world, &lines, "candidate_resolution", "candidate_resolution.output_id",
            set("/document/candidate_index", json!(99))).await;
        refused_line(&world, &lines, "candidate", "candidate.output_id",
            set("/store/output_id", json!(azolla_protocol::OutputId::of(&made.confirmed)))).await;
        refused_line(&world, &lines, "snooze", "store columns of snooze", set("/store/until", json!("soon"))).await;
        refused_line(&world, &lines, "snooze", "store columns of snooze", set("/store/azolla_id", json!("x"))).await;
        refused_line(&world, &lines, "snooze", "snooze has no document", set("/document", json!([]))).await;
        let (position, _) = lines.iter().enumerate()
            .find(|(_, line)| line.contains("\"urgency\":2,\"work_order_id\"")).expect("a deadline is recorded");
        let mut broken = lines.clone();
        broken[position] = broken[position].replace("\"urgency\":2,\"work_order_id\"", "\"urgency\":null,\"work_order_id\"");
        let message = refused(&world, &broken).await;
        assert!(message.starts_with(&format!("line {}: pause_state.urgency", position + 1)), "{message}");
        refused_line(&world, &lines, "candidate", "candidate has no document", set("/document", json!({}))).await;
        // The last journal line, under the number of the one before it.
        let last = lines.len() - 2;
        let before: Value = serde_json::from_str(&lines[last - 1]).unwrap();
        let mut broken = lines.clone();
        broken[last] = edited(&lines[last], |line| line["document"]["seq"] = before["document"]["seq"].clone());
        let message = refused(&world, &broken).await;
        assert!(message.starts_with(&format!("line {}: journal.", last + 1)), "{message}");
        let (position, _) = lines.iter().enumerate()
            .find(|(_, line)| line.contains("\"pause_key\":\"event:")).expect("a blocked objective points to one");
        let mut broken = lines.clone();
        broken[position] = broken[position].replace(
            &format!("\"pause_key\":\"event:{}\"", made.blocked_event), "\"pause_key\":\"event:evt-none\"");
        let message = refused(&world, &broken).await;
        assert!(message.starts_with(&format!("line {}: objective.pause_key", position + 1)), "{message}");
    }
}
