//! Options of fetching: the keys of `[check]` and `[network]` in urldb.toml that this crate uses.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use ipnet::IpNet;
use jiff::Timestamp;

use crate::proxy::{Mapping, Proxy};

/// Limits of a whole run, and the options of each host.
#[derive(Debug, Clone)]
pub struct FetchOptions {
    /// Most requests under way at once, over all hosts. Without a number, as many as the memory and the
    /// open files of a usual process allow: at most 512.
    pub concurrency: Option<usize>,
    /// Time limit of the run; every unfinished job then gets a [`RunEnded`] observation.
    ///
    /// [`RunEnded`]: urldb_verdict::FailureKind::RunEnded
    pub deadline: Option<Duration>,
    /// Body bytes of a run after which no further job starts.
    pub byte_budget: Option<u64>,
    /// Counts the body bytes that are read, for a progress line.
    pub bytes_read: Option<Arc<AtomicU64>>,
    /// Most redirects followed in one fetch.
    pub max_redirects: usize,
    /// Whether the target of a promised redirect is asked.
    pub promised_targets: PromisedTargets,
    /// Options of hosts that are not in `hosts`.
    pub default_host: HostOptions,
    /// Options of single hosts (`[check.host.NAME]`), by host name as in URLs.
    pub hosts: BTreeMap<String, HostOptions>,
}

/// Whether the target of a redirect is asked, if a record promises this redirect and nothing about its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromisedTargets {
    /// The target is asked, and a broken one is a warning.
    Follow,
    /// The fetch ends at the redirect.
    Skip,
}

/// Options of one host: the keys of `[check]` that `[check.host.NAME]` has too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostOptions {
    /// Most requests under way at once to the host.
    pub host_concurrency: usize,
    /// Shortest time between the starts of two requests.
    pub host_interval: Duration,
    /// The time without a response after which the remaining jobs of the host are given up.
    pub host_patience: Duration,
    /// The time after the first refusal of a request after which the remaining jobs of the host are given up.
    pub limit_patience: Duration,
    /// Time limit of one fetch, redirects and body included.
    pub timeout: Duration,
    /// Time limit of connecting, TLS included.
    pub connect_timeout: Duration,
    /// Time limit until the head of a response is complete, connecting included.
    pub head_timeout: Duration,
    /// Longest pause between two chunks of a body.
    pub idle_timeout: Duration,
    /// Most bytes read of a body.
    pub max_body: u64,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// Further request headers; dropped when a redirect leaves the origin.
    pub headers: BTreeMap<String, HeaderSource>,
    /// Whether requests with unsafe methods, which may change something on the server, are sent.
    pub unsafe_methods: bool,
    /// Whether the canonical link of HTML pages is checked.
    pub canonical: bool,
}

/// The source of the value of a configured request header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderSource {
    /// The configuration itself; no secret.
    Text(String),
    /// The environment variable of this name; a secret.
    Env(String),
}

impl FetchOptions {
    /// The options of a host; `host` is spelled as in a URL.
    pub fn of_host(&self, host: &str) -> &HostOptions {
        self.hosts.get(host).unwrap_or(&self.default_host)
    }

    /// The environment variables that hold the values of request headers: these values are secrets.
    pub fn secret_variables(&self) -> impl Iterator<Item = &str> {
        self.hosts
            .values()
            .chain([&self.default_host])
            .flat_map(|host| host.headers.values())
            .filter_map(|source| match source {
                HeaderSource::Text(_) => None,
                HeaderSource::Env(variable) => Some(variable.as_str()),
            })
    }

    /// The greatest `max_body` of all hosts, in bytes.
    pub fn largest_body(&self) -> u64 {
        self.hosts
            .values()
            .chain([&self.default_host])
            .map(|host| host.max_body)
            .max()
            .unwrap_or_default()
    }
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            concurrency: None,
            deadline: None,
            byte_budget: None,
            bytes_read: None,
            max_redirects: 10,
            promised_targets: PromisedTargets::Follow,
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
            limit_patience: Duration::from_mins(10),
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

/// Options of `[network]`: permitted addresses, certificate authorities, mappings and proxy.
#[derive(Debug, Clone, Default)]
pub struct NetworkOptions {
    /// Permitted address ranges besides public addresses.
    pub allow: Vec<IpNet>,
    /// A PEM file of further certificate authorities.
    pub ca_file: Option<PathBuf>,
    /// The clock by which certificates are valid; that of the system without one.
    pub clock: Option<fn() -> Timestamp>,
    /// Other addresses for some hosts, from the configuration and from `--map`.
    pub map: Vec<Mapping>,
    /// The proxy of all requests, except requests with a mapping.
    pub proxy: Option<Proxy>,
}
