//! The two blueprints against PROTOCOL.md section 2.

use azolla_protocol::AzollaType;

fn names<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// Y-1: the types are known at compile time, and there are two.
#[test]
fn y1_the_blueprints_are_the_table() {
    let rows = AzollaType::ALL.iter().map(|azolla_type| {
        let blueprint = azolla_type.blueprint();
        assert_eq!(blueprint.azolla_type, *azolla_type);
        format!(
            "{azolla_type} | {} | {} | {} | {} | {}",
            blueprint.category,
            blueprint.objective_type,
            names(blueprint.diazotrophs),
            names(blueprint.workers),
            names(blueprint.cross_azolla_reads),
        )
    });
    let expected = [
        "CODE_PATCH_AZOLLA | EXECUTION | TICKET | PATCH_DIAZOTROPH | READINESS, SCHEDULER, RUNNER, GATE | ",
        "TASK_MGMT_AZOLLA | MEMORY_SUPPORT | STANDING | TRIAGE_DIAZOTROPH, MANIFEST_BUILDER_DIAZOTROPH | \
         CAPTURE_READINESS, SCHEDULER, MANIFEST_SCHEDULER, RUNNER, GATE, DEADLINE_MONITOR | pause_state, objective",
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
}

/// Y-1: a type that is not one of them is refused by name.
#[test]
fn y1_no_other_type_exists() {
    let error = "CHAT_AZOLLA".parse::<AzollaType>().unwrap_err();
    assert_eq!(error.to_string(), "\"CHAT_AZOLLA\" is not one of CODE_PATCH_AZOLLA, TASK_MGMT_AZOLLA");
}
