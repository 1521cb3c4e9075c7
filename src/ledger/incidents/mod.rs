//! The incidents: a file each in `incidents/`, kept after the incident has closed.
//!
//! The first document has what identifies the incident, and the newest card that each notifier has delivered; each
//! further one is an event. A run appends events and changes no earlier one, so that versions of a file merge.

mod merge;
mod newest_card;
mod yaml;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;
use urldb_files::{Root, RootFile};
use urldb_protocol::{Incident, Shown};
use urldb_verdict::incident::{MOST_DAYS, whole};

use crate::explain::explain;
use crate::limits;
use yaml::to_text;

pub use merge::merge;
pub use newest_card::NewestCard;
pub use yaml::{IncidentFile, parse};
pub(super) use yaml::{from_document, to_document};

/// The folder in the ledger's folder.
const FOLDER: &str = "incidents";

/// The first key of a closed incident, since keys are sorted.
const CLOSED: &[u8] = b"---\nclosed: '";

/// The incidents of a ledger.
#[derive(Debug)]
pub struct Incidents {
    folder: Root,
    known: Vec<IncidentFile>,
    unreadable: Vec<String>,
}

impl Incidents {
    /// The folder of the incidents in the folder of a ledger.
    pub fn folder(ledger: &Root) -> Root {
        ledger.folder(FOLDER)
    }

    /// Reads the incidents in the ledger's folder that are open, and those that closed within 30 days
    /// before `now`.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn load(ledger: &Root, now: Timestamp) -> anyhow::Result<Self> {
        Self::read(ledger, |file, id| read_if_recent(file, id, now))
    }

    /// Reads all incidents, open and closed.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn all(ledger: &Root) -> anyhow::Result<Self> {
        Self::read(ledger, |file, id| read(file, id).map(Some))
    }

    fn read(
        ledger: &Root,
        read: impl Fn(&RootFile, &str) -> anyhow::Result<Option<IncidentFile>>,
    ) -> anyhow::Result<Self> {
        let folder = Self::folder(ledger);
        let (mut known, mut unreadable) = (vec![], vec![]);
        for file in files(&folder)? {
            let Some(id) = id_of(&file) else { continue };
            match read(&file, id) {
                Ok(incident) => known.extend(incident),
                Err(error) => unreadable.push(format!(
                    "incident {id} is left out, because {file} cannot be used: {}; restore the file with git, or \
                     remove it: what is broken still is an incident of its own then",
                    explain(&error)
                )),
            }
        }
        known.sort_by(|a: &IncidentFile, b| a.log.id.cmp(&b.log.id));
        Ok(Self {
            folder,
            known,
            unreadable,
        })
    }

    /// These incidents, by id.
    pub fn known(&self) -> &[IncidentFile] {
        &self.known
    }

    /// These incidents, by id.
    pub fn into_known(self) -> Vec<IncidentFile> {
        self.known
    }

    /// A sentence about each file that cannot be read, or has another form than this program writes. Such a file
    /// stays as it is, for a person or a newer program.
    pub fn unreadable(&self) -> &[String] {
        &self.unreadable
    }

    /// Whether there is an incident with this id, open or closed.
    pub fn is_taken(&self, id: &str) -> bool {
        file_of(&self.folder, id).kind().is_some()
    }

    /// Writes the incidents that have changed, each atomically.
    pub fn save(&self, incidents: &[IncidentFile]) -> anyhow::Result<()> {
        incidents
            .iter()
            .filter(|incident| !self.known.contains(incident))
            .into_iter()
            .try_for_each(|incident| write(&self.folder, incident))
    }
}

/// The file of the incident with this id.
pub fn path_of(ledger: &Root, id: &str) -> PathBuf {
    file_of(&Incidents::folder(ledger), id).path()
}

/// Changes an incident outside of a run: an acknowledgement, or a fact of a notifier such as the number of its
/// issue. An incident without a file, which somebody removed, stays without one, and a file that cannot be read
/// stays as it is.
///
/// # Errors
/// When `id` is no id, or the file cannot be written.
pub fn change(
    ledger: &Root,
    id: &str,
    change: impl FnOnce(&mut IncidentFile),
) -> anyhow::Result<()> {
    let Some(known) = of_id(ledger, id)? else {
        return Ok(());
    };
    let mut incident = known.clone();
    change(&mut incident);
    if incident == known {
        return Ok(());
    }
    write(&Incidents::folder(ledger), &incident)
}

/// The incident with this id, open or closed; `None` without a file that can be read.
///
/// # Errors
/// When `id` is no id.
pub fn of_id(ledger: &Root, id: &str) -> anyhow::Result<Option<IncidentFile>> {
    anyhow::ensure!(is_id(id), "{id:?} is no id of an incident");
    let file = file_of(&Incidents::folder(ledger), id);
    Ok(read(&file, id).ok())
}

fn files(folder: &Root) -> anyhow::Result<Vec<RootFile>> {
    folder
        .files()
        .with_context(|| format!("cannot read {}", folder.path().display()))
}

fn file_of(folder: &Root, id: &str) -> RootFile {
    folder.file(format!("{id}.yaml"))
}

fn id_of(file: &RootFile) -> Option<&str> {
    id_of_name(file.name())
}

/// The id of the incident with a file of this name; `None` for other names.
pub fn id_of_name(name: &Path) -> Option<&str> {
    let id = name.to_str()?.strip_suffix(".yaml")?;
    is_id(id).then_some(id)
}

/// Whether the text has the form of an incident's id.
pub fn is_id(id: &str) -> bool {
    id.len() == 8
        && id
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The incident, if it is open or closed a short time ago. The beginning of the file is enough to know that
/// it is neither. A time in the future tells nothing.
fn read_if_recent(
    file: &RootFile,
    id: &str,
    now: Timestamp,
) -> anyhow::Result<Option<IncidentFile>> {
    let mut start = [0; CLOSED.len() + "2026-11-02T04:17:03Z".len()];
    if file.open()?.read_exact(&mut start).is_ok()
        && let Some(time) = start.strip_prefix(CLOSED)
        && let Ok(time) = str::from_utf8(time)
            .unwrap_or_default()
            .parse::<Timestamp>()
        && now.duration_since(time).as_hours() > 24 * MOST_DAYS
    {
        return Ok(None);
    }
    read(file, id).map(Some)
}

fn read(file: &RootFile, id: &str) -> anyhow::Result<IncidentFile> {
    parse(id, &file.read_to_string(limits::INCIDENT)?)
}

fn write(folder: &Root, incident: &IncidentFile) -> anyhow::Result<()> {
    let file = file_of(folder, &incident.log.id);
    file.replace(to_text(incident)?.as_bytes())
        .with_context(|| format!("cannot write {file}"))
}

impl IncidentFile {
    /// The incident after all its events, with what notifiers remember; `None` without events.
    pub fn to_incident(&self) -> Option<Incident> {
        let mut incident = whole(&self.log)?;
        incident.threads = self.facts();
        Some(incident)
    }

    /// Notes the newest card that a notifier has delivered; its facts stay.
    pub fn deliver(&mut self, notifier: &str, card: NewestCard) {
        let known = self.notified.entry(notifier.to_owned()).or_default();
        let facts = std::mem::take(&mut known.facts);
        *known = NewestCard { facts, ..card };
    }

    /// The newest card that a notifier has delivered; without one, as before the first.
    pub fn newest(&self, notifier: &str) -> NewestCard {
        self.notified.get(notifier).cloned().unwrap_or_default()
    }

    /// Number of events until the last one with this id, which covers all events of its run; 0 without such an event.
    pub fn events_until(&self, id: &str) -> usize {
        let last = self.log.events.iter().rposition(|event| event.id == id);
        last.map_or(0, |last| last + 1)
    }

    /// The facts that each notifier remembers.
    pub fn facts(&self) -> BTreeMap<String, BTreeMap<String, Shown>> {
        let facts = self
            .notified
            .iter()
            .map(|(name, card)| (name.clone(), card.facts.clone()));
        facts.filter(|(_, facts)| !facts.is_empty()).collect()
    }
}
