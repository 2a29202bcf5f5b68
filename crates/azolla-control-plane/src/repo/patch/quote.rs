//! Names in C-style quotes, as git writes and reads them.

use super::Refusal;

/// Returns the name in quotes if it needs them.
pub(crate) fn quote(name: &str) -> String {
    let is_plain = |byte: u8| byte >= 0x20 && byte != 0x7f && !matches!(byte, b'"' | b'\\');
    if name.bytes().all(is_plain) && !name.contains(' ') {
        return name.to_owned();
    }
    let mut quoted = String::from("\"");
    for character in name.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\u{0}'..='\u{1f}' | '\u{7f}' => quoted.push_str(&format!("\\{:03o}", u32::from(character))),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns a name that may be in quotes.
pub(crate) fn unquote_whole(text: &str) -> Result<String, Refusal> {
    if !text.starts_with('"') {
        return Ok(text.to_owned());
    }
    match unquote(text)? {
        (name, "") => Ok(name),
        _ => Err(Refusal::of(text, "has something after its quoted name")),
    }
}

/// Returns two names, each of which may be in quotes, with a space between them.
pub(crate) fn unquote_pair(text: &str) -> Result<String, Refusal> {
    let (first, rest) = if text.starts_with('"') {
        let (name, rest) = unquote(text)?;
        (name, rest.strip_prefix(' ').unwrap_or(rest))
    } else if let Some((first, _)) = text.split_once(" \"") {
        (first.to_owned(), &text[first.len() + 1..])
    } else {
        return Ok(text.to_owned());
    };
    Ok(format!("{first} {}", unquote_whole(rest)?))
}

fn unquote(text: &str) -> Result<(String, &str), Refusal> {
    let bad = || Refusal::of(text, "is a quoted name that cannot be read");
    let bytes = text.as_bytes();
    let mut name = Vec::new();
    let mut at = 1;
    loop {
        match *bytes.get(at).ok_or_else(bad)? {
            b'"' => break,
            b'\\' => {
                let (byte, length) = escape(&bytes[at + 1..]).ok_or_else(bad)?;
                name.push(byte);
                at += 1 + length;
            }
            byte => {
                name.push(byte);
                at += 1;
            }
        }
    }
    let name = String::from_utf8(name).map_err(|_| Refusal::of(text, "is a name that is not UTF-8"))?;
    Ok((name, &text[at + 1..]))
}

fn escape(bytes: &[u8]) -> Option<(u8, usize)> {
    let byte = match *bytes.first()? {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        byte @ (b'"' | b'\\') => byte,
        b'0'..=b'3' => {
            let digits = std::str::from_utf8(bytes.get(..3)?).ok()?;
            return Some((u8::from_str_radix(digits, 8).ok()?, 3));
        }
        _ => return None,
    };
    Some((byte, 1))
}
