//! The archive files that a run writes, and their index lines.

use std::path::PathBuf;

use anyhow::Context;
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use urldb_files::Root;
use urldb_text::sanitize;
use urldb_warc::cdxj::RecordLocation;
use urldb_warc::http::{StoredHead, StoredRequest};
use urldb_warc::index::{IndexError, IndexUpdate};
use urldb_warc::repair::{RecoveredFile, recover};
use urldb_warc::writer::{ArchiveFile, FileSeries};
use urldb_warc::{CdxjLine, RecordDraft, RecordId, RecordType, WarcDate};

use super::keys::Keys;
use super::pending_record::{PendingRecord, RecordBlock, write_options};
use crate::ambient::Ambient;
use crate::config;

/// The longest name of a machine in the name of a file with a label, in bytes.
const LONGEST_HOST: usize = 50;

const NOT_INDEXED: &str = "cannot update the archive's index";

/// The run that writes a file, as described by the first record of the file. Nothing of it may change later.
#[derive(Debug, Clone, Default)]
pub struct Provenance {
    /// The project.
    pub project: String,
    /// The `User-Agent` of requests to hosts without one of their own.
    pub user_agent: String,
    /// The commit of the database that was checked out.
    pub commit: Option<String>,
}

/// Archive files, the first of which exists once there is something to write.
pub(super) struct OutputFiles {
    folder: Root,
    ambient: Ambient,
    /// The fields of the first record of each file.
    about: Vec<(&'static str, String)>,
    series: FileSeries,
    /// The index lines of the records, or why they are lost; `None` if the files are not indexed here.
    lines: Option<Result<IndexUpdate, IndexError>>,
}

impl OutputFiles {
    /// New files in a folder. Recovers the files of a killed run first; each line of the returned list
    /// describes one recovery.
    pub(super) fn open(
        folder: &Root,
        options: &config::Archive,
        provenance: Provenance,
        ambient: Ambient,
    ) -> anyhow::Result<(Self, Vec<String>)> {
        let mut notes = vec![];
        if folder.is_folder() {
            let path = folder.path();
            for recovered in recover(path).context("cannot recover an unfinished archive file")? {
                notes.push(describe_recovered(&recovered));
            }
            // Recovered files, and files of runs that ended before they wrote the index.
            let completed = urldb_warc::index::complete_index(path, &Keys).context(NOT_INDEXED)?;
            for error in completed.damaged {
                notes.push(format!("an archive file is not indexed in full: {error}"));
            }
        }
        let files = Self::new(
            folder,
            options,
            provenance,
            ambient,
            &host_in_names(options, ambient),
        );
        Ok((files, notes))
    }

    /// New files in the folder of a bundle. `label` is in their names, after the name of the machine. The
    /// files are not indexed.
    pub(super) fn of_bundle(
        folder: &Root,
        options: &config::Archive,
        provenance: Provenance,
        ambient: Ambient,
        label: &str,
    ) -> Self {
        Self {
            lines: None,
            ..Self::new(folder, options, provenance, ambient, &labelled_host(label))
        }
    }

    /// New files whose names have `host`.
    fn new(
        folder: &Root,
        options: &config::Archive,
        provenance: Provenance,
        ambient: Ambient,
        host: &str,
    ) -> Self {
        let about = warcinfo_fields(options, provenance, &host_name());
        let series = FileSeries::new(folder.path(), "urldb", host)
            .with_options(write_options(options))
            .with_target_size(options.max_size);
        Self {
            folder: folder.clone(),
            ambient,
            about,
            series,
            lines: Some(Ok(IndexUpdate::new(folder.path()))),
        }
    }

    /// Writes records that belong together, and returns the name of the file that has the first. The first
    /// segments of all of them are in one file, one after another, so that an index finds the request of a
    /// response. The other segments follow, in the next files too.
    ///
    /// # Errors
    /// When a record cannot be written. Its segments are then cut off, except in a finished file.
    pub(super) fn append(&mut self, records: Vec<PendingRecord<'_>>) -> anyhow::Result<String> {
        let file = self.next_file()?;
        let (name, length) = (file.name().to_owned(), file.length());
        let lines = match self.write_all(records) {
            Ok(lines) => lines,
            Err(error) => {
                if let Some(file) = self.series.last_file().filter(|it| it.name() == name) {
                    // If this fails, the end of the file cuts them off.
                    let _ = file.cut_to(length);
                }
                return Err(error);
            }
        };
        if let Some(Ok(pending)) = &mut self.lines {
            let added = lines.iter().try_for_each(|line| pending.add(line));
            if let Err(error) = added {
                // The records are archived. The next run indexes the file.
                self.lines = Some(Err(error));
            }
        }
        Ok(name)
    }

    /// The file for the next record; a new one, if the last one is full.
    fn next_file(&mut self) -> anyhow::Result<&mut ArchiveFile> {
        let ambient = self.ambient;
        self.series.file(
            || {
                self.folder.make().with_context(|| {
                    let folder = self.folder.path().display();
                    format!("cannot make the archive folder {folder}")
                })?;
                warc_date((ambient.now)())
            },
            |date, name| warcinfo(&self.about, &random_id(ambient), date, name),
        )
    }

    /// Writes records and returns their index lines.
    fn write_all(&mut self, records: Vec<PendingRecord<'_>>) -> anyhow::Result<Vec<CdxjLine>> {
        let ambient = self.ambient;
        let new_id = || random_id(ambient);
        let (mut lines, mut segmented) = (vec![], vec![]);
        for record in records {
            let file = self.series.last_file().context("no archive file is open")?;
            let extent = match record.block {
                RecordBlock::Packed(packed) => Some(file.append_packed(&packed)?),
                RecordBlock::Streamed(body, length) => {
                    Some(file.append(&record.draft, body, length)?)
                }
                RecordBlock::Segmented(mut block) => {
                    let first = block.write_next(file, new_id)?;
                    segmented.push(block);
                    first.map(|(_, extent)| extent)
                }
            };
            let Some(extent) = extent else { continue };
            let location = RecordLocation {
                filename: file.name(),
                extent,
            };
            lines.extend(line_of(&record.draft, location, record.request.as_ref())?);
        }
        for mut block in segmented {
            while !block.is_complete() {
                let file = self.next_file()?;
                let Some((header, extent)) = block.write_next(file, new_id)? else {
                    break;
                };
                let filename = file.name();
                let location = RecordLocation { filename, extent };
                lines.extend(CdxjLine::of_continuation(&header, location));
            }
        }
        Ok(lines)
    }

    /// Removes the files, and forgets their lines: the index has lines of finished runs only.
    pub(super) fn discard(self) -> anyhow::Result<()> {
        self.series
            .discard()
            .context("cannot remove the archive files of this run")
    }

    /// Closes the last file and adds all lines to the index, unless the files are not indexed. Returns the
    /// files.
    pub(super) fn finish(self) -> anyhow::Result<Vec<PathBuf>> {
        let files = self
            .series
            .finish()
            .context("cannot finish the archive file")?;
        let Some(mut lines) = self.lines else {
            return Ok(files);
        };
        if let Ok(lines) = &mut lines {
            files
                .iter()
                .filter_map(|path| path.file_name())
                .for_each(|name| lines.add_name(&name.to_string_lossy()));
        }
        match lines.and_then(IndexUpdate::finish) {
            Err(error) if error.is_damaged_index() => {
                urldb_warc::index::rebuild_index(self.folder.path(), &Keys).map(drop)
            }
            merged => merged,
        }
        .context(NOT_INDEXED)?;
        Ok(files)
    }
}

/// The name of this machine.
fn host_name() -> String {
    hostname::get()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Host part in the names of this process's files. In an archive with a store a random number follows:
/// machines of one name may write to the store in the same second.
pub(super) fn host_in_names(options: &config::Archive, ambient: Ambient) -> String {
    if options.stores.is_empty() {
        return host_name();
    }
    labelled_host(&HEXLOWER.encode(&(ambient.random)()[..4]))
}

/// The name of the machine, shortened if need be, and a label.
fn labelled_host(label: &str) -> String {
    let mut host = host_name();
    host.truncate(host.floor_char_boundary(LONGEST_HOST));
    format!("{host}-{label}")
}

/// The index line of a record, if it is a capture. `request` is that of a response, unless a GET.
fn line_of(
    draft: &RecordDraft,
    location: RecordLocation<'_>,
    request: Option<&StoredRequest>,
) -> anyhow::Result<Option<CdxjLine>> {
    let head = http_head(draft)?;
    let mut line = CdxjLine::of_record(&draft.header, head.as_ref(), location, urldb_canon::surt);
    if let (Some(line), Some(request)) = (&mut line, request) {
        line.set_request(request, &Keys);
    }
    Ok(line)
}

/// The head of a stored response, for its index line.
fn http_head(draft: &RecordDraft) -> anyhow::Result<Option<StoredHead>> {
    let is_response = draft.header.record_type() == Some(RecordType::Response);
    if !(is_response && draft.header.is_http()) {
        return Ok(None);
    }
    Ok(StoredHead::read(&mut draft.head.as_slice())?)
}

pub(super) fn random_id(ambient: Ambient) -> RecordId {
    RecordId::from_random((ambient.random)())
}

fn warcinfo(
    about: &[(&'static str, String)],
    id: &RecordId,
    date: &WarcDate,
    name: &str,
) -> anyhow::Result<RecordDraft> {
    let fields: Vec<_> = about
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    Ok(urldb_warc::draft::warcinfo(id, date, name, &fields)?)
}

pub(super) const SOFTWARE: &str = concat!("urldb/", env!("CARGO_PKG_VERSION"));

/// The value of `format` in a `warcinfo` record.
pub(super) fn format_name(options: &config::Archive) -> String {
    options.version.name().replace("WARC/", "WARC File Format ")
}

/// The fields of a `warcinfo` record: those of WARC 1.1 §6.2, and the commit of the database.
fn warcinfo_fields(
    options: &config::Archive,
    provenance: Provenance,
    host: &str,
) -> Vec<(&'static str, String)> {
    let fields = [
        ("software", Some(SOFTWARE.to_owned())),
        ("format", Some(format_name(options))),
        ("hostname", Some(host.to_owned())),
        ("operator", options.operator.clone()),
        ("isPartOf", Some(provenance.project)),
        ("description", options.description.clone()),
        ("http-header-user-agent", Some(provenance.user_agent)),
        ("database-commit", provenance.commit),
    ];
    let known = fields.into_iter().filter_map(|(name, value)| {
        let value = value.filter(|value| !value.is_empty())?;
        // A value of the system must not make the record invalid.
        Some((name, sanitize(&value).into_owned()))
    });
    known.collect()
}

/// A date in whole seconds, so that an index finds the record by the exact time.
pub(super) fn warc_date(at: Timestamp) -> anyhow::Result<WarcDate> {
    Ok(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().parse()?)
}

/// Describes the recovery of a killed run's file, for people.
pub fn describe_recovered(recovered: &RecoveredFile) -> String {
    let kept = recovered.file.as_ref().map_or_else(
        || "nothing of it was whole".to_owned(),
        |file| format!("{} records kept in {}", recovered.records, file.display()),
    );
    let aside = recovered
        .damaged
        .as_ref()
        .map(|file| format!("; the damaged rest is in {}", file.display()))
        .unwrap_or_default();
    format!("an earlier run left an unfinished archive file: {kept}{aside}")
}
