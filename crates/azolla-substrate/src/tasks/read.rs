//! The typed reads of task management, written once for both backends.

use azolla_protocol::{CandidateResolution, CaptureBuffer, CaptureId, OutputId, SessionManifest};

use super::sql;
use crate::{error::SubstrateError, rows, statement::Statement, substrate::SubstrateRead};

/// A capture with its store-only column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCapture {
    /// The artifact.
    pub capture: CaptureBuffer,
    /// Triage attempts so far (W-2).
    pub attempts: u64,
}

impl dyn SubstrateRead + '_ {
    /// Returns a capture.
    pub async fn capture(&self, id: &CaptureId) -> Result<Option<StoredCapture>, SubstrateError> {
        self.one(sql::CAPTURE, id.as_str(), rows::read_capture).await
    }

    /// Returns PENDING captures with fewer than `attempts_max` attempts, oldest first.
    pub async fn pending_captures(
        &self,
        attempts_max: u64,
        limit: u64,
    ) -> Result<Vec<StoredCapture>, SubstrateError> {
        let values = [attempts_max.into(), limit.into()];
        self.many(Statement::new(sql::PENDING_CAPTURES, values), rows::read_capture).await
    }

    /// Returns PENDING captures that have attempts left and no event for the next one, oldest first (W-2).
    pub async fn captures_awaiting_event(
        &self,
        attempts_max: u64,
        limit: u64,
    ) -> Result<Vec<StoredCapture>, SubstrateError> {
        let values = [attempts_max.into(), limit.into()];
        self.many(Statement::new(sql::CAPTURES_AWAITING_EVENT, values), rows::read_capture).await
    }

    /// Returns the newest manifest.
    pub async fn latest_manifest(&self) -> Result<Option<SessionManifest>, SubstrateError> {
        let found = self.rows(Statement::new(sql::LATEST_MANIFEST, [])).await?;
        found.first().map(rows::read_document).transpose()
    }

    /// Returns what became of the candidates of a triage output.
    pub async fn resolutions_of(&self, id: &OutputId) -> Result<Vec<CandidateResolution>, SubstrateError> {
        let statement = Statement::new(sql::RESOLUTIONS_OF_OUTPUT, [id.as_str().into()]);
        self.many(statement, rows::read_resolution).await
    }
}
