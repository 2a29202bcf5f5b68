//! What the server's errors are to the caller.

use super::*;

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
