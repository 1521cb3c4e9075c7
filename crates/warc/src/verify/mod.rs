//! Whether an archive is what it says: every byte is read, every digest computed, every reference
//! followed, and the index held against the records.
//!
//! Findings are handed out as they turn up. What is kept of a record until the end is small and of
//! fixed size: a few hashes, to find what refers to it.

mod block;
mod captures;
mod fields;
mod references;
mod segments;

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use self::captures::Captures;
use self::references::References;
use self::segments::{Segments, Set};
use crate::cdxj::Keys;
use crate::file::SUFFIX;
use crate::finding::{Code, Severity};
use crate::header::Header;
use crate::http::StoredRequest;
use crate::id::strip_brackets;
use crate::index;
use crate::parts::{self, Event, Product};
use crate::reader::{Gap, Note, ReadError, Reader, Record};
use crate::writer::Extent;

/// Something that is wrong with an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub code: Code,
    /// The archive file, or the index.
    pub file: PathBuf,
    /// Where in the file: the record, or the line of the index. In bytes.
    pub offset: Option<u64>,
    /// The record's id, if it is known.
    pub record_id: Option<String>,
    /// What exactly.
    pub message: String,
}

impl fmt::Display for Finding {
    /// `FILE:OFFSET: SEVERITY: MESSAGE [CODE]`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(offset) = self.offset {
            write!(f, ":{offset}")?;
        }
        let Self { code, message, .. } = self;
        write!(f, ": {}: {message} [{code}]", code.severity().name())
    }
}

/// What was verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Archive files.
    pub files: u64,
    /// Records that could be read to their end.
    pub records: u64,
    /// Bytes of the files, as stored.
    pub bytes: u64,
    /// Findings that are errors.
    pub errors: u64,
    /// Findings that are warnings.
    pub warnings: u64,
}

/// Verifies the finished files of an archive's directory, in the order of their names, and the index
/// if there is one. `keys` are those that the index should have.
pub fn archive(
    dir: &Path,
    keys: &dyn Keys,
    report: &mut dyn FnMut(Finding),
) -> io::Result<Summary> {
    let files = archive_files(dir)?;
    let mut verifier = Verifier::new(keys, report);
    for file in &files {
        verifier.file(file);
    }
    let index = dir.join(index::FILE_NAME);
    if index.exists() {
        verifier.index(&index);
    }
    Ok(verifier.finish())
}

/// The finished files of an archive's directory, in the order of their names.
pub fn archive_files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if is_archive_name(&name_of(&path)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn is_archive_name(name: &str) -> bool {
    let ends = [SUFFIX, ".warc", ".arc.gz", ".arc"];
    ends.iter().any(|end| name.ends_with(end))
}

/// Verifies files one after another, then what refers from one to another.
pub struct Verifier<'r> {
    keys: &'r dyn Keys,
    report: Report<'r>,
    files: Vec<PathBuf>,
    references: References,
    segments: Segments,
    captures: Captures,
    /// Whether a record was begun and not read to its end yet.
    is_within: bool,
}

impl<'r> Verifier<'r> {
    /// Hands findings to `report` as they turn up. `keys` are those that an index should have.
    pub fn new(keys: &'r dyn Keys, report: &'r mut dyn FnMut(Finding)) -> Self {
        Self {
            keys,
            report: Report {
                give: report,
                place: Place::default(),
                summary: Summary::default(),
            },
            files: Vec::new(),
            references: References::default(),
            segments: Segments::default(),
            captures: Captures::default(),
            is_within: false,
        }
    }

    /// Verifies a file. That it cannot be read is a finding too.
    pub fn file(&mut self, path: &Path) {
        self.report.enter(path);
        self.files.push(path.to_owned());
        self.report.summary.files += 1;
        if let Err(error) = self.read(path) {
            self.report.place.offset = None;
            self.report.add(Code::Unreadable, error.to_string());
        }
        self.captures.end_file();
    }

    /// Holds the index against the files that were verified before; what it says of others is wrong.
    pub fn index(&mut self, path: &Path) {
        self.report.enter(path);
        let names = self
            .files
            .iter()
            .zip(0..)
            .map(|(file, n)| (name_of(file), n));
        let names: HashMap<String, u32> = names.collect();
        let compared = self
            .captures
            .compare(path, &names, self.keys, &mut self.report);
        if let Err(error) = compared {
            self.report.place.offset = None;
            self.report.add(Code::IndexUnreadable, error.to_string());
        }
        let missing = self.captures.unseen();
        self.late(missing.map(|(file, offset)| Late {
            file,
            offset,
            code: Code::IndexMissing,
        }));
    }

    /// Follows the references, and says what was verified.
    pub fn finish(mut self) -> Summary {
        let segmented = std::mem::take(&mut self.segments).into_sets();
        let faults = segmented.iter().filter_map(Set::fault);
        let findings: Vec<Late> = self.references.unresolved().chain(faults).collect();
        self.late(findings.into_iter());
        for set in segmented.iter().filter(|set| set.is_worth_reading()) {
            self.report.place = self.place_of(set.at());
            let Self { files, report, .. } = &mut self;
            let checked = set.check_whole(
                files,
                &mut Remarks(&mut |code, text| report.add(code, text)),
            );
            if let Err(error) = checked {
                self.report.add(Code::Unreadable, error.to_string());
            }
        }
        self.report.summary
    }

    fn read(&mut self, path: &Path) -> io::Result<()> {
        let length = path.metadata()?.len();
        self.report.summary.bytes += length;
        let before = self.report.summary;
        let mut shared = false;
        let read = parts::read(path, &look, &mut |event| {
            match event {
                Event::Made(seen) => self.see(seen),
                Event::Note(note) => self.note(note, &mut shared),
                Event::Fault(error) => self.fault(&error),
                Event::Gap(gap) => self.gap(gap, length),
            }
            ControlFlow::Continue(())
        });
        read.map_err(io::Error::other)?;
        if before.records == self.report.summary.records
            && before.errors == self.report.summary.errors
        {
            self.report.place.offset = None;
            self.report
                .add(Code::EmptyFile, Code::EmptyFile.meaning().to_owned());
        }
        Ok(())
    }

    fn see(&mut self, seen: Seen) {
        match seen {
            Seen::Begin { offset, id } => {
                self.report.place.offset = Some(offset);
                self.report.place.id = id;
                self.is_within = true;
            }
            Seen::Wrong(code, message) => self.report.add(code, message),
            Seen::Good(record) => {
                self.remember(*record);
                self.report.summary.records += 1;
                self.is_within = false;
            }
        }
    }

    /// Reports what was tolerated. That records share a gzip member is told once for a file.
    fn note(&mut self, note: Note, shared: &mut bool) {
        let is_shared = note.code == Code::SharedMember;
        if is_shared && std::mem::replace(shared, true) {
            return;
        }
        self.stand_at(note.offset);
        self.report.add(note.code, note.code.meaning().to_owned());
    }

    /// Reports what is wrong with a record that cannot be read.
    fn fault(&mut self, error: &ReadError) {
        self.stand_at(error.offset);
        if !std::mem::take(&mut self.is_within) {
            self.report.place.id = None;
        }
        self.report
            .add(error.problem.code(), error.problem.to_string());
    }

    /// What is reported next is about what begins there, the record that was seen last or another.
    fn stand_at(&mut self, offset: u64) {
        let place = &mut self.report.place;
        if place.offset.replace(offset) != Some(offset) {
            place.id = None;
        }
    }

    /// Reports what was passed over, unless that is all the rest.
    fn gap(&mut self, gap: Gap, length: u64) {
        if gap.offset + gap.length < length {
            let message = format!(
                "{} bytes were passed over to find the next record",
                gap.length
            );
            self.report.add(Code::PassedOver, message);
        }
    }

    /// Keeps what others may refer to, of a record that is good to its end.
    fn remember(&mut self, record: Good) {
        let Good {
            header,
            extent,
            has_place,
            request,
        } = record;
        let file = u32::try_from(self.files.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let at = (file, extent.offset);
        self.references.add(at, &header, &mut self.report);
        self.segments.add(at, has_place, &header);
        let place = has_place.then_some((at, extent.length));
        self.captures.add(place, &header, request, self.keys);
    }

    /// Reports what turned out after the files were read. Only now are ids needed again.
    fn late(&mut self, findings: impl Iterator<Item = Late>) {
        for Late { file, offset, code } in findings {
            self.report.place = self.place_of((file, offset));
            self.report.add(code, code.meaning().to_owned());
        }
    }

    fn place_of(&self, (file, offset): (u32, u64)) -> Place {
        let file = self.files.get(file as usize).cloned().unwrap_or_default();
        Place {
            id: id_at(&file, offset),
            file,
            offset: Some(offset),
        }
    }
}

/// What is seen of a record while it is read.
enum Seen {
    /// It begins.
    Begin { offset: u64, id: Option<String> },
    /// Something is wrong with it.
    Wrong(Code, String),
    /// It could be read to its end.
    Good(Box<Good>),
}

/// A record that could be read to its end.
struct Good {
    header: Header,
    extent: Extent,
    /// One that shares its gzip member cannot be read from an offset.
    has_place: bool,
    /// What was asked, if it is about that, and no GET.
    request: Option<StoredRequest>,
}

impl Product for Seen {
    fn weight(&self) -> usize {
        match self {
            Self::Begin { id, .. } => id.as_ref().map_or(0, String::len),
            Self::Wrong(_, message) => message.len(),
            Self::Good(record) => {
                let fields = record.header.iter();
                let fields = fields.map(|(name, value)| name.len() + value.len());
                let request = record.request.as_ref().map_or(0, |it| it.body.len());
                size_of::<Good>() + fields.sum::<usize>() + request
            }
        }
    }
}

/// Where what is wrong with a record is put down.
struct Remarks<'a>(&'a mut dyn FnMut(Code, String));

impl Remarks<'_> {
    fn add(&mut self, code: Code, message: String) {
        (self.0)(code, message);
    }
}

/// Looks at a record by itself.
fn look(mut record: Record<'_, File>, see: &mut dyn FnMut(Seen)) -> Result<(), ReadError> {
    see(Seen::Begin {
        offset: record.offset(),
        id: id_of(record.header()),
    });
    let mut remark = |code, message| see(Seen::Wrong(code, message));
    let mut remarks = Remarks(&mut remark);
    fields::check(record.version(), record.header(), &mut remarks);
    let request = block::check(&mut record, &mut remarks)?;
    let has_place = record.within_member() == 0;
    let (extent, header) = record.finish_with_header()?;
    see(Seen::Good(Box::new(Good {
        header,
        extent,
        has_place,
        request,
    })));
    Ok(())
}

fn id_of(header: &Header) -> Option<String> {
    header
        .get("WARC-Record-ID")
        .map(|id| strip_brackets(id).to_owned())
}

/// A finding about a record that was read before.
struct Late {
    file: u32,
    offset: u64,
    code: Code,
}

fn id_at(path: &Path, offset: u64) -> Option<String> {
    let mut reader = Reader::open_at(path, offset).ok()?;
    id_of(reader.next_record().ok()??.header())
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Where the next finding is.
#[derive(Default)]
struct Place {
    file: PathBuf,
    offset: Option<u64>,
    id: Option<String>,
}

/// Hands findings out, and counts them.
struct Report<'r> {
    give: &'r mut dyn FnMut(Finding),
    place: Place,
    summary: Summary,
}

impl Report<'_> {
    fn enter(&mut self, file: &Path) {
        self.place = Place {
            file: file.to_owned(),
            ..Place::default()
        };
    }

    fn add(&mut self, code: Code, message: String) {
        match code.severity() {
            Severity::Error => self.summary.errors += 1,
            Severity::Warning => self.summary.warnings += 1,
        }
        (self.give)(Finding {
            code,
            file: self.place.file.clone(),
            offset: self.place.offset,
            record_id: self.place.id.clone(),
            message,
        });
    }
}
