//! What was done, told on a terminal: the id of what was made on stdout, the rest on stderr.

use crate::{
    acts::Done,
    screen::{remark, show_line},
};

/// Tells all of it.
pub(super) fn tell(done: &Done) -> anyhow::Result<()> {
    tell_made(done)?;
    remark(&done.line());
    for more in &done.remarks {
        remark(more);
    }
    Ok(())
}

/// Tells the id alone. What was made exists: whoever cannot be told on stdout is told elsewhere, and does not make it
/// twice.
pub(super) fn tell_made(done: &Done) -> anyhow::Result<()> {
    let Some(id) = &done.made else { return Ok(()) };
    show_line(id).map_err(|error| {
        remark(&format!("{id} was created; only its id could not be written to stdout"));
        anyhow::Error::from(error).context("stdout cannot be written")
    })
}
