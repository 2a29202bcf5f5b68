//! A prompt that was built for one worker goes to another.

use azolla_protocol::{JsonObject, ObjectiveId, SnapshotId, Timestamp};

use super::*;

const FORMS: [AnswerForm; 5] =
    [AnswerForm::Files, AnswerForm::SearchReplace, AnswerForm::Diff, AnswerForm::WholeFile, AnswerForm::Json];

fn snapshot(form: Option<&str>, prompt: String) -> ContextSnapshot {
    let mut metadata = JsonObject::new();
    if let Some(form) = form {
        metadata.insert("answer_form".into(), form.into());
    }
    ContextSnapshot {
        snapshot_id: SnapshotId::new("snap-a-1").expect("an id"),
        objective_id: ObjectiveId::new("obj-a").expect("an id"),
        metadata: Some(metadata),
        repo_commit_sha: None,
        related_yield_refs: Vec::new(),
        full_prompt_text: prompt,
        created_at: Timestamp::MIN,
    }
}

#[test]
fn every_form_is_exchanged_for_every_other_and_the_task_stays() {
    // A file of the repository may have the heading in it too.
    let task = "# Objective\n\nRound\n\n# Answer\n\n42\n";
    for stored in FORMS {
        let snapshot = snapshot(Some(stored.as_str()), format!("{task}{}", answer_part(stored, "Round")));
        for form in FORMS {
            let asked = asked_for(&snapshot, form, "Round");
            assert_eq!(asked.prompt, format!("{task}{}", answer_part(form, "Round")));
            assert_eq!(asked.exchanged, (form != stored).then_some(form));
        }
    }
}

#[test]
fn the_words_of_another_version_are_found_by_their_heading() {
    let prompt = "# Objective\n\nRound\n\n# Answer\n\nEdit the files.\n".to_owned();
    let asked = snapshot(Some("files"), prompt.clone());
    let asked = asked_for(&asked, AnswerForm::Diff, "Round");
    assert_eq!(asked.prompt, format!("# Objective\n\nRound\n{}", answer_part(AnswerForm::Diff, "Round")));
    // Where nobody says what was asked for, it stays.
    for form in [None, Some("song")] {
        let asked = snapshot(form, prompt.clone());
        let asked = asked_for(&asked, AnswerForm::Diff, "Round");
        assert_eq!((asked.prompt.as_ref(), asked.exchanged), (prompt.as_str(), None));
    }
}

#[test]
fn every_answer_part_begins_with_the_heading() {
    for form in FORMS {
        assert!(answer_part(form, "Round").starts_with(HEADING), "{form}");
    }
}
