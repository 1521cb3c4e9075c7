//! Connects to a mail server: TCP, TLS, and the greeting.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream};
use lettre::transport::smtp::commands::Starttls;
use lettre::transport::smtp::extension::ClientId;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use urldb_tls::{Fault, Trust};

use crate::guard::{GuardedStream, ReplyLog};
use crate::race;
use crate::settings::{self, Security};

/// A mail server, and how to reach it.
pub(crate) struct MailServer {
    host: String,
    port: u16,
    security: Security,
    /// The name in EHLO, if the settings have one.
    hello: Option<String>,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// Why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// An error of the connection, TLS included.
    #[error(transparent)]
    Connection(#[from] io::Error),
    /// A refusal of the server, or a reply that is not SMTP.
    #[error(transparent)]
    Smtp(#[from] SmtpError),
    /// A refused login.
    #[error(transparent)]
    Login(SmtpError),
    /// A connection that is gone.
    #[error("it closed the connection")]
    Lost,
    /// A server that offers no TLS.
    #[error("it offers no STARTTLS")]
    NoStarttls,
    /// A server that offers no login that this program knows.
    #[error("it offers neither AUTH PLAIN nor AUTH LOGIN")]
    NoLogin,
    /// A server that asks for more than a user and a password.
    #[error("it asks for more than a user and a password")]
    EndlessLogin,
}

impl MailServer {
    pub(crate) fn new(
        host: String,
        port: u16,
        security: Security,
        hello: Option<String>,
        authorities: Option<&[u8]>,
    ) -> Result<Self, settings::Error> {
        let tls = match security {
            Security::None => None,
            Security::Starttls | Security::Implicit => {
                let Ok(name) = ServerName::try_from(host.clone()) else {
                    return Err(settings::Error::ServerName { server: host });
                };
                Some((connector(authorities)?, name))
            }
        };
        Ok(Self {
            host,
            port,
            security,
            hello,
            tls,
        })
    }

    /// Connects, and exchanges greetings; the connection is protected as the settings demand.
    /// The replies of the server go into `log` too.
    pub(crate) async fn connect(&self, log: &ReplyLog) -> Result<AsyncSmtpConnection, SendError> {
        let tcp = race::connect(&self.host, self.port).await?;
        let peer = tcp.peer_addr()?;
        let name = self.own_name(tcp.local_addr()?.ip());
        let stream: Box<dyn AsyncTokioStream> = match self.security {
            Security::None => Box::new(GuardedStream::new(tcp, peer, log)),
            Security::Implicit => Box::new(GuardedStream::new(self.encrypt(tcp).await?, peer, log)),
            Security::Starttls => {
                let tcp = start_tls(GuardedStream::new(tcp, peer, log), &name).await?;
                Box::new(GuardedStream::after_greeting(
                    self.encrypt(tcp).await?,
                    peer,
                    log,
                ))
            }
        };
        Ok(AsyncSmtpConnection::connect_with_transport(stream, &name).await?)
    }

    /// The name of this machine in EHLO: a qualified name, or else the address of the connection (RFC 5321, section 4.1.4).
    fn own_name(&self, address: IpAddr) -> ClientId {
        if let Some(hello) = &self.hello {
            return ClientId::Domain(hello.clone());
        }
        match (ClientId::default(), address.to_canonical()) {
            (ClientId::Domain(name), _) if settings::is_qualified(&name) => ClientId::Domain(name),
            (_, IpAddr::V4(address)) => ClientId::Ipv4(address),
            (_, IpAddr::V6(address)) => ClientId::Ipv6(address),
        }
    }

    async fn encrypt(&self, tcp: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        match &self.tls {
            Some((connector, name)) => connector.connect(name.clone(), tcp).await,
            None => Err(io::Error::other("no TLS is set up")),
        }
    }
}

/// Asks the server for TLS; returns the connection, ready for the TLS handshake.
async fn start_tls<S>(stream: GuardedStream<S>, name: &ClientId) -> Result<S, SendError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let shared = Box::new(stream.share());
    let mut connection = AsyncSmtpConnection::connect_with_transport(shared, name).await?;
    if !connection.can_starttls() {
        connection.abort().await;
        return Err(SendError::NoStarttls);
    }
    connection.command(Starttls).await?;
    drop(connection);
    Ok(stream.into_connection()?)
}

/// TLS with the certificate authorities of the system and those in `authorities`, which is PEM.
fn connector(authorities: Option<&[u8]>) -> Result<TlsConnector, settings::Error> {
    use urldb_tls::Error as E;
    let trust = Trust::new(authorities).map_err(|error| {
        settings::Error::Authorities(match error {
            E::Pem(_) | E::NoCertificate => format!("`ca-file` {error}"),
            E::NoAuthorities(_) => error.to_string(),
        })
    })?;
    let config = urldb_tls::client_config(trust)?;
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The error for people: a fault of TLS by its name.
pub(crate) fn in_words(error: &io::Error) -> String {
    let tls = error
        .get_ref()
        .and_then(|e| e.downcast_ref::<rustls::Error>());
    match (tls, tls.and_then(Fault::within)) {
        (_, Some(fault)) if fault.is_own => format!("its certificate {}", fault.words),
        (_, Some(fault)) => format!("its certificate is not valid: {fault}"),
        (Some(tls), None) => format!("no TLS connection: {tls}"),
        (None, None) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
    use rustls::ServerConfig;
    use rustls::pki_types::PrivateKeyDer;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;
    use tokio_rustls::TlsAcceptor;

    use super::*;
    use lettre::transport::smtp::authentication::Mechanism;

    /// A mail server with TLS: its port, its certificate, and the commands that it received.
    async fn serve(
        security: Security,
        injected: &'static str,
    ) -> (u16, Vec<u8>, JoinHandle<Vec<String>>) {
        serve_offering(security, "250-mail\r\n250 STARTTLS", injected).await
    }

    /// The same, with an answer to EHLO before TLS.
    async fn serve_offering(
        security: Security,
        offer: &'static str,
        injected: &'static str,
    ) -> (u16, Vec<u8>, JoinHandle<Vec<String>>) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        // Self-signed, and an authority, as `openssl req -x509` writes it.
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        let authority = certificate.pem().into_bytes();
        let certificate = certificate.der().clone();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = tokio::spawn(async move {
            let (mut tcp, _) = listener.accept().await.unwrap();
            let mut commands = Vec::new();
            if security == Security::Starttls {
                commands = converse(&mut tcp, Some("220 hello"), offer, injected).await;
            }
            if let Ok(mut tls) = acceptor.accept(tcp).await {
                let greeting = (security == Security::Implicit).then_some("220 hello");
                let behind = converse(&mut tls, greeting, "250-mail\r\n250 AUTH PLAIN", "").await;
                commands.extend(behind.iter().map(|command| format!("TLS {command}")));
            }
            commands
        });
        (port, authority, server)
    }

    /// Answers until the client closes the connection or asks for TLS.
    async fn converse(
        stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
        greeting: Option<&str>,
        ehlo: &str,
        injected: &str,
    ) -> Vec<String> {
        let mut commands = Vec::new();
        let mut stream = BufReader::new(stream);
        if let Some(greeting) = greeting {
            let greeting = format!("{greeting}\r\n");
            stream.write_all(greeting.as_bytes()).await.unwrap();
        }
        loop {
            let mut line = String::new();
            if !matches!(stream.read_line(&mut line).await, Ok(1..)) {
                return commands;
            }
            let word = line
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned();
            let reply = match word.as_str() {
                "EHLO" => format!("{ehlo}\r\n"),
                "STARTTLS" => format!("220 go\r\n{injected}"),
                _ => "250 fine\r\n".to_owned(),
            };
            stream.write_all(reply.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
            let ends = word == "STARTTLS";
            commands.push(word);
            if ends {
                return commands;
            }
        }
    }

    fn server_at(port: u16, security: Security, authority: Option<&[u8]>) -> MailServer {
        MailServer::new("localhost".to_owned(), port, security, None, authority).unwrap()
    }

    #[tokio::test]
    async fn the_extensions_that_count_are_those_behind_tls() {
        for security in [Security::Starttls, Security::Implicit] {
            let (port, authority, commands) = serve(security, "").await;
            let connection = server_at(port, security, Some(&authority))
                .connect(&ReplyLog::default())
                .await
                .unwrap();
            assert!(
                connection
                    .server_info()
                    .supports_auth_mechanism(Mechanism::Plain)
            );
            drop(connection);
            let expected: &[&str] = match security {
                Security::Starttls => &["EHLO", "STARTTLS", "TLS EHLO"],
                _ => &["TLS EHLO"],
            };
            assert_eq!(commands.await.unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn starttls_has_no_case() {
        let (port, authority, commands) =
            serve_offering(Security::Starttls, "250-mail\r\n250 starttls", "").await;
        let server = server_at(port, Security::Starttls, Some(&authority));
        drop(server.connect(&ReplyLog::default()).await.unwrap());
        assert_eq!(commands.await.unwrap(), ["EHLO", "STARTTLS", "TLS EHLO"]);
    }

    #[tokio::test]
    async fn text_in_front_of_the_handshake_ends_the_conversation() {
        let (port, authority, _) = serve(Security::Starttls, "250 injected\r\n").await;
        let server = server_at(port, Security::Starttls, Some(&authority));
        let error = server.connect(&ReplyLog::default()).await.err().unwrap();
        assert!(
            error.to_string().contains("between STARTTLS and TLS"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn an_unknown_authority_is_named() {
        for security in [Security::Starttls, Security::Implicit] {
            let (port, _, _) = serve(security, "").await;
            let error = server_at(port, security, None)
                .connect(&ReplyLog::default())
                .await;
            let Some(SendError::Connection(error)) = error.err() else {
                panic!("{security:?}");
            };
            let words = in_words(&error);
            assert!(
                words.contains("self-signed") && words.contains("`ca-file`"),
                "{words}"
            );
        }
    }
}
