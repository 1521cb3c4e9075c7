//! Merges items of imported lists into a domain file: new records are added, known records get the keys
//! that they lack, and promises stay.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use urldb_canon::{Identity as Url, RequestUrl, Scheme, identify};
use urldb_format::{DomainFile, HELD_URIS, Mapping, Metadata, Record, RecordIdentity, Value};
use urldb_interchange::{ListItem, Location, Notice};

use crate::database::aliases::read_if_there;
use crate::database::lookup::url_text;
use crate::database::schemes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeResult {
    Added,
    Merged,
    Known,
}

pub(crate) struct ListMerge<'a> {
    file: DomainFile,
    categories: &'a [String],
    known: HashMap<RecordIdentity, (Record, usize)>,
}

/// A domain file with merged records, not written yet.
pub(crate) struct MergedFile {
    file: DomainFile,
    records: Vec<(Record, MergeResult)>,
    pub(crate) notices: Vec<Notice>,
}

impl<'a> ListMerge<'a> {
    /// The file at `path`, or a new one for `items`.
    pub(crate) fn new(
        path: &Path,
        items: &[ListItem],
        categories: &'a [String],
    ) -> anyhow::Result<Self> {
        let present = read_if_there(path)?;
        if let Some(file) = &present {
            let has_host = file.host() == HELD_URIS
                || RequestUrl::new(Scheme::Http, file.host(), "/").is_some();
            anyhow::ensure!(
                has_host,
                "{} cannot take URLs: its name is not a host",
                path.display()
            );
        }
        let file = match present {
            Some(file) => file,
            None => DomainFile::create(path, metadata_of(items))?,
        };
        let known = file.records().map(|entry| {
            let record = entry.record();
            (file.identity_of(record), (record.clone(), entry.line()))
        });
        let known = known.collect();
        Ok(Self {
            file,
            categories,
            known,
        })
    }

    pub(crate) fn all(self, items: Vec<ListItem>, name: &str) -> MergedFile {
        let mut notices = vec![];
        let mut wanted: BTreeMap<RecordIdentity, (ListItem, Vec<Scheme>)> = BTreeMap::new();
        for item in items {
            let named = schemes_of(&item);
            let item = self.prepared(item);
            match wanted.entry(self.file.identity_of(&item.record)) {
                Entry::Vacant(place) => drop(place.insert((item, named))),
                Entry::Occupied(mut first) => {
                    let (first, schemes) = first.get_mut();
                    schemes.extend(named);
                    notices.extend(combine(first, item));
                }
            }
        }
        let metadata = self.file.metadata();
        let mut records = vec![];
        for (identity, (mut item, named)) in wanted {
            item.record.schemes = vec![];
            let Some((known, line)) = self.known.get(&identity) else {
                schemes::add(metadata, &mut item.record, false, &named);
                records.push((item.record, MergeResult::Added));
                continue;
            };
            let location = Location::line(&name.into(), *line as u64);
            let mut record = known.clone();
            match fill(&mut record, item.record, &item.location, &location) {
                Err(notice) => notices.push(notice),
                Ok(lost) => {
                    notices.extend(lost);
                    schemes::add(metadata, &mut record, true, &named);
                    let done = if record == *known {
                        MergeResult::Known
                    } else {
                        MergeResult::Merged
                    };
                    records.push((record, done));
                }
            }
        }
        MergedFile {
            file: self.file,
            records,
            notices,
        }
    }

    /// The item with its categories and spelling in the record.
    fn prepared(&self, mut item: ListItem) -> ListItem {
        let categories = self
            .categories
            .iter()
            .filter(|category| !category.is_empty());
        item.record.categories.extend(categories.cloned());
        item.record.categories.sort();
        item.record.categories.dedup();
        let (host, metadata) = (self.file.host(), self.file.metadata());
        // Another scheme than those of the domain becomes one of the record.
        let is_asked = metadata.schemes().contains(&item.scheme);
        let scheme = if is_asked {
            metadata.scheme()
        } else {
            item.scheme
        };
        let url = RequestUrl::new(scheme, host, &item.record.path);
        let is_other = |spelling: &String| url.is_none_or(|url| *spelling != url.as_str());
        if let Some(spelling) = item.spelling.take().filter(is_other) {
            let catalogue = item.record.catalogue.get_or_insert_default();
            if catalogue.get("uri").is_none() {
                catalogue.insert("uri", spelling);
            }
        }
        item
    }
}

impl MergedFile {
    pub(crate) fn host(&self) -> &str {
        self.file.host()
    }

    /// The URL of each record, with its result.
    pub(crate) fn done(&self) -> impl Iterator<Item = (MergeResult, String)> {
        let records = self.records.iter();
        records.map(|(record, done)| (*done, self.url(record)))
    }

    /// The records that the file has already as they should be, each with its URL.
    pub(crate) fn known(&self) -> impl Iterator<Item = (RecordIdentity, String)> {
        let known = self.records.iter();
        let known = known.filter(|(_, done)| *done == MergeResult::Known);
        known.map(|(record, _)| {
            let identity = self.file.metadata().exact_identity_of(record);
            (identity, self.url(record))
        })
    }

    /// The number of URLs with this result.
    pub(crate) fn count(&self, what: MergeResult) -> u64 {
        self.records
            .iter()
            .filter(|(_, done)| *done == what)
            .count() as u64
    }

    /// The URLs without promised bytes.
    pub(crate) fn lacking(&self) -> impl Iterator<Item = Url> {
        let plain = self
            .records
            .iter()
            .filter(|(record, _)| !record.is_static() && record.request_key().is_none());
        plain.filter_map(|(record, _)| identify(&self.url(record)).ok())
    }

    fn url(&self, record: &Record) -> String {
        let scheme = self.file.metadata().scheme_of(record);
        url_text(scheme, self.file.host(), &record.path)
    }

    /// The file to write; `None` if nothing changes.
    pub(crate) fn file(mut self) -> anyhow::Result<Option<DomainFile>> {
        let records = self
            .records
            .into_iter()
            .filter(|(_, done)| *done != MergeResult::Known);
        let records: Vec<Record> = records.map(|(record, _)| record).collect();
        if records.is_empty() {
            return Ok(None);
        }
        self.file.put_all(records)?;
        Ok(Some(self.file))
    }
}

/// The metadata for a new domain file: that of an item, or else the schemes of most records.
fn metadata_of(items: &[ListItem]) -> Metadata {
    let stated = items.iter().find_map(|item| item.metadata.clone());
    stated.unwrap_or_else(|| {
        let urls = items.iter().flat_map(|item| {
            let schemes = schemes_of(item).into_iter();
            schemes.map(|scheme| (item.record.path.as_str(), scheme))
        });
        schemes::metadata_for(urls)
    })
}

/// The schemes over which runs should ask for the record of an item.
fn schemes_of(item: &ListItem) -> Vec<Scheme> {
    let implied = || Metadata::for_schemes(&[item.scheme]);
    let metadata = item.metadata.clone().unwrap_or_else(implied);
    metadata.schemes_of(&item.record)
}

/// Adds the keys of another item of the same URL. Of two captures the later one counts.
fn combine(first: &mut ListItem, mut again: ListItem) -> Option<Notice> {
    if let (Some(before), Some(after)) = (&first.moment, &again.moment) {
        if before > after {
            std::mem::swap(first, &mut again);
        }
        let (length, sha256) = (
            again.record.content_length,
            again.record.content_sha256.take(),
        );
        let is_same = sha256.is_some() && sha256 == first.record.content_sha256;
        if !is_same {
            first.record.content_length = length;
        }
        first.record.content_sha256 = sha256;
        first.moment = again.moment;
        again.record.content_length = None;
    }
    let location = first.location.clone();
    fill(&mut first.record, again.record, &again.location, &location).unwrap_or_else(Some)
}

/// Adds missing keys to a record. `Err` if promises differ; a notice if other keys differ.
fn fill(
    record: &mut Record,
    more: Record,
    at: &Location,
    there: &Location,
) -> Result<Option<Notice>, Notice> {
    let contradicts = differ(record.content_length.as_ref(), more.content_length.as_ref())
        || differ(record.content_sha256.as_ref(), more.content_sha256.as_ref())
        || differ(record.status.as_ref(), more.status.as_ref())
        || differ(record.redirects_to.as_ref(), more.redirects_to.as_ref());
    if contradicts {
        let message = format!(
            "{} is promised otherwise in {there}; remove one of the two",
            more.path
        );
        return Err(Notice::refused(at.clone(), "contradiction", message));
    }
    let mut is_lost = differ(record.name.as_ref(), more.name.as_ref())
        || differ(record.description.as_ref(), more.description.as_ref())
        || differ(record.content_type.as_ref(), more.content_type.as_ref());
    record.content_length = record.content_length.or(more.content_length);
    record.status = record.status.or(more.status);
    for (old, new) in [
        (&mut record.content_sha256, more.content_sha256),
        (&mut record.content_type, more.content_type),
        (&mut record.redirects_to, more.redirects_to),
        (&mut record.name, more.name),
        (&mut record.description, more.description),
    ] {
        *old = old.take().or(new);
    }
    let before = record.categories.len();
    record.categories.extend(more.categories);
    if record.categories.len() > before {
        record.categories.sort();
        record.categories.dedup();
    }
    if let Some(catalogue) = more.catalogue {
        is_lost |= add_missing(record.catalogue.get_or_insert_default(), catalogue);
    }
    is_lost |= add_missing(&mut record.extra, more.extra);
    let message = || {
        format!(
            "{} is listed in {there} already; what differs was left out",
            record.path
        )
    };
    Ok(is_lost.then(|| Notice::left_out(at.clone(), "known-otherwise", message())))
}

fn differ<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

/// Adds missing keys, and returns whether another value was dropped. The position in a catalogue does
/// not count.
fn add_missing(mapping: &mut Mapping, more: Mapping) -> bool {
    let known: HashMap<&str, &Value> = mapping.iter().collect();
    let (mut new, mut is_lost) = (vec![], false);
    for (key, value) in more {
        match known.get(key.as_str()) {
            None => new.push((key, value)),
            Some(known) => is_lost |= **known != value && key != "position",
        }
    }
    mapping.extend(new);
    is_lost
}
