//! Amounts and reached caps in words.

use azolla_protocol::Unit;

use super::caps::{Reached, Scope};
use crate::screen::duration;

/// Returns a sentence for a cap that has no room, with the key that sets it.
pub(super) fn reached(reached: &Reached) -> String {
    let Reached { scope, cap, value, used, need } = *reached;
    let shown = |amount_of| amount(cap.unit, amount_of);
    let what =
        if cap.unit == Unit::Milliseconds || cap.unit == Unit::Count { "this run" } else { "the next call" };
    if scope == Scope::Day && need > value {
        let (need, value) = (shown(need), shown(value));
        return format!("{what} may take {need}, and the cap for one day is {value} ([caps] {})", cap.name);
    }
    let mut sentence =
        format!("the cap of {} for {} is reached: {} used", shown(value), scope.words(), shown(used));
    // A run more is what a cap on runs is about.
    if need > 0 && cap.unit != Unit::Count {
        sentence.push_str(&format!(", {what} may take {}", shown(need)));
    }
    format!("{sentence} ([caps] {})", cap.name)
}

/// Returns an amount with its unit.
pub(crate) fn amount(unit: Unit, amount: u64) -> String {
    match unit {
        Unit::Tokens => format!("{} tokens", number(amount)),
        Unit::MicroUsd => money(amount),
        Unit::Milliseconds => duration(amount),
        Unit::Count if amount == 1 => "1 run".to_owned(),
        Unit::Count => format!("{} runs", number(amount)),
        Unit::Bytes => format!("{} bytes", number(amount)),
    }
}

/// Returns a number with its thousands apart.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Returns an amount of money to the last millionth that is not zero, and at least to the cent.
fn money(microusd: u64) -> String {
    let fraction = format!("{:06}", microusd % 1_000_000);
    let cents = fraction.trim_end_matches('0').len().max(2);
    format!("${}.{}", number(microusd / 1_000_000), &fraction[..cents])
}

/// Returns an amount of money rounded to the cent; what is less than one is shown as it is.
pub(crate) fn cents(microusd: u64) -> String {
    if microusd < 10_000 { money(microusd) } else { money((microusd + 5_000) / 10_000 * 10_000) }
}
