//! Where the diazotroph tells nothing, what was set aside and settled is what is known.

use super::*;

#[derive(Default)]
struct Numbers(Mutex<u64>);

impl Allowance for Numbers {
    fn reserve(&self, _most: Spending) -> Result<Reservation, Withheld> {
        let mut last = self.0.lock().expect("one thread");
        *last += 1;
        Ok(Reservation(*last))
    }

    fn settle(&self, _reservation: Reservation, _spent: Spending) {}
}

fn spending(tokens: u64, cost_microusd: Option<u64>) -> Spending {
    Spending { tokens, cost_microusd }
}

#[test]
fn b3_calls_add_up_and_one_that_was_never_settled_counts_what_was_set_aside() {
    let meter = Meter::new(Box::new(Numbers::default()));
    assert_eq!(meter.usage(false), None, "nobody was asked");
    assert_eq!(meter.usage(true), Some(Usage { requests: 1, ..Usage::default() }));
    let first = meter.reserve(spending(100, Some(50))).expect("no cap");
    meter.settle(first, spending(30, Some(20)));
    let second = meter.reserve(spending(0, Some(7))).expect("no cap");
    meter.settle(second, spending(5, None));
    meter.reserve(spending(9, None)).expect("no cap");
    let expected = Usage { requests: 3, input_tokens: 44, cost_microusd: Some(27), ..Usage::default() };
    assert_eq!(meter.usage(true), Some(expected));
    let told = Usage { requests: 3, retries: 2, input_tokens: 40, output_tokens: 4, ..Usage::default() };
    meter.counted(&told);
    assert_eq!(meter.usage(true), Some(told));
}
