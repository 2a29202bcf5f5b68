//! The whole transition matrix, its refusals, and approval.

use std::fmt::Write;

use super::*;
use crate::{AzollaType, JournalStep};

/// S-1: every status and every step. A cell is the status reached; `·` is a refusal.
#[test]
fn s1_the_whole_matrix() {
    let mut matrix = format!("{:<27}", "TICKET");
    let mut states = vec![None];
    states.extend(ObjectiveStatus::ALL.iter().copied().map(Some));
    for status in &states {
        write!(matrix, "{:<13}", status.map_or("(none)", ObjectiveStatus::as_str)).unwrap();
    }
    for step in ObjectiveStep::ALL {
        write!(matrix, "\n{:<4} {:<22}", step.row().id, step).unwrap();
        for status in &states {
            let cell = advance(ObjectiveType::Ticket, *status, *step).map_or("·", ObjectiveStatus::as_str);
            write!(matrix, "{cell:<13}").unwrap();
        }
    }
    let matrix: Vec<_> = matrix.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(matrix.join("\n"), @r"
    TICKET                     (none)       NEW          TODO         IN_PROGRESS  BLOCKED      DONE
    S-a  create                NEW          ·            ·            ·            ·            ·
    S-b  approve               ·            TODO         ·            ·            ·            ·
    S-c  schedule              ·            ·            IN_PROGRESS  ·            ·            ·
    S-d  block by scheduler    ·            ·            BLOCKED      ·            ·            ·
    S-e  gate pass             ·            ·            ·            DONE         ·            ·
    S-f  gate block            ·            ·            ·            BLOCKED      ·            ·
    S-g  gate retry            ·            ·            ·            TODO         ·            ·
    S-h  unblock               ·            ·            ·            ·            TODO         ·
    S-i  reject                ·            ·            ·            ·            ·            TODO
    S-j  confirm               ·            ·            ·            ·            ·            DONE
    S-k  block                 ·            BLOCKED      BLOCKED      ·            ·            ·
    S-l  withdraw approval     ·            ·            NEW          ·            ·            ·
    S-m  cancel                ·            ·            ·            BLOCKED      ·            ·
    S-n  open standing         ·            ·            ·            ·            ·            ·
    S-o  archive               ·            NEW          TODO         ·            BLOCKED      ·
    S-o  unarchive             ·            NEW          TODO         ·            BLOCKED      ·
    ");
}

/// S-1, S-n: a STANDING objective is opened once and takes no other step.
#[test]
fn s1_standing_objectives_only_open() {
    for step in ObjectiveStep::ALL.iter().copied() {
        for status in ObjectiveStatus::ALL.iter().copied().map(Some).chain([None]) {
            let opened = (status, step) == (None, ObjectiveStep::OpenStanding);
            let expected = opened.then_some(ObjectiveStatus::InProgress);
            assert_eq!(advance(ObjectiveType::Standing, status, step).ok(), expected, "{status:?} {step}");
        }
    }
}

#[test]
fn s1_a_refusal_names_both_states() {
    use ObjectiveStatus::{Done, InProgress, New};
    use ObjectiveType::{Standing, Ticket};
    for (objective_type, status, step, text) in [
        (Ticket, Some(New), ObjectiveStep::Confirm, "objective is NEW; confirm needs DONE"),
        (Ticket, Some(Done), ObjectiveStep::Block, "objective is DONE; block needs NEW or TODO"),
        (Ticket, None, ObjectiveStep::Approve, "objective does not exist; approve needs NEW"),
        (Ticket, Some(New), ObjectiveStep::Create, "objective is NEW; create needs a new id"),
        (
            Ticket,
            None,
            ObjectiveStep::OpenStanding,
            "objective does not exist; open standing needs STANDING and a new id",
        ),
        (
            Standing,
            Some(InProgress),
            ObjectiveStep::GatePass,
            "objective is STANDING and IN_PROGRESS; gate pass needs TICKET and IN_PROGRESS",
        ),
    ] {
        assert_eq!(advance(objective_type, status, step).unwrap_err().to_string(), text);
    }
}

/// S-1: a step's place in the table is its place in the enum, and the journal names the same line.
#[test]
fn s1_every_step_has_its_own_row() {
    for step in ObjectiveStep::ALL.iter().copied() {
        assert_eq!(step.row().step, step);
        assert_eq!(JournalStep::from(step).as_str(), step.row().id);
    }
}

/// S-1: only these pairs, whoever asks.
#[test]
fn s1_allowed_changes() {
    let all =
        ObjectiveStatus::ALL.iter().flat_map(|from| ObjectiveStatus::ALL.iter().map(move |to| (*from, *to)));
    let allowed: Vec<_> = all
        .filter(|(from, to)| is_allowed_change(*from, *to))
        .map(|(from, to)| format!("{from}>{to}"))
        .collect();
    let expected = "NEW>NEW NEW>TODO NEW>BLOCKED TODO>NEW TODO>TODO TODO>IN_PROGRESS TODO>BLOCKED \
                    IN_PROGRESS>TODO IN_PROGRESS>BLOCKED IN_PROGRESS>DONE BLOCKED>TODO BLOCKED>BLOCKED \
                    DONE>TODO DONE>DONE";
    assert_eq!(allowed.join(" "), expected);
}

/// Only the operator approves, confirms, rejects, unblocks, archives; only the Scheduler and the Gate run work.
#[test]
fn s1_parties() {
    let steps = |party: Party| {
        let rows = TABLE.iter().filter(|row| row.party == party);
        rows.map(|row| row.step.as_str()).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        steps(Party::Operator),
        "create, approve, unblock, reject, confirm, block, withdraw approval, archive, unarchive"
    );
    assert_eq!(steps(Party::Scheduler), "schedule, block by scheduler");
    assert_eq!(steps(Party::Gate), "gate pass, gate block, gate retry, cancel");
    assert_eq!(steps(Party::Init), "open standing");
}

/// S-2, S-j, S-o: confirmation and archiving are read from the document, never inferred.
#[test]
fn s2_done_is_not_confirmed_until_it_says_so() {
    let mut objective = ticket();
    assert!(is_confirmed(&objective) && is_archived(&objective) && has_open_blocker(&objective));
    objective.status = ObjectiveStatus::Done;
    objective.metadata.remove("completion");
    objective.metadata.remove("archived_at");
    objective.blocked_on[0].resolved = true;
    assert!(!is_confirmed(&objective) && !is_archived(&objective) && !has_open_blocker(&objective));
}

fn ticket() -> Objective {
    let text = include_str!("../../../tests/fixtures/objective/full.json");
    serde_json::from_str(text).unwrap()
}

fn fields(objective: &Objective, azolla_type: AzollaType) -> Vec<&'static str> {
    approval_problems(objective, azolla_type.blueprint()).into_iter().map(|problem| problem.field).collect()
}

#[test]
fn s_b_a_complete_ticket_is_approved() {
    assert_eq!(approval_problems(&ticket(), AzollaType::CodePatch.blueprint()), []);
}

#[test]
fn s_b_approval_names_everything_that_is_missing() {
    let mut objective = ticket();
    objective.title = " \n".to_owned();
    objective.acceptance_criteria = String::new();
    objective.metadata.remove("repo_ref");
    objective.metadata.insert("base_branch".to_owned(), "\t".into());
    let expected = ["title", "acceptance_criteria", "metadata.repo_ref", "metadata.base_branch"];
    assert_eq!(fields(&objective, AzollaType::CodePatch), expected);
}

#[test]
fn s_b_approval_needs_the_type_of_the_blueprint() {
    let mut objective = ticket();
    assert_eq!(fields(&objective, AzollaType::TaskMgmt), ["objective_type"]);
    objective.objective_type = ObjectiveType::Standing;
    assert_eq!(fields(&objective, AzollaType::CodePatch), ["objective_type"]);
    assert_eq!(
        fields(&objective, AzollaType::TaskMgmt),
        ["objective_type"],
        "a STANDING one is not approved"
    );
}
