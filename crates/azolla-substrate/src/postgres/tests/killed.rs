//! P14: an upgrade whose session the server ends, at every step of it.

use std::error::Error;

use super::*;

/// An upgrade that makes, fills and changes tables.
const STEPS: [&str; 5] = [
    "CREATE TABLE extra (x TEXT)",
    "INSERT INTO extra VALUES ('new')",
    "ALTER TABLE journal ADD COLUMN extra TEXT",
    "INSERT INTO journal (at, actor, step, resource_type, resource_id, extra)
     VALUES ('2026-11-01T08:00:00.000Z', 'INIT', 'EDIT', 'objective', 'obj-added', 'x')",
    "CREATE INDEX extra_x ON extra (x)",
];
const END: &str = "SELECT pg_terminate_backend(pg_backend_pid())";

/// Returns that upgrade, with `more` after `done` statements.
fn upgrade(done: usize, more: Option<&'static str>) -> Vec<Migration> {
    let mut steps = STEPS.to_vec();
    steps.splice(done..done, more);
    vec![MIGRATIONS[0], Migration { sqlite: "", postgres: steps.join(";\n").leak() }]
}

/// Every definition in a database's schemas for this azolla: tables, columns, indexes, triggers, functions.
const DEFINITIONS: &str = "
    SELECT 'column ' || table_schema || '.' || table_name || '.' || column_name || ' ' || data_type
    FROM information_schema.columns WHERE table_schema LIKE 'az-x%'
    UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname LIKE 'az-x%'
    UNION ALL SELECT 'schema ' || nspname FROM pg_namespace WHERE nspname LIKE 'az-x%'
    UNION ALL SELECT 'trigger ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = to_regnamespace('\"az-x\"')
    ORDER BY 1";

/// Ends every session at its n-th definition; a sequence counts on where a transaction is rolled back.
const END_AT_DEFINITION: &str = "
    CREATE SEQUENCE public.definitions;
    CREATE TABLE public.last (n BIGINT);
    INSERT INTO public.last VALUES (0);
    CREATE FUNCTION public.end_session() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('public.definitions') = (SELECT n FROM public.last) THEN
            PERFORM pg_terminate_backend(pg_backend_pid());
        END IF;
    END $$;
    CREATE EVENT TRIGGER end_session ON ddl_command_end EXECUTE FUNCTION public.end_session()";

/// Ends the next session that defines something, right after its n-th definition; nobody's for 0.
async fn end_at(client: &Client, n: usize) {
    let set = format!("UPDATE public.last SET n = {n}; SELECT setval('public.definitions', 1, false)");
    client.batch_execute(&set).await.unwrap();
}

/// Expects an opening to fail because its session was ended, and returns nothing of it.
async fn assert_ended(database: &TestDatabase, migrations: &[Migration], place: &str) {
    let error = open(database.url(), migrations).await.map(drop).expect_err(place);
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told = format!("{told}: {error}");
        cause = error.source();
    }
    assert!(told.contains("terminating connection") || told.contains("closed"), "{place}: {told}");
}

/// Expects the store as it was, for the old program too; then upgrades it, all the way, and starts over.
async fn assert_old_then_upgrade(database: &TestDatabase, client: &Client, before: &[String], place: &str) {
    assert_eq!(strings(client, DEFINITIONS).await, before, "half an upgrade stayed, {place}");
    assert_eq!(strings(client, VERSION).await, ["1"], "{place}");
    assert_eq!(strings(client, NOTES).await, ["obj-kept"], "{place}");
    drop(open(database.url(), MIGRATIONS).await.unwrap());

    drop(open(database.url(), &upgrade(0, None)).await.unwrap());
    assert_eq!(strings(client, VERSION).await, ["2"], "{place}");
    assert_eq!(strings(client, NOTES).await, ["obj-kept", "obj-added"], "{place}");
    assert_eq!(strings(client, "SELECT x FROM extra").await, ["new"], "{place}");
    assert_eq!(
        strings(client, r#"SELECT resource_id FROM "az-x@v1".journal"#).await,
        ["obj-kept"],
        "{place}"
    );
    let away = r#"DROP SCHEMA "az-x" CASCADE; DROP SCHEMA "az-x@v1" CASCADE"#;
    client.batch_execute(away).await.unwrap();
    drop(open(database.url(), MIGRATIONS).await.unwrap());
    client.batch_execute(NOTE).await.unwrap();
    assert_eq!(strings(client, DEFINITIONS).await, before, "{place}");
}

/// P14: after none of its statements, after each of them, and at the very end, while it is committed.
#[tokio::test]
async fn p14_an_upgrade_ended_after_any_statement_leaves_the_old_store() {
    let (database, store, client) = fresh().await;
    drop(store);
    client.batch_execute(NOTE).await.unwrap();
    let before = strings(&client, DEFINITIONS).await;
    for done in 0..=STEPS.len() {
        let place = format!("after {done} statements");
        assert_ended(&database, &upgrade(done, Some(END)), &place).await;
        assert_old_then_upgrade(&database, &client, &before, &place).await;
    }
    // A deferred trigger runs when everything else is done and the server is asked to commit.
    let at_commit = "
        CREATE FUNCTION extra_end() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER extra_end AFTER UPDATE ON store_version DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION extra_end()";
    assert_ended(&database, &upgrade(STEPS.len(), Some(at_commit)), "at the commit").await;
    assert_old_then_upgrade(&database, &client, &before, "at the commit").await;
}

/// P14: after each table of the backup.
#[tokio::test]
async fn p14_an_upgrade_ended_in_its_backup_leaves_the_old_store() {
    let (database, store, client) = fresh().await;
    drop(store);
    client.batch_execute(NOTE).await.unwrap();
    let before = strings(&client, DEFINITIONS).await;
    let tables =
        strings(&client, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'az-x'").await.len();
    client.batch_execute(END_AT_DEFINITION).await.unwrap();
    // The schema of the backup is a definition too.
    for n in 1..=tables + 1 {
        let place = format!("after {n} definitions of the backup");
        end_at(&client, n).await;
        assert_ended(&database, &upgrade(0, Some("SELECT nobody_knows()")), &place).await;
        end_at(&client, 0).await;
        if n == 1 || n == tables + 1 {
            assert_old_then_upgrade(&database, &client, &before, &place).await;
        } else {
            assert_eq!(strings(&client, DEFINITIONS).await, before, "{place}");
            assert_eq!(strings(&client, NOTES).await, ["obj-kept"], "{place}");
        }
    }
}

/// P14: a store that was not there is made by the next who asks for it.
#[tokio::test]
async fn p14_a_store_whose_making_was_ended_anywhere_is_made_by_the_next() {
    let (database, store, client) = fresh().await;
    drop(store);
    let whole = strings(&client, DEFINITIONS).await;
    client.batch_execute(r#"DROP SCHEMA "az-x" CASCADE"#).await.unwrap();
    client.batch_execute(END_AT_DEFINITION).await.unwrap();
    let mut ended = 0;
    for n in (1..).step_by(7) {
        end_at(&client, n).await;
        let opened = open(database.url(), MIGRATIONS).await.map(drop);
        if opened.is_ok() {
            break;
        }
        ended += 1;
        assert_eq!(strings(&client, DEFINITIONS).await, [] as [&str; 0], "after {n} definitions");
    }
    assert_eq!(strings(&client, DEFINITIONS).await, whole);
    println!("ended {ended} times");
    assert!(ended > 5);
}
