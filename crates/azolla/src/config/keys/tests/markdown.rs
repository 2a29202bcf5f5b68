//! docs/configuration.md, made of the table of keys.

use std::fmt::Write as _;

use super::{CHECK_TABLE, Key, REPOSITORY_TABLE, Table, USER_TABLES};

/// Returns the whole document.
pub(super) fn markdown() -> String {
    let mut text = OPENING.to_owned();
    for table in USER_TABLES {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n## {}\n\n{}\n\n", title(table), table.about);
        add_keys(&mut text, table);
    }
    let _ = write!(text, "\n## `{}`\n\n{}\n\n", CHECK_TABLE.header, CHECK_TABLE.about);
    add_keys(&mut text, CHECK_TABLE);
    let _ = write!(text, "\n## `.azolla.toml`\n\n{}\n\n", REPOSITORY_TABLE.about);
    add_keys(&mut text, REPOSITORY_TABLE);
    text
}

const OPENING: &str = "\
# Configuration

<!-- Made from the program: AZOLLA_UPDATE_CONFIG=1 cargo nextest run -p azolla configuration -->

`config.toml` is in `$AZOLLA_HOME`, or else in `azolla` of the XDG configuration directory (`~/.config/azolla`). `azolla init` writes
the first one, with every table as a comment; `azolla config` shows what is in effect and from which line; `azolla doctor` checks it. A
flag comes before the environment, the environment before this file, this file before the default. A key that is not known is an error
that names the nearest one. No key and no token stands in this file: it names the variable or the file that holds it.

Environment: `AZOLLA_HOME` is where configuration and data are (`--home`), `AZOLLA_ID` the azolla that commands mean (`--azolla`),
`AZOLLA_STORE` the store of `export`, `import` and `verify` (`--store`). `AZOLLA_PAGER` or `PAGER` shows long pages, `cat` or nothing
turns that off; `VISUAL` or `EDITOR` takes what is written by hand. `NO_COLOR` and `TERM=dumb` leave colours out, `CLICOLOR_FORCE=1` keeps
them in a pipe.
";

fn title(table: &Table) -> String {
    match table.variant {
        "" => format!("`{}`", table.header),
        variant => format!("`{}`, `{variant}`", table.header),
    }
}

fn add_keys(text: &mut String, table: &Table) {
    text.push_str("| key | takes | without it | meaning | example |\n|---|---|---|---|---|\n");
    for key in table.keys() {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | `{}` |",
            key.name,
            key.takes(),
            key.without(),
            meaning(key),
            // A column ends at such a line.
            key.example.replace('|', "\\|")
        );
    }
}

fn meaning(key: &Key) -> String {
    match key.with {
        "" => key.meaning.to_owned(),
        with => format!("{} Only with `{with}`.", key.meaning),
    }
}
