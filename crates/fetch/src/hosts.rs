//! Settings of each host, ready for use: options, headers, HTTP clients.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use crate::client::{Clients, Connectors};
use crate::headers::RequestHeaders;
use crate::options::{FetchOptions, HostOptions, NetworkOptions};
use crate::pace::RateLimit;
use crate::resolve::Lookup;
use crate::setting::{SettingSection, SetupError};

#[derive(Debug)]
pub(crate) struct Hosts {
    default: HostSettings,
    configured: HashMap<String, HostSettings>,
    longest_idle: Duration,
}

#[derive(Debug)]
pub(crate) struct HostSettings {
    pub(crate) options: HostOptions,
    pub(crate) headers: RequestHeaders,
    pub(crate) clients: Arc<Clients>,
}

impl Hosts {
    /// Prepares the settings of all configured hosts.
    ///
    /// # Errors
    /// As [`Fetcher::new`](crate::Fetcher::new).
    pub(crate) fn new(
        options: &FetchOptions,
        network: &NetworkOptions,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, SetupError> {
        let interval = options
            .hosts
            .values()
            .chain([&options.default_host])
            .map(|host| host.host_interval)
            .max();
        let connectors = Connectors::new(network, lookup, interval.unwrap_or_default())?;
        let mut clients: HashMap<Duration, Arc<Clients>> = HashMap::new();
        let mut settings = |section: SettingSection, options: &HostOptions| {
            let clients = match clients.entry(options.connect_timeout) {
                Entry::Occupied(known) => Arc::clone(known.get()),
                Entry::Vacant(new) => {
                    let clients = Clients::new(&connectors, options.connect_timeout);
                    Arc::clone(new.insert(Arc::new(clients)))
                }
            };
            Ok::<_, SetupError>(HostSettings {
                options: options.clone(),
                headers: RequestHeaders::new(&section, options)?,
                clients,
            })
        };
        Ok(Self {
            default: settings(SettingSection::AllHosts, &options.default_host)?,
            configured: options
                .hosts
                .iter()
                .map(|(name, options)| {
                    let section = SettingSection::Host(name.clone());
                    Ok((name.clone(), settings(section, options)?))
                })
                .collect::<Result<_, SetupError>>()?,
            longest_idle: connectors.longest_idle(),
        })
    }

    /// Longest lifetime of an idle connection.
    pub(crate) fn longest_idle(&self) -> Duration {
        self.longest_idle
    }

    /// The settings of a host; `host` is spelled as in a URL.
    pub(crate) fn of(&self, host: &str) -> &HostSettings {
        let name = host.strip_suffix('.').unwrap_or(host);
        self.configured.get(name).unwrap_or(&self.default)
    }
}

impl HostSettings {
    pub(crate) fn rate_limit(&self) -> RateLimit {
        RateLimit {
            concurrency: self.options.host_concurrency,
            interval: self.options.host_interval,
            patience: self.options.limit_patience,
        }
    }
}
