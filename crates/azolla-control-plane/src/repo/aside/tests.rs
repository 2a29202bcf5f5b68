//! A look that never comes back.

use std::{sync::mpsc, time::Duration};

use super::Aside;

const SOON: Duration = Duration::from_millis(10);
const LATE: Duration = Duration::from_secs(600);

/// G-1, B-2: whoever waits for a mount that is dead is told in time, the next one begins no second thread, and once it comes
/// back everything goes on.
#[tokio::test]
async fn g1_what_does_not_come_back_is_waited_for_by_one_thread() {
    let aside = Aside::default();
    let (mount, dead) = mpsc::channel::<()>();
    let told = aside.run(SOON, move || dead.recv()).await.unwrap_err();
    assert_eq!(told.to_string(), "the repository is unavailable: it does not answer");
    let (sender, begun) = mpsc::channel();
    let again = sender.clone();
    assert!(aside.run(SOON, move || again.send(())).await.is_err());
    assert!(begun.try_recv().is_err(), "a second thread was begun");
    mount.send(()).unwrap();
    assert!(aside.run(LATE, move || sender.send(())).await.unwrap().is_ok());
    begun.recv().unwrap();
}
