//! `[azolla.<id>]`, the checks in it, and `.azolla.toml` of a repository.

use azolla_protocol::limits;

use super::{Form, Key, Table, Unset};

const STORE: Key = Key {
    name: "store",
    form: Form::Text("PostgreSQL address"),
    unset: Unset::Words("a SQLite file in the data directory"),
    meaning: "Where the azolla keeps everything. Machines that share an azolla name the same database here.",
    example: r#""postgres://me@db/azolla""#,
    with: "",
};

const CHECKS: Key = Key {
    name: "checks",
    form: Form::Tables,
    unset: Unset::Words("those of a trusted `.azolla.toml`, or none"),
    meaning: "Commands that the gate runs on the result and on the base.",
    example: r#"[{ name = "tests", command = ["cargo", "test"], time_ms = 600000 }]"#,
    with: "",
};

/// Notes and orientation.
pub(in crate::config) const TASK_MGMT: Table = Table {
    header: "[azolla.<id>]",
    variant: "type = \"TASK_MGMT_AZOLLA\"",
    about: "An azolla for notes and orientation. `azolla init` makes `az-taskmgmt`.",
    example: "[azolla.az-taskmgmt]",
    groups: &[
        &[Key {
            name: "type",
            form: Form::Fixed("TASK_MGMT_AZOLLA"),
            unset: Unset::Needed,
            meaning: "What it is.",
            example: r#""TASK_MGMT_AZOLLA""#,
            with: "",
        }],
        &[
            Key {
                name: "triage_provider",
                form: Form::Text("name of a provider that answers, or `\"builtin\"`"),
                unset: Unset::Value(r#""builtin""#),
                meaning: "Who turns notes into candidates. `builtin` needs no model and costs nothing.",
                example: r#""local""#,
                with: "",
            },
            Key {
                name: "manifest_provider",
                form: Form::Text("name of a provider that answers, or `\"builtin\"`"),
                unset: Unset::Value(r#""builtin""#),
                meaning: "Who gives orientation.",
                example: r#""local""#,
                with: "",
            },
            Key {
                name: "manifest_every",
                form: Form::Period,
                unset: Unset::Value(r#""none""#),
                meaning: "How often orientation is given unasked, a minute at the least. Otherwise only on `azolla manifest`.",
                example: r#""6h""#,
                with: "",
            },
        ],
        &[STORE],
    ],
};

/// One repository.
pub(in crate::config) const CODE_PATCH: Table = Table {
    header: "[azolla.<id>]",
    variant: "type = \"CODE_PATCH_AZOLLA\"",
    about: "An azolla for one repository. `azolla init` inside the repository adds it.",
    example: "[azolla.az-app]",
    groups: &[
        &[
            Key {
                name: "type",
                form: Form::Fixed("CODE_PATCH_AZOLLA"),
                unset: Unset::Needed,
                meaning: "What it is.",
                example: r#""CODE_PATCH_AZOLLA""#,
                with: "",
            },
            Key {
                name: "repo",
                form: Form::Text("absolute path, or URL"),
                unset: Unset::Needed,
                meaning: "The repository. Machines that share an azolla need a URL that all of them reach.",
                example: r#""/home/me/app""#,
                with: "",
            },
            Key {
                name: "base_branch",
                form: Form::Text("name of a branch"),
                unset: Unset::Needed,
                meaning: "The branch that work starts from.",
                example: r#""main""#,
                with: "",
            },
            Key {
                name: "provider",
                form: Form::Text("name of a provider"),
                unset: Unset::Words("the only provider there is"),
                meaning: "Who does the work.",
                example: r#""agent""#,
                with: "",
            },
            Key {
                name: "max_concurrent",
                form: Form::Whole(&limits::MAX_CONCURRENT),
                unset: Unset::OfLimit,
                meaning: "Runs at once.",
                example: "2",
                with: "",
            },
        ],
        &[CHECKS],
        &[STORE],
    ],
};

/// One check.
pub(in crate::config) const CHECK: Table = Table {
    header: "checks = [{ … }]",
    variant: "",
    about: "One check, in `[azolla.<id>]` or in `.azolla.toml`. There are at most 400, each with a name of its own.",
    example: "",
    groups: &[&[
        Key {
            name: "name",
            form: Form::Text("text of at most 200 characters"),
            unset: Unset::Needed,
            meaning: "What it is called on screens and on record.",
            example: r#""tests""#,
            with: "",
        },
        Key {
            name: "command",
            form: Form::Words("list of texts: the program and its arguments"),
            unset: Unset::Needed,
            meaning: "What is run, in the root of the tree and without a shell. It passes with exit code 0.",
            example: r#"["cargo", "test"]"#,
            with: "",
        },
        Key {
            name: "time_ms",
            form: Form::Whole(&limits::CHECK_MS),
            unset: Unset::Words("`check_ms` of `[limits]`"),
            meaning: "When it is ended and counts as failed.",
            example: "60000",
            with: "",
        },
    ]],
};

/// What a repository says about itself.
pub(in crate::config) const REPOSITORY: Table = Table {
    header: "",
    variant: "",
    about: "`.azolla.toml` at the root of a repository: read from the base commit, never from a checkout, and only after \
            `azolla trust` pinned its bytes. It has at most 64 KiB.",
    example: "",
    groups: &[&[
        Key {
            name: "checks",
            form: Form::Tables,
            unset: Unset::Value("[]"),
            meaning: "Commands that the gate runs, where the operator's configuration has none.",
            example: r#"[{ name = "tests", command = ["sh", "check.sh"] }]"#,
            with: "",
        },
        Key {
            name: "budget_ms",
            form: Form::Whole(&limits::BUDGET_PATCH_MS),
            unset: Unset::Words("`budget_patch_ms` of `[limits]`"),
            meaning: "The time of a run. The smaller one of this and the operator's holds.",
            example: "300000",
            with: "",
        },
    ]],
};
