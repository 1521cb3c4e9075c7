//! Converts records of a catalogue to items for the database.

use std::collections::HashSet;
use std::io::{BufRead, Seek};
use std::sync::Arc;

use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use urldb_canon::{RequestUrl, Scheme};
use urldb_format::{Mapping, Metadata, Value, is_sha256};

use super::extensions::{
    CNAMES, DOMAIN, EXTRA, LENGTH, METADATA, OURS, PATH, POSITION, SHA256, catalogued, key_of,
    synthesized, unescaped,
};
use super::reader::{Error, LineFault, Reader};
use super::record::{CatalogueRecord, Fault};
use crate::json;
use crate::model::{ListItem, Location, Notice, NoticeSeverity, ReadError, ReadEvent, Sink};

/// Reads a catalogue, and passes an item for each record to the sink. Of two records for one request
/// the second is discarded.
pub fn read(
    input: impl BufRead + Seek,
    file: &Arc<str>,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let mut reader = Reader::new(input).map_err(|error| match error {
        Error::Input(source) => ReadError::input(file)(source),
        Error::Forbidden { line, .. } => ReadError::malformed(file, line, error.to_string()),
    })?;
    let mut told = Vec::new();
    let mut requests: HashSet<[u8; 32]> = HashSet::new();
    for index in 1.. {
        let next = reader
            .next_record(&mut |fault| told.push(fault))
            .map_err(ReadError::input(file))?;
        for fault in told.drain(..) {
            sink(notice(fault, file).into())?;
        }
        let Some((line, record)) = next else {
            break;
        };
        let item = into_item(&record, file, line, index);
        if let Ok(item) = &item
            && !requests.insert(digest_of(item))
        {
            sink(repeated(item).into())?;
            continue;
        }
        sink(ReadEvent::from(item))?;
    }
    Ok(())
}

/// A digest of host, path and request.
fn digest_of(item: &ListItem) -> [u8; 32] {
    let identity = item.record.identity();
    let request = identity.request.unwrap_or_default();
    [&item.host, &identity.path, &request]
        .into_iter()
        .fold(Sha256::new(), |digest, part| {
            digest.chain_update(part).chain_update([0])
        })
        .finalize()
        .into()
}

fn repeated(item: &ListItem) -> Notice {
    let url = item.url();
    let message = format!(
        "the catalogue has an earlier record for {}; this record is discarded",
        url.as_ref().map_or(&*item.record.path, RequestUrl::as_str)
    );
    Notice {
        section: Some("3.1"),
        ..Notice::left_out(item.location.clone(), "repeated-uri", message)
    }
}

fn notice(found: LineFault, file: &Arc<str>) -> Notice {
    let fault = found.fault;
    Notice {
        location: Location::line(file, found.line),
        severity: match fault {
            Fault::BareLf | Fault::RecommendedMissing => NoticeSeverity::Remark,
            _ => NoticeSeverity::LeftOut,
        },
        code: fault.to_string(),
        message: found.message.into(),
        help: None,
        count: 1,
        section: Some(fault.section()),
    }
}

/// Converts the record at position `index` of a catalogue, from 1, to an item. `line` is its first line.
///
/// # Errors
/// A notice that says why the database cannot hold the record.
pub fn into_item(
    record: &CatalogueRecord,
    file: &Arc<str>,
    line: u64,
    index: u64,
) -> Result<ListItem, Notice> {
    let location = Location::line(file, line);
    let uri = record.get("URI").unwrap_or_default();
    let mut item = ListItem::of_uri(location, uri).map_err(|notice| Notice {
        section: Some("3.1"),
        ..notice
    })?;
    let is_synthesized = |name: &str| synthesized(record).any(|other| other == name);
    let given = |name: &'static str| record.get(name).filter(|_| !is_synthesized(name));
    let mut document = Mapping::new();
    document.insert("_path", path_of(record, &item)?);
    if let Some(domain) = record.get(DOMAIN) {
        item.host = domain_of(domain, &item)?;
    }
    for (key, name) in [("name", "NAME"), ("description", "DESCRIPTION")] {
        if let Some(value) = given(name) {
            document.insert(key, value);
        }
    }
    let mut catalogue = Mapping::new();
    for standard in catalogued() {
        if let Some(value) = given(standard.name) {
            catalogue.insert(key_of(standard), value);
        }
    }
    if !is_synthesized(POSITION) {
        catalogue.insert("position", index.to_string());
    }
    let extensions = read_extensions(record, &mut document);
    if !extensions.is_empty() {
        catalogue.insert("x", extensions);
    }
    if let Some(extra) = record.get(EXTRA) {
        let extra = parse_object(extra).map_err(|why| bad_extension(&item, EXTRA, why))?;
        overlay(&mut document, &mut catalogue, extra);
    }
    if !catalogue.is_empty() {
        document.insert("catalogue", sorted(catalogue));
    }
    item.metadata = metadata_of(record).map_err(|why| bad_extension(&item, METADATA, why))?;
    item.spelling = given("URI").filter(|_| !item.is_held()).map(str::to_owned);
    item.with_record(document)
}

fn bad_extension(item: &ListItem, field: &str, why: &str) -> Notice {
    let message = format!("{field} cannot be read: {why}");
    Notice::refused(item.location.clone(), "bad-extension", message)
}

fn path_of(record: &CatalogueRecord, item: &ListItem) -> Result<String, Notice> {
    match record.get(PATH).map(unescaped) {
        None => Ok(item.record.path.clone()),
        Some(Some(path)) => Ok(path),
        Some(None) => Err(bad_extension(
            item,
            PATH,
            "its escapes are not those of JSON",
        )),
    }
}

fn domain_of(domain: &str, item: &ListItem) -> Result<String, Notice> {
    RequestUrl::new(Scheme::Http, domain, "/")
        .filter(|_| !item.is_held())
        .map(|_| domain.to_owned())
        .ok_or_else(|| bad_extension(item, DOMAIN, "it is not a host name that can have the URI"))
}

/// Sets the promise from urldb's own extensions, and returns all other extensions. A field with one
/// of urldb's names but an invalid value counts as an extension of another program.
fn read_extensions(record: &CatalogueRecord, document: &mut Mapping) -> Mapping {
    let mut extensions = vec![];
    for (name, value) in record.extensions() {
        match name {
            LENGTH => match value.parse::<u64>() {
                Ok(length) if length.to_string() == value => {
                    document.insert("content-length", length);
                    continue;
                }
                _ => {}
            },
            SHA256 if is_sha256(value) => {
                document.insert("content-sha256", value);
                continue;
            }
            SHA256 => {}
            _ if OURS.contains(&name) => continue,
            _ => {}
        }
        extensions.push((name.to_owned(), Value::from(value)));
    }
    extensions.into_iter().collect()
}

fn parse_object(text: &str) -> Result<Mapping, &'static str> {
    match serde_json::from_str(text) {
        Ok(Json::Object(object)) => json::from_json(&object),
        _ => Err("it is not a JSON object"),
    }
}

/// Adds the keys of `X-DB-Extra`, which override those from fields; `catalogue` and its `x` are
/// merged key by key.
fn overlay(document: &mut Mapping, catalogue: &mut Mapping, mut extra: Mapping) {
    extra.remove("_path");
    match extra.remove("catalogue") {
        Some(Value::Map(more)) => {
            if more.is_empty() {
                document.insert("catalogue", Mapping::new());
            }
            overlay_catalogue(catalogue, more);
        }
        other => document.extend(other.map(|other| ("catalogue".to_owned(), other))),
    }
    document.extend(extra);
}

fn overlay_catalogue(catalogue: &mut Mapping, mut more: Mapping) {
    match (catalogue.remove("x"), more.remove("x")) {
        (Some(Value::Map(mut x)), Some(Value::Map(more))) => {
            x.extend(more);
            catalogue.insert("x", x);
        }
        (x, other) => catalogue.extend(other.or(x).map(|x| ("x".to_owned(), x))),
    }
    catalogue.extend(more);
}

fn sorted(mapping: Mapping) -> Mapping {
    let mut pairs: Vec<_> = mapping.into_iter().collect();
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    pairs.into_iter().collect()
}

fn metadata_of(record: &CatalogueRecord) -> Result<Option<Metadata>, &'static str> {
    if record.get(CNAMES).is_none() && record.get(METADATA).is_none() {
        return Ok(None);
    }
    let mut metadata = match record.get(METADATA) {
        Some(text) => Metadata::from_mapping(parse_object(text)?),
        None => Metadata::default(),
    };
    if let Some(cnames) = record.get(CNAMES) {
        metadata.cnames = cnames.split(", ").map(str::to_owned).collect();
    }
    Ok(Some(metadata))
}
