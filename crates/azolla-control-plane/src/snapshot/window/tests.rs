//! Which lines of a large file are shown.

use super::{Window, windows};
use crate::snapshot::query::{Query, Texts};

fn query(title: &str) -> Query {
    Query::new(&Texts { title, ..Texts::default() }, Vec::new())
}

/// A thousand lines, of which line 500 has the word.
fn text() -> String {
    (1..=1_000).map(|n| if n == 500 { "the parser\n".to_owned() } else { format!("filler {n}\n") }).collect()
}

fn found(title: &str, named: &[usize], bytes_max: usize) -> Vec<Window> {
    let query = query(title);
    let worth: Vec<f64> = query.terms.iter().map(|term| term.weight).collect();
    windows(&text(), &query, &worth, named, bytes_max)
}

#[test]
fn a_screen_around_the_match_and_the_head() {
    let expected = [Window { first: 1, last: 12 }, Window { first: 480, last: 520 }];
    assert_eq!(found("Parsing fails", &[], 2_000), expected);
}

#[test]
fn a_named_line_comes_before_a_match() {
    assert_eq!(found("Parsing fails", &[900], 600), [Window { first: 880, last: 920 }]);
}

#[test]
fn what_does_not_fit_with_a_screen_around_it_is_shown_alone() {
    assert_eq!(found("Parsing fails", &[], 100), [Window { first: 500, last: 500 }]);
}

#[test]
fn without_a_match_there_is_nothing() {
    assert_eq!(found("Colours", &[], 2_000), []);
}

#[test]
fn windows_stay_within_their_bytes() {
    for bytes_max in [0, 50, 500, 3_000, 9_000] {
        let windows = found("Filler of the parser", &[], bytes_max);
        let bytes: usize = windows.iter().map(|window| window.of(&text()).len()).sum();
        assert!(bytes <= bytes_max, "{bytes} of {bytes_max}");
    }
}
