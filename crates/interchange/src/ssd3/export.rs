//! Converts records of the database to records of a catalogue.

use std::collections::HashSet;

use jiff::civil::DateTime;
use percent_encoding::utf8_percent_encode;
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};
use urldb_canon::{RequestUrl, Scheme, identify};
use urldb_format::{Mapping, Metadata, Record, Value, is_sha256};

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
type SortKey = (u64, Option<DateTime>, String, (usize, String), [u8; 32]);

/// The records of a database on their way into a catalogue.
#[derive(Debug, Default)]
pub struct CatalogueDraft {
    records: Vec<ConvertedRecord>,
    /// The domains with their metadata, in the order in which they came.
    domains: Vec<(String, Metadata)>,
}

impl CatalogueDraft {
    /// Adds a record of the database. The records of a domain follow one another. `amended` is the DATE if the
    /// database has none.
    pub fn add(&mut self, domain_record: &DomainRecord<'_>, amended: DateTime) {
        let domain = domain_record.domain;
        if self.domains.last().is_none_or(|(last, _)| last != domain) {
            let metadata = domain_record.metadata.clone();
            self.domains.push((domain.to_owned(), metadata));
        }
        let number = self.domains.len() - 1;
        self.records
            .push(from_database(domain_record, amended, number));
    }

    /// The records of the catalogue, in their order.
    pub fn finish(self) -> impl Iterator<Item = CatalogueRecord> {
        let Self {
            mut records,
            domains,
        } = self;
        let mut urls: Vec<Vec<(&str, Scheme)>> = vec![vec![]; domains.len()];
        for record in &records {
            let domain = domains.get(record.domain);
            if let (Some(urls), Some((_, metadata))) = (urls.get_mut(record.domain), domain) {
                let schemes = record.stated_schemes(metadata).into_iter();
                urls.extend(schemes.map(|scheme| (record.own.path.as_str(), scheme)));
            }
        }
        let implied: Vec<Metadata> = urls.into_iter().map(Metadata::of_urls).collect();
        let domains: Vec<(Metadata, bool)> = domains
            .into_iter()
            .zip(implied)
            .map(|((_, metadata), implied)| {
                let is_implied = metadata == implied;
                (metadata, is_implied)
            })
            .collect();
        records.sort_by_cached_key(sort_key);
        let mut ids = HashSet::new();
        records.into_iter().zip(1..).map(move |(record, index)| {
            let domain = domains.get(record.domain);
            record.finish(index, domain, &mut ids)
        })
    }
}

/// A record converted for a catalogue, before its position there is known.
#[derive(Debug)]
struct ConvertedRecord {
    record: CatalogueRecord,
    extra: Map<String, Json>,
    synthesized: Vec<&'static str>,
    position: Option<u64>,
    /// The number of its domain.
    domain: usize,
    /// The scheme of its URI.
    scheme: Scheme,
    /// Path and `schemes` of the record in the database.
    own: Record,
}

/// The key by which records are sorted before they are finished and written.
fn sort_key(converted: &ConvertedRecord) -> SortKey {
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
    /// The schemes that the record states for an import, if nothing is said about its domain: those of the URI, unless
    /// runs ask over others.
    fn stated_schemes(&self, metadata: &Metadata) -> Vec<Scheme> {
        let asked = metadata.schemes_of(&self.own);
        if asked.contains(&self.scheme) {
            Metadata::for_schemes(&[self.scheme]).schemes_of(&self.own)
        } else {
            asked
        }
    }

    /// States `schemes` that an import does not conclude from the URI, if the URIs of the catalogue imply the metadata
    /// of the domain; otherwise states the metadata, unless this URI alone implies them.
    fn state_schemes(&mut self, metadata: &Metadata, is_implied: bool) {
        if !is_implied {
            if *metadata != Metadata::for_schemes(&[self.scheme]) || !self.own.schemes.is_empty() {
                add_metadata(metadata, &mut self.record);
            }
            return;
        }
        let mut again = Record::new(self.own.path.as_str());
        metadata.add_schemes(&mut again, false, &[self.scheme]);
        if again.schemes == self.own.schemes {
            self.extra.remove("schemes");
        } else if self.own.schemes.is_empty() {
            let schemes: Vec<&str> = metadata
                .schemes_of(&self.own)
                .into_iter()
                .map(Scheme::as_str)
                .collect();
            self.extra.insert("schemes".to_owned(), Json::from(schemes));
        }
    }

    /// The record at position `index` of the catalogue, from 1. `domain` has the metadata of its domain, and whether
    /// the URIs of the catalogue imply them. If an earlier record in `ids` has the same ID, the ID goes into
    /// `X-DB-Extra` only.
    fn finish(
        mut self,
        index: u64,
        domain: Option<&(Metadata, bool)>,
        ids: &mut HashSet<String>,
    ) -> CatalogueRecord {
        if let Some((metadata, is_implied)) = domain {
            self.state_schemes(metadata, *is_implied);
        }
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
/// database has none, and `domain` the number of its domain.
fn from_database(
    domain_record: &DomainRecord<'_>,
    amended: DateTime,
    domain: usize,
) -> ConvertedRecord {
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
        domain,
        scheme: Scheme::Http,
        own: Record {
            schemes: record.schemes.clone(),
            ..Record::new(record.path.as_str())
        },
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
    let lossy = rest
        .get(key)
        .and_then(Value::as_text)
        .map(printable)
        .filter(|text| !text.is_empty());
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

/// Adds the URI, and domain and path if the URI does not imply them. Returns the URI.
fn add_uri(
    domain_record: &DomainRecord<'_>,
    catalogue: &mut Mapping,
    converted: &mut ConvertedRecord,
) -> String {
    let url = domain_record.url();
    if domain_record.is_held() {
        add_field(&mut converted.record, "URI", url);
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
        converted.scheme = identity.scheme;
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
