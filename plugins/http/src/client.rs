//! Makes clients. No other module makes clients for services, so that each client sends within a budget.

#![expect(
    clippy::disallowed_methods,
    reason = "a client of this module sends in conversations alone"
)]

use std::net::IpAddr;
use std::time::Duration;

use reqwest::NoProxy;
use rustls::ClientConfig;
use url::{Host, Url};
use urldb_tls::Trust;

use crate::budget::Budget;
use crate::conversation::Conversation;
use crate::request::causes;

/// Most headers of an answer.
const MOST_HEADERS: usize = 100;

/// The time limit of a connection of a client that keeps connections.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Idle connections that such a client keeps.
const KEPT_CONNECTIONS: usize = 4;

/// The settings of all requests to a service.
#[derive(Debug, Clone)]
pub struct Options {
    /// PEM of certificate authorities that are trusted in addition to those of the system.
    pub authorities: Option<Vec<u8>>,
    /// The proxy for all machines but this one. Environment variables such as `HTTPS_PROXY` have no
    /// effect.
    pub proxy: Option<Proxy>,
    /// The time limit of one request, connecting and reading the answer included.
    pub timeout: Duration,
    /// The `User-Agent` header.
    pub user_agent: String,
}

/// An HTTP proxy.
#[derive(Clone)]
pub struct Proxy {
    /// The URL of the proxy.
    pub address: String,
    /// User name and password.
    pub credentials: Option<(String, String)>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// The client cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file of certificates, or the system's authorities.
    #[error("{0}")]
    Trust(String),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The HTTP library refuses its settings.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(String),
}

impl From<urldb_tls::Error> for Error {
    fn from(error: urldb_tls::Error) -> Self {
        use urldb_tls::Error as E;
        Self::Trust(match error {
            E::Pem(_) | E::NoCertificate => format!("ca-file {error}"),
            E::NoAuthorities(_) => error.to_string(),
        })
    }
}

/// An HTTP client, which sends in conversations alone.
#[derive(Debug)]
pub struct Client {
    client: reqwest::Client,
    timeout: Duration,
}

impl Options {
    /// A client with these options that follows no redirect and repeats no request.
    fn client_builder(&self) -> Result<reqwest::ClientBuilder, Error> {
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(self)?)
            .http1_only()
            .http1_max_headers(MOST_HEADERS)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .user_agent(&self.user_agent);
        Ok(match &self.proxy {
            None => builder,
            Some(proxy) => {
                let mut setting =
                    reqwest::Proxy::all(proxy.address.as_str()).map_err(not_set_up)?;
                if let Some((user, password)) = &proxy.credentials {
                    setting = setting.basic_auth(user, password);
                }
                let here = NoProxy::from_string("localhost,127.0.0.0/8,::1");
                builder.proxy(setting.no_proxy(here))
            }
        })
    }
}

fn not_set_up(error: reqwest::Error) -> Error {
    Error::Client(causes(&error.without_url()))
}

impl Client {
    /// Sets up TLS. Connects nowhere.
    ///
    /// # Errors
    /// When TLS or the proxy cannot be set up.
    pub fn new(options: &Options) -> Result<Self, Error> {
        // A later delivery has another runtime, in which no old connection works.
        Self::build(options, options.client_builder()?.pool_max_idle_per_host(0))
    }

    /// A client that keeps connections, for conversations in one runtime.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn keeping_connections(options: &Options) -> Result<Self, Error> {
        let builder = options
            .client_builder()?
            .pool_max_idle_per_host(KEPT_CONNECTIONS)
            .connect_timeout(CONNECT_LIMIT);
        Self::build(options, builder)
    }

    fn build(options: &Options, builder: reqwest::ClientBuilder) -> Result<Self, Error> {
        Ok(Self {
            client: builder.build().map_err(not_set_up)?,
            timeout: options.timeout,
        })
    }

    /// Begins a conversation, which ends when this budget is spent.
    pub fn converse(&self, budget: Budget) -> Conversation {
        Conversation::new(self.client.clone(), self.timeout, budget)
    }
}

/// TLS settings with the certificate authorities of the system and of `ca-file`.
fn tls(options: &Options) -> Result<ClientConfig, Error> {
    let trust = Trust::new(options.authorities.as_deref())?;
    let mut config = urldb_tls::client_config(trust)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Parses the URL of a service.
///
/// # Errors
/// For people, without the URL: the text is no `http` or `https` URL, it holds a user name or a
/// password, or it is plain `http` to another machine without `allow_http`.
pub fn endpoint(text: &str, allow_http: bool) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("it is no URL: {error}"))?;
    if url.host().is_none() || !matches!(url.scheme(), "http" | "https") {
        return Err("it should begin with https://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "it holds a user name or a password: send a header from the environment \
                    instead"
                .to_owned(),
        );
    }
    if url.scheme() == "http" && !is_loopback(&url) && !allow_http {
        return Err(
            "everybody on the way can read plain http: write https, or set `allow-http = true`"
                .to_owned(),
        );
    }
    Ok(url)
}

/// Whether the URL names this machine.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_only() {
        for fine in [
            "https://chat.example.org/hooks/x",
            "http://127.0.0.1:8080/",
            "http://[::1]/",
            "http://localhost/x",
        ] {
            assert!(endpoint(fine, false).is_ok(), "{fine}");
        }
        for bad in [
            "http://chat.example.org/",
            "http://localhost.example.org/",
            "https://me:secret@chat.example.org/",
            "ftp://chat.example.org/",
            "mailto:me@example.org",
            "chat.example.org",
        ] {
            let error = endpoint(bad, false).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(endpoint("http://chat.example.org/", true).is_ok());
    }
}
