//! Delivers a message: over SMTP, or into a folder.

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
use urldb_protocol::Answer;
use urldb_render::{one_line, shorten};

use crate::message::Composed;
use crate::settings::{self, Credentials, Error, Security, Transport};

/// The most that is repeated of what a server says, in characters.
const LONGEST_REPLY: usize = 500;

/// The way out, ready to be used.
#[derive(Debug)]
pub(crate) enum Courier {
    Smtp(Box<Smtp>),
    Folder(PathBuf),
}

impl Courier {
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

    pub(crate) async fn deliver(&self, composed: Composed) -> Answer {
        match self {
            Self::Smtp(smtp) => smtp.send(composed).await,
            Self::Folder(folder) => store(folder, &composed),
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
    /// `server:port`, for people.
    name: String,
    timeout: Duration,
    /// Never to be printed, in any of the forms in which they are sent.
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
    async fn send(&self, Composed { id, message }: Composed) -> Answer {
        // In a task of its own, because a hostile server can make lettre 0.11.23
        // panic (RUSTSEC-2026-0562). The set aborts it when it is dropped.
        let mut tasks = JoinSet::new();
        let transport = self.transport.clone();
        tasks.spawn(async move { transport.send(message).await });
        match timeout(self.timeout, tasks.join_next()).await {
            Ok(Some(Ok(Ok(_)))) => Answer::delivered(format!("accepted by {} as {id}", self.name)),
            Ok(Some(Ok(Err(error)))) => self.refusal(&error),
            Ok(Some(Err(_)) | None) => Answer::retry(format!(
                "the conversation with {} broke down: the server does not speak proper SMTP",
                self.name
            )),
            Err(_) => Answer::retry(format!(
                "{} did not take the message within {} s",
                self.name,
                self.timeout.as_secs_f32()
            )),
        }
    }

    /// Only a definite no, or something that only the user can mend, is final.
    fn refusal(&self, error: &SmtpError) -> Answer {
        let words = self.without_secrets(&error.to_string());
        if error.is_permanent() {
            Answer::failed(format!("{} refused the message: {words}", self.name))
        } else if error.is_client() {
            Answer::failed(format!(
                "cannot talk to {}: {words}: check server, port, tls and user",
                self.name
            ))
        } else if error.is_transient() {
            Answer::retry(format!("{} put the message off: {words}", self.name))
        } else {
            Answer::retry(format!("cannot send through {}: {words}", self.name))
        }
    }

    /// A server may repeat what it was sent.
    fn without_secrets(&self, words: &str) -> String {
        let mut words = words.to_owned();
        for secret in &self.secrets {
            words = words.replace(secret, "[redacted]");
        }
        shorten(&one_line(&words), LONGEST_REPLY)
    }
}

/// The password as it is, and as AUTH PLAIN and AUTH LOGIN send it.
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

fn store(folder: &Path, Composed { id, message }: &Composed) -> Answer {
    let path = folder.join(format!("{id}.eml"));
    let write = || {
        fs::create_dir_all(folder)?;
        urldb_files::write_atomically(&path, &message.formatted())
    };
    match write() {
        Ok(()) => Answer::delivered(format!("written to {}", path.display())),
        Err(error) => Answer::retry(format!("cannot write {}: {error}", path.display())),
    }
}
