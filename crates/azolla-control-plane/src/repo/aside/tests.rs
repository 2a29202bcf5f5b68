//! A look that never comes back.

use std::{sync::mpsc, time::Duration};

use super::{Aside, THREADS_MAX};

const SOON: Duration = Duration::from_millis(10);
const LATE: Duration = Duration::from_secs(600);

/// G-1, B-2: whoever waits for a mount that is dead is told in time, no more threads are begun than it may cost, and once it
/// comes back everything goes on.
#[tokio::test]
async fn g1_what_does_not_come_back_costs_so_many_threads_and_no_more() {
    let aside = Aside::default();
    let mut mounts = Vec::new();
    for _ in 0..THREADS_MAX {
        let (mount, dead) = mpsc::channel::<()>();
        let told = aside.run(SOON, move || dead.recv()).await.unwrap_err();
        assert_eq!(told.to_string(), "the repository is unavailable: it does not answer");
        mounts.push(mount);
    }
    let (sender, begun) = mpsc::channel();
    let again = sender.clone();
    assert!(aside.run(SOON, move || again.send(())).await.is_err());
    assert!(begun.try_recv().is_err(), "one more thread was begun");
    drop(mounts);
    assert!(aside.run(LATE, move || sender.send(())).await.unwrap().is_ok());
    begun.recv().unwrap();
}
