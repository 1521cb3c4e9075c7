//! Connections to servers: the addresses of names, the tunnel of a proxy, and TLS.

use std::convert::Infallible;
use std::error::Error;
use std::future::{Ready, ready};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use std::vec;

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::http::uri::Scheme;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::{self, Connected, HttpConnector};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, ClientConfig, ProtocolVersion};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tower_service::Service;
use urldb_tls::Trust;
use urldb_verdict::{Certificate, Failure, Origin};

use crate::certificate::{certificate_of, read_certificate};
use crate::hello;
use crate::resolve::{ResolveError, Resolver};
use crate::tunnel;

/// Most addresses of a host that are remembered.
const MOST_RECENT: usize = 16;

/// Makes the connections of one client.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) trust: Trust,
    pub(crate) resolver: Resolver,
    pub(crate) proxy: Option<Arc<ClientProxy>>,
    /// The time limit of a connection, TLS included.
    pub(crate) timeout: Duration,
    /// The addresses of the last connections to the host.
    pub(crate) recent: RecentAddresses,
    /// Whether addresses of earlier connections come last.
    pub(crate) avoids_recent: bool,
}

/// The addresses of the last connections to one host, the latest last.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecentAddresses(Arc<Mutex<Vec<IpAddr>>>);

impl RecentAddresses {
    fn add(&self, address: IpAddr) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|it| *it != address);
        known.push(address);
        if known.len() > MOST_RECENT {
            known.remove(0);
        }
    }

    /// Puts the addresses of connections last, the latest of them at the end.
    fn put_last(&self, addresses: &mut [SocketAddr]) {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        addresses.sort_by_key(|it| {
            let position = known.iter().position(|known| *known == it.ip());
            position.map_or(0, |position| position + 1)
        });
    }
}

/// The proxy as connections use it.
#[derive(Debug)]
pub(crate) struct ClientProxy {
    pub(crate) address: Uri,
    /// The value of `Proxy-Authorization`.
    pub(crate) authorization: Option<HeaderValue>,
}

/// The facts about the other end of a connection. Behind a proxy there are only those of TLS.
#[derive(Debug, Default)]
pub(crate) struct ConnectionFacts {
    pub(crate) address: Option<SocketAddr>,
    pub(crate) origin: Origin,
    /// The certificate of the server itself.
    pub(crate) certificate: Option<Certificate>,
    /// The certificate of an authority that ends before it.
    pub(crate) authority: Option<Certificate>,
    pub(crate) tls: Option<ProtocolVersion>,
}

/// The cause why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("no address")]
    Resolve(#[from] ResolveError),
    #[error("no connection")]
    Tcp(#[source] Box<dyn Error + Send + Sync>),
    #[error("the proxy makes no tunnel")]
    Tunnel(Failure),
    #[error("no TLS")]
    Tls(#[source] io::Error),
    #[error("no TLS that urldb supports")]
    UnsupportedTls {
        /// The algorithm that the server needs.
        needed: String,
    },
    #[error("no connection in time")]
    Timeout,
}

impl Connector {
    async fn connect(&self, uri: &Uri) -> Result<Connection, ConnectError> {
        let is_tls = uri.scheme() == Some(&Scheme::HTTPS);
        let proxy = self.proxy.as_deref();
        let (tcp, addresses) = self.stream_to(uri, is_tls).await?;
        let mut facts = ConnectionFacts {
            address: tcp.peer_addr().ok().filter(|_| proxy.is_none()),
            ..ConnectionFacts::default()
        };
        facts.origin.addresses = addresses;
        if !is_tls {
            let stream: Box<dyn Stream> = Box::new(TokioIo::new(tcp));
            return Ok(Connection::new(stream, facts, proxy.is_some()));
        }
        let name = server_name(uri).map_err(ConnectError::Tls)?;
        let tls = TlsConnector::from(Arc::clone(&self.tls))
            .connect(name.clone(), tcp)
            .await;
        let tls = tls.map_err(ConnectError::Tls)?;
        let (_, session) = tls.get_ref();
        let chain = session.peer_certificates().unwrap_or_default();
        facts.tls = session.protocol_version();
        facts.certificate = chain.first().and_then(|own| read_certificate(own));
        let authority = self.trust.first_to_end(chain, &name);
        facts.authority = authority.and_then(|it| certificate_of(it, false));
        facts.origin.certificates = Some(chain.iter().map(|it| it.to_vec()).collect());
        Ok(Connection::new(Box::new(TokioIo::new(tls)), facts, false))
    }

    /// The bytes to and from the server of a URL, through a tunnel where TLS meets a proxy, and the addresses of its name.
    async fn stream_to(
        &self,
        uri: &Uri,
        is_tls: bool,
    ) -> Result<(TcpStream, Vec<IpAddr>), ConnectError> {
        let Some(proxy) = self.proxy.as_deref() else {
            return self.connect_to(uri).await;
        };
        let (mut tcp, addresses) = self.connect_to(&proxy.address).await?;
        if is_tls {
            let opened = tunnel::open(&mut tcp, uri, proxy.authorization.as_ref()).await;
            opened.map_err(ConnectError::Tunnel)?;
        }
        Ok((tcp, addresses))
    }

    /// The algorithm that the server needs and our library lacks, if this is why it refuses TLS.
    async fn missing_algorithm(&self, uri: &Uri) -> Option<String> {
        let connect = async || Ok::<_, ConnectError>(self.stream_to(uri, true).await?.0);
        hello::missing_algorithm(uri.host().unwrap_or_default(), connect).await
    }

    /// A connection to the host of a URL, and the addresses of its name.
    async fn connect_to(&self, uri: &Uri) -> Result<(TcpStream, Vec<IpAddr>), ConnectError> {
        let host = uri.host().unwrap_or_default();
        let mut found = self.resolver.resolve(host).await?;
        if self.avoids_recent {
            self.recent.put_last(&mut found.permitted);
        }
        let mut tcp = HttpConnector::new_with_resolver(Found(found.permitted));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // The time is shared among the addresses, so that one of them that is silent does not take all of it.
        tcp.set_connect_timeout(Some(self.timeout));
        let stream = tcp.call(uri.clone()).await;
        let stream = stream
            .map_err(|error| ConnectError::Tcp(error.into()))?
            .into_inner();
        if let Ok(address) = stream.peer_addr() {
            self.recent.add(address.ip());
        }
        Ok((stream, found.all))
    }
}

/// Whether a server refused our greeting of TLS: by the alert about algorithms, or without a word.
fn may_lack_an_algorithm(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|it| it.downcast_ref());
    match inner {
        Some(rustls::Error::AlertReceived(alert)) => matches!(
            alert,
            AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity
        ),
        Some(_) => false,
        None => matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
        ),
    }
}

fn server_name(uri: &Uri) -> io::Result<ServerName<'static>> {
    let host = uri
        .host()
        .unwrap_or_default()
        .trim_start_matches('[')
        .trim_end_matches(']');
    ServerName::try_from(host.to_owned()).map_err(io::Error::other)
}

impl Service<Uri> for Connector {
    type Response = Connection;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Connection, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let limit = connector.timeout;
            let connection = timeout(limit, connector.connect(&uri)).await;
            let connection = connection.unwrap_or(Err(ConnectError::Timeout));
            match connection {
                Err(ConnectError::Tls(error)) if may_lack_an_algorithm(&error) => {
                    let missing = timeout(limit, connector.missing_algorithm(&uri)).await;
                    Err(match missing.ok().flatten() {
                        Some(needed) => ConnectError::UnsupportedTls { needed },
                        None => ConnectError::Tls(error),
                    })
                }
                connection => connection,
            }
        })
    }
}

/// The addresses of one name, for the connector of the HTTP library.
#[derive(Debug, Clone)]
struct Found(Vec<SocketAddr>);

impl Service<Name> for Found {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = Infallible;
    type Future = Ready<Result<vec::IntoIter<SocketAddr>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Name) -> Self::Future {
        ready(Ok(self.0.clone().into_iter()))
    }
}

trait Stream: Read + Write + Send + Unpin {}

impl<T: Read + Write + Send + Unpin> Stream for T {}

/// One connection, over TLS or not.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    facts: Arc<ConnectionFacts>,
    /// Whether a proxy reads the requests.
    is_proxied: bool,
}

impl Connection {
    fn new(stream: Box<dyn Stream>, facts: ConnectionFacts, is_proxied: bool) -> Self {
        Self {
            stream,
            facts: Arc::new(facts),
            is_proxied,
        }
    }
}

impl connect::Connection for Connection {
    fn connected(&self) -> Connected {
        Connected::new()
            .proxy(self.is_proxied)
            .extra(Arc::clone(&self.facts))
    }
}

impl Read for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
