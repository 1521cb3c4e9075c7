//! The entries of one domain in memory, each as bytes: they take a third of the memory of the structs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};

use urldb_canon::Scheme;
use urldb_format::{Document, write_documents};
use urldb_verdict::JobKey;

use super::documents::{content, status};
use super::entry::Entry;

/// The entries of a domain, in the order of their keys.
#[derive(Debug)]
pub(super) struct Entries {
    domain: String,
    slots: BTreeMap<EntryKey, Slot>,
}

/// A [`JobKey`] without its domain. Few jobs have more than a path and a scheme.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EntryKey {
    path: Box<str>,
    /// Request, variant and alias; absent if the job has none of them.
    others: Option<Box<[Option<String>; 3]>>,
    scheme: Scheme,
}

#[derive(Debug, Default)]
struct Slot {
    entry: Box<[u8]>,
    /// Whether the run has planned the job.
    is_planned: bool,
}

/// One of the two files of a domain.
#[derive(Debug, Clone, Copy)]
pub(super) enum EntryFile {
    Statuses,
    Captures,
}

impl Entries {
    pub(super) fn new(domain: &str) -> Self {
        Self {
            domain: domain.to_owned(),
            slots: BTreeMap::new(),
        }
    }

    /// Adds the entries of the documents of the file of statuses, without its first document.
    pub(super) fn read_statuses(
        &mut self,
        documents: impl Iterator<Item = anyhow::Result<Document>>,
    ) -> anyhow::Result<()> {
        for document in documents {
            let (key, entry) = status(&self.domain, &document?)?;
            self.set(&key, &entry)?;
        }
        Ok(())
    }

    /// Adds the contents of the documents of the file of captures to entries that have none.
    pub(super) fn read_contents(
        &mut self,
        documents: impl Iterator<Item = anyhow::Result<Document>>,
    ) -> anyhow::Result<()> {
        for document in documents {
            let (key, content) = content(&self.domain, &document?)?;
            if let Some(mut entry) = self.get(&key) {
                entry.content.get_or_insert(content);
                self.set(&key, &entry)?;
            }
        }
        Ok(())
    }

    /// Writes the documents of one of the two files.
    pub(super) fn write(&self, which: EntryFile, file: &mut File) -> anyhow::Result<()> {
        let mut out = BufWriter::new(file);
        for entry in self.iter() {
            let (key, entry) = entry?;
            let document = match which {
                EntryFile::Statuses => Some(entry.to_mapping(&key)),
                EntryFile::Captures => {
                    let content = entry.content.as_ref();
                    content.map(|it| it.to_mapping(&key)).transpose()?
                }
            };
            out.write_all(write_documents(&document).as_bytes())?;
        }
        Ok(out.flush()?)
    }

    pub(super) fn get(&self, key: &JobKey) -> Option<Entry> {
        self.slots.get(&EntryKey::of(key))?.entry().ok()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = anyhow::Result<(JobKey, Entry)>> {
        self.slots
            .iter()
            .map(|(key, slot)| Ok((key.job(&self.domain), slot.entry()?)))
    }

    /// Whether an entry has content.
    pub(super) fn have_content(&self) -> bool {
        // Writing reports an entry that cannot be read.
        self.iter()
            .any(|entry| entry.map_or(true, |(_, entry)| entry.content.is_some()))
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = JobKey> {
        self.slots.keys().map(|key| key.job(&self.domain))
    }

    /// Replaces the entry of a job.
    ///
    /// # Errors
    /// When the entry cannot be turned into bytes, which each can.
    pub(super) fn set(&mut self, key: &JobKey, entry: &Entry) -> anyhow::Result<()> {
        let slot = self.slots.entry(EntryKey::of(key)).or_default();
        slot.entry = postcard::to_stdvec(entry)?.into();
        Ok(())
    }

    pub(super) fn remove(&mut self, key: &JobKey) -> Option<Entry> {
        self.slots.remove(&EntryKey::of(key))?.entry().ok()
    }

    pub(super) fn set_planned(&mut self, key: &JobKey) {
        if let Some(slot) = self.slots.get_mut(&EntryKey::of(key)) {
            slot.is_planned = true;
        }
    }

    /// The jobs that are not planned.
    pub(super) fn unplanned(&self) -> Vec<JobKey> {
        self.slots
            .iter()
            .filter(|(_, slot)| !slot.is_planned)
            .map(|(key, _)| key.job(&self.domain))
            .collect()
    }
}

impl EntryKey {
    fn of(key: &JobKey) -> Self {
        let others = [&key.request, &key.variant, &key.alias].map(Clone::clone);
        Self {
            path: key.path.as_str().into(),
            others: others.iter().any(Option::is_some).then(|| others.into()),
            scheme: key.scheme,
        }
    }

    fn job(&self, domain: &str) -> JobKey {
        let [request, variant, alias] = self.others.as_deref().cloned().unwrap_or_default();
        JobKey {
            domain: domain.to_owned(),
            path: self.path.as_ref().to_owned(),
            request,
            variant,
            alias,
            scheme: self.scheme,
        }
    }
}

impl Slot {
    fn entry(&self) -> postcard::Result<Entry> {
        postcard::from_bytes(&self.entry)
    }
}
