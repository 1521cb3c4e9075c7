//! The records of a database that promise the same bytes.

use std::collections::HashMap;
use std::path::Path;

use urldb_canon::RequestUrl;
use urldb_format::{Digest, DomainReader, Metadata, Record, RecordEntry};
use urldb_protocol::{State, UrlCopies};
use urldb_text::Shown;
use urldb_verdict::JobKey;

use super::content::Content;
use crate::config::Config;
use crate::ledger::Ledger;

/// A record that promises sought bytes.
#[derive(Debug, Clone)]
pub struct RecordCopy {
    /// Its URL.
    pub url: RequestUrl,
    /// The key of its job.
    pub key: JobKey,
    /// Its record, for the request.
    pub record: Record,
    /// The state that is confirmed; `None` if no run has asked for the URL.
    pub state: Option<State>,
}

/// The records that promise sought bytes.
#[derive(Debug, Clone)]
pub struct Copies {
    /// The bytes, with all digests that the records and the ledger know of them.
    pub content: Content,
    /// The records, those that are ok first, then by URL.
    pub records: Vec<RecordCopy>,
}

impl Copies {
    /// The URLs that are ok, but for those of the record of this job.
    pub fn kept_beside(&self, job: &JobKey) -> UrlCopies {
        self.kept(|copy| copy.key.domain == job.domain && copy.key.record() == job.record())
    }

    /// The URLs that are ok, but for this one over any scheme.
    pub fn kept_beside_url(&self, url: &str) -> UrlCopies {
        let without_scheme = |url: &str| url.split_once(':').map(|(_, rest)| rest.to_owned());
        let own = without_scheme(url);
        self.kept(|copy| without_scheme(copy.url.as_str()) == own)
    }

    fn kept(&self, is_own: impl Fn(&RecordCopy) -> bool) -> UrlCopies {
        // No run asks for deprecated records.
        let is_asked = |copy: &RecordCopy| !copy.record.has_category("deprecated");
        let kept: Vec<&RecordCopy> = self
            .records
            .iter()
            .filter(|copy| !is_own(copy) && is_asked(copy))
            .filter(|copy| copy.state == Some(State::Ok))
            .collect();
        let named = kept.iter().take(UrlCopies::MOST);
        UrlCopies {
            count: kept.len() as u64,
            urls: named
                .map(|copy| Shown::new(copy.url.as_str(), Shown::LONGEST))
                .collect(),
        }
    }
}

/// Finds the records of plain requests that promise these bytes, in one pass over the domain files. Files with mistakes
/// count as far as they can be read, a database that cannot be read has no copies, and a URL whose ledger cannot be read
/// has no state: a message must not wait for its copies.
pub fn find_copies(config: &Config, ledger: &mut Ledger, contents: Vec<Content>) -> Vec<Copies> {
    let mut sought: HashMap<Digest, Vec<usize>> = HashMap::new();
    for (number, content) in contents.iter().enumerate() {
        for digest in content.digests() {
            sought.entry(digest.clone()).or_default().push(number);
        }
    }
    let mut found = Search {
        ledger,
        found: contents
            .into_iter()
            .map(|content| Copies {
                content,
                records: vec![],
            })
            .collect(),
        sought,
    };
    if found.sought.is_empty() {
        return found.found;
    }
    let Ok(database) = config.open_database() else {
        return found.found;
    };
    for path in database.files() {
        // Other steps tell of a file that cannot be read.
        let _ = found.read(path);
    }
    for copies in &mut found.found {
        copies.records.sort_by(|one, other| {
            let rank = |copy: &RecordCopy| copy.state != Some(State::Ok);
            (rank(one), one.url.as_str()).cmp(&(rank(other), other.url.as_str()))
        });
    }
    found.found
}

/// One pass over the domain files.
struct Search<'a> {
    ledger: &'a mut Ledger,
    found: Vec<Copies>,
    /// The numbers of the contents with a digest.
    sought: HashMap<Digest, Vec<usize>>,
}

impl Search<'_> {
    /// Reads a domain file, as far as it can be read.
    fn read(&mut self, path: &Path) -> anyhow::Result<()> {
        let host = urldb_format::host_of(path);
        let mut file = DomainReader::open(path)?;
        let metadata = file.metadata().clone();
        while let Some(document) = file.next()? {
            if let Some(entry) = document.to_entry() {
                self.note(&host, &metadata, &entry);
            }
        }
        self.ledger.close(&host);
        Ok(())
    }

    fn note(&mut self, host: &str, metadata: &Metadata, entry: &RecordEntry) {
        let record = entry.record();
        let mut numbers: Vec<usize> = record
            .digests()
            .filter_map(|digest| self.sought.get(&digest))
            .flatten()
            .copied()
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let Some(content) = Content::of(record).filter(|_| !numbers.is_empty()) else {
            return;
        };
        let is_plain = record.request_key().is_none();
        let scheme = metadata.scheme_of(record);
        let Some(url) = RequestUrl::new(scheme, host, &record.path).filter(|_| is_plain) else {
            return;
        };
        let key = JobKey {
            domain: host.to_owned(),
            path: record.path.clone(),
            request: None,
            variant: metadata.variant_of(record),
            alias: None,
            scheme,
        };
        let opened = self.ledger.open(host);
        let known = self.ledger.get(&key).filter(|_| opened.is_ok());
        let state = known.as_ref().map(|entry| entry.url_status.state);
        let verified = known.and_then(|entry| {
            entry
                .content
                .as_ref()?
                .verified_sha256(content.strongest()?)
        });
        for number in numbers {
            let copies = &mut self.found[number];
            if !copies.content.is_same(&content) {
                continue;
            }
            let verified =
                verified.and_then(|it| Digest::new(urldb_format::Algorithm::Sha256, &it));
            for digest in content.digests().iter().cloned().chain(verified) {
                copies.content.add(digest);
            }
            copies.records.push(RecordCopy {
                url: url.clone(),
                key: key.clone(),
                record: record.clone(),
                state,
            });
        }
    }
}
