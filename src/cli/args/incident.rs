//! An open incident, by its id or by a URL.

use urldb_text::{nearest, sanitize};

use crate::ledger::IncidentFile;

/// The open incident with this id, or that affects this URL. `advice` follows the error about a URL.
///
/// # Errors
/// When there is none; the message suggests a similar one.
pub(crate) fn open_incident<'a>(
    known: &'a [IncidentFile],
    target: &str,
    advice: &str,
) -> anyhow::Result<&'a IncidentFile> {
    let open: Vec<&IncidentFile> = known
        .iter()
        .filter(|file| file.log.state().is_open())
        .collect();
    let is_url = target.contains("://");
    let affects =
        |file: &&&IncidentFile| file.log.state().members.keys().any(|key| key.url == target);
    let found = if is_url {
        open.iter().find(affects)
    } else {
        open.iter().find(|file| file.log.id == target)
    };
    if let Some(found) = found {
        return Ok(found);
    }
    let target = sanitize(target);
    anyhow::ensure!(!is_url, "no open incident affects {target}{advice}");
    let near = nearest(&target, open.iter().map(|file| file.log.id.as_str()));
    let near = near.map_or_else(
        || "`urldb log` has the ids of incidents".to_owned(),
        |near| format!("did you mean {near}?"),
    );
    anyhow::bail!("no incident {target} is open; {near}")
}
