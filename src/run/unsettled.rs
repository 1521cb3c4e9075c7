//! The records of a run that are not settled yet, in a temporary file: memory holds a few bytes of each.

use std::collections::BTreeMap;

use anyhow::Context;
use jiff::Timestamp;
use urldb_files::Spool;
use urldb_protocol::State;
use urldb_verdict::{JudgedJob, Observation, Verdict};

use crate::ledger::{Archived, JobRecord};

/// The records that are not settled, by domain and host.
#[derive(Default)]
pub(super) struct UnsettledRecords {
    lines: Spool,
    /// Whether the temporary file takes no more lines: the disk is full, or too many files are open.
    is_full: bool,
    places: BTreeMap<(String, String), Vec<Place>>,
}

/// The place of a line.
enum Place {
    Spooled { position: u64, length: usize },
    InMemory(Vec<u8>),
}

impl UnsettledRecords {
    /// Adds a record, without the pages that nothing looks at any more.
    ///
    /// # Errors
    /// When the record has no JSON, which none has.
    pub(super) fn add(&mut self, machine: usize, record: &mut JobRecord) -> anyhow::Result<()> {
        let JudgedJob {
            job,
            observations,
            verdict,
        } = &mut record.judged;
        for (index, seen) in observations.iter_mut().enumerate() {
            if index != verdict.observation || !is_page_needed(seen, verdict) {
                seen.start = Vec::new();
            }
            if index != verdict.observation || verdict.state() != State::Ok {
                seen.page = None;
            }
        }
        let host = (job.key.domain.clone(), job.host().to_owned());
        let bytes = serde_json::to_vec(&(machine, &*record))?;
        let place = Place::Spooled {
            position: self.lines.length(),
            length: bytes.len(),
        };
        self.is_full |= !self.is_full && self.lines.push(&bytes).is_err();
        let place = if self.is_full {
            Place::InMemory(bytes)
        } else {
            place
        };
        self.places.entry(host).or_default().push(place);
        Ok(())
    }

    /// The hosts with unsettled records, each with its domain, in order.
    pub(super) fn hosts(&self) -> Vec<(String, String)> {
        self.places.keys().cloned().collect()
    }

    /// Hands each record of a host to `take`, with its machine, in the order in which they were added.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub(super) fn each(
        &mut self,
        host: &(String, String),
        mut take: impl FnMut(usize, JobRecord),
    ) -> anyhow::Result<()> {
        for place in self.places.get(host).into_iter().flatten() {
            let (machine, record) = match place {
                Place::Spooled { position, length } => {
                    let bytes = self
                        .lines
                        .bytes_at(*position, *length)
                        .context("cannot read failures from a temporary file")?;
                    serde_json::from_slice(&bytes)?
                }
                Place::InMemory(bytes) => serde_json::from_slice(bytes)?,
            };
            take(machine, record);
        }
        Ok(())
    }
}

/// Whether the page of the deciding observation may be compared with others: where it came in place of other content,
/// and the small errors of object stores.
fn is_page_needed(seen: &Observation, verdict: &Verdict) -> bool {
    let is_xml = seen
        .last()
        .and_then(|last| last.header("content-type"))
        .is_some_and(|it| it.contains("xml") && !it.contains("html"));
    let is_content = matches!(
        verdict.state(),
        State::Ok | State::Changed | State::Redirected | State::Gone
    );
    let status = seen.last().map(|last| last.status);
    is_xml || is_content && status.is_some_and(|status| (200..300).contains(&status))
}

/// A judged job of a command without archive and ledger.
pub(super) fn unarchived(judged: JudgedJob, at: Timestamp) -> JobRecord {
    JobRecord {
        judged,
        at,
        archived: Archived::default(),
    }
}
