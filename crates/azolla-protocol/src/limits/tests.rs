//! The limits table against section 11, and the lease.

use std::fmt::Write;

use super::*;

/// O-2: one table, each limit with default and maximum.
#[test]
fn o2_the_limits_table() {
    let mut table = String::new();
    for limit in LIMITS {
        let maximum = limit.maximum.map_or_else(|| "none".to_owned(), |maximum| maximum.to_string());
        let Limit { name, unit, default, minimum, .. } = limit;
        writeln!(table, "{name:<27}{unit:<6}{default:>8}{minimum:>7}{maximum:>9}").unwrap();
    }
    insta::assert_snapshot!(table, @r"
    lease_ms                   ms       60000  30000   120000
    max_concurrent             count        1      1        3
    review_limit               count        3      0     none
    attempts_max               count        2      1        5
    claims_without_outcome_max count        3      1       10
    triage_batch               count       20      1      100
    budget_patch_ms            ms      600000      1 86400000
    budget_triage_ms           ms      120000      1 86400000
    budget_manifest_ms         ms      120000      1 86400000
    check_ms                   ms      600000      1  3600000
    prompt_bytes               bytes   400000      1  4000000
    prompt_repository_bytes    bytes   200000      1  4000000
    provider_retries           count        8      0       50
    peer_query_ms              ms        5000      1    60000
    peer_answer_bytes          bytes  1048576      1  8388608
    patch_bytes                bytes  5000000      1 50000000
    patch_files                count      500      1     5000
    patch_file_bytes           bytes  5000000      1 50000000
    ");
}

/// O-2: what may be spent is in a table of the same form, where 0 is no cap.
#[test]
fn o2_the_caps_table() {
    let rows = CAPS.map(|cap| format!("{:<17}{:<9}{:>8}", cap.name, cap.unit, cap.default));
    insta::assert_snapshot!(rows.join("\n"), @r"
    run_tokens       tokens          0
    run_usd          microusd  2000000
    objective_tokens tokens          0
    objective_usd    microusd  5000000
    objective_ms     ms              0
    objective_runs   count           0
    day_tokens       tokens          0
    day_usd          microusd 20000000
    day_ms           ms              0
    day_runs         count           0
    ");
    assert!(CAPS.iter().all(|cap| cap.minimum == 0 && cap.maximum.is_some()));
}

#[test]
fn o2_defaults_are_in_range_and_names_are_unique() {
    let all: Vec<Limit> = LIMITS.into_iter().chain(CAPS).collect();
    for (i, limit) in all.iter().enumerate() {
        assert_eq!(limit.check(limit.default), Ok(limit.default), "{}", limit.name);
        assert!(all[..i].iter().all(|other| other.name != limit.name), "{}", limit.name);
    }
}

#[test]
fn o2_a_value_out_of_range_is_refused_by_name_and_range() {
    assert_eq!(MAX_CONCURRENT.check(3), Ok(3));
    assert_eq!(
        MAX_CONCURRENT.check(4).unwrap_err().to_string(),
        "max_concurrent must be 1 to 3 (count), not 4"
    );
    assert_eq!(REVIEW_LIMIT.check(u64::MAX), Ok(u64::MAX));
    let open = Limit { minimum: 2, ..REVIEW_LIMIT };
    assert_eq!(open.check(1).unwrap_err().to_string(), "review_limit must be 2 or more (count), not 1");
}

#[test]
fn c7_a_lease_is_bounded_and_renewed_at_a_third() {
    assert_eq!((LeaseLength::DEFAULT.as_ms(), LeaseLength::DEFAULT.renew_every_ms()), (60_000, 20_000));
    assert_eq!(LeaseLength::new(120_000).unwrap().renew_every_ms(), 40_000);
    assert_eq!(LeaseLength::new(1).unwrap().renew_every_ms(), 1);
    assert_eq!(LeaseLength::new(0).unwrap_err().to_string(), "lease_ms must be 1 to 120000 (ms), not 0");
    assert!(LeaseLength::new(120_001).is_err());
    assert!(LEASE_MS.check(29_999).is_err(), "configuration begins at 30 s");
}
