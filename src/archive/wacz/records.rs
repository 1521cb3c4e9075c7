//! The records of an archive file that go into a package: the wanted captures, and the records that
//! belong to them.

use std::collections::HashSet;
use std::io::{Read, Seek};

use urldb_warc::capture::RelatedRecords;
use urldb_warc::reader::{Compression, ReadError};
use urldb_warc::{Extent, Header, Reader, RecordId, RecordType, Version};

use crate::archive::origins::is_origin_uri;

/// Most problems of a file that are described one by one.
const MOST_PROBLEMS: usize = 20;

/// Parts of an archive file, which follow one another in the package.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KeptRecords {
    parts: Vec<KeptPart>,
    length: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct KeptPart {
    from: Extent,
    /// The offset in the package's file.
    to: u64,
}

impl KeptRecords {
    /// Adds a record, which comes after all others.
    fn add(&mut self, record: Extent) {
        match self.parts.last_mut() {
            Some(last) if last.from.offset + last.from.length == record.offset => {
                last.from.length += record.length;
            }
            _ => self.parts.push(KeptPart {
                from: record,
                to: self.length,
            }),
        }
        self.length += record.length;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The parts, in order.
    pub(super) fn parts(&self) -> impl Iterator<Item = Extent> {
        self.parts.iter().map(|part| part.from)
    }

    /// The offset in the package of the record that is at `offset` in the archive; `None` if it is not in
    /// the package.
    pub(super) fn position(&self, offset: u64) -> Option<u64> {
        let after = self.parts.partition_point(|it| it.from.offset <= offset);
        let part = &self.parts[after.checked_sub(1)?];
        let within = offset - part.from.offset;
        (within < part.from.length).then_some(part.to + within)
    }
}

/// The outcome of reading an archive file.
#[derive(Debug)]
pub(super) struct ScannedFile {
    pub(super) records: KeptRecords,
    pub(super) is_gzip: bool,
    /// The wanted offsets at which there is no such record.
    pub(super) missing: HashSet<u64>,
    /// Reports of records that the package lacks although it should have them.
    pub(super) problems: Vec<String>,
}

/// Reads the archive files of a package, one after another.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The ids of exported records whose continuations belong to them.
    segmented: HashSet<RecordId>,
    /// The ids of records whose last segment was read.
    ended: HashSet<RecordId>,
}

impl Scan {
    /// The number of exported records whose last segment was not in the files.
    pub(super) fn incomplete(&self) -> usize {
        self.segmented.difference(&self.ended).count()
    }

    /// Finds the records to export in a file: all of them, or the captures at the `wanted` offsets and
    /// the records that belong to them.
    ///
    /// # Errors
    /// When the file cannot be read, or has a form that a package cannot have.
    pub(super) fn read<R: Read + Seek>(
        &mut self,
        input: R,
        wanted: Option<&HashSet<u64>>,
    ) -> anyhow::Result<ScannedFile> {
        let mut reader = Reader::new(input)?;
        anyhow::ensure!(
            reader.compression() != Compression::Zstd,
            "players do not read zstd; {REMEDY}"
        );
        let is_gzip = reader.compression() == Compression::Gzip;
        let (mut related, mut records) = (RelatedRecords::default(), KeptRecords::default());
        let mut problems = ProblemList::default();
        let mut missing = wanted.cloned().unwrap_or_default();
        let mut has_selected = false;
        loop {
            match self.read_record(&mut reader, wanted) {
                Ok(None) => break,
                Ok(Some(record)) => {
                    record.form?;
                    missing.remove(&record.entry.extent.offset);
                    has_selected |= record.is_selected;
                    let segmented = &mut self.segmented;
                    segmented.extend(record.entry.kept_segment());
                    let passed = related.add(&record.header, record.entry, |one, other| {
                        one.keep_with(other);
                        segmented
                            .extend(one.kept_segment().into_iter().chain(other.kept_segment()));
                    });
                    if let Some(record) = passed {
                        record.pass(&mut records);
                    }
                }
                Err(error) if error.is_damage() => {
                    problems.add(format!("damaged, and so left out: {error}"));
                    reader.skip_damage()?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        related.end_file().for_each(|it| it.pass(&mut records));
        if !missing.is_empty() && problems.count == 0 {
            let missing = missing.len();
            problems.add(format!("{missing} captures are not where the index says"));
        }
        if wanted.is_some() && !has_selected {
            records = KeptRecords::default();
        }
        Ok(ScannedFile {
            records,
            is_gzip,
            missing,
            problems: problems.into_texts(),
        })
    }

    fn read_record<R: Read + Seek>(
        &mut self,
        reader: &mut Reader<R>,
        wanted: Option<&HashSet<u64>>,
    ) -> Result<Option<ReadRecord>, ReadError> {
        let Some(record) = reader.next_record()? else {
            return Ok(None);
        };
        let form = check_form(record.version(), record.within_member());
        let (extent, header) = record.finish_with_header()?;
        let is_wanted = wanted.is_none_or(|offsets| offsets.contains(&extent.offset));
        let is_segment = header.get("WARC-Segment-Number").is_some();
        let origin = id_in(&header, "WARC-Segment-Origin-ID");
        let first_segment =
            id_in(&header, "WARC-Record-ID").filter(|_| is_segment && origin.is_none());
        let continues = |origin: &RecordId| self.segmented.contains(origin);
        let is_selected = is_wanted || origin.as_ref().is_some_and(continues);
        let is_kept = is_selected || header.record_type() == Some(RecordType::Warcinfo);
        if header.get("WARC-Segment-Total-Length").is_some() {
            self.ended.extend(origin);
        }
        // The captures that name a record about a host are no part of it.
        let is_origin = header.target_uri().is_some_and(is_origin_uri);
        Ok(Some(ReadRecord {
            form,
            is_selected,
            entry: RecentRecord {
                extent,
                first_segment,
                is_wanted: is_wanted && !is_origin,
                is_kept,
            },
            header,
        }))
    }
}

/// A record, or why no package can have its file.
struct ReadRecord {
    form: anyhow::Result<()>,
    /// Whether the record is a wanted capture, or continues an exported record.
    is_selected: bool,
    header: Header,
    entry: RecentRecord,
}

const REMEDY: &str = "`urldb archive export --warc` makes a copy that can be exported";

/// Refuses what players cannot read, and what has no position of its own.
fn check_form(version: Version, within_member: u64) -> anyhow::Result<()> {
    anyhow::ensure!(
        !matches!(version, Version::Arc | Version::Warc09),
        "players read WARC from 0.17 on, and this is {}; {REMEDY}",
        version.name()
    );
    anyhow::ensure!(
        within_member == 0,
        "its records share gzip members; {REMEDY}"
    );
    Ok(())
}

fn id_in(header: &Header, name: &str) -> Option<RecordId> {
    header.get(name)?.parse().ok()
}

/// A record that was read.
struct RecentRecord {
    extent: Extent,
    /// The id of the record, if it is the first of several segments.
    first_segment: Option<RecordId>,
    /// The records that belong to it are kept too.
    is_wanted: bool,
    is_kept: bool,
}

impl RecentRecord {
    fn keep_with(&mut self, other: &mut Self) {
        self.is_kept |= other.is_wanted;
        other.is_kept |= self.is_wanted;
    }

    /// The id of the first segment, if the record is kept.
    fn kept_segment(&self) -> Option<RecordId> {
        self.first_segment.clone().filter(|_| self.is_kept)
    }

    fn pass(self, kept: &mut KeptRecords) {
        if self.is_kept {
            kept.add(self.extent);
        }
    }
}

#[derive(Default)]
struct ProblemList {
    texts: Vec<String>,
    count: usize,
}

impl ProblemList {
    fn add(&mut self, text: String) {
        self.count += 1;
        if self.texts.len() < MOST_PROBLEMS {
            self.texts.push(text);
        }
    }

    fn into_texts(mut self) -> Vec<String> {
        let more = self.count - self.texts.len();
        if more > 0 {
            self.texts.push(format!("and {more} more problems"));
        }
        self.texts
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn positions_are_those_of_the_copy(records in prop::collection::vec((1u64..9, any::<bool>()), 0..20)) {
            let (mut kept, mut offset, mut copied) = (KeptRecords::default(), 0, 0);
            let mut expected = vec![];
            for (length, is_kept) in records {
                expected.push((offset, is_kept.then_some(copied)));
                if is_kept {
                    kept.add(Extent { offset, length });
                    copied += length;
                }
                offset += length;
            }
            expected.push((offset, None));
            for (offset, position) in expected {
                prop_assert_eq!(kept.position(offset), position);
            }
            prop_assert_eq!(kept.parts().map(|part| part.length).sum::<u64>(), copied);
        }
    }
}
