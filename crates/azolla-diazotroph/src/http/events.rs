//! Server-sent events from bytes that may be cut anywhere, with a bound on what one event can hold (T31).
//!
//! Our own, as eventsource-stream 0.2.3 has no bound, reads a long line again with every piece that arrives, and
//! panics at a byte order mark.

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// The `event` field; empty where there is none.
    pub(crate) name: String,
    /// The `data` lines, joined. Not checked to be text.
    pub(crate) data: Vec<u8>,
}

/// An event that does not end within its bound.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Gathers bytes into events.
#[derive(Debug)]
pub(crate) struct Events {
    bytes_max: usize,
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    is_first_line: bool,
    is_after_return: bool,
}

impl Events {
    /// Starts, with the most bytes that one event may have.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            line: Vec::new(),
            event: Event::default(),
            has_data: false,
            is_first_line: true,
            is_after_return: false,
        }
    }

    /// Takes from the front of `bytes` up to the end of an event, or all of it where none ends.
    pub(crate) fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<Event>, TooLong> {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.is_after_return) && *first == b'\n' {
                *bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + self.event.data.len() + part.len() > self.bytes_max {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else {
                *bytes = &[];
                return Ok(None);
            };
            self.is_after_return = bytes[end] == b'\r';
            *bytes = &bytes[end + 1..];
            if let Some(event) = self.end_of_line() {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn end_of_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut text = line.as_slice();
        if std::mem::take(&mut self.is_first_line) {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        if text.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let colon = text.iter().position(|byte| *byte == b':').unwrap_or(text.len());
        let value = text.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &text[..colon] {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            // A comment, which keeps the connection alive, or a field that is of no use here.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
