//! Captures as a WACZ file (WACZ 1.1.1), which a player in a browser reads from any web server.
//!
//! 1. `selection`: the captures of some URLs, with what their replay needs
//! 2. `records`: the parts of the archive files that have these captures
//! 3. `index`: the index lines and the pages of the package
//! 4. `package`: the ZIP file
//!
//! Records are copied as they are. Memory grows with the number of selected captures, never with their
//! length; without a selection, not at all.

mod index;
mod package;
mod records;
mod selection;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read, Seek, SeekFrom, Write};

use urldb_files::Spool;
use urldb_text::sanitize;
use urldb_warc::CdxjLine;
use urldb_warc::index::{IdxDialect, ZipNumWriter};

use self::index::{SortedLines, page};
pub use self::package::PackageDescription;
use self::package::{FileNames, MainPage, Package};
use self::records::{KeptRecords, Scan};
use self::selection::SelectedCaptures;
pub use self::selection::{Answers, SelectedRequest};
use super::Catalogue;
use crate::explain::explain;

/// The name of the compressed index, which py-wacz demands.
const INDEX: &str = "index.cdx.gz";

/// The first line of the list of pages.
const PAGES_HEADER: &str = r#"{"format":"json-pages-1.0","id":"pages","title":"All Pages"}"#;

/// The captures of a package.
#[derive(Debug, Clone)]
pub enum WaczSelection {
    /// The whole archive.
    Everything,
    /// These captures, with what their replay needs.
    Requests(Vec<SelectedRequest>),
}

/// A package, before it is written.
pub struct WaczExport<'a> {
    catalogue: &'a Catalogue,
    selected: Option<SelectedCaptures>,
    files: Vec<PackagedFile>,
    main: Option<MainPage>,
}

/// An archive file, of which some records or all go into the package.
struct PackagedFile {
    /// Its name in the archive.
    source: String,
    /// Its name in the package.
    name: String,
    records: KeptRecords,
    /// The offsets of index lines without a record.
    missing: HashSet<u64>,
}

impl PackagedFile {
    /// The offset in the package of the record at `offset` in the archive, if the package has it.
    fn position(&self, offset: u64) -> Option<u64> {
        let is_missing = self.missing.contains(&offset);
        self.records.position(offset).filter(|_| !is_missing)
    }
}

/// The number of things in a package.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct WaczContents {
    /// Captures, revisits included.
    pub captures: u64,
    /// Requests, of which there is at least one capture each.
    pub urls: u64,
    /// Entries of the list of pages.
    pub pages: u64,
    /// Lines of the index whose records are not in the package.
    pub lost: u64,
}

impl<'a> WaczExport<'a> {
    /// Finds the records of a package. `warn` gets a message for each part of the archive that cannot
    /// be in the package.
    ///
    /// # Errors
    /// When the index or an archive file cannot be read, for another reason than damage.
    pub fn prepare(
        catalogue: &'a Catalogue,
        selection: &WaczSelection,
        warn: &mut dyn FnMut(String),
    ) -> anyhow::Result<Self> {
        let (mut selected, mut main) = (None, None);
        if let WaczSelection::Requests(requests) = selection {
            selected = Some(SelectedCaptures::of(catalogue, requests, warn)?);
            if let [only] = requests.as_slice() {
                main = main_page(catalogue, &only.urls)?;
            }
        }
        let files = scan_files(catalogue, selected.as_ref(), warn)?;
        Ok(Self {
            catalogue,
            selected,
            files,
            main,
        })
    }

    /// Whether there is no record to export.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Writes the package, and returns the output. `titles` has titles of pages by their URL; a URL with a title is a page whatever its media type.
    ///
    /// # Errors
    /// When an archive file cannot be read, or the output cannot be written.
    pub fn write<W: Write>(
        &self,
        about: &PackageDescription,
        titles: &HashMap<String, String>,
        output: W,
    ) -> anyhow::Result<(W, WaczContents)> {
        let mut package = Package::new(output, about.created);
        for file in &self.files {
            let path = format!("archive/{}", file.name);
            package.add(&path, |output| self.copy(file, output))?;
        }
        let (mut pages, mut contents) = (Spool::new(), WaczContents::default());
        pages.push(format!("{PAGES_HEADER}\n").as_bytes())?;
        let mut idx = Spool::new();
        package.add(&format!("indexes/{INDEX}"), |output| {
            let dialect = IdxDialect::Json {
                filename: INDEX.to_owned(),
            };
            let mut index = ZipNumWriter::new(output, SpoolWriter(&mut idx), dialect)?;
            let mut sorted = SortedLines::default();
            let (mut last, mut unusable) = (String::new(), 0);
            self.for_each_line(&mut contents.lost, &mut |line| {
                // The index of another program may have keys that no index should have.
                let Ok(text) = line.render() else {
                    unusable += 1;
                    return Ok(());
                };
                contents.captures += 1;
                if line.key != last {
                    contents.urls += 1;
                    last.clone_from(&line.key);
                }
                if let Some(page) = page(&line, titles) {
                    contents.pages += 1;
                    pages.push(page.as_bytes())?;
                }
                sorted.add(&line, text, &mut |line| Ok(index.add(line)?))
            })?;
            contents.lost += unusable;
            sorted.flush(&mut |line| Ok(index.add(line)?))?;
            index.finish()?;
            Ok(())
        })?;
        for (path, mut spool) in [("indexes/index.idx", idx), ("pages/pages.jsonl", pages)] {
            package.add(path, |output| {
                io::copy(&mut spool.reader()?, output)?;
                Ok(())
            })?;
        }
        let output = package.finish(about, self.main.as_ref())?;
        Ok((output, contents))
    }

    /// Copies the records of an archive file.
    fn copy(&self, file: &PackagedFile, output: &mut dyn Write) -> anyhow::Result<()> {
        let mut input = open(self.catalogue, &file.source)?;
        for part in file.records.parts() {
            input.seek(SeekFrom::Start(part.offset))?;
            let copied = io::copy(&mut (&mut input).take(part.length), output)?;
            anyhow::ensure!(
                copied == part.length,
                "the archive file was changed meanwhile"
            );
        }
        Ok(())
    }

    /// Passes on the index lines of the records in the package, sorted by key and timestamp, each with
    /// its new position. Counts the lines of selected captures whose records are not in the package.
    fn for_each_line(
        &self,
        lost: &mut u64,
        take: &mut dyn FnMut(CdxjLine) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let files: BTreeMap<&str, &PackagedFile> = self
            .files
            .iter()
            .map(|file| (file.source.as_str(), file))
            .collect();
        let mut place = |mut line: CdxjLine| {
            let file = files.get(line.filename.as_str());
            let position = file.and_then(|file| Some((file, file.position(line.extent.offset)?)));
            let Some((file, position)) = position else {
                *lost += 1;
                return Ok(());
            };
            line.filename.clone_from(&file.name);
            line.extent.offset = position;
            take(line)
        };
        match &self.selected {
            None => self.catalogue.lines()?.try_for_each(|line| place(line?)),
            Some(selected) => selected.keys().try_for_each(|key| {
                self.catalogue
                    .lines_at(key)?
                    .into_iter()
                    .filter(|line| selected.has(line))
                    .try_for_each(&mut place)
            }),
        }
    }
}

/// The archive files with selected records, and these records.
fn scan_files(
    catalogue: &Catalogue,
    selected: Option<&SelectedCaptures>,
    warn: &mut dyn FnMut(String),
) -> anyhow::Result<Vec<PackagedFile>> {
    let mut names = catalogue.files.with_records()?;
    let mut with_captures = names.len();
    if let Some(selected) = selected {
        // The other files may have segments of records in these.
        names.retain(|name| selected.in_file(name).is_none());
        names.splice(0..0, selected.files().map(str::to_owned));
        with_captures = selected.files().count();
    }
    let none = HashSet::new();
    let (mut files, mut known, mut scan) = (vec![], FileNames::default(), Scan::default());
    for (at, source) in names.into_iter().enumerate() {
        if at >= with_captures && scan.incomplete() == 0 {
            break;
        }
        let wanted = selected.map(|selected| selected.in_file(&source).unwrap_or(&none));
        let scanned = open(catalogue, &source).and_then(|input| scan.read(input, wanted));
        let shown = sanitize(&source).into_owned();
        let scanned = match scanned {
            Ok(scanned) => scanned,
            Err(error) => {
                warn(format!("{shown} is left out: {}", explain(&error)));
                continue;
            }
        };
        for problem in &scanned.problems {
            warn(format!("{shown}: {problem}"));
        }
        if !scanned.records.is_empty() {
            files.push(PackagedFile {
                name: known.add(&source, scanned.is_gzip),
                source,
                records: scanned.records,
                missing: scanned.missing,
            });
        }
    }
    if scan.incomplete() > 0 {
        let records = scan.incomplete();
        warn(format!(
            "records whose last segment is not in the archive: {records}"
        ));
    }
    Ok(files)
}

fn open(catalogue: &Catalogue, name: &str) -> anyhow::Result<std::fs::File> {
    let whole = catalogue.files.whole(name)?;
    Ok(urldb_files::open(whole.as_ref())?)
}

/// The last good capture of a URL, for a package of this URL alone.
fn main_page(catalogue: &Catalogue, urls: &[String]) -> anyhow::Result<Option<MainPage>> {
    let mut captures = vec![];
    for url in urls {
        captures.extend(catalogue.find(url, None)?);
    }
    captures.retain(|it| {
        let is_redirect = |status| (300..400).contains(&status);
        it.truncated.is_none() && (it.is_good() || it.status.is_some_and(is_redirect))
    });
    let last = captures
        .into_iter()
        .max_by(|one, other| one.line.timestamp.cmp(&other.line.timestamp));
    Ok(last.map(|capture| MainPage {
        date: super::date::shown(&capture.line.timestamp),
        url: capture.line.url,
    }))
}

struct SpoolWriter<'a>(&'a mut Spool);

impl Write for SpoolWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
