//! Reads the lines of the history one by one.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::vec;

use anyhow::Context;
use jiff::Timestamp;
use urldb_files::{Root, RootFile};
use urldb_protocol::State;
use urldb_verdict::Selection;

use super::order::{InOrder, in_order, take_future};
use super::{FOLDER, RunLine};
use crate::limits;

/// The runs of the past.
#[derive(Debug, Default)]
pub struct PastRuns {
    /// Those whose time is known, in their order.
    pub known: Vec<RunLine>,
    /// The latest time of a run that lies in the future.
    pub future: Option<Timestamp>,
}

impl InOrder for RunLine {
    fn id(&self) -> &str {
        &self.run
    }

    fn at(&self) -> Timestamp {
        self.at
    }

    fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }
}

impl RunLine {
    /// Whether the run was over the whole database.
    pub fn is_complete(&self) -> bool {
        self.selection.is_none()
    }

    /// Whether the run asked all its URLs, and got a result.
    pub fn has_results(&self) -> bool {
        !self.incomplete
            && self
                .states
                .keys()
                .any(|state| *state != State::Inconclusive)
    }

    /// Whether the run certainly checked the records with this path of a domain.
    pub fn has_checked(&self, domain: &str, path: &str) -> bool {
        let Some(selection) = &self.selection else {
            return true;
        };
        let Selection {
            domains,
            categories,
            path_prefix,
            records,
            changed: _,
        } = selection;
        let prefix = path_prefix.as_deref().unwrap_or_default();
        categories.is_empty()
            && records.is_empty()
            && (domains.is_empty() || domains.iter().any(|known| known == domain))
            && path.starts_with(prefix)
    }
}

/// The runs of the past, as of `now`.
///
/// # Errors
/// When the history exists and cannot be read. Lines of other programs are skipped.
pub fn past_runs(folder: &Root, now: Timestamp) -> anyhow::Result<PastRuns> {
    let mut runs = vec![];
    for line in lines(folder)? {
        // Lists of URLs are larger than all that is asked for.
        runs.push(RunLine {
            unverified: None,
            became_unverified: vec![],
            verified_again: vec![],
            ..line?
        });
    }
    let mut known: Vec<RunLine> = in_order(runs).into_iter().map(|(run, _)| run).collect();
    let future = take_future(&mut known, now, |run| run.at);
    Ok(PastRuns { known, future })
}

/// The lines of the history in the ledger's folder, month by month. One line at a time is in memory.
/// Within a file, the order need not be that of time, and a line may occur twice, if branches were merged.
/// Lines of other programs are skipped.
///
/// # Errors
/// When the folder of the months exists and cannot be read; each line, if its file cannot be read.
pub fn lines(folder: &Root) -> anyhow::Result<Lines> {
    Ok(Lines(RawLines::new(files(folder)?)))
}

/// The iterator of [`lines`].
#[derive(Debug)]
pub struct Lines(RawLines);

impl Lines {
    /// The lines of one file; none if the file does not exist.
    pub(super) fn of_file(file: RootFile) -> Self {
        let file = file.kind().is_some().then_some(file);
        Self(RawLines::new(file.into_iter().collect()))
    }
}

impl Iterator for Lines {
    type Item = anyhow::Result<RunLine>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.next_line()? {
                Ok(line) => {
                    if let Ok(line) = serde_json::from_slice(line) {
                        return Some(Ok(line));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Whether a path, relative to the ledger's folder, is a file of the history.
pub fn is_history(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    path.parent() == Some(Path::new(FOLDER))
        && path.extension().is_some_and(|it| it == "jsonl")
        && stem.is_some_and(is_month)
}

/// Whether this is a year and a month, such as `2026-11`.
fn is_month(name: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    name.rsplit_once('-').is_some_and(|(year, month)| {
        year.len() >= 4 && month.len() == 2 && digits(year) && digits(month)
    })
}

/// The files of the history, oldest first.
pub(super) fn files(folder: &Root) -> anyhow::Result<Vec<RootFile>> {
    let months = super::folder(folder);
    let mut files = months
        .files()
        .with_context(|| format!("cannot read {}", months.path().display()))?;
    files.retain(|file| is_history(&Path::new(FOLDER).join(file.name())));
    Ok(files)
}

/// The lines of some files as bytes, without their ends.
#[derive(Debug)]
struct RawLines {
    files: vec::IntoIter<RootFile>,
    open: Option<(RootFile, BufReader<File>)>,
    line: Vec<u8>,
}

impl RawLines {
    fn new(files: Vec<RootFile>) -> Self {
        Self {
            files: files.into_iter(),
            open: None,
            line: vec![],
        }
    }

    fn next_line(&mut self) -> Option<anyhow::Result<&[u8]>> {
        loop {
            if self.open.is_none() {
                let file = self.files.next()?;
                match file.open_within(limits::LEDGER) {
                    Ok(open) => self.open = Some((file, BufReader::new(open))),
                    Err(error) => return Some(Err(unreadable(&file, error))),
                }
            }
            let (path, file) = self.open.as_mut()?;
            self.line.clear();
            match file.read_until(b'\n', &mut self.line) {
                Ok(0) => self.open = None,
                Ok(_) => break,
                Err(error) => {
                    let error = unreadable(path, error);
                    self.open = None;
                    return Some(Err(error));
                }
            }
        }
        Some(Ok(self.line.strip_suffix(b"\n").unwrap_or(&self.line)))
    }
}

fn unreadable(file: &RootFile, error: io::Error) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("cannot read {file}"))
}
