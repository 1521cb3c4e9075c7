//! HTTP clients: for the open network or the proxy, and for each target of a mapping.
//!
//! A mapped request keeps the host of its URL, so TLS still checks that name. Only the port changes,
//! and the resolver of the client returns the target's address. Each target has its own clients, so
//! that connections to different targets never share a pool.
//!
//! Each host has its own pool of connections: the HTTP library closes the idle connections of a client
//! when the client is dropped, and has no other way to close them.
#![expect(
    clippy::disallowed_methods,
    reason = "only urldb-fetch contacts promised URLs; its limits are those of each host"
)]

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use data_encoding::BASE64;
use hyper::header::{HeaderMap, HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Method, Request, Uri};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use jiff::Timestamp;
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use url::{Host, Url};
use urldb_files::Limit;
use urldb_text::secret_variable;
use urldb_tls::Trust;
use urldb_verdict::{Failure, FailureKind};

use crate::connection::{ClientProxy, Connector, RecentAddresses};
use crate::failure::failure_of;
use crate::options::{HostOptions, NetworkOptions};
use crate::policy::{AddressPolicy, ForbiddenAddress};
use crate::proxy::{Mapping, Proxy, bracketed, host_name};
use crate::resolve::{Lookup, LookupTarget, Resolver};
use crate::response::{MAX_HEADERS, Response};
use crate::setting::{SettingError, SetupError};

/// Lifetime of an idle connection beyond the interval of its host; short, since a run contacts many hosts
/// and connections are few.
const IDLE_TIMEOUT: Duration = Duration::from_millis(250);

/// Longest lifetime of an idle connection.
const MAX_IDLE_TIMEOUT: Duration = Duration::from_secs(2);

/// The connection settings of a run, shared by all clients: TLS, names, addresses, mappings, proxy.
#[derive(Debug)]
pub(crate) struct Connectors {
    tls: Arc<ClientConfig>,
    trust: Trust,
    lookup: Arc<dyn Lookup>,
    policy: Arc<AddressPolicy>,
    mappings: Arc<Mappings>,
    /// The proxy, and its host.
    proxy: Option<(Arc<ClientProxy>, String)>,
    idle_timeout: Duration,
}

/// The mappings by the normalized name of the host: there may be one for each host of a database.
type Mappings = HashMap<String, Vec<Mapping>>;

/// The clients of all hosts with one connect timeout.
#[derive(Debug)]
pub(crate) struct Clients {
    /// The open network, directly or through the proxy.
    unmapped: Connector,
    /// The targets of mappings, by target host.
    mapped: HashMap<String, Connector>,
    idle_timeout: Duration,
    policy: Arc<AddressPolicy>,
    mappings: Arc<Mappings>,
}

/// A client of the HTTP library; its requests have a text or nothing.
type HttpClient = Client<Connector, String>;

/// The connections to one host that may be reused. Dropping the pool closes the idle ones.
#[derive(Debug, Default)]
pub(crate) struct ConnectionPool {
    /// Clients that reuse connections, by the target host of a mapping.
    clients: Mutex<HashMap<Option<String>, HttpClient>>,
    recent: RecentAddresses,
    /// Whether new connections go to other addresses of the host than the last ones.
    avoids_recent: bool,
}

/// A complete request, before mappings apply.
#[derive(Debug)]
pub(crate) struct OutgoingRequest {
    pub(crate) method: Method,
    /// URL of the record or of a redirect.
    pub(crate) url: Url,
    /// All request headers, `Host` included.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<String>,
}

impl Connectors {
    /// Reads the certificate authorities and the proxy's password. Idle connections last a little longer
    /// than `interval`, the longest one between two requests to a host.
    ///
    /// # Errors
    /// `ca-file` is unreadable, no certificate authority is known, or the environment lacks the
    /// proxy's password.
    pub(crate) fn new(
        network: &NetworkOptions,
        lookup: Arc<dyn Lookup>,
        interval: Duration,
    ) -> Result<Self, SetupError> {
        let idle_timeout = interval.saturating_add(IDLE_TIMEOUT);
        let trust = match &network.ca_file {
            Some(path) => trust(path)?,
            None => Trust::new(None).map_err(SetupError::Trust)?,
        };
        Ok(Self {
            idle_timeout: idle_timeout.min(MAX_IDLE_TIMEOUT),
            tls: Arc::new(tls(network, trust.clone())?),
            trust,
            lookup,
            policy: Arc::new(AddressPolicy::new(&network.allow)),
            mappings: Arc::new(by_host(&network.map)),
            proxy: network.proxy.as_ref().map(client_proxy).transpose()?,
        })
    }

    /// Longest lifetime of an idle connection: the HTTP library looks for old connections once in a timeout.
    pub(crate) fn longest_idle(&self) -> Duration {
        self.idle_timeout * 2
    }

    /// Makes connections to this target, through the proxy or not.
    fn to(
        &self,
        target: LookupTarget,
        proxy: Option<Arc<ClientProxy>>,
        timeout: Duration,
    ) -> Connector {
        let lookup = Arc::clone(&self.lookup);
        Connector {
            tls: Arc::clone(&self.tls),
            trust: self.trust.clone(),
            resolver: Resolver { lookup, target },
            proxy,
            timeout,
            recent: RecentAddresses::default(),
            avoids_recent: false,
        }
    }
}

impl Clients {
    /// The clients for all targets.
    pub(crate) fn new(connectors: &Connectors, connect_timeout: Duration) -> Self {
        let fixed = |host: &str| LookupTarget::Fixed(host.into());
        let mut mapped = HashMap::new();
        for Mapping { to_host, .. } in connectors.mappings.values().flatten() {
            if !mapped.contains_key(to_host) {
                let connector = connectors.to(fixed(to_host), None, connect_timeout);
                mapped.insert(to_host.clone(), connector);
            }
        }
        let policy = &connectors.policy;
        let (proxy, target) = match &connectors.proxy {
            // Behind a proxy, we resolve only the name of the proxy.
            Some((proxy, host)) => (Some(Arc::clone(proxy)), fixed(host)),
            None => (None, LookupTarget::Host(Arc::clone(policy))),
        };
        Self {
            unmapped: connectors.to(target, proxy, connect_timeout),
            mapped,
            idle_timeout: connectors.idle_timeout,
            policy: Arc::clone(policy),
            mappings: Arc::clone(&connectors.mappings),
        }
    }

    fn mapping(&self, url: &Url) -> Option<(&Mapping, &Connector)> {
        let of_host = self.mappings.get(&host_name(url.host_str()?))?;
        let mapping = Mapping::of(of_host, url)?;
        Some((mapping, self.mapped.get(&mapping.to_host)?))
    }

    /// Whether requests for this URL go through a proxy.
    pub(crate) fn is_proxied(&self, url: &Url) -> bool {
        self.unmapped.proxy.is_some() && self.mapping(url).is_none()
    }

    /// The route of a URL, and the URL after mapping.
    fn route(&self, url: &Url) -> Result<(Route<'_>, Url), ForbiddenAddress> {
        let Some((mapping, connector)) = self.mapping(url) else {
            // Behind a proxy, the proxy decides which addresses are allowed.
            if let Some(address) = ip_address(url).filter(|_| self.unmapped.proxy.is_none()) {
                self.policy.check(address)?;
            }
            let route = Route {
                mapped_to: None,
                connector: &self.unmapped,
            };
            return Ok((route, url.clone()));
        };
        let mut mapped = url.clone();
        // Neither setter can fail: the URL has a host.
        let _ = mapped.set_port(mapping.to_port.or(url.port_or_known_default()));
        if ip_address(url).is_some() {
            // The library does not resolve IP addresses, so the URL names the target itself.
            let _ = mapped.set_host(Some(&bracketed(&mapping.to_host)));
        }
        let mapped_to = Some(&mapping.to_host);
        let route = Route {
            mapped_to,
            connector,
        };
        Ok((route, mapped))
    }

    /// Sends a request over a connection of the host's pool, or over a new one.
    pub(crate) async fn send(
        &self,
        outgoing: OutgoingRequest,
        pool: &ConnectionPool,
        options: &HostOptions,
    ) -> Result<Response, Failure> {
        let (route, url) = self.route(&outgoing.url).map_err(|forbidden| Failure {
            kind: FailureKind::Refused,
            detail: forbidden.to_string(),
            certificate: None,
        })?;
        let uri = Uri::try_from(url.as_str()).map_err(|error| Failure {
            kind: FailureKind::Refused,
            detail: format!("the URL cannot be sent: {error}"),
            certificate: None,
        })?;
        let mut request = Request::new(outgoing.body.unwrap_or_default());
        *request.method_mut() = outgoing.method;
        *request.headers_mut() = outgoing.headers;
        let proxy = route
            .connector
            .proxy
            .as_ref()
            .filter(|_| url.scheme() == "http");
        if let Some(authorization) = proxy.and_then(|proxy| proxy.authorization.clone()) {
            request
                .headers_mut()
                .insert(PROXY_AUTHORIZATION, authorization);
        }
        *request.uri_mut() = uri;
        let response = pool
            .client(&route, self.idle_timeout)
            .request(request)
            .await;
        let response = response.map_err(|error: Error| failure_of(&error, options))?;
        Ok(Response::new(response))
    }
}

struct Route<'a> {
    /// The target host of the mapping, if there is one.
    mapped_to: Option<&'a String>,
    connector: &'a Connector,
}

impl ConnectionPool {
    /// A pool without connections to the same host. Its connections go to other addresses than the last ones, if the
    /// host has several: the server at one address may be silent, or reset connections.
    pub(crate) fn fresh(&self) -> Self {
        Self {
            clients: Mutex::default(),
            recent: self.recent.clone(),
            avoids_recent: true,
        }
    }

    /// The client for a route. A client is set up with the first request.
    fn client(&self, route: &Route<'_>, idle_timeout: Duration) -> HttpClient {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        match clients.entry(route.mapped_to.cloned()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => {
                let client = Client::builder(TokioExecutor::new())
                    .timer(TokioTimer::new())
                    .pool_timer(TokioTimer::new())
                    .pool_idle_timeout(idle_timeout)
                    .http1_title_case_headers(true)
                    .http1_max_headers(MAX_HEADERS)
                    .build(Connector {
                        recent: self.recent.clone(),
                        avoids_recent: self.avoids_recent,
                        ..route.connector.clone()
                    });
                new.insert(client).clone()
            }
        }
    }
}

/// TLS settings with the certificate authorities of the system and of `ca-file`.
fn tls(network: &NetworkOptions, trust: Trust) -> Result<ClientConfig, SetupError> {
    let mut config =
        urldb_tls::client_config(trust).map_err(SetupError::in_step("TLS cannot be set up"))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // A resumed session shows no certificate, and an observation records the current one.
    config.resumption = Resumption::disabled();
    if let Some(clock) = network.clock {
        config.time_provider = Arc::new(Clock(clock));
    }
    Ok(config)
}

/// The clock by which certificates are valid.
#[derive(Debug)]
struct Clock(fn() -> Timestamp);

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from((self.0)().as_second()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

/// Most bytes of a `ca-file`.
pub const LARGEST_CA_FILE: Limit = Limit::mib(16);

/// Trusts the certificates in a PEM file too; at least one.
fn trust(path: &Path) -> Result<Trust, SetupError> {
    use urldb_tls::Error as E;
    let shown = path.display();
    let wrong = |message: String| SettingError::network("ca-file", message);
    let pem = urldb_files::read(path, LARGEST_CA_FILE)
        .map_err(|error| wrong(format!("cannot read {shown}: {error}")))?;
    Trust::new(Some(&pem)).map_err(|error| match error {
        E::Pem(_) | E::NoCertificate => wrong(format!("{shown} {error}")).into(),
        E::NoAuthorities(_) => SetupError::Trust(error),
    })
}

/// The proxy with its password from the environment, and its host.
fn client_proxy(proxy: &Proxy) -> Result<(Arc<ClientProxy>, String), SettingError> {
    let wrong = |error: &dyn fmt::Display| {
        let message = format!("the proxy cannot be used: {error}");
        SettingError::network("proxy", message)
    };
    let address = Uri::try_from(proxy.address.as_str()).map_err(|error| wrong(&error))?;
    let mut authorization = None;
    if let (Some(user), Some(name)) = (&proxy.user, &proxy.password_env) {
        let password = secret_variable(name).map_err(|error| {
            let message = format!(
                "the proxy's password should be in the environment variable {name}: {error}"
            );
            SettingError::network("proxy-password-env", message)
        })?;
        let basic = BASE64.encode(format!("{user}:{password}").as_bytes());
        let mut value =
            HeaderValue::try_from(format!("Basic {basic}")).map_err(|error| wrong(&error))?;
        value.set_sensitive(true);
        authorization = Some(value);
    }
    let client_proxy = ClientProxy {
        address,
        authorization,
    };
    Ok((Arc::new(client_proxy), proxy.address.host().to_owned()))
}

fn by_host(mappings: &[Mapping]) -> Mappings {
    let mut by_host = Mappings::new();
    for mapping in mappings {
        by_host
            .entry(mapping.host.clone())
            .or_default()
            .push(mapping.clone());
    }
    by_host
}

/// The IP address in a URL without a host name.
fn ip_address(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
    }
}
