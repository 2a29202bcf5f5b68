//! A JSON document of edits, for answers that a server holds to a schema.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::{
    Action, Change, Chunk, FileEdit, Reach,
    parts::{PARTS_MAX, Parts},
    search_replace::split,
};
use crate::repo::{patch::Lines, refusal::Refusal};

/// Returns the schema of the document: draft-07, closed.
///
/// `notes` is required because servers that hold an answer to a schema ask that of every field; a document without it
/// is read all the same.
pub fn edit_schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(schema);
    &SCHEMA
}

fn schema() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let closed = |properties: Value| {
        let required: Vec<&String> =
            properties.as_object().map(|object| object.keys().collect()).unwrap_or_default();
        json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties})
    };
    let path = text("Path of the file, relative to the root of the repository");
    let edit = json!({"anyOf": [
        closed(json!({
            "path": path,
            "search": text("Text that is in the file exactly once"),
            "replace": text("Text that takes its place"),
        })),
        closed(json!({"path": path, "content": text("The whole file")})),
        closed(json!({"path": path, "delete": {"type": "boolean", "enum": [true]}})),
    ]});
    let mut schema = closed(json!({
        "edits": {"type": "array", "items": edit},
        "notes": text("What a reviewer has to know, or nothing"),
    }));
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema
}

/// Tells whether a document of edits begins here.
pub(super) fn begins(lines: &Lines<'_>) -> bool {
    let is_key = |text: &str| ["\"edits\"", "\"notes\""].iter().any(|key| text.starts_with(key));
    lines.peek().is_some_and(|line| line.starts_with('{')) && is_key(lines.rest()[1..].trim_start())
}

/// Reads a document; the lines that it takes are gone.
pub(super) fn read(lines: &mut Lines<'_>, parts: &mut Parts) -> Result<Vec<FileEdit>, Refusal> {
    let text = lines.rest();
    check_shape(text)?;
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let document = documents.next().transpose().map_err(|error| cannot_be_read(&error))?;
    let read = text[..documents.byte_offset()].matches('\n').count() + 1;
    for _ in 0..read {
        lines.next();
    }
    let Some(Value::Object(mut document)) = document else {
        return Err(Refusal::whole("the JSON document is no object"));
    };
    let edits = match document.remove("edits") {
        Some(Value::Array(edits)) => edits,
        _ => return Err(Refusal::whole("the JSON document has no array \"edits\"")),
    };
    document.remove("notes");
    refuse_more(&document, "the JSON document")?;
    let numbered = edits.into_iter().enumerate();
    numbered.map(|(n, edit)| parts.add().and_then(|()| read_edit(n + 1, edit))).collect()
}

/// Refuses a document that is nested deeper or has more values than any that we read, before anything is made of it: a
/// value of two bytes takes hundreds once it is read (T12, T32).
fn check_shape(text: &str) -> Result<(), Refusal> {
    /// The document, its edits, one of them.
    const DEPTH_MAX: usize = 3;
    /// Objects and members together; an edit has three members.
    const VALUES_MAX: usize = 4 * PARTS_MAX + 8;
    let (mut depth, mut values, mut is_text, mut is_escaped) = (0_usize, 0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => (depth, values) = (depth + 1, values + 1),
            b',' => values += 1,
            b'}' | b']' if depth <= 1 => return Ok(()),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Err(Refusal::whole("the JSON document is nested deeper than edits are"));
        }
        if values > VALUES_MAX {
            return Err(Refusal::whole(format!("the JSON document has more than {PARTS_MAX} edits")));
        }
    }
    Ok(())
}

fn cannot_be_read(error: &serde_json::Error) -> Refusal {
    let end = if error.is_eof() { "; the answer was cut off" } else { "" };
    Refusal::whole(format!(
        "the JSON document cannot be read at line {}, column {}{end}",
        error.line(),
        error.column()
    ))
}

fn read_edit(n: usize, edit: Value) -> Result<FileEdit, Refusal> {
    let label = format!("edit {n}");
    let Value::Object(mut edit) = edit else {
        return Err(Refusal::whole(format!("{label} is no object")));
    };
    let path =
        text(&mut edit, "path", &label)?.ok_or_else(|| Refusal::whole(format!("{label} has no path")))?;
    let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
    let search = text(&mut edit, "search", &label)?;
    let replace = text(&mut edit, "replace", &label)?;
    let content = text(&mut edit, "content", &label)?;
    let delete = match edit.remove("delete") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        Some(_) => {
            return Err(Refusal::of(&path, format!("{label} has a delete that is neither true nor false")));
        }
    };
    refuse_more(&edit, &label)?;
    let action = match (search, replace, content, delete) {
        (Some(search), Some(replace), None, false) if search.trim().is_empty() => Action::Create(replace),
        (Some(search), Some(replace), None, false) => {
            let chunk = Chunk::replacing(label, &split(&search), &split(&replace), Reach::PartOfLine);
            Action::Change(vec![Change::one(chunk)])
        }
        (None, None, Some(text), false) => Action::Write { text, is_fenced: false },
        (None, None, None, true) => Action::Delete { shown: Vec::new() },
        _ => {
            let reason =
                format!("{label} needs search and replace, or content, or delete, and one of them only");
            return Err(Refusal::of(&path, reason));
        }
    };
    Ok(FileEdit::new(path, action))
}

fn text(edit: &mut Map<String, Value>, key: &str, label: &str) -> Result<Option<String>, Refusal> {
    match edit.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Refusal::whole(format!("{label} has a {key} that is no text"))),
    }
}

fn refuse_more(object: &Map<String, Value>, whose: &str) -> Result<(), Refusal> {
    match object.keys().next() {
        None => Ok(()),
        Some(key) => {
            let key = crate::repo::refusal::visible(key);
            Err(Refusal::whole(format!("{whose} has a field that is not known: {key}")))
        }
    }
}
