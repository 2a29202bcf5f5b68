//! What the server's errors are to the caller, and what becomes of a transaction that it gives up, of an import whose answer
//! is lost and of a store that is closed.

use std::error::Error;

use azolla_testkit::proxy::{Proxy, Upstream};

use super::*;

/// Longer than a busy machine takes, far shorter than for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// A statement that the server gives up as often as `public.given_up` says. A sequence counts on where a transaction is
/// rolled back.
const GIVE_UP: &str = "
    CREATE SEQUENCE public.tries;
    CREATE TABLE public.written (try BIGINT);
    CREATE TABLE public.given_up (times BIGINT, code TEXT);
    INSERT INTO public.given_up VALUES (0, '');
    CREATE FUNCTION public.try() RETURNS BIGINT LANGUAGE plpgsql AS $$
    DECLARE try BIGINT := nextval('public.tries'); rest public.given_up; BEGIN
        SELECT * INTO rest FROM public.given_up;
        IF try <= rest.times THEN RAISE 'given up' USING ERRCODE = rest.code; END IF;
        RETURN try;
    END $$";
const TRIES: &str = "SELECT last_value::text FROM public.tries";
const WRITTEN: &str = "SELECT try::text FROM public.written";

fn step(sql: &'static str) -> Step {
    Step { statement: Statement::new(sql, []), expect: Expect::Any, artifact: "journal" }
}

/// Returns what is behind an error, the innermost first cause.
fn cause(error: &SubstrateError) -> String {
    let causes = std::iter::successors(error.source(), |&error| error.source());
    causes.last().map_or_else(String::new, ToString::to_string)
}

/// What somebody has to do something about is not waited for, and says what to do.
#[tokio::test]
async fn an_error_of_the_server_says_what_to_do_about_it() {
    let (_database, store, client) = fresh().await;
    let fail = "CREATE FUNCTION public.fail(code TEXT) RETURNS TEXT LANGUAGE plpgsql AS $$ BEGIN
                    RAISE 'on purpose' USING ERRCODE = code;
                END $$";
    client.batch_execute(fail).await.unwrap();
    let address = "the server refused the user or the password; correct the store's address";
    let unreadable = "the Substrate holds something unreadable: on purpose; run `azolla verify`";
    for (code, text) in [
        ("53100", "the server's disk is full; free some space on the server"),
        ("25006", "the server is read-only; name the primary server in the store's address"),
        ("28P01", address),
        ("28000", address),
        ("3D000", "the server has no such database; create it, or correct the store's address"),
        (
            "42501",
            "the database user lacks a right; grant it CREATE on the database, and ownership of the azolla's schema",
        ),
        ("42P01", unreadable),
        ("42883", unreadable),
        ("42703", unreadable),
        // Anything else may pass.
        ("53300", "the Substrate is unavailable"),
    ] {
        let error = store.ask(&Statement::new("SELECT public.fail($1)", [code.into()])).await.unwrap_err();
        assert_eq!(error.to_string(), text, "{code}");
    }
}

/// A number that the server reads as microseconds would be wrong without a word.
#[tokio::test]
async fn a_value_is_sent_as_text_or_as_an_integer_and_as_nothing_else() {
    let (_database, store, _client) = fresh().await;
    let refused = store.ask(&Statement::new("SELECT CAST($1 AS TIMESTAMPTZ)::text", [1u64.into()])).await;
    let cause = cause(&refused.unwrap_err());
    assert!(cause.starts_with("cannot convert between the Rust type"), "{cause}");
}

/// A newer program upgraded the schema: a connection that is made after that is refused.
#[tokio::test]
async fn a_store_that_was_upgraded_meanwhile_is_not_used() {
    let (_database, store, client) = fresh().await;
    client.batch_execute("UPDATE store_version SET version = version + 1").await.unwrap();
    let refused = store.ask(&Statement::new(sql::NOW, [])).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the store was upgraded by a newer azolla while this one was running; end this program and start the newer one"
    );
}

/// A deadlock or a conflict is nobody's fault and nothing was written: the transaction runs again, five times in all.
#[tokio::test]
async fn c4_a_transaction_that_the_server_gives_up_runs_again_up_to_five_times() {
    let (_database, store, client) = fresh().await;
    client.batch_execute(GIVE_UP).await.unwrap();
    let steps = [
        step("INSERT INTO public.written VALUES (0)"),
        step("INSERT INTO public.written SELECT public.try()"),
    ];
    for code in ["40P01", "40001"] {
        for (times, written) in [(4, &["0", "5"] as &[&str]), (5, &[])] {
            let begin = format!(
                "TRUNCATE public.written; ALTER SEQUENCE public.tries RESTART;
                 UPDATE public.given_up SET times = {times}, code = '{code}'"
            );
            client.batch_execute(&begin).await.unwrap();
            let outcome = store.apply(&steps, None, None).await;
            match times {
                4 => assert_eq!(outcome.unwrap(), CommitOutcome::Done),
                _ => assert!(matches!(outcome, Err(SubstrateError::Unavailable(_))), "{outcome:?}"),
            }
            assert_eq!(strings(&client, WRITTEN).await, written, "{code}, given up {times} times");
            assert_eq!(strings(&client, TRIES).await, ["5"], "{code}, given up {times} times");
        }
    }
}

/// A store behind a proxy, with a table to write to.
async fn behind_proxy() -> (TestDatabase, PostgresSubstrate, Client, Proxy) {
    let (database, _direct, client) = fresh().await;
    client.batch_execute(GIVE_UP).await.unwrap();
    let proxy = Proxy::start(Upstream::of(database.url()).unwrap()).await.unwrap();
    let store = open(&proxy.url(database.url()).unwrap(), MIGRATIONS).await.unwrap();
    (database, store, client, proxy)
}

/// C-4, R1: the statements of a flight are on their way before BEGIN is answered. Without it each of them would be a
/// transaction of its own.
#[tokio::test]
async fn c4_r1_a_flight_whose_begin_is_refused_writes_nothing() {
    let (_database, store, client, proxy) = behind_proxy().await;
    let steps = ["1", "2"].map(|_| step("INSERT INTO public.written VALUES (0)"));
    proxy.refuse("BEGIN");
    let outcome = store.apply(&steps, None, None).await;
    assert!(matches!(outcome, Err(SubstrateError::Unavailable(_))), "{outcome:?}");
    // What the server said of BEGIN, not what it said of the statements after it.
    let cause = cause(&outcome.unwrap_err());
    assert!(cause.starts_with("ERROR: syntax error"), "{cause}");
    assert_eq!(strings(&client, WRITTEN).await, [] as [&str; 0]);
    assert_eq!(store.apply(&steps, None, None).await.unwrap(), CommitOutcome::Done);
    assert_eq!(strings(&client, WRITTEN).await, ["0", "0"]);
}

/// C-4: a statement that was meant for a transaction is refused outside one.
#[tokio::test]
async fn c4_a_write_outside_a_transaction_that_says_so_is_refused_by_the_server() {
    let (_database, store, client) = fresh().await;
    let lock = Statement::new(shared::LOCK_STREAM, []);
    let locked = "SELECT stream_lock::text FROM azolla";
    let before = strings(&client, locked).await;
    let refused = store.rows(lock.clone()).await.unwrap_err();
    assert!(refused.to_string().starts_with("the server is read-only"), "{refused}");
    assert_eq!(strings(&client, locked).await, before);
    // The statement itself is fine.
    let step = Step { statement: lock, expect: Expect::Written(Miss::Changed), artifact: "azolla" };
    assert_eq!(store.apply(&[step], None, None).await.unwrap(), CommitOutcome::Done);
    assert_ne!(strings(&client, locked).await, before);
}

/// P18: a connection whose transaction is still open, and failed, answers nothing any more. It is not used again.
#[tokio::test]
async fn p18_a_connection_with_a_failed_transaction_is_given_up() {
    let (_database, store, client, proxy) = behind_proxy().await;
    let steps = [step("INSERT INTO public.written VALUES (0)")];
    proxy.refuse("COMMIT");
    let outcome = store.apply(&steps, None, None).await;
    assert!(matches!(outcome, Err(SubstrateError::Unavailable(_))), "{outcome:?}");
    store.ask(&Statement::new(sql::NOW, [])).await.unwrap();
    assert_eq!(strings(&client, WRITTEN).await, [] as [&str; 0]);

    // However it came to be one: it fails once at the most.
    let connection = Connection::take(&store.pool).await.unwrap();
    connection.client().batch_execute("BEGIN; SELECT 1 / 0").await.unwrap_err();
    connection.keep();
    store.ask(&Statement::new(sql::NOW, [])).await.unwrap_err();
    store.ask(&Statement::new(sql::NOW, [])).await.unwrap();
}

/// C-9: the server is asked what became of an import, and only its word that there is nothing left lets one import again.
#[tokio::test]
async fn c9_an_import_is_what_the_server_says_of_its_transaction() {
    let (_database, store, client) = fresh().await;
    let mut told = Vec::new();
    for end in ["COMMIT", "ROLLBACK", "SELECT 1"] {
        client.batch_execute("BEGIN").await.unwrap();
        let transaction = strings(&client, sql::TRANSACTION).await.remove(0);
        client.batch_execute(end).await.unwrap();
        told.push(store.resolve_load(transaction, "cut".into()).await);
    }
    let [Ok(()), Err(rolled_back), Err(running)] = &told[..] else { panic!("{told:?}") };
    assert!(matches!(rolled_back, SubstrateError::Unavailable(_)), "{rolled_back:?}");
    assert_eq!(cause(rolled_back), "cut");
    assert_eq!(
        running.to_string(),
        "the server did not say whether it kept the import (cut); look with `azolla verify` before you import again"
    );
}

/// An import that the server refuses at its very end names what the server said.
#[tokio::test]
async fn c9_an_import_that_fails_at_its_commit_is_not_done() {
    let (_database, store, client) = fresh().await;
    let refuse = "
        CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$;
        CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON journal DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION public.refuse()";
    client.batch_execute(refuse).await.unwrap();
    let (sender, steps) = mpsc::channel(1);
    sender.send(Ok(step(NOTE))).await.unwrap();
    drop(sender);
    let failed = store.load(steps).await.unwrap_err();
    assert!(matches!(failed.error, SubstrateError::Unavailable(_)), "{failed:?}");
    assert_eq!((failed.step, cause(&failed.error)), (None, "ERROR: not now".to_owned()));
    assert_eq!(strings(&client, NOTES).await, [] as [&str; 0]);
}

/// Section 6: who commits counts it before the answer, so that the roles of its own process wait for no echo of the server.
#[tokio::test]
async fn a_commit_is_counted_once_in_its_own_process() {
    let (_database, store, _client) = fresh().await;
    // Without the listener, which counts too.
    let changes = store.changes.subscribe();
    for count in 1..=3 {
        assert_eq!(store.apply(&[step(NOTE)], None, None).await.unwrap(), CommitOutcome::Done);
        assert_eq!(*changes.borrow(), count);
    }
}

/// What tells others and what listens to them have a connection each, which ends with the store.
#[tokio::test]
async fn a_closed_store_leaves_no_connection() {
    let (_database, store, client) = fresh().await;
    let others = async |count: &str| {
        let sessions = "SELECT COUNT(*)::text FROM pg_stat_activity
                        WHERE datname = current_database() AND backend_type = 'client backend'
                        AND pid <> pg_backend_pid()";
        let until = async { while strings(&client, sessions).await != [count] {} };
        tokio::time::timeout(PATIENCE, until).await.unwrap_or_else(|_| panic!("never {count} connections"));
    };
    let _changes = store.changes();
    store.apply(&[step(NOTE)], None, None).await.unwrap();
    // One of the pool, one that tells and one that listens.
    others("3").await;
    drop(store);
    others("0").await;
}
