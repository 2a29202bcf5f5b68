//! Paths that a review names first (T17): what runs, or steers what runs, when the patch is merged.

/// Why a path is worth a second look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protected {
    /// Runs in continuous integration.
    Ci,
    /// Runs at git's events on a developer's machine.
    Hook,
    /// Tells agents what to do or what they may do.
    AgentConfig,
    /// Runs when the project is built, tested or installed.
    BuildScript,
    /// Says which code of others is used.
    LockFile,
}

/// Returns why a path is protected; nothing for an ordinary one. A patch may change it all the same.
pub fn protected(path: &str) -> Option<Protected> {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let in_directory = |names: &[&str]| path.split('/').rev().skip(1).any(|part| names.contains(&part));
    if is_ci(&path, name) || in_directory(&[".circleci", ".buildkite", ".woodpecker", ".gitea", ".forgejo"]) {
        Some(Protected::Ci)
    } else if is_hook(name) || in_directory(&[".husky", ".githooks", "githooks", ".hooks", "hooks"]) {
        Some(Protected::Hook)
    } else if is_agent_config(name)
        || in_directory(&[".claude", ".cursor", ".codex", ".gemini", ".windsurf", ".vscode", ".devcontainer"])
    {
        Some(Protected::AgentConfig)
    } else if is_lock_file(name) {
        Some(Protected::LockFile)
    } else if is_build_script(name) || in_directory(&[".cargo", ".mvn"]) {
        Some(Protected::BuildScript)
    } else {
        None
    }
}

fn is_ci(path: &str, name: &str) -> bool {
    path.starts_with(".github/")
        || path.starts_with(".gitlab/")
        || name.starts_with(".gitlab-ci")
        || matches!(name, "jenkinsfile" | ".travis.yml" | "azure-pipelines.yml" | "bitbucket-pipelines.yml")
        || matches!(name, "appveyor.yml" | ".appveyor.yml" | ".drone.yml" | ".cirrus.yml" | "cloudbuild.yaml")
}

fn is_hook(name: &str) -> bool {
    name.starts_with("lefthook.")
        || matches!(name, ".pre-commit-config.yaml" | ".gitattributes" | ".lintstagedrc")
}

fn is_agent_config(name: &str) -> bool {
    name.starts_with(".aider")
        || matches!(name, "agents.md" | "claude.md" | "gemini.md" | ".mcp.json" | "mcp.json" | ".azolla.toml")
        || matches!(
            name,
            ".cursorrules" | ".windsurfrules" | ".goosehints" | ".envrc" | "copilot-instructions.md"
        )
}

fn is_lock_file(name: &str) -> bool {
    name.ends_with(".lock")
        || matches!(
            name,
            "package-lock.json" | "npm-shrinkwrap.json" | "pnpm-lock.yaml" | "bun.lockb" | "go.sum"
        )
        || matches!(
            name,
            "packages.lock.json" | "gradle.lockfile" | "package.resolved" | ".terraform.lock.hcl"
        )
}

fn is_build_script(name: &str) -> bool {
    name.starts_with("dockerfile")
        || name.ends_with(".mk")
        || matches!(
            name,
            "build.rs" | "makefile" | "gnumakefile" | "justfile" | "cmakelists.txt" | "meson.build"
        )
        || matches!(
            name,
            "package.json" | ".npmrc" | ".yarnrc.yml" | "setup.py" | "setup.cfg" | "pyproject.toml"
        )
        || matches!(
            name,
            "conftest.py" | "tox.ini" | "noxfile.py" | "cargo.toml" | "rust-toolchain.toml" | "go.mod"
        )
        || matches!(
            name,
            "build.gradle" | "build.gradle.kts" | "settings.gradle" | "pom.xml" | "rakefile" | "gemfile"
        )
        || matches!(
            name,
            "build.zig" | "build.sbt" | "docker-compose.yml" | "compose.yaml" | "flake.nix" | "configure"
        )
}

#[cfg(test)]
mod tests;
