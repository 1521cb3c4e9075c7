//! The report of `urldb notify test`.

use data_encoding::HEXLOWER;
use urldb_protocol::{Envelope, ProjectInfo};

use crate::ambient::Ambient;

/// The example of the documentation: a report that is known to be well-formed.
const EXAMPLE: &str = include_str!("../../docs/envelope.example.json");

/// A report with every kind of content, to find mistakes in templates.
pub(super) fn sample() -> anyhow::Result<Envelope> {
    Ok(serde_json::from_str(EXAMPLE)?)
}

/// A report without news, which is marked as a test, for the run that ends a scenario.
pub(super) fn envelope(
    ambient: Ambient,
    repository: &str,
    project: &ProjectInfo,
) -> anyhow::Result<Envelope> {
    let mut envelope = sample()?;
    envelope.message = None;
    let now = ambient.now_in_seconds();
    let random = HEXLOWER.encode(&(ambient.random)()[..4]);
    envelope.run.id = format!("{}-{random}", now.strftime("%Y%m%dT%H%M%SZ"));
    (envelope.run.started, envelope.run.finished) = (now, now);
    env!("CARGO_PKG_VERSION").clone_into(&mut envelope.run.version);
    repository.clone_into(&mut envelope.run.repository);
    let ProjectInfo {
        name,
        url,
        site_url,
        commit,
    } = project.clone();
    envelope.run.project = name;
    envelope.run.project_url = url;
    envelope.run.site_url = site_url;
    envelope.run.commit = commit;
    envelope.run.selection = None;
    envelope.run.test = true;
    envelope.incidents.clear();
    envelope.findings.clear();
    envelope.mistakes.clear();
    envelope.fixed.clear();
    envelope.archived.clear();
    envelope.summary.states.clear();
    envelope.summary.coverage = urldb_protocol::Coverage::default();
    envelope.summary.counts = urldb_protocol::Counts::default();
    Ok(envelope)
}
