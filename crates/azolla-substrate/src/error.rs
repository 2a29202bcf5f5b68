//! What can go wrong at the Substrate, split by what the caller does next.

use azolla_protocol::{Artifact, AzollaId, CommitId, ResourceRef, ValidationError, lifecycle};

/// The source of an error that came from below.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An error of the Substrate. Unless a variant says otherwise, nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum SubstrateError {
    /// An artifact breaks its schema.
    #[error(transparent)]
    Invalid(#[from] ValidationError),

    /// The transition table has no such step (S-1).
    #[error(transparent)]
    Transition(#[from] lifecycle::Refused),

    /// A constraint of the store refused an artifact: a duplicate, a link to nothing, a change of what is fixed.
    #[error("{artifact}.{field}: {reason} ({rule})")]
    Refused {
        /// The artifact, by its schema's name.
        artifact: String,
        /// The field that the rule is about.
        field: String,
        /// The id of the protocol's rule.
        rule: String,
        /// What is wrong, in words.
        reason: String,
    },

    /// The commit was put together wrongly: a write without the claim that protects it, or by the wrong party.
    #[error("the commit is not well-formed: {0}")]
    Malformed(String),

    /// The artifact changed since it was read. Read again, then build a new commit (S-3).
    #[error("{artifact} changed since it was read")]
    Changed {
        /// The artifact, by its schema's name.
        artifact: &'static str,
    },

    /// The claim was taken over or has expired. The work stops; nothing was written (C-4).
    #[error("claim on {resource}, version {claim_version}, is no longer held")]
    FenceLost {
        /// What was claimed.
        resource: ResourceRef,
        /// The version that the owner held.
        claim_version: u64,
    },

    /// The store went away while it committed, and reading afterwards did not find the commit. It may still land
    /// while its claim lives; the worker makes no further write (C-9).
    #[error("the outcome of commit {commit_id} is unknown: the store did not answer")]
    OutcomeUnknown {
        /// The commit, as its journal row names it.
        commit_id: CommitId,
        /// What cut it off.
        #[source]
        source: BoxError,
    },

    /// The store did not answer, or is busy. The poll loop backs off. Of a commit nothing was written; a claim may
    /// have been granted or released all the same, and then expires by itself (R5).
    #[error("the Substrate is unavailable")]
    Unavailable(#[source] BoxError),

    /// The store cannot be used as it is. Somebody has to act: the text says what to do.
    #[error("{what}; {action}")]
    Unusable {
        /// What is wrong.
        what: String,
        /// What to do about it.
        action: String,
    },

    /// A stored row does not read as an artifact.
    #[error("the Substrate holds something unreadable: {0}; run `azolla verify`")]
    Corrupt(String),
}

impl SubstrateError {
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt(what.into())
    }

    pub(crate) fn unusable(what: impl Into<String>, action: impl Into<String>) -> Self {
        Self::Unusable { what: what.into(), action: action.into() }
    }

    /// The refusal of an artifact of another azolla.
    pub(crate) fn foreign<A: Artifact>(found: &AzollaId, own: &AzollaId) -> Self {
        Self::Refused {
            artifact: A::KIND.as_str().into(),
            field: "azolla_id".into(),
            rule: "Y-1".into(),
            reason: format!("is {found}, but this Substrate belongs to {own}"),
        }
    }

    /// Reads `artifact.field RULE reason`, the form of every trigger message and constraint name.
    pub(crate) fn refused(text: &str, reason: &str) -> Option<Self> {
        let mut words = text.splitn(3, ' ');
        let (place, rule) = (words.next()?, words.next()?);
        let (artifact, field) = place.split_once('.')?;
        let own_reason = words.next().unwrap_or(reason);
        Some(Self::Refused {
            artifact: artifact.into(),
            field: field.into(),
            rule: rule.into(),
            reason: if reason.is_empty() { own_reason.into() } else { reason.into() },
        })
    }

    /// Whether a store constraint refused a duplicate under `rule`: the thing is there already.
    pub fn is_refused_by(&self, by: &str) -> bool {
        matches!(self, Self::Refused { rule, .. } if rule == by)
    }
}
