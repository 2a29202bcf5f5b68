//! Canonical serialization (RFC 8785): one value, one text, so that stored documents compare as bytes.
//!
//! serde_json writes the text; the formatter here puts the keys of every object in order once it is complete. Every
//! document passes through it, so an object is one stretch of one buffer and not a tree of small ones.

use std::cmp::Ordering;
use std::io::{self, Write};
use std::ops::Range;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

/// A value that has no canonical text: a key twice in one object, or a key that is no string.
#[derive(Debug, thiserror::Error)]
#[error("the value has no canonical JSON text: {0}")]
pub struct NotCanonical(#[from] serde_json::Error);

/// Returns the canonical text of `value`: keys by UTF-16 code units, numbers as ECMAScript prints them.
pub fn canonical<T: Serialize>(value: &T) -> Result<String, NotCanonical> {
    let mut formatter = InOrder::new();
    // The formatter keeps the text itself: it has to go back to what was written.
    value.serialize(&mut Serializer::with_formatter(io::sink(), &mut formatter))?;
    Ok(String::from_utf8(formatter.text).expect("serde_json writes UTF-8"))
}

/// The text so far, and the objects that are still open.
struct InOrder {
    text: Vec<u8>,
    /// The fields of every open object, one after the other.
    fields: Vec<Field>,
    /// Where in `fields` each open object begins.
    open: Vec<usize>,
}

/// Where a field of an object is: `"key":value`.
struct Field {
    /// The key between its quotes, as it is written.
    key: Range<usize>,
    /// Whether the bytes of the key sort as what it stands for does.
    is_plain: bool,
    /// The whole field.
    whole: Range<usize>,
}

impl InOrder {
    /// With room for a usual document: growing step by step costs more than writing it.
    fn new() -> Self {
        Self { text: Vec::with_capacity(1024), fields: Vec::with_capacity(32), open: Vec::with_capacity(4) }
    }

    fn put(&mut self, text: &[u8]) -> io::Result<()> {
        self.text.extend_from_slice(text);
        Ok(())
    }

    /// ECMAScript has one kind of number; up to 2^53 a whole one is written as it is everywhere.
    fn put_whole(&mut self, number: i128) -> io::Result<()> {
        const EXACT_MAX: u128 = 1 << 53;
        if number.unsigned_abs() > EXACT_MAX {
            return self.put_float(number as f64);
        }
        write!(self.text, "{number}")
    }

    fn put_float(&mut self, number: f64) -> io::Result<()> {
        Ok(serde_json_canonicalizer::to_writer(&number, &mut self.text)?)
    }

    fn last_field(&mut self) -> io::Result<&mut Field> {
        self.fields.last_mut().ok_or_else(|| io::Error::other("a value outside of a field"))
    }

    /// Puts the fields from `first` on, which are all of an object, in order.
    fn sort(&mut self, first: usize) -> io::Result<()> {
        let Some(start) = self.fields.get(first).map(|field| field.whole.start) else { return Ok(()) };
        let text = &self.text;
        let compare = |a: &Field, b: &Field| {
            let (key_a, key_b) = (&text[a.key.clone()], &text[b.key.clone()]);
            if a.is_plain && b.is_plain {
                key_a.cmp(key_b)
            } else {
                code_units(key_a).cmp(&code_units(key_b))
            }
        };
        let fields = &mut self.fields[first..];
        if fields.windows(2).all(|pair| compare(&pair[0], &pair[1]) == Ordering::Less) {
            return Ok(());
        }
        fields.sort_unstable_by(compare);
        if fields.windows(2).any(|pair| compare(&pair[0], &pair[1]) == Ordering::Equal) {
            return Err(io::Error::other("duplicate object key"));
        }
        let mut sorted = Vec::with_capacity(self.text.len() - start);
        for field in fields {
            if !sorted.is_empty() {
                sorted.push(b',');
            }
            sorted.extend_from_slice(&self.text[field.whole.clone()]);
        }
        self.text.truncate(start);
        self.put(&sorted)
    }
}

/// Returns the UTF-16 code units of what a key stands for, from the key as it is written.
fn code_units(key: &[u8]) -> Vec<u16> {
    let quoted = [b"\"", key, b"\""].concat();
    let key: String = serde_json::from_slice(&quoted).expect("serde_json reads what it wrote");
    key.encode_utf16().collect()
}

/// Formats a whole number of any width alike.
macro_rules! whole_numbers {
    ($($name:ident $number:ty,)+) => {
        $(fn $name<W: ?Sized + Write>(&mut self, _: &mut W, number: $number) -> io::Result<()> {
            self.put_whole(number.into())
        })+
    };
}

impl Formatter for &mut InOrder {
    whole_numbers! {
        write_i8 i8, write_i16 i16, write_i32 i32, write_i64 i64, write_i128 i128,
        write_u8 u8, write_u16 u16, write_u32 u32, write_u64 u64,
    }

    fn write_u128<W: ?Sized + Write>(&mut self, _: &mut W, number: u128) -> io::Result<()> {
        match i128::try_from(number) {
            Ok(number) => self.put_whole(number),
            Err(_) => self.put_float(number as f64),
        }
    }

    fn write_f32<W: ?Sized + Write>(&mut self, _: &mut W, number: f32) -> io::Result<()> {
        self.put_float(number.into())
    }

    fn write_f64<W: ?Sized + Write>(&mut self, _: &mut W, number: f64) -> io::Result<()> {
        self.put_float(number)
    }

    fn write_null<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"null")
    }

    fn write_bool<W: ?Sized + Write>(&mut self, _: &mut W, value: bool) -> io::Result<()> {
        self.put(if value { b"true" } else { b"false" })
    }

    fn begin_string<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"\"")
    }

    fn end_string<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"\"")
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, _: &mut W, fragment: &str) -> io::Result<()> {
        self.put(fragment.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        _: &mut W,
        escape: serde_json::ser::CharEscape,
    ) -> io::Result<()> {
        // The same escapes as RFC 8785 asks for.
        CompactFormatter.write_char_escape(&mut self.text, escape)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, _: &mut W, first: bool) -> io::Result<()> {
        self.put(if first { b"" } else { b"," })
    }

    fn begin_object<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.open.push(self.fields.len());
        self.put(b"{")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, _: &mut W, first: bool) -> io::Result<()> {
        self.put(if first { b"" } else { b"," })?;
        let at = self.text.len();
        self.fields.push(Field { key: at + 1..at, is_plain: true, whole: at..at });
        Ok(())
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        // Without its closing quote.
        let end = self.text.len() - 1;
        let start = self.last_field()?.key.start;
        let is_plain = self.text[start..end].iter().all(|byte| byte.is_ascii() && *byte != b'\\');
        let field = self.last_field()?;
        (field.key.end, field.is_plain) = (end, is_plain);
        Ok(())
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b":")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        let end = self.text.len();
        self.last_field()?.whole.end = end;
        Ok(())
    }

    fn end_object<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        let first = self.open.pop().ok_or_else(|| io::Error::other("the end of no object"))?;
        self.sort(first)?;
        self.fields.truncate(first);
        self.put(b"}")
    }

    fn write_raw_fragment<W: ?Sized + Write>(&mut self, _: &mut W, _: &str) -> io::Result<()> {
        Err(io::Error::other("text that is JSON already has no canonical form"))
    }
}

#[cfg(test)]
mod tests;
