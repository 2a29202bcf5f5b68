//! Quiet hours hold the minutes that they name.

use super::*;

fn quiet(text: &str) -> QuietHours {
    text.parse().unwrap()
}

#[test]
fn quiet_hours_hold_from_their_first_minute_to_the_last_before_their_end() {
    let night = quiet("22:00-07:00");
    let day = quiet("12:30 - 13:00");
    let held = |hours: QuietHours, at: &str| hours.holds(minute(at).unwrap());
    for (hours, at, holds) in [
        (night, "21:59", false),
        (night, "22:00", true),
        (night, "23:59", true),
        (night, "00:00", true),
        (night, "06:59", true),
        (night, "07:00", false),
        (night, "12:00", false),
        (day, "12:29", false),
        (day, "12:30", true),
        (day, "12:59", true),
        (day, "13:00", false),
        (day, "00:00", false),
    ] {
        assert_eq!(held(hours, at), holds, "{at} in {hours}");
    }
}

#[test]
fn what_is_no_part_of_a_day_is_refused() {
    for text in ["", "22:00", "22-7", "22:00-7:00", "24:00-07:00", "22:60-07:00", "22:00-22:00", "a:bc-07:00"]
    {
        assert_eq!(text.parse::<QuietHours>(), Err(NotQuiet), "{text}");
    }
    assert_eq!(quiet("22:00-07:00").to_string(), "22:00-07:00");
}
