//! The presets are settings that work.

use azolla_process::SandboxSettings;
use std::{ffi::OsString, sync::Arc};

use azolla_process::ResourceLimits;
use azolla_protocol::{Clock, Timestamp};

use super::{super::*, *};

struct Epoch;

impl Clock for Epoch {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(0).unwrap()
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn every_preset_makes_a_provider() {
    for preset in presets() {
        let settings = CommandSettings {
            name: preset.name.into(),
            argv: owned(preset.argv),
            prompt: preset.prompt,
            result: ResultBy::Worktree,
            output: preset.output,
            environment: preset.env.iter().map(|name| (OsString::from(name), OsString::from("x"))).collect(),
            home: "/home/x".into(),
            home_files: owned(preset.home_files),
            sandbox: SandboxSettings { mode: preset.sandbox, network: preset.network, ..Default::default() },
            most_microusd: None,
            limits: ResourceLimits::default(),
            state_dir: "/state".into(),
            path: "/bin".into(),
            clock: Arc::new(Epoch),
        };
        CommandProvider::new(settings).unwrap();
        assert_eq!(preset.argv[0], preset.program);
        assert!(!preset.note.is_empty() && !preset.note.contains('\n'));
    }
}

#[test]
fn providers_5_no_preset_has_its_prompt_in_an_argument() {
    assert!(presets().iter().all(|preset| preset.prompt != PromptBy::Argument));
}

/// R13: these are the arguments that keep a repository's settings out, or our own refusal does.
#[test]
fn r13_no_preset_takes_settings_from_the_repository() {
    let by_name = |name| presets().iter().find(|preset| preset.name == name).unwrap();
    assert!(by_name("claude").argv.windows(2).any(|pair| pair == ["--setting-sources", "user"]));
    assert!(by_name("claude").argv.contains(&"--strict-mcp-config"));
    assert_eq!(by_name("aider").output, OutputKind::Aider);
}
