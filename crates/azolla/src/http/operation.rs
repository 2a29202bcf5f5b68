//! Everything that can be asked for, in one table: the router and the OpenAPI document are both made from it.

use axum::http::Method;

use super::access::Access;

/// One route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    QuerySubstrate,
    Capture,
    Resume,
    Azollas,
    Objectives,
    Objective,
    Candidates,
    RequestManifest,
    LatestManifest,
    Health,
    OpenApi,
    Metrics,
}

/// What is known of a route.
pub(super) struct Facts {
    /// Its method.
    pub(super) method: Method,
    /// Its path, with `{name}` for what it takes from there.
    pub(super) path: &'static str,
    /// Its name in the OpenAPI document.
    pub(super) id: &'static str,
    /// What it does.
    pub(super) summary: &'static str,
    /// Who may ask.
    pub(super) access: Access,
    /// The body that it takes.
    pub(super) body: Option<BodyFacts>,
    /// The keys of the query string, each with its schema.
    pub(super) query: &'static [(&'static str, &'static str, &'static str)],
    /// Its answer, if all is well.
    pub(super) answer: AnswerFacts,
    /// Whether there may be nothing of that name.
    pub(super) may_be_missing: bool,
}

/// A JSON body.
pub(super) struct BodyFacts {
    /// The name of its schema.
    pub(super) schema: &'static str,
    /// The most bytes of it.
    pub(super) bytes_max: usize,
}

/// An answer that is no error.
pub(super) struct AnswerFacts {
    /// Its status.
    pub(super) status: u16,
    /// What it is.
    pub(super) description: &'static str,
    /// The name of its schema; none for text.
    pub(super) schema: Option<&'static str>,
}

/// A query is a small document.
const QUERY_BYTES_MAX: usize = 64 * 1024;
/// A text of 1 MiB, each of whose bytes may be written as `\u00xx`, and the rest of the document.
const CAPTURE_BYTES_MAX: usize = 6 * 1024 * 1024 + 16 * 1024;

impl Operation {
    pub(super) const ALL: [Self; 12] = [
        Self::QuerySubstrate,
        Self::Capture,
        Self::Resume,
        Self::Azollas,
        Self::Objectives,
        Self::Objective,
        Self::Candidates,
        Self::RequestManifest,
        Self::LatestManifest,
        Self::Health,
        Self::OpenApi,
        Self::Metrics,
    ];

    /// Returns what is known of it.
    pub(super) fn facts(self) -> Facts {
        let (get, post) = (Method::GET, Method::POST);
        let ok = |description, schema| AnswerFacts { status: 200, description, schema: Some(schema) };
        let plain = |method, path, id, summary, access, answer| Facts {
            method,
            path,
            id,
            summary,
            access,
            body: None,
            query: &[],
            answer,
            may_be_missing: path.contains('{'),
        };
        match self {
            Self::QuerySubstrate => Facts {
                body: Some(BodyFacts { schema: "substrate_query", bytes_max: QUERY_BYTES_MAX }),
                // What is not there is DENIED like everything else that a peer may not see (M-2).
                may_be_missing: false,
                ..plain(
                    post,
                    "/v1/azollas/{azolla_id}/substrate/query",
                    "querySubstrate",
                    "Read objectives or pause_states of an azolla, as another azolla of its registry.",
                    Access::Peer,
                    ok("The answer, which may be DENIED.", "substrate_query_response"),
                )
            },
            Self::Capture => Facts {
                body: Some(BodyFacts { schema: "capture_request", bytes_max: CAPTURE_BYTES_MAX }),
                may_be_missing: true,
                ..plain(
                    post,
                    "/v1/captures",
                    "capture",
                    "Keep a note for triage.",
                    Access::Operator,
                    AnswerFacts { status: 201, description: "It is kept.", schema: Some("capture_answer") },
                )
            },
            Self::Resume => plain(
                get,
                "/v1/resume",
                "resume",
                "Where things stand and what is next: the document of `azolla --json`.",
                Access::Operator,
                ok("The document.", "resume"),
            ),
            Self::Azollas => plain(
                get,
                "/v1/azollas",
                "listAzollas",
                "The registry: the azollas of this machine, and its peers.",
                Access::Operator,
                ok("The registry.", "azollas"),
            ),
            Self::Objectives => Facts {
                query: &[
                    ("status", "objective_status", "Only objectives that stand there."),
                    (
                        "after",
                        "objective_id",
                        "Only those created after this one: the `next` of the page before.",
                    ),
                    ("limit", "page_limit", "How many at the most; 100 if nothing is said."),
                ],
                ..plain(
                    get,
                    "/v1/azollas/{azolla_id}/objectives",
                    "listObjectives",
                    "Objectives, oldest first.",
                    Access::Operator,
                    ok("A page of them.", "objectives"),
                )
            },
            Self::Objective => Facts {
                query: &[
                    ("runs_before", "run_id", "Only runs before this one: the `next` of the page before."),
                    ("limit", "page_limit", "How many runs at the most; 100 if nothing is said."),
                ],
                ..plain(
                    get,
                    "/v1/azollas/{azolla_id}/objectives/{objective_id}",
                    "showObjective",
                    "An objective, its current pause_state and its newest runs, the oldest of them first.",
                    Access::Operator,
                    ok("The objective.", "objective_page"),
                )
            },
            Self::Candidates => Facts {
                query: &[
                    (
                        "after",
                        "output_id",
                        "Only those of triages after this one: the `next` of the page before.",
                    ),
                    ("limit", "page_limit", "Of how many triages at the most; 100 if nothing is said."),
                ],
                ..plain(
                    get,
                    "/v1/azollas/{azolla_id}/candidates",
                    "listCandidates",
                    "What triage made of notes and nobody has resolved yet, oldest first.",
                    Access::Operator,
                    ok("The open candidates of a page of triages that have any.", "candidates"),
                )
            },
            Self::RequestManifest => plain(
                post,
                "/v1/azollas/{azolla_id}/manifests",
                "requestManifest",
                "Ask for orientation. While one is asked for, asking again returns the same event.",
                Access::Operator,
                AnswerFacts {
                    status: 202,
                    description: "It is asked for.",
                    schema: Some("manifest_request"),
                },
            ),
            Self::LatestManifest => plain(
                get,
                "/v1/azollas/{azolla_id}/manifests/latest",
                "latestManifest",
                "The newest orientation.",
                Access::Operator,
                ok("The manifest.", "session_manifest"),
            ),
            Self::Health => plain(
                get,
                "/healthz",
                "health",
                "Whether the server answers.",
                Access::Open,
                ok("It does.", "health"),
            ),
            Self::OpenApi => plain(
                get,
                "/openapi.json",
                "openApi",
                "This document.",
                Access::Open,
                ok("The document.", "openapi"),
            ),
            Self::Metrics => plain(
                get,
                "/metrics",
                "metrics",
                "Counts since the start, for Prometheus. From this machine no token is needed.",
                Access::OperatorOrHere,
                AnswerFacts { status: 200, description: "Text.", schema: None },
            ),
        }
    }
}
