//! The record that all items of one URL together state.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use urldb_canon::{RequestUrl, Scheme};
use urldb_format::{Mapping, Metadata, Record, Value};
use urldb_interchange::{ListItem, Location, Notice};

use super::groups::{REQUEST_KEYS, is_promise};
use super::outcome::vary_help;
use super::spool::Items;

/// The statements of all items of one URL.
pub(super) struct Claim {
    /// The first item, with the record that all together state, without `schemes`.
    pub(super) item: Box<ListItem>,
    /// The schemes of the URLs, sorted.
    pub(super) schemes: Vec<Scheme>,
    /// Whether an item states its `schemes`, so that they are not only those of its URL.
    pub(super) has_own_schemes: bool,
}

impl Claim {
    /// Combines the items of one URL for the domain file of a host; `None` if there are none, an error if they promise
    /// different things.
    pub(super) fn of(
        mut items: Items,
        host: &str,
        metadata: &Metadata,
        left_out: &mut Vec<Notice>,
    ) -> Option<Result<Self, Notice>> {
        keep_latest_capture(&mut items);
        let (mut schemes, mut has_own_schemes) = (vec![], false);
        for item in &mut items {
            has_own_schemes |= !item.record.schemes.is_empty();
            schemes.extend(schemes_of(item));
            keep_spelling(item, host, metadata);
            item.record.schemes = vec![];
        }
        let record = (items.len() > 1).then(|| combined(&items, left_out));
        let mut item = items.into_iter().next()?;
        match record {
            Some(Err(contradiction)) => return Some(Err(contradiction)),
            Some(Ok(record)) => item.record = record,
            None => {}
        }
        normalize(&mut schemes);
        normalize(&mut item.record.categories);
        normalize(&mut item.record.source);
        Some(Ok(Self {
            item,
            schemes,
            has_own_schemes,
        }))
    }

    /// The record beside a known one: a redirect to the same URL has its spelling there, since the site rules write
    /// targets without scheme and host.
    pub(super) fn record_beside(&self, known: &Record) -> Cow<'_, Record> {
        let record = &self.item.record;
        let (Some(own), Some(other)) = (&record.redirects_to, &known.redirects_to) else {
            return Cow::Borrowed(record);
        };
        let is_same = |scheme: &Scheme| {
            let base = RequestUrl::new(*scheme, &self.item.host, &record.path)
                .and_then(|base| url::Url::parse(base.as_str()).ok());
            base.is_some_and(|base| {
                let target = |text: &str| base.join(text).ok();
                target(own).is_some() && target(own) == target(other)
            })
        };
        if own == other || !self.schemes.iter().all(is_same) {
            return Cow::Borrowed(record);
        }
        Cow::Owned(Record {
            redirects_to: known.redirects_to.clone(),
            ..record.clone()
        })
    }

    /// The URL of the first item, for messages.
    pub(super) fn url(&self) -> String {
        url_of(&self.item)
    }
}

/// The schemes of the URLs of an item.
pub(super) fn schemes_of(item: &ListItem) -> Vec<Scheme> {
    let implied = || Metadata::for_schemes(&[item.scheme]);
    item.metadata
        .clone()
        .unwrap_or_else(implied)
        .schemes_of(&item.record)
}

fn url_of(item: &ListItem) -> String {
    item.url()
        .map_or_else(|| item.record.path.clone(), String::from)
}

/// Sorts names, and leaves out repeated ones.
pub(super) fn normalize<T: Ord>(names: &mut Vec<T>) {
    names.sort();
    names.dedup();
}

/// Of several captures of a URL, only the latest says which bytes it serves.
fn keep_latest_capture(items: &mut Items) {
    let captures = items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.moment.is_some());
    let Some((latest, item)) = captures.max_by_key(|(_, item)| &item.moment) else {
        return;
    };
    let record = &item.record;
    let (length, sha256) = (record.content_length, record.content_sha256.clone());
    for (number, item) in items.iter_mut().enumerate() {
        if number == latest || item.moment.is_none() {
            continue;
        }
        let record = &mut item.record;
        let is_same = sha256.is_some() && record.content_sha256 == sha256;
        if !is_same || length.is_some() {
            record.content_length = None;
        }
        if !is_same {
            record.content_sha256 = None;
            record.further_digests.clear();
        }
    }
}

/// Keeps the URL as the list writes it, where the record would give another one.
fn keep_spelling(item: &mut ListItem, host: &str, metadata: &Metadata) {
    let Some(spelling) = item.spelling.take() else {
        return;
    };
    // Another scheme than those of the domain becomes one of the record.
    let is_asked = metadata.schemes().contains(&item.scheme);
    let scheme = if !item.record.schemes.is_empty() || is_asked {
        metadata.scheme_of(&item.record)
    } else {
        item.scheme
    };
    let url = RequestUrl::new(scheme, host, &item.record.path);
    if url.is_none_or(|url| spelling != url.as_str()) {
        let catalogue = item.record.catalogue.get_or_insert_default();
        if catalogue.get("uri").is_none() {
            catalogue.insert("uri", spelling);
        }
    }
}

/// The record that the items together state.
fn combined(items: &Items, left_out: &mut Vec<Notice>) -> Result<Record, Notice> {
    let Some(first) = items.first() else {
        return Ok(Record::default());
    };
    let mut values = Values::of(&first.record);
    for (number, item) in items.iter().enumerate().skip(1) {
        let added = values
            .add(&item.record)
            .map_err(|key| between(item, &key, &items[..number]))?;
        if added.is_lossy {
            left_out.push(known_otherwise(item, &first.location));
        }
    }
    let records = || items.iter().map(|item| &item.record);
    Ok(Record {
        categories: records().flat_map(|it| it.categories.clone()).collect(),
        source: records().flat_map(|it| it.source.clone()).collect(),
        ..values.into_record()
    })
}

/// The contradiction between an item and the first of those before it that has the key.
fn between(item: &ListItem, key: &str, before: &[Box<ListItem>]) -> Notice {
    let origin = before
        .iter()
        .find(|it| it.record.keys().any(|stated| stated == key))
        .or(before.first());
    let origin = origin.map_or(item, |origin| origin);
    let (path, there) = (&item.record.path, &origin.location);
    let message = if origin.scheme == item.scheme {
        promised_otherwise(&url_of(item), there, key)
    } else {
        format!(
            "http and https of {path} are promised differently in {there}; one record holds one promise"
        )
    };
    contradiction_at(item, message, &origin.record)
}

/// The notice that an item contradicts another place about its URL, which has this record.
pub(super) fn contradiction_at(item: &ListItem, message: String, other: &Record) -> Notice {
    Notice {
        help: vary_help(other, &item.record),
        ..Notice::refused(item.location.clone(), "contradiction", message)
    }
}

pub(super) fn promised_otherwise(url: &str, there: &Location, key: &str) -> String {
    format!("{url} is promised otherwise in {there}: `{key}` differs")
}

/// An item of which something was left out, since another place says something else.
pub(super) fn known_otherwise(item: &ListItem, there: &Location) -> Notice {
    let url = url_of(item);
    let message = format!("{url} is listed in {there} already; what differs was left out");
    Notice::left_out(item.location.clone(), "known-otherwise", message)
}

/// The values of a record by key.
pub(super) struct Values(BTreeMap<String, Value>);

/// The effect of adding values.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AddedValues {
    /// Some were missing.
    pub(super) is_change: bool,
    /// Some differ, and were left out.
    pub(super) is_lossy: bool,
}

impl Values {
    pub(super) fn of(record: &Record) -> Self {
        Self(values_of(record).collect())
    }

    /// Adds the values that are missing, but none of the keys with sets: `categories`, `schemes` and `source`.
    ///
    /// # Errors
    /// The key of a promise that differs.
    pub(super) fn add(&mut self, record: &Record) -> Result<AddedValues, String> {
        let is_set = |key: &str| matches!(key, "categories" | "schemes" | "source");
        let more: BTreeMap<String, Value> =
            values_of(record).filter(|(key, _)| !is_set(key)).collect();
        let is_other = |key: &&str| self.0.get(*key) != more.get(*key);
        if let Some(key) = REQUEST_KEYS.into_iter().find(is_other) {
            return Err(key.to_owned());
        }
        let mut added = AddedValues::default();
        for (key, value) in more {
            match (self.0.get_mut(&key), value) {
                (None, value) => {
                    added.is_change = true;
                    self.0.insert(key, value);
                }
                (Some(known), value) if *known == value => {}
                (Some(_), _) if is_promise(&key) => return Err(key),
                (Some(Value::Map(known)), Value::Map(more)) if key == "catalogue" => {
                    let nested = add_missing(known, more);
                    added.is_change |= nested.is_change;
                    added.is_lossy |= nested.is_lossy;
                }
                // One of several paths that differ in case is as good as the other.
                (Some(_), _) => added.is_lossy |= key != "_path",
            }
        }
        Ok(added)
    }

    pub(super) fn into_record(self) -> Record {
        Record::from_mapping(self.0.into_iter().collect()).unwrap_or_default()
    }
}

fn values_of(record: &Record) -> impl Iterator<Item = (String, Value)> + use<> {
    record
        .to_mapping()
        .into_iter()
        .map(|(key, value)| (key, sorted(value)))
}

/// The value with its keys sorted, since their order means nothing.
fn sorted(value: Value) -> Value {
    match value {
        Value::Map(mapping) => {
            let pairs: BTreeMap<String, Value> = mapping.into_iter().collect();
            Value::Map(
                pairs
                    .into_iter()
                    .map(|(key, value)| (key, sorted(value)))
                    .collect(),
            )
        }
        other => other,
    }
}

/// Adds missing keys of a catalogue. The position in it does not count.
fn add_missing(catalogue: &mut Mapping, more: Mapping) -> AddedValues {
    let known: HashMap<&str, &Value> = catalogue.iter().collect();
    let (mut new, mut is_lossy) = (vec![], false);
    for (key, value) in more {
        match known.get(key.as_str()) {
            None => new.push((key, value)),
            Some(known) => is_lossy |= **known != value && key != "position",
        }
    }
    let is_change = !new.is_empty();
    catalogue.extend(new);
    AddedValues {
        is_change,
        is_lossy,
    }
}
