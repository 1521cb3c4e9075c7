//! The condition of one URL: from the ledger, the history, the incidents and the archive.

use jiff::Timestamp;
use urldb_protocol::{CaptureInfo, State, StoredCopies, UrlCondition, UrlOverview, UrlUses};
use urldb_verdict::Job;

use super::replay::Selected;
use super::sources::Sources;
use crate::archive::fixity::PlaceCheck;
use crate::ledger::{Entry, Ledger, is_known};
use crate::report;

/// Number of last runs in which failures count.
const RUNS: usize = 10;

impl Sources<'_> {
    /// The URL of a job. `ledger` has the file of its host.
    pub(super) fn url(&self, job: &Job, ledger: &Ledger) -> UrlOverview {
        let replay = &self.replay;
        let text = job.url.to_string();
        let entry = ledger.get(&job.key);
        let entry = entry.as_ref();
        let selected = selected(job);
        let status = entry.map(|entry| &entry.url_status);
        let known_since = entry.and_then(|entry| self.known_since(entry));
        let key = (
            text.clone(),
            job.key.request.clone(),
            job.key.variant.clone(),
        );
        let (incident, flaps) = self
            .affected
            .get(&key)
            .map(|(id, flaps)| (id, *flaps))
            .unzip();
        let pending = status.and_then(|status| status.pending.as_ref());
        let state = status.map(|status| status.state);
        let is_verified = entry.is_some() && job.promise.is_static();
        let verified = is_verified.then(|| replay.last_verified(&text, selected, known_since));
        let since = is_verified.then(|| replay.verified_since(&text, selected, known_since));
        UrlOverview {
            host: job.key.domain.clone(),
            file: job.file.to_string(),
            line: job.line,
            uses: self.uses(job).unwrap_or_default(),
            path: job.key.path.clone(),
            request: job.key.request.clone(),
            variant: job.key.variant.clone(),
            categories: job.categories.to_vec(),
            promised: report::promised(&job.promise),
            condition: condition(incident.is_some(), state, pending.is_some()),
            state,
            reason: status.and_then(|status| status.reason.clone()),
            since: self.since(entry, incident),
            pending: pending.map(|pending| pending.state),
            pending_since: pending.map(|pending| pending.first),
            known_since,
            checked: entry.and_then(|_| replay.last_checked(selected, known_since)),
            verified: verified.flatten(),
            verified_since: since.flatten(),
            capture: entry.and_then(capture),
            is_archived: self.is_archived(job, entry),
            lost: entry
                .and_then(|entry| entry.content.as_ref()?.lost)
                .filter(|lost| is_known(*lost, self.now)),
            stored: entry.and_then(|entry| self.stored(entry)),
            incident: incident.cloned(),
            failures: entry.and_then(|entry| self.failures(entry, selected)),
            flapping: flaps.unwrap_or_default(),
            muted: job.muted,
            url: text,
        }
    }

    fn uses(&self, job: &Job) -> Option<UrlUses> {
        let lists = self.lists.as_ref()?;
        let record = Some((&job.file, job.line));
        lists.uses(&job.key.domain, &job.key.record(), record)
    }

    /// The time from which on urldb knows the URL; absent if a wrong clock has written it.
    fn known_since(&self, entry: &Entry) -> Option<Timestamp> {
        // A state that holds since some time was seen at that time, so the URL was promised then.
        let known = entry.added.min(entry.url_status.since);
        is_known(known, self.now).then_some(known)
    }

    /// The time from which on the URL is in its state. A URL that was not asked, since its host was silent,
    /// is affected since the host is.
    fn since(&self, entry: Option<&Entry>, incident: Option<&String>) -> Option<Timestamp> {
        let status = &entry?.url_status;
        let incident = incident
            .filter(|_| status.state == State::Ok)
            .and_then(|id| self.incidents.get(id));
        Some(incident.map_or(status.since, |incident| incident.since))
    }

    /// Whether the archive has the promised content. The ledger knows the capture of the content that was
    /// seen last, the index those before.
    fn is_archived(&self, job: &Job, entry: Option<&Entry>) -> bool {
        let content = entry.and_then(|entry| entry.content.as_ref());
        let last = content.and_then(|content| Some((&content.digest, content.capture.as_ref()?)));
        let promised = match (job.promise.sha256, job.promise.strongest_digest()) {
            (Some(sha256), _) => sha256,
            (None, Some(strongest)) => {
                let verified = content.and_then(|content| content.verified_sha256(&strongest));
                return verified.is_some() && last.is_some();
            }
            (None, None) => return last.is_some(),
        };
        let promised = urldb_warc::Digest::sha256(promised).to_string();
        let uri = match last {
            Some((digest, _)) if *digest == promised => return true,
            // A redirect may have led to the content.
            Some((_, capture)) => Some(capture.uri.as_str()),
            None => None,
        };
        if job.key.request.is_some() {
            return false;
        }
        let url = job.url.to_string();
        let others = uri.filter(|uri| *uri != url);
        [Some(url.as_str()), others]
            .into_iter()
            .flatten()
            .any(|uri| self.has_capture(uri, &promised))
    }

    /// The copies of the file with the last full capture, as the last checks of the places found them.
    fn stored(&self, entry: &Entry) -> Option<StoredCopies> {
        let content = entry.content.as_ref()?;
        let file = &content.capture.as_ref()?.file;
        let checks = &self.checks.0;
        let lacks = |check: &PlaceCheck| check.lacks(file).unwrap_or(true);
        let lacking = checks.iter().find(|(_, check)| lacks(check));
        let oldest = checks
            .values()
            .map(|check| check.read_since(file))
            .min()
            .flatten();
        (!checks.is_empty()).then(|| StoredCopies {
            copies: checks.values().filter(|check| !lacks(check)).count() as u64,
            places: checks.len() as u64,
            lacking: lacking.map(|(place, _)| place.clone()),
            read_since: oldest.map(|day| day.to_string()),
        })
    }

    /// Whether the index has the whole response of a URI with this digest.
    fn has_capture(&self, uri: &str, digest: &str) -> bool {
        let Some(archive) = &self.archive else {
            return false;
        };
        // The commands of the archive report a damaged index.
        archive
            .find(uri, None)
            .unwrap_or_default()
            .iter()
            .any(|capture| {
                !capture.is_revisit()
                    && capture.truncated.is_none()
                    && capture.line.digest == digest
            })
    }

    /// In how many of the last runs that checked a URL it broke, and the number
    /// of these runs; `None` if in none.
    fn failures(&self, entry: &Entry, url: Selected<'_>) -> Option<(u64, u64)> {
        if entry.breaks.is_empty() {
            return None;
        }
        let recent: Vec<&str> = self.replay.runs_of(url).take(RUNS).collect();
        let failed = entry
            .breaks
            .iter()
            .filter(|run| recent.contains(&run.as_str()))
            .count() as u64;
        (failed > 0).then_some((failed, recent.len() as u64))
    }
}

fn condition(is_affected: bool, state: Option<State>, is_pending: bool) -> UrlCondition {
    match state {
        _ if is_affected => UrlCondition::Affected,
        Some(state) if state.is_broken() => UrlCondition::Affected,
        Some(State::Ok) if is_pending => UrlCondition::Unconfirmed,
        Some(State::Ok) => UrlCondition::Kept,
        _ => UrlCondition::Unknown,
    }
}

pub(super) fn selected(job: &Job) -> Selected<'_> {
    Selected {
        key: &job.key,
        categories: &job.categories,
    }
}

/// The full capture of the content that was seen last.
fn capture(entry: &Entry) -> Option<CaptureInfo> {
    let content = entry.content.as_ref()?;
    let capture = content.capture.as_ref()?;
    Some(CaptureInfo {
        date: capture.date.clone(),
        record: Some(capture.record.clone()),
        file: capture.file.clone(),
        offset: None,
        digest: content.digest.clone(),
        is_revisit: false,
        status: None,
    })
}
