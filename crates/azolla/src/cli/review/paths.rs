//! The paths that a change touches, and those that a reviewer looks at first (T17).

use azolla_control_plane::repo::{self, Protected};

/// Returns those of `paths` that run, or steer what runs, each with why in a few words (T17).
pub(crate) fn protected_paths(paths: &[String]) -> Vec<(&str, &'static str)> {
    let protected = paths.iter().filter_map(|path| Some((path.as_str(), why(repo::protected(path)?))));
    protected.collect()
}

fn why(protected: Protected) -> &'static str {
    match protected {
        Protected::Ci => "runs in CI",
        Protected::Hook => "runs as a hook",
        Protected::AgentConfig => "steers an agent or an editor",
        Protected::BuildScript => "runs when it is built",
        Protected::LockFile => "locks dependencies",
    }
}

#[cfg(test)]
mod tests;
