//! Rewrites files of an archive: leaves records out, and joins files.
//!
//! [`RewritePlan`] says what to do, and [`RewritePlan::carry_out`] does so. Only files that urldb has
//! written are rewritten.

use std::collections::BTreeMap;
use std::fs::File;

use anyhow::Context;
use urldb_warc::files::{ARCHIVE_SUFFIX, archive_file_name};
use urldb_warc::join::{FileJoiner, JoinError, JoinRequest, JoinSource, JoinedFile};
use urldb_warc::{CdxjLine, Reader, RecordType, WarcDate};

use super::files::ArchiveFiles;
use super::keys::Keys;
use super::output_files::{SOFTWARE, format_name, host_in_names, random_id, warc_date};
use super::pending_record::write_options;
use super::quiet_periods::{Failures, LeftOutRecord};
use super::segmented_records::SegmentedRecords;
use super::store_replacement::replace_in_store;
use crate::ambient::Ambient;
use crate::config::Config;

/// The beginning of the names of files that runs and rewrites write.
pub(super) const OWN_PREFIX: &str = "urldb-";

/// The prefix of the names of joined files, which no run uses.
pub(super) const JOINED_PREFIX: &str = "urldb-joined";

/// The field of a joined file's first record with the names of the files that it was made of.
pub(super) const JOINED_FROM: &str = "joined-from";

/// Files with fewer bytes than this part of the limit are joined.
const SMALL_PART: u64 = 2;

/// The plan of a rewrite.
#[derive(Debug, Default)]
pub struct RewritePlan {
    /// The offsets of the records to leave out, ascending, by file.
    left_out: BTreeMap<String, Vec<u64>>,
    /// The files that become one file each.
    pub groups: Vec<Vec<String>>,
    /// Number of captures to leave out.
    pub captures: u64,
    /// The length of their records, in bytes.
    pub bytes: u64,
    /// Number of files in all groups.
    pub files: u64,
}

/// The files that may be rewritten.
#[derive(Debug, Default)]
pub(super) struct OwnFiles {
    /// The files and their lengths in bytes, sorted by name.
    pub(super) files: Vec<(String, u64)>,
    /// When URLs failed without a response, with the positions of these records.
    pub(super) failures: Failures,
    /// Records about such failures: URL, timestamp and position.
    pub(super) failure_records: Vec<FailureRecord>,
    /// The segments of records.
    pub(super) segmented: SegmentedRecords,
    /// Files that are left as they are, and why.
    pub(super) unsuitable: Vec<String>,
}

/// A `metadata` record about a URL that gave no response.
#[derive(Debug)]
pub(super) struct FailureRecord {
    pub(super) url: String,
    pub(super) timestamp: String,
    pub(super) left_out: LeftOutRecord,
}

impl OwnFiles {
    /// Reads all files that urldb has written.
    pub(super) fn read(files: &ArchiveFiles) -> anyhow::Result<Self> {
        let mut own = Self::default();
        for name in files.with_records()? {
            if !name.starts_with(OWN_PREFIX) || !name.ends_with(ARCHIVE_SUFFIX) {
                continue;
            }
            let whole = files.whole(&name);
            let path = whole.with_context(|| format!("cannot read {name}"))?;
            let path = path.as_ref();
            let file = urldb_files::open(path).with_context(|| format!("cannot read {name}"))?;
            let length = file.metadata()?.len();
            match own.read_records(&name, file) {
                Ok(()) => own.files.push((name, length)),
                Err(error) if error.is_damage() => own.unsuitable.push(format!(
                    "{name} is damaged and stays as it is: {error}; `urldb archive repair` sets aside what is damaged"
                )),
                Err(error) => return Err(error).with_context(|| format!("cannot read {name}")),
            }
        }
        Ok(own)
    }

    /// Whether a file may be rewritten.
    fn has(&self, name: &str) -> bool {
        self.files
            .binary_search_by(|(own, _)| own.as_str().cmp(name))
            .is_ok()
    }

    fn read_records(
        &mut self,
        name: &str,
        file: File,
    ) -> Result<(), urldb_warc::reader::ReadError> {
        let mut found = vec![];
        let mut reader = Reader::new(file)?;
        while let Some(record) = reader.next_record()? {
            let (extent, header) = record.finish_with_header()?;
            self.segmented.add(name, extent, &header);
            let is_alone = header.get("WARC-Concurrent-To").is_none()
                && header.get("WARC-Refers-To").is_none();
            if header.record_type() == Some(RecordType::Metadata)
                && is_alone
                && !CdxjLine::describes(&header)
                && let Some(url) = header.target_uri()
                && let Some(date) = header
                    .get("WARC-Date")
                    .and_then(|it| it.parse::<WarcDate>().ok())
            {
                found.push(FailureRecord {
                    url: url.to_owned(),
                    timestamp: date.to_timestamp14(),
                    left_out: LeftOutRecord {
                        position: (name.to_owned(), extent.offset),
                        length: extent.length,
                    },
                });
            }
        }
        for failure in found {
            self.failures
                .entry(failure.url.clone())
                .or_default()
                .push(failure.timestamp.clone());
            self.failure_records.push(failure);
        }
        Ok(())
    }
}

impl RewritePlan {
    /// Plans to leave a record out, with all its segments. Records of files that are not in the plan's files
    /// stay.
    pub(super) fn leave_out(&mut self, own: &OwnFiles, record: &LeftOutRecord) {
        if !own.has(&record.position.0) {
            return;
        }
        self.captures += 1;
        let segments = own
            .segmented
            .leaving_with(&record.position)
            .filter(|segment| own.has(&segment.position.0));
        for LeftOutRecord { position, length } in segments.chain([record]) {
            let (name, offset) = position.clone();
            self.bytes += length;
            self.left_out.entry(name).or_default().push(offset);
        }
    }

    /// Groups the files: those that lose records, and with `join_small` those that are small. The files
    /// of a group have at most `max_size` bytes, unless the group is one file.
    pub(super) fn group(&mut self, own: &OwnFiles, max_size: u64, join_small: bool) {
        let (mut group, mut size) = (vec![], 0);
        for offsets in self.left_out.values_mut() {
            offsets.sort_unstable();
            offsets.dedup();
        }
        for (name, length) in &own.files {
            let loses = self.left_out.contains_key(name);
            if !loses && (!join_small || *length >= max_size / SMALL_PART) {
                continue;
            }
            if size + length > max_size && !group.is_empty() {
                self.add_group(std::mem::take(&mut group));
                size = 0;
            }
            size += length;
            group.push(name.clone());
        }
        self.add_group(group);
    }

    fn add_group(&mut self, group: Vec<String>) {
        let loses = group.iter().any(|name| self.left_out.contains_key(name));
        if loses || group.len() > 1 {
            self.files += group.len() as u64;
            self.groups.push(group);
        }
    }

    /// Rewrites the files, and reports each new file. A file that cannot be joined stays as it is, and
    /// the others of its group too; `report` gets the reason. The index is merged in any case. In an
    /// archive with a store, each new file replaces the old ones there first.
    ///
    /// # Errors
    /// When another process rewrites files, a file cannot be written, or the store cannot be used. What
    /// was reported before is complete.
    pub fn carry_out(
        &self,
        files: &ArchiveFiles,
        config: &Config,
        ambient: Ambient,
        report: &mut dyn FnMut(Result<JoinedFile, String>),
    ) -> anyhow::Result<()> {
        let (folder, options) = (files.folder(), &config.archive);
        if self.groups.is_empty() {
            urldb_warc::index::complete_index(folder, &Keys)?;
        }
        let joiner = FileJoiner::begin(folder, write_options(options))?;
        files.bring_index()?;
        let host = host_in_names(options, ambient);
        for group in &self.groups {
            let date = warc_date((ambient.now)())?;
            let name = unused_name(files, &date, &host);
            let description = describe(group, self.left_out.keys());
            let fields = [
                ("software", SOFTWARE),
                ("format", &*format_name(options)),
                ("description", description),
                (JOINED_FROM, &*group.join(", ")),
            ];
            let warcinfo = urldb_warc::draft::warcinfo(&random_id(ambient), &date, &name, &fields)?;
            let mut copies = vec![];
            for name in group {
                let copy = files.whole(name);
                copies.push(copy.with_context(|| format!("cannot read {name}"))?);
            }
            let sources = group.iter().zip(&copies).map(|(name, copy)| JoinSource {
                name,
                path: copy.as_ref(),
            });
            let request = JoinRequest {
                name: &name,
                warcinfo: &warcinfo,
                sources: &sources.collect::<Vec<_>>(),
                left_out: &|name| self.left_out.get(name).map_or(&[], Vec::as_slice),
            };
            let replaced = joiner.prepare(&request, &Keys).map(|new| {
                replace_in_store(config, group, &name, &new)?;
                new.commit().context("cannot rewrite the archive")
            });
            match replaced {
                Ok(new) => report(Ok(new?)),
                Err(error @ JoinError::Unsuitable { .. }) => report(Err(error.to_string())),
                Err(error) => return Err(error).context("cannot rewrite the archive"),
            }
        }
        match joiner.finish(&files.removed()) {
            Err(error) if error.is_damaged_index() => {
                urldb_warc::index::rebuild_index(folder, &Keys).map(drop)
            }
            finished => finished,
        }
        .context("cannot update the archive's index")
    }
}

/// A name that no file of the archive has or had.
fn unused_name(files: &ArchiveFiles, date: &WarcDate, host: &str) -> String {
    let names = (0..).map(|serial| archive_file_name(JOINED_PREFIX, date, serial, host));
    let mut unused = names.filter(|name| !files.has_or_had(name));
    unused.next().unwrap_or_default()
}

/// Says in the new file what it is made of.
fn describe<'a>(group: &[String], mut losing: impl Iterator<Item = &'a String>) -> &'static str {
    if losing.any(|name| group.contains(name)) {
        "joined from other files, without the records that urldb.toml or the user chose to leave out"
    } else {
        "joined from other files"
    }
}
