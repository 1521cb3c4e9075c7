//! The edits of lists that an accepted record needs: each value at its span, in its own spelling.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use urldb_format::{Algorithm, Digest, Mapping, Metadata, Record, RecordIdentity, Value};
use urldb_interchange::{ListItem, digest};

use super::groups::is_promise;
use super::plan::read_items;
use super::read_item::ReadItem;
use crate::config::Config;
use crate::database::aliases::Aliases;
use crate::stop::Stop;

/// A record of lists before and after an acceptance.
pub(crate) struct AcceptedRecord {
    pub(crate) domain: String,
    pub(crate) metadata: Metadata,
    pub(crate) before: Record,
    pub(crate) after: Record,
}

/// The edits for one accepted record.
#[derive(Default)]
pub(crate) struct RecordEdits {
    pub(crate) values: BTreeSet<ValueEdit>,
    /// The records with the same values at the same places, and the keys of these.
    pub(crate) sharing: Vec<SharingRecord>,
    /// The reasons why a list cannot be edited.
    pub(crate) refused: Vec<String>,
}

/// A value in a list, and the value that it gets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ValueEdit {
    pub(crate) path: PathBuf,
    /// The file, as messages show it.
    pub(crate) file: Arc<str>,
    /// The bytes of the value in the file.
    start: u64,
    end: u64,
    old: String,
    new: String,
}

/// A record that a list promises by the very bytes that are edited.
pub(crate) struct SharingRecord {
    pub(crate) domain: String,
    /// The record as the list states it.
    pub(crate) stated: Record,
    pub(crate) url: String,
    pub(crate) keys: BTreeSet<&'static str>,
}

/// The keys and the texts of a record's promise.
type Promise = BTreeMap<String, String>;

/// The edits for each accepted record, in the same order.
///
/// # Errors
/// When a list cannot be read.
pub(crate) fn edits_of(
    config: &Config,
    accepted: &[AcceptedRecord],
    stop: &Stop,
) -> anyhow::Result<Vec<RecordEdits>> {
    let aliases = Aliases::load(config)?;
    let wanted = Wanted::new(&aliases, accepted);
    let sources: BTreeSet<&str> = accepted
        .iter()
        .flat_map(|it| &it.before.source)
        .map(String::as_str)
        .collect();
    let mut edits: Vec<RecordEdits> = accepted.iter().map(|_| RecordEdits::default()).collect();
    let mut seen = vec![BTreeSet::new(); accepted.len()];
    read_items(config, &sources, stop, &mut |read| {
        let Some(number) = wanted.find(read.item) else {
            return Ok(());
        };
        let record = &accepted[number];
        if record.before.source.iter().any(|name| name == read.source) {
            seen[number].insert(read.source.to_owned());
            edits[number].add(record, read)?;
        }
        Ok(())
    })?;
    for (number, record) in accepted.iter().enumerate() {
        let names = record.before.source.iter();
        if let Some(name) = names.clone().find(|name| !seen[number].contains(*name)) {
            let message = format!("no list of {name} has it any more; run `urldb sync` first");
            edits[number].refused.push(message);
        }
    }
    add_sharing(config, &sources, stop, &wanted, &mut edits)?;
    Ok(edits)
}

/// Finds the accepted record of an item.
struct Wanted<'a> {
    aliases: &'a Aliases,
    domains: BTreeMap<&'a str, &'a Metadata>,
    numbers: BTreeMap<(&'a str, RecordIdentity), usize>,
}

impl<'a> Wanted<'a> {
    fn new(aliases: &'a Aliases, accepted: &'a [AcceptedRecord]) -> Self {
        let domains = accepted.iter().map(|it| (&*it.domain, &it.metadata));
        let numbers = accepted.iter().enumerate().map(|(number, it)| {
            let identity = it.metadata.identity_of(&it.before);
            ((&*it.domain, identity), number)
        });
        Self {
            aliases,
            domains: domains.collect(),
            numbers: numbers.collect(),
        }
    }

    /// The number of the record.
    fn find(&self, item: &ListItem) -> Option<usize> {
        let domain = self.aliases.primary_host(&item.host);
        let (domain, metadata) = self.domains.get_key_value(&*domain)?;
        let identity = metadata.identity_of(&item.record);
        self.numbers.get(&(*domain, identity)).copied()
    }
}

impl RecordEdits {
    /// Adds the edits of one item of the record.
    fn add(&mut self, record: &AcceptedRecord, read: &ReadItem<'_>) -> anyhow::Result<()> {
        let (before, after) = (promise(&record.before), promise(&record.after));
        for (key, stated) in promise(&read.item.record) {
            let Some(new) = after.get(&key).filter(|new| **new != stated) else {
                continue;
            };
            let place = &read.item.location;
            if before.get(&key) != Some(&stated) {
                self.refused.push(format!(
                    "{place}: `{key}` differs from the record; run `urldb sync` first"
                ));
                continue;
            }
            let mut spans = read.item.spans.iter().filter(|span| span.key == key);
            let edit = match spans.next() {
                Some(span) => ValueEdit::new(read, &span.range, &key, new)?,
                None => None,
            };
            if let Some(edit) = edit {
                self.values.insert(edit);
                continue;
            }
            let refused = read.format.not_edited(&place.to_string(), &stated, new);
            if !self.refused.contains(&refused) {
                self.refused.push(refused);
            }
        }
        Ok(())
    }
}

impl ValueEdit {
    /// The edit of a value to `new`; `None` if the spelling cannot hold it.
    fn new(
        read: &ReadItem<'_>,
        range: &Range<u64>,
        key: &str,
        new: &str,
    ) -> anyhow::Result<Option<Self>> {
        let shown = &read.item.location.file;
        let bytes = bytes_at(read.path, range).with_context(|| format!("cannot read {shown}"))?;
        let Ok(old) = String::from_utf8(bytes) else {
            return Ok(None);
        };
        Ok(respelled(key, &old, new).map(|new| Self {
            path: read.path.to_owned(),
            file: Arc::clone(shown),
            start: range.start,
            end: range.end,
            old,
            new,
        }))
    }

    /// Whether the value is these bytes of a file.
    fn is_at(&self, path: &Path, range: &Range<u64>) -> bool {
        self.path == path && (self.start, self.end) == (range.start, range.end)
    }
}

/// The new value as the list spells the old one.
fn respelled(key: &str, old: &str, new: &str) -> Option<String> {
    if let Some(algorithm) = Algorithm::of_key(key) {
        return digest::like(old, &Digest::from_hex(algorithm, new)?);
    }
    if key == "content-length" || key == "status" {
        return old.parse::<u64>().is_ok().then(|| new.to_owned());
    }
    // Beyond these characters a table or a YAML file would need quotes.
    let is_plain = |text: &str| {
        !text.contains([
            '"', '\'', ',', ';', '\\', '[', ']', '{', '}', '\t', '\n', '\r',
        ])
    };
    (is_plain(old) && is_plain(new) && new.trim() == new).then(|| new.to_owned())
}

/// The keys of a record that say what must come back, as texts.
fn promise(record: &Record) -> Promise {
    let mapping: Mapping = record.to_mapping();
    let stated = mapping.into_iter().filter(|(key, _)| is_promise(key));
    let text = |value: Value| match value {
        Value::Text(text) => Some(text),
        other => other.as_int().map(|number| number.to_string()),
    };
    stated
        .filter_map(|(key, value)| Some((key, text(value)?)))
        .collect()
}

/// Finds the other records that have their values at the places of edits.
fn add_sharing(
    config: &Config,
    sources: &BTreeSet<&str>,
    stop: &Stop,
    wanted: &Wanted<'_>,
    edits: &mut [RecordEdits],
) -> anyhow::Result<()> {
    let files: BTreeSet<PathBuf> = edits
        .iter()
        .flat_map(|edits| &edits.values)
        .map(|edit| edit.path.clone())
        .collect();
    if files.is_empty() {
        return Ok(());
    }
    read_items(config, sources, stop, &mut |read| {
        if !files.contains(read.path) {
            return Ok(());
        }
        let own = wanted.find(read.item);
        for (number, edits) in edits.iter_mut().enumerate() {
            if own == Some(number) {
                continue;
            }
            let keys: BTreeSet<&'static str> = read
                .item
                .spans
                .iter()
                .filter(|span| {
                    edits
                        .values
                        .iter()
                        .any(|edit| edit.is_at(read.path, &span.range))
                })
                .map(|span| span.key)
                .collect();
            if !keys.is_empty() {
                edits.sharing.push(SharingRecord {
                    domain: wanted.aliases.primary_host(&read.item.host),
                    stated: read.item.record.clone(),
                    url: read.item.url().map(String::from).unwrap_or_default(),
                    keys,
                });
            }
        }
        Ok(())
    })
}

fn bytes_at(path: &Path, range: &Range<u64>) -> io::Result<Vec<u8>> {
    let mut file = urldb_files::open_input(path)?;
    file.seek(SeekFrom::Start(range.start))?;
    let mut bytes = vec![];
    let length = range.end.saturating_sub(range.start);
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A line of a list with edits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ChangedLine {
    pub(crate) file: Arc<str>,
    /// From 1.
    pub(crate) line: u64,
    pub(crate) old: String,
    pub(crate) new: String,
}

/// The lines that values change, in the order of the files.
///
/// # Errors
/// Those of [`write_edited`].
pub(crate) fn changed_lines(values: &BTreeSet<ValueEdit>) -> anyhow::Result<Vec<ChangedLine>> {
    let values: Vec<_> = values.iter().collect();
    let mut changed = vec![];
    for of_file in values.chunk_by(|one, other| one.path == other.path) {
        let (path, file) = (&of_file[0].path, &of_file[0].file);
        let mut edited = urldb_files::unnamed_file().context("cannot make a temporary file")?;
        write_edited(of_file, &mut edited)?;
        edited.rewind()?;
        let old = BufReader::new(urldb_files::open_input(path)?).split(b'\n');
        let new = BufReader::new(edited).split(b'\n');
        for ((old, new), line) in old.zip(new).zip(1..) {
            let (old, new) = (shown(&old?), shown(&new?));
            if old != new {
                let file = Arc::clone(file);
                changed.push(ChangedLine {
                    file,
                    line,
                    old,
                    new,
                });
            }
        }
    }
    Ok(changed)
}

/// A line without its end.
fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(line.trim_ascii_end()).into_owned()
}

/// Writes a list with new values; everything else stays byte for byte.
///
/// # Errors
/// When the list was changed meanwhile, or cannot be read or written.
pub(crate) fn write_edited(values: &[&ValueEdit], out: &mut File) -> anyhow::Result<()> {
    let Some(first) = values.first() else {
        return Ok(());
    };
    let unreadable = || format!("cannot read {}", first.file);
    let mut input = BufReader::new(urldb_files::open_input(&first.path).with_context(unreadable)?);
    let mut at = 0;
    for value in values {
        let meanwhile = || format!("{}: a value has changed; run accept again", value.file);
        let between = value.start.checked_sub(at).with_context(meanwhile)?;
        let copied = io::copy(&mut (&mut input).take(between), out)?;
        let mut old = vec![0; value.old.len()];
        input.read_exact(&mut old).with_context(meanwhile)?;
        anyhow::ensure!(
            copied == between && old == value.old.as_bytes(),
            meanwhile()
        );
        out.write_all(value.new.as_bytes())?;
        at = value.end;
    }
    io::copy(&mut input, out)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(path: &Path, start: u64, old: &str, new: &str) -> ValueEdit {
        ValueEdit {
            path: path.to_owned(),
            file: "list".into(),
            start,
            end: start + old.len() as u64,
            old: old.to_owned(),
            new: new.to_owned(),
        }
    }

    fn written(text: &str, edits: &[(u64, &str, &str)]) -> anyhow::Result<String> {
        let folder = tempfile::tempdir()?;
        let (list, copy) = (folder.path().join("list"), folder.path().join("copy"));
        std::fs::write(&list, text)?;
        let edits: Vec<_> = edits
            .iter()
            .map(|(start, old, new)| edit(&list, *start, old, new))
            .collect();
        let edits: Vec<_> = edits.iter().collect();
        write_edited(&edits, &mut File::create(&copy)?)?;
        Ok(std::fs::read_to_string(&copy)?)
    }

    #[test]
    fn a_value_that_changed_meanwhile_is_left_alone() {
        let edits = [(2, "bb", "B"), (6, "d", "DDD")];
        assert_eq!(
            written("a bb c d e\n", &[(2, "bb", "B"), (7, "d", "DDD")]).unwrap(),
            "a B c DDD e\n"
        );
        for text in ["a bb c d e\n", "x a bb c d", "a bb", "a b", ""] {
            let error = written(text, &edits).unwrap_err();
            assert_eq!(
                format!("{error}"),
                "list: a value has changed; run accept again",
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_table_that_would_need_quotes_is_not_edited() {
        assert_eq!(
            respelled("redirects-to", "http://a.test/", "http://b.test/").as_deref(),
            Some("http://b.test/")
        );
        assert_eq!(
            respelled("redirects-to", "http://a.test/", "http://b.test/1,2"),
            None
        );
        assert_eq!(
            respelled("content-type", "text/plain", "text/csv; charset=utf-8"),
            None
        );
        assert_eq!(
            respelled("content-length", "12", "345").as_deref(),
            Some("345")
        );
        assert_eq!(respelled("content-length", "1.2k", "345"), None);
    }
}
