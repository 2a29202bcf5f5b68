//! Ids: the allow-list, the order of fresh ones, the bodies of derived ones.

use super::*;

fn at(ms_after_2026: i64) -> Timestamp {
    Timestamp::from_millisecond(1_767_225_600_000 + ms_after_2026).unwrap()
}

/// T18: what a shell, git or a file system could take for something else is no id.
#[test]
fn t18_ids_outside_the_allow_list_are_refused() {
    let long = format!("obj-{}", "a".repeat(300));
    let over = format!("obj-{}", "a".repeat(61));
    for text in [
        "",
        "obj",
        "obj-",
        "-",
        "--force",
        "$(id)",
        "obj-$(id)",
        "obj-a;b",
        "obj-..",
        "obj-../x",
        "obj-x.lock",
        "@{-1}",
        "obj-@{-1}",
        "obj-A",
        "OBJ-a",
        "obj-é",
        "obj-\u{202e}a",
        "obj_a",
        "obj-a b",
        "obj-a\n",
        "\nobj-a",
        "obj-a\0",
        "xobj-a",
        "o-a",
        "wo-a",
        "objective-a",
        &long,
        &over,
    ] {
        assert!(ObjectiveId::new(text).is_err(), "{text:?}");
        assert!(serde_json::from_value::<ObjectiveId>(text.into()).is_err(), "{text:?}");
    }
}

#[test]
fn ids_of_the_allow_list_keep_their_text() {
    let longest = format!("obj-{}", "a".repeat(60));
    for text in ["obj-a", "obj-0", "obj-ctx-continuity", "obj---", &longest] {
        let id: ObjectiveId = text.parse().unwrap();
        assert_eq!((id.as_str(), id.body(), id.to_string().as_str()), (text, &text[4..], text));
        assert_eq!(serde_json::to_value(&id).unwrap(), serde_json::json!(text));
    }
}

#[test]
fn an_error_about_an_id_is_short_and_names_the_form() {
    let error = AzollaId::new(format!("\u{7}{}", "z".repeat(500))).unwrap_err().to_string();
    let shown = "z".repeat(59);
    let expected = format!(
        "\"\\u{{7}}{shown}…\" is not an id of the form az-…, with 1 to 60 of a-z, 0-9 and - after the prefix"
    );
    assert_eq!(error, expected);
}

#[test]
fn fresh_ids_are_40_bits_of_time_then_20_of_chance() {
    assert_eq!(IdBody::new(at(0), 0).as_str(), "000000000000");
    assert_eq!(IdBody::new(at(0), 1).as_str(), "000000000001");
    // 20 bits of chance are the last four characters, so a millisecond is one in the eighth.
    assert_eq!(IdBody::new(at(1), 0).as_str(), "000000010000");
    assert_eq!(IdBody::new(at(31), 0xF_FFFF).as_str(), "0000000zzzzz");
    assert_eq!(
        IdBody::new(at(0), u32::MAX),
        IdBody::new(at(0), 0xF_FFFF),
        "the rest of the chance is left out"
    );
    assert_eq!(ObjectiveId::from_body(&IdBody::new(at(32), 33)).as_str(), "obj-000000100011");
}

#[test]
fn fresh_ids_hold_at_both_ends_of_their_time() {
    assert_eq!(IdBody::new(Timestamp::MIN, 5), IdBody::new(at(0), 5));
    assert_eq!(IdBody::new(Timestamp::MAX, 5), IdBody::new(at((1 << 40) - 1), 5));
    assert_eq!(IdBody::new(Timestamp::MAX, u32::MAX).as_str(), "zzzzzzzzzzzz");
}

proptest::proptest! {
    #[test]
    fn fresh_ids_sort_by_time(a in 0_i64..1 << 40, b in 0_i64..1 << 40, x: u32, y: u32) {
        let (first, second) = (IdBody::new(at(a), x), IdBody::new(at(b), y));
        proptest::prop_assert!(a == b || (a < b) == (first.as_str() < second.as_str()));
        let id = RunId::from_body(&first);
        proptest::prop_assert_eq!(RunId::new(id.as_str()), Ok(id));
    }
}

#[test]
fn w5_derived_ids_reuse_the_body() {
    let objective = ObjectiveId::new("obj-0000000000a1").unwrap();
    let event = EventId::for_entry(&objective, 2).unwrap();
    let workorder = WorkOrderId::of(&event);
    let output = OutputId::of(&workorder);
    let texts = [
        event.to_string(),
        SnapshotId::of(&event).to_string(),
        workorder.to_string(),
        output.to_string(),
        RunId::of(&workorder).to_string(),
        ManifestId::of(&workorder).to_string(),
        ObjectiveId::promoted(&output, 0).unwrap().to_string(),
        EventId::for_attempt(&CaptureId::new("cap-0000000000c1").unwrap(), 1).unwrap().to_string(),
    ];
    let expected = [
        "evt-0000000000a1-2",
        "snap-0000000000a1-2",
        "wo-0000000000a1-2",
        "out-0000000000a1-2",
        "run-0000000000a1-2",
        "man-0000000000a1-2",
        "obj-0000000000a1-2-0",
        "evt-0000000000c1-1",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn a_derived_id_that_grows_too_long_is_refused() {
    let body = "a".repeat(58);
    let objective = ObjectiveId::new(format!("obj-{body}")).unwrap();
    assert!(EventId::for_entry(&objective, 9).is_ok());
    assert!(EventId::for_entry(&objective, 10).is_err());
    let capture = CaptureId::new(format!("cap-{body}")).unwrap();
    assert!(EventId::for_attempt(&capture, u64::MAX).is_err());
    let output = OutputId::new(format!("out-{body}")).unwrap();
    assert!(ObjectiveId::promoted(&output, 10).is_err());
}
