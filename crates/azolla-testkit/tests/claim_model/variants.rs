//! The protocol as a set of rules, and the ways to break one of them at a time.
//! `Sound` is what PROTOCOL.md section 5 says; every other variant differs from it in the lines shown here.

/// Names one protocol that the model runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Variant {
    Sound,
    /// The lease is the only protection: the commit checks nothing (R1).
    NoFence,
    /// The bundle has a unique key, the commit checks no claim (R1).
    UniqueKeyWithoutFence,
    /// Release deletes the claim row, so `claim_version` starts again (C-2, R2).
    RowDeletedOnRelease,
    /// A restarted process keeps its `owner_id`, and the fence compares nothing else (C-4, R3).
    OwnerReusedAndVersionUnchecked,
    /// A takeover keeps the `claim_version` of the expired claim (C-1, C-2).
    VersionKeptOnTakeover,
    /// Acquire compares `lease_expires_at` with the clock of the worker (C-7, R4).
    ExpiryByWorkerClock,
    /// The fence and the write are two transactions (C-4, R1).
    CheckThenWrite,
    /// After a cut the client acquires and writes again, without the read between (C-9, R6).
    WrittenAgainBlindly,
    /// The release commits before the terminal artifact does (C-5).
    ReleasedBeforeWritten,
    /// Renewal writes the row whatever it holds (C-3).
    RenewalWithoutCompareAndSwap,
    /// Renewal compares owner and version but not expiry (C-3).
    RenewalIgnoresExpiry,
    /// A renewal whose result is unknown counts as held (C-3, R5).
    UnknownRenewalCountsAsHeld,
    /// After a cut the client sends the same commit again and reports the second answer (C-9, R6).
    SentAgainAndAnswerReported,
    /// After a cut one read that finds no bundle is reported as not done (C-9).
    AbsentReportedAsNotDone,
    /// After a cut the client reports the commit as done (C-9, R6).
    UnknownReportedAsDone,
    /// A claim has no expiry, so nothing follows a crash (C-6).
    LeaseNeverExpires,
}

/// What the commit compares with the claim row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fence {
    OwnerVersionAndExpiry,
    OwnerOnly,
    Nothing,
}

/// How the parts of a commit are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitShape {
    OneTransaction,
    FenceThenWrite,
    ReleaseThenWrite,
}

/// Whose clock says that a lease has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpiryClock {
    Store,
    Worker,
}

/// What a renewal compares with the claim row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewal {
    OwnerVersionAndExpiry,
    OwnerAndVersion,
    Nothing,
}

/// What a client does about a commit whose reply it did not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownCommit {
    Read,
    ReadAndTrustAbsence,
    AcquireAndWriteAgain,
    SendAgain,
    ReportDone,
}

/// The rules of one variant. The steps read these and never the name of the variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    pub(crate) fence: Fence,
    pub(crate) unique_key: bool,
    pub(crate) commit: CommitShape,
    pub(crate) release_keeps_row: bool,
    pub(crate) owner_fresh_per_start: bool,
    pub(crate) takeover_bumps_version: bool,
    pub(crate) expiry_clock: ExpiryClock,
    pub(crate) leases_expire: bool,
    pub(crate) renewal: Renewal,
    pub(crate) unknown_renewal_is_lost: bool,
    pub(crate) unknown_commit: UnknownCommit,
}

/// The protocol. The unique keys of W-5 are left out on purpose: the fence has to hold without them,
/// so that they are a second line and not the only one.
const SOUND: Rules = Rules {
    fence: Fence::OwnerVersionAndExpiry,
    unique_key: false,
    commit: CommitShape::OneTransaction,
    release_keeps_row: true,
    owner_fresh_per_start: true,
    takeover_bumps_version: true,
    expiry_clock: ExpiryClock::Store,
    leases_expire: true,
    renewal: Renewal::OwnerVersionAndExpiry,
    unknown_renewal_is_lost: true,
    unknown_commit: UnknownCommit::Read,
};

impl Variant {
    /// Returns the rules of this variant: those of the protocol, but for what its name says.
    pub(crate) const fn rules(self) -> Rules {
        match self {
            Self::Sound => SOUND,
            Self::NoFence => Rules { fence: Fence::Nothing, ..SOUND },
            Self::UniqueKeyWithoutFence => Rules { fence: Fence::Nothing, unique_key: true, ..SOUND },
            Self::RowDeletedOnRelease => Rules { release_keeps_row: false, ..SOUND },
            Self::OwnerReusedAndVersionUnchecked => {
                Rules { owner_fresh_per_start: false, fence: Fence::OwnerOnly, ..SOUND }
            }
            Self::VersionKeptOnTakeover => Rules { takeover_bumps_version: false, ..SOUND },
            Self::ExpiryByWorkerClock => Rules { expiry_clock: ExpiryClock::Worker, ..SOUND },
            Self::CheckThenWrite => Rules { commit: CommitShape::FenceThenWrite, ..SOUND },
            Self::WrittenAgainBlindly => {
                Rules { unknown_commit: UnknownCommit::AcquireAndWriteAgain, ..SOUND }
            }
            Self::ReleasedBeforeWritten => Rules { commit: CommitShape::ReleaseThenWrite, ..SOUND },
            Self::RenewalWithoutCompareAndSwap => Rules { renewal: Renewal::Nothing, ..SOUND },
            Self::RenewalIgnoresExpiry => Rules { renewal: Renewal::OwnerAndVersion, ..SOUND },
            Self::UnknownRenewalCountsAsHeld => Rules { unknown_renewal_is_lost: false, ..SOUND },
            Self::SentAgainAndAnswerReported => Rules { unknown_commit: UnknownCommit::SendAgain, ..SOUND },
            Self::AbsentReportedAsNotDone => {
                Rules { unknown_commit: UnknownCommit::ReadAndTrustAbsence, ..SOUND }
            }
            Self::UnknownReportedAsDone => Rules { unknown_commit: UnknownCommit::ReportDone, ..SOUND },
            Self::LeaseNeverExpires => Rules { leases_expire: false, ..SOUND },
        }
    }
}
