//! A panic is a fault like any other: what it was about is counted and waits, and the rest goes on (W-3, W-7).

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    task::Poll,
};

use azolla_substrate::BoxFuture;

use crate::context::WorkerError;

/// Runs `work`; a panic of it, which has been printed, becomes an error.
pub(crate) async fn caught<T>(mut work: BoxFuture<'_, Result<T, WorkerError>>) -> Result<T, WorkerError> {
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(WorkerError::Broken("a worker panicked".to_owned()))))
    })
    .await
}
