//! The news that a commit of the ledger records: the difference of the files of incidents to the last commit.
//!
//! The difference, and not the report of the run, decides what is news: so the news of earlier runs that were not
//! committed is told, and no news is told twice.

use std::path::Path;

use urldb_protocol::{Envelope, Incident, Phase};
use urldb_verdict::incident::{view_since, whole};

use crate::cli::Context;
use crate::git::Repository;
use crate::ledger::{IncidentFile, Incidents, incidents};
use crate::limits;

/// The incidents in these files (relative to the work tree) that changed since HEAD.
///
/// # Errors
/// When git fails, or an incident cannot be read.
pub(super) fn since_head<'a>(
    repository: &Repository,
    files: impl Iterator<Item = &'a Path>,
    run: &Envelope,
    context: &Context,
) -> anyhow::Result<Vec<Incident>> {
    let ledger = context.ledger();
    let folder = repository.relative(Incidents::folder(&ledger).path())?;
    let mut changes = vec![];
    for file in files.filter(|file| file.parent() == Some(&folder)) {
        let id = file
            .file_name()
            .map(Path::new)
            .and_then(incidents::id_of_name);
        let Some(now) = id.map(|id| incidents::of_id(&ledger, id)).transpose()? else {
            continue;
        };
        let Some(now) = now else { continue };
        let events = &now.log.events;
        let before = in_head(repository, file, &now.log.id)?;
        let before = before.map_or_else(Vec::new, |before| before.log.events);
        let known = events
            .iter()
            .zip(&before)
            .take_while(|(one, other)| one == other)
            .count();
        let incident = news(&now, known).map(|mut incident| {
            let seen = run.incidents.iter().find(|seen| seen.id == incident.id);
            if let Some(seen) = seen {
                incident.take_run(seen);
            }
            incident
        });
        changes.extend(incident);
    }
    Ok(changes)
}

/// The incident as HEAD has it; `None` if HEAD has none that this program understands.
fn in_head(repository: &Repository, file: &Path, id: &str) -> anyhow::Result<Option<IncidentFile>> {
    let Some(blob) = repository.blob_at("HEAD", file)? else {
        return Ok(None);
    };
    let bytes = repository.read_blob(&blob)?;
    let text = String::from_utf8(bytes).ok();
    let text = text.filter(|text| text.len() as u64 <= limits::INCIDENT.get());
    Ok(text.and_then(|text| incidents::parse(id, &text).ok()))
}

/// The incident with its change since the first `known` events. One that began and ended since is closed.
fn news(file: &IncidentFile, known: usize) -> Option<Incident> {
    let log = &file.log;
    let ended = || whole(log).filter(|_| log.events.len() > known);
    view_since(log, known)
        .or_else(ended)
        .filter(|incident| incident.phase != Phase::Unchanged)
}
