//! Turns the record of a job into the change of its URL's status.

use jiff::Timestamp;
use urldb_protocol::State;
use urldb_verdict::incident::{RunResult, breaks_after, is_flapping};
use urldb_verdict::{Classification, UrlStatus, VerdictOptions};

use super::entry::{Capture, Content, Entry};
use super::record::JobRecord;

/// The id and the start of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunPoint<'a> {
    /// Its id.
    pub id: &'a str,
    /// When it began.
    pub started: Timestamp,
}

/// The status of one URL after a run, and before.
#[derive(Debug)]
pub struct StatusUpdate<'a> {
    /// The entry of the ledger before the run.
    pub before: Option<&'a Entry>,
    /// The entry after the run; `None` if the ledger has none then.
    pub entry: Option<Entry>,
    /// The status after the run.
    pub status: UrlStatus,
    /// The result of the run; absent if it learned nothing about the URL.
    pub result: Option<RunResult>,
    /// The ids of the last runs in which the URL broke, oldest first.
    pub breaks: Vec<String>,
    /// Whether the URL flaps.
    pub flaps: bool,
    /// Whether an open incident affects the URL, although this run may not have asked it.
    pub is_affected: bool,
}

/// The status of a URL after a run, where the ledger has the entry `before`. `is_affected` says whether an
/// open incident affects the URL.
///
/// The ledger has no job that was never seen, and an alias only while something is wrong with it.
pub fn update<'a>(
    before: Option<&'a Entry>,
    record: &JobRecord,
    is_affected: bool,
    run: RunPoint<'_>,
    options: &VerdictOptions,
) -> StatusUpdate<'a> {
    let JobRecord {
        judged,
        at,
        archived,
    } = record;
    let (job, verdict) = (&judged.job, &judged.verdict);
    let known = before.map(|entry| &entry.url_status);
    let status = UrlStatus::after(known, verdict, *at, options);
    let result = RunResult::of(verdict, &status);
    let was_good = before.is_some_and(|entry| entry.url_status.is_untroubled());
    let breaks = before.map_or_else(Vec::new, |entry| entry.breaks.clone());
    let breaks = breaks_after(breaks, was_good, result, run.id);
    let content = content_after(before, archived.captures.content.clone(), result);
    // The ledger of a URL that is as promised has no error page.
    let bad_response = archived
        .captures
        .bad_response
        .clone()
        .filter(|_| verdict.state() != State::Ok);
    let is_seen = content.is_some()
        || bad_response.is_some()
        || verdict.state() != State::Inconclusive
        || status.pending.is_some();
    let flaps = is_flapping(&breaks, run.started);
    let is_good_alias = job.key.alias.is_some() && status.is_untroubled() && !flaps;
    let has_entry = !is_good_alias && (before.is_some() || is_seen);
    let entry = has_entry.then(|| Entry {
        url_status: status.clone(),
        content,
        bad_response,
        added: before.map_or(*at, |entry| entry.added),
        updated: before.map_or(*at, |entry| entry.updated),
        breaks: breaks.clone(),
        // A URL gets the id of a new incident once all URLs are recorded.
        incident: before
            .and_then(|entry| entry.incident.clone())
            .filter(|_| is_affected),
        has_text_of_challenge: judged
            .has_text_of_challenge(&options.challenges)
            .unwrap_or_else(|| before.is_some_and(|entry| entry.has_text_of_challenge)),
    });
    StatusUpdate {
        before,
        entry,
        status,
        result,
        breaks,
        flaps,
        is_affected,
    }
}

/// The content after a run. A page that shows nothing about the URL, such as a challenge, does not replace content
/// whose capture was lost: the first result after the loss shows whether the server still has it.
fn content_after(
    before: Option<&Entry>,
    archived: Option<Content>,
    result: Option<RunResult>,
) -> Option<Content> {
    before
        .and_then(|entry| entry.content.as_ref())
        .filter(|content| content.lost.is_some() && result.is_none())
        .cloned()
        .or(archived)
}

impl StatusUpdate<'_> {
    /// The update of `check`, which believes what it sees, and keeps nothing.
    pub fn of_check(record: &JobRecord) -> Self {
        let Classification { state, reason, .. } = &record.judged.verdict.classification;
        let broken = Some(*state).filter(|state| state.is_broken());
        let state = broken.unwrap_or(State::Ok);
        let status = UrlStatus {
            state,
            since: record.at,
            reason: reason.filter(|_| broken.is_some()).map(|it| it.to_string()),
            pending: None,
        };
        Self {
            before: None,
            entry: None,
            result: RunResult::of(&record.judged.verdict, &status),
            breaks: vec![],
            flaps: false,
            status,
            is_affected: false,
        }
    }

    /// Whether the URL was as promised before the run.
    pub fn was_good(&self) -> bool {
        self.before
            .is_some_and(|entry| entry.url_status.is_untroubled())
    }

    /// The capture of the content that the ledger had before the run.
    pub fn known_capture(&self) -> Option<&Capture> {
        self.before?.content.as_ref()?.capture.as_ref()
    }

    /// The archive files of captures that the ledger did not have before the run.
    pub fn new_files(&self) -> impl Iterator<Item = &str> {
        let entry = self.entry.as_ref();
        let capture = entry.and_then(|it| it.content.as_ref()?.capture.as_ref());
        let capture = capture.filter(|capture| self.known_capture() != Some(*capture));
        let bad = entry.and_then(|entry| entry.bad_response.as_ref());
        let known = self.before.and_then(|entry| entry.bad_response.as_ref());
        let bad = bad.filter(|bad| known != Some(*bad));
        capture
            .map(|capture| &capture.file)
            .into_iter()
            .chain(bad.map(|bad| &bad.file))
            .map(String::as_str)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use jiff::SignedDuration;
    use urldb_canon::{RequestUrl, Scheme};
    use urldb_format::Record;
    use urldb_protocol::Reason;
    use urldb_verdict::{
        BodyUse, Job, JobKey, JudgedJob, Observation, Pending, Promise, Request, Verdict,
    };

    use super::*;
    use crate::ledger::{Archived, BadResponse, KnownCaptures};

    pub(crate) const HOST: &str = "a.example";

    pub(crate) fn key() -> JobKey {
        JobKey {
            domain: HOST.to_owned(),
            path: "/".to_owned(),
            request: None,
            variant: None,
            alias: None,
            scheme: Scheme::Http,
        }
    }

    /// The result of a URL of the host without a promise.
    pub(crate) fn judged_job(
        state: State,
        reason: Option<Reason>,
        observations: Vec<Observation>,
    ) -> JudgedJob {
        JudgedJob {
            job: Job {
                url: RequestUrl::new(Scheme::Http, HOST, "/").unwrap(),
                key: key(),
                file: "urldb/a.example.yaml".into(),
                line: 2,
                uses: None,
                categories: [].into(),
                promise: Promise::default(),
                request: Request::of(&Record::default()),
                body: BodyUse::Skip,
                muted: false,
                validators: None,
            },
            observations,
            verdict: Verdict {
                classification: Classification {
                    state,
                    reason,
                    expected: None,
                    observed: String::new(),
                    warning: None,
                },
                observation: 0,
                sure: false,
                attempts: vec![],
                explanation: None,
            },
        }
    }

    fn at(hour: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hour)
    }

    /// The record of a run in the hour 9, with the content of this digest in the archive.
    fn record(state: State, sure: bool, alias: Option<&str>, digest: Option<&str>) -> JobRecord {
        let mut judged = judged_job(state, None, vec![]);
        judged.job.key.alias = alias.map(str::to_owned);
        judged.verdict.sure = sure;
        JobRecord {
            judged,
            at: at(9),
            archived: Archived {
                captures: KnownCaptures {
                    content: digest.map(content),
                    bad_response: Some(bad_response()),
                },
                ..Archived::default()
            },
        }
    }

    fn content(digest: &str) -> Content {
        Content {
            digest: digest.to_owned(),
            etag: None,
            last_modified: None,
            fits: None,
            redirects: None,
            capture: Some(Capture {
                record: format!("urn:{digest}"),
                date: String::new(),
                uri: "http://a.example/".to_owned(),
                file: format!("{digest}.warc.gz"),
                digest: None,
            }),
            lost: None,
        }
    }

    fn bad_response() -> BadResponse {
        BadResponse {
            digest: "bad".to_owned(),
            count: 1,
            file: "bad.warc.gz".to_owned(),
        }
    }

    /// The entry of a URL since the hour 1, with a doubt that one run has seen.
    fn entry(state: State, pending: Option<State>) -> Entry {
        Entry {
            url_status: UrlStatus {
                state,
                since: at(1),
                reason: None,
                pending: pending.map(|state| Pending {
                    state,
                    first: at(2),
                    count: 1,
                    other: None,
                }),
            },
            content: Some(content("one")),
            bad_response: None,
            added: at(1),
            updated: at(2),
            breaks: vec![],
            incident: Some("1f".to_owned()),
            has_text_of_challenge: false,
        }
    }

    /// The state, whether there is an entry, its error page, and the new files.
    fn shown(before: Option<&Entry>, record: &JobRecord) -> String {
        let run = RunPoint {
            id: "now",
            started: at(9),
        };
        let options = VerdictOptions {
            confirm: 2,
            ..VerdictOptions::default()
        };
        let update = update(before, record, true, run, &options);
        let pending = update.status.pending.as_ref();
        let pending = pending.map(|it| format!("?{}", it.state));
        let files: Vec<&str> = update.new_files().collect();
        let entry = match &update.entry {
            Some(entry) => {
                let page = entry.bad_response.as_ref().map_or("", |_| "+page");
                let incident = entry.incident.as_deref().unwrap_or_default();
                let added = entry.added.as_second() / 3_600;
                format!("entry{page} {incident} of {added} {}", files.join(","))
            }
            None => "no entry".to_owned(),
        };
        format!(
            "{}{}: {}",
            update.status.state,
            pending.unwrap_or_default(),
            entry.trim_end()
        )
    }

    #[test]
    fn a_record_changes_the_status_of_its_url() {
        use State::{Changed, Gone, Inconclusive, Ok, Unreachable};
        let known = |state, pending| Some(entry(state, pending));
        let alias = Some("b.example");
        for (before, seen, expected) in [
            // A new URL.
            (None, (Ok, true, None), "ok: entry  of 9 one.warc.gz"),
            (
                None,
                (Changed, true, None),
                "changed: entry+page  of 9 one.warc.gz,bad.warc.gz",
            ),
            (
                None,
                (Unreachable, false, None),
                "ok?unreachable: entry+page  of 9 one.warc.gz,bad.warc.gz",
            ),
            // A known URL keeps its incident and its age, and an error page only while it is in trouble.
            (known(Ok, None), (Ok, true, None), "ok: entry 1f of 1"),
            (
                known(Ok, None),
                (Gone, true, None),
                "gone: entry+page 1f of 1 bad.warc.gz",
            ),
            (
                known(Ok, None),
                (Gone, false, None),
                "ok?gone: entry+page 1f of 1 bad.warc.gz",
            ),
            (
                known(Ok, Some(Gone)),
                (Gone, false, None),
                "gone: entry+page 1f of 1 bad.warc.gz",
            ),
            (known(Gone, None), (Ok, true, None), "ok: entry 1f of 1"),
            (
                known(Gone, None),
                (Inconclusive, false, None),
                "gone: entry+page 1f of 1 bad.warc.gz",
            ),
            // The same bytes break the promise no longer.
            (known(Changed, None), (Ok, true, None), "ok: entry 1f of 1"),
            // The ledger has an alias only while something is wrong with it.
            (None, (Ok, true, alias), "ok: no entry"),
            (known(Gone, None), (Ok, true, alias), "ok: no entry"),
            (
                known(Ok, None),
                (Gone, false, alias),
                "ok?gone: entry+page 1f of 1 bad.warc.gz",
            ),
        ] {
            let (state, sure, alias) = seen;
            let record = record(state, sure, alias, Some("one"));
            let found = shown(before.as_ref(), &record);
            assert_eq!(found, expected, "{before:?} {seen:?}");
        }
    }

    #[test]
    fn a_job_that_was_never_seen_has_no_entry() {
        let mut record = record(State::Inconclusive, false, None, None);
        record.archived = Archived::default();
        assert_eq!(shown(None, &record), "ok: no entry");
        let before = entry(State::Gone, None);
        assert_eq!(shown(Some(&before), &record), "gone: entry 1f of 1");
    }

    #[test]
    fn an_entry_counts_breaks() {
        let after = |pending| {
            let run = RunPoint {
                id: "now",
                started: at(9),
            };
            let record = record(State::Unreachable, false, None, None);
            let known = Entry {
                breaks: vec!["one".to_owned()],
                ..entry(State::Ok, pending)
            };
            let update = update(
                Some(&known),
                &record,
                false,
                run,
                &VerdictOptions::default(),
            );
            update.entry.unwrap().breaks.join(" ")
        };
        // A failure after a good run is a break, and one after a failure is none.
        assert_eq!(after(None), "one now");
        assert_eq!(after(Some(State::Unreachable)), "one");
    }

    #[test]
    fn a_check_believes_only_a_broken_promise() {
        for (state, believed) in [
            (State::Ok, State::Ok),
            (State::Changed, State::Changed),
            (State::Blocked, State::Ok),
        ] {
            let mut record = record(state, false, None, None);
            record.judged.verdict.classification.reason = Some(Reason::Digest);
            let update = StatusUpdate::of_check(&record);
            assert_eq!(update.status.state, believed);
            assert_eq!(update.status.reason.is_some(), believed != State::Ok);
            assert!(update.entry.is_none() && !update.was_good());
        }
    }
}
