//! What is sent twice is done once: every form has a number, and what came of it is kept for as long as somebody may
//! press the button again, or the browser send it again. The same number with other fields is another form; a form that
//! was refused is looked at anew, for what was in the way may be gone.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use sha2::{Digest, Sha256};

use super::{act::Answer, form::Fields};

/// Forms of one session whose answer is kept.
const KEPT_MAX: usize = 256;

/// What comes of a form, for everybody who sent it.
type Coming = Shared<BoxFuture<'static, Arc<Answer>>>;

/// A form that was sent: its number, and what was in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sent {
    number: String,
    fields: [u8; 32],
}

impl Sent {
    /// Returns what a form is known by.
    pub(super) fn of(number: &str, fields: &Fields) -> Self {
        let mut hash = Sha256::new();
        for text in fields.iter().flat_map(|(name, value)| [name, value]) {
            // With its length, so that no two lists of fields are the same bytes.
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        Self { number: number.to_owned(), fields: hash.finalize().into() }
    }
}

/// What came of the latest forms.
#[derive(Default)]
pub(super) struct Answers {
    kept: Mutex<VecDeque<(Sent, Coming)>>,
}

impl Answers {
    /// Returns what comes of a form: of the first such one that was not refused, which `take` does. It is done to
    /// its end by a task of its own: a browser that sends a form again gives up the first request.
    pub(super) async fn once(
        &self,
        sent: Sent,
        take: impl Future<Output = Answer> + Send + 'static,
    ) -> Arc<Answer> {
        let answer = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let is_refused = |answer: &Coming| answer.peek().is_some_and(|answer| answer.is_refusal());
            kept.retain(|(known, answer)| *known != sent || !is_refused(answer));
            match kept.iter().find(|(known, _)| *known == sent) {
                Some((_, answer)) => answer.clone(),
                None => {
                    let taken = tokio::spawn(take);
                    let answer = async move {
                        // A task that is not ended from outside ends with its answer, or with a fault of ours.
                        Arc::new(taken.await.unwrap_or_else(|_| Answer::fault()))
                    };
                    let answer = answer.boxed().shared();
                    kept.truncate(KEPT_MAX - 1);
                    kept.push_front((sent, answer.clone()));
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
    use crate::failure::{Code, Words};

    fn sent(number: &str, text: &str) -> Sent {
        Sent::of(number, &Fields::of(format!("act=capture&text={text}").as_bytes()))
    }

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
            answers.once(sent("a-1", "one"), counting(&count)),
            answers.once(sent("a-1", "one"), counting(&count)),
            answers.once(sent("a-2", "one"), counting(&count)),
        );
        answers.once(sent("a-1", "one"), counting(&count)).await;
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }

    /// A double click: the browser gives the first request up, and what it began is done all the same, once.
    #[tokio::test]
    async fn t24_a_request_that_is_given_up_is_done_once() {
        let (answers, count) = (Answers::default(), Arc::default());
        let first = answers.once(sent("a-1", "one"), counting(&count)).now_or_never();
        assert!(first.is_none(), "it was given up before it was done");
        answers.once(sent("a-1", "one"), counting(&count)).await;
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_number_with_other_fields_is_another_form() {
        let (answers, count) = (Answers::default(), Arc::default());
        for text in ["one", "two", "one", "two"] {
            answers.once(sent("a-1", text), counting(&count)).await;
        }
        assert_eq!(count.load(Ordering::SeqCst), 2);
        let of = |bytes: &[u8]| Sent::of("a-1", &Fields::of(bytes));
        assert_ne!(of(b"a=bc&d="), of(b"a=b&cd="), "fields do not run into each other");
        assert_ne!(of(b"a=b&c=d"), of(b"c=d&a=b"));
    }

    #[tokio::test]
    async fn what_was_refused_is_looked_at_anew_and_a_fault_is_not() {
        for (code, times) in [
            (Code::Usage, 2),
            (Code::NotFound, 2),
            (Code::Refused, 2),
            (Code::Failure, 1),
            (Code::Temporary, 1),
        ] {
            let (answers, count) = (Answers::default(), Arc::new(AtomicUsize::new(0)));
            for _ in 0..2 {
                let count = count.clone();
                let take = async move {
                    count.fetch_add(1, Ordering::SeqCst);
                    Answer::Failed(Words { code, text: String::new(), hint: None, listing: Vec::new() })
                };
                answers.once(sent("a-1", "one"), take).await;
            }
            assert_eq!(count.load(Ordering::SeqCst), times, "{code:?}");
            assert_eq!(answers.kept.lock().unwrap().len(), 1);
        }
    }

    #[tokio::test]
    async fn the_latest_answers_are_kept() {
        let (answers, count) = (Answers::default(), Arc::default());
        for number in 0..=KEPT_MAX {
            answers.once(sent(&number.to_string(), "one"), counting(&count)).await;
        }
        assert_eq!(answers.kept.lock().unwrap().len(), KEPT_MAX);
    }
}
