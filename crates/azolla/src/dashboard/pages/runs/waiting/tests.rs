//! How many results waited, from rows of the journal.

use azolla_protocol::Actor;

use super::*;

fn entry(seconds: i64, id: &str, step: JournalStep) -> JournalEntry {
    let begin: Timestamp = "2026-11-16T10:00:00.000Z".parse().unwrap();
    JournalEntry {
        seq: 1,
        at: begin.plus_ms(seconds * 1_000),
        actor: Actor::Gate,
        owner_id: None,
        claim_version: None,
        step,
        resource_type: "objective".into(),
        resource_id: id.into(),
        from_status: None,
        to_status: None,
        detail: None,
    }
}

#[test]
fn o3_a_result_waits_from_its_gate_to_the_operators_answer() {
    use JournalStep as Step;
    let rows = [
        // Before these rows obj-a had a result, which is confirmed here.
        entry(0, "obj-a", Step::Sj),
        entry(1, "obj-b", Step::Sc),
        entry(2, "obj-b", Step::Execute),
        entry(3, "obj-b", Step::Se),
        entry(4, "obj-c", Step::Sf),
        entry(5, "obj-c", Step::Sm),
        entry(6, "obj-b", Step::Si),
    ];
    let waiting = Waiting { changes: changes(rows.into_iter()), now: 2 };
    let counts: Vec<_> = waiting.counts().into_iter().map(|(_, count)| count).collect();
    // One more waits than these rows tell of, since before them: it is counted back from now.
    assert_eq!(counts, [1, 2, 3, 2]);
    assert_eq!(changes([entry(0, "obj-a", Step::Grant)].into_iter()), []);
}
