//! The account on a real file: caps hold in every order of calls, after crashes, takeovers and at midnight.

use std::{path::Path, sync::Barrier};

use azolla_protocol::{
    AzollaId, Limit, ObjectiveId, WorkOrderId,
    limits::{
        DAY_MS, DAY_RUNS, DAY_TOKENS, DAY_USD, OBJECTIVE_MS, OBJECTIVE_RUNS, OBJECTIVE_USD, RUN_TOKENS,
        RUN_USD,
    },
};
use azolla_testkit::ManualClock;
use tempfile::TempDir;

use super::*;
use crate::home::Spent;

const HOUR: i64 = 3_600_000;
/// The manual clock begins at 08:00.
const UNTIL_MIDNIGHT: Duration = Duration::from_secs(16 * 3_600);

/// A file, and a clock.
struct Desk {
    directory: TempDir,
    clock: ManualClock,
}

impl Desk {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), clock: ManualClock::default() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("home.sqlite")
    }

    /// A process of its own, as far as the file can tell.
    fn ledger(&self, caps: &[(&Limit, u64)]) -> HomeLedger {
        ledger(&self.path(), &self.clock, caps)
    }

    fn today(&self) -> Spent {
        spent_today(&Home::open(&self.path()).unwrap(), self.clock.now()).unwrap()
    }
}

fn ledger(path: &Path, clock: &ManualClock, caps: &[(&Limit, u64)]) -> HomeLedger {
    HomeLedger::new(path.to_owned(), Limits::with(caps), Arc::new(clock.clone()))
}

fn run(objective: &str, number: u32) -> RunAccount {
    RunAccount {
        azolla_id: AzollaId::new("az-app").unwrap(),
        objective_id: ObjectiveId::new(format!("obj-{objective}")).unwrap(),
        is_standing: false,
        work_order_id: WorkOrderId::new(format!("wo-{objective}-{number}")).unwrap(),
        provider: "agent".to_owned(),
        budget_ms: 600_000,
    }
}

fn tokens(tokens: u64) -> Spending {
    Spending { tokens, cost_microusd: None }
}

fn cost(microusd: u64) -> Spending {
    Spending { tokens: 0, cost_microusd: Some(microusd) }
}

fn cap(withheld: Withheld) -> String {
    match withheld {
        Withheld::Cap(reason) => reason,
        Withheld::Wait(wait) => panic!("waits: {wait:?}"),
    }
}

fn wait(withheld: Withheld) -> Wait {
    match withheld {
        Withheld::Wait(wait) => wait,
        Withheld::Cap(reason) => panic!("a cap: {reason}"),
    }
}

fn refused(begun: Result<Box<dyn Allowance>, Withheld>) -> Withheld {
    begun.map(|_| ()).unwrap_err()
}

#[test]
fn a_call_over_the_cap_of_its_run_is_withheld_before_it_is_made() {
    let desk = Desk::new();
    let ledger = desk.ledger(&[(&RUN_TOKENS, 200_000)]);
    let purse = ledger.begin(&run("a", 1)).unwrap();
    let first = purse.reserve(tokens(190_000)).unwrap();
    purse.settle(first, tokens(180_000));
    assert_eq!(
        cap(purse.reserve(tokens(30_000)).unwrap_err()),
        "the cap of 200,000 tokens for one run is reached: 180,000 tokens used, the next call may take 30,000 tokens \
         ([caps] run_tokens)"
    );
    // Up to the cap, not beyond it; and another run has room of its own.
    purse.reserve(tokens(20_000)).unwrap();
    assert!(cap(purse.reserve(tokens(0)).unwrap_err()).contains("200,000 tokens used ([caps] run_tokens)"));
    ledger.begin(&run("a", 2)).unwrap().reserve(tokens(200_000)).unwrap();
    assert_eq!(ledger.waits("agent"), None);
}

#[test]
fn an_objective_adds_up_over_its_runs_and_days() {
    let desk = Desk::new();
    let ledger = desk.ledger(&[(&OBJECTIVE_USD, 1_000_000), (&RUN_USD, 0), (&DAY_USD, 0)]);
    for number in 1..=2 {
        let purse = ledger.begin(&run("a", number)).unwrap();
        let call = purse.reserve(cost(500_000)).unwrap();
        purse.settle(call, cost(400_000));
        desk.clock.advance(24 * HOUR);
    }
    let purse = ledger.begin(&run("a", 3)).unwrap();
    assert_eq!(
        cap(purse.reserve(cost(200_001)).unwrap_err()),
        "the cap of $1.00 for one objective is reached: $0.80 used, the next call may take $0.200001 \
         ([caps] objective_usd)"
    );
    purse.reserve(cost(200_000)).unwrap();
    assert!(cap(refused(ledger.begin(&run("a", 4)))).contains("objective_usd"));
    ledger.begin(&run("b", 1)).unwrap().reserve(cost(1_000_000)).unwrap();
}

#[test]
fn a_crash_leaves_what_was_set_aside_counted() {
    let desk = Desk::new();
    let caps = [(&DAY_TOKENS, 100), (&DAY_MS, 600_000)];
    {
        let ledger = desk.ledger(&caps);
        let purse = ledger.begin(&run("a", 1)).unwrap();
        purse.reserve(tokens(80)).unwrap();
        // Neither settled nor ended: the process is gone.
    }
    assert_eq!(desk.today(), Spent { runs: 1, ms: 600_000, tokens: 80, cost_microusd: 0 });
    let ledger = desk.ledger(&caps);
    let waited = wait(refused(ledger.begin(&run("b", 1))));
    assert_eq!(
        waited,
        Wait {
            reason: "the cap of 10 min for one day is reached: 10 min used, this run may take 10 min ([caps] day_ms)".into(),
            time: UNTIL_MIDNIGHT,
            source: WaitSource::Cap,
        }
    );
    assert!(wait(takeover(&ledger).reserve(tokens(30)).unwrap_err()).reason.contains("day_tokens"));
}

/// The run that crashed is taken up again.
fn takeover(ledger: &HomeLedger) -> Box<dyn Allowance> {
    ledger.begin(&run("a", 1)).unwrap()
}

#[test]
fn b2_a_takeover_is_the_same_run_and_never_counts_against_itself() {
    let desk = Desk::new();
    let caps = [(&DAY_RUNS, 1), (&DAY_MS, 600_000), (&OBJECTIVE_RUNS, 1), (&OBJECTIVE_MS, 600_000)];
    let ledger = desk.ledger(&caps);
    for _ in 0..3 {
        assert_eq!(ledger.waits("agent"), None);
        takeover(&ledger);
    }
    assert_eq!(desk.today(), Spent { runs: 1, ms: 600_000, ..Spent::default() });
    ledger.end(&run("a", 1), 90_000);
    assert_eq!(desk.today().ms, 90_000);
    // The next day it is a run of that day.
    desk.clock.advance(24 * HOUR);
    takeover(&ledger);
    assert_eq!(desk.today(), Spent { runs: 1, ms: 600_000, ..Spent::default() });
    assert_eq!(
        cap(refused(ledger.begin(&run("a", 2)))),
        "the cap of 10 min for one objective is reached: 10 min used, this run may take 10 min ([caps] objective_ms)"
    );
}

#[test]
fn a_cap_of_the_day_waits_until_midnight_and_nothing_is_claimed_meanwhile() {
    let desk = Desk::new();
    let ledger = desk.ledger(&[(&DAY_RUNS, 1)]);
    ledger.begin(&run("a", 1)).unwrap();
    ledger.end(&run("a", 1), 5);
    assert_eq!(ledger.waits("agent"), None, "a takeover of that run would be let through");
    let reason = "the cap of 1 run for one day is reached: 1 run used ([caps] day_runs)".to_owned();
    let expected = Wait { reason, time: UNTIL_MIDNIGHT, source: WaitSource::Cap };
    assert_eq!(wait(refused(ledger.begin(&run("b", 1)))), expected);
    // Another process sees it too, and another provider has to find out by itself.
    assert_eq!(desk.ledger(&[(&DAY_RUNS, 1)]).waits("agent"), Some(expected));
    assert_eq!(ledger.waits("other"), None);
    desk.clock.advance(16 * HOUR - 1);
    assert_eq!(ledger.waits("agent").unwrap().time, Duration::from_millis(1));
    desk.clock.advance(1);
    assert_eq!(ledger.waits("agent"), None);
    ledger.begin(&run("b", 1)).unwrap();
}

#[test]
fn a_cap_of_the_day_that_is_used_up_stops_every_provider_at_once() {
    let desk = Desk::new();
    let ledger = desk.ledger(&[(&DAY_USD, 20_000_000), (&RUN_USD, 0), (&OBJECTIVE_USD, 0)]);
    let purse = ledger.begin(&run("a", 1)).unwrap();
    purse.reserve(cost(20_000_000)).unwrap();
    let reason = "the cap of $20.00 for one day is reached: $20.00 used ([caps] day_usd)";
    assert_eq!(
        ledger.waits("other"),
        Some(Wait { reason: reason.into(), time: UNTIL_MIDNIGHT, source: WaitSource::Cap })
    );
    assert_eq!(wait(purse.reserve(Spending::default()).unwrap_err()).reason, reason);
}

#[test]
fn what_a_cap_holds_back_goes_on_when_there_is_room_or_the_cap_is_raised() {
    let desk = Desk::new();
    let caps = [(&DAY_TOKENS, 100)];
    let ledger = desk.ledger(&caps);
    let (first, second) = (ledger.begin(&run("a", 1)).unwrap(), ledger.begin(&run("b", 1)).unwrap());
    let call = first.reserve(tokens(80)).unwrap();
    let waited = wait(second.reserve(tokens(40)).unwrap_err());
    // As the runner does with what a provider hands on.
    ledger.hold("agent", &Wait { reason: format!("not asked: {}", waited.reason), ..waited });
    assert!(ledger.waits("agent").unwrap().reason.contains("the next call may take 40 tokens"));
    assert_eq!(desk.ledger(&[(&DAY_TOKENS, 120)]).waits("agent"), None, "the cap was raised");
    assert_eq!(desk.ledger(&[]).waits("agent"), None, "there is no cap any more");
    // The call cost less than it could have.
    first.settle(call, tokens(10));
    assert_eq!(ledger.waits("agent"), None);
    second.reserve(tokens(40)).unwrap();
}

#[test]
fn what_would_not_fit_on_an_empty_day_is_the_operators_to_solve() {
    let desk = Desk::new();
    let ledger = desk.ledger(&[(&DAY_TOKENS, 100), (&DAY_MS, 60_000)]);
    assert_eq!(
        cap(refused(ledger.begin(&run("a", 1)))),
        "this run may take 10 min, and the cap for one day is 1 min ([caps] day_ms)"
    );
    let short = RunAccount { budget_ms: 1_000, ..run("a", 1) };
    let purse = ledger.begin(&short).unwrap();
    assert!(cap(purse.reserve(tokens(101)).unwrap_err()).contains("the cap for one day is 100 tokens"));
    assert_eq!(ledger.waits("agent"), None);
}

#[test]
fn a_provider_that_asks_for_time_is_left_alone_by_every_process_until_it_is_over_or_released() {
    let desk = Desk::new();
    let (one, other) = (desk.ledger(&[]), desk.ledger(&[]));
    let asked =
        Wait { reason: "429: no quota".into(), time: Duration::from_secs(900), source: WaitSource::Provider };
    one.hold("agent", &asked);
    assert_eq!(other.waits("agent"), Some(asked.clone()));
    assert_eq!(other.waits("another"), None);
    desk.clock.advance(900_000);
    assert_eq!(other.waits("agent"), None);
    one.hold("agent", &asked);
    Home::open(&desk.path()).unwrap().release_hold("agent").unwrap();
    assert_eq!(other.waits("agent"), None);
    // A time that nobody lives to see is cut, and one from a clock that was ahead is over (T36).
    one.hold(
        "agent",
        &Wait { reason: "x".repeat(10_000), time: Duration::MAX, source: WaitSource::Provider },
    );
    let cut = other.waits("agent").unwrap();
    assert_eq!((cut.reason.len(), cut.time), (REASON_CHARS_MAX, HOLD_MAX));
    desk.clock.advance(-24 * HOUR);
    assert_eq!(other.waits("agent"), None);
}

#[test]
fn b4_a_provider_that_asks_for_next_to_no_time_is_left_alone_for_a_minute() {
    let desk = Desk::new();
    let ledger = desk.ledger(&[]);
    for asked in [Duration::ZERO, Duration::from_millis(1), Duration::from_secs(59)] {
        let wait = Wait { reason: "429: no quota".into(), time: asked, source: WaitSource::Provider };
        ledger.hold("agent", &wait);
        assert_eq!(ledger.waits("agent").expect("it is left alone").time, HOLD_MIN);
    }
    desk.clock.advance(60_000);
    assert_eq!(ledger.waits("agent"), None);
}

/// What can be read and not written would be claimed and given back again and again.
#[test]
fn an_account_that_can_only_be_read_withholds_for_a_minute_without_being_tried_again() {
    let desk = Desk::new();
    let ledger = desk.ledger(&[]);
    let purse = ledger.begin(&run("a", 1)).unwrap();
    let other = rusqlite::Connection::open(desk.path()).unwrap();
    // Every write fails at once, and every read goes well.
    other
        .execute_batch("CREATE TRIGGER full BEFORE INSERT ON run BEGIN SELECT RAISE(ABORT, 'full'); END")
        .unwrap();
    assert_eq!(ledger.waits("agent"), None);
    let waited = wait(refused(ledger.begin(&run("b", 1))));
    assert_eq!((waited.time, waited.source), (UNUSABLE, WaitSource::Ledger));
    assert_eq!(ledger.waits("agent"), Some(waited.clone()));
    // As the runner does with what was never begun: that changes nothing, so it says nothing about the next one.
    ledger.end(&run("b", 1), 5);
    assert_eq!(ledger.waits("agent"), Some(waited.clone()));
    // What a provider hands on is not the provider's.
    ledger.hold("agent", &waited);
    assert_eq!(desk.ledger(&[]).waits("agent"), None);
    desk.clock.advance(59_000);
    assert_eq!(ledger.waits("agent").unwrap().time, Duration::from_secs(1));
    desk.clock.advance(1_000);
    assert_eq!(ledger.waits("agent"), None, "then it is tried again");
    wait(refused(ledger.begin(&run("b", 1))));
    assert!(ledger.waits("agent").is_some());
    // A clock that was ahead holds nothing back (T36), nor does an account that is well again.
    desk.clock.advance(-HOUR);
    assert_eq!(ledger.waits("agent"), None);
    wait(refused(ledger.begin(&run("b", 1))));
    other.execute_batch("DROP TRIGGER full").unwrap();
    purse.reserve(tokens(1)).unwrap();
    assert_eq!(ledger.waits("agent"), None);
}

#[test]
fn releasing_a_provider_lifts_no_cap() {
    let desk = Desk::new();
    let ledger = desk.ledger(&[(&DAY_TOKENS, 10)]);
    let purse = ledger.begin(&run("a", 1)).unwrap();
    purse.reserve(tokens(8)).unwrap();
    wait(purse.reserve(tokens(5)).unwrap_err());
    Home::open(&desk.path()).unwrap().release_hold("agent").unwrap();
    assert!(ledger.waits("agent").is_some());
}

#[test]
fn a_cost_that_nobody_can_tell_counts_nothing_and_one_that_was_set_aside_stays() {
    let desk = Desk::new();
    let ledger = desk.ledger(&[]);
    let purse = ledger.begin(&run("a", 1)).unwrap();
    purse.settle(purse.reserve(tokens(5)).unwrap(), tokens(7));
    assert_eq!((desk.today().tokens, desk.today().cost_microusd), (7, 0));
    let call = purse.reserve(cost(300)).unwrap();
    purse.settle(call, tokens(1));
    assert_eq!((desk.today().tokens, desk.today().cost_microusd), (8, 300));
    // Once is once.
    purse.settle(call, cost(0));
    assert_eq!((desk.today().tokens, desk.today().cost_microusd), (8, 300));
}

#[test]
fn t38_amounts_beyond_every_cap_neither_wrap_nor_break_the_account() {
    let desk = Desk::new();
    let purse = desk.ledger(&[(&RUN_USD, 0), (&OBJECTIVE_USD, 0), (&DAY_USD, 0)]);
    let huge = RunAccount { budget_ms: u64::MAX, ..run("a", 1) };
    let allowance = purse.begin(&huge).unwrap();
    let most = Spending { tokens: u64::MAX, cost_microusd: Some(u64::MAX) };
    for _ in 0..3 {
        allowance.reserve(most).unwrap();
    }
    allowance.settle(Reservation(u64::MAX), most);
    let capped = desk.ledger(&[]);
    assert!(cap(capped.begin(&run("a", 2)).map(|_| ()).unwrap_err()).contains("objective_usd"));
    assert!(capped.waits("agent").unwrap().reason.contains("day_usd"));
}

#[test]
fn an_account_that_cannot_be_used_withholds_everything_until_it_can() {
    let desk = Desk::new();
    let ledger = desk.ledger(&[]);
    let purse = ledger.begin(&run("a", 1)).unwrap();
    let moved = desk.directory.path().join("moved");
    for file in std::fs::read_dir(desk.directory.path()).unwrap() {
        let file = file.unwrap();
        std::fs::create_dir_all(&moved).unwrap();
        if file.path().is_file() {
            std::fs::rename(file.path(), moved.join(file.file_name())).unwrap();
        }
    }
    // Nothing can be written to a directory, whoever asks.
    std::fs::create_dir(desk.path()).unwrap();
    let waited = ledger.waits("agent").unwrap();
    assert_eq!(waited.time, UNUSABLE);
    assert!(waited.reason.starts_with("the account of what is spent cannot be used: "), "{}", waited.reason);
    assert_eq!(wait(purse.reserve(tokens(1)).unwrap_err()), waited);
    assert_eq!(wait(refused(ledger.begin(&run("b", 1)))), waited);
    std::fs::remove_dir(desk.path()).unwrap();
    for file in std::fs::read_dir(&moved).unwrap() {
        let file = file.unwrap();
        std::fs::rename(file.path(), desk.directory.path().join(file.file_name())).unwrap();
    }
    purse.reserve(tokens(1)).unwrap();
    assert_eq!(ledger.waits("agent"), None);
    assert_eq!((desk.today().runs, desk.today().tokens), (1, 1));
}

/// Another program may hold the write lock for seconds: what else this one has to do, such as renewing a lease, goes on.
#[test]
fn c7_an_account_that_is_waited_for_holds_nothing_else_up() {
    let desk = Desk::new();
    let ledger = desk.ledger(&[]);
    ledger.begin(&run("a", 1)).unwrap();
    let other = rusqlite::Connection::open(desk.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let begun = runtime.block_on(runtime.spawn(async move {
        // It can only run while the account is waited for: there is one thread.
        tokio::spawn(async move { other.execute_batch("COMMIT").unwrap() });
        ledger.begin(&run("b", 1)).map(drop)
    }));
    assert_eq!(begun.unwrap(), Ok(()));
}

/// However processes interleave, what is set aside never adds up to more than a cap, and no room is given away twice.
#[test]
fn t40_two_processes_that_race_never_pass_a_cap_together() {
    const CAP: u64 = 10_000;
    for seed in 1..=3_u64 {
        let desk = Desk::new();
        let barrier = Barrier::new(2);
        let granted: u64 = std::thread::scope(|scope| {
            let racing = [1, 2].map(|number| {
                let (desk, barrier) = (&desk, &barrier);
                scope.spawn(move || {
                    let ledger = desk.ledger(&[(&DAY_TOKENS, CAP)]);
                    let begun = ledger.begin(&run("a", number));
                    let mut state = seed.wrapping_mul(0x9e37_79b9).wrapping_add(u64::from(number));
                    // Before anything can fail: the other one would wait here for ever.
                    barrier.wait();
                    let purse = begun.unwrap();
                    let mut granted = 0;
                    for _ in 0..40 {
                        // Any numbers do, as long as they are the same every time.
                        state = state
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1_442_695_040_888_963_407);
                        let (most, settles) = (1 + (state >> 33) % 700, state & 1 == 0);
                        let Ok(call) = purse.reserve(tokens(most)) else { continue };
                        if settles {
                            purse.settle(call, tokens(most / 2));
                        }
                        granted += if settles { most / 2 } else { most };
                        assert!(desk.today().tokens <= CAP, "seed {seed}");
                    }
                    granted
                })
            });
            racing.map(|thread| thread.join().unwrap()).into_iter().sum()
        });
        assert_eq!(granted, desk.today().tokens, "seed {seed}: every answer is on record");
        assert!(granted > CAP / 2, "seed {seed}: the race was one");
    }
}

#[test]
fn amounts_read_as_a_person_would_write_them() {
    let shown = [0, 999, 1_000, 1_234_567].map(number);
    assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    let exact = [0, 1, 840_000, 2_000_000, 1_234_567_890_000]
        .map(|value| amount(azolla_protocol::Unit::MicroUsd, value));
    assert_eq!(exact, ["$0.00", "$0.000001", "$0.84", "$2.00", "$1,234,567.89"]);
    assert_eq!([9_999, 844_999, 845_000].map(cents), ["$0.009999", "$0.84", "$0.85"]);
}

/// A standing objective works for ever, so what it costs in all is no reason to stop; a day's caps hold for it too.
#[test]
fn a_standing_objective_has_no_cap_on_all_of_its_runs() {
    let desk = Desk::new();
    let ledger = desk.ledger(&[(&OBJECTIVE_RUNS, 1), (&DAY_RUNS, 3)]);
    let standing = |number| RunAccount { is_standing: true, ..run("a", number) };
    for number in 1..=3 {
        assert!(ledger.begin(&standing(number)).is_ok(), "run {number}");
    }
    assert!(matches!(ledger.begin(&standing(4)), Err(Withheld::Wait(_))));
}

/// What is built in asks nobody and costs nothing: no cap holds it back, and nothing is written about it.
#[test]
fn what_is_built_in_is_not_counted() {
    let desk = Desk::new();
    let ledger = desk.ledger(&[(&DAY_RUNS, 1)]);
    assert!(ledger.begin(&run("a", 1)).is_ok());
    let builtin = |number| RunAccount { provider: "builtin".into(), ..run("b", number) };
    assert!(ledger.waits("builtin").is_none());
    for number in 2..=3 {
        assert!(ledger.begin(&builtin(number)).is_ok());
        ledger.end(&builtin(number), 5);
    }
    assert_eq!(desk.today().runs, 1);
}
