//! The step that takes the records of a collecting run out of the bundles of its shards: nothing is sent.

use std::path::PathBuf;

use urldb_verdict::{Job, JudgedJob, Shard};

use super::archive::RunArchive;
use super::outcome::Messages;
use super::planned_jobs::PlannedJobs;
use super::prepare::{Prepared, RunStart};
use crate::ambient::in_seconds;
use crate::archive::adopt;
use crate::bundle::{Bundle, BundleLine, Bundles};
use crate::explain::explain;
use crate::ledger::{Archived, JobRecord, KnownCaptures};

/// The times and the id of a collecting run: the same bundles make the same run. Each shard has planned
/// with the options of its own beginning.
pub(super) fn start(bundles: &Bundles) -> RunStart {
    let started = bundles.started();
    let begin = |bundle: &Option<Bundle>| {
        let manifest = bundle.as_ref().map(Bundle::manifest);
        manifest.map_or(started, |manifest| manifest.started)
    };
    RunStart {
        started,
        finished: Some(bundles.finished()),
        random: bundles.id(),
        shards: bundles.shards().iter().map(begin).collect(),
    }
}

/// Takes the archive files of the bundles into the archive, and hands the record of each planned job to
/// `take`. Jobs without a line were not asked.
///
/// # Errors
/// When a file cannot be taken in, or the archive cannot be opened.
pub(super) fn from_bundles(
    mut bundles: Bundles,
    prepared: &Prepared<'_>,
    jobs: &mut PlannedJobs<'_>,
    mut take: impl FnMut(usize, JobRecord),
) -> anyhow::Result<RunArchive> {
    let mut notes = bundles.notes();
    let adopted = adopt_files(&bundles, prepared)?;
    // Opening the archive indexes the files.
    let (archive, recovered) = prepared.open_archive()?;
    notes.extend(recovered);
    let progress = prepared.options.progress;
    progress.planned(jobs.by_host());
    let count = bundles.count();
    let mut lines = Lines {
        bundles: &mut bundles,
        prepared,
        damage: None,
    };
    for job in jobs.sources(&prepared.ledger).flatten() {
        let shard = Shard::of_host(&job.key.domain, count);
        let record = match lines.find(&job, shard) {
            Ok(line) => lines.record(job, line),
            Err(missing) => lines.not_asked(job, &missing),
        };
        progress.finished(&record.judged);
        take(shard.index(), record);
    }
    let mut troubles: Vec<String> = lines.damage.into_iter().collect();
    troubles.extend(bundles.troubles());
    Ok(RunArchive {
        files: archive.finish().map(|_| adopted),
        messages: Messages { troubles, notes },
    })
}

/// Puts the archive files of the bundles into the archive. Returns their paths there, sorted.
fn adopt_files(bundles: &Bundles, prepared: &Prepared<'_>) -> anyhow::Result<Vec<PathBuf>> {
    let archive = prepared.config().archive_root();
    let mut adopted = vec![];
    for bundle in bundles.shards().iter().flatten() {
        for file in bundle.warc_files() {
            let target = archive.file(file.name());
            adopt(&target, &file)?;
            adopted.push(target.path());
        }
    }
    adopted.sort();
    Ok(adopted)
}

struct Lines<'a> {
    bundles: &'a mut Bundles,
    prepared: &'a Prepared<'a>,
    /// The first error of a line; later ones would say the same.
    damage: Option<String>,
}

impl Lines<'_> {
    /// The line about a job of this shard; else the cause that the job was not asked, for people.
    fn find(&mut self, job: &Job, shard: Shard) -> Result<BundleLine, String> {
        let name = || format!("shard {} of {}", shard.number(), shard.count());
        let bundle = self.bundles.shards_mut().get_mut(shard.index());
        let Some(bundle) = bundle.and_then(Option::as_mut) else {
            return Err(format!("{} has no bundle", name()));
        };
        let known = self.prepared.ledger.known_captures(&job.key);
        match bundle.find(&job.key, &known) {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err(format!("{} has no line about it", name())),
            Err(error) => {
                self.damage.get_or_insert_with(|| explain(&error));
                Err(format!("the line about it in {} is damaged", name()))
            }
        }
    }

    /// The record of a line. Its verdict is made again, with the rules of this machine.
    fn record(&self, job: Job, line: BundleLine) -> JobRecord {
        let known = self.known_captures(&job);
        let (at, observations, archived) = line.into_archived(known);
        let options = &self.prepared.config().check.verdict;
        JobRecord {
            judged: urldb_verdict::judge(job, observations, urldb_verdict::decide, options),
            at,
            archived,
        }
    }

    /// The record of a job that no shard asked.
    fn not_asked(&self, job: Job, missing: &str) -> JobRecord {
        JobRecord {
            at: in_seconds(self.bundles.finished()),
            archived: Archived {
                captures: self.known_captures(&job),
                ..Archived::default()
            },
            judged: JudgedJob {
                verdict: urldb_verdict::not_asked(missing),
                observations: vec![],
                job,
            },
        }
    }

    fn known_captures(&self, job: &Job) -> KnownCaptures {
        self.prepared.ledger.known_captures(&job.key)
    }
}
