//! One running program, held together in either way.

use std::{
    io,
    process::{Command, ExitStatus},
    sync::Arc,
    time::{Duration, Instant},
};

#[cfg(target_os = "linux")]
use crate::tree::Tree;
use crate::{Bounds, Containment, group::Group, sandbox::Confined};

/// How long what was killed has to be gone. More is needed only by a process inside a system call that does not
/// return; then the caller goes on, and the waiting is done elsewhere.
pub(crate) const SETTLE: Duration = Duration::from_secs(1);

/// A program with everything that it starts. Dropping it ends all of that and blocks nobody.
pub(crate) enum Contained {
    Group(Group),
    #[cfg(target_os = "linux")]
    Tree(Tree),
}

impl Contained {
    /// Starts `command`. Only what is in a tree can be confined.
    pub(crate) fn spawn(
        command: &mut Command,
        bounds: &Bounds,
        #[cfg_attr(not(target_os = "linux"), expect(unused_variables))] confined: Arc<Confined>,
    ) -> io::Result<Self> {
        match bounds.containment {
            #[cfg(target_os = "linux")]
            Containment::Tree => Tree::spawn(command, bounds.limits, confined).map(Self::Tree),
            #[cfg(not(target_os = "linux"))]
            Containment::Tree => Group::spawn(command, bounds.limits, None).map(Self::Group),
            Containment::Group => Group::spawn(command, bounds.limits, Some(bounds.grace)).map(Self::Group),
        }
    }

    /// Waits until the program itself has ended.
    pub(crate) async fn exited(&mut self) {
        match self {
            Self::Group(group) => group.exited().await,
            #[cfg(target_os = "linux")]
            Self::Tree(tree) => tree.exited().await,
        }
    }

    /// Asks everything to stop (SIGTERM), as far as that is done by `until`.
    pub(crate) fn ask(&self, #[cfg_attr(not(target_os = "linux"), expect(unused_variables))] until: Instant) {
        match self {
            Self::Group(group) => group.ask(),
            #[cfg(target_os = "linux")]
            Self::Tree(tree) => tree.ask(until),
        }
    }

    /// Kills what is left and waits until it is gone, for [`SETTLE`] at most. Returns how the program ended, if it
    /// has.
    pub(crate) async fn end(&mut self) -> Option<ExitStatus> {
        match self {
            Self::Group(group) => group.end().await,
            #[cfg(target_os = "linux")]
            Self::Tree(tree) => tree.end().await,
        }
    }
}
