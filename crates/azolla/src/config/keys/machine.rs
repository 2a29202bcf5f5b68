//! `[notify]`, `[sandbox]`, `[http]` and `[peer.<id>]`: what this machine lets in and out.

use super::{Form, Key, Table, Unset};

/// How the operator is told that something waits.
pub(in crate::config) const NOTIFY: Table = Table {
    header: "[notify]",
    variant: "",
    about: "How you are told, while `azolla up` or `azolla run` works, that something waits for you or is finished.",
    example: "[notify]",
    groups: &[&[
        Key {
            name: "desktop",
            form: Form::Flag,
            unset: Unset::Value("true"),
            meaning: "Whether it pops up, where there is a desktop to show it on.",
            example: "false",
            with: "",
        },
        Key {
            name: "command",
            form: Form::Words(
                "list of texts: the program, on PATH or by its absolute path, and its arguments",
            ),
            unset: Unset::Words("none"),
            meaning: "What gets one JSON document on stdin for each.",
            example: r#"["my-notifier", "--fast"]"#,
            with: "",
        },
        Key {
            name: "quiet",
            form: Form::Text("two times of the day, local time"),
            unset: Unset::Words("never"),
            meaning: "When nothing is sent. What falls into it is summed up once afterwards.",
            example: r#""22:00-07:00""#,
            with: "",
        },
    ]],
};

/// What checks and programs reach.
pub(in crate::config) const SANDBOX: Table = Table {
    header: "[sandbox]",
    variant: "",
    about: "What checks and programs reach besides their worktree and the system.",
    example: "[sandbox]",
    groups: &[&[
        Key {
            name: "mode",
            form: Form::OneOf(&["off", "best-effort", "required"]),
            unset: Unset::Value(r#""best-effort""#),
            meaning: "Whether they are confined: not at all, as far as this machine can, or not run otherwise.",
            example: r#""required""#,
            with: "",
        },
        Key {
            name: "read",
            form: Form::Paths,
            unset: Unset::Value("[]"),
            meaning: "What all of them may read, such as a toolchain in your home.",
            example: r#"["~/.cargo"]"#,
            with: "",
        },
        Key {
            name: "write",
            form: Form::Paths,
            unset: Unset::Value("[]"),
            meaning: "What all of them may write, such as a cache.",
            example: r#"["~/.cache/my-build"]"#,
            with: "",
        },
        Key {
            name: "network",
            form: Form::Flag,
            unset: Unset::Value("false"),
            meaning: "Whether all of them reach the network.",
            example: "true",
            with: "",
        },
    ]],
};

/// How this machine answers.
pub(in crate::config) const HTTP: Table = Table {
    header: "[http]",
    variant: "",
    about: "How `azolla up` answers over HTTP.",
    example: "[http]",
    groups: &[&[
        Key {
            name: "listen",
            form: Form::Text("address and port"),
            unset: Unset::Value(r#""127.0.0.1:7517""#),
            meaning: "Where it listens. Beyond this machine only with a certificate, or with `allow_insecure`.",
            example: r#""0.0.0.0:7517""#,
            with: "",
        },
        Key {
            name: "tls_cert",
            form: Form::Path,
            unset: Unset::Words("nothing is encrypted"),
            meaning: "The certificate and those above it, in PEM.",
            example: r#""/etc/azolla/desk.crt""#,
            with: r#"tls_key = "/etc/azolla/desk.key""#,
        },
        Key {
            name: "tls_key",
            form: Form::Path,
            unset: Unset::Words("nothing is encrypted"),
            meaning: "The key of the certificate, in PEM.",
            example: r#""/etc/azolla/desk.key""#,
            with: r#"tls_cert = "/etc/azolla/desk.crt""#,
        },
        Key {
            name: "hosts",
            form: Form::Words("list of names or addresses, without a port"),
            unset: Unset::Value("[]"),
            meaning: "What it is reached by, besides this machine's own names. A request for any other host is refused.",
            example: r#"["desk.example"]"#,
            with: "",
        },
        Key {
            name: "allow_insecure",
            form: Form::Flag,
            unset: Unset::Value("false"),
            meaning: "Whether it may listen to other machines without encryption. It is on record.",
            example: "true",
            with: "",
        },
    ]],
};

/// An azolla of another machine.
pub(in crate::config) const PEER: Table = Table {
    header: "[peer.<id>]",
    variant: "",
    about: "An azolla of another machine. `azolla peer add` adds it and makes its token; it counts from the next start of \
            `azolla up`.",
    example: "[peer.az-elsewhere]",
    groups: &[&[
        Key {
            name: "type",
            form: Form::OneOf(&["CODE_PATCH_AZOLLA", "TASK_MGMT_AZOLLA"]),
            unset: Unset::Needed,
            meaning: "What it is. A `TASK_MGMT_AZOLLA` may read objectives and pauses here, the other nothing.",
            example: r#""CODE_PATCH_AZOLLA""#,
            with: "",
        },
        Key {
            name: "url",
            form: Form::Text("https:// URL; http:// for this machine alone"),
            unset: Unset::Words("it is not asked, it only asks"),
            meaning: "Where it is asked.",
            example: r#""https://elsewhere:7517""#,
            with: r#"token_file = "~/elsewhere.token""#,
        },
        Key {
            name: "token_file",
            form: Form::Path,
            unset: Unset::Words("what `token_env` names"),
            meaning: "The file, mode 600, of the token that it is asked with.",
            example: r#""~/elsewhere.token""#,
            with: r#"url = "https://elsewhere:7517""#,
        },
        Key {
            name: "token_env",
            form: Form::Text("name of a variable"),
            unset: Unset::Words("what `token_file` names"),
            meaning: "The variable that holds that token. One of the two is enough.",
            example: r#""ELSEWHERE_TOKEN""#,
            with: r#"url = "https://elsewhere:7517""#,
        },
        Key {
            name: "ca_file",
            form: Form::Path,
            unset: Unset::Words("the authorities that the system trusts"),
            meaning: "The certificates that its server is known by, in PEM.",
            example: r#""/etc/azolla/elsewhere.crt""#,
            with: "",
        },
    ]],
};
