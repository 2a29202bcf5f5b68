//! The harness itself: what is wrong is found, made small and told; what is right is not.

use std::collections::HashSet;

use super::*;

fn seed(bytes: &[u8]) -> Seed {
    Seed { name: "corpus/x/a".to_owned(), bytes: bytes.to_vec() }
}

fn order(inputs: u64) -> Order {
    Order { inputs, seed: 1, keeps: false, last: None }
}

fn target(check: fn(&[u8]) -> Verdict) -> Target {
    Target { name: "x", inputs: 0, bytes_max: 64, words: &["wrong"], check }
}

#[test]
fn p10_an_input_that_fails_is_found_and_made_as_small_as_it_goes() {
    let target = target(|bytes| {
        assert!(!bytes.windows(5).any(|part| part == b"wrong"), "it is wrong");
        Verdict::Taken
    });
    let failure = target.try_run(&[seed(b"some text")], &order(10_000)).unwrap_err();
    assert_eq!(failure.input, b"wrong");
    assert!(failure.said.contains("it is wrong"), "{failure}");
    assert!(failure.from.ends_with("of seed 1"), "{failure}");
    assert_eq!(
        target.try_run(&[seed(b"some text")], &order(10_000)),
        Err(failure),
        "the same seed is the same run"
    );
}

#[test]
fn p10_a_file_of_the_corpus_that_fails_is_named() {
    let target = target(|bytes| {
        assert!(bytes.is_empty());
        Verdict::Refused
    });
    let failure = target.try_run(&[seed(b"a")], &order(0)).unwrap_err();
    assert_eq!((failure.from.as_str(), failure.input.as_slice()), ("corpus/x/a", &b"a"[..]));
}

#[test]
fn p10_a_target_that_holds_gets_as_many_inputs_as_were_asked_for() {
    let target = target(|bytes| if bytes.len() % 2 == 0 { Verdict::Taken } else { Verdict::Refused });
    let summary = target.try_run(&[seed(b"ab"), seed(b"abc")], &order(1_000)).unwrap();
    assert_eq!(summary.inputs, 1_000);
    assert!((100..900).contains(&summary.taken), "{summary}");
}

#[test]
fn p10_inputs_keep_to_their_bound_and_differ() {
    let mutator = Mutator { words: &["word", "other"], bytes_max: 40 };
    let mut chance = Chance::new(3);
    let inputs: HashSet<Vec<u8>> =
        (0..5_000).map(|_| mutator.child(&mut chance, b"a = 12\nb = \"c\"\n", b"[x]\ny = 1\n")).collect();
    assert!(inputs.iter().all(|input| input.len() <= 40));
    assert!(inputs.len() > 3_000, "{} different inputs", inputs.len());
    let has = |part: &[u8]| inputs.iter().any(|input| input.windows(part.len()).any(|window| window == part));
    for part in ["word", "[x]", "9223372036854775807", "\u{202e}", "A = 12", "b = \"c\"\na = 12\n"] {
        assert!(has(part.as_bytes()), "no input has {part:?}");
    }
}

#[test]
fn p10_nothing_is_made_of_nothing_without_harm() {
    let mutator = Mutator { words: &[], bytes_max: 8 };
    let mut chance = Chance::new(5);
    let longest = (0..2_000).map(|_| mutator.child(&mut chance, b"", b"").len()).max();
    assert!(longest.is_some_and(|longest| (1..=8).contains(&longest)));
}
