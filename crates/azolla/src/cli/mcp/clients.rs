//! The clients that a setup is known for: where each keeps its configuration, and how it names a server there.

use std::path::PathBuf;

use clap::ValueEnum;
use etcetera::base_strategy::{BaseStrategy, Xdg};
use serde_json::{Value, json};

use crate::failure::Failure;

/// The variable that a client takes the token from, over HTTP: the token itself is in no file of a client.
pub(super) const TOKEN_VARIABLE: &str = "AZOLLA_MCP_TOKEN";

/// The name of the server in every client.
pub(super) const NAME: &str = "azolla";

/// A program that speaks MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Client {
    Claude,
    ClaudeDesktop,
    Codex,
    Cursor,
    Vscode,
    Gemini,
    Opencode,
}

/// How the server is reached.
pub(super) enum Way {
    /// The client starts this program.
    Stdio { command: String, arguments: Vec<String> },
    /// The client asks a running `azolla up`.
    Http { url: String },
}

/// What a configuration is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Toml,
}

/// The server, as one client names it, key by key in the order of the file.
pub(super) type Entry = Vec<(&'static str, Value)>;

impl Client {
    pub(super) const ALL: [Self; 7] = [
        Self::Claude,
        Self::ClaudeDesktop,
        Self::Codex,
        Self::Cursor,
        Self::Vscode,
        Self::Gemini,
        Self::Opencode,
    ];

    /// Returns what people call it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "OpenCode",
        }
    }

    /// Returns its name on the command line.
    pub(super) fn word(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns what its configuration is written in.
    pub(super) fn form(self) -> Form {
        if self == Self::Codex { Form::Toml } else { Form::Json }
    }

    /// Returns the part of its configuration that lists servers.
    pub(super) fn section(self) -> &'static str {
        match self {
            Self::Claude | Self::ClaudeDesktop | Self::Cursor | Self::Gemini => "mcpServers",
            Self::Codex => "mcp_servers",
            Self::Vscode => "servers",
            Self::Opencode => "mcp",
        }
    }

    /// Returns the file of the person's own configuration.
    pub(super) fn file(self) -> Result<PathBuf, Failure> {
        let xdg = Xdg::new().map_err(|_| Failure::new("there is no home directory: HOME is not set"))?;
        let home = xdg.home_dir();
        // Where programs of the desktop keep theirs.
        let desktop = match cfg!(target_os = "macos") {
            true => home.join("Library/Application Support"),
            false => xdg.config_dir(),
        };
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Ok(match self {
            Self::Claude => home.join(".claude.json"),
            Self::ClaudeDesktop => desktop.join("Claude/claude_desktop_config.json"),
            Self::Codex => named("CODEX_HOME").unwrap_or_else(|| home.join(".codex")).join("config.toml"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::Vscode => desktop.join("Code/User/mcp.json"),
            Self::Gemini => home.join(".gemini/settings.json"),
            Self::Opencode => xdg.config_dir().join("opencode/opencode.json"),
        })
    }

    /// Returns the server as this client names it.
    pub(super) fn entry(self, way: &Way) -> Result<Entry, Failure> {
        let token = |reference: &str| json!({"Authorization": format!("Bearer {reference}")});
        Ok(match (way, self) {
            (Way::Stdio { command, arguments }, Self::Claude | Self::Vscode) => {
                vec![("type", json!("stdio")), ("command", json!(command)), ("args", json!(arguments))]
            }
            (Way::Stdio { command, arguments }, Self::Opencode) => {
                let words: Vec<_> = std::iter::once(command).chain(arguments).collect();
                vec![("type", json!("local")), ("command", json!(words)), ("enabled", json!(true))]
            }
            (Way::Stdio { command, arguments }, _) => {
                vec![("command", json!(command)), ("args", json!(arguments))]
            }
            (Way::Http { url }, Self::Claude) => {
                let headers = token(&format!("${{{TOKEN_VARIABLE}}}"));
                vec![("type", json!("http")), ("url", json!(url)), ("headers", headers)]
            }
            (Way::Http { url }, Self::Vscode) => {
                let headers = token(&format!("${{env:{TOKEN_VARIABLE}}}"));
                vec![("type", json!("http")), ("url", json!(url)), ("headers", headers)]
            }
            (Way::Http { url }, Self::Cursor) => {
                vec![("url", json!(url)), ("headers", token(&format!("${{env:{TOKEN_VARIABLE}}}")))]
            }
            (Way::Http { url }, Self::Gemini) => {
                vec![("httpUrl", json!(url)), ("headers", token(&format!("${TOKEN_VARIABLE}")))]
            }
            (Way::Http { url }, Self::Opencode) => vec![
                ("type", json!("remote")),
                ("url", json!(url)),
                ("headers", token(&format!("{{env:{TOKEN_VARIABLE}}}"))),
                ("enabled", json!(true)),
            ],
            (Way::Http { url }, Self::Codex) => {
                vec![("url", json!(url)), ("bearer_token_env_var", json!(TOKEN_VARIABLE))]
            }
            (Way::Http { .. }, Self::ClaudeDesktop) => {
                return Err(Failure::usage("Claude Desktop starts its servers itself")
                    .hint("azolla mcp install --client claude-desktop"));
            }
        })
    }
}

/// Tells whether a key says how a server is reached, so that a new way takes the place of the old one.
pub(super) fn is_of_a_way(key: &str) -> bool {
    matches!(key, "type" | "command" | "args" | "url" | "httpUrl" | "headers" | "bearer_token_env_var")
}
