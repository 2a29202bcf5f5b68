//! Answers have a size: a client puts them into a prompt. What is left out is named, never dropped silently.

use serde_json::Value;

/// The most bytes of an answer, as JSON.
pub(super) const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Bytes of the longest text and things of the longest list, tried in this order until the answer fits.
const STEPS: [(usize, usize); 6] = [(8_192, 100), (4_096, 50), (2_048, 25), (1_024, 20), (512, 10), (256, 5)];

/// Returns a document that fits, and what of it was left out, each by its path.
pub(super) fn fit(document: &Value, bytes_max: usize) -> (Value, Vec<String>) {
    fit_newest(document, bytes_max, None)
}

/// Does the same, and leaves out the first things of the list at a path instead of the last: where the newest are last.
pub(super) fn fit_newest(
    document: &Value,
    bytes_max: usize,
    newest_last: Option<&str>,
) -> (Value, Vec<String>) {
    for (text, list) in STEPS {
        let mut left_out = Vec::new();
        let cut = Cut { text, list, newest_last }.cut(document, "", &mut left_out);
        // What was left out is listed too, and a document of many long texts makes a long list.
        if left_out.len() > list {
            let more = left_out.len() - (list - 1);
            left_out.truncate(list - 1);
            left_out.push(format!("and at {more} more places"));
        }
        let listed: usize = left_out.iter().map(|line| line.len() + 4).sum();
        if bytes(&cut) + listed <= bytes_max {
            return (cut, left_out);
        }
    }
    (Value::Null, vec!["all of it: it is too large to be shown here".to_owned()])
}

/// Returns how many bytes a document has as JSON.
pub(super) fn bytes(document: &Value) -> usize {
    document.to_string().len()
}

/// Returns the longest beginning of a text that has at most so many bytes as JSON, however many of its characters have to
/// be escaped.
pub(super) fn beginning(text: &str, bytes_max: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            c if c < ' ' => 6,
            c => c.len_utf8(),
        };
        if used > bytes_max {
            return &text[..at];
        }
    }
    text
}

/// How much is cut.
struct Cut<'a> {
    /// Bytes of the longest text.
    text: usize,
    /// Things of the longest list.
    list: usize,
    /// The list that loses its first things.
    newest_last: Option<&'a str>,
}

impl Cut<'_> {
    fn cut(&self, value: &Value, path: &str, left_out: &mut Vec<String>) -> Value {
        match value {
            Value::String(whole) => {
                let kept = beginning(whole, self.text);
                if kept.len() < whole.len() {
                    left_out.push(format!("{path}: {} more bytes", whole.len() - kept.len()));
                    return format!("{kept}…").into();
                }
                value.clone()
            }
            Value::Array(items) => {
                let more = items.len().saturating_sub(self.list);
                if more > 0 {
                    left_out.push(format!("{path}: {more} more"));
                }
                let from = if self.newest_last == Some(path) { more } else { 0 };
                let kept = items.iter().skip(from).take(self.list).enumerate();
                kept.map(|(at, item)| self.cut(item, &format!("{path}[{at}]"), left_out)).collect()
            }
            Value::Object(fields) => {
                let below =
                    |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                let kept = fields.iter();
                kept.map(|(key, field)| (key.clone(), self.cut(field, &below(key), left_out))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fits_stays_as_it_is() {
        let document = json!({"a": "text", "b": [1, null, {"c": true}]});
        assert_eq!(fit(&document, ANSWER_BYTES_MAX), (document, vec![]));
    }

    #[test]
    fn what_is_left_out_is_named() {
        let document = json!({"a": {"b": "x".repeat(10_000)}, "c": vec![1; 150]});
        let (kept, left_out) = fit(&document, ANSWER_BYTES_MAX);
        assert_eq!(left_out, ["a.b: 1808 more bytes", "c: 50 more"]);
        assert_eq!(kept["a"]["b"], format!("{}…", "x".repeat(8_192)));
        assert_eq!(kept["c"].as_array().unwrap().len(), 100);
    }

    #[test]
    fn a_long_list_of_what_is_left_out_says_how_long_it_is() {
        let long = "x".repeat(9_000);
        let document = json!({"a": long, "b": long, "c": long, "d": long, "e": long, "f": long, "g": long});
        let (_, left_out) = fit(&document, 2_600);
        assert_eq!(left_out.len(), 5);
        assert_eq!(left_out.last().unwrap(), "and at 3 more places");
    }

    #[test]
    fn a_list_with_the_newest_last_loses_its_first_things() {
        let (kept, left_out) = fit_newest(
            &json!({"a": (0..101).collect::<Vec<_>>(), "b": (0..102).collect::<Vec<_>>()}),
            ANSWER_BYTES_MAX,
            Some("b"),
        );
        assert_eq!(left_out, ["a: 1 more", "b: 2 more"]);
        assert_eq!((&kept["a"][0], &kept["a"][99]), (&json!(0), &json!(99)));
        assert_eq!((&kept["b"][0], &kept["b"][99]), (&json!(2), &json!(101)));
    }

    #[test]
    fn a_document_of_any_size_fits() {
        for text in ["x", "\u{1}", "\"", "é", "\u{1f642}"] {
            let many: Vec<_> = (0..200).map(|_| text.repeat(100_000)).collect();
            let (kept, left_out) = fit(&json!({"many": many}), ANSWER_BYTES_MAX);
            let listed: usize = left_out.iter().map(|line| line.len() + 4).sum();
            assert!(bytes(&kept) + listed <= ANSWER_BYTES_MAX, "{text:?}: {}", bytes(&kept));
            assert!(!left_out.is_empty());
        }
        let deep = (0..9).fold(json!("x"), |deep, _| json!([deep.clone(), deep.clone(), deep.clone(), deep]));
        assert_eq!(fit(&deep, 1_000).0, Value::Null);
    }

    #[test]
    fn a_text_is_cut_between_characters_by_what_it_takes_as_json() {
        for (text, kept) in [("abcdef", "abcd"), ("a\nbcd", "a\nb"), ("\u{1}a", ""), ("aéé", "aé"), ("", "")]
        {
            assert_eq!(beginning(text, 4), kept, "{text:?}");
        }
    }
}
