//! Collects a process that was ended when nobody could wait for it.

use std::thread;

/// Does `wait` on a thread of its own, so that dropping a future blocks no runtime and needs none. If there is no
/// thread to be had, which is what this tells, a killed process stays a zombie until this one ends: it runs no more in
/// any case.
pub(crate) fn later(wait: impl FnOnce() + Send + 'static) -> bool {
    thread::Builder::new().name("azolla-reap".to_owned()).spawn(wait).is_ok()
}
