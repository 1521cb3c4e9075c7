//! `datapackage.json` of Frictionless Data: the files of each resource (Data Package 1.0 and 2.0).

use std::io::Read;
use std::sync::Arc;

use crate::file_events::FileEvents;
use crate::input::read_document;
use crate::json_text::{JsonText, Value, digest};
use crate::model::{FilePromise, ListItem, Location, Notice, ReadError, Sink};
use crate::sums::item_below;

/// The size limit of a file. Tables with thousands of columns make some hundred kilobytes.
const MAX_FILE: u64 = 4 << 20;

/// Reads a package: `path`, `bytes` and `hash` of each resource. `base` is the URL of the folder with the package, with
/// a final `/`. A `hash` without a prefix has the algorithm of its length.
///
/// Left out are resources whose data are in the package (`inline`), relative paths without a base (`relative`), `bytes`
/// and `hash` of a resource in several files, since they are those of all together (`parts`), and digests of other
/// algorithms (`algorithm`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no JSON object with the list `resources`, [`ReadError::Input`] if it is larger
/// than 4 MiB.
pub fn read(
    input: impl Read,
    file: &Arc<str>,
    base: Option<&str>,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let text = read_document(input, MAX_FILE, file)?;
    let json = JsonText::of_file(&text);
    let mut events = FileEvents { file, sink };
    json.entries("resources", file)?
        .try_for_each(|resource| read_resource(resource, base, &mut events))
}

fn read_resource(
    resource: Value<'_>,
    base: Option<&str>,
    events: &mut FileEvents<'_, '_>,
) -> Result<(), ReadError> {
    if !resource.is_object() {
        return events.refuse(resource.line(), "bad-value", "the resource is no object");
    }
    let [path, mut bytes, mut hash, data] = resource.fields(["path", "bytes", "hash", "data"]);
    let Some(path) = path else {
        return match data {
            Some(data) => {
                let why = "the data are in the package itself";
                events.skip(data.line(), "inline", why)
            }
            None => events.refuse(resource.line(), "no-url", "the resource has no `path`"),
        };
    };
    if path.items().nth(1).is_some() {
        if let Some(stated) = hash.or(bytes) {
            let why = "the length and the digest are those of all parts together";
            events.skip(stated.line(), "parts", why)?;
        }
        (bytes, hash) = (None, None);
    }
    let length = bytes.and_then(Value::number);
    if let Some(bytes) = bytes.filter(|_| length.is_none()) {
        let why = "`bytes` is no number of bytes";
        return events.refuse(bytes.line(), "bad-length", why);
    }
    let Some(found) = digest(hash, None, events)? else {
        return Ok(());
    };
    let promise = FilePromise { length, ..found };
    for part in path.items() {
        let item = item_of(part, base, events.at(part.line()));
        events.promise(item, &promise)?;
    }
    Ok(())
}

/// The item of a path: a URL, or the path of a file below the base.
fn item_of(path: Value<'_>, base: Option<&str>, location: Location) -> Result<ListItem, Notice> {
    match (path.text(), base) {
        (None, _) => {
            let message = "the path is no text";
            Err(Notice::refused(location, "bad-value", message))
        }
        (Some(path), _) if path.contains("://") => ListItem::new(location, &path),
        (Some(path), Some(base)) => item_below(base, &path, location),
        (Some(path), None) => {
            let message = format!("{path} has a URL only below a base");
            Err(Notice::left_out(location, "relative", message))
        }
    }
}
