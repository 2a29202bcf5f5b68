//! The store suite: every test in it runs on SQLite and on PostgreSQL.

// clippy.toml allows it in tests; helpers of an integration test are not seen as such.
#![allow(clippy::unwrap_used)]

/// Makes each test twice, as `sqlite::NAME` and `postgres::NAME`.
macro_rules! on_both_backends {
    ($($(#[$attribute:meta])* async fn $name:ident($world:ident: TestStore) $body:block)+) => {
        mod suite {
            #[allow(unused_imports)]
            use super::*;
            $($(#[$attribute])* pub(super) async fn $name($world: TestStore) $body)+
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::suite::$name(azolla_testkit::TestStore::new(azolla_testkit::Backend::Sqlite).await).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::suite::$name(azolla_testkit::TestStore::new(azolla_testkit::Backend::Postgres).await).await;
            })+
        }
    };
}

mod archive;
mod bench;
mod claims;
mod concurrency;
mod constraints;
mod everything;
mod lists;
mod opening;
mod points;
mod property;
mod refusals;
mod seed;
mod sim;
mod tasks;
mod unknown_outcome;
mod verify;
mod wake;
