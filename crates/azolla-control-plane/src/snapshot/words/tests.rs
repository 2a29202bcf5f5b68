//! Which words are the same word.

use super::{STOP_WORDS, is_stop_word, key, parts, words};

fn split(word: &str) -> Vec<&str> {
    parts(word).collect()
}

#[test]
fn snake_camel_and_capitals_have_the_same_parts() {
    assert_eq!(split("max_retries"), ["max", "retries"]);
    assert_eq!(split("maxRetries"), ["max", "Retries"]);
    assert_eq!(split("HTTPServer2Config"), ["HTTP", "Server2", "Config"]);
    assert_eq!(split("__init__"), ["init"]);
    assert_eq!(split("größeNeu"), ["größe", "Neu"]);
    assert_eq!(split("_"), [""; 0]);
}

#[test]
fn forms_of_one_word_have_one_key() {
    for (forms, expected) in [
        (["round", "rounds", "rounding", "rounded"], "round"),
        (["cache", "caches", "cached", "caching"], "cach"),
        (["validate", "validates", "validation", "validator"], "valid"),
        (["retry", "retries", "retried", "retrying"], "retry"),
        (["parse", "parser", "parsing", "parsed"], "pars"),
        (["log", "logs", "logging", "logged"], "log"),
    ] {
        for form in forms {
            assert_eq!(key(form).as_deref(), Some(expected), "{form}");
        }
    }
}

#[test]
fn words_that_tell_nothing_have_no_key() {
    for word in ["the", "Should", "x", "42", "tests"] {
        assert_eq!(key(word), None, "{word}");
    }
    assert_eq!(key("404").as_deref(), Some("404"));
    assert!(is_stop_word("when") && !is_stop_word("whence"));
    assert!(STOP_WORDS.is_sorted(), "they are searched by halves");
}

#[test]
fn a_word_ends_where_an_identifier_would() {
    let text = "fn max_retries(n: u8) -> Größe { self.limit }";
    let found: Vec<&str> = words(text).collect();
    assert_eq!(found, ["fn", "max_retries", "n", "u8", "Größe", "self", "limit"]);
    assert_eq!(words(&"x".repeat(81)).count(), 0);
}
