//! Converts records of the database to records of a catalogue.

use std::collections::HashSet;

use jiff::civil::DateTime;
use percent_encoding::utf8_percent_encode;
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};
use urldb_canon::{RequestUrl, identify};
use urldb_format::{Mapping, Metadata, Value, is_sha256};

use super::extensions::{
    CNAMES, DOMAIN, EXTRA, LENGTH, METADATA, OURS, PATH, POSITION, SHA256, SYNTHESIZED, catalogued,
    escaped, key_of,
};
use super::field::{self, StandardField, is_name, is_value};
use super::record::CatalogueRecord;
use crate::escape::PATH_AND_QUERY;
use crate::json;
use crate::model::DomainRecord;

/// The order of records: position in an earlier catalogue, then DATE, NAME, ID and a digest. The
/// specification forbids an order by URI or DESCRIPTION (3.1, 3.5), so a NAME that repeats the URI
/// does not count, and the digest decides where nothing else does.
pub type SortKey = (u64, Option<DateTime>, String, (usize, String), [u8; 32]);

/// A record converted for a catalogue, before its position there is known.
#[derive(Debug, Clone)]
pub struct ConvertedRecord {
    record: CatalogueRecord,
    extra: Map<String, Json>,
    synthesized: Vec<&'static str>,
    position: Option<u64>,
}

/// The key by which records are sorted before they are finished and written.
pub fn sort_key(converted: &ConvertedRecord) -> SortKey {
    let get = |name| converted.record.get(name).unwrap_or_default();
    let id = field::number(get("ID")).unwrap_or_default();
    let name = Some(get("NAME")).filter(|name| *name != get("URI"));
    let extra = json::ascii(&Json::Object(converted.extra.clone()));
    let digest = Sha256::new()
        .chain_update(get("URI"))
        .chain_update([0])
        .chain_update(extra);
    (
        converted.position.unwrap_or(u64::MAX),
        field::parse_date(get("DATE")),
        name.unwrap_or_default().to_owned(),
        (id.len(), id.to_owned()),
        digest.finalize().into(),
    )
}

impl ConvertedRecord {
    /// The record at position `index` of the catalogue, from 1. If an earlier record in `ids` has the
    /// same ID, the ID goes into `X-DB-Extra` only.
    pub fn finish(mut self, index: u64, ids: &mut HashSet<String>) -> CatalogueRecord {
        match self.position {
            Some(position) if position == index => {}
            Some(position) => self.keep("position", position.to_string()),
            None => self.synthesized.push(POSITION),
        }
        let id = self.record.get("ID").and_then(field::number);
        if let Some(id) = id.map(str::to_owned)
            && !ids.insert(id)
            && let Some(id) = self.record.remove("ID")
        {
            self.keep("id", id);
        }
        if !self.extra.is_empty() {
            add_field(
                &mut self.record,
                EXTRA,
                &json::ascii(&Json::Object(self.extra)),
            );
        }
        if !self.synthesized.is_empty() {
            add_field(&mut self.record, SYNTHESIZED, &self.synthesized.join(", "));
        }
        self.record
    }

    fn keep(&mut self, key: &str, value: String) {
        let catalogue = self
            .extra
            .entry("catalogue")
            .or_insert_with(|| Json::Object(Map::new()));
        if let Some(catalogue) = catalogue.as_object_mut() {
            catalogue.insert(key.to_owned(), Json::from(value));
        }
    }
}

/// Adds a field. The field must be valid, and new in the record.
fn add_field(record: &mut CatalogueRecord, name: &str, value: &str) {
    let pushed = record.push(name, value);
    debug_assert_eq!(pushed, Ok(()), "{name}: {value}");
}

/// Converts a record of the database to a record of a catalogue. `amended` is its DATE if the
/// database has none.
pub fn from_database(domain_record: &DomainRecord<'_>, amended: DateTime) -> ConvertedRecord {
    let record = domain_record.record;
    let mut rest = record.to_mapping();
    rest.remove("_path");
    let catalogue = record.catalogue.as_ref();
    let has_empty_catalogue = catalogue.is_some_and(Mapping::is_empty);
    let mut catalogue = match catalogue {
        Some(_) => rest.remove("catalogue").and_then(into_map),
        None => None,
    }
    .unwrap_or_default();
    let mut converted = ConvertedRecord {
        record: CatalogueRecord::default(),
        extra: Map::new(),
        synthesized: vec![],
        position: take_position(&mut catalogue),
    };
    let uri = add_uri(domain_record, &mut catalogue, &mut converted);
    add_catalogue(&mut catalogue, &mut converted.record);
    add_text(&mut rest, ("name", "NAME"), Some(uri), &mut converted);
    add_text(
        &mut rest,
        ("description", "DESCRIPTION"),
        None,
        &mut converted,
    );
    let categories = record.categories.join(", ");
    for (name, value) in [
        ("DATE", Some(field::format_date(amended))),
        ("TYPE", record.content_type.clone()),
        ("CATEGORY", Some(categories)),
    ] {
        synthesize(&mut converted, name, value);
    }
    add_extensions(&mut catalogue, &mut converted);
    add_promise(&mut rest, &mut converted);
    if has_empty_catalogue || !catalogue.is_empty() {
        rest.insert("catalogue", catalogue);
    }
    converted.extra = json::to_json(&rest);
    converted
}

/// Removes the position in an earlier catalogue, from 1, if it is written in canonical digits.
fn take_position(catalogue: &mut Mapping) -> Option<u64> {
    let is_position = |text: &str| {
        text.parse::<u64>()
            .is_ok_and(|number| number > 0 && number.to_string() == text)
    };
    take(catalogue, "position", is_position)?.parse().ok()
}

/// Adds the standard fields that `catalogue` has with good values.
fn add_catalogue(catalogue: &mut Mapping, record: &mut CatalogueRecord) {
    for field in catalogued() {
        let is_good = |text: &str| is_value(text) && field.takes(text);
        if let Some(value) = take(catalogue, &key_of(field), is_good) {
            add_field(record, field.name, &value);
        }
    }
}

/// Adds the text at `key` as the field `name`. A text that the field cannot hold is added with `?`
/// for its other characters; without a text the field gets `stand_in`. Both count as synthesized.
fn add_text(
    rest: &mut Mapping,
    (key, name): (&str, &'static str),
    stand_in: Option<String>,
    converted: &mut ConvertedRecord,
) {
    if let Some(value) = take(rest, key, is_value) {
        add_field(&mut converted.record, name, &value);
        return;
    }
    let lossy = rest.get(key).and_then(Value::as_text).map(printable);
    let lossy = lossy.filter(|text| !text.is_empty());
    synthesize(converted, name, lossy.or(stand_in));
}

/// Adds a field that only the format requires, if the record lacks it and the value is valid.
fn synthesize(converted: &mut ConvertedRecord, name: &'static str, value: Option<String>) {
    let is_missing = converted.record.get(name).is_none();
    if let Some(value) = value.filter(|_| is_missing)
        && converted.record.push(name, &value).is_ok()
    {
        converted.synthesized.push(name);
    }
}

/// Adds the URI, and domain, path and metadata if the URI does not imply them. Returns the URI.
fn add_uri(
    domain_record: &DomainRecord<'_>,
    catalogue: &mut Mapping,
    converted: &mut ConvertedRecord,
) -> String {
    let url = domain_record.url();
    if domain_record.is_held() {
        add_field(&mut converted.record, "URI", url);
        if let Some(metadata) = domain_record.stated_metadata(domain_record.scheme()) {
            add_metadata(metadata, &mut converted.record);
        }
        return url.to_owned();
    }
    let is_good = |text: &str| {
        let is_uri = StandardField::find("URI").is_some_and(|field| field.takes(text));
        is_value(text) && is_uri && identify(text).is_ok()
    };
    let spelled = take(catalogue, "uri", |text| text != url && is_good(text));
    let uri = match spelled {
        Some(uri) => uri,
        None if is_good(url) => url.to_owned(),
        None => {
            converted.synthesized.push("URI");
            let path = utf8_percent_encode(&domain_record.record.path, PATH_AND_QUERY).to_string();
            let encoded = RequestUrl::new(domain_record.scheme(), domain_record.domain, &path);
            // If no spelling of the path is valid, only the extensions name the record.
            encoded
                .map(String::from)
                .filter(|encoded| is_good(encoded))
                .unwrap_or_else(|| "http://invalid/".to_owned())
        }
    };
    add_field(&mut converted.record, "URI", &uri);
    if let Ok(identity) = identify(&uri) {
        if identity.host != domain_record.domain {
            add_field(
                &mut converted.record,
                DOMAIN,
                &escaped(domain_record.domain),
            );
        }
        if identity.path != domain_record.record.path {
            add_field(
                &mut converted.record,
                PATH,
                &escaped(&domain_record.record.path),
            );
        }
        if let Some(metadata) = domain_record.stated_metadata(identity.scheme) {
            add_metadata(metadata, &mut converted.record);
        }
    }
    uri
}

fn add_metadata(metadata: &Metadata, record: &mut CatalogueRecord) {
    let mut rest = metadata.to_mapping();
    let is_host = |name: &String| is_value(name) && !name.contains([',', ' ']) && !name.is_empty();
    if !metadata.cnames.is_empty() && metadata.cnames.iter().all(is_host) {
        rest.remove("cnames");
        let mut cnames = metadata.cnames.clone();
        cnames.sort();
        cnames.dedup();
        add_field(record, CNAMES, &cnames.join(", "));
    }
    if !rest.is_empty() || record.get(CNAMES).is_none() {
        add_field(
            record,
            METADATA,
            &json::ascii(&Json::Object(json::to_json(&rest))),
        );
    }
}

fn add_extensions(catalogue: &mut Mapping, converted: &mut ConvertedRecord) {
    let Some(Value::Map(extensions)) = catalogue.get("x") else {
        return;
    };
    let (good, others): (Vec<_>, Vec<_>) =
        extensions.clone().into_iter().partition(|(name, value)| {
            let is_ours = OURS.contains(&name.as_str());
            is_name(name)
                && name.starts_with("X-")
                && !is_ours
                && value.as_text().is_some_and(is_value)
        });
    if good.is_empty() {
        return;
    }
    for (name, value) in &good {
        add_field(
            &mut converted.record,
            name,
            value.as_text().unwrap_or_default(),
        );
    }
    catalogue.remove("x");
    if !others.is_empty() {
        catalogue.insert("x", others.into_iter().collect::<Mapping>());
    }
}

fn add_promise(rest: &mut Mapping, converted: &mut ConvertedRecord) {
    if let Some(length) = rest.get("content-length").and_then(Value::as_int) {
        rest.remove("content-length");
        add_field(&mut converted.record, LENGTH, &length.to_string());
    }
    if let Some(digest) = take(rest, "content-sha256", is_sha256) {
        add_field(&mut converted.record, SHA256, &digest);
    }
}

/// Removes the text at a key, if `is_good` holds for it.
fn take(mapping: &mut Mapping, key: &str, is_good: impl Fn(&str) -> bool) -> Option<String> {
    mapping
        .get(key)
        .and_then(Value::as_text)
        .filter(|text| is_good(text))?;
    match mapping.remove(key) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

fn into_map(value: Value) -> Option<Mapping> {
    match value {
        Value::Map(mapping) => Some(mapping),
        _ => None,
    }
}

/// The text with `?` for each character that a catalogue cannot hold: all but printable ASCII.
fn printable(text: &str) -> String {
    let allowed = |char: char| {
        if (' '..='~').contains(&char) {
            char
        } else {
            '?'
        }
    };
    text.chars().map(allowed).collect()
}
