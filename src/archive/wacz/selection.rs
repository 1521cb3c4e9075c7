//! The captures of some URLs, those that their replay needs (the originals of revisits, and the captures of the
//! URLs that redirects lead to), and the records about who answered them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use urldb_text::sanitize;
use urldb_warc::cdxj::REVISIT_MIME;
use urldb_warc::http::StoredRequest;
use urldb_warc::{CdxjLine, Digest};

use crate::archive::keys::{is_same_url, key_of};
use crate::archive::{Catalogue, IndexedCapture};
use crate::explain::explain;

/// URLs whose captures are selected.
#[derive(Debug, Clone)]
pub struct SelectedRequest {
    /// The URLs: one, or the same one over several schemes.
    pub urls: Vec<String>,
    /// The captures of the URLs.
    pub answers: Answers,
    /// Whether it is worth a warning that none of the URLs has such captures.
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
    /// All captures of these URLs, and what their replay needs. `warn` gets a message for each request without a
    /// capture, and for each capture that cannot be replayed.
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
                urls,
                answers,
                is_expected,
            } = request;
            let mut is_missing = *is_expected;
            for url in urls {
                let lines = match answers {
                    Answers::All => catalogue.lines_about(url)?,
                    Answers::To(request) => {
                        let place = (key_of(url, request.as_ref()), url.clone());
                        if known.contains(&place) {
                            is_missing = false;
                            continue;
                        }
                        let lines = catalogue.lines_of(&place.0, url)?;
                        known.insert(place);
                        lines
                    }
                };
                is_missing &= lines.is_empty();
                selected.add_lines(catalogue, &lines, &mut targets, warn);
            }
            if is_missing {
                let url = urls.first().map_or("", String::as_str);
                warn(format!("not in the archive: {}", sanitize(url)));
            }
        }
        while let Some(url) = targets.pop() {
            let place = (key_of(&url, None), url);
            if !known.contains(&place) {
                let lines = catalogue.lines_of(&place.0, &place.1)?;
                known.insert(place);
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
        let digests: HashSet<Digest> = lines
            .iter()
            .filter(is_original)
            .filter_map(|it| it.digest.parse().ok())
            .collect();
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
        let url = reference.url.as_deref();
        let is_here = url.is_none_or(|url| is_same_url(url, &revisit.url));
        let is_known = is_here && reference.digest.is_some_and(|it| digests.contains(&it));
        if !is_known {
            self.add(&catalogue.original_of(revisit)?);
        }
        Ok(())
    }

    fn add(&mut self, line: &CdxjLine) {
        self.keys.insert(line.key.clone());
        let offsets = self.offsets.entry(line.filename.clone()).or_default();
        offsets.insert(line.extent.offset);
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
    let capture = IndexedCapture {
        status: line.status,
        truncated: None,
        line: line.clone(),
    };
    targets.extend(catalogue.target_of(&capture)?);
    Ok(())
}
