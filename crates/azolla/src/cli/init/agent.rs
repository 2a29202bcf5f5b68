//! The known agents: those that are installed are offered, and one that is asked for gets its settings.

use std::fmt::Display;

use azolla_diazotroph::provider::command::{Preset, presets};

use crate::{
    config::{Added, Place, add_preset},
    failure::Failure,
    screen::remark,
};

/// Returns the known agents that are installed.
pub(in crate::cli) fn found() -> impl Iterator<Item = &'static Preset> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    presets().iter().filter(move |preset| azolla_process::find(preset.program.as_ref(), &path).is_some())
}

/// Adds the provider of a known agent, and returns its name. One that is there stays as it is.
pub(super) fn add(
    text: &mut String,
    place: &Place,
    name: &str,
    note: &mut dyn FnMut(&str, &dyn Display),
) -> anyhow::Result<String> {
    let preset = presets().iter().find(|preset| preset.name == name).ok_or_else(|| {
        let known: Vec<_> = presets().iter().map(|preset| preset.name).collect();
        Failure::usage(format!("{name} is no known agent; those are {}", known.join(", ")))
            .hint("any other program: azolla init --provider-command 'my-agent --file {prompt_file}'")
    })?;
    let (changed, added) = add_preset(text, &place.config, preset)?;
    *text = changed;
    match added {
        Added::New => {
            note("added", &format_args!("[provider.{name}]"));
            remark(&format!("note: {}", preset.note));
        }
        Added::Already => note("kept", &format_args!("[provider.{name}], which was there already")),
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    if azolla_process::find(preset.program.as_ref(), &path).is_none() {
        remark(&format!("warning: {} is not found on PATH; install it before the first run", preset.program));
    }
    Ok(name.to_owned())
}
