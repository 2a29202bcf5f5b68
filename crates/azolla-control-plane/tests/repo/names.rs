//! Names of objectives, branches and repositories (T18 to T20).

use azolla_control_plane::repo::{
    Candidate, GitRepository, Published, RepoRef, Repository, RepositoryError, check_branch, check_repo_ref,
};
use azolla_protocol::ObjectiveId;

use crate::support::{GOOD, World};

#[test]
fn t18_an_objective_id_that_is_more_than_a_name_is_refused() {
    let long = format!("obj-{}", "x".repeat(300));
    for id in
        ["--force", "$(id)", "obj-$(id)", "obj-;", "obj-..", "obj-x.lock", "obj-@{-1}", "obj-a/b", &long]
    {
        assert!(ObjectiveId::new(id).is_err(), "{id}");
    }
}

#[test]
fn t18_a_base_branch_that_is_more_than_a_name_is_refused() {
    let long = "x".repeat(201);
    for name in [
        "", "-x", "--force", "a..b", "a.lock", "a.lock/b", "@{-1}", "@", "HEAD", "a b", "a~1", "a^", "a:b",
        "a?", "a*", "a[", "a\\b", "a//b", "/a", "a/", "a.", ".a", "a/.b", "a\nb", "a\u{1b}b", "$(id)", "a;b",
        "a|b", &long,
    ] {
        assert!(check_branch(name).is_err(), "{name:?}");
    }
    for name in ["main", "release/1.2", "feature/x_y-z", "größe", "dependabot/npm+x#1", "a@b"] {
        assert!(check_branch(name).is_ok(), "{name}");
    }
}

#[tokio::test]
async fn t18_a_branch_in_the_way_of_the_name_is_told_with_a_command_that_works() {
    for (branch, other) in [("azolla", "azolla"), ("azolla/obj-1/x", "azolla/obj-1/x")] {
        for world in World::all() {
            world.run(&["branch", branch]);
            let (repository, attempt) = world.begin().await;
            let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
            repository.project(&attempt, &taken.commit).await.unwrap();
            let Published::ByHand { reason, command } =
                repository.publish(&attempt, &taken.commit, &[]).await.unwrap()
            else {
                panic!("published beside {branch}");
            };
            assert!(reason.contains(other), "{reason}");
            assert_eq!(world.run_in(&world.repo, &words(&command)).0, 0, "{command}");
            assert_eq!(world.run(&["rev-parse", "azolla-wo-1-1"]), taken.commit);
        }
    }
}

/// Returns the arguments of a `git …` command.
pub(crate) fn words(command: &str) -> Vec<&str> {
    command.strip_prefix("git ").unwrap().split(' ').collect()
}

#[test]
fn t19_options_and_programs_in_place_of_a_repository_are_refused() {
    for name in [
        "",
        "-u",
        "--upload-pack=/tmp/x",
        "--upload-pack=touch /tmp/x",
        "ext::sh -c id",
        "fd::17/x",
        "https::https://example.org/x",
        "ssh://-oProxyCommand=id/x",
        "ssh://%2doProxyCommand=id/x",
        "ssh://user@-oProxyCommand=id/x",
        "ssh://-x@host/x",
        "ssh://host:-22/x",
        "-oProxyCommand=id:x",
        "host:-x",
        "host:a b",
        "ssh://host/-x",
        "https://user:secret@example.org/x",
        "https://example.org",
        "https://exa mple.org/x",
        "a\nb",
        "a\u{0}b",
        "ssh://[::1]-x/y",
        "ssh://[::1]%2d:22/y",
    ] {
        assert!(check_repo_ref(name).is_err(), "{name:?}");
    }
}

#[test]
fn t19_a_password_in_a_url_is_not_repeated() {
    let told = check_repo_ref("https://user:s3cret@example.org/x").unwrap_err().to_string();
    assert!(!told.contains("s3cret"), "{told}");
}

#[test]
fn t20_file_urls_and_unknown_transports_are_refused() {
    for name in [
        "file:///etc",
        "FILE:///etc",
        "ftp://host/x",
        "rsync://host/x",
        "javascript://x/y",
        "persistent-https://h/x",
    ] {
        assert!(check_repo_ref(name).is_err(), "{name:?}");
    }
    let url = |url: &str, protocol| RepoRef::Url { url: url.to_owned(), protocol };
    for (name, expected) in [
        ("/srv/x", RepoRef::Path("/srv/x".into())),
        ("../x", RepoRef::Path("../x".into())),
        ("./a:b", RepoRef::Path("./a:b".into())),
        ("https://example.org/x.git", url("https://example.org/x.git", "https")),
        ("ssh://git@example.org:2222/x", url("ssh://git@example.org:2222/x", "ssh")),
        ("git@example.org:x/y.git", url("git@example.org:x/y.git", "ssh")),
        ("git://[::1]:9418/x", url("git://[::1]:9418/x", "git")),
    ] {
        assert_eq!(check_repo_ref(name).unwrap(), expected);
    }
}

#[tokio::test]
async fn t20_an_operators_configuration_cannot_redirect_a_fetch_to_a_program() {
    for world in World::all() {
        let mark = world.dir.path().join("mark");
        let helper = format!("url.ext::touch {} .insteadOf", mark.display());
        world.run(&["config", &helper, world.dir.path().to_str().unwrap()]);
        world.run(&["config", "uploadpack.packObjectsHook", &format!("touch {}", mark.display())]);
        let (repository, attempt) = world.begin().await;
        let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
        repository.project(&attempt, &taken.commit).await.unwrap();
        assert_eq!(repository.publish(&attempt, &taken.commit, &[]).await.unwrap(), Published::Done);
        assert!(!mark.exists());
    }
}

#[tokio::test]
async fn a_url_is_never_pushed_to_unasked() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
    let mut settings = world.settings();
    settings.repo = "https://example.invalid/x.git".to_owned();
    let repository = GitRepository::open(settings).unwrap();
    let published = repository.publish(&attempt, &taken.commit, &[]).await.unwrap();
    let Published::ByHand { command, .. } = published else { panic!("published to a URL") };
    assert!(command.contains("push https://example.invalid/x.git"), "{command}");
    let told = repository.base("main").await.unwrap_err();
    assert!(matches!(told, RepositoryError::Unavailable(_)), "{told}");
}
