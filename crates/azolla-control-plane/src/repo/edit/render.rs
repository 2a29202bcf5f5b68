//! What became of files, as an exact diff for git: it applies at one place, and git's own checks see every path.

use super::apply::{Outcome, Version};
use crate::repo::patch::quote;

/// Lines around a change, without which git takes it for one at the end of the file.
const CONTEXT: usize = 3;

/// Returns the diff; empty if nothing changes.
pub(in crate::repo) fn render(outcomes: &[Outcome]) -> Vec<u8> {
    let mut diff = Vec::new();
    for outcome in outcomes {
        let name = |prefix: &str| quote::quote(&format!("{prefix}{}", outcome.path));
        let mut line = |text: String| diff.extend_from_slice(format!("{text}\n").as_bytes());
        line(format!("diff --git {} {}", name("a/"), name("b/")));
        match (&outcome.old, &outcome.new) {
            (None, Some(new)) => line(format!("new file mode {}", new.mode)),
            (Some(old), None) => line(format!("deleted file mode {}", old.mode)),
            (Some(old), Some(new)) if old.mode != new.mode => {
                line(format!("old mode {}", old.mode));
                line(format!("new mode {}", new.mode));
            }
            _ => {}
        }
        let bytes = |version: &Option<Version>| {
            version.as_ref().map(|version| version.bytes.clone()).unwrap_or_default()
        };
        let (old, new) = (bytes(&outcome.old), bytes(&outcome.new));
        if old == new {
            continue;
        }
        let side = |version: &Option<Version>, prefix| {
            version.as_ref().map_or("/dev/null".to_owned(), |_| name(prefix))
        };
        line(format!("--- {}", side(&outcome.old, "a/")));
        line(format!("+++ {}", side(&outcome.new, "b/")));
        hunk(&mut diff, &old, &new);
    }
    diff
}

/// Writes the one hunk that makes a text of another.
fn hunk(diff: &mut Vec<u8>, old: &[u8], new: &[u8]) {
    let split = |bytes| <[u8]>::split_inclusive(bytes, |byte: &u8| *byte == b'\n').collect::<Vec<&[u8]>>();
    let (old, new) = (split(old), split(new));
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let begin = head.saturating_sub(CONTEXT);
    let after = tail.min(CONTEXT);
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let (old_count, new_count) = (old_end + after - begin, new_end + after - begin);
    // A side without lines begins at 0.
    let start = |count: usize| if count == 0 { 0 } else { begin + 1 };
    let header = format!("@@ -{},{old_count} +{},{new_count} @@\n", start(old_count), start(new_count));
    diff.extend_from_slice(header.as_bytes());
    let mut lines = |sign: u8, lines: &[&[u8]]| {
        for line in lines {
            diff.push(sign);
            diff.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                diff.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
    };
    lines(b' ', &old[begin..head]);
    lines(b'-', &old[head..old_end]);
    lines(b'+', &new[head..new_end]);
    lines(b' ', &old[old_end..old_end + after]);
}
