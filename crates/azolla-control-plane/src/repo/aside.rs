//! Looks at the operator's files. On a mount that is dead not even a look comes back, so each has a thread of its own, for which
//! neither the runtime nor the end of the process waits.

use std::{sync::Arc, thread, time::Duration};

use tokio::{
    sync::{Semaphore, oneshot},
    time::timeout,
};

use super::{RepositoryError, git::unavailable};

/// More than the lanes of an azolla ask for at once, and all that a mount which stays dead may cost.
const THREADS_MAX: usize = 8;

/// The threads of one repository.
#[derive(Debug)]
pub(super) struct Aside(Arc<Semaphore>);

impl Default for Aside {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(THREADS_MAX)))
    }
}

impl Aside {
    /// Runs `work`, which takes no longer than `time`: what does not come back is left to itself, and nobody hears of it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        time: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, RepositoryError> {
        let answered = timeout(time, async {
            let turn = self.0.clone().acquire_owned().await;
            let (sender, answer) = oneshot::channel();
            let works = move || {
                let _turn = turn;
                // Nobody may be waiting any more.
                let _ = sender.send(work());
            };
            thread::Builder::new()
                .name("azolla-aside".into())
                .spawn(works)
                .map_err(|error| unavailable(error.to_string()))?;
            answer.await.map_err(|error| unavailable(error.to_string()))
        });
        answered.await.unwrap_or_else(|_| Err(unavailable("it does not answer")))
    }
}

#[cfg(test)]
mod tests;
