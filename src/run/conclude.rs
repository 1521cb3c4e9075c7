//! The step that concludes: the report, the incidents, the line of the history, and the exit code.

use std::collections::BTreeSet;

use jiff::Timestamp;
use urldb_files::Root;
use urldb_protocol::{Counts, Envelope, JobResult, RunInfo};
use urldb_verdict::JobKey;
use urldb_verdict::incident::{EvidenceFacts, ImpairedFacts};

use super::archive::RunArchive;
use super::impaired::HostFacts;
use super::incidents::RunIncidents;
use super::late;
use super::lost_evidence::ArchivedContents;
use super::memory::IncidentMemory;
use super::network::NetworkFacts;
use super::options::RunOptions;
use super::outcome::{Messages, Outcome, combined};
use super::plan::Plan;
use super::plan_options::PlanOptionsByHost;
use super::prepare::Prepared;
use super::record::RunTally;
use crate::ambient::in_seconds;
use crate::exit::ExitCode;
use crate::ledger::{BaseRun, HistoryBase, ImpairedHosts, Incidents, Ledger, RunLine, run_line};
use crate::notify::{Notifiers, Outbox};

/// A run whose results are known and not written.
pub(super) struct Conclusion {
    pub(super) envelope: Envelope,
    pub(super) results: Option<Vec<JobResult>>,
    pub(super) exit_code: ExitCode,
    pub(super) notifiers: Notifiers,
    pub(super) outbox: Outbox,
    /// The incidents before the run.
    pub(super) incidents: Incidents,
    /// The incidents after the run.
    pub(super) memory: IncidentMemory,
    pub(super) ledger: Ledger,
    pub(super) ledger_folder: Root,
    pub(super) line: RunLine,
    pub(super) messages: Messages,
    /// The delay of the run, for people.
    pub(super) late: Option<String>,
    /// The runs before this one.
    pub(super) past: Vec<RunLine>,
    pub(super) now: fn() -> Timestamp,
}

/// Concludes a run whose jobs are all recorded.
///
/// # Errors
/// When the ledger cannot be read.
pub(super) fn conclude(
    mut prepared: Prepared<'_>,
    plan: Plan<'_>,
    mut tally: RunTally,
    archive: RunArchive,
) -> anyhow::Result<Conclusion> {
    tally.finish(&mut prepared, &plan, archive);
    let is_complete = prepared.is_complete();
    let Prepared {
        options,
        mut run,
        finished,
        hosts,
        past,
        base,
        mut messages,
        ..
    } = prepared;
    let mut ledger = prepared.ledger.into_inner()?;
    let (impaired, found) = impaired(options, &run, &plan, &tally, &past);
    messages.extend(plan.jobs.messages());
    run.finished = finished.unwrap_or_else(options.ambient.now);
    run.interrupted = options.stop.is_set();
    let incidents = RunIncidents {
        config: options.config,
        run: &run,
        now: in_seconds(run.finished),
        is_complete,
        past: &past,
        planned: plan.urls,
        understood: &plan.understood,
        certificates: &tally.end_certificates(),
        impaired: &impaired,
        evidence: &lost_evidence(options, &mut tally),
        files: &plan.files,
    };
    let (mut report, known) = (tally.report, prepared.incidents);
    let finished = incidents.finish(&known, &mut ledger, tally.outcomes)?;
    report.set_incidents(finished.report, finished.counts);
    report.find_copies(options.config, &mut ledger);
    let (exit_code, verification) = (report.exit_code(), report.take_verification());
    let (envelope, results) = report.finish(run);
    if is_complete {
        let forgotten = forget(&mut ledger, &hosts, &plan.understood, &plan.unplanned);
        messages.add_failure(forgotten);
    }
    let base = history_base(base, &prepared.plan_options);
    let ledger_folder = options.config.ledger_root();
    Ok(Conclusion {
        line: run_line(&envelope, options.selection, base, verification, found),
        late: lateness(&past, envelope.run.started).filter(|_| is_complete),
        memory: IncidentMemory::of_run(&ledger_folder, finished.files),
        envelope,
        results,
        exit_code,
        notifiers: prepared.notifiers,
        outbox: prepared.outbox,
        incidents: known,
        ledger,
        ledger_folder,
        messages,
        past,
        now: options.ambient.now,
    })
}

/// The base of the line of the run.
fn history_base(base: BaseRun, plan_options: &PlanOptionsByHost) -> HistoryBase {
    HistoryBase {
        run: base.id,
        rehash: plan_options.rehash(),
    }
}

/// The promised bytes that the archive lost, as the run found them.
fn lost_evidence(options: &RunOptions<'_>, tally: &mut RunTally) -> EvidenceFacts {
    let contents = ArchivedContents::of(options.config);
    tally.evidence.facts(|sought| contents.have(sought))
}

/// The hosts that impaired the run and those before, for notices and for the line of the run.
fn impaired(
    options: &RunOptions<'_>,
    run: &RunInfo,
    plan: &Plan<'_>,
    tally: &RunTally,
    past: &[RunLine],
) -> (ImpairedFacts, ImpairedHosts) {
    let is_everything = options.selection.is_everything();
    let (started, confirm) = (
        in_seconds(run.started),
        u64::from(options.config.check.verdict.confirm),
    );
    let (mut facts, hosts) = HostFacts {
        started,
        is_of_whole_hosts: options.selection.is_of_whole_domains(),
        is_gone: &|host| is_everything && plan.urls.has_no_url(host),
        hosts: &tally.unchecked,
        planned: plan.jobs.by_host(),
        past,
        confirm,
    }
    .facts();
    NetworkFacts {
        started,
        is_whole: is_everything && !run.interrupted && tally.report.has_asked_all(),
        coverage: tally.report.coverage(),
        has_answer: !tally.outcomes.answered.is_empty(),
        past,
        confirm,
    }
    .add_to(&mut facts);
    (facts, hosts)
}

/// Concludes a check: nothing is written, and nobody is notified.
pub(super) fn conclude_check(
    options: &RunOptions<'_>,
    run: RunInfo,
    plan: Plan<'_>,
    mut tally: RunTally,
) -> Outcome {
    let run = RunInfo {
        finished: (options.ambient.now)(),
        interrupted: options.stop.is_set(),
        ..run
    };
    let certificates = tally.end_certificates();
    let incidents = RunIncidents {
        config: options.config,
        run: &run,
        now: options.ambient.now_in_seconds(),
        is_complete: options.selection.is_everything(),
        past: &[],
        planned: plan.urls,
        understood: &[],
        certificates: &certificates,
        impaired: &ImpairedFacts::default(),
        evidence: &EvidenceFacts::default(),
        // The report has the mistakes.
        files: &[],
    };
    let mut report = tally.report;
    let (incidents, counts) = incidents.of_check(&tally.outcomes);
    let counts = Counts {
        urls: plan.jobs.count(),
        ..counts
    };
    report.set_incidents(incidents, counts);
    let exit_code = report.exit_code();
    let (envelope, results) = report.finish(run);
    let unchecked = tally.unchecked.notes(plan.jobs.by_host());
    let Messages {
        troubles,
        mut notes,
    } = plan.jobs.messages();
    notes.extend(unchecked);
    Outcome {
        exit_code: combined(exit_code, &envelope.mistakes, &troubles),
        envelope,
        results,
        troubles,
        notes,
        late: None,
        settings: None,
        unsent: None,
    }
}

/// Removes jobs and domains from the ledger that are no longer in the database. `understood` are the
/// hosts whose files have no mistakes, `unplanned` the jobs in the ledger without a record.
fn forget(
    ledger: &mut Ledger,
    hosts: &[String],
    understood: &[String],
    unplanned: &[JobKey],
) -> anyhow::Result<()> {
    let understood: BTreeSet<&str> = understood.iter().map(String::as_str).collect();
    for of_domain in unplanned.chunk_by(|one, other| one.domain == other.domain) {
        let domain = &of_domain[0].domain;
        if understood.contains(domain.as_str()) {
            ledger.open(domain)?;
            for key in of_domain {
                ledger.forget(key);
            }
            ledger.close(domain);
        }
    }
    ledger.forget_others(hosts.iter().map(String::as_str));
    Ok(())
}

/// The delay of a run that began at `started`, by the complete runs before.
fn lateness(past: &[RunLine], started: Timestamp) -> Option<String> {
    let starts: Vec<Timestamp> = past
        .iter()
        .filter(|run| run.is_complete())
        .map(|run| run.at)
        .collect();
    late::lateness(&starts, started)
}
