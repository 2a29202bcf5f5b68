//! The tools, in one table: what clients are shown and what is called are both made from it.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool as Shown, ToolAnnotations};
use serde_json::Value;

use super::{
    arguments::{
        CaptureNote, GetObjective, GetOrientation, GetRun, ListObjectives, ProposeObjective, ReportBlocker,
    },
    look::{self, Listed, Ran},
    orientation::{self, Orientation},
    say::{self, Kept, Reported},
    source::Reach,
};

/// Something that a client can call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    CaptureNote,
    GetOrientation,
    ListObjectives,
    GetObjective,
    ProposeObjective,
    ReportBlocker,
    GetRun,
}

impl Tool {
    pub(super) const ALL: [Self; 7] = [
        Self::CaptureNote,
        Self::GetOrientation,
        Self::ListObjectives,
        Self::GetObjective,
        Self::ProposeObjective,
        Self::ReportBlocker,
        Self::GetRun,
    ];

    /// Returns the tool of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.words().0 == name)
    }

    /// Returns its name, its title and what it does.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::CaptureNote => (
                "capture_note",
                "Keep a note",
                "Keep a note for the operator: something noticed, an idea, a loose end. It is stored as it is and \
                 triaged later; nothing is run because of it.",
            ),
            Self::GetOrientation => (
                "get_orientation",
                "Where everything stands",
                "Show where everything stands: what needs the operator first, what is open in each azolla, and the \
                 newest orientation. The commands in it are for the operator to type.",
            ),
            Self::ListObjectives => (
                "list_objectives",
                "List objectives",
                "List pieces of work, in the order of their creation: those that are open, or all of them.",
            ),
            Self::GetObjective => (
                "get_objective",
                "Show an objective",
                "Show one piece of work: its criteria, its blockers, its newest runs and what is next.",
            ),
            Self::ProposeObjective => (
                "propose_objective",
                "Propose a piece of work",
                "Propose a piece of work. It is kept as a note; triage makes a candidate of it, and only the operator \
                 makes that an objective and lets it run.",
            ),
            Self::ReportBlocker => (
                "report_blocker",
                "Say what is in the way",
                "Add an unresolved blocker to a piece of work: what is missing, in words. It holds the work up until \
                 the operator says that it is settled.",
            ),
            Self::GetRun => (
                "get_run",
                "Show a run",
                "Show one run, or the latest of an objective: what its gate found, the checks with their output, and \
                 what came back, part by part.",
            ),
        }
    }

    /// Returns it as clients see it.
    pub(super) fn shown(self) -> Shown {
        let (name, title, description) = self.words();
        let shown = Shown::new(name, description, JsonObject::new()).with_title(title);
        // Nothing here reaches further than the stores of this machine.
        let looks = || ToolAnnotations::new().read_only(true).open_world(false);
        let says = |idempotent| {
            let hints = ToolAnnotations::new().read_only(false).destructive(false);
            hints.idempotent(idempotent).open_world(false)
        };
        let mut shown = match self {
            Self::CaptureNote => shown
                .with_input_schema::<CaptureNote>()
                .with_output_schema::<Kept>()
                .with_annotations(says(false)),
            Self::GetOrientation => shown
                .with_input_schema::<GetOrientation>()
                .with_output_schema::<Orientation>()
                .with_annotations(looks()),
            Self::ListObjectives => shown
                .with_input_schema::<ListObjectives>()
                .with_output_schema::<Listed>()
                .with_annotations(looks()),
            Self::GetObjective => shown
                .with_input_schema::<GetObjective>()
                .with_output_schema::<look::Shown>()
                .with_annotations(looks()),
            Self::ProposeObjective => shown
                .with_input_schema::<ProposeObjective>()
                .with_output_schema::<Kept>()
                .with_annotations(says(false)),
            Self::ReportBlocker => shown
                .with_input_schema::<ReportBlocker>()
                .with_output_schema::<Reported>()
                .with_annotations(says(true)),
            Self::GetRun => {
                shown.with_input_schema::<GetRun>().with_output_schema::<Ran>().with_annotations(looks())
            }
        };
        shown.input_schema = Arc::new(without_widths(&shown.input_schema));
        shown.output_schema = shown.output_schema.map(|schema| Arc::new(without_widths(&schema)));
        shown
    }

    /// Calls it for a client of this name.
    pub(super) async fn call(
        self,
        reach: &Reach,
        client: &str,
        arguments: Option<JsonObject>,
    ) -> anyhow::Result<Value> {
        match self {
            Self::CaptureNote => say::capture_note(reach, client, arguments).await,
            Self::GetOrientation => orientation::get_orientation(reach, arguments).await,
            Self::ListObjectives => look::list_objectives(reach, arguments).await,
            Self::GetObjective => look::get_objective(reach, arguments).await,
            Self::ProposeObjective => say::propose_objective(reach, client, arguments).await,
            Self::ReportBlocker => say::report_blocker(reach, client, arguments).await,
            Self::GetRun => look::get_run(reach, arguments).await,
        }
    }
}

/// Returns a schema without the widths of Rust's numbers, which JSON Schema has no formats for.
fn without_widths(schema: &JsonObject) -> JsonObject {
    fn value(of: &Value) -> Value {
        match of {
            Value::Object(fields) => Value::Object(without_widths(fields)),
            Value::Array(items) => items.iter().map(value).collect(),
            plain => plain.clone(),
        }
    }
    let is_width = |(key, format): &(&String, &Value)| {
        *key == "format" && format.as_str().is_some_and(|format| format.contains("int"))
    };
    let kept = schema.iter().filter(|field| !is_width(field));
    kept.map(|(key, field)| (key.clone(), value(field))).collect()
}
