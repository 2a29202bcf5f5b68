//! Whatever is changed: said in any format, it becomes the same file (T32).

use azolla_control_plane::repo::{Candidate, GitRepository, Repository};
use proptest::{
    collection::vec,
    prelude::*,
    sample::subsequence,
    test_runner::{Config, TestRunner},
};
use serde_json::json;

use crate::support::{World, attempt};

/// A file and one change of it: lines before, lines that go, lines that come, lines after.
#[derive(Clone, Debug)]
struct Splice {
    before: Vec<String>,
    old: Vec<String>,
    new: Vec<String>,
    after: Vec<String>,
    is_crlf: bool,
}

fn splice() -> impl Strategy<Value = Splice> {
    // Each old line is there once, so that every format can say which it is.
    let lines: Vec<String> = (0..30)
        .map(|n| match n % 5 {
            0 => format!("fn f{n}() {{"),
            1 => format!("    let x{n} = \"é\";"),
            2 => format!("\tcall({n});"),
            3 => format!("+ - @@ {n} ---"),
            _ => format!("}} // {n}"),
        })
        .collect();
    let new = prop_oneof![
        Just(""),
        Just("new"),
        Just("    deep"),
        Just("--- a/x"),
        Just("+++ b/x"),
        Just("@@ -1 +1 @@")
    ];
    (subsequence(lines, 6..30), any::<prop::sample::Index>(), 1..4_usize, vec(new, 0..4), any::<bool>())
        .prop_map(|(lines, at, count, new, is_crlf)| {
            // A whole file whose first lines are those of a diff would be taken for one.
            let at = 1 + at.index(lines.len() - 1);
            let end = (at + count).min(lines.len());
            Splice {
                before: lines[..at].to_vec(),
                old: lines[at..end].to_vec(),
                // What comes is never what is there, or two places would be the same afterwards.
                new: new.into_iter().enumerate().map(|(n, line)| format!("{line} <{n}>")).collect(),
                after: lines[end..].to_vec(),
                is_crlf,
            }
        })
}

impl Splice {
    fn text(&self, parts: &[&[String]]) -> String {
        let end = if self.is_crlf { "\r\n" } else { "\n" };
        parts.concat().iter().map(|line| format!("{line}{end}")).collect()
    }

    fn context(&self) -> (&[String], &[String]) {
        (&self.before[self.before.len().saturating_sub(2)..], &self.after[..self.after.len().min(2)])
    }

    /// Returns the change in every format, each as loosely as it may be.
    fn answers(&self) -> Vec<String> {
        let plain = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let signed =
            |sign, lines: &[String]| lines.iter().map(|line| format!("{sign}{line}\n")).collect::<String>();
        let (before, after) = self.context();
        let body = [signed(' ', before), signed('-', &self.old), signed('+', &self.new), signed(' ', after)]
            .concat();
        let (old, new) = ([before, &self.old, after].concat(), [before, &self.new, after].concat());
        let whole = [&self.before[..], &self.new, &self.after].concat();
        let (search, replace) = (plain(&old), plain(&new));
        let start = self.before.len() - before.len() + 1;
        let exact = format!("@@ -{start},{} +{start},{} @@", old.len(), new.len());
        vec![
            format!("--- a/f.txt\n+++ b/f.txt\n{exact}\n{body}"),
            format!(
                "```diff\n--- a/f.txt\n+++ b/f.txt\n@@ -77,{} +77,{} @@\n{body}```\n",
                old.len(),
                new.len()
            ),
            format!("```diff\n--- f.txt\n+++ f.txt\n@@ ... @@\n{}```\n", body.replace("\n \n", "\n\n")),
            format!("f.txt\n```\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n```\n"),
            format!("*** Begin Patch\n*** Update File: f.txt\n@@\n{body}*** End Patch\n"),
            format!("`f.txt`:\n~~~~~~\n{}~~~~~~\n", plain(&whole)),
            json!({"edits": [{"path": "f.txt", "search": search, "replace": replace}], "notes": ""})
                .to_string(),
        ]
    }
}

#[test]
fn t32_a_change_said_in_any_format_becomes_the_same_file() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let world = World::new();
    let repository = world.open();
    let mut runner = TestRunner::new(Config { cases: 12, failure_persistence: None, ..Config::default() });
    runner.run(&splice(), |splice| runtime.block_on(agree(&world, &repository, &splice))).unwrap();
}

async fn agree(world: &World, repository: &GitRepository, splice: &Splice) -> Result<(), TestCaseError> {
    world.write("f.txt", splice.text(&[&splice.before, &splice.old, &splice.after]));
    world.commit("case");
    let attempt = attempt(&repository.base("main").await.unwrap());
    let expected = splice.text(&[&splice.before, &splice.new, &splice.after]);
    for answer in splice.answers() {
        let taken = repository.take(&attempt, Candidate::Text(&answer)).await;
        let taken = taken.map_err(|error| TestCaseError::fail(format!("{error}\n{answer}")))?;
        let text = String::from_utf8(world.mirror_file(&taken.commit, "f.txt")).unwrap();
        prop_assert_eq!(&text, &expected, "{}", answer);
        prop_assert_eq!(&repository.rebuild(&attempt, &taken.diff).await.unwrap(), &taken);
    }
    Ok(())
}
