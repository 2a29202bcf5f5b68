//! Where nobody answered, the words that matter are there however many did not.

use super::*;

#[test]
fn mf2_the_command_is_there_however_many_are_named() {
    let remarks: Vec<String> =
        (0..300).map(|n| format!("az-{n}: TARGET_UNAVAILABLE: no answer in 5000 ms")).collect();
    let ending = Ending::NobodyAnswered { remarks: &remarks, captures_pending: 1, candidates_open: 2 };
    let [action] = &ending.actions()[..] else { panic!("one action") };
    assert!(action.chars().count() <= 1_000, "{}", action.chars().count());
    assert!(action.starts_with("No azolla answered (az-0: TARGET_UNAVAILABLE: no answer in 5000 ms; az-1: "));
    assert!(
        action.ends_with(
            " more; here: 1 capture for triage, 2 candidates to look at). Find out why: azolla doctor && azolla \
             manifest"
        ),
        "{action}"
    );
}
