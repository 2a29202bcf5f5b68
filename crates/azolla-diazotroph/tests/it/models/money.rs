//! What each request may cost is set aside before it and settled after it.

use std::{sync::Mutex, time::Duration};

use azolla_protocol::{
    Allowance, FailureKind, GenerationOutcome, Reservation, Spending, Wait, WaitSource, Withheld,
};

use super::{
    desk::{Desk, KINDS, Kind},
    server::{Server, Step, status, stream, stream_then},
};

/// Keeps a book, and withholds from a given call on.
#[derive(Default)]
struct Book {
    reserved: Mutex<Vec<Spending>>,
    settled: Mutex<Vec<(Reservation, Spending)>>,
    withheld: Option<(usize, Withheld)>,
}

impl Allowance for Book {
    fn reserve(&self, most: Spending) -> Result<Reservation, Withheld> {
        let mut reserved = self.reserved.lock().unwrap();
        if let Some((from, withheld)) = &self.withheld
            && reserved.len() >= *from
        {
            return Err(withheld.clone());
        }
        reserved.push(most);
        Ok(Reservation(reserved.len() as u64))
    }

    fn settle(&self, reservation: Reservation, spent: Spending) {
        self.settled.lock().unwrap().push((reservation, spent));
    }
}

fn priced(kind: Kind, server: &Server) -> Desk {
    Desk { prices: Some((3_000_000, 15_000_000)), max_tokens: 1_000, ..Desk::new(kind, server) }
}

fn spent(tokens: u64, cost: u64) -> Spending {
    Spending { tokens, cost_microusd: Some(cost) }
}

#[tokio::test]
async fn each_request_is_set_aside_at_its_most_and_settled_at_what_the_server_tells() {
    for kind in KINDS {
        let broken = stream_then(kind.begin("12345678"), Step::Reset);
        let server =
            Server::start(vec![status(529, "", "{}"), broken, stream(kind.answer("a whole answer"))]).await;
        let book = Book::default();
        let desk = priced(kind, &server);
        let ran = desk.run_with(&desk.provider(), &book).await;
        let sent = serde_json::to_string(&server.asked()[0].body).unwrap().len() as u64;
        let most = spent(sent.div_ceil(3) + 1_000, sent.div_ceil(3) * 3 + 15_000);
        assert_eq!(*book.reserved.lock().unwrap(), [most; 3]);
        // Anthropic tells of the question at once; of an answer that broke off the text is all there is.
        let told = if kind == Kind::Anthropic { 35 } else { sent.div_ceil(4) };
        let (first, second, third) =
            (spent(0, 0), spent(told + 2, told * 3 + 30), spent(42, 35 * 3 + 7 * 15));
        let settled = book.settled.lock().unwrap().clone();
        assert_eq!(settled, [(Reservation(1), first), (Reservation(2), second), (Reservation(3), third)]);
        let usage = &ran.generation.usage;
        assert_eq!((usage.requests, usage.retries), (3, 2));
        assert_eq!((usage.input_tokens, usage.output_tokens), (told + 35, 9));
        assert_eq!(usage.cost_microusd, Some(told * 3 + 30 + 210));
    }
}

#[tokio::test]
async fn a_cap_ends_the_run_before_anything_is_sent() {
    for kind in KINDS {
        for from in [0, 2] {
            let server = Server::start(vec![status(503, "", "{}")]).await;
            let desk = priced(kind, &server);
            let cap = Withheld::Cap("the cap of the run is reached".into());
            let book = Book { withheld: Some((from, cap)), ..Book::default() };
            let ran = desk.run_with(&desk.provider(), &book).await;
            assert_eq!(ran.failed(FailureKind::Cap), "the cap of the run is reached");
            assert_eq!(server.asked().len(), from, "retries are allowed for one by one");
            assert_eq!(ran.generation.usage.requests, from as u64);
            let wait =
                Wait { reason: "the day".into(), time: Duration::from_secs(5), source: WaitSource::Cap };
            let book = Book { withheld: Some((from, Withheld::Wait(wait.clone()))), ..Book::default() };
            let ran = desk.run_with(&desk.provider(), &book).await;
            assert_eq!(ran.generation.outcome, GenerationOutcome::Wait(wait));
        }
    }
}

#[tokio::test]
async fn b2_what_is_cut_off_by_the_budget_is_settled_with_what_is_known() {
    for kind in KINDS {
        let server = Server::start(vec![stream_then(kind.begin("12345678"), Step::Hang)]).await;
        let book = Book::default();
        let desk = Desk { remaining: Duration::from_millis(1_000), ..priced(kind, &server) };
        let ran = desk.run_with(&desk.provider(), &book).await;
        assert!(matches!(ran.generation.outcome, GenerationOutcome::OverBudget { .. }));
        let settled = book.settled.lock().unwrap().clone();
        assert_eq!(settled.len(), 1);
        let usage = &ran.generation.usage;
        assert_eq!(settled[0].1.tokens, usage.input_tokens + usage.output_tokens);
        assert_eq!((usage.requests, usage.output_tokens), (1, 2));
    }
}

#[tokio::test]
async fn b2_what_is_dropped_is_settled_too() {
    for kind in KINDS {
        let server = Server::start(vec![vec![Step::Hang]]).await;
        let (book, desk) = (Book::default(), priced(kind, &server));
        let provider = desk.provider();
        let begun = async {
            while server.asked().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            ran = desk.run_with(&provider, &book) => panic!("it ended by itself: {ran:?}"),
            () = begun => {}
        }
        assert_eq!(book.settled.lock().unwrap().len(), 1);
    }
}
