//! The step before planning: what a run knows of earlier runs, and its own description.

use std::collections::BTreeMap;
use std::path::Path;

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use urldb_files::Root;
use urldb_format::{DomainFile, RecordEntry, RecordSet};
use urldb_protocol::RunInfo;

use super::domain_files::DomainFiles;
use super::options::RunOptions;
use super::outcome::Messages;
use super::plan_options::{PlanOptionsByHost, plan_options_of_run};
use super::shared_ledger::SharedLedger;
use crate::ambient::in_seconds;
use crate::archive::{self, Archive, LostCaptures, Provenance};
use crate::config::Config;
use crate::database::left_out::left_out;
use crate::environment;
use crate::ledger::{self, BaseRun, Incidents, Ledger, RunLine, RunPoint};
use crate::notify::{Notifiers, Outbox};
use crate::project::{Checkout, Project, selection_text};

/// The times of a run, and the random part of its id. Those of a collecting run are in its bundles.
pub(super) struct RunStart {
    pub(super) started: Timestamp,
    /// The end, where it is known before.
    pub(super) finished: Option<Timestamp>,
    pub(super) random: [u8; 16],
    /// The beginning of each shard; none if the run has no shards.
    pub(super) shards: Vec<Timestamp>,
}

/// A run before it plans.
pub(super) struct Prepared<'a> {
    pub(super) options: &'a RunOptions<'a>,
    /// The description of the run, without its end.
    pub(super) run: RunInfo,
    pub(super) finished: Option<Timestamp>,
    pub(super) domain_files: DomainFiles<'a>,
    pub(super) hosts: Vec<String>,
    pub(super) notifiers: Notifiers,
    pub(super) outbox: Outbox,
    pub(super) ledger: SharedLedger,
    /// The incidents that are open or closed a short time ago.
    pub(super) incidents: Incidents,
    /// Earlier runs, in their order.
    pub(super) past: Vec<RunLine>,
    /// The run that this one starts from.
    pub(super) base: BaseRun,
    pub(super) plan_options: PlanOptionsByHost,
    pub(super) messages: Messages,
}

impl Prepared<'_> {
    pub(super) fn config(&self) -> &Config {
        self.options.config
    }

    /// Whether the run is over the whole database.
    pub(super) fn is_complete(&self) -> bool {
        self.options.selection.is_everything()
    }

    /// The id and the start of the run.
    pub(super) fn point(&self) -> RunPoint<'_> {
        RunPoint {
            id: &self.run.id,
            started: self.run.started,
        }
    }

    /// Opens the archive, which recovers and indexes the files of killed runs. Returns a line about each.
    pub(super) fn open_archive(&self) -> anyhow::Result<(Archive, Vec<String>)> {
        let config = self.config();
        let provenance = provenance(config, &self.run);
        let folder = config.archive_root();
        Archive::open(&folder, &config.archive, provenance, self.options.ambient)
    }
}

/// Reads everything that a run takes from earlier runs.
pub(super) fn prepare<'a>(
    options: &'a RunOptions<'a>,
    start: RunStart,
) -> anyhow::Result<Prepared<'a>> {
    let RunStart {
        started,
        finished,
        random,
        shards,
    } = start;
    let config = options.config;
    let notifiers = Notifiers::new(config);
    let domain_files = DomainFiles::list(config, options.selection)?
        .counting(notifiers.filtered_sections().clone())
        .of_lists(options.lists.map(|lists| &lists.locations));
    let hosts = domain_files.hosts();
    let folder = config.ledger_root();
    let outbox = Outbox::new(&folder);
    remove_strays(config, &outbox, &folder);
    let mut messages = Messages::default();
    let ledger = SharedLedger::new(open_ledger(config, &hosts, started, &mut messages.notes)?);
    let incidents = Incidents::load(&folder, started)?;
    messages.troubles.extend_from_slice(incidents.unreadable());
    let past = ledger::past_runs(&folder, started)?.known;
    let base = BaseRun::load(&folder, started)?;
    let of_day = |day| plan_options_of_run(options, day, &past);
    let plan_options = PlanOptionsByHost {
        default: of_day(started),
        shards: shards.into_iter().map(of_day).collect(),
    };
    Ok(Prepared {
        run: run_info(options, started, random),
        options,
        finished,
        domain_files,
        hosts,
        notifiers,
        outbox,
        ledger,
        incidents,
        past,
        base,
        plan_options,
        messages,
    })
}

/// The ledger, without captures of these hosts that are lost, for a run that began at `started`.
pub(super) fn open_ledger(
    config: &Config,
    hosts: &[String],
    started: Timestamp,
    notes: &mut Vec<String>,
) -> anyhow::Result<Ledger> {
    let folder = config.ledger_root();
    let mut ledger = Ledger::new(&folder);
    if let Some(host) = hosts.first() {
        // A folder that cannot be read is an error of the ledger, before any other one.
        ledger.open(host)?;
        ledger.close(host);
    }
    notes.extend(follow_moves(config, &mut ledger)?);
    notes.extend(forget_lost_captures(config, hosts, started, &mut ledger)?);
    Ok(ledger)
}

/// Takes what the ledger knows of domains that moved over to their new names. Returns a line about each.
fn follow_moves(config: &Config, ledger: &mut Ledger) -> anyhow::Result<Vec<String>> {
    let database = config.open_database()?;
    let files: BTreeMap<String, &Path> = database
        .files()
        .iter()
        .map(|file| (urldb_format::host_of(file), file.as_path()))
        .collect();
    let folder = config.ledger_root();
    let new: Vec<(&String, &Path)> = files
        .iter()
        .filter(|(host, _)| !ledger.has_file(host))
        .map(|(host, file)| (host, *file))
        .collect();
    if new.is_empty() {
        return Ok(vec![]);
    }
    let mut gone = ledger::domains(&folder, |host| !files.contains_key(host))?;
    if gone.is_empty() {
        return Ok(vec![]);
    }
    let left_out = left_out(config.database_root().path());
    gone.retain(|host| {
        !left_out
            .iter()
            .any(|file| urldb_format::host_of(file) == *host)
    });
    let of_gone = gone
        .iter()
        .map(|host| {
            let former = Ledger::load(&folder, [host.as_str()])?;
            Ok(RecordSet::of_identities(
                former.keys().map(|key| key.record()),
            ))
        })
        .collect::<anyhow::Result<Vec<RecordSet>>>()?;
    let of_new = new.iter().map(|(_, file)| {
        let file = DomainFile::read_or_report(file).file;
        RecordSet::of_identities(
            file.records()
                .map(RecordEntry::record)
                .map(|it| file.metadata().exact_identity_of(it)),
        )
    });
    let mut notes = vec![];
    for (from, to) in urldb_format::moves(&of_gone, &of_new.collect::<Vec<_>>()) {
        let (from, to) = (&gone[from], new[to].0);
        let taken = ledger.take_over(from, to)?;
        if taken > 0 {
            notes.push(format!(
                "{from} moved to {to}: what is known of {taken} of its URLs goes with it"
            ));
        }
    }
    Ok(notes)
}

/// Removes temporary files of killed runs. No other process writes there meanwhile.
fn remove_strays(config: &Config, outbox: &Outbox, ledger: &Root) {
    let of_ledger = [
        ledger.clone(),
        Incidents::folder(ledger),
        ledger::captures_folder(ledger),
        ledger::origins_folder(ledger),
    ];
    for folder in config
        .output_roots()
        .chain(outbox.folders())
        .chain(of_ledger)
    {
        // A file that cannot be removed, or a folder that does not exist yet, is no obstacle.
        let _ = folder.remove_stray_files();
    }
}

/// Makes the run capture content again whose captures are nowhere. Returns lines about it: what is lost, a
/// person has to know, and the end of the run tells it.
fn forget_lost_captures(
    config: &Config,
    hosts: &[String],
    started: Timestamp,
    ledger: &mut Ledger,
) -> anyhow::Result<Vec<String>> {
    let LostCaptures {
        files,
        facts,
        unknown,
    } = archive::lost_captures(config, ledger, hosts)?;
    if !files.is_empty() {
        for host in hosts {
            ledger.open(host)?;
            ledger.forget_captures(host, &files, in_seconds(started))?;
            ledger.close(host);
        }
    }
    let mut notes: Vec<String> = facts.iter().map(ToString::to_string).collect();
    // A job of CI begins without the archive of earlier ones, which keep it elsewhere.
    if unknown > 0 && environment::variable("CI").is_none() {
        notes.push(format!(
            "{unknown} captures of the ledger are not on this machine: name the places of the archive in \
             `stores`, or drop the captures with `urldb archive repair --recapture`"
        ));
    }
    Ok(notes)
}

/// The description of the archive files of a run.
pub(super) fn provenance(config: &Config, run: &RunInfo) -> Provenance {
    Provenance {
        project: run.project.clone(),
        user_agent: config.check.fetch.default_host.user_agent.clone(),
        commit: run.commit.clone(),
    }
}

/// The name of the project, as reports have it.
pub fn project_name(config: &Config) -> String {
    project(config).1.name
}

/// The name of the repository's folder, and the project.
fn project(config: &Config) -> (String, Project) {
    let root = std::path::absolute(&config.root).unwrap_or_else(|_| config.root.clone());
    let repository = root
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let checkout = Checkout::discover(&root);
    let project = Project::new(config, &repository, checkout, environment::variable);
    (repository, project)
}

/// The id of a run: its start in UTC, and a random number.
pub fn run_id(started: Timestamp, random: [u8; 16]) -> String {
    let start = started.strftime("%Y%m%dT%H%M%SZ");
    format!("{start}-{}", HEXLOWER.encode(&random[..4]))
}

/// The description of a run that begins at `started`. The caller sets its end.
pub(super) fn run_info(options: &RunOptions<'_>, started: Timestamp, random: [u8; 16]) -> RunInfo {
    let (repository, project) = project(options.config);
    RunInfo {
        id: run_id(started, random),
        started,
        finished: started,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        repository,
        project: project.name,
        project_url: project.url,
        site_url: project.site_url,
        commit: project.commit,
        selection: selection_text(options.selection),
        interrupted: false,
        test: false,
    }
}
