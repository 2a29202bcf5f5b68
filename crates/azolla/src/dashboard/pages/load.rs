//! What several pages read.

use azolla_protocol::{AzollaId, AzollaType, ObjectiveId, Timestamp};
use azolla_substrate::Before;

use crate::{
    config::AzollaConfig,
    dashboard::{Ask, PageError},
    failure::sentence,
    find::Found,
};

/// Tells that a store does not answer.
pub(super) fn away(error: impl Into<anyhow::Error>) -> PageError {
    PageError::Away(sentence(&error.into()))
}

/// Returns the azolla that the path names.
pub(super) fn azolla<'a>(ask: &'a Ask<'_>) -> Result<&'a AzollaConfig, PageError> {
    let id: AzollaId = ask.id("azolla")?;
    let found = ask.app.stores.azolla(&id);
    found.ok_or_else(|| PageError::Missing(format!("There is no azolla {id} here.")))
}

/// Returns the objective of an id.
pub(super) async fn objective(
    ask: &Ask<'_>,
    azolla: &AzollaConfig,
    id: &ObjectiveId,
) -> Result<Found, PageError> {
    let store = ask.app.stores.whole(azolla).await.map_err(away)?;
    let stored = store.read().objective(id).await.map_err(away)?;
    let missing = || PageError::Missing(format!("There is no objective {id} in {}.", azolla.id));
    Ok(Found { azolla: azolla.clone(), stored: stored.ok_or_else(missing)?, store })
}

/// Returns the azollas of a type.
pub(super) fn of_type<'a>(
    ask: &'a Ask<'_>,
    azolla_type: AzollaType,
) -> impl Iterator<Item = &'a AzollaConfig> {
    ask.app.deployment.config.of_type(azolla_type)
}

/// Reads where a page of a list begins: `INSTANT~ID`. What is no such key begins at the newest.
pub(super) fn before(ask: &Ask<'_>) -> Option<Before> {
    let (at, id) = ask.query("before")?.split_once('~')?;
    Some(Before { created_at: at.parse().ok()?, id: id.to_owned() })
}

/// Writes it.
pub(super) fn key(created_at: Timestamp, id: &str) -> String {
    format!("{created_at}~{id}")
}
