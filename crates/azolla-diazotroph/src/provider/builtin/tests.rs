//! How the work grows with the input: counted, not timed.

use std::cell::Cell;

use azolla_protocol::{
    CaptureId,
    content::{CaptureText, TriageContent, TriageInput},
};

use super::triage::triage;

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts work of this thread.
pub(super) fn step(work: usize) {
    STEPS.with(|steps| steps.set(steps.get() + work));
}

fn input(texts: &[String]) -> TriageInput {
    let now = "2026-11-16T10:00:00.000Z".parse().unwrap();
    let capture = |(n, text): (usize, &String)| CaptureText {
        capture_id: CaptureId::new(format!("cap-{n}")).unwrap(),
        source_label: "cli".into(),
        created_at: now,
        text: text.clone(),
        bytes_left_out: 0,
    };
    TriageInput { now, captures: texts.iter().enumerate().map(capture).collect(), azollas: Vec::new() }
}

fn counted(texts: &[String]) -> (TriageContent, usize) {
    STEPS.set(0);
    (triage(&input(texts)), STEPS.get())
}

/// T31: twice the text is about twice the work, whatever it is made of.
#[test]
fn t31_work_grows_with_the_size_of_the_input() {
    type Make = fn(usize) -> String;
    let shapes: [(&str, Make); 14] = [
        ("one line", |n| "word ".repeat(n)),
        ("one word", |n| "x".repeat(n * 5)),
        ("points", |n| (0..n).map(|i| format!("- fix item {i}\n")).collect()),
        ("the same point", |n| "- fix it\n".repeat(n)),
        ("points of points", |n| format!("- fix it\n{}", "  - part\n".repeat(n))),
        ("points that go on", |n| format!("- fix it\n{}", "  and so on\n".repeat(n))),
        ("paragraphs", |n| "Some prose about a thing.\n\n".repeat(n)),
        ("tasks", |n| (0..n).map(|i| format!("buy thing {i}\n")).collect()),
        ("parts", |n| "buy milk; ".repeat(n)),
        ("lists and prose", |n| "- buy milk\n\nSome words about it.\n\n".repeat(n)),
        ("headings over prose", |n| format!("- fix it\n- buy it\n{}", "# a\ntext\n".repeat(n))),
        ("details", |n| "Steps to reproduce:\n1. click\n\n".repeat(n)),
        ("fences and quotes", |n| "```\n> x\n```\n> y\n".repeat(n)),
        ("deadlines", |n| "by Friday until Dec 3 in two weeks urgent ".repeat(n)),
    ];
    for (name, make) in shapes {
        let (content, steps) = counted(&[make(1_000)]);
        assert!(!content.candidates.is_empty() && content.candidates.len() <= 100, "{name}");
        let (_, twice) = counted(&[make(2_000)]);
        assert!(twice <= steps * 2 + steps / 4, "{name}: {steps} steps, then {twice}");
    }
}

/// T31: notes that are compared with each other are at most as many as an answer has candidates.
#[test]
fn t31_many_long_notes_are_compared_within_bounds() {
    let list = |n: usize, from: usize| {
        (from..from + n).map(|i| format!("- fix part number {i}\n")).collect::<String>()
    };
    let texts: Vec<String> = (0..100).map(|n| list(40, n * 40)).collect();
    let (content, steps) = counted(&texts);
    assert_eq!(content.candidates.len(), 100);
    let (_, twice) = counted(&(0..100).map(|n| list(80, n * 80)).collect::<Vec<_>>());
    assert!(twice <= steps * 2 + steps / 4, "{steps} steps, then {twice}");
}
