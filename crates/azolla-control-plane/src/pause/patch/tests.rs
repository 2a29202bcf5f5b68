//! Every ending has its reason, and one to three actions with a command.

use super::*;

fn paused(ending: &Ending<'_>) -> (PauseReason, Vec<String>) {
    let (azolla_id, id) = (AzollaId::new("az-app").unwrap(), ObjectiveId::new("obj-1").unwrap());
    let now = Timestamp::from_millisecond(0).unwrap();
    let pause = ending.pause(&azolla_id, &id, now).unwrap().into_inner();
    (pause.reason, pause.prioritized_actions)
}

#[test]
fn pf8_every_ending_has_its_reason_and_its_actions() {
    let by_hand = Published::ByHand { reason: "it is held".to_owned(), command: "git fetch x".to_owned() };
    let review = "Review gate failure reason: azolla review obj-1";
    let partial = "Review partial output: azolla review obj-1";
    let larger = "Retry with a larger budget: azolla objective retry obj-1 --budget-ms 2000";
    let resolve = "Resolve blockers for obj-1: azolla objective show obj-1";
    let after = "Run it again after that: azolla objective unblock obj-1";
    let there_is = "Review what there is: azolla review obj-1";
    let pull = "Review PR on azolla/obj-1: azolla review obj-1";
    let confirm = "Confirm completion: azolla objective confirm obj-1";
    let cases: [(Ending<'_>, PauseReason, &[&str]); 15] = [
        (Ending::RunComplete { published: &Published::Done }, PauseReason::RunComplete, &[pull, confirm]),
        (
            Ending::RunComplete { published: &by_hand },
            PauseReason::RunComplete,
            &[pull, "Fetch the branch by hand (it is held): git fetch x", confirm],
        ),
        (Ending::PassedButBlocked, PauseReason::Blocked, &[resolve, after]),
        (
            Ending::Retried { attempt: 2, attempts_max: 3, over_budget: false },
            PauseReason::GateFailed,
            &["Nothing is needed: attempt 2 of 3 is scheduled"],
        ),
        (
            Ending::Retried { attempt: 2, attempts_max: 3, over_budget: true },
            PauseReason::BudgetExhausted,
            &["Nothing is needed: attempt 2 of 3 is scheduled"],
        ),
        (
            Ending::GateFailed { action: None },
            PauseReason::GateFailed,
            &[review, "Refine objective and retry: azolla objective retry obj-1"],
        ),
        (Ending::GateFailed { action: Some("Do this") }, PauseReason::GateFailed, &["Do this"]),
        (Ending::Overwhelmed, PauseReason::GateFailed, &[review]),
        (
            Ending::BudgetExhausted { budget_ms: 1_000, is_overwhelmed: false },
            PauseReason::BudgetExhausted,
            &[partial, larger],
        ),
        (
            Ending::BudgetExhausted { budget_ms: 1_000, is_overwhelmed: true },
            PauseReason::BudgetExhausted,
            &[larger],
        ),
        (
            Ending::FailedAndBlocked { over_budget: true, is_overwhelmed: false },
            PauseReason::BudgetExhausted,
            &[there_is, resolve, after],
        ),
        (
            Ending::FailedAndBlocked { over_budget: false, is_overwhelmed: true },
            PauseReason::GateFailed,
            &[resolve],
        ),
        (
            Ending::Cancelled,
            PauseReason::GateFailed,
            &[there_is, "Run it again: azolla objective retry obj-1"],
        ),
        (
            Ending::Blocked,
            PauseReason::Blocked,
            &[resolve, "Re-emit TICKET_READY after resolution: azolla objective unblock obj-1"],
        ),
        (
            Ending::NoSnapshot { action: "mount it" },
            PauseReason::Blocked,
            &["Mount it; then: azolla objective retry obj-1"],
        ),
    ];
    for (ending, reason, actions) in cases {
        assert_eq!(paused(&ending), (reason, actions.iter().map(|action| (*action).to_owned()).collect()));
    }
}

#[test]
fn pf8_a_larger_budget_is_one_that_is_taken() {
    let most = limits::BUDGET_PATCH_MS.maximum.unwrap();
    let (_, actions) = paused(&Ending::BudgetExhausted { budget_ms: most - 1, is_overwhelmed: true });
    assert_eq!(
        actions,
        [format!("Retry with a larger budget: azolla objective retry obj-1 --budget-ms {most}")]
    );
}
