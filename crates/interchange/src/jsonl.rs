//! JSON lines: `{"url": …, "domain": …, "metadata": …, "record": …}`, which hold all data of a
//! record. A program that makes them of another file names the place there: `"file": …, "line": …`.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use urldb_canon::{RequestUrl, Scheme};
use urldb_format::Metadata;
use urldb_text::sanitize;

use crate::file_events::FileEvents;
use crate::json;
use crate::model::{DomainRecord, ListItem, Location, Notice, ReadError, Sink};

/// Reads JSON lines. `url` is required. `domain` and the record's `_path` override the host and the
/// path of the URL, `file` and `line` the place.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    FileEvents { file, sink }.each_line(input, &mut |line, events| {
        if line.text.trim().is_empty() {
            return Ok(());
        }
        events.pass(parse(line.text, &events.at(line.number)))
    })
}

fn parse(text: &str, location: &Location) -> Result<ListItem, Notice> {
    let refused = |why: &str| Notice::refused(location.clone(), "bad-line", why);
    let Ok(Json::Object(object)) = serde_json::from_str(text) else {
        return Err(refused("the line is not a JSON object"));
    };
    let url = object
        .get("url")
        .and_then(Json::as_str)
        .ok_or_else(|| refused("there is no `url`"))?;
    let mut item = ListItem::of_uri(location.clone(), url)?;
    if let Some(place) = place(&object).map_err(refused)? {
        item.location = place;
    }
    if let Some(domain) = object.get("domain").and_then(Json::as_str) {
        if item.is_held() && domain != item.host {
            return Err(refused("no domain can have the URI"));
        } else if item.is_held() || RequestUrl::new(Scheme::Http, domain, "/").is_some() {
            domain.clone_into(&mut item.host);
        } else {
            return Err(refused("`domain` is not a host name"));
        }
    }
    let mapping = |key| match object.get(key) {
        Some(Json::Object(mapping)) => json::from_json(mapping).map(Some),
        Some(_) => Err("`record` and `metadata` should be objects"),
        None => Ok(None),
    };
    item.metadata = mapping("metadata")
        .map_err(refused)?
        .map(Metadata::from_mapping);
    item.with_record(mapping("record").map_err(refused)?.unwrap_or_default())
}

/// The place in the file that the line was made of, if it names one.
fn place(object: &Map<String, Json>) -> Result<Option<Location>, &'static str> {
    let Some(file) = object.get("file") else {
        return Ok(None);
    };
    let line = object.get("line").map_or(Some(1), Json::as_u64);
    match (file.as_str(), line) {
        (Some(file), Some(line @ 1..)) if !file.is_empty() => {
            Ok(Some(Location::line(&sanitize(file).into(), line)))
        }
        _ => Err("`file` should be a name, and `line` a number from 1"),
    }
}

/// Writes a line. `metadata` is left out if a reader derives the same metadata from the URL.
pub fn write(output: &mut impl Write, domain_record: &DomainRecord<'_>) -> io::Result<()> {
    let mut object = Map::new();
    object.insert("url".to_owned(), Json::from(domain_record.url()));
    object.insert("domain".to_owned(), Json::from(domain_record.domain));
    if let Some(metadata) = domain_record.stated_metadata(domain_record.scheme()) {
        object.insert(
            "metadata".to_owned(),
            Json::Object(json::to_json(&metadata.to_mapping())),
        );
    }
    object.insert(
        "record".to_owned(),
        Json::Object(json::to_json(&domain_record.record.to_mapping())),
    );
    writeln!(output, "{}", json::ascii(&Json::Object(object)))
}
