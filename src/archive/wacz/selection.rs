//! The captures of some URLs, those that their replay needs (the originals of revisits, and the captures of the
//! URLs that redirects lead to), and the records about who answered them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use urldb_text::sanitize;
use urldb_warc::cdxj::REVISIT_MIME;
use urldb_warc::http::StoredRequest;
use urldb_warc::{CdxjLine, Digest};

use crate::archive::keys::key_of;
use crate::archive::{Capture, Catalogue};
use crate::explain::explain;

/// A URL whose captures are selected.
#[derive(Debug, Clone)]
pub struct SelectedRequest {
    /// The URL.
    pub url: String,
    /// The captures of the URL.
    pub answers: Answers,
    /// Whether a URL without such captures is worth a warning.
    pub is_expected: bool,
}

/// A selection among the captures of a URL.
#[derive(Debug, Clone)]
pub enum Answers {
    /// The responses to any request.
    All,
    /// The responses to this request; without one, to GET.
    To(Option<StoredRequest>),
}

/// Captures, by their position in the archive.
#[derive(Debug, Default)]
pub(super) struct SelectedCaptures {
    keys: BTreeSet<String>,
    offsets: BTreeMap<String, HashSet<u64>>,
}

impl SelectedCaptures {
    /// All captures of URLs with the same index key as one of these, and what their replay needs. `warn`
    /// gets a message for each URL without a capture, and for each capture that cannot be replayed.
    pub(super) fn of(
        catalogue: &Catalogue,
        requests: &[SelectedRequest],
        warn: &mut dyn FnMut(String),
    ) -> anyhow::Result<Self> {
        let mut selected = Self::default();
        let mut known = HashSet::new();
        let mut targets = vec![];
        for request in requests {
            let SelectedRequest {
                url,
                answers,
                is_expected,
            } = request;
            let lines = match answers {
                Answers::All => catalogue.lines_about(url)?,
                Answers::To(request) => {
                    let key = key_of(url, request.as_ref());
                    if known.contains(&key) {
                        continue;
                    }
                    let lines = catalogue.lines_at(&key)?;
                    known.insert(key);
                    lines
                }
            };
            if *is_expected && lines.is_empty() {
                warn(format!("not in the archive: {}", sanitize(url)));
            }
            selected.add_lines(catalogue, &lines, &mut targets, warn);
        }
        while let Some(url) = targets.pop() {
            let key = key_of(&url, None);
            if !known.contains(&key) {
                let lines = catalogue.lines_at(&key)?;
                known.insert(key);
                selected.add_lines(catalogue, &lines, &mut targets, warn);
            }
        }
        Ok(selected)
    }

    /// Adds captures of one URL with the originals of revisits, and the targets of redirects to
    /// `targets`.
    fn add_lines(
        &mut self,
        catalogue: &Catalogue,
        lines: &[CdxjLine],
        targets: &mut Vec<String>,
        warn: &mut dyn FnMut(String),
    ) {
        let is_original = |line: &&CdxjLine| line.mime != REVISIT_MIME;
        let originals = lines.iter().filter(is_original);
        let digests: HashSet<Digest> = originals.filter_map(|it| it.digest.parse().ok()).collect();
        for line in lines {
            self.add(line);
            let needed = if is_original(&line) {
                add_target(catalogue, line, targets)
            } else {
                self.add_original(catalogue, line, &digests)
            };
            let needed = needed.and_then(|()| {
                let origins = catalogue.origin_lines(line)?;
                for origin in &origins {
                    self.add(origin);
                }
                Ok(())
            });
            if let Err(error) = needed {
                let url = sanitize(&line.url).into_owned();
                warn(format!("{url}: {}", explain(&error)));
            }
        }
    }

    /// Adds the original of a revisit, unless it is one of the captures of the same URL, whose digests
    /// are `digests`.
    fn add_original(
        &mut self,
        catalogue: &Catalogue,
        revisit: &CdxjLine,
        digests: &HashSet<Digest>,
    ) -> anyhow::Result<()> {
        let reference = catalogue.reference_of(revisit)?;
        let is_here = urldb_canon::surt(&reference.url) == urldb_canon::surt(&revisit.url);
        let is_known = is_here
            && reference
                .digest
                .as_ref()
                .is_some_and(|it| digests.contains(it));
        if !is_known {
            self.add(&catalogue.original_of(revisit)?);
        }
        Ok(())
    }

    fn add(&mut self, line: &CdxjLine) {
        if !self.keys.contains(&line.key) {
            self.keys.insert(line.key.clone());
        }
        match self.offsets.get_mut(&line.filename) {
            Some(offsets) => offsets,
            None => self.offsets.entry(line.filename.clone()).or_default(),
        }
        .insert(line.extent.offset);
    }

    /// The index keys, sorted.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(String::as_str)
    }

    /// The files, sorted by name.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.offsets.keys().map(String::as_str)
    }

    pub(super) fn in_file(&self, name: &str) -> Option<&HashSet<u64>> {
        self.offsets.get(name)
    }

    /// Whether the capture of this line is one of these.
    pub(super) fn has(&self, line: &CdxjLine) -> bool {
        let offsets = self.offsets.get(&line.filename);
        offsets.is_some_and(|offsets| offsets.contains(&line.extent.offset))
    }
}

fn add_target(
    catalogue: &Catalogue,
    line: &CdxjLine,
    targets: &mut Vec<String>,
) -> anyhow::Result<()> {
    let capture = Capture {
        status: line.status,
        truncated: None,
        line: line.clone(),
    };
    targets.extend(catalogue.target_of(&capture)?);
    Ok(())
}
