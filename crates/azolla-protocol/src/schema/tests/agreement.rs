//! The schemas are draft-07 and closed, and say what the types say.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::*;

#[test]
fn a5_every_kind_has_a_subject_and_its_fixtures_pass_both_sides() {
    let subjects = subjects();
    assert_eq!(subjects.iter().map(|subject| subject.kind).collect::<Vec<_>>(), ArtifactKind::ALL);
    for Subject { kind, full, sparse, decodes, validate, .. } in subjects {
        for document in [full, sparse] {
            assert!(decodes(&document), "{kind}");
            // The text kept is the document itself, in canonical form.
            assert_eq!(validate(&document), Ok(canonical(&document).unwrap()), "{kind}");
        }
    }
}

#[test]
fn a5_every_schema_is_draft_07_closed_and_named_after_its_artifact() {
    for kind in ArtifactKind::ALL.iter().copied() {
        let schema = schema(kind);
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#", "{kind}");
        assert_eq!(schema["$id"], format!("https://azolla.invalid/schemas/{kind}.schema.json"));
        assert_eq!(schema["title"], kind.as_str());
        assert_eq!(
            (&schema["type"], &schema["additionalProperties"]),
            (&json!("object"), &json!(false)),
            "{kind}"
        );
    }
}

/// Objects without `additionalProperties: false` are these and no others.
#[test]
fn a5_the_open_objects_are_listed() {
    let mut open = Vec::new();
    for kind in ArtifactKind::ALL.iter().copied() {
        collect_open(&schema(kind), kind.as_str(), &mut open);
    }
    let expected = [
        "objective/properties/metadata",
        "context_snapshot/properties/metadata",
        "output_bundle/properties/metadata",
        "output_bundle/properties/metadata/properties/usage",
        "substrate_query/properties/filter",
        "substrate_query_response/properties/results/items",
        "journal/properties/detail",
    ];
    assert_eq!(open, expected);
}

fn collect_open(schema: &Value, at: &str, open: &mut Vec<String>) {
    let types = &schema["type"];
    let is_object =
        *types == "object" || types.as_array().is_some_and(|types| types.contains(&json!("object")));
    if is_object && schema["additionalProperties"] != json!(false) {
        open.push(at.to_owned());
    }
    match schema {
        Value::Object(fields) => {
            for (key, inner) in fields.iter().filter(|(key, _)| *key != "allOf") {
                collect_open(inner, &format!("{at}/{key}"), open);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_open(item, at, open)),
        _ => {}
    }
}

#[test]
fn a5_schema_properties_are_the_fields_of_the_type() {
    let properties = |schema: &Value| keys(&schema["properties"]);
    for subject in subjects() {
        assert_eq!(properties(&schema(subject.kind)), set(subject.fields), "{}", subject.kind);
        assert_eq!(
            keys(&subject.full),
            set(subject.fields),
            "{}: the full fixture has every field",
            subject.kind
        );
    }
    let summary = &schema(ArtifactKind::SessionManifest)["properties"]["pause_state_summary"]["items"];
    assert_eq!(properties(summary), set(fields_of::<PauseStateSummary>()));
    let check = &schema(ArtifactKind::GateEvidence)["properties"]["checks"]["items"];
    assert_eq!(properties(check), set(fields_of::<CheckEvidence>()));
}

fn keys(object: &Value) -> BTreeSet<String> {
    object.as_object().unwrap().keys().cloned().collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// field by field, what is required, and that every field has a type.
#[test]
fn a5_a_missing_or_mistyped_field_is_named() {
    for Subject { kind, full, validate, fields, .. } in subjects() {
        let schema = schema(kind);
        let required = schema["required"].as_array().unwrap();
        for field in fields.iter().copied().filter(|field| required.contains(&json!(field))) {
            let mut document = full.clone();
            document.as_object_mut().unwrap().remove(field);
            let expected =
                ValidationError { artifact: kind, field: field.to_owned(), rule: "is required".to_owned() };
            assert_eq!(validate(&document), Err(expected));
        }
        for field in fields.iter().copied() {
            let mut document = full.clone();
            // No field of any artifact is an array of arrays.
            document[field] = json!([[]]);
            let error = validate(&document).expect_err(field);
            assert!(error.field.starts_with(field), "{kind}.{field}: {error}");
        }
    }
}

#[test]
fn a5_an_unknown_field_is_refused() {
    for Subject { kind, mut full, validate, decodes, .. } in subjects() {
        full["surprise\u{7}"] = json!(1);
        let error = validate(&full).unwrap_err();
        assert_eq!(error.to_string(), format!("{kind}.surprise\\u{{7}}: is not a field of this artifact"));
        assert!(!decodes(&full), "{kind}");
    }
}

#[test]
fn a5_optional_fields_are_those_of_the_protocol() {
    let mut optional = BTreeMap::new();
    for subject in subjects() {
        let schema = schema(subject.kind);
        let required: BTreeSet<_> =
            schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let rest: Vec<_> =
            subject.fields.iter().filter(|field| !required.contains(*field)).copied().collect();
        if !rest.is_empty() {
            optional.insert(subject.kind.as_str(), rest);
        }
    }
    let expected = BTreeMap::from([
        ("event", vec!["processed_reason", "processed_at"]),
        ("context_snapshot", vec!["metadata", "repo_commit_sha"]),
        ("run_record", vec!["commit_sha"]),
    ]);
    assert_eq!(optional, expected);
}

macro_rules! names {
    ($type:ty) => {
        <$type>::ALL.iter().map(|name| name.as_str()).collect::<Vec<_>>()
    };
}

#[test]
fn a5_enums_in_schemas_are_the_enums_of_the_types() {
    use ArtifactKind as K;
    let listed = [
        (K::Objective, "/properties/objective_type", names!(ObjectiveType)),
        (K::Objective, "/properties/status", names!(ObjectiveStatus)),
        (K::BlockerRef, "/properties/kind", names!(BlockerKind)),
        (K::CaptureBuffer, "/properties/status", names!(CaptureStatus)),
        (K::Event, "/properties/type", names!(EventType)),
        (K::Event, "/properties/processed_reason", names!(ProcessedReason)),
        (K::Workorder, "/properties/diazotroph_type", names!(DiazotrophType)),
        (K::Workorder, "/properties/status", names!(WorkorderStatus)),
        (K::OutputBundle, "/properties/metadata/properties/runner_status", names!(RunnerStatus)),
        (K::RunRecord, "/properties/gate_result", names!(GateResult)),
        (K::PauseState, "/properties/reason", names!(PauseReason)),
        (K::SessionManifest, "/properties/pause_state_summary/items/properties/reason", names!(PauseReason)),
        (K::ClaimRecord, "/properties/resource_type", names!(ResourceType)),
        (K::SubstrateQuery, "/properties/artifact_type", names!(QueryableType)),
        (K::SubstrateQueryResponse, "/properties/status", names!(QueryStatus)),
        (K::CandidateResolution, "/properties/outcome", names!(CandidateOutcome)),
        (K::GateEvidence, "/properties/checks/items/properties/subject", names!(CheckSubject)),
        (K::Journal, "/properties/actor", names!(Actor)),
        (K::Journal, "/properties/step", names!(JournalStep)),
    ];
    for (kind, pointer, names) in &listed {
        let schema = schema(*kind);
        let options = schema.pointer(pointer).unwrap()["enum"].as_array().unwrap();
        // A null in the list is the absent value, which the type has as None.
        let options: Vec<_> = options.iter().filter_map(Value::as_str).collect();
        assert_eq!(&options, names, "{kind}{pointer}");
    }
    let mut enums = 0;
    for kind in ArtifactKind::ALL.iter().copied() {
        walk(&schema(kind)["properties"], &mut |inner| enums += usize::from(inner["enum"].is_array()));
    }
    assert_eq!(enums, listed.len(), "every enum of a schema is in the list above");
}

fn walk(schema: &Value, see: &mut impl FnMut(&Value)) {
    see(schema);
    match schema {
        Value::Object(fields) => fields.values().for_each(|inner| walk(inner, see)),
        Value::Array(items) => items.iter().for_each(|inner| walk(inner, see)),
        _ => {}
    }
}

/// The same definition has the same text in every file, and a pattern for a timestamp is one and the same.
#[test]
fn a5_definitions_do_not_drift_between_files() {
    let mut seen: BTreeMap<String, Value> = BTreeMap::new();
    let mut timestamps = BTreeSet::new();
    for kind in ArtifactKind::ALL.iter().copied() {
        let schema = schema(kind);
        for (name, definition) in schema["definitions"].as_object().unwrap() {
            let first = seen.entry(name.clone()).or_insert_with(|| definition.clone());
            assert_eq!(first, definition, "{kind}: {name}");
        }
        walk(&schema, &mut |inner| {
            if inner["format"] == "date-time" {
                timestamps.insert(inner["pattern"].as_str().unwrap().to_owned());
            }
        });
    }
    assert_eq!(timestamps.len(), 1);
}

/// T18: on every id of every artifact, schema and newtype refuse and take the same texts.
#[test]
fn t18_id_patterns_are_the_checks_of_the_newtypes() {
    let tricky = |prefix: &str| {
        let mut texts: Vec<String> =
            ["--force", "$(id)", ";", "..", "x.lock", "@{-1}", "", "-", "A", "é", "a b", "a\n"]
                .iter()
                .flat_map(|text| [(*text).to_owned(), format!("{prefix}-{text}"), format!("{prefix}{text}")])
                .collect();
        texts.extend([1, 60, 61, 300].map(|length| format!("{prefix}-{}", "a".repeat(length))));
        texts.push(format!("x{prefix}-a"));
        texts.push(format!("{}-a", prefix.to_uppercase()));
        texts
    };
    let mut tried = 0;
    for Subject { kind, full, decodes, fields, .. } in subjects() {
        for field in fields.iter().copied() {
            let Some(prefix) = id_prefix(&full[field]).filter(|_| field != "resource_id") else { continue };
            for text in tricky(prefix) {
                let mut document = full.clone();
                document[field] = json!(text);
                let by_schema = check::check(kind, &document).is_ok();
                assert_eq!(by_schema, decodes(&document), "{kind}.{field} = {text:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 1000, "{tried}");
}

fn id_prefix(value: &Value) -> Option<&str> {
    let (prefix, _) = value.as_str()?.split_once('-')?;
    let is_prefix = (2..=4).contains(&prefix.len()) && prefix.bytes().all(|byte| byte.is_ascii_lowercase());
    is_prefix.then_some(prefix)
}

/// Calendar and clock included, where a pattern alone would not do.
#[test]
fn a5_timestamps_in_schemas_are_the_check_of_the_type() {
    let mut document = subjects().remove(0).full;
    for text in [
        "2024-02-29T00:00:00.000Z",
        "2026-02-29T00:00:00.000Z",
        "0000-01-01T00:00:00.000Z",
        "9999-12-31T23:59:59.999Z",
        "2016-12-31T23:59:60.000Z",
        "2026-01-01T00:00:00.000000Z",
        "2026-01-01T00:00:00.000+00:00",
        "2026-01-01T00:00:00.000Z\n",
    ] {
        document["created_at"] = json!(text);
        let by_schema = check::check(ArtifactKind::Objective, &document).is_ok();
        assert_eq!(by_schema, text.parse::<crate::Timestamp>().is_ok(), "{text:?}");
    }
}
