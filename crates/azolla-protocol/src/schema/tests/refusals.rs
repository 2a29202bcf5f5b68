//! Documents that are refused, each with its whole error. Here those of the Context Store.

mod yields;

use serde_json::json;

use super::*;

/// Who refuses: the type as well, or the schema alone because the type is wider.
#[derive(Clone, Copy, PartialEq, Debug)]
enum By {
    Both,
    SchemaOnly,
}

use By::{Both, SchemaOnly};

/// Sets `pointer` in the full fixture of `kind`, or removes it, and compares the error.
fn refuse(kind: ArtifactKind, cases: &[(&str, Option<Value>, &str, By)]) {
    let subject = subjects().into_iter().find(|subject| subject.kind == kind).unwrap();
    for (pointer, value, expected, by) in cases {
        let mut document = subject.full.clone();
        edit(&mut document, pointer, value.clone());
        let error = (subject.validate)(&document).expect_err(expected);
        assert_eq!(error.to_string(), *expected);
        let decoder = if (subject.decodes)(&document) { SchemaOnly } else { Both };
        assert_eq!(decoder, *by, "{expected}");
    }
}

fn edit(document: &mut Value, pointer: &str, value: Option<Value>) {
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    match (document.pointer_mut(parent).unwrap(), value) {
        (Value::Object(fields), Some(value)) => drop(fields.insert(last.to_owned(), value)),
        (Value::Object(fields), None) => assert!(fields.remove(last).is_some(), "{pointer}"),
        (Value::Array(items), Some(value)) => items[last.parse::<usize>().unwrap()] = value,
        (other, _) => panic!("{pointer} leads into {other}"),
    }
}

const OBJ: &str = "must match ^obj-[a-z0-9-]{1,60}$";
const SHA: &str = "must match ^([0-9a-f]{40}|[0-9a-f]{64})$";

#[test]
fn a5_objective() {
    refuse(
        ArtifactKind::Objective,
        &[
            (
                "/status",
                Some(json!("ARCHIVED")),
                "objective.status: must be one of NEW, TODO, IN_PROGRESS, BLOCKED, DONE, not \"ARCHIVED\"",
                Both,
            ),
            (
                "/status",
                Some(json!("done")),
                "objective.status: must be one of NEW, TODO, IN_PROGRESS, BLOCKED, DONE, not \"done\"",
                Both,
            ),
            (
                "/objective_id",
                Some(json!("--force")),
                &format!("objective.objective_id: {OBJ}, not \"--force\""),
                Both,
            ),
            ("/importance", Some(json!(5)), "objective.importance: must be at most 4, not 5", SchemaOnly),
            ("/importance", Some(json!(-1)), "objective.importance: must be at least 0, not -1", Both),
            ("/urgency", Some(json!(1.5)), "objective.urgency: must be of type integer, not 1.5", Both),
            ("/urgency", Some(json!("1")), "objective.urgency: must be of type integer, not \"1\"", Both),
            (
                "/title",
                Some(json!("x".repeat(501))),
                "objective.title: must be at most 500 characters long",
                SchemaOnly,
            ),
            ("/blocked_reason", None, "objective.blocked_reason: is required", SchemaOnly),
            (
                "/blocked_on/0/kind",
                Some(json!("MOOD")),
                "objective.blocked_on[0].kind: must be one of USER_INPUT, EXTERNAL_SYSTEM, DEPENDENCY_CHANGE, DESIGN_DECISION, ENVIRONMENT_ACCESS, not \"MOOD\"",
                Both,
            ),
            (
                "/blocked_on/0/since",
                Some(json!(1)),
                "objective.blocked_on[0].since: is not a field of this artifact",
                Both,
            ),
            ("/blocked_on/0/resolved", None, "objective.blocked_on[0].resolved: is required", Both),
            ("/metadata", Some(json!([])), "objective.metadata: must be of type object, not an array", Both),
            (
                "/metadata/repo_ref",
                Some(json!(7)),
                "objective.metadata.repo_ref: must be of type string, not 7",
                SchemaOnly,
            ),
            (
                "/metadata/completion/why",
                Some(json!("")),
                "objective.metadata.completion.why: is not a field of this artifact",
                SchemaOnly,
            ),
            (
                "/metadata/completion/run_id",
                None,
                "objective.metadata.completion.run_id: is required",
                SchemaOnly,
            ),
            (
                "/metadata/archived_at",
                Some(json!("yesterday")),
                "objective.metadata.archived_at: must be a UTC timestamp YYYY-MM-DDTHH:MM:SS.mmmZ, not \"yesterday\"",
                SchemaOnly,
            ),
            (
                "/objective_type",
                Some(json!("STANDING")),
                "objective.metadata.scope_description: is required",
                SchemaOnly,
            ),
            (
                "/created_at",
                Some(json!("2026-02-30T00:00:00.000Z")),
                "objective.created_at: must be a UTC timestamp YYYY-MM-DDTHH:MM:SS.mmmZ, not \"2026-02-30T00:00:00.000Z\"",
                Both,
            ),
        ],
    );
}

#[test]
fn a5_blocker_ref_and_capture_buffer() {
    refuse(
        ArtifactKind::BlockerRef,
        &[
            (
                "/blocker_id",
                Some(json!("obj-1")),
                "blocker_ref.blocker_id: must match ^blk-[a-z0-9-]{1,60}$, not \"obj-1\"",
                Both,
            ),
            (
                "/resolved",
                Some(json!("no")),
                "blocker_ref.resolved: must be of type boolean, not \"no\"",
                Both,
            ),
        ],
    );
    refuse(
        ArtifactKind::CaptureBuffer,
        &[
            (
                "/raw_content",
                Some(json!("")),
                "capture_buffer.raw_content: must be at least 1 characters long",
                SchemaOnly,
            ),
            (
                "/raw_content",
                Some(json!("é".repeat(524_289))),
                "capture_buffer.raw_content: must be at most 1048576 bytes long",
                SchemaOnly,
            ),
            (
                "/status",
                Some(json!("DONE")),
                "capture_buffer.status: must be one of PENDING, PROCESSED, not \"DONE\"",
                Both,
            ),
        ],
    );
}

#[test]
fn a5_a_capture_of_exactly_one_mebibyte_is_kept() {
    let subject = subjects().into_iter().find(|subject| subject.kind == ArtifactKind::CaptureBuffer).unwrap();
    let mut document = subject.full;
    document["raw_content"] = json!("é".repeat(524_288));
    assert_eq!((subject.validate)(&document), Ok(canonical(&document).unwrap()));
}

/// W-6: reason and time of processing are there if and only if the event is processed.
#[test]
fn w6_a5_event() {
    refuse(
        ArtifactKind::Event,
        &[
            (
                "/processed_reason",
                Some(Value::Null),
                "event.processed_reason: must be of type string, not null",
                SchemaOnly,
            ),
            ("/processed_at", None, "event.processed_at: is required", SchemaOnly),
            (
                "/processed_reason",
                Some(json!("LATER")),
                "event.processed_reason: must be one of SCHEDULED, MISSING_TICKET, NON_EXECUTABLE_STATUS, BLOCKED, NO_PENDING_CAPTURES, NO_REACHABLE_AZOLLAS, null, not \"LATER\"",
                Both,
            ),
            (
                "/resource_id",
                Some(json!("cap-1")),
                &format!("event.resource_id: {OBJ}, not \"cap-1\""),
                SchemaOnly,
            ),
            (
                "/type",
                Some(json!("CAPTURE_READY")),
                "event.resource_id: must match ^cap-[a-z0-9-]{1,60}$, not \"obj-0000000000a1\"",
                SchemaOnly,
            ),
            (
                "/type",
                Some(json!("MANIFEST_REQUESTED")),
                "event.resource_id: must match ^az-[a-z0-9-]{1,60}$, not \"obj-0000000000a1\"",
                SchemaOnly,
            ),
        ],
    );
}

/// W-6: and neither is there before.
#[test]
fn w6_an_unprocessed_event_has_no_reason_and_no_time() {
    let subject = subjects().into_iter().find(|subject| subject.kind == ArtifactKind::Event).unwrap();
    for (field, value) in [("processed_reason", "BLOCKED"), ("processed_at", "2026-01-02T03:04:05.006Z")] {
        let mut document = subject.sparse.clone();
        document[field] = json!(value);
        let error = (subject.validate)(&document).unwrap_err();
        assert_eq!(error.to_string(), format!("event.{field}: must be of type null, not \"{value}\""));
    }
}

#[test]
fn a5_snapshot_workorder_and_bundle() {
    refuse(
        ArtifactKind::ContextSnapshot,
        &[
            (
                "/metadata",
                Some(Value::Null),
                "context_snapshot.metadata: must be of type object, not null",
                SchemaOnly,
            ),
            (
                "/repo_commit_sha",
                Some(json!("HEAD")),
                &format!("context_snapshot.repo_commit_sha: {SHA}, not \"HEAD\""),
                SchemaOnly,
            ),
            (
                "/related_yield_refs/0",
                Some(json!("run-1")),
                "context_snapshot.related_yield_refs[0]: must match ^out-[a-z0-9-]{1,60}$, not \"run-1\"",
                Both,
            ),
        ],
    );
    refuse(
        ArtifactKind::Workorder,
        &[
            ("/budget_ms", Some(json!(0)), "workorder.budget_ms: must be at least 1, not 0", SchemaOnly),
            (
                "/budget_ms",
                Some(json!(86_400_001)),
                "workorder.budget_ms: must be at most 86400000, not 86400001",
                SchemaOnly,
            ),
            (
                "/branch_name",
                Some(json!("azolla/../x")),
                "workorder.branch_name: must match ^azolla/obj-[a-z0-9-]{1,60}$, not \"azolla/../x\"",
                SchemaOnly,
            ),
            ("/branch_name", None, "workorder.branch_name: is required", SchemaOnly),
            (
                "/diazotroph_type",
                Some(json!("PATCH")),
                "workorder.diazotroph_type: must be one of PATCH_DIAZOTROPH, TRIAGE_DIAZOTROPH, MANIFEST_BUILDER_DIAZOTROPH, not \"PATCH\"",
                Both,
            ),
        ],
    );
    refuse(
        ArtifactKind::OutputBundle,
        &[
            ("/metadata/usage", None, "output_bundle.metadata.usage: is required", Both),
            (
                "/metadata/usage",
                Some(json!(3)),
                "output_bundle.metadata.usage: must be of type object, not 3",
                Both,
            ),
            (
                "/metadata/runner_status",
                Some(json!("OK")),
                "output_bundle.metadata.runner_status: must be one of COMPLETED, PATCH_APPLY_FAILED, BUDGET_EXHAUSTED, GENERATION_FAILED, not \"OK\"",
                Both,
            ),
            (
                "/content",
                Some(json!({})),
                "output_bundle.content: must be of type string, not an object",
                Both,
            ),
        ],
    );
}

#[test]
fn a5_a_long_or_hostile_value_is_cut_and_escaped_in_the_error() {
    let hostile = format!("\u{1b}]0;owned\u{7}\r\n{}", "x".repeat(10_000));
    let subject = subjects().remove(0);
    for pointer in ["/status", "/objective_id", "/created_at", "/blocked_on/0/kind"] {
        let mut document = subject.full.clone();
        edit(&mut document, pointer, Some(json!(hostile)));
        edit(&mut document, &format!("/metadata/{}", "k".repeat(5_000)), Some(json!(1)));
        let text = (subject.validate)(&document).unwrap_err().to_string();
        assert!(text.len() < 400 && !text.contains(char::is_control), "{text:?}");
        assert!(text.contains("not \"\\u{1b}]0;owned\\u{7}\\r\\nxxx"), "{text}");
    }
}
