//! Looks captures up in the index of the archive.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::Context;
use urldb_text::variant_suffix;
use urldb_warc::CdxjLine;
use urldb_warc::cdxj::REVISIT_MIME;
use urldb_warc::files::FileSource;
use urldb_warc::http::StoredRequest;
use urldb_warc::index::CdxjIndex;

use super::files::ArchiveFiles;
use super::keys::{is_same_url, key_of};

/// The message about an index that cannot be used.
const DAMAGED: &str = "the index is damaged; `urldb archive index` makes it anew";

/// An archive, looked up by its index.
#[derive(Debug)]
pub struct Catalogue {
    pub(super) files: ArchiveFiles,
    /// The index, opened by the first lookup.
    opened: RefCell<Option<CdxjIndex>>,
}

/// One capture of a URL, as the index and its record describe it.
#[derive(Debug, Clone)]
pub struct IndexedCapture {
    /// The line of the index.
    pub line: CdxjLine,
    /// The status. For a revisit: that of a capture with the same bytes, if the index has one.
    pub status: Option<u16>,
    /// Why the archive does not have the whole body, as in `WARC-Truncated`; for a revisit as for
    /// [`status`](Self::status).
    pub truncated: Option<String>,
}

impl IndexedCapture {
    /// Whether the record refers to the bytes of an earlier capture.
    pub fn is_revisit(&self) -> bool {
        self.line.mime == REVISIT_MIME
    }

    /// The request, for people: the URL, with the method in front unless it is GET, and the variant.
    pub fn name(&self) -> String {
        let line = &self.line;
        let method = line
            .request
            .as_ref()
            .map(|asked| format!("{} ", asked.method));
        let variant = variant_suffix(line.vary.as_deref());
        format!("{}{}{variant}", method.unwrap_or_default(), line.url)
    }

    /// Whether the status is that of a redirect.
    pub fn is_redirect(&self) -> bool {
        matches!(self.status, Some(301 | 302 | 303 | 307 | 308))
    }

    /// Whether the status is 2xx, or not known.
    pub(super) fn may_count(&self) -> bool {
        self.status.is_none() || self.is_good()
    }

    /// Whether the status is 2xx.
    pub fn is_good(&self) -> bool {
        self.status
            .is_some_and(|status| (200..300).contains(&status))
    }
}

impl Catalogue {
    /// The captures in these files.
    ///
    /// # Errors
    /// When the archive has no index; the message says how to make one.
    pub fn open(files: ArchiveFiles) -> anyhow::Result<Self> {
        files.require_index()?;
        Ok(Self {
            files,
            opened: RefCell::default(),
        })
    }

    /// The files of the archive.
    pub fn into_files(self) -> ArchiveFiles {
        self.files
    }

    /// The archive file that a line of the index is about, for messages.
    pub fn file_of(&self, line: &CdxjLine) -> PathBuf {
        self.files.path_of(&line.filename)
    }

    /// All lines of the index, sorted by key and time.
    pub fn lines(&self) -> anyhow::Result<impl Iterator<Item = anyhow::Result<CdxjLine>> + use<>> {
        let lines = self.open_index()?.into_lines().context(DAMAGED)?;
        Ok(lines.map(|line| line.context(DAMAGED)))
    }

    /// The responses to a request of a URL (without `request`: a GET), oldest first.
    ///
    /// # Errors
    /// When there are none; the message says what there is instead.
    pub fn captures_of(
        &self,
        url: &str,
        request: Option<&StoredRequest>,
    ) -> anyhow::Result<Vec<IndexedCapture>> {
        let captures = self.find(url, request)?;
        if captures.is_empty() {
            return Err(self.not_found(url, request));
        }
        Ok(captures)
    }

    /// Like [`Catalogue::captures_of`], but empty when there are none.
    pub fn find(
        &self,
        url: &str,
        request: Option<&StoredRequest>,
    ) -> anyhow::Result<Vec<IndexedCapture>> {
        let mut captures = self.find_at(&key_of(url, request), url)?;
        // An index of another program may have an answer to HEAD or POST under the key of the URL.
        captures.retain(|capture| request.is_some() || capture.line.request.is_none());
        Ok(captures)
    }

    /// The captures of a URL under one key of the index, oldest first.
    pub(super) fn find_at(&self, key: &str, url: &str) -> anyhow::Result<Vec<IndexedCapture>> {
        Ok(with_status(self.lines_of(key, url)?))
    }

    /// The lines of a URL under one key of the index, oldest first.
    pub(super) fn lines_of(&self, key: &str, url: &str) -> anyhow::Result<Vec<CdxjLine>> {
        let mut lines = self.lines_at(key)?;
        lines.retain(|line| is_same_url(&line.url, url));
        Ok(lines)
    }

    /// The lines under one key of the index, oldest first.
    pub(super) fn lines_at(&self, key: &str) -> anyhow::Result<Vec<CdxjLine>> {
        self.with_index(|index| {
            index
                .captures(key)
                .context(DAMAGED)?
                .collect::<Result<_, _>>()
                .context(DAMAGED)
        })
    }

    /// The lines of a URL, with any request.
    pub(super) fn lines_about(&self, url: &str) -> anyhow::Result<Vec<CdxjLine>> {
        let mut lines = self.lines_of(&urldb_canon::surt(url), url)?;
        lines.extend(self.lines_with_request(url)?);
        Ok(lines)
    }

    fn with_index<T>(
        &self,
        work: impl FnOnce(&mut CdxjIndex) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let mut opened = self.opened.borrow_mut();
        work(match opened.as_mut() {
            Some(index) => index,
            None => opened.insert(self.open_index()?),
        })
    }

    fn open_index(&self) -> anyhow::Result<CdxjIndex> {
        CdxjIndex::open(&self.files).map_err(|error| {
            let is_damaged = error.is_damaged_index();
            let error = anyhow::Error::new(error);
            if is_damaged {
                error.context(DAMAGED)
            } else {
                error
            }
        })
    }

    /// All captures of a URL: the responses to GET, then those to each other request; oldest first within
    /// each.
    ///
    /// # Errors
    /// When there are none; the message suggests a similar URL.
    pub fn all_of(&self, url: &str) -> anyhow::Result<Vec<IndexedCapture>> {
        let mut captures = self.find(url, None)?;
        captures.extend(self.other_answers(url)?);
        if captures.is_empty() {
            return Err(self.not_found(url, None));
        }
        Ok(captures)
    }

    /// The captures of a URL that answer other requests than GET.
    fn other_answers(&self, url: &str) -> anyhow::Result<Vec<IndexedCapture>> {
        let lines = self.lines_with_request(url)?;
        let requests = lines.chunk_by(|one, other| one.key == other.key);
        Ok(requests
            .flat_map(|lines| with_status(lines.to_vec()))
            .collect())
    }

    /// The lines of a URL with other requests than GET. Their keys contain the request among sorted
    /// parameters, so they may be anywhere among the keys of the same path.
    fn lines_with_request(&self, url: &str) -> anyhow::Result<Vec<CdxjLine>> {
        let key = urldb_canon::surt(url);
        let path = key.split('?').next().unwrap_or_default();
        self.with_index(|index| {
            let mut lines = vec![];
            let found = index.lines_with_prefix(&format!("{path}?"));
            for line in found.context(DAMAGED)? {
                let line = line.context(DAMAGED)?;
                if line.request.is_some() && is_same_url(&line.url, url) {
                    lines.push(line);
                }
            }
            Ok(lines)
        })
    }

    fn not_found(&self, url: &str, request: Option<&StoredRequest>) -> anyhow::Error {
        match self.suggestion(url, request) {
            Ok(suggestion) => anyhow::anyhow!(suggestion),
            Err(error) => error,
        }
    }

    fn suggestion(&self, url: &str, request: Option<&StoredRequest>) -> anyhow::Result<String> {
        let others = self.other_answers(url)?;
        if let Some(request) = request
            && !(others.is_empty() && self.find(url, None)?.is_empty())
        {
            return Ok(format!(
                "the answer of {url} to this {} is not in the archive; `urldb archive list {url}` shows what is",
                request.method
            ));
        }
        if let Some(asked) = others.iter().find_map(|other| other.line.request.as_ref()) {
            return Ok(format!(
                "{url} is not in the archive as an answer to GET, but to {}: say with --method and --data which \
                 request is meant; `urldb archive list {url}` shows them",
                asked.method
            ));
        }
        let mut with_same_key = self.lines_at(&urldb_canon::surt(url))?.into_iter();
        let near = match with_same_key.next_back() {
            Some(line) => Some(line.url),
            None => self.nearest(url)?,
        };
        let instead = match (near, urldb_canon::identify(url)) {
            (Some(near), _) => format!("did you mean {near}?"),
            (None, Ok(_)) => "`urldb archive list` shows what is".to_owned(),
            (None, Err(problem)) => problem.to_string(),
        };
        Ok(format!("{url} is not in the archive; {instead}"))
    }

    /// The archived URL that this one is probably a misspelling of.
    fn nearest(&self, url: &str) -> anyhow::Result<Option<String>> {
        let mut failure = None;
        let candidates = self
            .lines()?
            .map_while(|line| line.map_err(|error| failure = Some(error)).ok())
            .map(|line| line.url);
        let near = urldb_text::nearest(url, candidates);
        match failure {
            Some(error) => Err(error),
            None => Ok(near),
        }
    }
}

/// Captures of a URL, oldest first, each revisit with the status and the truncation of its original
/// response.
fn with_status(lines: Vec<CdxjLine>) -> Vec<IndexedCapture> {
    let mut known = HashMap::new();
    let captures = in_order(lines).into_iter().map(|line| {
        let is_revisit = line.mime == REVISIT_MIME;
        let (status, truncated) = match known.get(&line.digest) {
            Some((status, truncated)) if is_revisit || line.status.is_none() => {
                (line.status.or(Some(*status)), Clone::clone(truncated))
            }
            // A revisit truncates its own block, not the body.
            _ if is_revisit => (line.status, None),
            _ => (line.status, line.truncated.clone()),
        };
        if let Some(status) = line.status.filter(|_| !is_revisit) {
            known.insert(line.digest.clone(), (status, truncated.clone()));
        }
        IndexedCapture {
            line,
            status,
            truncated,
        }
    });
    captures.collect()
}

/// Lines of a URL, oldest first. Within a second, the names of files are in order where one machine wrote
/// them; in a store their order may be any, so a revisit never comes before its original.
fn in_order(mut lines: Vec<CdxjLine>) -> Vec<CdxjLine> {
    fn place(line: &CdxjLine) -> (&str, &str, u64) {
        (&line.timestamp, &line.filename, line.extent.offset)
    }
    let is_revisit = |line: &CdxjLine| line.mime == REVISIT_MIME;
    let content = |line: &CdxjLine| (line.timestamp.clone(), line.digest.clone());
    lines.sort_by(|a, b| place(a).cmp(&place(b)));
    let mut originals = HashMap::new();
    for (number, line) in lines.iter().enumerate() {
        if !is_revisit(line) {
            originals.entry(content(line)).or_insert(number);
        }
    }
    let mut placed: Vec<_> = lines.into_iter().enumerate().collect();
    placed.sort_by_key(|(number, line)| {
        if !is_revisit(line) {
            return (*number, false);
        }
        let original = originals.get(&content(line)).unwrap_or(number);
        (*number.max(original), true)
    });
    placed.into_iter().map(|(_, line)| line).collect()
}

#[cfg(test)]
mod tests {
    use urldb_warc::Extent;

    use super::*;

    fn line(second: u32, file: &str, mime: &str, digest: &str) -> CdxjLine {
        CdxjLine {
            key: "test,a)/".to_owned(),
            timestamp: format!("202611220600{second:02}"),
            url: "http://a.test/".to_owned(),
            mime: mime.to_owned(),
            status: Some(200),
            digest: digest.to_owned(),
            extent: Extent {
                offset: 0,
                length: 1,
            },
            filename: file.to_owned(),
            request: None,
            vary: None,
            truncated: None,
        }
    }

    /// The names of the files in the order of their captures.
    fn order(lines: &[(u32, &str, &str, &str)]) -> String {
        let lines = lines
            .iter()
            .map(|(second, file, mime, digest)| line(*second, file, mime, digest));
        let captures = with_status(lines.collect());
        captures
            .iter()
            .map(|capture| &*capture.line.filename)
            .collect()
    }

    #[test]
    fn a_revisit_comes_after_its_original_within_a_second() {
        const TEXT: &str = "text/plain";
        // The random part of a name in a store puts it first.
        let random = [
            (1, "a", REVISIT_MIME, "one"),
            (1, "b", REVISIT_MIME, "one"),
            (1, "c", TEXT, "one"),
            (1, "d", REVISIT_MIME, "one"),
            (2, "e", REVISIT_MIME, "one"),
        ];
        assert_eq!(order(&random), "cabde");
        // Names that are in order stay so.
        let numbered = [
            (1, "a", TEXT, "one"),
            (1, "b", REVISIT_MIME, "one"),
            (1, "c", TEXT, "two"),
            (1, "d", REVISIT_MIME, "one"),
            (0, "e", REVISIT_MIME, "one"),
        ];
        assert_eq!(order(&numbered), "eabcd");
    }
}
