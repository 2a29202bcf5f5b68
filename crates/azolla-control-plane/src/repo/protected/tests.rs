//! Which paths are named first, and that a name like them is not.

use super::{Protected, protected};

#[test]
fn t17_what_runs_or_steers_what_runs_is_named_with_its_reason() {
    let table: [(Option<Protected>, &[&str]); 6] = [
        (
            Some(Protected::Ci),
            &[
                ".github/workflows/a.yml",
                ".gitlab/x",
                "a/.gitlab-ci.yml",
                "Jenkinsfile",
                ".drone.yml",
                "a/.circleci/config.yml",
                "a/.circleci/b/c",
            ],
        ),
        (
            Some(Protected::Hook),
            &["lefthook.yml", ".gitattributes", ".husky/pre-commit", "a/hooks/b", ".githooks/hooks.lock"],
        ),
        (
            Some(Protected::AgentConfig),
            &[".aider.conf.yml", "a/AGENTS.md", ".cursorrules", ".claude/settings.json"],
        ),
        (
            Some(Protected::LockFile),
            &["Cargo.lock", "a/package-lock.json", "gradle.lockfile", ".cargo/Cargo.lock"],
        ),
        (
            Some(Protected::BuildScript),
            &[
                "Dockerfile.dev",
                "rules.mk",
                "build.rs",
                "package.json",
                "conftest.py",
                "pom.xml",
                "flake.nix",
                ".cargo/config.toml",
                ".mvn/a",
            ],
        ),
        (
            None,
            &[
                "src/main.rs",
                "README.md",
                "hooks",
                ".circleci",
                ".claude",
                ".cargo",
                "a.github/x",
                "lock",
                "mk",
            ],
        ),
    ];
    for (expected, paths) in table {
        for path in paths {
            assert_eq!(protected(path), expected, "{path}");
        }
    }
}
