//! The source of a collecting run: the bundles of its shards, in place of the network.

use std::collections::HashMap;
use std::path::PathBuf;

use jiff::Timestamp;
use urldb_fetch::FetchedJob;
use urldb_files::Root;
use urldb_protocol::RunInfo;
use urldb_verdict::{Canary, Job, JobKey, JudgedJob, PlanOptions, Shard, VerdictOptions, decide};

use super::archiving::{ArchivedJob, known_captures};
use super::domain_files::{PlanOptionsByHost, PlannedJobs};
use super::incidents::Outcomes;
use super::observe::judge;
use super::outcome::Messages;
use super::recorder::Recorder;
use super::{finish_records, in_seconds, provenance};
use crate::archive::{Archive, KnownCaptures, adopt};
use crate::bundle::{Bundle, BundleLine, Bundles};
use crate::explain::explain;
use crate::report::Report;

/// The bundles of a run, and its times.
pub(super) struct Collection {
    bundles: Bundles,
}

/// What a shard has told about a job besides its observations.
struct Told {
    at: Timestamp,
    captures: KnownCaptures,
    trouble: Option<String>,
    not_archived: Option<String>,
}

impl Collection {
    pub(super) fn new(bundles: Bundles) -> Self {
        Self { bundles }
    }

    /// When the first shard began.
    pub(super) fn started(&self) -> Timestamp {
        self.bundles.started()
    }

    /// When the last shard ended.
    pub(super) fn finished(&self) -> Timestamp {
        self.bundles.finished()
    }

    /// The random part of the run's id.
    pub(super) fn id(&self) -> [u8; 16] {
        self.bundles.id()
    }

    /// The options with which each shard has planned; `of_day` gives those of a run that begins then.
    pub(super) fn plan_options(
        &self,
        of_day: impl Fn(Timestamp) -> PlanOptions,
    ) -> PlanOptionsByHost {
        let started = self.started();
        let shards = self.bundles.shards().iter();
        let starts = shards.map(|bundle| {
            let manifest = bundle.as_ref().map(Bundle::manifest);
            manifest.map_or(started, |manifest| manifest.started)
        });
        PlanOptionsByHost {
            default: of_day(started),
            shards: starts.map(&of_day).collect(),
        }
    }

    /// Takes the archive files of the bundles into the archive, judges all jobs, and records them in
    /// ledger and report.
    pub(super) fn record(
        &mut self,
        jobs: &mut PlannedJobs<'_>,
        mut recorder: Recorder<'_>,
        run: &RunInfo,
        messages: &mut Messages,
    ) -> anyhow::Result<(Report, Outcomes)> {
        let options = recorder.run;
        let config = options.config;
        messages.notes.extend(self.bundles.notes());
        let folder = config.archive_root();
        let adopted = self.adopt_files(&folder)?;
        // Opening the archive indexes the files.
        let provenance = provenance(config, run);
        let (archive, notes) =
            Archive::open(&folder, &config.archive, provenance, options.ambient)?;
        messages.notes.extend(notes);
        options.progress.planned(jobs.by_host());
        let troubles = self.judge_all(jobs, &mut recorder);
        let finished = archive.finish().map(|_| adopted);
        let result = finish_records(config, recorder, finished, messages);
        messages.troubles.extend(troubles);
        messages.troubles.extend(self.bundles.troubles());
        Ok(result)
    }

    /// Puts the archive files of the bundles into the archive. Returns their paths there, sorted.
    fn adopt_files(&self, archive: &Root) -> anyhow::Result<Vec<PathBuf>> {
        let mut adopted = vec![];
        for bundle in self.bundles.shards().iter().flatten() {
            for file in bundle.warc_files() {
                let target = archive.file(file.name());
                adopt(&target, &file)?;
                adopted.push(target.path());
            }
        }
        adopted.sort();
        Ok(adopted)
    }

    /// Judges and records all jobs, with a canary for each shard. Returns what was wrong with lines.
    #[expect(clippy::too_many_lines)]
    fn judge_all(
        &mut self,
        jobs: &mut PlannedJobs<'_>,
        recorder: &mut Recorder<'_>,
    ) -> Vec<String> {
        let options = recorder.run;
        let ledger = recorder.ledger;
        let finished = in_seconds(self.finished());
        let count = self.bundles.count();
        let mut canaries: Vec<Canary> =
            (0..count).map(|_| Canary::new(jobs.has_static())).collect();
        // Canaries hold back jobs.
        let mut told: HashMap<JobKey, Told> = HashMap::new();
        let mut troubles = vec![];
        let mut record = |judged: JudgedJob, told: Told| {
            let Told {
                at,
                captures,
                trouble,
                not_archived,
            } = told;
            options.progress.judged(&judged);
            let archived = ArchivedJob {
                judged,
                captures,
                trouble,
                not_archived,
            };
            recorder.record(archived, at);
        };
        let mut release = |released: Vec<JudgedJob>, told: &mut HashMap<JobKey, Told>| {
            for judged in released {
                if let Some(facts) = told.remove(&judged.job.key) {
                    record(judged, facts);
                }
            }
        };
        for job in jobs.sources(ledger).flatten() {
            let known = known_captures(ledger, &job);
            let shard = Shard::of_host(&job.key.domain, count);
            let bundle = self.bundles.shards_mut().get_mut(shard.index());
            let found = bundle.and_then(Option::as_mut).map(|it| it.find(&job.key));
            let missing = match found {
                Some(Ok(Some(line))) => {
                    let (judged, facts) =
                        judge_line(job, line, known, &options.config.check.verdict);
                    told.insert(judged.job.key.clone(), facts);
                    options.progress.finished(&judged);
                    release(canaries[shard.index()].pass(judged), &mut told);
                    continue;
                }
                Some(Ok(None)) => format!("{} has no line about it", named(shard)),
                Some(Err(error)) => {
                    if troubles.is_empty() {
                        troubles.push(explain(&error));
                    }
                    format!("the line about it in {} is damaged", named(shard))
                }
                None => format!("{} has no bundle", named(shard)),
            };
            let judged = JudgedJob {
                verdict: urldb_verdict::not_asked(&missing),
                observations: vec![],
                job,
            };
            let facts = Told {
                at: finished,
                captures: known,
                trouble: None,
                not_archived: None,
            };
            options.progress.finished(&judged);
            told.insert(judged.job.key.clone(), facts);
            release(vec![judged], &mut told);
        }
        for canary in canaries {
            release(canary.end(), &mut told);
        }
        troubles
    }
}

/// The verdict on a job of a shard, and the other facts of its line. `known` are the captures of the ledger.
fn judge_line(
    job: Job,
    line: BundleLine,
    known: KnownCaptures,
    options: &VerdictOptions,
) -> (JudgedJob, Told) {
    let BundleLine {
        at,
        observations,
        content,
        bad_response,
        trouble,
        not_archived,
        ..
    } = line;
    let fetched = FetchedJob {
        job,
        observations,
        decision: None,
    };
    let told = Told {
        at,
        captures: KnownCaptures {
            content: content.after(known.content),
            bad_response: bad_response.after(known.bad_response),
        },
        trouble,
        not_archived,
    };
    (judge(fetched, decide, options), told)
}

/// `shard 3 of 8`.
fn named(shard: Shard) -> String {
    format!("shard {} of {}", shard.number(), shard.count())
}
