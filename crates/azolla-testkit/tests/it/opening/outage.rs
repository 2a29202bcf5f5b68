//! A server that is not there, is not asked rightly, or goes away and comes back.

use std::sync::Arc;

use azolla_protocol::{Actor, AzollaType};
use azolla_substrate::{
    Commit, CommitOutcome, Opening, PostgresSubstrate, Substrate, SubstrateError, SubstrateRead, Write,
    verify,
};
use azolla_testkit::{
    SequentialIds,
    cycle::valid,
    postgres::{PrivateCluster, fresh_database, fresh_database_in},
    store::{azolla_id, identity},
};
use tokio_postgres::NoTls;

use super::refusal;
use crate::seed::new_capture;

async fn open(address: &str) -> Result<Arc<dyn Substrate>, SubstrateError> {
    let opening = Opening::OrCreate(identity(AzollaType::CodePatch));
    Ok(Arc::new(PostgresSubstrate::open(address, &azolla_id(), opening).await?))
}

#[tokio::test]
async fn an_address_that_is_none_is_refused() {
    for address in ["substrate.sqlite", "mysql://user@host/database", "postgres://user@host:port/database"] {
        let text = refusal(open(address).await);
        assert!(text.starts_with("the store's address is not a PostgreSQL address: "), "{address:?}: {text}");
        assert!(text.ends_with("; write it as postgres://user@host/database"), "{address:?}: {text}");
    }
}

#[tokio::test]
async fn an_unknown_database_is_named_as_the_problem() {
    let database = fresh_database().await.unwrap();
    let (server, _) = database.url().rsplit_once('/').unwrap();
    let text = refusal(open(&format!("{server}/azolla_test_none")).await);
    assert_eq!(text, "the server has no such database; create it, or correct the store's address");
}

#[tokio::test]
async fn an_unknown_user_is_named_as_the_problem() {
    let database = fresh_database().await.unwrap();
    let text = refusal(open(&database.url().replacen("postgres@", "nobody-here@", 1)).await);
    assert_eq!(text, "the server refused the user or the password; correct the store's address");
}

#[tokio::test]
async fn a_schema_that_is_missing_is_no_store() {
    let database = fresh_database().await.unwrap();
    let opened = PostgresSubstrate::open(database.url(), &azolla_id(), Opening::Existing).await;
    let text = refusal(opened.map(|store| Arc::new(store) as Arc<dyn Substrate>));
    assert_eq!(text, "there is no Substrate here; check the name of the store");
    assert!(open(database.url()).await.is_ok(), "the refusal left something behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_is_unavailable_until_it_is_back() {
    let cluster = PrivateCluster::start().unwrap();
    let database = fresh_database_in(cluster.url()).await.unwrap();
    let store = open(database.url()).await.unwrap();
    let read: &dyn SubstrateRead = &*store;
    let ids = SequentialIds::default();
    let now = read.now().await.unwrap();
    let commit = async || {
        let write = Write::InsertCapture(valid(new_capture(&ids, "Rounding is off.", now)));
        store.commit(Commit::new(ids.commit_id(), Actor::Client).with(write)).await
    };
    assert_eq!(commit().await.unwrap(), CommitOutcome::Done);

    cluster.stop_immediate().unwrap();
    for _ in 0..3 {
        let error = read.now().await.unwrap_err();
        assert!(matches!(error, SubstrateError::Unavailable(_)), "{error:?}");
        let error = commit().await.unwrap_err();
        assert!(matches!(error, SubstrateError::Unavailable(_)), "{error:?}");
    }
    let text = refusal(open(database.url()).await);
    assert!(text.starts_with("no PostgreSQL answers at "), "{text}");
    assert!(text.ends_with("; start the server, or correct the store's address"), "{text}");

    cluster.restart().unwrap();
    assert_eq!(commit().await.unwrap(), CommitOutcome::Done);
    assert_eq!(read.pending_captures(1, 10).await.unwrap().len(), 2);
    assert_eq!(verify(read).await.unwrap(), []);
}

/// R9: what was the primary server comes back as a standby.
#[tokio::test(flavor = "multi_thread")]
async fn r9_a_server_that_has_become_a_standby_is_said_to_allow_no_writes() {
    let cluster = PrivateCluster::start().unwrap();
    let database = fresh_database_in(cluster.url()).await.unwrap();
    let store = open(database.url()).await.unwrap();
    let read: &dyn SubstrateRead = &*store;
    let (ids, now) = (SequentialIds::default(), read.now().await.unwrap());
    let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let data: String = client.query_one("SHOW data_directory", &[]).await.unwrap().get(0);
    client.batch_execute(&format!("COPY (SELECT 1) TO '{data}/standby.signal'; CHECKPOINT")).await.unwrap();
    cluster.stop_immediate().unwrap();
    cluster.restart().unwrap();

    let text = refusal(open(database.url()).await);
    assert!(text.contains("database does not allow writes"), "{text}");
    // The connection of before goes with the first question.
    read.now().await.unwrap_err();
    let write = Write::InsertCapture(valid(new_capture(&ids, "Rounding is off.", now)));
    let error = store.commit(Commit::new(ids.commit_id(), Actor::Client).with(write)).await.unwrap_err();
    let SubstrateError::Unavailable(cause) = &error else { panic!("{error:?}") };
    assert!(format!("{cause:?}").contains("database does not allow writes"), "{cause:?}");
}
