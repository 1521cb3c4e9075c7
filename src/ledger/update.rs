//! Turns the record of a job into the change of its URL's status.

use urldb_protocol::State;
use urldb_verdict::{Classification, Transition, UrlStatus, VerdictOptions};

use super::entry::{Capture, Content, Entry};
use super::failures::{FailureLog, Intermittent};
use super::record::JobRecord;

/// The status of one URL after a run, and before.
#[derive(Debug)]
pub struct StatusUpdate<'a> {
    /// The entry of the ledger before the run.
    pub before: Option<&'a Entry>,
    /// The entry after the run; `None` if the ledger has none then.
    pub entry: Option<Entry>,
    /// The status after the run.
    pub status: UrlStatus,
    /// The change of the believed state, if there was one.
    pub transition: Option<Transition>,
    /// In how many of its last runs the URL failed, if that is worth a warning.
    pub intermittent: Option<Intermittent>,
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
    runs: &FailureLog<'_>,
    options: &VerdictOptions,
) -> StatusUpdate<'a> {
    let JobRecord {
        judged,
        at,
        archived,
    } = record;
    let (job, verdict) = (&judged.job, &judged.verdict);
    let known = before.map(|entry| &entry.url_status);
    let (status, transition) = UrlStatus::after(known, verdict, *at, options);
    let failures = runs.after(before, record, &status);
    let content = archived.captures.content.clone();
    // The ledger of a URL that is as promised has no error page.
    let bad_response = archived.captures.bad_response.clone();
    let bad_response = bad_response.filter(|_| verdict.state() != State::Ok);
    let is_seen = content.is_some()
        || bad_response.is_some()
        || verdict.state() != State::Inconclusive
        || status.pending.is_some();
    let is_good_alias = job.key.alias.is_some() && status.is_untroubled();
    let has_entry = !is_good_alias && (before.is_some() || is_seen);
    let entry = has_entry.then(|| Entry {
        url_status: status.clone(),
        content,
        bad_response,
        added: before.map_or(*at, |entry| entry.added),
        updated: before.map_or(*at, |entry| entry.updated),
        failures: failures.runs,
        intermittent: failures.since,
        // A URL gets the id of a new incident once all URLs are recorded.
        incident: before
            .and_then(|entry| entry.incident.clone())
            .filter(|_| is_affected),
    });
    StatusUpdate {
        before,
        entry,
        status,
        transition,
        intermittent: failures.warning,
        is_affected,
    }
}

impl StatusUpdate<'_> {
    /// The update of `check`, which believes what it sees, and keeps nothing.
    pub fn of_check(record: &JobRecord) -> Self {
        let Classification { state, reason, .. } = &record.judged.verdict.classification;
        let broken = Some(*state).filter(|state| state.is_broken());
        let state = broken.unwrap_or(State::Ok);
        Self {
            before: None,
            entry: None,
            status: UrlStatus {
                state,
                since: record.at,
                reason: reason.filter(|_| broken.is_some()).map(|it| it.to_string()),
                pending: None,
            },
            transition: Some(Transition {
                from: State::Ok,
                from_since: None,
                to: state,
            }),
            intermittent: None,
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

    /// Whether people changed the promise: the bytes that broke it are as promised now.
    pub fn is_accepted(&self, record: &JobRecord) -> bool {
        let was_changed = |entry: &Entry| entry.url_status.state == State::Changed;
        let digest = |content: Option<&Content>| content.map(|content| content.digest.clone());
        let known = digest(self.before.and_then(|entry| entry.content.as_ref()));
        self.status.state == State::Ok
            && self.before.is_some_and(was_changed)
            && known.is_some()
            && known == digest(record.archived.captures.content.as_ref())
    }

    /// The archive files of captures that the ledger did not have before the run.
    pub fn new_files(&self) -> impl Iterator<Item = &str> {
        let entry = self.entry.as_ref();
        let capture = entry.and_then(|it| it.content.as_ref()?.capture.as_ref());
        let capture = capture.filter(|capture| self.known_capture() != Some(*capture));
        let bad = entry.and_then(|entry| entry.bad_response.as_ref());
        let known = self.before.and_then(|entry| entry.bad_response.as_ref());
        let bad = bad.filter(|bad| known != Some(*bad));
        let files = capture.map(|capture| &capture.file).into_iter();
        files.chain(bad.map(|bad| &bad.file)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use urldb_canon::{RequestUrl, Scheme};
    use urldb_format::Record;
    use urldb_protocol::Reason;
    use urldb_verdict::{BodyUse, Job, JobKey, JudgedJob, Pending, Promise, Request, Verdict};

    use super::*;
    use crate::ledger::{Archived, BadResponse, KnownCaptures, PastRun};

    fn at(hour: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hour)
    }

    /// The record of a run in the hour 9, with the content of this digest in the archive.
    fn record(state: State, sure: bool, alias: Option<&str>, digest: Option<&str>) -> JobRecord {
        let key = JobKey {
            domain: "a.example".to_owned(),
            path: "/".to_owned(),
            request: None,
            alias: alias.map(str::to_owned),
            scheme: Scheme::Http,
        };
        let job = Job {
            url: RequestUrl::new(Scheme::Http, "a.example", "/").unwrap(),
            key,
            file: "urldb/a.example.yaml".into(),
            line: 2,
            categories: [].into(),
            promise: Promise::default(),
            request: Request::of(&Record::default()),
            body: BodyUse::Skip,
            muted: false,
            validators: None,
        };
        let verdict = Verdict {
            classification: Classification {
                state,
                reason: None,
                expected: None,
                observed: String::new(),
                warning: None,
            },
            observation: 0,
            sure,
            attempts: vec![],
        };
        JobRecord {
            judged: JudgedJob {
                job,
                observations: vec![],
                verdict,
            },
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
            redirects: None,
            capture: Some(Capture {
                record: format!("urn:{digest}"),
                date: String::new(),
                uri: "http://a.example/".to_owned(),
                file: format!("{digest}.warc.gz"),
                digest: None,
            }),
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
            failures: vec![],
            intermittent: None,
            incident: Some("1f".to_owned()),
        }
    }

    /// The state, the transition, whether there is an entry, its error page, and the new files.
    fn shown(before: Option<&Entry>, record: &JobRecord) -> String {
        let runs = FailureLog {
            run: "now",
            past: &[],
        };
        let options = VerdictOptions {
            confirm: 2,
            ..VerdictOptions::default()
        };
        let update = update(before, record, true, &runs, &options);
        let pending = update.status.pending.as_ref();
        let pending = pending.map(|it| format!("?{}", it.state));
        let news = update.transition.map(|it| format!(" from {}", it.from));
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
        let accepted = if update.is_accepted(record) {
            " accepted"
        } else {
            ""
        };
        format!(
            "{}{}{}{accepted}: {}",
            update.status.state,
            pending.unwrap_or_default(),
            news.unwrap_or_default(),
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
                "changed from ok: entry+page  of 9 one.warc.gz,bad.warc.gz",
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
                "gone from ok: entry+page 1f of 1 bad.warc.gz",
            ),
            (
                known(Ok, None),
                (Gone, false, None),
                "ok?gone: entry+page 1f of 1 bad.warc.gz",
            ),
            (
                known(Ok, Some(Gone)),
                (Gone, false, None),
                "gone from ok: entry+page 1f of 1 bad.warc.gz",
            ),
            (
                known(Gone, None),
                (Ok, true, None),
                "ok from gone: entry 1f of 1",
            ),
            (
                known(Gone, None),
                (Inconclusive, false, None),
                "gone: entry+page 1f of 1 bad.warc.gz",
            ),
            // The same bytes break the promise no longer.
            (
                known(Changed, None),
                (Ok, true, None),
                "ok from changed accepted: entry 1f of 1",
            ),
            // The ledger has an alias only while something is wrong with it.
            (None, (Ok, true, alias), "ok: no entry"),
            (
                known(Gone, None),
                (Ok, true, alias),
                "ok from gone: no entry",
            ),
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
    fn a_url_that_fails_often_is_a_warning_until_it_no_longer_fails() {
        let past: Vec<PastRun> = (0..12)
            .map(|run| PastRun {
                id: run.to_string(),
                at: at(run),
                selection: None,
                base: None,
            })
            .collect();
        let after = |failures: &[&str], since, state| {
            let before = Entry {
                failures: failures.iter().map(|&run| run.to_owned()).collect(),
                intermittent: since,
                ..entry(State::Ok, None)
            };
            let (run, past) = ("now", past.as_slice());
            let record = record(state, false, None, None);
            let runs = FailureLog { run, past };
            let update = update(
                Some(&before),
                &record,
                false,
                &runs,
                &VerdictOptions::default(),
            );
            let entry = update.entry.unwrap();
            let warning = update.intermittent.map(|it| (it.failures, it.runs, it.new));
            (warning, entry.failures.join(" "), entry.intermittent)
        };
        let failing = State::Unreachable;
        assert_eq!(
            after(&["5", "9"], None, failing),
            (Some((3, 10, true)), "5 9 now".to_owned(), Some(at(9)))
        );
        assert_eq!(
            after(&["9"], None, failing),
            (None, "9 now".to_owned(), None)
        );
        assert_eq!(
            after(&["5", "7", "9"], Some(at(3)), State::Ok),
            (Some((3, 10, false)), "5 7 9".to_owned(), Some(at(3)))
        );
        assert_eq!(
            after(&["1"], Some(at(3)), State::Ok),
            (None, String::new(), None)
        );
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
