//! What is sent twice is done once: every form has a number, and what came of it is kept for as long as somebody may
//! press the button again, or the browser send it again.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};

use super::act::Answer;

/// Forms of one session whose answer is kept.
const KEPT_MAX: usize = 256;

/// What comes of a form, for everybody who sent it.
type Coming = Shared<BoxFuture<'static, Arc<Answer>>>;

/// What came of the latest forms.
#[derive(Default)]
pub(super) struct Answers {
    kept: Mutex<VecDeque<(String, Coming)>>,
}

impl Answers {
    /// Returns what comes of a form: of the first one of this number, which `take` does. It is done to its end by a task
    /// of its own: a browser that sends a form again gives up the first request.
    pub(super) async fn once(
        &self,
        number: &str,
        take: impl Future<Output = Answer> + Send + 'static,
    ) -> Arc<Answer> {
        let answer = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            match kept.iter().find(|(known, _)| known == number) {
                Some((_, answer)) => answer.clone(),
                None => {
                    let taken = tokio::spawn(take);
                    let answer = async move {
                        // A task that is not ended from outside ends with its answer, or with a fault of ours.
                        Arc::new(taken.await.unwrap_or_else(|_| Answer::fault()))
                    };
                    let answer = answer.boxed().shared();
                    kept.truncate(KEPT_MAX - 1);
                    kept.push_front((number.to_owned(), answer.clone()));
                    answer
                }
            }
        };
        answer.await
    }
}

/// Tells whether a text can be the number of a form.
pub(super) fn is_number(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn counting(count: &Arc<AtomicUsize>) -> impl Future<Output = Answer> + Send + 'static {
        let count = count.clone();
        async move {
            tokio::task::yield_now().await;
            count.fetch_add(1, Ordering::SeqCst);
            Answer::fault()
        }
    }

    #[tokio::test]
    async fn t24_what_is_sent_twice_is_done_once() {
        let (answers, count) = (Answers::default(), Arc::default());
        tokio::join!(
            answers.once("a-1", counting(&count)),
            answers.once("a-1", counting(&count)),
            answers.once("a-2", counting(&count)),
        );
        answers.once("a-1", counting(&count)).await;
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }

    /// A double click: the browser gives the first request up, and what it began is done all the same, once.
    #[tokio::test]
    async fn t24_a_request_that_is_given_up_is_done_once() {
        let (answers, count) = (Answers::default(), Arc::default());
        let first = answers.once("a-1", counting(&count)).now_or_never();
        assert!(first.is_none(), "it was given up before it was done");
        answers.once("a-1", counting(&count)).await;
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn the_latest_answers_are_kept() {
        let (answers, count) = (Answers::default(), Arc::default());
        for number in 0..=KEPT_MAX {
            answers.once(&number.to_string(), counting(&count)).await;
        }
        assert_eq!(answers.kept.lock().unwrap().len(), KEPT_MAX);
    }
}
