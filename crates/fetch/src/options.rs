//! How requests are made: `[check]` and `[network]` of urldb.toml, as far as fetching reads them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::{Mapping, Proxy};

/// Limits of a whole run, and the options of each host.
#[derive(Debug, Clone)]
pub struct FetchOptions {
    /// Requests under way at once, over all hosts.
    pub concurrency: usize,
    /// Longest time for all jobs; every job that is left then is observed as [`RunEnded`].
    ///
    /// [`RunEnded`]: urldb_verdict::FailureKind::RunEnded
    pub deadline: Option<Duration>,
    /// Body bytes after which no further job begins.
    pub byte_budget: Option<u64>,
    /// Redirects followed in one fetch.
    pub max_redirects: usize,
    /// Options of every host that is not in `hosts`.
    pub default_host: HostOptions,
    /// `[check.host.NAME]`: options of these hosts; names as URLs have them.
    pub hosts: BTreeMap<String, HostOptions>,
}

/// How one host is treated: the keys of `[check]` that `[check.host.NAME]` has too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostOptions {
    /// Requests under way at once.
    pub host_concurrency: usize,
    /// The least time between the starts of two requests.
    pub host_interval: Duration,
    /// How long the host may leave everything without an answer before it is given up.
    pub host_patience: Duration,
    /// The most time for one fetch, redirects and body included.
    pub timeout: Duration,
    /// The most time to connect, TLS included.
    pub connect_timeout: Duration,
    /// The most time until the head of a response is complete, connecting included.
    pub head_timeout: Duration,
    /// The most time without a byte of a body.
    pub idle_timeout: Duration,
    /// Bytes of a body that are read at most.
    pub max_body: u64,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// More request headers; dropped when a redirect leaves the origin.
    pub headers: BTreeMap<String, String>,
    /// Whether requests are sent that may change something.
    pub unsafe_methods: bool,
    /// Whether its HTML pages must name their official URL.
    pub canonical: bool,
}

impl FetchOptions {
    /// The options of a host; its name as in a URL.
    pub fn of_host(&self, host: &str) -> &HostOptions {
        self.hosts.get(host).unwrap_or(&self.default_host)
    }

    /// The greatest `max_body` of all hosts, in bytes.
    pub fn largest_body(&self) -> u64 {
        let all = self.hosts.values().chain([&self.default_host]);
        all.map(|host| host.max_body).max().unwrap_or_default()
    }
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            concurrency: 32,
            deadline: None,
            byte_budget: None,
            max_redirects: 10,
            default_host: HostOptions::default(),
            hosts: BTreeMap::new(),
        }
    }
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            host_concurrency: 4,
            host_interval: Duration::from_millis(20),
            host_patience: Duration::from_mins(2),
            timeout: Duration::from_mins(5),
            connect_timeout: Duration::from_secs(10),
            head_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(30),
            max_body: 16 << 30,
            user_agent: concat!("urldb/", env!("CARGO_PKG_VERSION")).to_owned(),
            headers: BTreeMap::new(),
            unsafe_methods: false,
            canonical: false,
        }
    }
}

/// `[network]`: which addresses may be contacted, and how.
#[derive(Debug, Clone, Default)]
pub struct NetworkOptions {
    /// Ranges that are not public and may be contacted all the same.
    pub allow: Vec<IpNet>,
    /// A PEM file of further certificate authorities.
    pub ca_file: Option<PathBuf>,
    /// Other addresses for some hosts; also `--map`.
    pub map: Vec<Mapping>,
    /// The proxy of all requests, except of those that a mapping leads elsewhere.
    pub proxy: Option<Proxy>,
}
