//! One content under several URLs: rather an error page than the new version of each file.

use std::collections::{BTreeMap, BTreeSet};

use urldb_protocol::JobResult;

/// Number of URLs with one content that are refused without `--force`.
const MANY: usize = 3;

/// The URLs that serve one content, although different contents are promised.
pub(super) struct SameContent {
    /// SHA-256, in hexadecimal digits.
    sha256: String,
    length: Option<u64>,
    urls: BTreeSet<String>,
}

impl SameContent {
    /// The contents of these answers that two URLs or more have.
    pub(super) fn of<'a>(results: impl Iterator<Item = &'a JobResult>) -> Vec<Self> {
        let mut by_digest: BTreeMap<&str, Vec<&JobResult>> = BTreeMap::new();
        for result in results {
            let is_static = result.promised.is_static();
            if let Some(served) = result.observed.sha256.as_deref().filter(|_| is_static) {
                by_digest.entry(served).or_default().push(result);
            }
        }
        let same = by_digest.into_iter().filter_map(|(sha256, results)| {
            let promised = results
                .iter()
                .map(|it| (it.promised.length, it.promised.all_digests()));
            let promised: BTreeSet<_> = promised.collect();
            let urls: BTreeSet<String> = results.iter().map(|it| it.url.clone()).collect();
            (promised.len() > 1 && urls.len() > 1).then(|| Self {
                sha256: sha256.to_owned(),
                length: results.first().and_then(|it| it.observed.length),
                urls,
            })
        });
        same.collect()
    }

    /// Whether the content is refused without `--force`.
    pub(super) fn is_refused(&self) -> bool {
        self.urls.len() >= MANY
    }

    /// Whether this is the content of an answer.
    pub(super) fn has(&self, result: &JobResult) -> bool {
        result.observed.sha256.as_deref() == Some(&self.sha256) && self.urls.contains(&result.url)
    }

    /// `20 URLs serve the same 20 bytes`, or the two URLs by name.
    pub(super) fn message(&self) -> String {
        let bytes = match self.length {
            Some(1) => "byte".to_owned(),
            Some(length) => format!("{length} bytes"),
            None => "bytes".to_owned(),
        };
        let mut urls = self.urls.iter();
        match (urls.next(), urls.next(), urls.next()) {
            (Some(one), Some(other), None) => format!("{one} and {other} serve the same {bytes}"),
            _ => format!("{} URLs serve the same {bytes}", self.urls.len()),
        }
    }
}
