//! Warnings about static records: URLs whose content is likely to change, and promises that prove little.
//! Only `urldb lint` prints them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use urldb_format::{Algorithm, DocumentRef, Record};
use urldb_text::{Code, Finding};

use super::unstable_urls::{instability, signature_of};

/// The records that warnings are about: their number, and the line of the first.
#[derive(Debug, Clone, Copy)]
struct Records {
    count: u64,
    line: usize,
}

impl Records {
    /// Counts a record.
    fn add(known: Option<Self>, line: usize) -> Self {
        Self {
            count: known.map_or(0, |known| known.count) + 1,
            line: known.map_or(line, |known| known.line),
        }
    }
}

/// The warnings about the static records of a domain file.
#[derive(Debug, Default)]
pub(crate) struct StaticUrls {
    host: String,
    /// The records of each code that is told once for a host.
    by_code: BTreeMap<Code, Records>,
    /// The line of each signed URL, and the name of its parameter.
    signed: Vec<(usize, &'static str)>,
    /// The records with only weak digests: those of each source, and those of none.
    weak: BTreeMap<Option<String>, Records>,
    /// The lines of all records with a code, if each is told.
    each: Option<Vec<(Code, usize)>>,
}

impl StaticUrls {
    /// No records yet, of the file at `path`. With `tells_each`, each unstable URL has its own warning.
    pub(crate) fn new(path: &Path, tells_each: bool) -> Self {
        Self {
            host: urldb_format::host_of(path),
            each: tells_each.then(Vec::new),
            ..Self::default()
        }
    }

    /// Adds a document of the file. `is_wanted` tells of a line whether its record counts.
    pub(crate) fn see(&mut self, document: &DocumentRef<'_>, is_wanted: impl Fn(usize) -> bool) {
        let Some(path) = document.path().filter(|_| may_be_static(document.text())) else {
            return;
        };
        let unstable = instability(&self.host, path);
        let signature = signature_of(path);
        if unstable.is_none() && signature.is_none() && has_strong_digest(document.text()) {
            return;
        }
        let Some(entry) = document.to_entry() else {
            return;
        };
        let (record, line) = (entry.record(), entry.line());
        if !record.is_static() || !is_wanted(line) {
            return;
        }
        if let Some(code) = unstable {
            match &mut self.each {
                Some(each) => each.push((code, line)),
                None => add(&mut self.by_code, code, line),
            }
        }
        self.signed.extend(signature.map(|name| (line, name)));
        if is_weak(record) {
            if record.source.is_empty() {
                add(&mut self.weak, None, line);
            }
            for source in &record.source {
                add(&mut self.weak, Some(source.clone()), line);
            }
        }
    }
}

fn add<K: Ord>(records: &mut BTreeMap<K, Records>, key: K, line: usize) {
    let known = records.get(&key).copied();
    records.insert(key, Records::add(known, line));
}

/// Whether a record with this text may promise bytes.
fn may_be_static(text: &str) -> bool {
    text.contains("content-")
}

/// Whether the text of a record names a digest that proves its bytes.
fn has_strong_digest(text: &str) -> bool {
    [Algorithm::Sha256, Algorithm::Sha384, Algorithm::Sha512]
        .iter()
        .any(|it| text.contains(it.key()))
}

/// Whether the record promises only digests that somebody can forge.
fn is_weak(record: &Record) -> bool {
    record
        .digests()
        .last()
        .is_some_and(|digest| digest.algorithm() < Algorithm::Sha256)
}

/// Collects the warnings about the static records of several domain files.
#[derive(Debug, Default)]
pub(crate) struct StaticWarnings {
    /// Codes without warnings.
    allowed: Vec<Code>,
    /// The weak records of each source: their number, and the place of the first.
    sources: BTreeMap<String, (u64, PathBuf, usize)>,
}

impl StaticWarnings {
    /// No files yet.
    pub(crate) fn new(allowed: &[Code]) -> Self {
        Self {
            allowed: allowed.to_vec(),
            sources: BTreeMap::new(),
        }
    }

    /// Adds a file, and returns the warnings about it by line.
    pub(crate) fn add(&mut self, path: &Path, urls: StaticUrls) -> Vec<Finding> {
        let mut findings = vec![];
        for (code, records) in urls.by_code {
            findings.push(unstable(code, records.line, &urls.host, records.count));
        }
        for (code, line) in urls.each.into_iter().flatten() {
            findings.push(unstable(code, line, &urls.host, 1));
        }
        for (line, name) in urls.signed {
            let message = format!("the URL has a signature (`{name}`), and works only for a while");
            let finding = Finding::new(Code::ExpiringUrl, line, message);
            findings.push(finding.with_help("promise a URL without a signature"));
        }
        for (source, records) in urls.weak {
            match source {
                None => findings.push(weak(records.count, &urls.host, records.line)),
                Some(source) => {
                    let first = || (0, path.to_owned(), records.line);
                    self.sources.entry(source).or_insert_with(first).0 += records.count;
                }
            }
        }
        findings.retain(|finding| !self.allowed.contains(&finding.code));
        findings.sort_by_key(|finding| finding.line);
        findings
    }

    /// The warnings about all files together.
    pub(crate) fn finish(self) -> Vec<Finding> {
        if self.allowed.contains(&Code::WeakDigest) {
            return vec![];
        }
        self.sources
            .into_iter()
            .map(|(source, (count, path, line))| {
                weak(count, &format!("the source {source}"), line).in_file(&path)
            })
            .collect()
    }
}

/// The warning about unstable URLs of a host.
fn unstable(code: Code, line: usize, host: &str, count: u64) -> Finding {
    let (one, many, help) = match code {
        Code::MovingBranch => (
            "is that of a branch",
            "are those of branches",
            "name a commit or a tag in place of the branch",
        ),
        Code::MovingName => (
            "is for the newest version",
            "are for the newest version",
            "promise the URL of one version",
        ),
        Code::SharePage => (
            "serves a page in place of the file",
            "serve a page in place of the file",
            "promise the address of the download",
        ),
        _ => (
            "is an archive that is made anew for requests, so its bytes may change",
            "are archives that are made anew for requests, so their bytes may change",
            "promise a file of a release",
        ),
    };
    let message = if count == 1 {
        format!("1 static URL of {host} {one}")
    } else {
        format!("{count} static URLs of {host} {many}")
    };
    Finding::new(code, line, message).with_help(help)
}

/// The warning about records with only weak digests.
fn weak(count: u64, owner: &str, line: usize) -> Finding {
    let message = if count == 1 {
        format!("1 record of {owner} promises only an MD5 or a SHA-1, which can be forged")
    } else {
        format!("{count} records of {owner} promise only MD5 or SHA-1, which can be forged")
    };
    Finding::new(Code::WeakDigest, line, message).with_help("promise a SHA-256 too")
}
