//! What a text has to have to be one: something to see. A text of characters without a width looks like none, wherever
//! it is shown, and nobody can tell it from another such text (T18, T22).

/// Tells whether a text has nothing to see: blanks, and characters that are never drawn. A control is something: screens
/// show a mark in its place.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_undrawn(c))
}

/// Tells whether a character is never drawn by itself: it joins, parts, turns or fills what is around it.
const fn is_undrawn(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t18_t22_a_text_without_anything_to_see_is_blank() {
        let blank = [
            "",
            " \t\n",
            "\u{200b}",
            "\u{200b}\u{200d} \u{2060}\u{feff}",
            "\u{ad}\u{34f}\u{61c}\u{180e}",
            "\u{202e}\u{2066}\u{2069}",
            "\u{3164}\u{115f}\u{ffa0}\u{2800}",
            "\u{e0041}\u{e007f}\u{fe0f}",
            "\u{a0}\u{3000}\u{2028}",
        ];
        for text in blank {
            assert!(is_blank(text), "{text:?}");
        }
        for text in ["a", "\u{200b}a", "é", "日本", "🎉", "।", "-", "\u{fffd}", "\u{1}\u{7}"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }
}
