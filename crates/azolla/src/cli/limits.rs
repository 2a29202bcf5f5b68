//! `azolla limits`: every limit with its default, its maximum and what holds (O-2).

use std::{path::Path, process::ExitCode};

use azolla_protocol::LIMITS;
use clap::Args;
use serde_json::json;

use crate::{
    config::{Config, Place},
    deployment::Deployment,
    screen::{self, FAINT, PLAIN, Page, STRONG},
};

/// Print every limit: what holds, its default and its maximum
#[derive(Args)]
#[command(after_help = "Example:\n  azolla limits\n\n\
                        They are set in the configuration: review_limit under [attention], max_concurrent in the \
                        section of an azolla, all others under [limits].")]
pub(crate) struct Limits {
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(super) json: bool,
}

impl Limits {
    pub(crate) fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        // Without a configuration the defaults hold, and can be printed.
        let config = Deployment::at(Place::find(home)?)?.map_or_else(Config::default, |found| found.config);
        if self.json {
            let data = LIMITS.iter().map(|limit| {
                json!({"name": limit.name, "unit": limit.unit.as_str(), "value": config.limits.get(limit),
                       "default": limit.default, "minimum": limit.minimum, "maximum": limit.maximum})
            });
            screen::show_json("limits", data.collect())?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut page = Page::default();
        let row = |name: &str, value: &str, default: &str, maximum: &str, unit: &str| {
            format!("{name:<28}{value:>12}{default:>12}{maximum:>12}  {unit}")
        };
        page.line(STRONG, &row("limit", "holds", "default", "maximum", "unit"));
        for limit in LIMITS {
            let maximum = limit.maximum.map_or_else(|| "none".to_owned(), |maximum| maximum.to_string());
            let (value, default) = (config.limits.get(&limit).to_string(), limit.default.to_string());
            let style = if config.limits.configured(&limit).is_some() { PLAIN } else { FAINT };
            page.line(style, &row(limit.name, &value, &default, &maximum, limit.unit.as_str()));
        }
        for azolla in config.azollas.iter().filter(|azolla| azolla.max_concurrent > 1) {
            page.line(PLAIN, &format!("max_concurrent of {} is {}", azolla.id, azolla.max_concurrent));
        }
        page.show()?;
        Ok(ExitCode::SUCCESS)
    }
}
