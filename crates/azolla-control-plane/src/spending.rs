//! What may be spent, over all azollas of this machine, and which providers are to be left alone for a while.

use azolla_protocol::{Allowance, AzollaId, ObjectiveId, Wait, Withheld, WorkOrderId};

/// The machine's account. Every answer is durable before it is given: no crash and no restart makes room.
///
/// An account that cannot be read or written withholds everything until it can.
pub trait Ledger: Send + Sync {
    /// Returns what keeps work with this provider from starting now, if anything: a quota, or a cap of the day.
    fn waits(&self, provider: &str) -> Option<Wait>;

    /// Opens the account of a run, again if it was open before, and sets its time aside.
    fn begin(&self, run: &RunAccount) -> Result<Box<dyn Allowance>, Withheld>;

    /// Replaces the time that was set aside by what was consumed.
    fn end(&self, run: &RunAccount, consumed_ms: u64);

    /// Notes that a provider is to be left alone for a while.
    fn hold(&self, provider: &str, wait: &Wait);
}

/// Who spends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunAccount {
    /// The azolla.
    pub azolla_id: AzollaId,
    /// The objective.
    pub objective_id: ObjectiveId,
    /// Whether the objective stands for ever: what all of its runs cost together has no limit then.
    pub is_standing: bool,
    /// The workorder: a run, however many claims it takes.
    pub work_order_id: WorkOrderId,
    /// The provider.
    pub provider: String,
    /// The time that the whole run may take.
    pub budget_ms: u64,
}
