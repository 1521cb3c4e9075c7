//! How each host is treated, ready for use: its options, its headers, its clients.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use super::client::{Clients, Connectors};
use super::headers::Headers;
use super::queue::RateLimit;
use super::resolve::Lookup;
use crate::{FetchOptions, HostOptions, NetworkOptions};

/// All hosts of a run.
#[derive(Debug)]
pub(super) struct Hosts {
    general: HostSettings,
    named: HashMap<String, HostSettings>,
}

/// How one host is treated.
#[derive(Debug)]
pub(super) struct HostSettings {
    pub(super) options: HostOptions,
    pub(super) headers: Headers,
    pub(super) clients: Arc<Clients>,
}

impl Hosts {
    /// Sets them up; fails on what the configuration asks for and cannot be had.
    pub(super) fn new(
        check: &FetchOptions,
        network: &NetworkOptions,
        lookup: Arc<dyn Lookup>,
    ) -> anyhow::Result<Self> {
        let connectors = Connectors::new(network, lookup)?;
        // Connections are shared by all hosts that are connected to alike.
        let mut clients: HashMap<Duration, Arc<Clients>> = HashMap::new();
        let mut settings = |options: &HostOptions| {
            let clients = match clients.entry(options.connect_timeout) {
                Entry::Occupied(known) => Arc::clone(known.get()),
                Entry::Vacant(new) => {
                    let clients = Clients::new(&connectors, options.connect_timeout)?;
                    Arc::clone(new.insert(Arc::new(clients)))
                }
            };
            anyhow::Ok(HostSettings {
                options: options.clone(),
                headers: Headers::new(options)?,
                clients,
            })
        };
        Ok(Self {
            general: settings(&check.default_host)?,
            named: check
                .hosts
                .iter()
                .map(|(name, options)| Ok((name.clone(), settings(options)?)))
                .collect::<anyhow::Result<_>>()?,
        })
    }

    /// How this host is treated; its name as in a URL.
    pub(super) fn of(&self, host: &str) -> &HostSettings {
        let name = host.strip_suffix('.').unwrap_or(host);
        self.named.get(name).unwrap_or(&self.general)
    }
}

impl HostSettings {
    /// What the host may be asked to bear.
    pub(super) fn share(&self) -> RateLimit {
        RateLimit {
            at_once: self.options.host_concurrency,
            interval: self.options.host_interval,
        }
    }
}
