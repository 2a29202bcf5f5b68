//! What is near, and what is not.

use super::*;

#[test]
fn a_slip_is_near_and_another_word_is_not() {
    let known = ["az-app", "az-site", "az-taskmgmt"];
    for (typed, expected) in [
        ("az-ap", Some("az-app")),
        ("az-paa", Some("az-app")),
        ("az-stie", Some("az-site")),
        ("az-taskmgtm", Some("az-taskmgmt")),
        ("elsewhere", None),
    ] {
        assert_eq!(nearest(typed, &known), expected, "{typed}");
    }
    assert_eq!(nearest("x", &[]), None);
}

#[test]
fn a_hint_names_the_nearest_and_else_all() {
    assert_eq!(meant("loca", &["local", "sonnet"], "none"), "did you mean local? configured: local, sonnet");
    assert_eq!(meant("loca", &["local"], "none"), "did you mean local?");
    assert_eq!(meant("gpt", &["local", "sonnet"], "none"), "configured: local, sonnet");
    assert_eq!(meant("gpt", &[], "none"), "none");
}
