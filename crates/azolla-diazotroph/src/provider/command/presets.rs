//! The usual agents, as each is best called: without questions, with edits in the worktree and no commits, and with
//! the prompt on stdin or in a file.

use azolla_process::SandboxMode;

use super::settings::{OutputKind, PromptBy};

/// How a known agent is configured. All of them edit files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name of a provider.
    pub name: &'static str,
    /// The program to look for, which is also the first of `argv`.
    pub program: &'static str,
    /// Program and arguments.
    pub argv: &'static [&'static str],
    /// How the prompt gets there.
    pub prompt: PromptBy,
    /// What it prints.
    pub output: OutputKind,
    /// Variables that it gets, of those that are set.
    pub env: &'static [&'static str],
    /// Files below the operator's home that it gets a copy of, of those that are there.
    pub home_files: &'static [&'static str],
    /// How it is confined by us, where the operator has not said so for all.
    pub sandbox: SandboxMode,
    /// Whether it needs a network.
    pub network: bool,
    /// What the operator should know, in a line.
    pub note: &'static str,
}

/// Returns the known agents.
pub fn presets() -> &'static [Preset] {
    &PRESETS
}

const PRESETS: [Preset; 4] = [
    Preset {
        name: "claude",
        program: "claude",
        argv: &[
            "claude",
            "-p",
            "--output-format",
            "json",
            "--permission-mode",
            "acceptEdits",
            // A repository's own settings can send the key elsewhere and run hooks (R13).
            "--setting-sources",
            "user",
            "--strict-mcp-config",
            "--no-session-persistence",
            // Its own ten retries wait for minutes, also when the key is refused.
            "--settings",
            r#"{"env":{"CLAUDE_CODE_MAX_RETRIES":"3","CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC":"1","DISABLE_AUTOUPDATER":"1"}}"#,
        ],
        prompt: PromptBy::Stdin,
        output: OutputKind::Claude,
        env: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_MODEL",
            "CLAUDE_CODE_OAUTH_TOKEN",
        ],
        home_files: &[".claude/.credentials.json"],
        sandbox: SandboxMode::BestEffort,
        network: true,
        note: "a login that is renewed during a run is not written back: prefer ANTHROPIC_API_KEY, or `claude setup-token`",
    },
    Preset {
        name: "codex",
        program: "codex",
        argv: &[
            "codex",
            "exec",
            "--json",
            "--ephemeral",
            "-s",
            "workspace-write",
            "--skip-git-repo-check",
            "-",
        ],
        prompt: PromptBy::Stdin,
        output: OutputKind::Codex,
        env: &["CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"],
        home_files: &[".codex/auth.json", ".codex/config.toml"],
        // It confines what it runs by itself, which fails inside another sandbox, and then it edits nothing.
        sandbox: SandboxMode::Off,
        network: true,
        note: "confines its own commands, so it runs outside our sandbox; prefer CODEX_API_KEY to a copied login",
    },
    Preset {
        name: "aider",
        program: "aider",
        argv: &[
            "aider",
            "--message-file",
            "{prompt_file}",
            "--yes-always",
            "--no-auto-commits",
            "--no-dirty-commits",
            "--no-pretty",
            "--no-stream",
            "--no-gitignore",
            "--no-check-update",
            "--no-show-release-notes",
            "--no-show-model-warnings",
            "--analytics-disable",
            "--no-detect-urls",
            "--no-suggest-shell-commands",
        ],
        prompt: PromptBy::File,
        output: OutputKind::Aider,
        env: &[
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "OPENAI_API_BASE",
            "OPENROUTER_API_KEY",
            "GEMINI_API_KEY",
            "DEEPSEEK_API_KEY",
            "AIDER_MODEL",
        ],
        home_files: &[".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json"],
        sandbox: SandboxMode::BestEffort,
        network: true,
        note: "refused for a repository with .env or .aider.conf.yml in it, as aider takes settings from there",
    },
    Preset {
        name: "goose",
        program: "goose",
        argv: &[
            "goose",
            "run",
            "--quiet",
            "--no-session",
            "--output-format",
            "json",
            "--with-builtin",
            "developer",
            "-i",
            "-",
        ],
        prompt: PromptBy::Stdin,
        output: OutputKind::Goose,
        env: &[
            "GOOSE_PROVIDER",
            "GOOSE_MODEL",
            "OPENAI_API_KEY",
            "OPENAI_HOST",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_HOST",
        ],
        home_files: &[".config/goose/config.yaml", ".config/goose/secrets.yaml"],
        sandbox: SandboxMode::BestEffort,
        network: true,
        note: "keys in the system's keyring are out of reach: set them in the environment",
    },
];

#[cfg(test)]
mod tests;
