//! One strategy per artifact type: any value that the flows could write.

mod basic;

use azolla_protocol::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use basic::{count, named, object, sha, text, timestamp};

macro_rules! any_of {
    ($type:ty) => {
        select(<$type>::ALL)
    };
}

macro_rules! any_id {
    ($type:ty) => {
        "[a-z0-9-]{1,60}".prop_map(|body| <$type>::new(format!("{}-{body}", <$type>::PREFIX)).unwrap())
    };
}

fn actions(most: usize) -> impl Strategy<Value = Vec<String>> {
    vec(named(), 1..=most)
}

pub(crate) fn blocker_ref() -> impl Strategy<Value = BlockerRef> {
    (any_id!(BlockerId), any_of!(BlockerKind), text(20), any::<bool>()).prop_map(
        |(blocker_id, kind, description, resolved)| BlockerRef { blocker_id, kind, description, resolved },
    )
}

pub(crate) fn objective() -> impl Strategy<Value = Objective> {
    let head = (any_id!(ObjectiveId), any_id!(AzollaId), text(40), text(60), any_of!(ObjectiveType));
    let middle =
        (any_of!(ObjectiveStatus), 0..=4_u8, 0..=4_u8, option::of(text(20)), vec(blocker_ref(), 0..3));
    let completion = option::of((timestamp(), named(), any_id!(RunId)));
    let tail = (object(), completion, option::of(timestamp()), timestamp(), timestamp());
    (head, middle, tail).prop_map(
        |(head, middle, (mut metadata, completion, archived_at, created_at, updated_at))| {
            let (objective_id, azolla_id, title, acceptance_criteria, objective_type) = head;
            let (status, importance, urgency, blocked_reason, blocked_on) = middle;
            let mut put = |key: &str, value: Value| drop(metadata.insert(key.to_owned(), value));
            match objective_type {
                ObjectiveType::Ticket => put("repo_ref", "/srv/repo".into()),
                ObjectiveType::Standing => put("scope_description", "everything".into()),
            }
            if let Some((confirmed_at, confirmed_by, run_id)) = completion {
                let completion = serde_json::json!({
                    "confirmed_at": confirmed_at, "confirmed_by": confirmed_by, "run_id": run_id,
                });
                put("completion", completion);
            }
            if let Some(at) = archived_at {
                put("archived_at", at.to_string().into());
            }
            Objective {
                objective_id,
                azolla_id,
                title,
                acceptance_criteria,
                objective_type,
                status,
                importance,
                urgency,
                blocked_reason,
                blocked_on,
                metadata,
                created_at,
                updated_at,
            }
        },
    )
}

pub(crate) fn capture_buffer() -> impl Strategy<Value = CaptureBuffer> {
    (
        any_id!(CaptureId),
        any_id!(AzollaId),
        named(),
        text(20),
        any_of!(CaptureStatus),
        timestamp(),
        timestamp(),
    )
        .prop_map(
            |(capture_id, azolla_id, raw_content, source_label, status, created_at, updated_at)| {
                CaptureBuffer {
                    capture_id,
                    azolla_id,
                    raw_content,
                    source_label,
                    status,
                    created_at,
                    updated_at,
                }
            },
        )
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    let resource = prop_oneof![
        any_id!(ObjectiveId).prop_map(|id| (EventType::TicketReady, id.to_string())),
        any_id!(CaptureId).prop_map(|id| (EventType::CaptureReady, id.to_string())),
        any_id!(AzollaId).prop_map(|id| (EventType::ManifestRequested, id.to_string())),
    ];
    let processed = option::of((any_of!(ProcessedReason), timestamp()));
    (any_id!(EventId), resource, any_id!(AzollaId), timestamp(), processed).prop_map(
        |(event_id, (event_type, resource_id), azolla_id, created_at, processed)| Event {
            event_id,
            event_type,
            resource_id,
            azolla_id,
            created_at,
            processed: processed.is_some(),
            processed_reason: processed.map(|(reason, _)| reason),
            processed_at: processed.map(|(_, at)| at),
        },
    )
}

pub(crate) fn context_snapshot() -> impl Strategy<Value = ContextSnapshot> {
    let yields = vec(any_id!(OutputId), 0..3);
    (
        any_id!(SnapshotId),
        any_id!(ObjectiveId),
        option::of(object()),
        option::of(sha()),
        yields,
        text(80),
        timestamp(),
    )
        .prop_map(
            |(
                snapshot_id,
                objective_id,
                metadata,
                repo_commit_sha,
                related_yield_refs,
                full_prompt_text,
                created_at,
            )| {
                ContextSnapshot {
                    snapshot_id,
                    objective_id,
                    metadata,
                    repo_commit_sha,
                    related_yield_refs,
                    full_prompt_text,
                    created_at,
                }
            },
        )
}

pub(crate) fn workorder() -> impl Strategy<Value = Workorder> {
    let ids = (any_id!(WorkOrderId), any_id!(ObjectiveId), any_id!(SnapshotId));
    (ids, any_of!(DiazotrophType), 1..=86_400_000_u64, any_of!(WorkorderStatus), timestamp()).prop_map(
        |(
            (work_order_id, objective_id, context_snapshot_id),
            diazotroph_type,
            budget_ms,
            status,
            created_at,
        )| {
            let branch = format!("azolla/{objective_id}");
            let branch_name = (diazotroph_type == DiazotrophType::Patch).then_some(branch);
            Workorder {
                work_order_id,
                objective_id,
                diazotroph_type,
                context_snapshot_id,
                branch_name,
                budget_ms,
                status,
                created_at,
            }
        },
    )
}

pub(crate) fn output_bundle() -> impl Strategy<Value = OutputBundle> {
    let metadata = (any_id!(WorkOrderId), any_of!(RunnerStatus), count(), object(), object()).prop_map(
        |(work_order_id, runner_status, elapsed_ms, usage, more)| OutputMetadata {
            work_order_id,
            runner_status,
            elapsed_ms,
            usage,
            more,
        },
    );
    (any_id!(OutputId), any_id!(ObjectiveId), text(40), metadata, text(200), text(40), timestamp()).prop_map(
        |(output_id, objective_id, title, metadata, content, notes, created_at)| OutputBundle {
            output_id,
            objective_id,
            title,
            metadata,
            content,
            notes,
            created_at,
        },
    )
}

pub(crate) fn run_record() -> impl Strategy<Value = RunRecord> {
    let ids = (any_id!(RunId), any_id!(WorkOrderId), any_id!(ObjectiveId), any_id!(OutputId));
    (ids, any_of!(GateResult), text(40), option::of(sha()), timestamp()).prop_map(
        |(
            (run_id, work_order_id, objective_id, output_id),
            gate_result,
            gate_reason,
            commit_sha,
            created_at,
        )| {
            RunRecord {
                run_id,
                work_order_id,
                objective_id,
                output_id,
                gate_result,
                gate_reason,
                commit_sha,
                created_at,
            }
        },
    )
}

pub(crate) fn pause_state() -> impl Strategy<Value = PauseState> {
    (any_id!(ObjectiveId), any_id!(AzollaId), any_of!(PauseReason), actions(3), timestamp()).prop_map(
        |(objective_id, azolla_id, reason, prioritized_actions, created_at)| PauseState {
            objective_id,
            azolla_id,
            reason,
            prioritized_actions,
            created_at,
        },
    )
}

pub(crate) fn session_manifest() -> impl Strategy<Value = SessionManifest> {
    let summary = (any_id!(AzollaId), any_id!(ObjectiveId), any_of!(PauseReason), actions(3)).prop_map(
        |(source_azolla_id, objective_id, reason, prioritized_actions)| PauseStateSummary {
            source_azolla_id,
            objective_id,
            reason,
            prioritized_actions,
        },
    );
    let lists = (vec(any_id!(AzollaId), 0..3), vec(summary, 0..3), actions(5));
    (any_id!(ManifestId), any_id!(AzollaId), lists, timestamp()).prop_map(
        |(
            manifest_id,
            azolla_id,
            (queried_azolla_ids, pause_state_summary, prioritized_orientation),
            created_at,
        )| {
            SessionManifest {
                manifest_id,
                azolla_id,
                queried_azolla_ids,
                pause_state_summary,
                prioritized_orientation,
                created_at,
            }
        },
    )
}

pub(crate) fn claim_record() -> impl Strategy<Value = ClaimRecord> {
    let resource = prop_oneof![
        any_id!(EventId).prop_map(|id| ResourceRef::from(&id)),
        any_id!(WorkOrderId).prop_map(|id| ResourceRef::from(&id)),
    ];
    (resource, any_id!(OwnerId), timestamp(), timestamp(), count()).prop_map(
        |(
            ResourceRef { resource_type, resource_id },
            owner_id,
            lease_expires_at,
            heartbeat_at,
            claim_version,
        )| {
            ClaimRecord {
                resource_type,
                resource_id,
                owner_id,
                lease_expires_at,
                heartbeat_at,
                claim_version,
            }
        },
    )
}

pub(crate) fn substrate_query() -> impl Strategy<Value = SubstrateQuery> {
    let azollas = (any_id!(AzollaId), any_id!(AzollaId));
    (any_id!(QueryId), azollas, any_of!(QueryableType), object(), timestamp()).prop_map(
        |(query_id, (source_azolla_id, target_azolla_id), artifact_type, filter, created_at)| {
            SubstrateQuery { query_id, source_azolla_id, target_azolla_id, artifact_type, filter, created_at }
        },
    )
}

pub(crate) fn substrate_query_response() -> impl Strategy<Value = SubstrateQueryResponse> {
    let ids = (any_id!(ResponseId), any_id!(QueryId), any_id!(AzollaId));
    (ids, any_of!(QueryStatus), vec(object(), 0..3), timestamp()).prop_map(
        |((response_id, query_id, target_azolla_id), status, results, created_at)| {
            let results = if status == QueryStatus::Ok { results } else { Vec::new() };
            SubstrateQueryResponse { response_id, query_id, target_azolla_id, status, results, created_at }
        },
    )
}

pub(crate) fn candidate_resolution() -> impl Strategy<Value = CandidateResolution> {
    (any_id!(OutputId), count(), any_of!(CandidateOutcome), any_id!(ObjectiveId), named(), timestamp())
        .prop_map(|(output_id, candidate_index, outcome, objective_id, resolved_by, created_at)| {
            let has_one = matches!(outcome, CandidateOutcome::Promoted | CandidateOutcome::Duplicate);
            let objective_id = has_one.then_some(objective_id);
            CandidateResolution { output_id, candidate_index, outcome, objective_id, resolved_by, created_at }
        })
}

pub(crate) fn gate_evidence() -> impl Strategy<Value = GateEvidence> {
    let exit_code = option::of(any::<i32>().prop_map(i64::from));
    let run = (vec(text(8), 1..3), exit_code, any::<bool>(), count(), text(40));
    let check = (named(), any_of!(CheckSubject), run, option::of(sha()), named()).prop_map(
        |(name, subject, (command, exit_code, timed_out, duration_ms, output_tail), tree, sandbox_mode)| {
            CheckEvidence {
                name,
                subject,
                command,
                exit_code,
                timed_out,
                duration_ms,
                output_tail,
                tree,
                sandbox_mode,
            }
        },
    );
    (any_id!(RunId), any_id!(WorkOrderId), option::of(sha()), vec(check, 0..3), timestamp()).prop_map(
        |(run_id, work_order_id, base_commit_sha, checks, created_at)| GateEvidence {
            run_id,
            work_order_id,
            base_commit_sha,
            checks,
            created_at,
        },
    )
}

pub(crate) fn usage_record() -> impl Strategy<Value = UsageRecord> {
    let counts = (count(), count(), count(), count(), count());
    (any_id!(WorkOrderId), counts, named(), option::of(text(8)), option::of(count()), timestamp()).prop_map(
        |(work_order_id, counts, provider, model, cost_microusd, created_at)| {
            let (claim_version, requests, retries, input_tokens, output_tokens) = counts;
            UsageRecord {
                work_order_id,
                claim_version,
                provider,
                model,
                requests,
                retries,
                input_tokens,
                output_tokens,
                cost_microusd,
                created_at,
            }
        },
    )
}

pub(crate) fn journal_entry() -> impl Strategy<Value = JournalEntry> {
    let status = || option::of(any_of!(ObjectiveStatus).prop_map(|status| status.to_string()));
    let claim = option::of((any_id!(OwnerId), count()));
    let kind = any_of!(ArtifactKind).prop_map(|kind| kind.to_string());
    let change = (any_of!(JournalStep), kind, named(), status(), status(), option::of(object()));
    (count(), timestamp(), any_of!(Actor), claim, change).prop_map(|(seq, at, actor, claim, change)| {
        let (owner_id, claim_version) = claim.unzip();
        let (step, resource_type, resource_id, from_status, to_status, detail) = change;
        JournalEntry {
            seq,
            at,
            actor,
            owner_id,
            claim_version,
            step,
            resource_type,
            resource_id,
            from_status,
            to_status,
            detail,
        }
    })
}
