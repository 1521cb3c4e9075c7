//! The items of the lists, on disk: memory holds eight bytes an item, and the items of one domain at a time.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use anyhow::Context as _;
use urldb_interchange::ListItem;

/// The items of a domain: they move often, and are large.
pub(crate) type Items = Vec<Box<ListItem>>;

/// Items in a temporary file, without the spans of their values: each its length in bytes, and the item.
pub(crate) struct Spool {
    output: BufWriter<File>,
    end: u64,
    items: u64,
    /// The offsets of the items of each host.
    hosts: BTreeMap<String, Vec<u64>>,
    /// The names of the lists, which items share.
    files: HashSet<Arc<str>>,
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
            files: HashSet::new(),
            entry: vec![],
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.items
    }

    pub(crate) fn push(&mut self, item: &ListItem) -> anyhow::Result<()> {
        self.files.insert(Arc::clone(&item.location.file));
        self.entry.clear();
        postcard::to_io(item, &mut self.entry)?;
        match self.hosts.get_mut(&item.host) {
            Some(offsets) => offsets.push(self.end),
            None => drop(self.hosts.insert(item.host.clone(), vec![self.end])),
        }
        let length = (self.entry.len() as u64).to_le_bytes();
        for part in [&length[..], &self.entry] {
            self.output
                .write_all(part)
                .context("cannot write to a temporary file")?;
            self.end += part.len() as u64;
        }
        self.items += 1;
        Ok(())
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
                let mut item: Box<ListItem> = postcard::from_bytes(&bytes)?;
                if let Some(file) = self.files.get(&item.location.file) {
                    item.location.file = Arc::clone(file);
                }
                items.push(item);
                at = offset + (length.len() + bytes.len()) as u64;
            }
        }
        Ok(items)
    }
}
