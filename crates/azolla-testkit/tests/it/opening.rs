//! Opening a store: what is refused, in words that say what to do, and what a store survives.

mod outage;
mod place;
mod tls;

use std::sync::Arc;

use azolla_protocol::{AzollaId, AzollaType};
use azolla_substrate::{Identity, Opening, STORE_VERSION, Substrate, SubstrateError, SubstrateRead};
use azolla_testkit::{
    ManualClock, TestStore,
    store::{Place, azolla_id, identity, open},
};

use crate::seed::{exported, full, strings_at};

/// Returns the text of an opening that has to be refused for good, not for now.
fn refusal(opened: Result<Arc<dyn Substrate>, SubstrateError>) -> String {
    match opened {
        Err(error @ SubstrateError::Unusable { .. }) => error.to_string(),
        Err(error) => panic!("{error:?} is not Unusable"),
        Ok(_) => panic!("it opened"),
    }
}

async fn try_open(world: &TestStore, opening: Opening) -> Result<Arc<dyn Substrate>, SubstrateError> {
    open(&world.place, opening, Arc::new(ManualClock::default())).await
}

on_both_backends! {
    async fn a_newer_store_is_refused_and_left_alone(world: TestStore) {
        full(&world).await;
        let before = exported(&world).await;
        let newer = STORE_VERSION + 6;
        let [raise, lower] = [newer, STORE_VERSION].map(|version| match world.place {
            Place::File(..) => format!("PRAGMA user_version = {version}"),
            Place::Database(_) => format!("UPDATE store_version SET version = {version}"),
        });
        world.raw(&raise).await.unwrap();
        let expected = format!(
            "the store has version {newer}, this program knows {STORE_VERSION}; install the newer azolla that wrote it"
        );
        assert_eq!(refusal(try_open(&world, Opening::Existing).await), expected);
        assert_eq!(
            refusal(try_open(&world, Opening::OrCreate(identity(AzollaType::CodePatch))).await),
            expected
        );
        world.raw(&lower).await.unwrap();
        try_open(&world, Opening::Existing).await.unwrap();
        assert_eq!(exported(&world).await, before);
    }

    async fn y1_a_store_of_another_type_is_refused(world: TestStore) {
        let text = refusal(try_open(&world, Opening::OrCreate(identity(AzollaType::TaskMgmt))).await);
        assert_eq!(
            text,
            "the store belongs to az-test (CODE_PATCH_AZOLLA), not to az-test (TASK_MGMT_AZOLLA); \
                          correct the configuration; an azolla keeps its id and its type"
        );
        // Whoever does not say whose it is gets it as it is.
        let found = try_open(&world, Opening::Existing).await.unwrap();
        let found: &dyn SubstrateRead = &*found;
        assert_eq!(found.identity().await.unwrap(), identity(AzollaType::CodePatch));
    }

    async fn y1_a_store_of_another_azolla_is_refused(world: TestStore) {
        let other =
            Identity { azolla_id: AzollaId::new("az-other").unwrap(), azolla_type: AzollaType::CodePatch };
        let text = refusal(try_open(&world, Opening::OrCreate(other)).await);
        assert_eq!(
            text,
            "the store belongs to az-test (CODE_PATCH_AZOLLA), not to az-other (CODE_PATCH_AZOLLA); \
                          correct the configuration; an azolla keeps its id and its type"
        );
    }

    /// The second opening finds what the first wrote, by whichever handle.
    async fn a_store_opened_twice_is_one_store(world: TestStore) {
        let full = full(&world).await;
        let again = try_open(&world, Opening::Existing).await.unwrap();
        let read: &dyn SubstrateRead = &*again;
        assert!(read.objective(&full.done).await.unwrap().is_some());
        assert_eq!(read.identity().await.unwrap().azolla_id, azolla_id());
    }
}

/// Opens a place that holds nothing yet from 16 tasks at the same instant.
async fn open_at_once(place: Place) -> TestPlace {
    const HANDLES: usize = 16;
    let place = Arc::new(place);
    let start = Arc::new(tokio::sync::Barrier::new(HANDLES));
    let tasks: Vec<_> = (0..HANDLES)
        .map(|_| {
            let (place, start) = (place.clone(), start.clone());
            tokio::spawn(async move {
                let opening = Opening::OrCreate(identity(AzollaType::CodePatch));
                start.wait().await;
                open(&place, opening, Arc::new(ManualClock::default())).await
            })
        })
        .collect();
    let mut stores = Vec::new();
    for task in tasks {
        stores.push(task.await.unwrap().unwrap_or_else(|error| panic!("one of {HANDLES}: {error:?}")));
    }
    for store in &stores {
        let read: &dyn SubstrateRead = &**store;
        assert_eq!(read.identity().await.unwrap(), identity(AzollaType::CodePatch));
    }
    TestPlace { stores, place }
}

struct TestPlace {
    stores: Vec<Arc<dyn Substrate>>,
    place: Arc<Place>,
}

/// A migration that ran twice would fail at its first table; what it marks is there once.
#[tokio::test(flavor = "multi_thread")]
async fn sixteen_handles_on_a_new_file_make_one_store() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("substrate.sqlite");
    let opened = open_at_once(Place::File(path.clone(), directory)).await;
    drop(opened.stores);
    let connection = rusqlite::Connection::open(path).unwrap();
    let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    let azollas: u32 = connection.query_row("SELECT COUNT(*) FROM azolla", [], |row| row.get(0)).unwrap();
    assert_eq!((version, azollas), (STORE_VERSION, 1));
    let Place::File(path, _) = &*opened.place else { unreachable!() };
    let beside: Vec<_> = std::fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("backup") || name.contains("partial"))
        .collect();
    assert_eq!(beside, [] as [&str; 0], "a new store needs no backup");
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_handles_on_a_new_schema_make_one_store() {
    let database = azolla_testkit::postgres::fresh_database().await.unwrap();
    let opened = open_at_once(Place::Database(database)).await;
    drop(opened.stores);
    let place = Arc::into_inner(opened.place).expect("the tasks have ended");
    let read = |sql: &'static str| strings_at(&place, sql);
    assert_eq!(read("SELECT version::text FROM store_version").await, [STORE_VERSION.to_string()]);
    assert_eq!(read("SELECT azolla_id FROM azolla").await, ["az-test"]);
    let schemas = read("SELECT nspname::text FROM pg_namespace WHERE nspname LIKE 'az-%'").await;
    assert_eq!(schemas, ["az-test"]);
}
