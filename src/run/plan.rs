//! The step that plans: domain files in, jobs out.

use jiff::Timestamp;
use urldb_protocol::Mistake;
use urldb_verdict::incident::FileMistakes;
use urldb_verdict::{JobKey, KeptBodies, PlanOptions, Rehash, Selection, SkippedRecords};

use super::domain_files::{DomainFiles, FirstReading, ReadFile};
use super::incidents::PlannedUrls;
use super::options::RunOptions;
use super::plan_options::plan_options;
use super::planned_jobs::PlannedJobs;
use super::planner::PlanEvent;
use super::prepare::Prepared;
use crate::config::Config;
use crate::notify::{AudienceUrls, FilteredSections};

/// The jobs of a run, and the findings of planning.
pub(super) struct Plan<'a> {
    pub(super) jobs: PlannedJobs<'a>,
    /// Number of records without jobs.
    pub(super) skipped: SkippedRecords,
    /// Mistakes in domain files, until the report takes them.
    pub(super) mistakes: Vec<Mistake>,
    /// The domain files that were read.
    pub(super) files: Vec<FileMistakes>,
    pub(super) urls: PlannedUrls,
    /// The URLs of each section that is for some of all URLs.
    pub(super) audiences: Vec<AudienceUrls>,
    /// The hosts whose files have no mistakes: a record that such a file does not have is gone.
    pub(super) understood: Vec<String>,
    /// The jobs in the ledger without a record.
    pub(super) unplanned: Vec<JobKey>,
}

/// Plans the jobs of a run.
pub(super) fn plan<'a>(prepared: &Prepared<'a>) -> anyhow::Result<Plan<'a>> {
    let Prepared {
        domain_files,
        ledger,
        incidents,
        ..
    } = prepared;
    let mut urls = PlannedUrls::expecting(incidents.known());
    let mut unplanned: Vec<JobKey> = vec![];
    let options = prepared.plan_options.clone();
    let FirstReading {
        jobs,
        files,
        skipped,
        audiences,
    } = domain_files.read(options, ledger, |event| match event {
        PlanEvent::Job(job) => {
            ledger.of(&job.key).set_planned(&job.key);
            urls.see(job);
        }
        PlanEvent::File(file) => {
            let without_record = ledger.planned(&file);
            if prepared.is_complete() {
                unplanned.extend(without_record);
            }
        }
    })?;
    urls.count(jobs.by_host(), &skipped);
    let understood = understood(&files);
    ledger.check()?;
    Ok(Plan {
        jobs,
        skipped,
        files: read_files(&files, prepared.options),
        mistakes: of_lists(prepared.options).chain(mistakes(files)).collect(),
        urls,
        audiences,
        understood,
        unplanned,
    })
}

/// Plans the jobs of a command without ledger, which begins at `started`.
pub(super) fn plan_check<'a>(
    options: &RunOptions<'a>,
    started: Timestamp,
) -> anyhow::Result<Plan<'a>> {
    let domain_files = DomainFiles::list(options.config, options.selection)?
        .of_lists(options.lists.map(|lists| &lists.locations));
    let plan_options = plan_options(options, KeptBodies::None, started);
    let FirstReading {
        jobs,
        files,
        skipped,
        audiences,
    } = domain_files.read(plan_options, &(), |_| {})?;
    let mut urls = PlannedUrls::default();
    urls.count(jobs.by_host(), &skipped);
    Ok(Plan {
        jobs,
        skipped,
        files: vec![],
        mistakes: of_lists(options).chain(mistakes(files)).collect(),
        urls,
        audiences,
        understood: vec![],
        unplanned: vec![],
    })
}

/// The URLs of each section that is for some of all URLs, without a run: nothing is due. Without such sections, the
/// database is not read.
///
/// # Errors
/// When the database cannot be listed, or the site rules cannot be read.
pub fn audience_urls(
    config: &Config,
    sections: &FilteredSections,
) -> anyhow::Result<Vec<AudienceUrls>> {
    if sections.is_empty() {
        return Ok(vec![]);
    }
    let selection = Selection::default();
    let options = PlanOptions {
        max_body: 0,
        max_capture: 0,
        whole: false,
        kept_bodies: KeptBodies::None,
        cnames: config.check.cnames,
        day: 0,
        rehash: Rehash::ALWAYS,
    };
    let mut audiences = DomainFiles::list(config, &selection)?
        .counting(sections.clone())
        .read(options, &(), |_| {})?
        .audiences;
    for audience in &mut audiences {
        audience.planned = 0;
    }
    Ok(audiences)
}

/// The mistakes of each domain file, with its differences from lists.
fn read_files(files: &[ReadFile], options: &RunOptions<'_>) -> Vec<FileMistakes> {
    files
        .iter()
        .map(|file| {
            let of_lists = of_lists(options).filter(|mistake| *mistake.file == *file.name);
            let all: Vec<Mistake> = file.mistakes.iter().cloned().chain(of_lists).collect();
            FileMistakes::new(&file.host, &file.name, &all)
        })
        .collect()
}

/// The mistakes in lists, and records that differ from them.
fn of_lists(options: &RunOptions<'_>) -> impl Iterator<Item = Mistake> {
    options
        .lists
        .map(|lists| lists.mistakes.clone())
        .unwrap_or_default()
        .into_iter()
}

fn mistakes(files: Vec<ReadFile>) -> impl Iterator<Item = Mistake> {
    files.into_iter().flat_map(|file| file.mistakes)
}

fn understood(files: &[ReadFile]) -> Vec<String> {
    files
        .iter()
        .filter(|file| file.mistakes.is_empty())
        .map(|file| file.host.clone())
        .collect()
}
