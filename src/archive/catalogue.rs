//! Which captures the archive holds, by its index.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use urldb_warc::CdxjLine;
use urldb_warc::cdxj::REVISIT;
use urldb_warc::index::{FILE_NAME, Index};

/// What is said of an index that cannot be used.
const DAMAGED: &str = "the index is damaged; `urldb archive index` makes it anew";

/// The index of an archive, to be looked up.
#[derive(Debug)]
pub struct Catalogue {
    folder: PathBuf,
    index: PathBuf,
    /// The index, once something was looked up.
    opened: RefCell<Option<Index>>,
}

/// One capture of a URL.
#[derive(Debug, Clone)]
pub struct Capture {
    /// What the index says of it.
    pub line: CdxjLine,
    /// The status; of a revisit that of the capture with the same bytes, if the index has that.
    pub status: Option<u16>,
}

impl Capture {
    /// Whether it only says that the bytes are those of an earlier one.
    pub fn is_revisit(&self) -> bool {
        self.line.mime == REVISIT
    }

    /// Whether the server answered with what was asked for.
    pub fn is_good(&self) -> bool {
        self.status
            .is_some_and(|status| (200..300).contains(&status))
    }
}

impl Catalogue {
    /// Opens the archive in a folder.
    ///
    /// # Errors
    /// When it has no index; says what makes one.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let index = folder.join(FILE_NAME);
        anyhow::ensure!(
            index.is_file(),
            "the archive at {} has no {FILE_NAME}; `urldb archive index` makes one of its files",
            folder.display()
        );
        Ok(Self {
            folder: folder.to_owned(),
            index,
            opened: RefCell::default(),
        })
    }

    /// The archive file that a line of the index is about.
    pub fn file_of(&self, line: &CdxjLine) -> anyhow::Result<PathBuf> {
        let name = Path::new(&line.filename);
        // The index may come with somebody else's commit.
        let is_inside = name
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        anyhow::ensure!(
            is_inside && !line.filename.is_empty(),
            "the index names a file outside of the archive: {:?}",
            line.filename
        );
        Ok(self.folder.join(name))
    }

    /// All lines of the index, sorted by key and time.
    pub fn lines(&self) -> anyhow::Result<impl Iterator<Item = anyhow::Result<CdxjLine>> + use<>> {
        let lines = Index::open(&self.index)?.into_lines()?;
        Ok(lines.map(|line| line.context(DAMAGED)))
    }

    /// The captures of a URL, oldest first. Where none has exactly this URL, those of the URLs that
    /// are the same to an index: in other case, with `www.` or without, over the other scheme.
    ///
    /// # Errors
    /// When there are none; suggests a URL that there is.
    pub fn captures_of(&self, url: &str) -> anyhow::Result<Vec<Capture>> {
        let captures = self.find(url)?;
        if captures.is_empty() {
            return Err(self.not_found(url));
        }
        Ok(captures)
    }

    /// As [`Catalogue::captures_of`], and empty when there are none.
    pub fn find(&self, url: &str) -> anyhow::Result<Vec<Capture>> {
        let mut opened = self.opened.borrow_mut();
        let index = match opened.as_mut() {
            Some(index) => index,
            None => opened.insert(Index::open(&self.index)?),
        };
        let found = index.captures(&urldb_canon::surt(url))?;
        let mut lines = found.collect::<Result<Vec<_>, _>>().context(DAMAGED)?;
        if lines.iter().any(|line| line.url == url) {
            lines.retain(|line| line.url == url);
        }
        Ok(with_status(lines))
    }

    fn not_found(&self, url: &str) -> anyhow::Error {
        match self.nearest(url) {
            Ok(Some(near)) => {
                anyhow::anyhow!("{url} is not in the archive; did you mean {near}?")
            }
            Ok(None) => {
                anyhow::anyhow!("{url} is not in the archive; `urldb archive list` shows what is")
            }
            Err(error) => error,
        }
    }

    /// The URL in the archive that is spelt most like this one, if any is near enough.
    fn nearest(&self, url: &str) -> anyhow::Result<Option<String>> {
        let mut best: Option<(usize, String)> = None;
        let mut last = String::new();
        for line in self.lines()? {
            let candidate = line?.url;
            if candidate == last || candidate.len().abs_diff(url.len()) > allowed(url) {
                continue;
            }
            let distance = strsim::damerau_levenshtein(url, &candidate);
            let is_best = best.as_ref().is_none_or(|(known, _)| distance < *known);
            if is_best && distance <= allowed(url) {
                best = Some((distance, candidate.clone()));
            }
            last = candidate;
        }
        Ok(best.map(|(_, url)| url))
    }
}

/// How many letters may be other ones before it is another URL altogether.
fn allowed(url: &str) -> usize {
    2 + url.len() / 10
}

/// Captures of a URL, oldest first, each revisit with the status of the response that it stands for.
fn with_status(mut lines: Vec<CdxjLine>) -> Vec<Capture> {
    // Within a second, files are numbered.
    lines.sort_by(|a, b| place(a).cmp(&place(b)));
    let mut known = HashMap::new();
    let captures = lines.into_iter().map(|line| {
        let status = line.status.or_else(|| known.get(&line.digest).copied());
        known.extend(line.status.map(|status| (line.digest.clone(), status)));
        Capture { line, status }
    });
    captures.collect()
}

fn place(line: &CdxjLine) -> (&str, &str, u64) {
    (&line.timestamp, &line.filename, line.extent.offset)
}
