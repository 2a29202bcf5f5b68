//! `azolla limits`: every limit and every cap with its default, what holds, and what is used of it (O-2).

use std::{path::Path, process::ExitCode};

use azolla_protocol::{Clock, LIMITS, Limit, Unit, limits::CAPS};
use azolla_substrate::SystemClock;
use clap::Args;
use serde_json::{Value, json};

use crate::{
    config::{Config, Place},
    deployment::Deployment,
    home::{Home, Spent},
    ledger,
    screen::{self, FAINT, PLAIN, Page, STRONG},
};

/// Print every limit and every cap: what holds, its default, and what is used today
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla limits\n\n\
                        They are set in the configuration: caps on what is spent under [caps], review_limit under \
                        [attention], max_concurrent in the section of an azolla, all others under [limits]. A day is \
                        a day in UTC.")]
pub(crate) struct Limits {
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(super) json: bool,
}

impl Limits {
    pub(crate) fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let place = Place::find(home)?;
        // Without a configuration the defaults hold, and can be printed.
        let config = Deployment::at(place.clone())?.map_or_else(Config::default, |found| found.config);
        let today = match place.home_store() {
            path if path.exists() => ledger::spent_today(&Home::open(&path)?, SystemClock.now())?,
            _ => Spent::default(),
        };
        if self.json {
            screen::show_json("limits", document(&config, &today))?;
        } else {
            page(&config, &today).show()?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn document(config: &Config, today: &Spent) -> Value {
    let row = |limit: &Limit| {
        json!({"name": limit.name, "unit": limit.unit.as_str(), "value": config.limits.get(limit),
               "default": limit.default, "minimum": limit.minimum, "maximum": limit.maximum})
    };
    let cap = |cap: &Limit| {
        let mut row = row(cap);
        if is_of_a_day(cap) {
            row["used_today"] = today.of(cap.unit).into();
        }
        row
    };
    LIMITS.iter().map(row).chain(CAPS.iter().map(cap)).collect()
}

fn page(config: &Config, today: &Spent) -> Page {
    let mut page = Page::default();
    let is_narrow = screen::terminal().is_some_and(|columns| columns < ROW_COLUMNS);
    let row = |name: &str, value: &str, default: &str, last: &str, unit: &str| match is_narrow {
        true => {
            format!("{name}  {value} ({default}{}{last}) {unit}", if last.is_empty() { "" } else { "; " })
        }
        false => format!("{name:<28}{value:>12}{default:>12}{last:>12}  {unit}").trim_end().to_owned(),
    };
    let style = |limit| if config.limits.configured(limit).is_some() { PLAIN } else { FAINT };
    page.line(STRONG, &row("limit", "holds", "default", "maximum", "unit"));
    for limit in &LIMITS {
        let maximum = limit.maximum.map_or_else(|| "none".to_owned(), |maximum| maximum.to_string());
        let (value, default) = (config.limits.get(limit).to_string(), limit.default.to_string());
        page.line(style(limit), &row(limit.name, &value, &default, &maximum, limit.unit.as_str()));
    }
    for azolla in config.azollas.iter().filter(|azolla| azolla.max_concurrent > 1) {
        page.line(PLAIN, &format!("max_concurrent of {} is {}", azolla.id, azolla.max_concurrent));
    }
    page.line(PLAIN, "").line(STRONG, &row("cap", "holds", "default", "used today", "unit"));
    for cap in &CAPS {
        let unit = if cap.unit == Unit::MicroUsd { "USD" } else { cap.unit.as_str() };
        let used = if is_of_a_day(cap) { shown(cap.unit, today.of(cap.unit)) } else { String::new() };
        let (value, default) = (of_cap(cap, config.limits.get(cap)), of_cap(cap, cap.default));
        page.line(style(cap), &row(cap.name, &value, &default, &used, unit));
    }
    for (name, _) in config.unpriced() {
        let line = format!("no price is configured for provider {name}, so caps on money cannot hold for it");
        page.line(PLAIN, &line);
    }
    page
}

/// What a row of the widest limit takes.
const ROW_COLUMNS: usize = 72;

fn is_of_a_day(cap: &Limit) -> bool {
    cap.name.starts_with("day_")
}

fn of_cap(cap: &Limit, value: u64) -> String {
    if value == 0 { "none".to_owned() } else { shown(cap.unit, value) }
}

fn shown(unit: Unit, value: u64) -> String {
    match unit {
        Unit::MicroUsd => ledger::cents(value),
        _ => value.to_string(),
    }
}
