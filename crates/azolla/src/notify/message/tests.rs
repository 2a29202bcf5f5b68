//! One message, however many notices.

use azolla_protocol::{AzollaId, ObjectiveId, Timestamp};

use super::*;

fn notice(n: i64, kind: Kind) -> Notice {
    Notice {
        kind,
        azolla_id: AzollaId::new("az-app").unwrap(),
        objective_id: ObjectiveId::new(format!("obj-{n}")).unwrap(),
        title: format!("title {n}"),
        text: "Review it".into(),
        command: format!("azolla review obj-{n}"),
        pause_key: format!("workorder:wo-{n}-1"),
        at: Timestamp::from_millisecond(n).unwrap(),
    }
}

#[test]
fn one_notice_is_a_message_of_its_own() {
    assert_eq!(Message::of(&[]), None);
    let message = Message::of(&[notice(1, Kind::Finished)]).unwrap();
    assert_eq!(message.heading, "Finished: title 1");
    assert_eq!(message.body, "Review it\nazolla review obj-1");
    assert_eq!(
        message.document,
        json!({
            "schema_version": 1,
            "kind": "finished",
            "azolla_id": "az-app",
            "objective_id": "obj-1",
            "title": "title 1",
            "text": "Review it",
            "command": "azolla review obj-1",
            "pause_key": "workorder:wo-1-1",
            "at": "1970-01-01T00:00:00.001Z",
            "count": 1,
            "notices": [notice(1, Kind::Finished)],
        })
    );
}

#[test]
fn a_storm_is_one_message() {
    let mut notices: Vec<_> = (0..150).map(|n| notice(n, Kind::Finished)).collect();
    assert_eq!(Message::of(&notices).unwrap().document["kind"], "finished");
    notices[7].kind = Kind::YourMove;
    let message = Message::of(&notices).unwrap();
    assert_eq!(message.heading, "150 things wait for you");
    let lines: Vec<_> = message.body.lines().collect();
    assert_eq!(lines.len(), 7);
    assert_eq!((lines[0], lines[5], lines[6]), ("Finished: title 0", "and 145 more", "azolla"));
    let document = &message.document;
    assert_eq!((&document["kind"], &document["count"]), (&json!("your_move"), &json!(150)));
    assert_eq!((&document["objective_id"], &document["command"]), (&Value::Null, &json!("azolla")));
    assert_eq!(document["notices"].as_array().unwrap().len(), LISTED_MAX);
}

#[test]
fn a_long_title_is_cut_on_the_desktop_and_whole_in_the_document() {
    let mut long = notice(1, Kind::YourMove);
    long.title = "é".repeat(1_000);
    let message = Message::of(std::slice::from_ref(&long)).unwrap();
    assert_eq!(message.heading.chars().count(), LINE_MAX + 1);
    assert_eq!(message.document["title"], json!(long.title));
}
