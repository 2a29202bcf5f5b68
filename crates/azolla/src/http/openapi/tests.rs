//! The document is true of the routes, complete, and the one that is checked in.

use std::path::Path;

use super::*;

#[test]
fn the_document_that_is_checked_in_is_this_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    if std::env::var_os("AZOLLA_UPDATE_OPENAPI").is_some() {
        std::fs::write(&path, text()).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text(),
        "docs/openapi.json is not what is served; AZOLLA_UPDATE_OPENAPI=1 cargo nextest run -p azolla openapi"
    );
}

#[test]
fn every_reference_leads_somewhere() {
    fn look(document: &Value, at: &Value) {
        match at {
            Value::Object(object) => {
                for (key, value) in object {
                    match value.as_str() {
                        Some(target) if key == "$ref" => {
                            let pointer = target.strip_prefix('#').expect(target);
                            assert!(document.pointer(pointer).is_some(), "{target}");
                        }
                        _ => look(document, value),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| look(document, item)),
            _ => {}
        }
    }
    look(&document(), &document());
}

/// T27, M-1, M-4: what changes anything is a note, or a wish for orientation, by the operator. A peer has one route.
#[test]
fn t27_m1_m4_no_route_approves_promotes_confirms_or_runs() {
    let changing: Vec<_> = Operation::ALL
        .into_iter()
        .map(Operation::facts)
        .filter(|facts| facts.method != axum::http::Method::GET)
        .map(|facts| (facts.id, facts.access))
        .collect();
    let expected = [
        ("querySubstrate", Access::Peer),
        ("capture", Access::Operator),
        ("requestManifest", Access::Operator),
    ];
    assert_eq!(changing, expected);
    let of_peers: Vec<_> = Operation::ALL
        .into_iter()
        .map(Operation::facts)
        .filter(|facts| facts.access == Access::Peer)
        .collect();
    assert_eq!(of_peers.len(), 1);
}
