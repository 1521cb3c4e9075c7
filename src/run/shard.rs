//! A shard: fetches and archives the part of a run that falls to one machine, and writes a bundle.

use std::path::{Path, PathBuf};

use urldb_verdict::Shard;

use super::archiving::{ArchivedJob, archive_all, known_captures};
use super::domain_files::{DomainFiles, Plan, Survey};
use super::past_runs::SharedLedger;
use super::{
    RunOptions, observe_planned, open_ledger, plan_options_of_run, provenance, run_id, run_info,
};
use crate::archive::Archive;
use crate::bundle::{BundleLine, BundleWriter, Captured, digest_of_inputs};
use crate::ledger;

/// What a shard has done.
pub struct ShardOutcome {
    /// The folder of the bundle; `None` if the shard was interrupted, so that there is none.
    pub bundle: Option<PathBuf>,
    /// Number of jobs.
    pub jobs: u64,
    /// Number of hosts that were asked.
    pub hosts: usize,
    /// The first error: of the archive, which the collecting run reports too, or of a domain file that could
    /// not be read again.
    pub trouble: Option<String>,
    /// Lines for people.
    pub notes: Vec<String>,
}

/// Checks the selected URLs of one shard, archives them, and writes a bundle to the folder of the run.
/// Changes no ledger, and notifies nobody.
///
/// # Errors
/// When the shard could not do its work. There is no bundle then.
#[expect(clippy::too_many_lines)]
pub fn shard(
    options: &RunOptions<'_>,
    shard: Shard,
    run_folder: &Path,
) -> anyhow::Result<ShardOutcome> {
    let (config, started) = (options.config, (options.ambient.now)());
    let inputs = digest_of_inputs(config)?;
    let domain_files = DomainFiles::list(config, options.selection)?.of_shard(shard);
    let folder = config.ledger_root();
    let hosts = domain_files.hosts();
    let mut notes = vec![];
    let ledger = SharedLedger::new(open_ledger(config, &hosts, &mut notes)?);
    let past = ledger::past_runs(&folder, started)?.known;
    let plan_options = plan_options_of_run(options, started, &past);
    let Plan { mut jobs, .. } = domain_files.plan(plan_options, &ledger, |seen| {
        if let Survey::File(file) = seen {
            ledger.planned(&file);
        }
    })?;
    ledger.check()?;
    anyhow::ensure!(
        digest_of_inputs(config)? == inputs,
        "the domain files, urldb.toml or the ledger were changed while the shard read them: run the \
         shard again"
    );
    let hosts = jobs.by_host().len();
    let random = (options.ambient.random)();
    let attempt = run_id(started, random);
    let (_, number) = attempt.rsplit_once('-').unwrap_or_default();
    let label = format!("{}of{}-{number}", shard.number(), shard.count());
    let mut bundle = BundleWriter::create(run_folder, shard, attempt.clone())?;
    let provenance = provenance(config, &run_info(options, started, random));
    let how = &config.archive;
    let archive = Archive::of_bundle(bundle.folder(), how, provenance, options.ambient, &label);
    let (mut count, mut trouble, mut added) = (0, None, Ok(()));
    let archive = archive_all(
        archive,
        &ledger,
        |take| observe_planned(options, &mut jobs, &ledger, take),
        |archived| {
            count += 1;
            if trouble.is_none() {
                trouble.clone_from(&archived.trouble);
            }
            if added.is_ok() {
                added = bundle.add(line(archived, &ledger, options));
            }
        },
    )?;
    added?;
    ledger.check()?;
    let messages = jobs.messages();
    notes.extend(messages.notes);
    let trouble = trouble.or_else(|| messages.troubles.into_iter().next());
    let files = archive.finish()?;
    // A later attempt asks what this one did not.
    let is_whole = !options.stop.is_set();
    let folder = bundle.folder().path().to_owned();
    if is_whole {
        let times = (started, (options.ambient.now)());
        bundle.finish(inputs, options.selection, times, &files)?;
    }
    Ok(ShardOutcome {
        bundle: is_whole.then_some(folder),
        jobs: count,
        hosts,
        trouble,
        notes,
    })
}

fn line(archived: ArchivedJob, ledger: &SharedLedger, options: &RunOptions<'_>) -> BundleLine {
    let ArchivedJob {
        judged,
        captures,
        trouble,
        not_archived,
    } = archived;
    let known = known_captures(ledger, &judged.job);
    let mut shared = ledger.of(&judged.job.key);
    if shared.is_last(&judged.job.key.domain) {
        shared.close(&judged.job.key.domain);
    }
    drop(shared);
    BundleLine {
        key: judged.job.key,
        at: options.ambient.now_in_seconds(),
        observations: judged.observations,
        content: Captured::of(known.content.as_ref(), captures.content),
        bad_response: Captured::of(known.bad_response.as_ref(), captures.bad_response),
        trouble,
        not_archived,
    }
}
