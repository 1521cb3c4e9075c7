//! The step that archives judged jobs, as the network delivers them: judged jobs in, records out.
//!
//! Archiving costs more than all the rest, so the threads of a pool do it. The records come back in any
//! order.

use std::path::PathBuf;
use std::thread;

use anyhow::Context;
use urldb_protocol::State;
use urldb_verdict::{Job, JudgedJob, Observation, Verdict};

use super::observe::observe_planned;
use super::options::RunOptions;
use super::outcome::Messages;
use super::planned_jobs::PlannedJobs;
use super::pool::Pool;
use super::prepare::Prepared;
use super::shared_ledger::SharedLedger;
use crate::ambient::Ambient;
use crate::archive::{Archive, ArchiveWriter, is_good};
use crate::explain::explain;
use crate::ledger::{Archived, JobRecord, KnownCaptures, KnownOrigins};

/// Why a body is not archived that a promise accepts, although the body is an error page or
/// incomplete.
const ONCE: &str =
    "an error page or an incomplete body of a URL that is as promised is archived once";

/// Why the body of an alias is not archived.
const ALIAS: &str =
    "an alias is archived under the name of its domain, as long as its bytes are as promised";

/// A job to archive, and its captures in the ledger.
struct ArchiveTask {
    judged: JudgedJob,
    known: KnownCaptures,
}

/// The archive of a run after its last job.
pub(super) struct RunArchive {
    pub(super) files: anyhow::Result<Vec<PathBuf>>,
    /// Lines for people.
    pub(super) messages: Messages,
}

/// Fetches and archives the jobs of a plan, and hands their records to `take`.
///
/// # Errors
/// When the archive cannot be opened, and those of [`observe_planned`].
pub(super) fn from_network(
    prepared: &Prepared<'_>,
    jobs: &mut PlannedJobs<'_>,
    take: impl FnMut(JobRecord),
) -> anyhow::Result<RunArchive> {
    let Prepared {
        options, ledger, ..
    } = prepared;
    let (archive, notes) = prepared.open_archive()?;
    let archive = archive_all(archive, ledger, options, jobs, take)?;
    Ok(RunArchive {
        files: archive.finish(),
        messages: Messages {
            notes,
            ..Messages::default()
        },
    })
}

/// Fetches and archives the jobs of a plan, and hands their records to `take`. Returns the archive.
///
/// # Errors
/// Those of [`observe_planned`]. The files of this run are removed then.
pub(super) fn archive_all(
    archive: Archive,
    ledger: &SharedLedger,
    options: &RunOptions<'_>,
    jobs: &mut PlannedJobs<'_>,
    mut take: impl FnMut(JobRecord),
) -> anyhow::Result<Archive> {
    let ambient = options.ambient;
    let earlier = |domain: &str| ledger.origins(domain);
    let observed = thread::scope(|scope| {
        let mut pool = Pool::start(scope, || {
            let mut writer = archive.writer(&earlier);
            move |task: ArchiveTask| task.archive(&mut writer, ambient)
        });
        let observed = observe_planned(options, jobs, ledger, |judged| {
            submit(ledger, judged, ambient, &mut pool)
                .into_iter()
                .chain(pool.ready())
                .for_each(&mut take);
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

/// Gives a job to the pool if its observation is archived. Returns the record if no thread has the job.
fn submit<W: FnMut(ArchiveTask) -> JobRecord + Send>(
    ledger: &SharedLedger,
    judged: JudgedJob,
    ambient: Ambient,
    pool: &mut Pool<ArchiveTask, JobRecord, W>,
) -> Option<JobRecord> {
    let JudgedJob {
        job,
        observations,
        verdict,
    } = &judged;
    let (known, is_repeated) = {
        let ledger = ledger.of(&job.key);
        let entry = ledger.get(&job.key);
        let entry = entry.as_ref();
        let is_repeated = entry.is_some_and(|entry| entry.url_status.has_seen(verdict.state()));
        (KnownCaptures::of(entry), is_repeated)
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
    Some(JobRecord {
        at: ambient.now_in_seconds(),
        archived: Archived {
            captures: known,
            error: None,
            not_archived: not_archived.filter(|_| has_body).map(str::to_owned),
            origins: KnownOrigins::new(),
        },
        judged,
    })
}

impl ArchiveTask {
    /// Archives the observation that the verdict rests on.
    fn archive(self, writer: &mut ArchiveWriter<'_>, ambient: Ambient) -> JobRecord {
        let Self { mut judged, known } = self;
        let JudgedJob {
            job,
            observations,
            verdict,
        } = &mut judged;
        let archived = match observations.get_mut(verdict.observation) {
            Some(seen) => writer.store(job, seen, known),
            None => Archived {
                captures: KnownCaptures {
                    bad_response: None,
                    ..known
                },
                ..Archived::default()
            },
        };
        JobRecord {
            at: ambient.now_in_seconds(),
            archived,
            judged,
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
