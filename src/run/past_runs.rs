//! What a run takes from earlier runs, and leaves to later ones.

use std::collections::BTreeSet;

use urldb_protocol::Envelope;
use urldb_verdict::{JobKey, PastRuns, Selection, Validators};

use crate::ledger::{ChangeLine, HistoryLine, Ledger, RunLine};

impl PastRuns for Ledger {
    fn is_archived(&self, key: &JobKey, digest: &[u8; 32]) -> bool {
        let content = self.get(key).and_then(|entry| entry.content.as_ref());
        let digest = urldb_warc::Digest::sha256(*digest).to_string();
        content.is_some_and(|content| content.capture.is_some() && content.digest == digest)
    }

    fn validators(&self, key: &JobKey, digest: &[u8; 32]) -> Option<Validators> {
        let entry = self.get(key)?;
        let content = entry.content.as_ref()?;
        let capture = content.capture.as_ref()?;
        let digest = urldb_warc::Digest::sha256(*digest).to_string();
        let is_as_promised = entry.url_status.is_untroubled() && content.digest == digest;
        is_as_promised.then(|| Validators {
            url: capture.uri.clone(),
            etag: content.etag.clone(),
            last_modified: content.last_modified.clone(),
        })
    }

    fn is_in_doubt(&self, key: &JobKey) -> bool {
        self.get(key)
            .is_some_and(|entry| !entry.url_status.is_untroubled())
    }
}

/// Removes jobs and domains from the ledger that are no longer in the database. `understood` are the
/// hosts whose files have no mistakes, `due` the jobs of this run.
pub(super) fn forget(
    ledger: &mut Ledger,
    hosts: &[String],
    understood: &[String],
    due: &BTreeSet<JobKey>,
) -> anyhow::Result<()> {
    for host in understood {
        ledger.keep_only(host, due);
    }
    ledger.forget_others(hosts.iter().map(String::as_str))
}

/// The lines of a run for the history.
pub(super) fn history_lines(
    envelope: &Envelope,
    selection: &Selection,
    unverified: Vec<String>,
) -> Vec<HistoryLine> {
    let run = &envelope.run;
    let mut lines = vec![HistoryLine::Run(RunLine {
        run: run.id.clone(),
        at: run.started,
        selection: (!selection.is_everything()).then(|| selection.clone()),
        due: envelope.summary.coverage.due,
        states: envelope.summary.states.clone(),
        unverified,
    })];
    lines.extend(envelope.changes.iter().map(|change| {
        HistoryLine::Change(ChangeLine {
            run: run.id.clone(),
            at: run.finished,
            url: change.url.clone(),
            from: change.from,
            to: change.to,
        })
    }));
    lines
}
