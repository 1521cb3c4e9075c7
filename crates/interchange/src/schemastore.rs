//! `catalog.json` of a schema store: the URL of each schema, and of each of its versions.

use std::io::BufRead;
use std::sync::Arc;

use crate::file_events::FileEvents;
use crate::json_text::{JsonText, read_written};
use crate::model::{FilePromise, ReadError, Sink};

/// Reads a catalogue. Its URLs promise to answer, nothing else.
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no JSON object with the list `schemas`, [`ReadError::Input`] if it has more
/// than 128 MiB.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let (mut events, none) = (FileEvents { file, sink }, FilePromise::default());
    let text = read_written(input, file)?;
    for schema in JsonText::of_part(&text, 1).entries("schemas", file)? {
        match schema.get("url") {
            Some(url) => url.promise(&none, &mut events)?,
            None => events.refuse(schema.line(), "no-url", "the schema has no `url`")?,
        }
        let Some(versions) = schema.get("versions") else {
            continue;
        };
        if !versions.is_object() {
            events.refuse(versions.line(), "bad-value", "`versions` is no object")?;
        }
        for (_, url) in versions.members() {
            url.promise(&none, &mut events)?;
        }
    }
    Ok(())
}
