//! The HTTP clients: one pair for the open network, one per target of a mapping.
//!
//! A mapping keeps the URL's host, and so the name that TLS asks for and checks;
//! only the port is rewritten, and the client's own resolver leads to the target.
//! Hence a pair of clients per target: their pools never mix two places.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use reqwest::Client;
use reqwest::dns::Resolve;
use reqwest::header::HeaderMap;
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;
use url::{Host, Url};

use super::certificate::RecordingVerifier;
use super::policy::{Policy, Refused};
use super::resolve::{Fixed, Lookup, Vetted};
use crate::{Mapping, NetworkOptions};

/// Idle connections are dropped soon: a run meets many hosts, and file descriptors are few.
const IDLE: Duration = Duration::from_secs(2);

/// Response headers that are read at most.
pub(super) const MAX_HEADERS: usize = 256;

/// Where a run may go, and how it knows whom it meets there.
#[derive(Debug)]
pub(super) struct Connectors {
    tls: ClientConfig,
    lookup: Arc<dyn Lookup>,
    policy: Arc<Policy>,
    mappings: Arc<[Mapping]>,
    proxy: Option<Proxy>,
}

/// What requests go through.
#[derive(Debug, Clone)]
struct Proxy {
    /// With its credentials.
    library: reqwest::Proxy,
    host: String,
}

/// The clients for all ways, which give up connecting after the same time.
#[derive(Debug)]
pub(super) struct Clients {
    open: Pair,
    mapped: HashMap<String, Pair>,
    policy: Arc<Policy>,
    mappings: Arc<[Mapping]>,
    is_proxied: bool,
}

/// Two clients that differ in whether they reuse connections.
#[derive(Debug)]
struct Pair {
    pooled: Client,
    fresh: Client,
}

/// One request, ready to be sent to wherever it is to go.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    /// The method.
    pub(super) method: reqwest::Method,
    /// The URL, as the record or a redirect has it.
    pub(super) url: Url,
    /// The headers, `Host` among them.
    pub(super) headers: HeaderMap,
    /// The body.
    pub(super) body: Option<String>,
}

impl Connectors {
    /// Fails on an unreadable `ca-file`, when no certificate authority is known at all, or when
    /// the proxy's password is not in the environment.
    pub(super) fn new(network: &NetworkOptions, lookup: Arc<dyn Lookup>) -> anyhow::Result<Self> {
        Ok(Self {
            tls: tls(network)?,
            lookup,
            policy: Arc::new(Policy::new(&network.allow)),
            mappings: network.map.iter().map(normalized).collect(),
            proxy: network.proxy.as_ref().map(proxy).transpose()?,
        })
    }

    fn fixed(&self, host: &str) -> Arc<dyn Resolve> {
        Arc::new(Fixed {
            lookup: Arc::clone(&self.lookup),
            host: host.to_owned(),
        })
    }
}

impl Clients {
    /// Builds them.
    pub(super) fn new(connectors: &Connectors, connect_timeout: Duration) -> anyhow::Result<Self> {
        let pair = |resolver: &Arc<dyn Resolve>, proxy: Option<&Proxy>| {
            Pair::new(&connectors.tls, connect_timeout, resolver, proxy)
        };
        let mut mapped = HashMap::new();
        for Mapping { to_host, .. } in &*connectors.mappings {
            if !mapped.contains_key(to_host) {
                mapped.insert(to_host.clone(), pair(&connectors.fixed(to_host), None)?);
            }
        }
        let proxy = connectors.proxy.as_ref();
        let resolver = match proxy {
            // The only name that is left to us is the proxy's own.
            Some(proxy) => connectors.fixed(&proxy.host),
            None => Arc::new(Vetted {
                lookup: Arc::clone(&connectors.lookup),
                policy: Arc::clone(&connectors.policy),
            }),
        };
        Ok(Self {
            open: pair(&resolver, proxy)?,
            is_proxied: proxy.is_some(),
            mapped,
            policy: Arc::clone(&connectors.policy),
            mappings: Arc::clone(&connectors.mappings),
        })
    }

    fn mapping(&self, url: &Url) -> Option<(&Mapping, &Pair)> {
        let host = url.host_str().map(host_name).unwrap_or_default();
        let port = url.port_or_known_default();
        let mapping = self
            .mappings
            .iter()
            .filter(|mapping| {
                mapping.host == host && (mapping.port.is_none() || mapping.port == port)
            })
            // The first of equals: what was typed comes before what is configured.
            .min_by_key(|mapping| mapping.port.is_none())?;
        Some((mapping, self.mapped.get(&mapping.to_host)?))
    }

    /// Whether requests for this URL go through a proxy.
    pub(super) fn is_proxied(&self, url: &Url) -> bool {
        self.is_proxied && self.mapping(url).is_none()
    }

    /// Where a URL leads: the client to use, and the URL to give it.
    fn route(&self, url: &Url) -> Result<(&Pair, Url), Refused> {
        let Some((mapping, pair)) = self.mapping(url) else {
            // Which places may be asked is, where there is a proxy, for that to say.
            if let Some(address) = literal(url).filter(|_| !self.is_proxied) {
                self.policy.check(address)?;
            }
            return Ok((&self.open, url.clone()));
        };
        let mut target = url.clone();
        // Neither can fail: the URL has a host.
        let _ = target.set_port(mapping.to_port.or(url.port_or_known_default()));
        if literal(url).is_some() {
            // The library does not resolve addresses, so the target itself must stand here.
            let _ = target.set_host(Some(&bracketed(&mapping.to_host)));
        }
        Ok((pair, target))
    }

    /// Sends a request; `fresh` on a connection of its own.
    ///
    /// The outer error is our own refusal, the inner one comes from the network.
    pub(super) async fn send(
        &self,
        outgoing: Outgoing,
        fresh: bool,
    ) -> Result<reqwest::Result<reqwest::Response>, Refused> {
        let (pair, url) = self.route(&outgoing.url)?;
        let mut request = reqwest::Request::new(outgoing.method, url);
        *request.headers_mut() = outgoing.headers;
        *request.body_mut() = outgoing.body.map(Into::into);
        let client = if fresh { &pair.fresh } else { &pair.pooled };
        Ok(client.execute(request).await)
    }
}

impl Pair {
    fn new(
        tls: &ClientConfig,
        connect_timeout: Duration,
        resolver: &Arc<dyn Resolve>,
        proxy: Option<&Proxy>,
    ) -> anyhow::Result<Self> {
        let build = |idle| {
            let builder = Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .tls_info(true)
                .http1_only()
                .http1_max_headers(MAX_HEADERS)
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                .referer(false)
                // Not those of the environment either, which others set for their own ends.
                .no_proxy()
                .connect_timeout(connect_timeout)
                .pool_idle_timeout(IDLE)
                .pool_max_idle_per_host(idle)
                .dns_resolver(Arc::clone(resolver));
            let builder = match proxy {
                Some(proxy) => builder.proxy(proxy.library.clone()),
                None => builder,
            };
            builder.build().context("the HTTP client cannot be set up")
        };
        Ok(Self {
            pooled: build(usize::MAX)?,
            fresh: build(0)?,
        })
    }
}

/// TLS with the system's authorities and those of `ca-file`.
fn tls(network: &NetworkOptions) -> anyhow::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut extra = Vec::new();
    if let Some(path) = &network.ca_file {
        let pem = urldb_files::read(path)
            .with_context(|| format!("cannot read ca-file {}", path.display()))?;
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            extra.push(
                certificate
                    .with_context(|| format!("ca-file {} is not valid PEM", path.display()))?,
            );
        }
        anyhow::ensure!(
            !extra.is_empty(),
            "ca-file {} holds no certificate",
            path.display()
        );
    }
    let verifier = Verifier::new_with_extra_roots(extra, Arc::clone(&provider)).context(
        "no certificate authorities: install the system's (ca-certificates), or name a ca-file",
    )?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("TLS cannot be set up")?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(RecordingVerifier(verifier)))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // A resumed session would not show us the certificate of today.
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// The proxy, with the password that the environment holds.
fn proxy(proxy: &crate::Proxy) -> anyhow::Result<Proxy> {
    let mut library = reqwest::Proxy::all(proxy.address.as_str())
        .map_err(|error| anyhow::anyhow!("the proxy cannot be used: {}", error.without_url()))?;
    if let (Some(user), Some(name)) = (&proxy.user, &proxy.password_env) {
        let password = std::env::var(name).with_context(|| {
            format!("the proxy's password should be in the environment variable {name}")
        })?;
        library = library.basic_auth(user, &password);
    }
    Ok(Proxy {
        library,
        host: proxy.address.host().to_owned(),
    })
}

fn normalized(mapping: &Mapping) -> Mapping {
    Mapping {
        host: host_name(&mapping.host),
        to_host: host_name(&mapping.to_host),
        ..mapping.clone()
    }
}

/// A host as mappings compare it: ASCII, lower case, without brackets and final dot.
fn host_name(host: &str) -> String {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let bare = bare.strip_suffix('.').unwrap_or(bare);
    match Host::parse(&bracketed(bare)) {
        Ok(Host::Ipv6(address)) => address.to_string(),
        Ok(host) => host.to_string(),
        Err(_) => bare.to_ascii_lowercase(),
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
    }
}

fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
    }
}
