//! The open incidents whose URLs `accept` can make new promises of.

use std::collections::BTreeMap;

use urldb_canon::authority;
use urldb_protocol::State;
use urldb_verdict::incident::IncidentState;

use crate::ambient::Ambient;
use crate::cli::Context;
use crate::cli::print::style::count;

/// An open incident.
pub(super) struct OpenIncident {
    /// The id and the host.
    name: String,
    state: IncidentState,
}

impl OpenIncident {
    /// The open incidents of the ledger.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub(super) fn all(context: &Context) -> anyhow::Result<Vec<Self>> {
        let incidents = context.incidents(Some((Ambient::SYSTEM.now)()))?;
        let all = incidents.known().iter().map(|file| Self {
            name: format!("{} of {}", file.log.id, authority(&file.log.host)),
            state: file.log.state(),
        });
        Ok(all.filter(|it| it.state.is_open()).collect())
    }

    /// The URLs that are `changed` or `redirected`.
    pub(super) fn acceptable(&self) -> impl Iterator<Item = String> {
        self.state.members.iter().filter_map(|(key, member)| {
            let state = member.cause.as_ref()?.state;
            matches!(state, State::Changed | State::Redirected).then(|| key.url.clone())
        })
    }

    /// The effect on the incident once these URLs are accepted; `None` if it is about none of them.
    pub(super) fn effect(&self, accepted: &BTreeMap<String, String>) -> Option<String> {
        let left = self
            .state
            .members
            .keys()
            .filter(|key| !accepted.contains_key(&key.url))
            .count();
        let name = &self.name;
        match (self.state.members.len() - left) as u64 {
            0 => None,
            _ if left == 0 => Some(format!("the next run closes incident {name}")),
            urls => {
                let urls = count(urls, "URL");
                Some(format!("the next run takes {urls} out of incident {name}"))
            }
        }
    }
}
