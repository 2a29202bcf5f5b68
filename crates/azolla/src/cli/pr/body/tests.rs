//! What a pull request says, and what a worker's text cannot do in it.

use azolla_protocol::{
    AzollaId, GateResult, JsonObject, ObjectiveId, ObjectiveStatus, ObjectiveType, OutputId, OutputMetadata,
    RunId, RunnerStatus, Timestamp, WorkOrderId,
};

use super::*;

fn at() -> Timestamp {
    Timestamp::from_millisecond(1).unwrap()
}

fn objective() -> Objective {
    Objective {
        objective_id: ObjectiveId::new("obj-a").unwrap(),
        azolla_id: AzollaId::new("az-app").unwrap(),
        title: "Round half up".into(),
        acceptance_criteria: "500 among 3 is 167".into(),
        objective_type: ObjectiveType::Ticket,
        status: ObjectiveStatus::Done,
        importance: 2,
        urgency: 2,
        blocked_reason: None,
        blocked_on: Vec::new(),
        metadata: JsonObject::new(),
        created_at: at(),
        updated_at: at(),
    }
}

fn check(name: &str, subject: CheckSubject, exit_code: i64, tree: &str) -> CheckEvidence {
    CheckEvidence {
        name: name.into(),
        subject,
        command: vec!["sh".into(), "check.sh".into()],
        exit_code: Some(exit_code),
        timed_out: false,
        duration_ms: 1_500,
        output_tail: String::new(),
        tree: Some(tree.into()),
        sandbox_mode: "off".into(),
    }
}

fn text_of(description: &str, checks: Vec<CheckEvidence>, present: &str) -> String {
    let (run_id, work_order_id) = (RunId::new("run-a-1").unwrap(), WorkOrderId::new("wo-a-1").unwrap());
    let objective = objective();
    let mut more = JsonObject::new();
    more.insert("pr_description_draft".into(), description.into());
    let bundle = OutputBundle {
        output_id: OutputId::new("out-a-1").unwrap(),
        objective_id: objective.objective_id.clone(),
        title: "t".into(),
        metadata: OutputMetadata {
            work_order_id: work_order_id.clone(),
            runner_status: RunnerStatus::Completed,
            elapsed_ms: 1,
            usage: JsonObject::new(),
            more,
        },
        content: "diff".into(),
        notes: String::new(),
        created_at: at(),
    };
    let run = RunRecord {
        run_id: run_id.clone(),
        work_order_id: work_order_id.clone(),
        objective_id: objective.objective_id.clone(),
        output_id: bundle.output_id.clone(),
        gate_result: GateResult::Pass,
        gate_reason: "all checks passed".into(),
        commit_sha: Some("c0ffee".into()),
        created_at: at(),
    };
    let evidence = GateEvidence {
        run_id,
        work_order_id,
        base_commit_sha: Some("ba5e".into()),
        checks,
        created_at: at(),
    };
    Body { objective: &objective, run: &run, bundle: &bundle, evidence: Some(&evidence) }.within(present)
}

#[test]
fn the_description_is_followed_by_every_check_with_and_without_the_change() {
    let checks = vec![
        check("tests", CheckSubject::Patched, 0, "7ree1"),
        check("tests", CheckSubject::Base, 1, "7ree2"),
    ];
    let expected = format!(
        "{BEGIN}\nRounds half up.\n\n### Evidence\n\n`run-a-1` passed its gate: all checks passed\n\n\
         Commit c0ffee, on ba5e\n\n| check | on | result | exit code | took | tree |\n|---|---|---|---|---|---|\n\
         | tests | with the change | passed | 0 | 1.5 s | 7ree1 |\n\
         | tests | without it | failed | 1 | 1.5 s | 7ree2 |\n{END}"
    );
    assert_eq!(text_of("Rounds half up.\n", checks, ""), expected);
    assert!(text_of("x", Vec::new(), "").contains("\nNo checks are configured.\n"));
    assert!(text_of(" ", Vec::new(), "").contains("\nDone when: 500 among 3 is 167\n"));
}

#[test]
fn what_people_wrote_around_it_stays() {
    let first = text_of("one", Vec::new(), "");
    let edited = format!("Please look at this.\r\n\r\n{first}\r\n\r\nThanks!");
    let second = text_of("two", Vec::new(), &edited);
    assert!(second.starts_with(&format!("Please look at this.\n\n{BEGIN}\ntwo\n")), "{second}");
    assert!(second.ends_with(&format!("{END}\n\nThanks!")), "{second}");
    // The same text once more changes nothing.
    assert_eq!(text_of("two", Vec::new(), &second), second);
    // Where the marks are gone it comes after what is there.
    assert!(text_of("one", Vec::new(), "Mine.\n").starts_with(&format!("Mine.\n\n{BEGIN}\n")));
}

/// T21, T22: a worker's text notifies nobody, ends no mark, hides nothing and steers no terminal.
#[test]
fn t21_t22_a_description_has_no_effect_of_its_own() {
    let hostile =
        format!("--body @team \u{1b}[31m\u{202e}\n{END}\nmail a@b.example, `@code`\n```\n@fenced\n{BEGIN}");
    let text = text_of(&hostile, Vec::new(), "");
    assert_eq!((text.matches(BEGIN).count(), text.matches(END).count()), (1, 1), "{text}");
    assert!(text.contains("--body @<!-- -->team \u{fffd}[31m\u{fffd}\n"), "{text}");
    assert!(text.contains("mail a@<!-- -->b.example, `@code`\n```\n@fenced\n"), "{text}");
    // The fence that was left open is closed before what comes next.
    assert_eq!(text.matches("```").count(), 2, "{text}");
    // And once more over itself.
    assert_eq!(text_of(&hostile, Vec::new(), &text), text);
}

#[test]
fn t21_a_name_in_the_table_is_text() {
    let text = text_of("x", vec![check("a|b\n`c` <img> @me", CheckSubject::Patched, 0, "7")], "");
    assert!(text.contains("\n| a\\|b \\`c\\` &lt;img\\> @<!-- -->me | with the change |"), "{text}");
}

#[test]
fn a_text_of_any_size_fits() {
    let many = (0..800).map(|n| check(&format!("check {n}"), CheckSubject::Patched, 0, "7")).collect();
    let text = text_of(&"é".repeat(100_000), many, "");
    assert!(text.chars().count() < 65_536, "{}", text.chars().count());
    assert!(text.ends_with(&format!("and 700 more\n{END}")));
}
