//! The test fixtures themselves: what the suites on PostgreSQL and the fault tests rest on.

use std::time::Duration;

use azolla_testkit::postgres::{PrivateCluster, TestDatabase, fresh_database, fresh_database_in};
use azolla_testkit::proxy::{Proxy, Upstream};
use tokio_postgres::{Client, NoTls};

/// Longer than an answer over loopback takes on a busy machine, short enough to wait for in a test.
const NO_ANSWER: Duration = Duration::from_millis(500);
const ANSWER: Duration = Duration::from_secs(30);

async fn connect(url: &str) -> anyhow::Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn count(client: &Client, table: &str) -> anyhow::Result<i64> {
    Ok(client.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await?.get(0))
}

/// A database with an empty table `t`, a proxy before it, and a client through the proxy.
async fn proxied() -> anyhow::Result<(TestDatabase, Proxy, Client)> {
    let database = fresh_database().await?;
    connect(database.url()).await?.batch_execute("CREATE TABLE t (i int PRIMARY KEY)").await?;
    let proxy = Proxy::start(Upstream::of(database.url())?).await?;
    let client = connect(&proxy.url(database.url())?).await?;
    Ok((database, proxy, client))
}

#[tokio::test]
async fn two_databases_are_independent() -> anyhow::Result<()> {
    let (first, second) = (fresh_database().await?, fresh_database().await?);
    let (a, b) = (connect(first.url()).await?, connect(second.url()).await?);
    a.batch_execute("CREATE TABLE t (i int); INSERT INTO t VALUES (1)").await?;
    b.batch_execute("CREATE TABLE t (i int)").await?;
    assert_eq!((count(&a, "t").await?, count(&b, "t").await?), (1, 0));
    Ok(())
}

#[tokio::test]
async fn databases_are_created_side_by_side() -> anyhow::Result<()> {
    let made: Vec<_> = (0..8).map(|_| tokio::spawn(fresh_database())).collect();
    let mut urls = std::collections::BTreeSet::new();
    for database in made {
        urls.insert(database.await??.url().to_owned());
    }
    assert_eq!(urls.len(), 8);
    Ok(())
}

#[tokio::test]
async fn a_dropped_database_is_gone_even_while_connected() -> anyhow::Result<()> {
    let database = fresh_database().await?;
    let url = database.url().to_owned();
    let client = connect(&url).await?;
    drop(database);
    assert!(connect(&url).await.is_err(), "{url} still exists");
    assert!(client.batch_execute("SELECT 1").await.is_err(), "the session was not ended");
    Ok(())
}

#[tokio::test]
async fn the_proxy_delivers_what_it_is_given() -> anyhow::Result<()> {
    let (_database, proxy, mut client) = proxied().await?;
    let transaction = client.transaction().await?;
    transaction.execute("INSERT INTO t SELECT generate_series(1, $1::int)", &[&20_000]).await?;
    transaction.commit().await?;
    // More bytes than any buffer on the way holds.
    let rows = client.query("SELECT i, repeat('x', 100) FROM t ORDER BY i", &[]).await?;
    assert_eq!((rows.len(), proxy.cuts()), (20_000, 0));
    Ok(())
}

#[tokio::test]
async fn after_cut_after_commit_the_client_has_an_error_and_the_row_is_there() -> anyhow::Result<()> {
    let (database, proxy, mut client) = proxied().await?;
    proxy.cut_after_commit();
    let transaction = client.transaction().await?;
    transaction.execute("INSERT INTO t VALUES (1)", &[]).await?;
    let error = transaction.commit().await.expect_err("the answer was lost");
    assert!(error.is_closed(), "{error:?}");
    assert_eq!((proxy.cuts(), proxy.lost_answers()), (1, vec!["COMMIT".to_owned()]));
    assert_eq!(count(&connect(database.url()).await?, "t").await?, 1);
    // Once: the next connection works, through the same proxy.
    let client = connect(&proxy.url(database.url())?).await?;
    client.batch_execute("BEGIN; INSERT INTO t VALUES (2); COMMIT").await?;
    assert_eq!(count(&client, "t").await?, 2);
    Ok(())
}

#[tokio::test]
async fn after_cut_before_commit_the_client_has_an_error_and_the_row_is_not_there() -> anyhow::Result<()> {
    let (database, proxy, mut client) = proxied().await?;
    proxy.cut_before_commit();
    let transaction = client.transaction().await?;
    transaction.execute("INSERT INTO t VALUES (1)", &[]).await?;
    let error = transaction.commit().await.expect_err("the request was lost");
    assert!(error.is_closed(), "{error:?}");
    assert_eq!((proxy.cuts(), proxy.lost_answers()), (1, vec![]));
    // The same key again waits until the server has rolled the cut transaction back, then succeeds.
    let direct = connect(database.url()).await?;
    direct.batch_execute("INSERT INTO t VALUES (1)").await?;
    assert_eq!(count(&direct, "t").await?, 1);
    Ok(())
}

#[tokio::test]
async fn a_prepared_commit_is_cut_when_it_runs() -> anyhow::Result<()> {
    let (database, proxy, client) = proxied().await?;
    let commit = client.prepare("COMMIT").await?;
    proxy.cut_after_commit();
    client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await?;
    assert!(client.execute(&commit, &[]).await.is_err());
    assert_eq!(proxy.lost_answers(), ["COMMIT"]);
    assert_eq!(count(&connect(database.url()).await?, "t").await?, 1);
    Ok(())
}

#[tokio::test]
async fn a_statement_is_refused_by_the_server_and_the_session_goes_on() -> anyhow::Result<()> {
    let (_database, proxy, client) = proxied().await?;
    for (refused, rows) in [("BEGIN", 1), ("COMMIT", 1)] {
        proxy.refuse(refused);
        for statement in ["BEGIN", "INSERT INTO t SELECT COUNT(*) FROM t", "COMMIT"] {
            let answer = client.batch_execute(statement).await;
            let code = answer.err().and_then(|error| error.code().map(|code| code.code().to_owned()));
            assert_eq!(code.as_deref(), (statement == refused).then_some("42601"), "{refused}: {statement}");
        }
        client.batch_execute("ROLLBACK").await?;
        assert_eq!((count(&client, "t").await?, proxy.cuts()), (rows, 0), "{refused}");
    }
    Ok(())
}

#[tokio::test]
async fn a_statement_that_commits_by_itself_is_cut_by_its_text() -> anyhow::Result<()> {
    let (database, proxy, client) = proxied().await?;
    proxy.cut_after("INSERT INTO t");
    assert!(client.execute("INSERT INTO t VALUES ($1)", &[&1]).await.is_err());
    assert_eq!(proxy.lost_answers(), ["INSERT 0 1"]);
    let client = connect(&proxy.url(database.url())?).await?;
    assert_eq!(count(&client, "t").await?, 1);
    proxy.cut_before("INSERT INTO t");
    assert!(client.execute("INSERT INTO t VALUES ($1)", &[&2]).await.is_err());
    assert_eq!(count(&connect(database.url()).await?, "t").await?, 1);
    Ok(())
}

#[tokio::test]
async fn a_commit_that_the_server_refuses_is_lost_as_an_error() -> anyhow::Result<()> {
    let (database, proxy, mut client) = proxied().await?;
    let deferred = "CREATE TABLE d (i int UNIQUE DEFERRABLE INITIALLY DEFERRED)";
    connect(database.url()).await?.batch_execute(deferred).await?;
    proxy.cut_after_commit();
    let transaction = client.transaction().await?;
    transaction.batch_execute("INSERT INTO d VALUES (1), (1)").await?;
    assert!(transaction.commit().await.is_err());
    assert_eq!(proxy.lost_answers(), ["ERROR"]);
    assert_eq!(count(&connect(database.url()).await?, "d").await?, 0);
    Ok(())
}

#[tokio::test]
async fn a_restored_proxy_cuts_nothing() -> anyhow::Result<()> {
    let (_database, proxy, client) = proxied().await?;
    proxy.cut_after_commit();
    proxy.restore();
    client.batch_execute("BEGIN; INSERT INTO t VALUES (1); COMMIT").await?;
    assert_eq!((count(&client, "t").await?, proxy.cuts()), (1, 0));
    Ok(())
}

#[tokio::test]
async fn a_black_hole_gives_no_answer_and_no_error_until_it_is_restored() -> anyhow::Result<()> {
    let (database, proxy, client) = proxied().await?;
    proxy.black_hole();
    let mut old = std::pin::pin!(client.batch_execute("INSERT INTO t VALUES (1)"));
    assert!(tokio::time::timeout(NO_ANSWER, &mut old).await.is_err(), "an old connection got an answer");
    let url = proxy.url(database.url())?;
    let mut new = std::pin::pin!(connect(&url));
    assert!(tokio::time::timeout(NO_ANSWER, &mut new).await.is_err(), "a new connection got an answer");
    proxy.restore();
    tokio::time::timeout(ANSWER, old).await??;
    let new = tokio::time::timeout(ANSWER, new).await??;
    assert_eq!(count(&new, "t").await?, 1);
    Ok(())
}

#[tokio::test]
async fn round_trips_are_waits_of_the_client() -> anyhow::Result<()> {
    let (_database, proxy, client) = proxied().await?;
    let statement = client.prepare("SELECT $1::int").await?;
    let before = proxy.round_trips();
    client.query_one(&statement, &[&1]).await?;
    assert_eq!(proxy.round_trips() - before, 1, "a prepared statement");
    proxy.delay(Duration::from_millis(100));
    let before = proxy.round_trips();
    let (one, two) = (client.query_one(&statement, &[&1]), client.query_one(&statement, &[&2]));
    let (one, two) = tokio::join!(one, two);
    assert_eq!((one?.get::<_, i32>(0), two?.get::<_, i32>(0)), (1, 2));
    assert_eq!(proxy.round_trips() - before, 1, "two statements sent together");
    let before = proxy.round_trips();
    client.batch_execute("SELECT 1; SELECT 2; SELECT 3").await?;
    client.batch_execute("SELECT 1").await?;
    assert_eq!(proxy.round_trips() - before, 2, "two simple queries");
    Ok(())
}

#[tokio::test]
async fn connections_end_with_the_proxy() -> anyhow::Result<()> {
    let (_database, proxy, client) = proxied().await?;
    drop(proxy);
    let answer = tokio::time::timeout(ANSWER, client.batch_execute("SELECT 1")).await?;
    assert!(answer.is_err());
    Ok(())
}

#[tokio::test]
async fn a_private_cluster_keeps_what_was_committed_over_a_crash() -> anyhow::Result<()> {
    let cluster = PrivateCluster::start()?;
    let database = fresh_database_in(cluster.url()).await?;
    let client = connect(database.url()).await?;
    client.batch_execute("CREATE TABLE t (i int); INSERT INTO t VALUES (1)").await?;
    client.batch_execute("BEGIN; INSERT INTO t VALUES (2)").await?;
    cluster.stop_immediate()?;
    assert!(client.batch_execute("COMMIT").await.is_err());
    assert!(connect(database.url()).await.is_err());
    cluster.restart()?;
    assert_eq!(count(&connect(database.url()).await?, "t").await?, 1);
    Ok(())
}

#[tokio::test]
async fn nothing_of_a_private_cluster_is_left_even_if_it_was_stopped() -> anyhow::Result<()> {
    for stopped in [false, true] {
        let cluster = PrivateCluster::start()?;
        let Upstream::Unix(socket) = Upstream::of(cluster.url())? else { anyhow::bail!("not a socket") };
        if stopped {
            cluster.stop_immediate()?;
        }
        let directory = socket.parent().map(std::path::Path::to_owned).expect("a socket is in a directory");
        assert!(directory.exists());
        drop(cluster);
        assert!(!directory.exists(), "{} is left", directory.display());
    }
    Ok(())
}
