//! Wake-ups across processes. NOTIFY goes out after a commit, on a connection of its own: inside the transaction it
//! would make commits wait for each other. Only what an operator does carries it inside: a command ends with its commit,
//! before anything could go out after it, and there are few of them.

use std::{future::poll_fn, sync::Arc, time::Duration};

use azolla_protocol::AzollaId;
use tokio::sync::{Notify, watch};
use tokio_postgres::{AsyncMessage, Client};

use super::{address::Address, open::connect, sql};
use crate::statement::{Expect, Statement, Step};

/// At most one NOTIFY in this time: commits in between share the next one.
const NOTIFY_EVERY: Duration = Duration::from_millis(10);

const RECONNECT_FIRST: Duration = Duration::from_millis(250);
const RECONNECT_MAX: Duration = Duration::from_secs(30);

/// Returns the step that tells other processes of the commit that it is part of.
pub(super) fn notice(azolla_id: &AzollaId) -> Step {
    let statement = Statement::new(sql::NOTIFY, [azolla_id.as_str().into()]);
    Step { statement, expect: Expect::Any, artifact: "journal" }
}

/// Tells other processes of every commit that `committed` signals, until it is aborted.
pub(super) async fn notify_others(address: Address, azolla_id: AzollaId, committed: Arc<Notify>) {
    let mut kept: Option<Client> = None;
    let mut pace = tokio::time::interval(NOTIFY_EVERY);
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        committed.notified().await;
        pace.tick().await;
        let client = match kept.take() {
            Some(client) => client,
            None => match connect(&address).await {
                Ok(client) if client.batch_execute(sql::NOTIFIER_SESSION).await.is_ok() => client,
                // Others fall back to polling; the next commit tries again.
                _ => continue,
            },
        };
        if client.execute(sql::NOTIFY, &[&azolla_id.as_str()]).await.is_ok() {
            kept = Some(client);
        }
    }
}

/// Counts `changes` up whenever another process says so, until it is aborted. After an outage it counts up once,
/// because notices sent meanwhile are lost.
pub(super) async fn listen_to_others(address: Address, azolla_id: AzollaId, changes: watch::Sender<u64>) {
    let mut pause = RECONNECT_FIRST;
    loop {
        if listen_once(&address, &azolla_id, &changes).await {
            pause = RECONNECT_FIRST;
        }
        let _ = tokio::time::timeout(pause, std::future::pending::<()>()).await;
        pause = (pause * 2).min(RECONNECT_MAX);
    }
}

/// Listens until the connection ends; returns whether it ever stood.
async fn listen_once(address: &Address, azolla_id: &AzollaId, changes: &watch::Sender<u64>) -> bool {
    let Ok((client, mut connection)) = address.config.connect(address.tls.clone()).await else {
        return false;
    };
    let (sender, mut messages) = tokio::sync::mpsc::unbounded_channel();
    let carrier = tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if matches!(message, AsyncMessage::Notification(_)) && sender.send(()).is_err() {
                break;
            }
        }
    });
    let listening = client.batch_execute(&sql::listen(azolla_id)).await.is_ok();
    changes.send_modify(|count| *count += 1);
    while listening && messages.recv().await.is_some() {
        changes.send_modify(|count| *count += 1);
    }
    carrier.abort();
    listening
}
