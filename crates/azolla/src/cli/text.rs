//! Text from the command line, or from stdin where `-` is given.

use std::io::Read;

use crate::failure::Failure;

/// The most bytes that are read from stdin: more than any field of an artifact takes.
const STDIN_BYTES_MAX: u64 = 1024 * 1024;

/// Returns the text itself, or all of stdin for `-`.
pub(crate) fn given(text: String) -> anyhow::Result<String> {
    if text != "-" {
        return Ok(text);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(STDIN_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > STDIN_BYTES_MAX {
        return Err(Failure::usage("stdin has more than 1 MiB, which is the most that is taken").into());
    }
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage("stdin is not UTF-8"))?;
    Ok(text.trim_end().to_owned())
}
