//! How each host is treated, ready for use: its manners, its headers, its clients.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use super::client::{Clients, Ways};
use super::headers::Headers;
use super::queue::Share;
use super::resolve::Lookup;
use crate::config::{Check, Manners, Network};

/// All hosts of a run.
#[derive(Debug)]
pub(super) struct Hosts {
    general: Treatment,
    named: HashMap<String, Treatment>,
}

/// How one host is treated.
#[derive(Debug)]
pub(super) struct Treatment {
    pub(super) manners: Manners,
    pub(super) headers: Headers,
    pub(super) clients: Arc<Clients>,
}

impl Hosts {
    /// Sets them up; fails on what the configuration asks for and cannot be had.
    pub(super) fn new(
        check: &Check,
        network: &Network,
        lookup: Arc<dyn Lookup>,
    ) -> anyhow::Result<Self> {
        let ways = Ways::new(network, lookup)?;
        // Connections are shared by all hosts that are connected to alike.
        let mut clients: HashMap<Duration, Arc<Clients>> = HashMap::new();
        let mut treatment = |manners: &Manners| {
            let clients = match clients.entry(manners.connect_timeout) {
                Entry::Occupied(known) => Arc::clone(known.get()),
                Entry::Vacant(new) => {
                    let clients = Clients::new(&ways, manners.connect_timeout)?;
                    Arc::clone(new.insert(Arc::new(clients)))
                }
            };
            anyhow::Ok(Treatment {
                manners: manners.clone(),
                headers: Headers::new(manners)?,
                clients,
            })
        };
        Ok(Self {
            general: treatment(&check.manners)?,
            named: check
                .hosts
                .iter()
                .map(|(name, manners)| Ok((name.clone(), treatment(manners)?)))
                .collect::<anyhow::Result<_>>()?,
        })
    }

    /// How this host is treated; its name as in a URL.
    pub(super) fn of(&self, host: &str) -> &Treatment {
        let name = host.strip_suffix('.').unwrap_or(host);
        self.named.get(name).unwrap_or(&self.general)
    }
}

impl Treatment {
    /// What the host may be asked to bear.
    pub(super) fn share(&self) -> Share {
        Share {
            at_once: self.manners.host_concurrency,
            interval: self.manners.host_interval,
        }
    }
}
