//! Every condition of the statements that claims rest on is needed (P12): each is taken out, turned round or moved by one
//! instant, and in some situation the changed statement has to do something else. A tool that changes Rust leaves SQL alone.

use azolla_protocol::Timestamp;
use rusqlite::{Connection, params_from_iter};

use super::{connection::connect, *};

const NOW: i64 = 1_800_000_000_000;

/// An instant before, at and after now.
const INSTANTS: [i64; 3] = [NOW - 1_000, NOW, NOW + 1_000];

/// The types of what is claimed. `x1` is open and `x2` closed, as an event and as a workorder, so that only the type tells
/// the two apart.
const TYPES: [&str; 2] = ["EVENT", "WORKORDER"];
const IDS: [&str; 2] = ["x1", "x2"];

/// What a statement is given.
#[derive(Clone, Copy)]
enum Values {
    /// An owner, a lease and an id.
    Grant,
    /// An owner and an id.
    Claim,
    /// A claim, as its holder knows it.
    Fence,
    /// The same behind a lease.
    Renew,
    /// A claim, as somebody else saw it.
    Expire,
}

const STATEMENTS: [(&str, Values); 11] = [
    (sql::GRANT_EVENT_AGAIN, Values::Grant),
    (sql::GRANT_EVENT_FIRST, Values::Grant),
    (sql::GRANT_WORKORDER_AGAIN, Values::Grant),
    (sql::GRANT_WORKORDER_FIRST, Values::Grant),
    (sql::CLAIM_EVENT_AGAIN, Values::Claim),
    (sql::CLAIM_EVENT_FIRST, Values::Claim),
    (sql::CLAIM_WORKORDER_AGAIN, Values::Claim),
    (sql::CLAIM_WORKORDER_FIRST, Values::Claim),
    (shared::FENCE, Values::Fence),
    (shared::RENEW, Values::Renew),
    (shared::EXPIRE, Values::Expire),
];

impl Values {
    /// All that it can be given in a world of two owners and two versions.
    fn all(self) -> Vec<Vec<Cell>> {
        let mut all = Vec::new();
        for id in IDS {
            let id = || Cell::from(id);
            match self {
                Self::Grant => all.push(vec!["own-b".into(), Cell::Int(60_000), id()]),
                Self::Claim => all.push(vec!["own-b".into(), id()]),
                Self::Fence | Self::Renew | Self::Expire => {
                    for resource_type in TYPES {
                        for version in [2, 3] {
                            let claim =
                                |last: Cell| vec![resource_type.into(), id(), last, Cell::Int(version)];
                            match self {
                                Self::Expire => all.extend(INSTANTS.map(|at| {
                                    vec![resource_type.into(), id(), Cell::Int(version), instant(at)]
                                })),
                                Self::Renew => all
                                    .extend(["own-a", "own-b"].map(|owner| {
                                        [vec![Cell::Int(60_000)], claim(owner.into())].concat()
                                    })),
                                _ => all.extend(["own-a", "own-b"].map(|owner| claim(owner.into()))),
                            }
                        }
                    }
                }
            }
        }
        all
    }
}

fn instant(at: i64) -> Cell {
    Timestamp::from_millisecond(at).expect("a time").into()
}

/// The claims of a situation, all alike: when each ends, when it was renewed, whether it was given back; and which one is
/// missing.
struct Situation {
    lease_expires_at: i64,
    heartbeat_at: i64,
    is_released: bool,
    claim_version: i64,
    missing: Option<(&'static str, &'static str)>,
}

/// The last claim_version that there can be (T38).
const LAST: i64 = 9_007_199_254_740_991;

fn situations() -> Vec<Situation> {
    let missing: Vec<_> =
        TYPES.iter().flat_map(|kind| IDS.map(|id| Some((*kind, id)))).chain([None]).collect();
    let mut all = Vec::new();
    for lease_expires_at in INSTANTS {
        for heartbeat_at in INSTANTS {
            for is_released in [false, true] {
                let with = |claim_version, missing| Situation {
                    lease_expires_at,
                    heartbeat_at,
                    is_released,
                    claim_version,
                    missing,
                };
                all.extend(missing.iter().map(|missing| with(2, *missing)));
                all.extend([LAST - 1, LAST].map(|version| with(version, None)));
            }
        }
    }
    all
}

/// A store whose rows can be set as one likes: what is tried are the statements, without the triggers behind them.
async fn bare() -> (TempDir, Connection) {
    let (directory, path, store) = fresh().await;
    drop(store);
    let now = JobTime::default();
    now.set(Timestamp::from_millisecond(NOW).expect("a time"));
    let connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE, &now).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF").unwrap();
    let triggers: Vec<String> = connection
        .prepare("SELECT 'DROP TRIGGER ' || name FROM sqlite_master WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    connection.execute_batch(&triggers.join(";")).unwrap();
    connection
        .execute_batch(
            "INSERT INTO event (event_id, type, resource_id, azolla_id, created_at, processed, processed_reason,
                 processed_at, entry) VALUES
                 ('x1', 'TICKET_READY', 'obj-1', 'az-x', '', 0, NULL, NULL, 1),
                 ('x2', 'TICKET_READY', 'obj-2', 'az-x', '', 1, 'SCHEDULED', '', 1);
             INSERT INTO workorder (work_order_id, objective_id, diazotroph_type, context_snapshot_id, budget_ms,
                 status, created_at, event_id, stream_slot) VALUES
                 ('x1', 'obj-1', 'PATCH_DIAZOTROPH', 's1', 1, 'CREATED', '', 'x1', 0),
                 ('x2', 'obj-2', 'PATCH_DIAZOTROPH', 's2', 1, 'EXECUTED', '', 'x2', NULL)",
        )
        .unwrap();
    (directory, connection)
}

impl Situation {
    fn set(&self, connection: &Connection) {
        connection.execute("DELETE FROM claim_record", []).unwrap();
        let mut insert = connection
            .prepare_cached(
                "INSERT INTO claim_record (resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at,
                     claim_version, granted_at, released_at) VALUES (?1, ?2, 'own-a', ?3, ?4, ?5, ?4, ?6)",
            )
            .unwrap();
        for resource_type in TYPES {
            for id in IDS.into_iter().filter(|id| self.missing != Some((resource_type, id))) {
                let released_at = if self.is_released { instant(self.heartbeat_at) } else { Cell::Null };
                let (expires, heartbeat) = (instant(self.lease_expires_at), instant(self.heartbeat_at));
                let values = [
                    resource_type.into(),
                    id.into(),
                    expires,
                    heartbeat,
                    Cell::Int(self.claim_version),
                    released_at,
                ];
                insert.execute(params_from_iter(&values)).unwrap();
            }
        }
    }
}

/// What a statement does, whatever it is given, in a situation: the claims afterwards, or that it is refused.
fn effects(connection: &Connection, text: &str, values: Values) -> Vec<Option<String>> {
    let claims =
        "SELECT group_concat(resource_type || resource_id || owner_id || lease_expires_at || heartbeat_at
                      || claim_version || granted_at || COALESCE(released_at, '-'), ' ')
                  FROM (SELECT * FROM claim_record ORDER BY resource_type, resource_id)";
    let effect = |values: &Vec<Cell>| {
        connection.execute_batch("SAVEPOINT one").unwrap();
        let mut prepared = connection.prepare_cached(text).unwrap();
        let ran = prepared.query(params_from_iter(values)).and_then(|mut rows| {
            while rows.next()?.is_some() {}
            Ok(())
        });
        drop(prepared);
        let after = || connection.prepare_cached(claims).unwrap().query_row([], |row| row.get(0)).unwrap();
        let effect: Option<String> =
            ran.is_ok().then(after).map(|claims: Option<String>| claims.unwrap_or_default());
        connection.execute_batch("ROLLBACK TO one; RELEASE one").unwrap();
        effect
    };
    values.all().iter().map(effect).collect()
}

/// Every change of one condition behind the first WHERE: it always holds, never holds, or holds one instant more or less.
fn changes(text: &str) -> Vec<(String, String)> {
    let mut changes = Vec::new();
    let start = text.find("WHERE").expect("a condition");
    let ends = [" AND ", ")", "\n", " OR ", " RETURNING "];
    let starts = ["WHERE ", "AND ", "OR ", "("];
    let mut at = start;
    while let Some((from, word)) =
        starts.iter().filter_map(|word| text[at..].find(word).map(|found| (at + found, word))).min()
    {
        let begin = from + word.len();
        at = begin;
        let rest = &text[begin..];
        // What holds conditions itself is none.
        if ["(", ")", "\n", "EXISTS", "NOT EXISTS", "SELECT"].iter().any(|word| rest.starts_with(word)) {
            continue;
        }
        // `azolla_now()` has brackets of its own.
        let masked = rest.replace("azolla_now()", "azolla_now  ");
        let end = ends.iter().filter_map(|end| masked.find(end)).min().unwrap_or(rest.len());
        let condition = rest[..end].trim_end();
        let put = |new: String| format!("{}{new}{}", &text[..begin], &text[begin + condition.len()..]);
        changes.push((format!("always {condition}"), put(format!("({condition} OR 1)"))));
        changes.push((format!("never {condition}"), put(format!("({condition} AND 0)"))));
        for (was, is) in [(" <= ", " < "), (" > ", " >= "), (" < ", " <= ")] {
            if condition.contains(was) {
                changes.push((format!("{condition} with{is}"), put(condition.replace(was, is))));
            }
        }
        at = begin + condition.len();
    }
    changes
}

#[tokio::test]
async fn p12_c1_c4_every_condition_of_a_claim_is_needed() {
    let (_directory, connection) = bare().await;
    connection.execute_batch("BEGIN").unwrap();
    let situations = situations();
    let mut tried = 0;
    for (text, values) in STATEMENTS {
        // One that changes nothing, to see that what is noticed is a difference.
        let same = ("nothing".to_owned(), format!("{text} "));
        let mut unnoticed = [changes(text), vec![same]].concat();
        tried += unnoticed.len();
        assert!(unnoticed.len() >= 6, "no conditions were found in {text}");
        for situation in &situations {
            situation.set(&connection);
            let as_it_is = effects(&connection, text, values);
            unnoticed.retain(|(_, changed)| effects(&connection, changed, values) == as_it_is);
        }
        let unnoticed: Vec<_> = unnoticed.into_iter().map(|(change, _)| change).collect();
        assert_eq!(unnoticed, ["nothing"], "what nobody notices in {text}");
    }
    assert!(tried >= 100, "{tried}");
}
