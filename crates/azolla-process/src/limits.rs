//! Limits of the system, set in the program's process before it becomes the program.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::ResourceLimits;

/// Sets the limits of the calling process, for good: the program cannot raise them. Runs between fork and exec.
pub(crate) fn apply(limits: ResourceLimits) -> io::Result<()> {
    let ResourceLimits { cpu_seconds, address_space, file_size, open_files, processes } = limits;
    // One second between SIGXCPU and SIGKILL.
    limit(Resource::Cpu, cpu_seconds, 1)?;
    limit(Resource::As, address_space, 0)?;
    limit(Resource::Fsize, file_size, 0)?;
    limit(Resource::Nofile, open_files, 0)?;
    limit(Resource::Nproc, processes, 0)
}

/// Turns core dumps off.
#[cfg(target_os = "linux")]
pub(crate) fn no_core_dumps() -> io::Result<()> {
    limit(Resource::Core, Some(0), 0)
}

fn limit(resource: Resource, value: Option<u64>, margin: u64) -> io::Result<()> {
    let Some(value) = value else { return Ok(()) };
    // Only root may go above what it has, and nobody should.
    let allowed = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let maximum = value.saturating_add(margin).min(allowed);
    setrlimit(resource, Rlimit { current: Some(value.min(maximum)), maximum: Some(maximum) })?;
    Ok(())
}
