//! Edits of a domain file. Each edit rewrites one document and leaves the bytes of all other
//! documents alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::domain_file::DomainFile;
use crate::entry::{RecordEntry, Segment};
use crate::error::Error;
use crate::layout::Layout;
use crate::metadata::Metadata;
use crate::record::{ListOrder, Record, RecordIdentity};
use crate::split::{LineKind, lines};

impl DomainFile {
    /// The first record with this identity.
    pub fn get(&self, identity: &RecordIdentity) -> Option<&RecordEntry> {
        self.records()
            .find(|entry| entry.is(identity, &self.metadata))
    }

    /// Adds a record at its position in the sorted order.
    ///
    /// # Errors
    /// [`Error::RecordExists`] if the file has a record with this identity.
    pub fn insert(&mut self, record: Record) -> Result<(), Error> {
        let identity = self.metadata.exact_identity_of(&record);
        if let Some(entry) = self.get(&identity) {
            return Err(self.record_exists(entry));
        }
        self.place(&identity, RecordEntry::new(Box::new(record)));
        Ok(())
    }

    /// Changes a record. If the identity changes, the record moves to its position in the sorted
    /// order.
    ///
    /// Comments stay with the record. If `change` changes nothing, the bytes stay as they are.
    ///
    /// # Errors
    /// [`Error::NoSuchRecord`], [`Error::Unsafe`], or [`Error::RecordExists`] if another record has
    /// the new identity.
    pub fn update(
        &mut self,
        identity: &RecordIdentity,
        change: impl FnOnce(&mut Record),
    ) -> Result<(), Error> {
        let index = self.find(identity)?;
        let Segment::Record(entry) = &self.segments[index] else {
            return Err(self.no_such_record(identity));
        };
        let mut changed = entry.clone();
        change(&mut changed.record);
        if changed.record == entry.record {
            return Ok(());
        }
        let new_identity = self.metadata.exact_identity_of(&changed.record);
        if new_identity == *identity {
            self.replace(index, changed);
            return Ok(());
        }
        if let Some(other) = self.get(&new_identity) {
            return Err(self.record_exists(other));
        }
        self.take(index);
        self.place(&new_identity, changed);
        Ok(())
    }

    /// Adds or replaces all records in one pass over the file, as [`Self::insert`] and
    /// [`Self::update`] would do one by one. Of two records with one identity the later counts.
    ///
    /// # Errors
    /// [`Error::Unsafe`] if a record to replace occurs twice or has mistakes. The file is unchanged
    /// then.
    pub fn put_all(
        &mut self,
        records: impl IntoIterator<Item: Into<Box<Record>>>,
    ) -> Result<(), Error> {
        let mut wanted: BTreeMap<RecordIdentity, Box<Record>> = records
            .into_iter()
            .map(|record| {
                let record = record.into();
                (self.metadata.exact_identity_of(&record), record)
            })
            .collect();
        let changed: HashMap<RecordIdentity, Box<Record>> = self.take_known(&mut wanted)?;
        let mut new = wanted.into_iter().peekable();
        let size = self.segments.len() + new.len();
        let old = std::mem::replace(&mut self.segments, Vec::with_capacity(size));
        if old.is_empty() && new.peek().is_some() {
            self.complete_head();
        }
        for mut segment in old {
            if let Segment::Record(entry) = &mut segment {
                while let Some((_, record)) =
                    new.next_if(|(identity, _)| entry.comes_after(identity, &self.metadata))
                {
                    self.append(Segment::Record(RecordEntry::new(record)), true);
                }
                let record = changed.get(&self.metadata.exact_identity_of(&entry.record));
                if let Some(record) = record.filter(|record| **record != entry.record) {
                    entry.record = record.clone();
                    self.append(segment, true);
                    continue;
                }
            }
            self.append(segment, false);
        }
        for (_, record) in new {
            self.append(Segment::Record(RecordEntry::new(record)), true);
        }
        self.number_lines();
        Ok(())
    }

    /// Moves the records that the file already has out of `wanted`.
    ///
    /// # Errors
    /// [`Error::Unsafe`] if the file has such a record twice or only partly understood.
    fn take_known(
        &self,
        wanted: &mut BTreeMap<RecordIdentity, Box<Record>>,
    ) -> Result<HashMap<RecordIdentity, Box<Record>>, Error> {
        let mut known = HashMap::new();
        for entry in self.records() {
            let identity = self.metadata.exact_identity_of(&entry.record);
            let record = wanted.remove(&identity);
            if record.is_some() && !entry.intact || known.contains_key(&identity) {
                return Err(self.unsafe_to_change(entry));
            }
            known.extend(record.map(|record| (identity, record)));
        }
        Ok(known)
    }

    /// Adds a segment at the end of the file, and completes the last line before it. A changed
    /// segment is written in the canonical form.
    fn append(&mut self, mut segment: Segment, is_changed: bool) {
        if let Segment::Record(entry) = &mut segment
            && is_changed
        {
            entry.rewrite(self.crlf);
        }
        let previous = match self.segments.last_mut() {
            Some(Segment::Record(entry)) => Some(&mut entry.layout.source),
            Some(Segment::Broken(source)) => Some(source),
            None => self.head.as_mut().map(|head| &mut head.source),
        };
        previous.into_iter().for_each(end_line);
        if !self.segments.is_empty() {
            segment.complete_marker(self.crlf);
        }
        self.segments.push(segment);
    }

    /// Recounts the line on which each record starts.
    fn number_lines(&mut self) {
        let mut line = self.first_line + self.head.as_ref().map_or(0, Layout::line_count);
        for segment in &mut self.segments {
            if let Segment::Record(entry) = segment {
                entry.layout.start = line;
            }
            line += segment.source().matches('\n').count();
        }
    }

    /// Removes all records with these identities, and the comments above them, in one pass over the
    /// file. Returns the number of removed records.
    ///
    /// # Errors
    /// [`Error::Unsafe`] if such a record occurs twice or has mistakes. The file is unchanged then.
    pub fn remove_all(&mut self, identities: &BTreeSet<RecordIdentity>) -> Result<usize, Error> {
        let metadata = self.metadata.clone();
        let identity_of = |entry: &RecordEntry| metadata.exact_identity_of(&entry.record);
        let is_named = |entry: &RecordEntry| identities.contains(&identity_of(entry));
        let mut found = BTreeSet::new();
        for entry in self.records().filter(|entry| is_named(entry)) {
            if !entry.intact || !found.insert(identity_of(entry)) {
                return Err(self.unsafe_to_change(entry));
            }
        }
        self.segments.retain(|segment| match segment {
            Segment::Record(entry) => !is_named(entry),
            Segment::Broken(_) => true,
        });
        self.number_lines();
        Ok(found.len())
    }

    /// Removes a record and the comments above it, and returns the record.
    ///
    /// # Errors
    /// [`Error::NoSuchRecord`] or [`Error::Unsafe`].
    pub fn remove(&mut self, identity: &RecordIdentity) -> Result<Record, Error> {
        let index = self.find(identity)?;
        match self.take(index) {
            Segment::Record(entry) => Ok(*entry.record),
            Segment::Broken(_) => Err(self.no_such_record(identity)),
        }
    }

    /// Changes the metadata.
    ///
    /// # Errors
    /// [`Error::NotNormalizable`] if some of the metadata document was not understood.
    pub fn update_metadata(&mut self, change: impl FnOnce(&mut Metadata)) -> Result<(), Error> {
        let mut metadata = self.metadata.clone();
        change(&mut metadata);
        if metadata == self.metadata {
            return Ok(());
        }
        let mut head = self
            .head
            .clone()
            .unwrap_or_else(|| Layout::first(String::new()));
        if let Some(finding) = self.blocking_in(&head) {
            let findings = vec![finding.clone()];
            return Err(Error::NotNormalizable {
                path: self.path.clone(),
                findings,
            });
        }
        let lines = head.line_count();
        head.rewrite(&metadata.fields(ListOrder::Sorted), self.crlf);
        let added = head.line_count();
        self.complete_first_marker();
        (self.metadata, self.head) = (metadata, Some(head));
        self.shift_lines(0, lines, added);
        Ok(())
    }

    /// The index of the segment with this identity, if the record is safe to change.
    fn find(&self, identity: &RecordIdentity) -> Result<usize, Error> {
        let mut found =
            self.segments
                .iter()
                .enumerate()
                .filter_map(|(index, segment)| match segment {
                    Segment::Record(entry) if entry.is(identity, &self.metadata) => {
                        Some((index, entry))
                    }
                    _ => None,
                });
        let (index, entry) = found.next().ok_or_else(|| self.no_such_record(identity))?;
        if !entry.intact || found.next().is_some() {
            return Err(self.unsafe_to_change(entry));
        }
        Ok(index)
    }

    /// Inserts an entry before the first record that sorts after `identity`.
    fn place(&mut self, identity: &RecordIdentity, mut entry: RecordEntry) {
        let after = |segment: &Segment| matches!(segment, Segment::Record(other) if other.comes_after(identity, &self.metadata));
        let index = self
            .segments
            .iter()
            .position(after)
            .unwrap_or(self.segments.len());
        if self.segments.is_empty() {
            self.complete_head();
        }
        if index == 0 {
            self.complete_first_marker();
        }
        let previous = match index
            .checked_sub(1)
            .and_then(|index| self.segments.get_mut(index))
        {
            Some(Segment::Record(entry)) => Some(&mut entry.layout.source),
            Some(Segment::Broken(source)) => Some(source),
            None => self.head.as_mut().map(|head| &mut head.source),
        };
        previous.into_iter().for_each(end_line);
        let lines_before: usize = self.segments[..index]
            .iter()
            .map(|segment| segment.source().matches('\n').count())
            .sum();
        entry.layout.start =
            self.first_line + self.head.as_ref().map_or(0, Layout::line_count) + lines_before;
        entry.rewrite(self.crlf);
        let added = entry.layout.line_count();
        self.segments.insert(index, Segment::Record(entry));
        self.shift_lines(index + 1, 0, added);
    }

    /// Adds a metadata document to a file of comments alone. The comments stay above it.
    fn complete_head(&mut self) {
        if self.head.is_some() || self.first_line > 1 {
            return;
        }
        let mut head = Layout::first(std::mem::take(&mut self.footer));
        end_line(&mut head.source);
        head.source.push_str("---\n");
        self.head = Some(head);
    }

    /// Adds the marker of the first segment, so that a document can come before it.
    fn complete_first_marker(&mut self) {
        let crlf = self.crlf;
        let first = self.segments.first_mut();
        if first.is_some_and(|segment| segment.complete_marker(crlf)) {
            self.shift_lines(1, 0, 1);
        }
    }

    fn replace(&mut self, index: usize, mut entry: RecordEntry) {
        let lines = entry.layout.line_count();
        entry.rewrite(self.crlf);
        let added = entry.layout.line_count();
        self.segments[index] = Segment::Record(entry);
        self.shift_lines(index + 1, lines, added);
    }

    fn take(&mut self, index: usize) -> Segment {
        let segment = self.segments.remove(index);
        self.shift_lines(index, segment.source().matches('\n').count(), 0);
        segment
    }

    /// Corrects the line numbers of the segments from `index` on.
    fn shift_lines(&mut self, index: usize, removed: usize, added: usize) {
        for segment in &mut self.segments[index..] {
            if let Segment::Record(entry) = segment {
                entry.layout.start = entry.layout.start + added - removed;
            }
        }
    }

    fn record_exists(&self, entry: &RecordEntry) -> Error {
        Error::RecordExists {
            path: self.path.clone(),
            line: entry.line(),
            record: entry.record.path.clone(),
        }
    }

    fn unsafe_to_change(&self, entry: &RecordEntry) -> Error {
        Error::Unsafe {
            path: self.path.clone(),
            line: entry.line(),
            record: entry.record.path.clone(),
        }
    }

    fn no_such_record(&self, identity: &RecordIdentity) -> Error {
        Error::NoSuchRecord {
            path: self.path.clone(),
            record: identity.path.clone(),
        }
    }
}

impl Segment {
    /// Adds the line `---` below the comments above the document, if it lacks one: only the first document of
    /// a file may. Returns whether it did.
    fn complete_marker(&mut self, crlf: bool) -> bool {
        let first = lines(self.source())
            .map(|line| (LineKind::of(line.text.as_bytes()), line.start))
            .find(|(kind, _)| matches!(kind, LineKind::Marker | LineKind::Content));
        let Some((LineKind::Content, start)) = first else {
            return false;
        };
        let source = match self {
            Self::Record(RecordEntry { layout, .. }) => {
                for (_, line) in &mut layout.keys {
                    *line += 1;
                }
                &mut layout.source
            }
            Self::Broken(source) => source,
        };
        source.insert_str(start, if crlf { "---\r\n" } else { "---\n" });
        true
    }
}

impl RecordEntry {
    fn new(record: Box<Record>) -> Self {
        Self {
            record,
            layout: Layout::default(),
            intact: true,
            is_plain: false,
        }
    }

    fn is(&self, identity: &RecordIdentity, metadata: &Metadata) -> bool {
        self.record.path == identity.path && metadata.exact_identity_of(&self.record) == *identity
    }

    fn comes_after(&self, identity: &RecordIdentity, metadata: &Metadata) -> bool {
        self.record.path > identity.path
            || (self.record.path == identity.path
                && metadata.exact_identity_of(&self.record) > *identity)
    }

    /// Writes the document in the canonical form, after a change of the record.
    fn rewrite(&mut self, crlf: bool) {
        self.is_plain = false;
        self.layout
            .rewrite(&self.record.fields(ListOrder::Sorted), crlf);
    }
}

/// Adds the missing line break to the last line.
fn end_line(source: &mut String) {
    if !source.is_empty() && !source.ends_with('\n') {
        source.push('\n');
    }
}
