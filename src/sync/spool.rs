//! The items of the lists, on disk: memory holds a few bytes a host, and the items of one domain at a time.
//!
//! Each entry has the offset of the entry before it of the same host. Reading begins at the host's last
//! entry, and follows these offsets.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};

use anyhow::Context as _;
use serde_json::{Map, Value as Json};
use urldb_canon::Scheme;
use urldb_format::{Mapping, Metadata, Record};
use urldb_interchange::{ListItem, Location, Position, json};

/// Bytes before each entry: the offset of its predecessor, and its own length.
const HEAD: usize = 16;

/// Items in a temporary file.
pub(crate) struct Spool {
    output: BufWriter<File>,
    end: u64,
    items: u64,
    /// The offset of the last entry of each host.
    last: BTreeMap<String, u64>,
}

/// The offset that stands for no entry.
const NONE: u64 = u64::MAX;

impl Spool {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let file = urldb_files::unnamed_file().context("cannot make a temporary file")?;
        Ok(Self {
            output: BufWriter::new(file),
            end: 0,
            items: 0,
            last: BTreeMap::new(),
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.items
    }

    pub(crate) fn push(&mut self, item: &ListItem) -> anyhow::Result<()> {
        let text = to_json(item).to_string();
        let last = self.last.get_mut(&item.host);
        let before = last.map_or(NONE, |last| std::mem::replace(last, self.end));
        if before == NONE {
            self.last.insert(item.host.clone(), self.end);
        }
        let length = text.len() as u64;
        for part in [
            &before.to_le_bytes(),
            &length.to_le_bytes(),
            text.as_bytes(),
        ] {
            self.output
                .write_all(part)
                .context("cannot write to a temporary file")?;
        }
        self.end += HEAD as u64 + length;
        self.items += 1;
        Ok(())
    }

    /// The hosts, sorted.
    pub(crate) fn hosts(&self) -> Vec<String> {
        self.last.keys().cloned().collect()
    }

    /// The items of these hosts; those of each in the order in which they were pushed.
    pub(crate) fn take(&mut self, hosts: &[String]) -> anyhow::Result<Vec<ListItem>> {
        let mut items = vec![];
        for host in hosts {
            self.take_host(host, &mut items)?;
        }
        Ok(items)
    }

    fn take_host(&mut self, host: &str, items: &mut Vec<ListItem>) -> anyhow::Result<()> {
        self.output.flush()?;
        let file = self.output.get_mut();
        let mut at = self.last.get(host).copied().unwrap_or(NONE);
        let (start, mut head, mut text) = (items.len(), [0; HEAD], vec![]);
        while at != NONE {
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(&mut head)?;
            let (before, length) = head.split_at(HEAD / 2);
            text.resize(usize::try_from(u64::from_le_bytes(length.try_into()?))?, 0);
            file.read_exact(&mut text)?;
            items.push(
                from_json(&serde_json::from_slice(&text)?, host)
                    .context("a temporary file was changed")?,
            );
            at = u64::from_le_bytes(before.try_into()?);
        }
        items[start..].reverse();
        Ok(())
    }
}

fn to_json(item: &ListItem) -> Json {
    let (unit, at) = match item.location.at {
        Position::Line(line) => ("line", line),
        Position::Byte(byte) => ("byte", byte),
    };
    let mut object = Map::new();
    object.insert("file".to_owned(), Json::from(&*item.location.file));
    object.insert(unit.to_owned(), Json::from(at));
    object.insert("scheme".to_owned(), Json::from(item.scheme.as_str()));
    for (key, value) in [("spelling", &item.spelling), ("moment", &item.moment)] {
        object.extend(
            value
                .as_deref()
                .map(|value| (key.to_owned(), Json::from(value))),
        );
    }
    let mapping = |mapping: &Mapping| Json::Object(json::to_json(mapping));
    let metadata = item
        .metadata
        .as_ref()
        .map(|metadata| mapping(&metadata.to_mapping()));
    object.extend(metadata.map(|metadata| ("metadata".to_owned(), metadata)));
    object.insert("record".to_owned(), mapping(&item.record.to_mapping()));
    Json::Object(object)
}

fn from_json(object: &Json, host: &str) -> Option<ListItem> {
    let text = |key| object.get(key).and_then(Json::as_str).map(str::to_owned);
    let mapping = |key| json::from_json(object.get(key)?.as_object()?).ok();
    let line = object
        .get("line")
        .and_then(Json::as_u64)
        .map(Position::Line);
    let byte = object
        .get("byte")
        .and_then(Json::as_u64)
        .map(Position::Byte);
    Some(ListItem {
        location: Location {
            file: text("file")?.into(),
            at: line.or(byte)?,
        },
        scheme: if text("scheme")? == "https" {
            Scheme::Https
        } else {
            Scheme::Http
        },
        host: host.to_owned(),
        record: Record::from_mapping(mapping("record")?)?,
        metadata: mapping("metadata").map(Metadata::from_mapping),
        spelling: text("spelling"),
        moment: text("moment"),
        spans: vec![],
    })
}
