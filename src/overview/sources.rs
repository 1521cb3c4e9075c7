//! The sources of an overview.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use urldb_files::Root;
use urldb_protocol::{DeliveredIncident, EventKind, Incident, ProjectInfo};
use urldb_verdict::incident::{IncidentLog, without_muted};

use super::date_of;
use super::days::{self, Calendar, IncidentDays};
use super::replay::Replay;
use crate::archive::fixity::PlaceChecks;
use crate::archive::{self, ArchiveFiles, Catalogue, Fact};
use crate::config::Config;
use crate::ledger::Incidents;
use crate::project::project_info;
use crate::sync::{self, ListLocations};

/// Days that the overview looks back.
pub(super) const DAYS: usize = 365;

/// A URL, its canonical request, and its variant.
type UrlKey = (String, Option<String>, Option<String>);

/// The sources of an overview: ledger, history, incidents, archive.
#[derive(Debug)]
pub struct Sources<'a> {
    pub(super) config: &'a Config,
    pub(super) now: Timestamp,
    pub(super) ledger: Root,
    pub(super) files: Vec<PathBuf>,
    /// The file of held URIs.
    pub(super) held: Option<PathBuf>,
    pub(super) misnamed: Vec<PathBuf>,
    pub(super) replay: Replay,
    /// All incidents but merged ones, by id.
    pub(super) incidents: BTreeMap<String, Incident>,
    /// The incidents with muted URLs as messages tell them, by id.
    pub(super) delivered: HashMap<String, DeliveredIncident>,
    /// Absent if this machine has no index.
    pub(super) archive: Option<Catalogue>,
    /// The last checks of the archive's places.
    pub(super) checks: PlaceChecks,
    /// The faults of the archive as a whole, a sentence for each.
    pub(super) archive_faults: Vec<String>,
    /// The open incident that affects a URL, and whether the URL flaps.
    pub(super) affected: HashMap<UrlKey, (String, bool)>,
    /// The ids of the incidents that ever affected a URL, by the URL.
    pub(super) of_urls: HashMap<String, BTreeSet<String>>,
    /// Absent if the database follows no list, or a list cannot be read.
    pub(super) lists: Option<ListLocations>,
    /// The days of incidents, by the host of the domain file.
    pub(super) days: BTreeMap<String, Vec<IncidentDays>>,
    pub(super) calendar: Calendar,
}

impl<'a> Sources<'a> {
    /// Reads the incidents and the history, as of `now`.
    ///
    /// # Errors
    /// When a file cannot be read, or a file of the ledger has another form than urldb writes.
    pub fn read(config: &'a Config, now: Timestamp) -> anyhow::Result<Self> {
        let database = config.open_database()?;
        let ledger = config.ledger_root();
        let replay = Replay::read(&ledger, now)?;
        let all = Incidents::all(&ledger)?.into_known().into_iter();
        let mut delivered = HashMap::new();
        let mut of_urls: HashMap<String, BTreeSet<String>> = HashMap::new();
        let incidents: BTreeMap<String, Incident> = all
            .filter_map(|file| {
                let incident = file.to_incident();
                let incident = incident.filter(|incident| incident.merged_into.is_none())?;
                let as_delivered = as_delivered(&file.log);
                if as_delivered != DeliveredIncident::Whole {
                    delivered.insert(incident.id.clone(), as_delivered);
                }
                for url in file.log.events.iter().flat_map(|event| &event.urls) {
                    let ids = of_urls.entry(url.key.url.clone()).or_default();
                    ids.insert(incident.id.clone());
                }
                Some((incident.id.clone(), incident))
            })
            .collect();
        let open = incidents.values().filter(|it| it.closed.is_none());
        let affected = open.flat_map(|incident| {
            incident.affected().map(|url| {
                let key = (url.url.clone(), url.request.clone(), url.variant.clone());
                (key, (incident.id.clone(), url.flapping))
            })
        });
        let calendar = Calendar::until(date_of(now), DAYS);
        let mut days: BTreeMap<String, Vec<IncidentDays>> = BTreeMap::new();
        for (domain, incident) in days::incident_days(&incidents, &calendar) {
            days.entry(domain).or_default().push(incident);
        }
        let files = ArchiveFiles::on_this_machine(config);
        let checks = PlaceChecks::of(config)?;
        // The commands of the archive report a folder that cannot be read.
        let faults = archive::noted_facts(config, &checks).unwrap_or_default();
        Ok(Self {
            config,
            now,
            ledger,
            archive: files.and_then(Catalogue::open).ok(),
            archive_faults: faults.iter().map(Fact::to_string).collect(),
            checks,
            files: database.files().to_vec(),
            held: database.held().map(Path::to_owned),
            misnamed: database.misnamed().to_vec(),
            affected: affected.collect(),
            of_urls,
            lists: lists(config),
            replay,
            incidents,
            delivered,
            days,
            calendar,
        })
    }

    /// The project, as reports name it.
    pub fn project(&self) -> ProjectInfo {
        project_info(self.config)
    }

    /// The time that ages are counted from: the start of the last run.
    pub(super) fn as_of(&self) -> Timestamp {
        self.replay.starts().next_back().unwrap_or(self.now)
    }
}

/// The places of the records in the lists that the database follows.
fn lists(config: &Config) -> Option<ListLocations> {
    let is_following = !config.sources.is_empty();
    is_following.then(|| sync::locations(config).ok())?
}

/// The incident as messages tell it.
fn as_delivered(log: &IncidentLog) -> DeliveredIncident {
    let mut events = log.events.iter();
    if !events.any(|event| event.event == EventKind::Muted) {
        return DeliveredIncident::Whole;
    }
    without_muted(log).map_or(DeliveredIncident::Nothing, |it| {
        DeliveredIncident::Part(Box::new(it))
    })
}
