//! The pieces of `azolla init`.

use std::fs;

use super::*;

#[test]
fn a_command_is_split_as_a_shell_would_and_run_by_none() {
    let split = |command: &str| words::split(command).map(|words| words.join("|"));
    assert_eq!(split("a  b 'c d' \"e \\\" f\" g\\ h ''").as_deref(), Ok("a|b|c d|e \" f|g h|"));
    assert_eq!(split("sh -c 'x; $(id)'").as_deref(), Ok("sh|-c|x; $(id)"));
    assert_eq!(split(" ").as_deref(), Ok(""));
    assert!(split("'a").is_err() && split("a\\").is_err());
}

#[test]
fn an_id_is_made_from_any_name() {
    for (name, body) in
        [("App", "app"), ("my repo.git", "my-repo-git"), ("..", ""), ("Ünï", "n"), ("a_b", "a-b")]
    {
        assert_eq!(id_body(name), body);
    }
    let config = Config::parse(
        "[azolla.az-app]\ntype = \"CODE_PATCH_AZOLLA\"\nrepo = \"/x/app\"\nbase_branch = \"main\"\n",
        Path::new("c"),
    );
    let config = config.unwrap();
    assert_eq!(free_id(Path::new("/y/app"), &config).as_str(), "az-app-2");
    assert_eq!(free_id(Path::new("/"), &config).as_str(), "az-repository");
}

#[tokio::test]
async fn the_default_branch_is_found_in_every_kind_of_repository() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let put = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("plain/.git/HEAD", "ref: refs/heads/topic\n");
    put("plain/src/x", "");
    put("plain/.git/worktrees/w/HEAD", "ref: refs/heads/other\n");
    put("plain/.git/worktrees/w/commondir", "../..\n");
    put("w/.git", &format!("gitdir: {}/plain/.git/worktrees/w\n", root.display()));
    put("bare/HEAD", "ref: refs/heads/main\n");
    fs::create_dir_all(root.join("bare/objects")).unwrap();
    fs::create_dir_all(root.join("bare/refs")).unwrap();
    put("detached/.git/HEAD", "1234\n");
    let base = async |path: &str| Checkout::around(&root.join(path)).unwrap().base_branch().await.unwrap();
    assert_eq!(Checkout::around(&root.join("plain/src")).unwrap().root, root.join("plain"));
    assert_eq!(base("plain").await.as_deref(), Some("topic"));
    assert_eq!(base("w").await.as_deref(), Some("other"));
    assert_eq!(base("bare").await.as_deref(), Some("main"));
    assert_eq!(base("detached").await, None);
    assert_eq!(Checkout::around(Path::new("/")), None);
    // What others start from goes before what happens to be checked out, if it is here.
    put("plain/.git/refs/remotes/origin/HEAD", "ref: refs/remotes/origin/trunk\n");
    assert_eq!(base("plain").await.as_deref(), Some("topic"));
    put("plain/.git/packed-refs", "# pack-refs\n1234 refs/heads/trunk\n");
    assert_eq!((base("plain").await.as_deref(), base("w").await.as_deref()), (Some("trunk"), Some("trunk")));
}
