//! Archives the judged jobs of a run.
//!
//! Archiving costs more than all the rest, so the threads of a pool do it. Archived jobs come back in
//! any order, and only then are recorded.

use std::thread;

use anyhow::Context;
use urldb_protocol::State;
use urldb_verdict::{Job, JudgedJob, Observation, Verdict};

use super::past_runs::SharedLedger;
use super::pool::Pool;
use crate::archive::{Archive, ArchiveWriter, KnownCaptures, Missing, Stored, is_good};
use crate::explain::explain;
use crate::ledger::Entry;

/// Why a body is not archived that a promise accepts, although the body is an error page or
/// incomplete.
const ONCE: &str =
    "an error page or an incomplete body of a URL that is as promised is archived once";

/// Why the body of an alias is not archived.
const ALIAS: &str =
    "an alias is archived under the name of its domain, as long as its bytes are as promised";

/// A job to archive, and what the ledger knows of its captures.
struct ArchiveTask {
    judged: JudgedJob,
    known: KnownCaptures,
}

/// A job after archiving, or a job that needs none.
pub(super) struct ArchivedJob {
    pub(super) judged: JudgedJob,
    /// The captures for the ledger.
    pub(super) captures: KnownCaptures,
    /// The error of the archive, if there was one.
    pub(super) trouble: Option<String>,
    /// Why the archive does not have the observed body.
    pub(super) not_archived: Option<String>,
}

/// Archives all jobs that `observe` hands out, and hands them to `take`. Returns the archive.
///
/// # Errors
/// Those of `observe`. The files of this run are removed then.
pub(super) fn archive_all(
    archive: Archive,
    ledger: &SharedLedger,
    observe: impl FnOnce(&mut dyn FnMut(JudgedJob)) -> anyhow::Result<()>,
    mut take: impl FnMut(ArchivedJob),
) -> anyhow::Result<Archive> {
    let observed = thread::scope(|scope| {
        let mut pool = Pool::start(scope, || {
            let mut writer = archive.writer();
            move |task: ArchiveTask| task.archive(&mut writer)
        });
        let observed = observe(&mut |judged| {
            let archived = submit(ledger, judged, &mut pool);
            archived.into_iter().chain(pool.ready()).for_each(&mut take);
        });
        pool.finish().for_each(take);
        observed
    });
    if let Err(error) = observed {
        archive.discard().with_context(|| explain(&error))?;
        return Err(error);
    }
    Ok(archive)
}

/// What the ledger knows of the captures of a job.
pub(super) fn known_captures(ledger: &SharedLedger, job: &Job) -> KnownCaptures {
    captures_of(ledger.of(&job.key).get(&job.key))
}

fn captures_of(entry: Option<&Entry>) -> KnownCaptures {
    KnownCaptures {
        content: entry.and_then(|entry| entry.content.clone()),
        bad_response: entry.and_then(|entry| entry.bad_response.clone()),
    }
}

/// Gives a job to the pool if its observation is archived. Returns the job if no thread has it.
fn submit<W: FnMut(ArchiveTask) -> ArchivedJob + Send>(
    ledger: &SharedLedger,
    judged: JudgedJob,
    pool: &mut Pool<ArchiveTask, ArchivedJob, W>,
) -> Option<ArchivedJob> {
    let JudgedJob {
        job,
        observations,
        verdict,
    } = &judged;
    let (known, is_repeated) = {
        let ledger = ledger.of(&job.key);
        let entry = ledger.get(&job.key);
        let is_repeated = entry.is_some_and(|entry| entry.url_status.has_seen(verdict.state()));
        (captures_of(entry), is_repeated)
    };
    let seen = observations.get(verdict.observation);
    let not_archived = seen.and_then(|seen| not_archived(job, seen, verdict, is_repeated));
    if seen.is_some() && not_archived.is_none() {
        // A new state has error pages of its own.
        let bad_response = known.bad_response.filter(|_| is_repeated);
        let known = KnownCaptures {
            bad_response,
            ..known
        };
        return pool.submit(ArchiveTask { judged, known });
    }
    let has_body = seen.is_some_and(|seen| seen.body.is_some());
    Some(ArchivedJob {
        captures: known,
        trouble: None,
        not_archived: not_archived.filter(|_| has_body).map(str::to_owned),
        judged,
    })
}

impl ArchiveTask {
    /// Archives the observation that the verdict rests on. An error is returned with the job, so
    /// that a full disk keeps nobody from being notified.
    fn archive(self, writer: &mut ArchiveWriter<'_>) -> ArchivedJob {
        let Self { mut judged, known } = self;
        let JudgedJob {
            job,
            observations,
            verdict,
        } = &mut judged;
        let stored = match observations.get_mut(verdict.observation) {
            Some(seen) => writer.store(job, seen, &known),
            None => Ok(Stored::default()),
        };
        let (stored, trouble) = match stored {
            Ok(stored) => {
                let trouble = match &stored.missing {
                    Some(missing @ Missing::Room) => Some(missing.to_string()),
                    _ => None,
                };
                (stored, trouble)
            }
            Err(error) => {
                let unchanged = Stored {
                    bad_response: known.bad_response,
                    ..Stored::default()
                };
                (unchanged, Some(explain(&error)))
            }
        };
        let missing = stored.missing.map(|missing| missing.to_string());
        let not_archived = missing.or_else(|| trouble.clone());
        let trouble = trouble.map(|what| format!("{}: cannot be archived: {what}", job.url));
        ArchivedJob {
            trouble,
            not_archived,
            judged,
            captures: KnownCaptures {
                content: stored.content.or(known.content),
                bad_response: stored.bad_response,
            },
        }
    }
}

/// Why an observation is not archived, if it is not. An observation without a body is archived only
/// the first time, and so is an error page or an incomplete body that a promise accepts.
fn not_archived(
    job: &Job,
    seen: &Observation,
    verdict: &Verdict,
    is_repeated: bool,
) -> Option<&'static str> {
    let is_ok = verdict.state() == State::Ok;
    if is_good(job, seen) {
        let is_as_promised = job.promise.is_static() && is_ok;
        return (is_as_promised && job.key.alias.is_some()).then_some(ALIAS);
    }
    let is_archived = match seen.body {
        Some(_) => !(is_ok && is_repeated),
        None => !is_repeated && verdict.state() != State::Inconclusive,
    };
    (!is_archived).then_some(ONCE)
}
