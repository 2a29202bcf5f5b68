//! The journal rows of a commit, and the statements that append them.

use std::sync::LazyLock;

use azolla_protocol::{Actor, CommitId, JournalStep, JsonObject, ResourceRef, canonical};

use crate::{
    commit::ClaimUse,
    sql,
    statement::{Cell, Expect, Statement, Step},
};

/// One change, as the journal tells it.
pub(crate) struct JournalRow {
    step: JournalStep,
    resource_type: String,
    resource_id: String,
    from_status: Option<String>,
    to_status: Option<String>,
    detail: JsonObject,
}

impl JournalRow {
    pub(crate) fn new(step: JournalStep, resource_type: &str, resource_id: &str) -> Self {
        let (resource_type, resource_id) = (resource_type.into(), resource_id.into());
        Self {
            step,
            resource_type,
            resource_id,
            from_status: None,
            to_status: None,
            detail: JsonObject::new(),
        }
    }

    pub(crate) fn of_claim(step: JournalStep, resource: &ResourceRef) -> Self {
        Self::new(step, &resource.resource_type.as_str().to_lowercase(), &resource.resource_id)
    }

    pub(crate) fn from(&mut self, status: impl ToString) -> &mut Self {
        self.from_status = Some(status.to_string());
        self
    }

    pub(crate) fn to(&mut self, status: impl ToString) -> &mut Self {
        self.to_status = Some(status.to_string());
        self
    }

    pub(crate) fn detail(&mut self, key: &str, value: impl Into<serde_json::Value>) -> &mut Self {
        self.detail.insert(key.into(), value.into());
        self
    }
}

/// Returns the statements that append `rows`; the first row carries the commit's id.
pub(crate) fn journal_steps(
    rows: &[JournalRow],
    actor: Actor,
    claim: &ClaimUse,
    commit_id: Option<&CommitId>,
) -> Vec<Step> {
    let mut commit_id = commit_id;
    rows.chunks(ROWS_MAX)
        .map(|chunk| {
            let values = chunk.iter().flat_map(|row| values(row, actor, claim, commit_id.take())).collect();
            let texts = if matches!(claim, ClaimUse::Claiming { .. }) { &GRANTED } else { &HELD };
            let statement = Statement { sql: texts[chunk.len() - 1], values };
            Step { statement, expect: Expect::Any, artifact: "journal" }
        })
        .collect()
}

fn values(row: &JournalRow, actor: Actor, claim: &ClaimUse, commit_id: Option<&CommitId>) -> Vec<Cell> {
    let mut values: Vec<Cell> = vec![actor.as_str().into()];
    match claim {
        ClaimUse::None => values.extend([Cell::Null, Cell::Null]),
        ClaimUse::Fenced(fence) => {
            values.extend([fence.owner_id.as_str().into(), fence.claim_version.into()]);
        }
        // The statement reads the version that this very transaction has granted.
        ClaimUse::Claiming { resource, owner_id } => values.extend([
            owner_id.as_str().into(),
            resource.resource_type.as_str().into(),
            resource.resource_id.as_str().into(),
        ]),
    }
    let detail = (!row.detail.is_empty())
        .then(|| canonical(&row.detail).expect("a detail holds text and small numbers only"));
    values.extend([
        row.step.as_str().into(),
        row.resource_type.as_str().into(),
        row.resource_id.as_str().into(),
        row.from_status.as_deref().into(),
        row.to_status.as_deref().into(),
        detail.into(),
        commit_id.map(|id| id.as_str()).into(),
    ]);
    values
}

/// Rows per statement: a usual commit is one statement, and a large one does not need a text of its own.
const ROWS_MAX: usize = 12;

static HELD: LazyLock<Vec<&'static str>> = LazyLock::new(|| texts(sql::JOURNAL_HELD));
static GRANTED: LazyLock<Vec<&'static str>> = LazyLock::new(|| texts(sql::JOURNAL_GRANTED));

/// Every text that appends 1 to `ROWS_MAX` rows, made once for the life of the process.
fn texts(tuple: &str) -> Vec<&'static str> {
    (1..=ROWS_MAX)
        .map(|rows| {
            let unnumbered = format!("{}{}", sql::JOURNAL, vec![tuple; rows].join(", "));
            let mut text = String::new();
            for (position, piece) in unnumbered.split('?').enumerate() {
                if position > 0 {
                    text.push_str(&format!("${position}"));
                }
                text.push_str(piece);
            }
            &*text.leak()
        })
        .collect()
}

/// Returns every text that appends journal rows, for the test that prepares all SQL.
#[cfg(test)]
pub(crate) fn all_texts() -> impl Iterator<Item = &'static str> {
    HELD.iter().chain(GRANTED.iter()).copied()
}
