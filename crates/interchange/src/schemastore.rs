//! `catalog.json` of a schema store: the URL of each schema, and of each of its versions.

use std::io::BufRead;
use std::sync::Arc;

use crate::entries::{self, ListPosition};
use crate::model::{Notice, ReadError, Sink};

/// Reads a catalogue. Its URLs promise to answer, nothing else.
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no JSON object with the list `schemas`, [`ReadError::Input`] if a schema has
/// more than 1 MiB.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    entries::read(input, file, ListPosition::Key("schemas"), &mut |schema| {
        let url = schema.get("url").map(|url| url.item(file));
        let item = url.unwrap_or_else(|| {
            let message = "the schema has no `url`";
            Err(Notice::refused(schema.location(file), "no-url", message))
        });
        sink(item.into())?;
        let Some(versions) = schema.get("versions") else {
            return Ok(());
        };
        let Some(urls) = versions.object() else {
            let message = "`versions` is no object";
            let notice = Notice::refused(versions.location(file), "bad-value", message);
            return Ok(sink(notice.into())?);
        };
        for (_, url) in urls {
            sink(url.item(file).into())?;
        }
        Ok(())
    })
}
