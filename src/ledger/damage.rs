//! Damage of ledger files, as a killed program, a full disk or a person leaves it.

use std::io::{self, BufReader, Read};
use std::path::Path;

use anyhow::{Result, ensure};
use serde::de::IgnoredAny;
use urldb_files::{Root, RootFile};

use super::documents::{content, documents_in, parse_head, status};
use super::domain::{ARCHIVE_FILE, domain_of};
use super::{FOLDERS, incidents};
use crate::limits;

/// A file of the ledger that no run can use.
#[derive(Debug)]
pub struct DamagedFile {
    /// The file.
    pub file: RootFile,
    /// The reason, for people.
    pub why: anyhow::Error,
}

/// The files of a ledger that no run can use. `committed` reads the content that the last commit has of a file.
pub fn damaged(
    ledger: &Root,
    committed: impl Fn(&RootFile) -> Option<Vec<u8>>,
) -> Vec<DamagedFile> {
    FOLDERS
        .iter()
        .flat_map(|folder| {
            let files = ledger.folder(folder).files().unwrap_or_default();
            let named = |file: RootFile| (Path::new(folder).join(file.name()), file);
            files.into_iter().map(named)
        })
        .filter(|(_, file)| file.is_file())
        .filter_map(|(name, file)| {
            check_file(&name, &file, || committed(&file))
                .err()
                .map(|why| DamagedFile { file, why })
        })
        .collect()
}

/// Checks a file that has the path `name` in the folder of the ledger. `committed` reads the content that the last
/// commit has of it.
///
/// # Errors
/// As [`check`], and when the end is missing of a file to which runs only append.
pub fn check_file(
    name: &Path,
    file: &RootFile,
    committed: impl FnOnce() -> Option<Vec<u8>>,
) -> Result<()> {
    check(name, file.open_within(limits::LEDGER)?)?;
    if (name.starts_with("history") || name.starts_with("incidents"))
        && let Some(committed) = committed()
    {
        let now = file.read(limits::LEDGER)?;
        let is_cut = now.len() < committed.len() && committed.starts_with(&now);
        ensure!(!is_cut || !now.is_empty(), "it is empty");
        ensure!(!is_cut, "its end is missing");
    }
    Ok(())
}

/// Checks the content of a file that has the path `name` in the folder of the ledger. Files that no run reads are
/// whole, and so is each file of the history: readers skip lines that they do not know.
///
/// # Errors
/// When the content is empty, ends in the middle of a line, or has another form than this program writes.
pub fn check(name: &Path, content: impl Read) -> Result<()> {
    let mut source = LastByteReader {
        source: BufReader::new(content),
        last: None,
    };
    let folder = name.parent().and_then(Path::to_str).unwrap_or_default();
    let extension = name.extension().and_then(|it| it.to_str());
    let checked = match (folder, extension) {
        ("outbox", Some("json")) => check_message(&mut source),
        ("incidents", Some("yaml")) => check_incident(name, &mut source),
        ("" | "captures" | "origins", Some("yaml")) => check_documents(folder, name, &mut source),
        _ => return Ok(()),
    };
    ensure!(source.last.is_some(), "it is empty");
    checked?;
    ensure!(
        source.last == Some(b'\n') || extension != Some("yaml"),
        "it ends in the middle of a line"
    );
    Ok(())
}

fn check_message(source: impl Read) -> Result<()> {
    Ok(serde_json::from_reader::<_, IgnoredAny>(source).map(drop)?)
}

fn check_incident(name: &Path, mut source: impl Read) -> Result<()> {
    let mut text = String::new();
    source.read_to_string(&mut text)?;
    match name
        .file_name()
        .map(Path::new)
        .and_then(incidents::id_of_name)
    {
        Some(id) => incidents::parse(id, &text).map(drop),
        None => Ok(()),
    }
}

fn check_documents(folder: &str, name: &Path, source: impl Read) -> Result<()> {
    let domain = domain_of(name).filter(|_| name != Path::new(ARCHIVE_FILE));
    for (at, document) in documents_in(source).enumerate() {
        let document = document?;
        match (folder, &domain) {
            ("", Some(_)) if at == 0 => drop(parse_head(&document.mapping)?),
            ("", Some(domain)) => drop(status(domain, &document)?),
            ("captures", _) if at > 0 => drop(content("", &document)?),
            _ => {}
        }
    }
    Ok(())
}

/// A reader that knows the last byte that it has read.
struct LastByteReader<R> {
    source: R,
    last: Option<u8>,
}

impl<R: Read> Read for LastByteReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(bytes)?;
        self.last = bytes[..read].last().copied().or(self.last);
        Ok(read)
    }
}
