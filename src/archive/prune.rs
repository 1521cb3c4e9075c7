//! Plans the removal of old captures that nothing needs.
//!
//! | capture | stays |
//! |---|---|
//! | not older than the limit | always |
//! | revisit that is older | never |
//! | response with a promised digest, with one in the evidence of an incident, or with that of a revisit that stays | always |
//! | the latest response and the latest complete 2xx response of a URL, or of each of its variants | always |
//! | response that an entry of the ledger names | always |
//! | response of a URL in an incident | always |
//! | record about who answered | always: later captures of the host may belong to it |
//! | response whose digest is no SHA-256 | always, since it may have promised bytes |

use std::collections::{HashMap, HashSet};

use urldb_warc::cdxj::REVISIT_MIME;
use urldb_warc::{CdxjLine, Digest, DigestAlgorithm};

use super::catalogue::Catalogue;
use super::origins::is_origin_uri;
use super::quiet_periods::LeftOutRecord;
use super::rewrite::{OwnFiles, RewritePlan};
use crate::config;

/// The captures that must stay in the archive, whatever their age.
#[derive(Debug, Default)]
pub struct NeededCaptures {
    /// The digests that records promise, and those in the evidence of incidents.
    pub digests: HashSet<[u8; 32]>,
    /// The URLs of incidents.
    pub urls: HashSet<String>,
    /// The captures in the ledger: URL and `YYYYMMDDhhmmss`.
    pub captures: HashSet<(String, String)>,
}

impl NeededCaptures {
    /// Whether the response of this line must stay.
    fn has(&self, line: &CdxjLine) -> bool {
        let promised = match line.digest.parse::<Digest>() {
            Ok(digest) if digest.algorithm() == DigestAlgorithm::Sha256 => self
                .digests
                .iter()
                .any(|known| known.as_slice() == digest.as_bytes()),
            _ => true,
        };
        let capture = || (line.url.clone(), line.timestamp.clone());
        promised
            || is_origin_uri(&line.url)
            || self.urls.contains(&line.url)
            || self.captures.contains(&capture())
    }
}

/// Plans the removal of captures from before `limit` (`YYYYMMDDhhmmss`). Returns notes about files that stay as
/// they are, too.
///
/// # Errors
/// When the index or a file cannot be read.
pub fn plan_removal(
    catalogue: &Catalogue,
    options: &config::Archive,
    needed: &NeededCaptures,
    limit: &str,
) -> anyhow::Result<(RewritePlan, Vec<String>)> {
    let own = OwnFiles::read(&catalogue.files)?;
    let mut revisited = HashSet::new();
    for line in catalogue.lines()? {
        let line = line?;
        if line.mime == REVISIT_MIME && *line.timestamp >= *limit {
            revisited.insert(line.digest);
        }
    }
    let is_needed = |line: &CdxjLine| revisited.contains(&line.digest) || needed.has(line);
    let mut plan = RewritePlan::default();
    let mut key = String::new();
    let mut latest: HashMap<_, LatestResponses> = HashMap::new();
    for line in catalogue.lines()? {
        let line = line?;
        if line.key != key {
            latest.clear();
            key.clone_from(&line.key);
        }
        let is_old = *line.timestamp < *limit;
        if line.mime == REVISIT_MIME {
            if is_old {
                plan.leave_out(&own, &LeftOutRecord::of(&line));
            }
            continue;
        }
        let subject = (line.url.clone(), line.vary.clone());
        let superseded = latest.entry(subject).or_default().add(line);
        for line in superseded {
            if *line.timestamp < *limit && !is_needed(&line) {
                plan.leave_out(&own, &LeftOutRecord::of(&line));
            }
        }
    }
    for failure in &own.failure_records {
        if *failure.timestamp < *limit && !needed.urls.contains(&failure.url) {
            plan.leave_out(&own, &failure.left_out);
        }
    }
    plan.group(&own, options.max_size, false);
    Ok((plan, own.unsuitable))
}

/// The latest response of a URL, and the latest one that is complete and good.
#[derive(Debug, Default)]
struct LatestResponses {
    any: Option<CdxjLine>,
    good: Option<CdxjLine>,
}

impl LatestResponses {
    /// Adds the next response, and returns those that are no longer the latest.
    fn add(&mut self, line: CdxjLine) -> Vec<CdxjLine> {
        let is_good = |line: &CdxjLine| {
            line.truncated.is_none()
                && line
                    .status
                    .is_none_or(|status| (200..300).contains(&status))
        };
        let mut superseded = vec![];
        if is_good(&line) {
            superseded.extend(self.good.replace(line));
            superseded.extend(self.any.take());
        } else {
            superseded.extend(self.any.replace(line));
        }
        superseded
    }
}
