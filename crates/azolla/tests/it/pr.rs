//! `azolla pr` with real repositories and a `gh` of the test's own, which records its calls and keeps one pull request.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::{
    notify::named,
    world::{Answer, World, answer, git},
};

/// What it is told to fail with is in `fails` and `code`; what it lists is in `listed`; what it was given is in `body`.
const GH: &str = r#"#!/bin/sh
cd "$(dirname "$0")/../gh" || exit 9
for word; do printf '[%s]' "$word"; done >> calls
echo >> calls
env > environment
[ -f "stays-$2" ] && { setsid tail -f /dev/null & echo $! > deep; mv deep pid; exec tail -f /dev/null; }
[ -f fails ] && { cat fails >&2; exit "$(cat code)"; }
case $2 in
list) cat listed ;;
create)
    cat > body
    [ -f exists ] && { mv exists listed; echo 'a pull request for branch "x" already exists' >&2; exit 1; }
    echo 'Creating draft pull request for azolla/x into main' >&2
    echo 'https://host.invalid/team/app/pull/7' ;;
edit) cat > body ;;
ready) ;;
*) exit 9 ;;
esac
"#;

const URL: &str = "https://host.invalid/team/app/pull/7";

/// A repository with a remote, a result that passed, and a gh.
struct Desk {
    world: World,
    id: String,
    branch: String,
}

impl Desk {
    fn new() -> Self {
        Self::titled("Write two")
    }

    fn titled(title: &str) -> Self {
        let world = World::with_worker("date +%s%N > a.txt; echo two >> a.txt");
        world.set_for_app("checks = [{ name = \"has two\", command = [\"grep\", \"two\", \"a.txt\"] }]");
        git(&world.path(""), &["init", "--quiet", "--bare", "remote.git"]);
        let app = world.path("app");
        git(&app, &["remote", "add", "origin", world.path("remote.git").to_str().unwrap()]);
        git(&app, &["push", "--quiet", "origin", "main"]);
        let desk = Self::at(world, title);
        desk.world.azolla(&["run", "--until-idle"]).ok();
        desk
    }

    /// With an objective that has not run.
    fn at(world: World, title: &str) -> Self {
        for directory in ["bin", "gh"] {
            fs::create_dir(world.path(directory)).unwrap();
        }
        fs::write(world.path("bin/gh"), GH).unwrap();
        fs::set_permissions(world.path("bin/gh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(world.path("gh/listed"), "[]").unwrap();
        let id = named(&world, title);
        let branch = format!("azolla/{id}");
        Self { world, id, branch }
    }

    fn pr(&self, more: &[&str]) -> Answer {
        let path = format!("{}:{}", self.world.path("bin").display(), std::env::var("PATH").unwrap());
        self.pr_with(more, &[("PATH", &path)])
    }

    fn pr_with(&self, more: &[&str], variables: &[(&str, &str)]) -> Answer {
        let arguments: Vec<&str> = ["pr", &self.id].into_iter().chain(more.iter().copied()).collect();
        self.world.azolla_env(&arguments, variables)
    }

    /// The commit that passed.
    fn commit(&self) -> String {
        let review = self.world.azolla(&["review", &self.id, "--json"]).json("review");
        review["run_record"]["commit_sha"].as_str().unwrap().to_owned()
    }

    /// What the remote's branch is at; nothing if it is not there.
    fn there(&self) -> String {
        let format = "--format=%(objectname)";
        let reference = format!("refs/heads/{}", self.branch);
        git(&self.world.path("remote.git"), &["for-each-ref", format, &reference]).trim_end().to_owned()
    }

    /// The calls of gh since the last look.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.world.path("gh/calls")).unwrap_or_default();
        let _ = fs::remove_file(self.world.path("gh/calls"));
        calls.lines().map(str::to_owned).collect()
    }

    /// The verbs of those calls.
    fn verbs(&self) -> Vec<String> {
        let verb = |call: &String| call.split(['[', ']']).nth(3).unwrap().to_owned();
        self.calls().iter().map(verb).collect()
    }

    fn body(&self) -> String {
        fs::read_to_string(self.world.path("gh/body")).unwrap()
    }

    /// From here on gh lists a pull request like this.
    fn list(&self, state: &str, head: &str, body: &str) {
        let pull = json!([{"number": 7, "url": URL, "state": state, "isDraft": true, "headRefOid": head,
                           "isCrossRepository": false, "body": body}]);
        fs::write(self.world.path("gh/listed"), pull.to_string()).unwrap();
    }

    /// From here on gh fails.
    fn fail(&self, code: u8, words: &str) {
        fs::write(self.world.path("gh/fails"), words).unwrap();
        fs::write(self.world.path("gh/code"), code.to_string()).unwrap();
    }
}

#[test]
fn a_result_is_pushed_and_opened_as_a_draft_with_its_evidence() {
    let desk = Desk::new();
    let refs = || git(&desk.world.path("app"), &["for-each-ref"]);
    let (before, commit) = (refs(), desk.commit());
    let answer = desk.pr(&[]);
    assert_eq!(answer.stdout, format!("{URL}\n"), "{}", answer.stderr);
    assert_eq!(desk.there(), commit);
    assert_eq!(refs(), before, "no ref of the operator's repository changes");
    let repo = format!("[--repo={}]", desk.world.path("remote.git").display());
    let branch = &desk.branch;
    let fields = "number,url,state,isDraft,headRefOid,isCrossRepository,body";
    assert_eq!(
        desk.calls(),
        [
            format!("[pr][list]{repo}[--head={branch}][--state=all][--limit=30][--json={fields}]"),
            format!(
                "[pr][create]{repo}[--head={branch}][--base=main][--title=Write two][--body-file=-][--draft]"
            ),
        ]
    );
    let body = desk.body();
    let review = desk.world.azolla(&["review", &desk.id, "--json"]).json("review");
    let description = review["output_bundle"]["metadata"]["pr_description_draft"].as_str().unwrap();
    assert!(body.contains(description.lines().next().unwrap()), "{body}");
    assert!(body.contains(review["run_record"]["run_id"].as_str().unwrap()), "{body}");
    let trees: Vec<_> =
        review["gate_evidence"]["checks"].as_array().unwrap().iter().map(|c| c["tree"].clone()).collect();
    let rows: Vec<_> = body.lines().filter(|line| line.starts_with("| has two ")).collect();
    assert_eq!(rows.len(), 2, "{body}");
    for (row, (words, tree)) in
        rows.iter().zip([("with the change | passed | 0", &trees[0]), ("without it | failed | 1", &trees[1])])
    {
        assert!(row.contains(words) && row.contains(tree.as_str().unwrap()), "{row}");
    }
}

/// Where there is somewhere to push it to, the review of a result says how.
#[test]
fn a_review_leads_to_the_pull_request_where_there_is_a_remote() {
    let desk = Desk::new();
    let offer = format!("As a pull request\n  azolla pr {}\n", desk.id);
    let review = || desk.world.azolla(&["review", &desk.id]).ok();
    assert!(review().ends_with(&offer), "{}", review());
    desk.world.azolla(&["objective", "confirm", &desk.id]).ok();
    assert!(review().ends_with(&offer), "{}", review());
    git(&desk.world.path("app"), &["remote", "remove", "origin"]);
    assert!(!review().contains("azolla pr"), "there is nowhere to push it to");
}

#[test]
fn run_twice_it_is_the_same_pull_request() {
    let desk = Desk::new();
    desk.pr(&[]).ok();
    desk.list("OPEN", &desk.commit(), &desk.body());
    desk.calls();
    let answer = desk.pr(&["--json"]).json("pull_request");
    assert_eq!(
        (&answer["url"], &answer["action"], &answer["pushed"]),
        (&URL.into(), &"unchanged".into(), &false.into())
    );
    assert_eq!(desk.verbs(), ["list"]);
    // People wrote around it, and its own part is an older one.
    let old = desk.body().replace("has two", "had one");
    desk.list("OPEN", &desk.commit(), &format!("Please look.\r\n\r\n{old}\r\nThanks."));
    let answer = desk.pr(&[]);
    assert_eq!(answer.stdout, format!("{URL}\n"), "{}", answer.stderr);
    assert_eq!(desk.verbs(), ["list", "edit"]);
    let body = desk.body();
    assert!(body.starts_with("Please look.\n\n<!-- azolla") && body.ends_with("-->\nThanks."), "{body}");
    assert!(body.contains("has two") && !body.contains("had one"), "{body}");
    // Ready, and under another title, because that was asked for.
    desk.list("OPEN", &desk.commit(), &body);
    desk.pr(&["--ready", "--title", "Better"]).ok();
    let calls = desk.calls();
    assert!(
        calls[1].contains("[edit]") && calls[1].ends_with("[7][--body-file=-][--title=Better]"),
        "{calls:?}"
    );
    assert!(calls[2].contains("[ready]") && calls[2].ends_with("[7]"), "{calls:?}");
}

#[test]
fn a_newer_result_replaces_the_older_one() {
    let desk = Desk::new();
    desk.pr(&[]).ok();
    let first = desk.commit();
    desk.list("OPEN", &first, &desk.body());
    desk.world.azolla(&["objective", "reject", &desk.id, "--feedback", "once more"]).ok();
    let refused = desk.pr(&[]).refused(4);
    assert!(
        refused.contains("it is approved, waiting to run") && refused.contains("hint: azolla run"),
        "{refused}"
    );
    desk.world.azolla(&["run", "--until-idle"]).ok();
    assert_ne!(desk.commit(), first);
    desk.pr(&[]).ok();
    assert_eq!(desk.there(), desk.commit());
    assert!(desk.body().contains(&desk.commit()), "{}", desk.body());
    // One that was merged or closed before was another result.
    desk.list("MERGED", &first, "");
    desk.pr(&[]).ok();
    assert_eq!(desk.verbs().last().unwrap(), "create");
}

#[test]
fn foreign_commits_are_never_pushed_over() {
    let desk = Desk::new();
    desk.pr(&[]).ok();
    let clone = desk.world.path("clone");
    git(&desk.world.path(""), &["clone", "--quiet", "--branch", &desk.branch, "remote.git", "clone"]);
    fs::write(clone.join("b.txt"), "mine\n").unwrap();
    desk.world.commit(&clone);
    git(&clone, &["push", "--quiet", "origin", "HEAD"]);
    let foreign = desk.there();
    desk.calls();
    let refused = desk.pr(&[]).refused(4);
    assert!(refused.contains(&format!("is at {foreign}, which azolla did not make")), "{refused}");
    assert!(refused.contains("hint: look at it: git -C "), "{refused}");
    assert_eq!(desk.there(), foreign);
    assert!(!desk.verbs().contains(&"create".to_owned()));
}

/// Somebody pushes between the look and the push: a git that does so first.
#[test]
fn a_branch_that_moves_meanwhile_is_not_pushed_over() {
    let desk = Desk::new();
    let remote = desk.world.path("remote.git");
    let main = git(&remote, &["rev-parse", "main"]);
    let path = std::env::var("PATH").unwrap();
    let real = std::env::split_paths(&path)
        .map(|directory| directory.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' push '*) {real} --git-dir={remote} update-ref refs/heads/{branch} {main} ;; esac\n\
         exec {real} \"$@\"\n",
        real = real.display(),
        remote = remote.display(),
        branch = desk.branch,
        main = main.trim_end()
    );
    fs::write(desk.world.path("bin/git"), script).unwrap();
    fs::set_permissions(desk.world.path("bin/git"), fs::Permissions::from_mode(0o755)).unwrap();
    let refused = desk.pr(&[]).refused(4);
    assert!(refused.contains("was moved meanwhile"), "{refused}");
    assert_eq!(desk.there(), main.trim_end());
}

#[test]
fn what_has_not_passed_is_refused() {
    let world = World::with_worker("exit 1");
    world.configure("[limits]\nattempts_max = 1");
    let desk = Desk::at(world, "Fail");
    let refused = desk.pr(&[]).refused(4);
    assert!(
        refused.contains("has no result that passed its gate: it is approved, waiting to run"),
        "{refused}"
    );
    desk.world.azolla(&["run", "--until-idle"]);
    let refused = desk.pr(&[]).refused(4);
    assert!(refused.contains(&format!("it is blocked\nhint: azolla review {}", desk.id)), "{refused}");
    assert_eq!(desk.calls(), <[String; 0]>::default());
}

#[test]
fn without_gh_or_a_remote_the_next_step_is_named() {
    let desk = Desk::new();
    // A PATH with nothing on it but git.
    let path = std::env::var("PATH").unwrap();
    let real = std::env::split_paths(&path)
        .map(|directory| directory.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    fs::create_dir(desk.world.path("only")).unwrap();
    symlink(real, desk.world.path("only/git")).unwrap();
    let refused = desk.pr_with(&[], &[("PATH", desk.world.path("only").to_str().unwrap())]).refused(1);
    assert!(refused.contains("gh was not found on PATH"), "{refused}");
    assert!(
        refused.contains("hint: install it from https://cli.github.com, then: gh auth login"),
        "{refused}"
    );
    assert_eq!(desk.there(), "");
    let app = desk.world.path("app");
    let refused = desk.pr(&["--remote", "fork"]).refused(3);
    assert!(refused.contains("has no remote fork\nhint: its remotes: origin"), "{refused}");
    git(&app, &["remote", "rename", "origin", "a"]);
    git(&app, &["remote", "add", "b", "/nowhere"]);
    let refused = desk.pr(&[]).refused(2);
    assert!(refused.contains("has several remotes: a, b\nhint: --remote NAME"), "{refused}");
    desk.pr(&["--remote", "a"]).ok();
    for name in ["a", "b"] {
        git(&app, &["remote", "remove", name]);
    }
    let refused = desk.pr(&[]).refused(4);
    assert!(refused.contains("has no remote to push to\nhint: git -C "), "{refused}");
    assert!(refused.contains(" remote add origin URL"), "{refused}");
}

/// T22: what gh says is shown, and obeyed by nobody.
#[test]
fn t22_when_gh_fails_its_own_words_are_shown_and_nothing_is_pushed() {
    let desk = Desk::new();
    desk.fail(4, "\u{1b}[31mTo get started with GitHub CLI, please run:  gh auth login\u{1b}[0m\n");
    let refused = desk.pr(&[]).refused(1);
    assert!(refused.contains("gh pr list: \u{fffd}[31mTo get started with GitHub CLI"), "{refused}");
    assert!(refused.ends_with("hint: gh auth login\n"), "{refused}");
    desk.fail(1, "error connecting to api.github.com\ncheck your internet connection\n");
    let refused = desk.pr(&[]).refused(75);
    assert!(refused.contains("hint: try again when the network is back"), "{refused}");
    desk.fail(1, "HTTP 404: Not Found\n");
    assert!(desk.pr(&[]).refused(1).contains("gh pr list: HTTP 404: Not Found\nhint: gh auth status"));
    assert_eq!(desk.there(), "");
}

/// T30: whoever stops it stops what it started, and is told how far it came.
#[test]
fn t30_stopped_it_ends_gh_with_everything_and_says_what_was_done() {
    let desk = Desk::new();
    let path = format!("{}:{}", desk.world.path("bin").display(), std::env::var("PATH").unwrap());
    let pid = desk.world.path("gh/pid");
    let stopped = |verb: &str, signal: Signal| {
        let stays = desk.world.path(&format!("gh/stays-{verb}"));
        fs::write(&stays, "").unwrap();
        let mut command = desk.world.command(&desk.world.path(""), &["pr", &desk.id]);
        command.env("AZOLLA_HOME", desk.world.home()).env("PATH", &path);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let deep = loop {
            if let Ok(pid) = fs::read_to_string(&pid) {
                break Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
            }
            std::thread::yield_now();
        };
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ended = child.wait_with_output().unwrap();
        while test_kill_process(deep).is_ok() {
            std::thread::yield_now();
        }
        fs::remove_file(&pid).unwrap();
        fs::remove_file(stays).unwrap();
        assert!(ended.stdout.is_empty());
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
    };
    let (code, told) = stopped("list", Signal::INT);
    let nothing = "error: stopped; nothing was pushed, and no pull request was opened or changed\n";
    assert!(code == Some(130) && told.contains(nothing), "{code:?} {told}");
    assert_eq!(desk.there(), "");
    let (code, told) = stopped("create", Signal::TERM);
    assert!(
        code == Some(143) && told.contains(&format!("error: stopped; {} was pushed to ", desk.branch)),
        "{told}"
    );
    assert!(told.contains("whether the pull request was opened or changed is not known\n"), "{told}");
    assert!(told.contains(&format!("hint: see how it stands and go on: azolla pr {}\n", desk.id)), "{told}");
    assert_eq!(desk.there(), desk.commit());
    assert_eq!(desk.pr(&[]).ok().trim_end(), URL);
}

#[test]
fn a_remote_that_is_away_is_temporary() {
    let desk = Desk::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://me:s3cret@{free}/app.git");
    git(&desk.world.path("app"), &["remote", "set-url", "origin", &url]);
    let refused = desk.pr(&[]).refused(75);
    assert!(refused.contains(&format!("http://{free}/app.git does not answer")), "{refused}");
    assert!(!refused.contains("s3cret"), "{refused}");
}

/// The operator's hooks do not run unseen: they are not run at all, and that is said.
#[test]
fn a_pre_push_hook_is_not_run_and_that_is_said() {
    let desk = Desk::new();
    let hook = desk.world.path("app/.git/hooks/pre-push");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\nexit 1\n", desk.world.path("ran").display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    git(&desk.world.path("app"), &["tag", "--annotate", "--message=t", "v1", &desk.commit()]);
    git(&desk.world.path("app"), &["config", "push.followTags", "true"]);
    let answer = desk.pr(&[]);
    assert!(answer.stderr.contains("the pre-push hook is not run; to run it, push by hand first: git -C "));
    answer.ok();
    assert_eq!(desk.there(), desk.commit());
    assert!(!desk.world.path("ran").exists());
    assert_eq!(git(&desk.world.path("remote.git"), &["tag"]), "", "one branch, and nothing beside it");
}

/// The operator's own configuration counts; variables that point git elsewhere, and keys of workers, do not (T29).
#[test]
fn t29_the_operators_git_configuration_counts_and_keys_stay_here() {
    let desk = Desk::new();
    let remote = desk.world.path("remote.git");
    git(&desk.world.path("app"), &["remote", "set-url", "origin", "work:app"]);
    let person = desk.world.path("person");
    fs::create_dir_all(&person).unwrap();
    let text = format!("[url {:?}]\n\tinsteadOf = work:app\n", remote.to_str().unwrap());
    fs::write(person.join(".gitconfig"), text).unwrap();
    desk.world.configure("[provider.model]\nkind = \"anthropic\"\nmodel = \"m\"\nkey_env = \"MODEL_KEY\"");
    let path = format!("{}:{}", desk.world.path("bin").display(), std::env::var("PATH").unwrap());
    let variables =
        [("PATH", path.as_str()), ("GIT_DIR", "/nowhere"), ("MODEL_KEY", "canary"), ("GH_TOKEN", "own")];
    desk.pr_with(&[], &variables).ok();
    assert_eq!(desk.there(), desk.commit());
    let seen = fs::read_to_string(desk.world.path("gh/environment")).unwrap();
    assert!(seen.contains("GH_TOKEN=own\n") && seen.contains("GH_PROMPT_DISABLED=1\n"), "{seen}");
    assert!(!seen.contains("canary") && !seen.contains("GIT_DIR"), "{seen}");
    assert!(desk.calls()[0].contains(&format!("[--repo={}]", remote.display())));
}

/// T21, T22: a title and a text that a model wrote are one argument and one input, whatever they hold.
#[test]
fn t21_t22_titles_and_texts_are_values_and_nothing_else() {
    let title = "--web `x` | <b> @team \u{1b}[31m\u{202e}";
    let desk = Desk::titled(title);
    desk.pr(&[]).ok();
    let calls = desk.calls();
    assert!(
        calls[1].contains("[--title=--web `x` | <b> @team \u{fffd}[31m\u{fffd}][--body-file=-]"),
        "{calls:?}"
    );
    let body = desk.body();
    assert!(!body.contains("@team") && !body.contains('\u{1b}') && !body.contains('\u{202e}'), "{body}");
}

#[test]
fn a_dry_run_says_everything_and_does_nothing() {
    let desk = Desk::new();
    let said = desk.pr(&["--dry-run"]).ok();
    assert!(
        said.starts_with(&format!("would push {} to origin as {}\n", desk.commit(), desk.branch)),
        "{said}"
    );
    assert!(said.contains("would open a draft pull request into main: Write two\n"), "{said}");
    assert!(said.contains("  | has two | with the change | passed | 0 |"), "{said}");
    let data = desk.pr(&["--dry-run", "--json", "--base", "develop"]).json("pull_request");
    assert_eq!(
        (&data["action"], &data["push"], &data["base"]),
        (&"open".into(), &true.into(), &"develop".into())
    );
    assert_eq!((desk.there().as_str(), desk.verbs()), ("", vec!["list".to_owned(); 2]));
    assert!(desk.pr(&["--base", "--force"]).code == 2);
}

#[test]
fn what_was_merged_stays_and_what_was_closed_is_the_operators_to_reopen() {
    let desk = Desk::new();
    desk.pr(&[]).ok();
    desk.calls();
    desk.list("MERGED", &desk.commit(), "");
    assert_eq!(desk.pr(&[]).ok(), format!("{URL}\n"));
    // Hosts delete the branch of what was merged: it does not come back.
    git(&desk.world.path("remote.git"), &["branch", "--delete", "--force", &desk.branch]);
    let said = desk.pr(&["--dry-run"]).ok();
    assert!(said.starts_with("would push nothing: it is merged\n"), "{said}");
    assert_eq!(desk.pr(&[]).ok(), format!("{URL}\n"));
    assert_eq!(desk.there(), "");
    desk.list("CLOSED", &desk.commit(), "");
    let refused = desk.pr(&[]).refused(4);
    assert!(refused.contains(&format!("{URL} is closed\nhint: gh pr reopen {URL}")), "{refused}");
    assert_eq!(desk.verbs(), ["list"; 4]);
}

/// Two of these commands at once: the slower one finds what the faster one opened.
#[test]
fn a_pull_request_that_somebody_else_opened_meanwhile_is_taken() {
    let desk = Desk::new();
    desk.list("OPEN", &desk.commit(), "Theirs.");
    fs::rename(desk.world.path("gh/listed"), desk.world.path("gh/exists")).unwrap();
    fs::write(desk.world.path("gh/listed"), "[]").unwrap();
    assert_eq!(desk.pr(&[]).ok(), format!("{URL}\n"));
    assert_eq!(desk.verbs(), ["list", "create", "list", "edit"]);
    assert!(desk.body().starts_with("Theirs.\n\n<!-- azolla"), "{}", desk.body());
}

/// The branch could not be put into the repository: the commit is not there, and how to get it is said.
#[test]
fn a_result_that_could_not_be_published_names_the_command_that_does_it() {
    let world = World::with_worker("printf two > a.txt");
    git(&world.path(""), &["init", "--quiet", "--bare", "remote.git"]);
    let app = world.path("app");
    git(&app, &["remote", "add", "origin", world.path("remote.git").to_str().unwrap()]);
    let desk = Desk::at(world, "Write two");
    git(&app, &["checkout", "--quiet", "-b", &desk.branch]);
    desk.world.azolla(&["run", "--until-idle"]).ok();
    let refused = desk.pr(&[]).refused(4);
    let (_, command) = refused.trim_end().split_once("hint: git ").expect(&refused);
    let words: Vec<&str> = command.split(' ').collect();
    git(&app, &words);
    desk.pr(&[]).ok();
    assert_eq!(desk.there(), desk.commit());
}

/// A server of git's own, ended when it is dropped.
struct Daemon(Child, String);

impl Daemon {
    #[expect(clippy::disallowed_methods, reason = "a server that is not ours")]
    fn start(base: &Path) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut command = Command::new("git");
        command.args([
            "daemon",
            "--reuseaddr",
            "--listen=127.0.0.1",
            "--enable=receive-pack",
            "--export-all",
        ]);
        command
            .arg(format!("--port={}", address.port()))
            .arg(format!("--base-path={}", base.display()))
            .arg(base);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "git daemon listens in time");
        }
        Self(child, format!("git://{address}"))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_repository_that_is_a_url_is_pushed_to_from_the_mirror() {
    let world = World::with_worker("printf two > a.txt");
    let app = world.path("app");
    git(&world.path(""), &["init", "--quiet", "--bare", "remote.git"]);
    git(&app, &["push", "--quiet", world.path("remote.git").to_str().unwrap(), "main"]);
    let daemon = Daemon::start(&world.path(""));
    let url = format!("{}/remote.git", daemon.1);
    let all = fs::read_to_string(world.config()).unwrap();
    fs::write(world.config(), all.replace(app.to_str().unwrap(), &url)).unwrap();
    let desk = Desk::at(world, "Write two");
    desk.world.azolla(&["run", "--until-idle"]).ok();
    assert_eq!(desk.there(), "");
    assert!(desk.pr(&["--remote", "origin"]).refused(2).contains("leave --remote out"));
    // On a machine that did none of the work the commit is made again first.
    fs::remove_dir_all(desk.world.home().join("mirrors/az-app.git")).unwrap();
    desk.pr(&[]).ok();
    assert_eq!(desk.there(), desk.commit());
    let calls = desk.calls();
    assert!(calls[0].contains(&format!("[--repo={url}]")), "{calls:?}");
    let again: Value = desk.pr(&["--dry-run", "--json"]).json("pull_request");
    assert_eq!(again["push"], false);
}

/// T18: what is no id gets nowhere.
#[test]
fn t18_an_id_is_checked_before_anything_else() {
    let world = World::new();
    let mut command = world.command(&world.path(""), &["pr", "--", "$(id)"]);
    command.env("AZOLLA_HOME", world.home());
    assert_eq!(answer(command, b"").code, 2);
}
