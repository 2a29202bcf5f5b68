//! `[provider.<name>]` of every kind: where work comes back from.

use azolla_protocol::{Limit, Unit};

use super::{Form, Key, Table, Unset};

/// More than any price.
pub(in crate::config) const PRICE: Limit =
    Limit { name: "price", unit: Unit::MicroUsd, default: 0, minimum: 0, maximum: Some(1_000_000_000_000) };

/// What a model can be asked for in one answer.
pub(in crate::config) const MAX_TOKENS: Limit =
    Limit { name: "max_tokens", unit: Unit::Tokens, default: 16_384, minimum: 1, maximum: Some(1_000_000) };

const FORMS: Form = Form::OneOf(&["search-replace", "diff", "whole-file", "json"]);

const HEADER: &str = "[provider.<name>]";

/// A program.
pub(in crate::config) const COMMAND: Table = Table {
    header: HEADER,
    variant: "kind = \"command\"",
    about: "A program on this machine that edits files or prints an answer: a coding agent, or a script of yours. \
            `azolla init --agent NAME` and `azolla init --provider-command` add one.",
    example: "[provider.agent]",
    groups: &[&[
        Key {
            name: "kind",
            form: Form::Fixed("command"),
            unset: Unset::Needed,
            meaning: "What it is.",
            example: r#""command""#,
            with: "",
        },
        Key {
            name: "argv",
            form: Form::Words("list of texts: the program and its arguments"),
            unset: Unset::Needed,
            meaning: "What is started. `{prompt_file}`, `{prompt}` and `{worktree}` in it are filled in.",
            example: r#"["my-agent", "--file", "{prompt_file}"]"#,
            with: "",
        },
        Key {
            name: "prompt",
            form: Form::OneOf(&["stdin", "file", "argument"]),
            unset: Unset::Value(r#""stdin""#),
            meaning: "How the prompt gets there: `file` goes with `{prompt_file}`, `argument` with `{prompt}`.",
            example: r#""file""#,
            with: "",
        },
        Key {
            name: "result",
            form: Form::OneOf(&["worktree", "stdout"]),
            unset: Unset::Value(r#""worktree""#),
            meaning: "How the result comes back: it edits files, or it prints the change.",
            example: r#""stdout""#,
            with: "",
        },
        Key {
            name: "form",
            form: FORMS,
            unset: Unset::Value(r#""search-replace""#),
            meaning: "How a change that is printed is asked for. Whatever form comes back is understood.",
            example: r#""diff""#,
            with: r#"result = "stdout""#,
        },
        Key {
            name: "output",
            form: Form::OneOf(&["plain", "claude", "codex", "goose", "aider"]),
            unset: Unset::Value(r#""plain""#),
            meaning: "Whose report it prints, to be read for errors, tokens and cost.",
            example: r#""claude""#,
            with: "",
        },
        Key {
            name: "env",
            form: Form::Words("list of names of variables"),
            unset: Unset::Value("[]"),
            meaning: "The only environment variables of yours that it sees.",
            example: r#"["MY_AGENT_KEY"]"#,
            with: "",
        },
        Key {
            name: "home_files",
            form: Form::Words("list of paths below your home directory"),
            unset: Unset::Value("[]"),
            meaning: "Files that it gets a copy of in a home directory of its own, such as a login.",
            example: r#"[".my-agent/login.json"]"#,
            with: "",
        },
        Key {
            name: "sandbox",
            form: Form::OneOf(&["off", "best-effort", "required"]),
            unset: Unset::Words("`mode` of `[sandbox]`"),
            meaning: "Whether this program is confined. Not weaker than a `mode` that is `required`.",
            example: r#""off""#,
            with: "",
        },
        Key {
            name: "network",
            form: Form::Flag,
            unset: Unset::Words("`network` of `[sandbox]`"),
            meaning: "Whether this program reaches the network.",
            example: "true",
            with: "",
        },
        Key {
            name: "read",
            form: Form::Paths,
            unset: Unset::Value("[]"),
            meaning: "What this program may read, besides what all may.",
            example: r#"["~/.config/my-agent"]"#,
            with: "",
        },
        Key {
            name: "write",
            form: Form::Paths,
            unset: Unset::Value("[]"),
            meaning: "What this program may write, besides what all may.",
            example: r#"["~/.cache/my-agent"]"#,
            with: "",
        },
        Key {
            name: "most_usd",
            form: Form::Money(&PRICE),
            unset: Unset::Words("caps on money cannot hold for it"),
            meaning: "Your word for the most that one run of it costs. It is set aside before the start.",
            example: "1.50",
            with: "",
        },
    ]],
};

const MODEL: Key = Key {
    name: "model",
    form: Form::Text("name of a model"),
    unset: Unset::Needed,
    meaning: "Which model is asked.",
    example: r#""the-model""#,
    with: "",
};

/// What both kinds of server have besides.
const SHARED: [Key; 6] = [
    Key {
        name: "key_env",
        form: Form::Text("name of a variable"),
        unset: Unset::Words("what `key_file` names; none is needed for a server on this machine"),
        meaning: "The variable that holds the key. The key itself never stands in this file.",
        example: r#""MY_KEY""#,
        with: "",
    },
    Key {
        name: "key_file",
        form: Form::Path,
        unset: Unset::Words("what `key_env` names; none is needed for a server on this machine"),
        meaning: "The file that holds the key, mode 600. One of the two is enough.",
        example: r#""~/.keys/model""#,
        with: "",
    },
    Key {
        name: "form",
        form: FORMS,
        unset: Unset::Value(r#""search-replace""#),
        meaning: "How a change is asked for. Whatever form comes back is understood.",
        example: r#""diff""#,
        with: "",
    },
    Key {
        name: "max_tokens",
        form: Form::Whole(&MAX_TOKENS),
        unset: Unset::OfLimit,
        meaning: "The most tokens of one answer.",
        example: "32000",
        with: "",
    },
    Key {
        name: "input_usd_per_million",
        form: Form::Money(&PRICE),
        unset: Unset::Words("caps on money cannot hold for it, unless it is on this machine"),
        meaning: "What a million tokens cost that are sent.",
        example: "3.00",
        with: "output_usd_per_million = 15.00",
    },
    Key {
        name: "output_usd_per_million",
        form: Form::Money(&PRICE),
        unset: Unset::Words("caps on money cannot hold for it, unless it is on this machine"),
        meaning: "What a million tokens cost that come back.",
        example: "15.00",
        with: "input_usd_per_million = 3.00",
    },
];

/// A server that speaks Anthropic Messages.
pub(in crate::config) const ANTHROPIC: Table = Table {
    header: HEADER,
    variant: "kind = \"anthropic\"",
    about: "A model behind a server that speaks Anthropic Messages.",
    example: "[provider.model]",
    groups: &[
        &[
            Key {
                name: "kind",
                form: Form::Fixed("anthropic"),
                unset: Unset::Needed,
                meaning: "What it is.",
                example: r#""anthropic""#,
                with: "",
            },
            MODEL,
            Key {
                name: "base_url",
                form: Form::Text("https:// URL; http:// for this machine alone"),
                unset: Unset::Value(r#""https://api.anthropic.com""#),
                meaning: "Where the server is.",
                example: r#""http://127.0.0.1:8080""#,
                with: "",
            },
            Key {
                name: "version",
                form: Form::OneOf(&["2023-06-01", "2026-10-21"]),
                unset: Unset::Value(r#""2023-06-01""#),
                meaning: "Which version of the interface is spoken.",
                example: r#""2026-10-21""#,
                with: "",
            },
            Key {
                name: "temperature",
                form: Form::Decimal(1.0),
                unset: Unset::Words("left to the server"),
                meaning: "How freely words are chosen. Version 2026-10-21 takes none.",
                example: "0",
                with: "",
            },
        ],
        &SHARED,
    ],
};

/// A server that speaks chat completions.
pub(in crate::config) const OPENAI: Table = Table {
    header: HEADER,
    variant: "kind = \"openai\"",
    about: "A model behind a server that speaks chat completions: OpenAI, OpenRouter, Ollama, llama.cpp, vLLM, LM Studio.",
    example: "[provider.local]",
    groups: &[
        &[
            Key {
                name: "kind",
                form: Form::Fixed("openai"),
                unset: Unset::Needed,
                meaning: "What it is.",
                example: r#""openai""#,
                with: "",
            },
            MODEL,
            Key {
                name: "base_url",
                form: Form::Text("https:// URL; http:// for this machine alone"),
                unset: Unset::Value(r#""https://api.openai.com/v1""#),
                meaning: "Where the server is, with the path before `/chat/completions`.",
                example: r#""http://127.0.0.1:11434/v1""#,
                with: "",
            },
            Key {
                name: "structured",
                form: Form::OneOf(&["json-schema", "json-object", "none"]),
                unset: Unset::Value(r#""json-schema""#),
                meaning: "How the server keeps an answer to a schema, if it can.",
                example: r#""json-object""#,
                with: "",
            },
            Key {
                name: "temperature",
                form: Form::Decimal(2.0),
                unset: Unset::Words("left to the server"),
                meaning: "How freely words are chosen.",
                example: "0.2",
                with: "",
            },
        ],
        &SHARED,
    ],
};

/// Answers from files.
pub(in crate::config) const RECORDED: Table = Table {
    header: HEADER,
    variant: "kind = \"recorded\"",
    about: "Answers from files, for trying things out: nobody is asked.",
    example: "[provider.recorded]",
    groups: &[&[
        Key {
            name: "kind",
            form: Form::Fixed("recorded"),
            unset: Unset::Needed,
            meaning: "What it is.",
            example: r#""recorded""#,
            with: "",
        },
        Key {
            name: "answers",
            form: Form::Text("absolute path"),
            unset: Unset::Needed,
            meaning: "A file, or a directory with one file per attempt.",
            example: r#""/home/me/answer.md""#,
            with: "",
        },
    ]],
};
