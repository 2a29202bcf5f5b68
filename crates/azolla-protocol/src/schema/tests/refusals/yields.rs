//! Refused documents of the Yield Store, of the Exchange Membrane, and of our own.

use super::*;

#[test]
fn a5_run_record_pause_state_and_manifest() {
    refuse(
        ArtifactKind::RunRecord,
        &[
            (
                "/commit_sha",
                Some(Value::Null),
                "run_record.commit_sha: must be of type string, not null",
                SchemaOnly,
            ),
            (
                "/gate_result",
                Some(json!("pass")),
                "run_record.gate_result: must be one of PASS, FAIL, not \"pass\"",
                Both,
            ),
        ],
    );
    refuse(
        ArtifactKind::PauseState,
        &[
            (
                "/prioritized_actions",
                Some(json!([])),
                "pause_state.prioritized_actions: must have at least 1 items",
                SchemaOnly,
            ),
            (
                "/prioritized_actions",
                Some(json!(["a", "b", "c", "d"])),
                "pause_state.prioritized_actions: must have at most 3 items",
                SchemaOnly,
            ),
            (
                "/prioritized_actions/1",
                Some(json!("")),
                "pause_state.prioritized_actions[1]: must be at least 1 characters long",
                SchemaOnly,
            ),
        ],
    );
    refuse(
        ArtifactKind::SessionManifest,
        &[
            (
                "/prioritized_orientation",
                Some(json!(["1", "2", "3", "4", "5", "6"])),
                "session_manifest.prioritized_orientation: must have at most 5 items",
                SchemaOnly,
            ),
            (
                "/pause_state_summary/0/prioritized_actions",
                Some(json!([])),
                "session_manifest.pause_state_summary[0].prioritized_actions: must have at least 1 items",
                SchemaOnly,
            ),
            (
                "/pause_state_summary/0/since",
                Some(json!(1)),
                "session_manifest.pause_state_summary[0].since: is not a field of this artifact",
                Both,
            ),
            (
                "/queried_azolla_ids/0",
                Some(json!("code")),
                "session_manifest.queried_azolla_ids[0]: must match ^az-[a-z0-9-]{1,60}$, not \"code\"",
                Both,
            ),
        ],
    );
}

#[test]
fn c2_a5_claim_record() {
    refuse(
        ArtifactKind::ClaimRecord,
        &[
            (
                "/claim_version",
                Some(json!(-1)),
                "claim_record.claim_version: must be at least 0, not -1",
                Both,
            ),
            (
                "/resource_type",
                Some(json!("EVENT")),
                "claim_record.resource_id: must match ^evt-[a-z0-9-]{1,60}$, not \"wo-0000000000a1-1\"",
                SchemaOnly,
            ),
            (
                "/resource_id",
                Some(json!("evt-1")),
                "claim_record.resource_id: must match ^wo-[a-z0-9-]{1,60}$, not \"evt-1\"",
                SchemaOnly,
            ),
        ],
    );
}

#[test]
fn m2_a5_query_and_response() {
    refuse(
        ArtifactKind::SubstrateQuery,
        &[
            (
                "/artifact_type",
                Some(json!("run_record")),
                "substrate_query.artifact_type: must be one of pause_state, objective, blocker_ref, not \"run_record\"",
                Both,
            ),
            ("/filter", Some(Value::Null), "substrate_query.filter: must be of type object, not null", Both),
        ],
    );
    refuse(
        ArtifactKind::SubstrateQueryResponse,
        &[
            (
                "/status",
                Some(json!("DENIED")),
                "substrate_query_response.results: must have at most 0 items",
                SchemaOnly,
            ),
            (
                "/results/0",
                Some(json!("obj-1")),
                "substrate_query_response.results[0]: must be of type object, not \"obj-1\"",
                Both,
            ),
        ],
    );
}

#[test]
fn a5_our_own_artifacts() {
    refuse(
        ArtifactKind::CandidateResolution,
        &[
            (
                "/objective_id",
                Some(Value::Null),
                "candidate_resolution.objective_id: must be of type string, not null",
                SchemaOnly,
            ),
            (
                "/outcome",
                Some(json!("DISCARDED")),
                "candidate_resolution.objective_id: must be of type null, not \"obj-0000000000c1-1-0\"",
                SchemaOnly,
            ),
            (
                "/outcome",
                Some(json!("DEFERRED")),
                "candidate_resolution.objective_id: must be of type null, not \"obj-0000000000c1-1-0\"",
                SchemaOnly,
            ),
        ],
    );
    refuse(
        ArtifactKind::GateEvidence,
        &[
            (
                "/checks/0/exit_code",
                Some(json!("0")),
                "gate_evidence.checks[0].exit_code: must be of type integer or null, not \"0\"",
                Both,
            ),
            (
                "/checks/1/command",
                Some(json!([])),
                "gate_evidence.checks[1].command: must have at least 1 items",
                SchemaOnly,
            ),
            ("/checks/1/tree", None, "gate_evidence.checks[1].tree: is required", SchemaOnly),
        ],
    );
    refuse(
        ArtifactKind::UsageRecord,
        &[
            ("/requests", Some(json!(-1)), "usage_record.requests: must be at least 0, not -1", Both),
            (
                "/provider",
                Some(json!("")),
                "usage_record.provider: must be at least 1 characters long",
                SchemaOnly,
            ),
        ],
    );
    refuse(
        ArtifactKind::Journal,
        &[
            (
                "/resource_type",
                Some(json!("Objective")),
                "journal.resource_type: must match ^[a-z_]{1,40}$, not \"Objective\"",
                SchemaOnly,
            ),
            (
                "/detail",
                Some(json!([])),
                "journal.detail: must be of type object or null, not an array",
                Both,
            ),
            (
                "/owner_id",
                Some(json!("az-1")),
                "journal.owner_id: must match ^own-[a-z0-9-]{1,60}$, not \"az-1\"",
                Both,
            ),
        ],
    );
}
