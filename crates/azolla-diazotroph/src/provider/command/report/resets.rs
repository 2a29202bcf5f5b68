//! When a quota is there again, by an agent's words: `|1794900000`, `in 7m12s`, `at Jan 17th, 2030 5:06 PM`,
//! `resets 3pm (UTC)`.

use std::time::Duration;

use azolla_protocol::Timestamp;

/// A message that is longer is not looked at to its end.
const MESSAGE_BYTES_MAX: usize = 4_096;

/// No wait is shorter, as it would only use up the next claim, and none longer, so that a misread time costs no more.
const SHORTEST: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(7 * DAY);

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

const BEFORE_A_LENGTH: [&str; 5] = ["try again in ", "retry in ", "retry after ", "resets in ", "reset in "];
const BEFORE_A_TIME: [&str; 6] =
    ["try again at ", "try again after ", "resets at ", "reset at ", "resets on ", "resets "];

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Returns how long to wait from `now`, if the message tells. A time without a zone is taken for UTC where the agent
/// was told that this is the zone, and not at all elsewhere.
pub(in super::super) fn until_reset(message: &str, now: Timestamp, is_utc: bool) -> Option<Duration> {
    let message = message[..message.floor_char_boundary(MESSAGE_BYTES_MAX)].to_lowercase();
    let seconds =
        epoch(&message, now).or_else(|| length(&message)).or_else(|| time(&message, now, is_utc))?;
    Some(Duration::from_secs(seconds).clamp(SHORTEST, LONGEST))
}

/// `usage limit reached|1794900000`
fn epoch(message: &str, now: Timestamp) -> Option<u64> {
    let (_, rest) = message.split_once('|')?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let at = match digits.len() {
        10 => digits.parse::<i64>().ok()?.checked_mul(1_000)?,
        13 => digits.parse().ok()?,
        _ => return None,
    };
    Some(seconds_between(now, at))
}

fn seconds_between(now: Timestamp, at_ms: i64) -> u64 {
    u64::try_from(at_ms.saturating_sub(now.as_millisecond())).unwrap_or(0).div_ceil(1_000)
}

/// `try again in 3 days 4 hours 5 minutes`, `in 7m12s`, `in 1.5s`, `retry after 30`
fn length(message: &str) -> Option<u64> {
    let rest = after(message, &BEFORE_A_LENGTH)?;
    let mut total = None;
    let mut rest = rest.trim_start();
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest[..digits].trim_end_matches('.').parse::<f64>() else { break };
        let unit_at = rest[digits..].trim_start();
        let letters = unit_at.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unit_at.len());
        let unit = match &unit_at[..letters] {
            "d" | "day" | "days" => DAY,
            "h" | "hr" | "hrs" | "hour" | "hours" => HOUR,
            "m" | "min" | "mins" | "minute" | "minutes" => MINUTE,
            "s" | "sec" | "secs" | "second" | "seconds" => 1,
            "ms" => return Some(total.unwrap_or(0) + 1),
            _ if total.is_none() => return Some(number.clamp(0.0, 1e9).ceil() as u64),
            _ => break,
        };
        let seconds = (number * unit as f64).clamp(0.0, 1e9).ceil() as u64;
        total = Some(total.unwrap_or(0_u64).saturating_add(seconds));
        rest = unit_at[letters..].trim_start_matches([' ', ',']).trim_start_matches("and ");
    }
    total
}

/// `try again at jan 17th, 2030 5:06 pm`, `resets 3pm (utc)`, `resets nov 18, 3pm`
fn time(message: &str, now: Timestamp, is_utc: bool) -> Option<u64> {
    let rest = after(message, &BEFORE_A_TIME)?;
    let mut words =
        rest.split([' ', ',']).filter(|word| !word.is_empty() && *word != "at").take(8).peekable();
    let month = words.next_if(|word| month(word).is_some()).and_then(month);
    let day = match month {
        Some(_) => Some(words.next()?.trim_end_matches(char::is_alphabetic).parse::<i64>().ok()?),
        None => None,
    };
    let year = words
        .next_if(|word| word.len() == 4 && !word.contains(':'))
        .and_then(|word| word.parse::<i64>().ok());
    let word = words.next()?;
    let (clock, half) = match word.strip_suffix(['.', ';']).unwrap_or(word) {
        word if word.ends_with("am") || word.ends_with("pm") => {
            (&word[..word.len() - 2], Some(&word[word.len() - 2..]))
        }
        word => (
            word,
            words.next_if(|word| word.starts_with("am") || word.starts_with("pm")).map(|word| &word[..2]),
        ),
    };
    let second_of_day = second_of_day(clock, half)?;
    let is_told_utc = match words.next().map(|zone| zone.trim_matches(|c: char| !c.is_ascii_alphanumeric())) {
        Some("utc" | "gmt") => true,
        // A zone with a name, or something else in brackets.
        Some(zone) if rest.contains(&format!("({zone}")) => false,
        _ => is_utc,
    };
    if !is_told_utc {
        return None;
    }
    let now_second = now.as_millisecond().div_euclid(1_000);
    let today = now_second.div_euclid(DAY as i64);
    let at = match (month, day) {
        (Some(month), Some(day)) if (1..=31).contains(&day) => {
            let this_year = year_of(today);
            let date = |year| days_to(year, month, day) * DAY as i64 + second_of_day;
            match year {
                Some(year) if (1970..=9999).contains(&year) => date(year),
                // Without a year it is the next such day.
                _ if date(this_year) > now_second => date(this_year),
                _ => date(this_year + 1),
            }
        }
        (None, None) => {
            let at = today * DAY as i64 + second_of_day;
            if at > now_second { at } else { at + DAY as i64 }
        }
        _ => return None,
    };
    Some(seconds_between(now, at * 1_000))
}

fn after<'a>(message: &'a str, places: &[&str]) -> Option<&'a str> {
    places.iter().find_map(|place| message.split_once(place).map(|(_, rest)| rest))
}

fn month(word: &str) -> Option<i64> {
    let at = MONTHS.iter().position(|month| word.starts_with(month))?;
    word.chars().all(|c| c.is_ascii_alphabetic()).then_some(at as i64 + 1)
}

fn second_of_day(clock: &str, half: Option<&str>) -> Option<i64> {
    let (hour, minute) = clock.split_once(':').unwrap_or((clock, "0"));
    let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        Some("pm") if (1..=12).contains(&hour) => hour % 12 + 12,
        Some(_) if (1..=12).contains(&hour) => hour % 12,
        // Without a half of the day a bare number is not known to be a time.
        None if clock.contains(':') => hour,
        _ => return None,
    };
    ((0..24).contains(&hour) && (0..60).contains(&minute)).then(|| (hour * 60 + minute) * 60)
}

/// Returns the days from 1970-01-01 to a date; years begin in March, so that a leap day ends one.
fn days_to(year: i64, month: i64, day: i64) -> i64 {
    let years = if month > 2 { year } else { year - 1 };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400);
    years * 365 + leap_days + day_of_year - 719_468
}

fn year_of(day: i64) -> i64 {
    let guess = 1970 + day.div_euclid(366);
    (guess..guess + 60).rev().find(|year| days_to(*year, 1, 1) <= day).unwrap_or(guess)
}
