//! Plots draw what they are given, and say the same in words.

use super::*;

#[test]
fn a_bar_is_drawn_for_every_value_and_the_plot_says_the_same_in_words() {
    let plot = Plot { title: "Tokens", words: "9 at the most".to_owned() };
    let points = [(0, false), (3, true), (9, false)].map(|(value, is_bad)| Point { value, is_bad });
    let drawn = bars(&plot, &points).into_string();
    assert_eq!(drawn.matches("<rect").count(), 3);
    assert_eq!(drawn.matches("class=\"bad\"").count(), 1);
    assert!(drawn.contains("aria-label=\"Tokens: 9 at the most\""), "{drawn}");
    assert!(drawn.contains("height=\"60.0\""), "the largest takes the whole height: {drawn}");
    // Nothing to draw is no division by nothing.
    assert!(!bars(&plot, &[]).into_string().contains("NaN"));
    assert!(!bars(&plot, &[Point { value: 0, is_bad: false }]).into_string().contains("NaN"));
}

#[test]
fn steps_hold_their_value_to_the_end() {
    let plot = Plot { title: "Waiting", words: "2 now".to_owned() };
    let drawn = steps(&plot, &[(0.0, 1), (0.5, 2)]).into_string();
    assert!(drawn.contains("d=\"M0.0 33.0H160.0V4.0H320\""), "{drawn}");
    assert!(!steps(&plot, &[]).into_string().contains("NaN"));
}

#[test]
fn what_a_plot_says_is_escaped() {
    let plot = Plot { title: "\"><script>", words: "<img src=x onerror=alert(1)>".to_owned() };
    let drawn = bars(&plot, &[]).into_string();
    assert!(!drawn.contains("<script") && !drawn.contains("<img"), "{drawn}");
}
