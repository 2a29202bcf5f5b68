//! The names that the acts have in a form.

/// Something that the operator can do on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Act {
    Capture,
    Promote,
    Discard,
    Defer,
    Undo,
    Duplicate,
    TriageRetry,
    New,
    Approve,
    Withdraw,
    Confirm,
    Reject,
    Retry,
    Cancel,
    Archive,
    Unarchive,
    Unblock,
    Block,
    Edit,
    Snooze,
    Manifest,
    Seen,
}

impl Act {
    /// Every act.
    pub(crate) const ALL: [Self; 22] = [
        Self::Capture,
        Self::Promote,
        Self::Discard,
        Self::Defer,
        Self::Undo,
        Self::Duplicate,
        Self::TriageRetry,
        Self::New,
        Self::Approve,
        Self::Withdraw,
        Self::Confirm,
        Self::Reject,
        Self::Retry,
        Self::Cancel,
        Self::Archive,
        Self::Unarchive,
        Self::Unblock,
        Self::Block,
        Self::Edit,
        Self::Snooze,
        Self::Manifest,
        Self::Seen,
    ];

    /// Returns the name that a form has for it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Promote => "promote",
            Self::Discard => "discard",
            Self::Defer => "defer",
            Self::Undo => "undo",
            Self::Duplicate => "duplicate",
            Self::TriageRetry => "triage_retry",
            Self::New => "new",
            Self::Approve => "approve",
            Self::Withdraw => "withdraw",
            Self::Confirm => "confirm",
            Self::Reject => "reject",
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Archive => "archive",
            Self::Unarchive => "unarchive",
            Self::Unblock => "unblock",
            Self::Block => "block",
            Self::Edit => "edit",
            Self::Snooze => "snooze",
            Self::Manifest => "manifest",
            Self::Seen => "seen",
        }
    }

    /// Returns the words of its button.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Capture => "Keep the note",
            Self::Promote => "Make it a piece of work",
            Self::Discard => "Discard",
            Self::Defer => "Leave for later",
            Self::Undo => "Take it back",
            Self::Duplicate => "Mark as a duplicate",
            Self::TriageRetry => "Triage again",
            Self::New => "Create",
            Self::Approve => "Approve",
            Self::Withdraw => "Withdraw the approval",
            Self::Confirm => "Confirm the result",
            Self::Reject => "Send it back",
            Self::Retry => "Run it again",
            Self::Cancel => "Stop the run",
            Self::Archive => "Archive",
            Self::Unarchive => "Bring it back",
            Self::Unblock => "Unblock",
            Self::Block => "Block",
            Self::Edit => "Save the changes",
            Self::Snooze => "Leave it alone for a while",
            Self::Manifest => "Ask for orientation",
            Self::Seen => "Seen",
        }
    }

    /// Returns the act of a name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|act| act.name() == name)
    }
}
