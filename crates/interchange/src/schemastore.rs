//! `catalog.json` of a schema store: the URL of each schema, and of each of its versions.

use std::io::BufRead;
use std::sync::Arc;

use crate::entries::{self, ListPosition};
use crate::file_events::FileEvents;
use crate::model::{ReadError, Sink};

/// Reads a catalogue. Its URLs promise to answer, nothing else.
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no JSON object with the list `schemas`, [`ReadError::Input`] if a schema has
/// more than 1 MiB.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut events = FileEvents { file, sink };
    entries::read(input, file, ListPosition::Key("schemas"), &mut |schema| {
        match schema.get("url") {
            Some(url) => events.pass(url.item(file))?,
            None => events.refuse(schema.line(), "no-url", "the schema has no `url`")?,
        }
        let Some(versions) = schema.get("versions") else {
            return Ok(());
        };
        if !versions.is_object() {
            return events.refuse(versions.line(), "bad-value", "`versions` is no object");
        }
        let mut urls = versions.members();
        urls.try_for_each(|(_, url)| events.pass(url.item(file)))
    })
}
