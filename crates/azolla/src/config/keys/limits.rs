//! `[limits]`, `[caps]`, `[attention]` and `[deadlines]`: how much, how long, how often.

use azolla_protocol::{Limit, limits};

use super::{Form, Key, Table, Unset};

const fn whole(limit: &'static Limit, meaning: &'static str, example: &'static str) -> Key {
    Key { name: limit.name, form: Form::Whole(limit), unset: Unset::OfLimit, meaning, example, with: "" }
}

const fn money(limit: &'static Limit, meaning: &'static str, example: &'static str) -> Key {
    Key { name: limit.name, form: Form::Money(limit), unset: Unset::OfLimit, meaning, example, with: "" }
}

const fn deadline(
    name: &'static str,
    unset: &'static str,
    meaning: &'static str,
    example: &'static str,
) -> Key {
    Key { name, form: Form::Period, unset: Unset::Value(unset), meaning, example, with: "" }
}

/// Limits of single steps.
pub(in crate::config) const LIMITS: Table = Table {
    header: "[limits]",
    variant: "",
    about: "Limits, where the defaults do not fit. `azolla limits` prints what holds.",
    example: "[limits]",
    groups: &[&[
        whole(
            &limits::LEASE_MS,
            "How long a claim on work holds without renewal. After a crash, others wait this long.",
            "90000",
        ),
        whole(&limits::ATTEMPTS_MAX, "Automatic attempts per objective or note, in all.", "3"),
        whole(
            &limits::CLAIMS_WITHOUT_OUTCOME_MAX,
            "How often work may be begun and left without an outcome, such as by a crash, before it waits for you.",
            "5",
        ),
        whole(&limits::TRIAGE_BATCH, "Notes in one triage.", "50"),
        whole(&limits::BUDGET_PATCH_MS, "The time of a run that changes a repository.", "1200000"),
        whole(&limits::BUDGET_TRIAGE_MS, "The time of a triage.", "300000"),
        whole(&limits::BUDGET_MANIFEST_MS, "The time of an orientation.", "300000"),
        whole(&limits::CHECK_MS, "The time of one check that names none itself.", "900000"),
        whole(&limits::PROMPT_BYTES, "The size of a whole prompt.", "800000"),
        whole(
            &limits::PROMPT_REPOSITORY_BYTES,
            "The part of a prompt that the repository has: its tree and files.",
            "400000",
        ),
        whole(&limits::PROVIDER_RETRIES, "Retries of a provider in one run.", "4"),
        whole(&limits::PEER_QUERY_MS, "How long a peer is waited for.", "10000"),
        whole(&limits::PEER_ANSWER_BYTES, "The size of a peer's answer.", "524288"),
        whole(&limits::PATCH_BYTES, "The size of a change.", "1000000"),
        whole(&limits::PATCH_FILES, "The files of a change.", "50"),
        whole(&limits::PATCH_FILE_BYTES, "The size of one file after a change.", "1000000"),
    ]],
};

/// What may be spent.
pub(in crate::config) const CAPS: Table = Table {
    header: "[caps]",
    variant: "",
    about: "What may be spent over all azollas of this machine; 0 is no cap. A day is a day in UTC. `azolla limits` shows \
            what is used.",
    example: "[caps]",
    groups: &[&[
        money(&limits::RUN_USD, "Money for one run.", "1.00"),
        whole(&limits::RUN_TOKENS, "Tokens of one run.", "200000"),
        money(&limits::OBJECTIVE_USD, "Money for one objective, over all its runs.", "3.00"),
        whole(&limits::OBJECTIVE_TOKENS, "Tokens for one objective, over all its runs.", "1000000"),
        whole(&limits::OBJECTIVE_MS, "Time of the workers for one objective, over all its runs.", "3600000"),
        whole(&limits::OBJECTIVE_RUNS, "Runs for one objective.", "5"),
        money(&limits::DAY_USD, "Money of one day.", "10.00"),
        whole(&limits::DAY_TOKENS, "Tokens of one day.", "5000000"),
        whole(&limits::DAY_MS, "Time of the workers on one day.", "14400000"),
        whole(&limits::DAY_RUNS, "Runs of one day.", "40"),
    ]],
};

/// What waits for the operator.
pub(in crate::config) const ATTENTION: Table = Table {
    header: "[attention]",
    variant: "",
    about: "How much may wait for you.",
    example: "[attention]",
    groups: &[&[whole(
        &limits::REVIEW_LIMIT,
        "No new run starts while this many results wait for you; 0 is no limit.",
        "5",
    )]],
};

/// How long objectives may stay as they are.
pub(in crate::config) const DEADLINES: Table = Table {
    header: "[deadlines]",
    variant: "",
    about: "How long an objective may stay as it is before it is pointed at, by its urgency; `\"none\"` is for ever.",
    example: "[deadlines]",
    groups: &[&[
        deadline("urgency_0", r#""0""#, "Urgency 0, the most urgent: pointed at at once.", r#""1h""#),
        deadline("urgency_1", r#""1d""#, "Urgency 1.", r#""12h""#),
        deadline("urgency_2", r#""7d""#, "Urgency 2.", r#""3d""#),
        deadline("urgency_3", r#""30d""#, "Urgency 3.", r#""14d""#),
        deadline("urgency_4", r#""none""#, "Urgency 4, the least urgent.", r#""90d""#),
    ]],
};
