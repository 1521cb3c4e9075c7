//! The items of the lists, on disk: memory holds eight bytes an item, and the items of one domain at a time.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use urldb_canon::Scheme;
use urldb_format::{Metadata, Record};
use urldb_interchange::{ListItem, Location, Position};

/// The items of a domain: they move often, and are large.
pub(crate) type Items = Vec<Box<ListItem>>;

/// Items in a temporary file: each its length in bytes, and an [`Entry`].
pub(crate) struct Spool {
    output: BufWriter<File>,
    end: u64,
    items: u64,
    /// The offsets of the items of each host.
    hosts: BTreeMap<String, Vec<u64>>,
    /// The names of the lists.
    files: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, usize>,
    /// The last entry that was written.
    entry: Vec<u8>,
}

impl Spool {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let file = urldb_files::unnamed_file().context("cannot make a temporary file")?;
        Ok(Self {
            output: BufWriter::new(file),
            end: 0,
            items: 0,
            hosts: BTreeMap::new(),
            files: vec![],
            numbers: HashMap::new(),
            entry: vec![],
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.items
    }

    pub(crate) fn push(&mut self, item: &ListItem) -> anyhow::Result<()> {
        let file = self.number_of(&item.location.file);
        self.entry.clear();
        postcard::to_io(&Entry::of(item, file), &mut self.entry)?;
        match self.hosts.get_mut(&item.host) {
            Some(offsets) => offsets.push(self.end),
            None => drop(self.hosts.insert(item.host.clone(), vec![self.end])),
        }
        let length = (self.entry.len() as u64).to_le_bytes();
        for part in [&length[..], &self.entry] {
            let written = self.output.write_all(part);
            written.context("cannot write to a temporary file")?;
            self.end += part.len() as u64;
        }
        self.items += 1;
        Ok(())
    }

    fn number_of(&mut self, file: &Arc<str>) -> usize {
        if let Some(number) = self.numbers.get(file) {
            return *number;
        }
        let number = self.files.len();
        self.files.push(Arc::clone(file));
        self.numbers.insert(Arc::clone(file), number);
        number
    }

    /// The hosts, sorted.
    pub(crate) fn hosts(&self) -> Vec<String> {
        self.hosts.keys().cloned().collect()
    }

    /// The items of these hosts; those of each in the order in which they were pushed.
    pub(crate) fn take(&mut self, hosts: &[String]) -> anyhow::Result<Items> {
        self.output.flush()?;
        let mut file = BufReader::new(self.output.get_ref());
        file.seek(SeekFrom::Start(0))?;
        let (mut at, mut items, mut bytes) = (0, vec![], vec![]);
        for host in hosts {
            for offset in self.hosts.get(host).into_iter().flatten() {
                file.seek_relative(i64::try_from(*offset)? - i64::try_from(at)?)?;
                let mut length = [0; 8];
                file.read_exact(&mut length)?;
                bytes.resize(usize::try_from(u64::from_le_bytes(length))?, 0);
                file.read_exact(&mut bytes)?;
                let entry: Entry = postcard::from_bytes(&bytes)?;
                let item = entry.into_item(host, &self.files);
                items.push(Box::new(item.context("a temporary file was changed")?));
                at = offset + (length.len() + bytes.len()) as u64;
            }
        }
        Ok(items)
    }
}

/// An item in the file.
#[derive(Serialize, Deserialize)]
struct Entry<'a> {
    /// The index of the list's name.
    file: usize,
    is_line: bool,
    /// The line, or the byte.
    at: u64,
    is_https: bool,
    record: Cow<'a, Record>,
    metadata: Option<Cow<'a, Metadata>>,
    spelling: Option<Cow<'a, str>>,
    moment: Option<Cow<'a, str>>,
    written: Option<Cow<'a, str>>,
}

impl<'a> Entry<'a> {
    fn of(item: &'a ListItem, file: usize) -> Self {
        let (is_line, at) = match item.location.at {
            Position::Line(line) => (true, line),
            Position::Byte(byte) => (false, byte),
        };
        Self {
            file,
            is_line,
            at,
            is_https: item.scheme == Scheme::Https,
            record: Cow::Borrowed(&item.record),
            metadata: item.metadata.as_ref().map(Cow::Borrowed),
            spelling: item.spelling.as_deref().map(Cow::Borrowed),
            moment: item.moment.as_deref().map(Cow::Borrowed),
            written: item.written.as_deref().map(Cow::Borrowed),
        }
    }

    /// The item, without the spans of its values.
    fn into_item(self, host: &str, files: &[Arc<str>]) -> Option<ListItem> {
        let position = if self.is_line {
            Position::Line
        } else {
            Position::Byte
        };
        Some(ListItem {
            location: Location {
                file: Arc::clone(files.get(self.file)?),
                at: position(self.at),
            },
            scheme: if self.is_https {
                Scheme::Https
            } else {
                Scheme::Http
            },
            host: host.to_owned(),
            record: self.record.into_owned(),
            metadata: self.metadata.map(Cow::into_owned),
            spelling: self.spelling.map(Cow::into_owned),
            moment: self.moment.map(Cow::into_owned),
            written: self.written.map(Into::into),
            spans: vec![],
        })
    }
}
