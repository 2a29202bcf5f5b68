//! What is found in the words of an objective.

use super::{Mention, Query, Texts};

fn query(title: &str) -> Query {
    Query::new(&Texts { title, ..Texts::default() }, Vec::new())
}

fn weight(query: &Query, key: &str) -> f64 {
    query.place(key).map_or(0.0, |place| query.terms[place].weight)
}

#[test]
fn a_name_weighs_more_than_its_parts_and_more_in_backticks() {
    let plain = query("retries of fetch_page end early");
    assert!(weight(&plain, "fetchpag") > weight(&plain, "fetch"), "{:?}", plain.terms);
    assert!(
        weight(&query("retries of `fetch` end"), "fetch") > weight(&query("retries of fetch end"), "fetch")
    );
    assert!(weight(&plain, "retry") > 0.0);
}

#[test]
fn two_words_side_by_side_are_looked_for_as_one_name() {
    let query = query("The rate limiter forgets");
    assert!(weight(&query, "ratlimit") > 0.0, "{:?}", query.terms);
    let mut found = Vec::new();
    query.terms_of("RateLimiterConfig", &mut Vec::new(), |place| found.push(query.terms[place].key.as_str()));
    assert_eq!(found, ["rat", "limit", "ratlimit"]);
}

#[test]
fn paths_and_their_lines_are_found_in_prose_and_in_traces() {
    let trace = "panicked at src/lib.rs:12:5, see Cargo.toml. File \"/w/app/views.py\", line 40, in get; see https://a.b/c.d";
    let named = |components: &[&str], line| Mention {
        components: components.iter().map(|&part| part.to_owned()).collect(),
        line,
    };
    assert_eq!(
        query(trace).mentions,
        [
            named(&["src", "lib.rs"], Some(12)),
            named(&["Cargo.toml"], None),
            named(&["w", "app", "views.py"], Some(40))
        ]
    );
}

#[test]
fn modules_are_found_in_their_usual_forms() {
    let query = query("`store::RowCache` and app.billing.tax or Invoice.total() fail");
    let names: Vec<String> = query.modules.iter().map(|names| names.join(" ")).collect();
    assert_eq!(names, ["store rowcache", "app billing tax", "invoice total"]);
}

#[test]
fn the_title_comes_before_the_criteria_and_those_before_what_failed() {
    let texts = Texts { title: "alpha", criteria: "beta", feedback: &["gamma"], failures: &["delta"] };
    let query = Query::new(&texts, Vec::new());
    let order = ["alpha", "gamma", "beta", "delta"]
        .map(|word| weight(&query, &super::key(word).expect("a word that counts")));
    assert!(order.is_sorted_by(|a, b| a > b), "{order:?}");
}

#[test]
fn the_place_at_the_beginning_of_a_title_weighs_more() {
    for title in ["parser: end at the colon", "[parser] end at the colon"] {
        let query = query(title);
        assert!(weight(&query, "pars") > 2.0 * weight(&query, "colon"), "{:?}", query.terms);
    }
    let sentence = query("The parser ends at the very first colon: why");
    assert_eq!(weight(&sentence, "pars"), weight(&sentence, "colon"));
}

#[test]
fn a_text_full_of_paths_is_bounded() {
    let text: String = (0..20_000).map(|n| format!("a/{n}.rs ")).collect();
    assert_eq!(query(&text).mentions.len(), 200);
    assert_eq!(query(&"a/b.rs ".repeat(500)).mentions.len(), 1);
}
