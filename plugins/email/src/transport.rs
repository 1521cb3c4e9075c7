//! Delivers a message over SMTP or into a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use tokio::task::JoinSet;
use tokio::time::timeout;
use urldb_protocol::DeliveryReport;
use urldb_render::{one_line, shorten};

use crate::message::OutgoingMail;
use crate::settings::{self, Credentials, Error, Security, Transport};

/// Longest quotation of a server's reply, in characters.
const LONGEST_REPLY: usize = 500;

/// A transport that is ready to deliver.
#[derive(Debug)]
pub(crate) enum MailTransport {
    Smtp(Box<Smtp>),
    Folder(PathBuf),
}

impl MailTransport {
    pub(crate) fn new(transport: Transport) -> Result<Self, Error> {
        match transport {
            Transport::Folder(folder) => Ok(Self::Folder(folder)),
            Transport::Smtp {
                server,
                port,
                security,
                credentials,
                timeout,
            } => {
                if security == Security::None
                    && credentials.is_some()
                    && !settings::is_loopback(&server)
                {
                    return Err(Error::PlaintextPassword { server });
                }
                let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&server)
                    .port(port)
                    .timeout(Some(timeout))
                    .tls(tls(&server, security)?);
                if let Some(Credentials { user, password }) = credentials.clone() {
                    builder = builder.credentials(authentication::Credentials::new(user, password));
                }
                Ok(Self::Smtp(Box::new(Smtp {
                    transport: builder.build(),
                    name: format!("{server}:{port}"),
                    timeout,
                    secrets: credentials.iter().flat_map(secrets).collect(),
                })))
            }
        }
    }

    pub(crate) async fn deliver(&self, mail: OutgoingMail) -> DeliveryReport {
        match self {
            Self::Smtp(smtp) => smtp.send(mail).await,
            Self::Folder(folder) => store(folder, &mail),
        }
    }
}

fn tls(server: &str, security: Security) -> Result<Tls, Error> {
    let parameters = || {
        TlsParameters::new(server.to_owned()).map_err(|source| Error::Tls {
            server: server.to_owned(),
            source,
        })
    };
    Ok(match security {
        Security::None => Tls::None,
        Security::Starttls => Tls::Required(parameters()?),
        Security::Implicit => Tls::Wrapper(parameters()?),
    })
}

/// A mail server.
pub(crate) struct Smtp {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    /// `server:port`, for messages.
    name: String,
    timeout: Duration,
    /// Every form in which the password is sent. Messages never contain them.
    secrets: Vec<String>,
}

impl std::fmt::Debug for Smtp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Smtp")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Smtp {
    async fn send(&self, OutgoingMail { id, message }: OutgoingMail) -> DeliveryReport {
        // A hostile server can make lettre 0.11.23 panic (RUSTSEC-2026-0562), so lettre runs in a
        // task of its own. The set aborts the task when the set is dropped.
        let mut tasks = JoinSet::new();
        let transport = self.transport.clone();
        tasks.spawn(async move { transport.send(message).await });
        match timeout(self.timeout, tasks.join_next()).await {
            Ok(Some(Ok(Ok(_)))) => {
                DeliveryReport::delivered(format!("accepted by {} as {id}", self.name))
            }
            Ok(Some(Ok(Err(error)))) => self.refusal(&error),
            Ok(Some(Err(_)) | None) => DeliveryReport::retry(format!(
                "the conversation with {} broke down: the server does not speak proper SMTP",
                self.name
            )),
            Err(_) => DeliveryReport::retry(format!(
                "{} did not take the message within {} s",
                self.name,
                self.timeout.as_secs_f32()
            )),
        }
    }

    /// A refusal is final if the server says so (5xx), or if only the user can correct the cause.
    fn refusal(&self, error: &SmtpError) -> DeliveryReport {
        let words = self.without_secrets(&error.to_string());
        if error.is_permanent() {
            DeliveryReport::failed(format!("{} refused the message: {words}", self.name))
        } else if error.is_client() {
            DeliveryReport::failed(format!(
                "cannot talk to {}: {words}: check server, port, tls and user",
                self.name
            ))
        } else if error.is_transient() {
            DeliveryReport::retry(format!("{} put the message off: {words}", self.name))
        } else {
            DeliveryReport::retry(format!("cannot send through {}: {words}", self.name))
        }
    }

    /// Redacts the password: a server may repeat what the client sent.
    fn without_secrets(&self, words: &str) -> String {
        let mut words = words.to_owned();
        for secret in &self.secrets {
            words = words.replace(secret, "[redacted]");
        }
        shorten(&one_line(&words), LONGEST_REPLY)
    }
}

/// The password in plain text, and as AUTH PLAIN and AUTH LOGIN encode it.
fn secrets(credentials: &Credentials) -> Vec<String> {
    let Credentials { user, password } = credentials;
    if password.is_empty() {
        return Vec::new();
    }
    vec![
        BASE64_STANDARD.encode(format!("\0{user}\0{password}")),
        BASE64_STANDARD.encode(password),
        password.clone(),
    ]
}

fn store(folder: &Path, OutgoingMail { id, message }: &OutgoingMail) -> DeliveryReport {
    let path = folder.join(format!("{id}.eml"));
    let write = || {
        fs::create_dir_all(folder)?;
        urldb_files::write_atomically(&path, &message.formatted())
    };
    match write() {
        Ok(()) => DeliveryReport::delivered(format!("written to {}", path.display())),
        Err(error) => DeliveryReport::retry(format!("cannot write {}: {error}", path.display())),
    }
}
