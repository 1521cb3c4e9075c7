//! Delivers a message over SMTP or into a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lettre::Message;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials as LoginData, DEFAULT_MECHANISMS};
use tokio::time::timeout;
use urldb_protocol::DeliveryReport;
use urldb_render::{one_line, shorten};

use crate::connection::{self, MailServer, SendError};
use crate::message::OutgoingMail;
use crate::settings::{self, Credentials, Error, Security, Transport};

/// Longest quotation of a server's reply, in characters.
const LONGEST_REPLY: usize = 500;

/// Time for the goodbye, after the message was taken.
const QUIT_TIMEOUT: Duration = Duration::from_secs(2);

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
                Ok(Self::Smtp(Box::new(Smtp {
                    name: format!("{server}:{port}"),
                    timeout,
                    secrets: credentials.iter().flat_map(secrets).collect(),
                    mail_server: MailServer::new(server, port, security)?,
                    credentials: credentials
                        .map(|Credentials { user, password }| LoginData::new(user, password)),
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

/// A mail server.
pub(crate) struct Smtp {
    mail_server: MailServer,
    credentials: Option<LoginData>,
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
        match timeout(self.timeout, self.converse(&message)).await {
            Ok(Ok(())) => DeliveryReport::delivered(format!("accepted by {} as {id}", self.name)),
            Ok(Err(SendError::Smtp(error))) => self.refusal(&error),
            Ok(Err(error @ SendError::NoStarttls)) => DeliveryReport::failed(format!(
                "cannot talk to {}: {error}: check server, port, tls and user",
                self.name
            )),
            Ok(Err(SendError::Connection(error))) => DeliveryReport::retry(format!(
                "cannot send through {}: {}",
                self.name,
                self.without_secrets(&connection::in_words(&error))
            )),
            Err(_) => DeliveryReport::retry(format!(
                "{} did not take the message within {} s",
                self.name,
                self.timeout.as_secs_f32()
            )),
        }
    }

    /// One conversation: connect, log in, send, say goodbye.
    async fn converse(&self, message: &Message) -> Result<(), SendError> {
        let mut connection = self.mail_server.connect().await?;
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        connection
            .send(message.envelope(), &message.formatted())
            .await?;
        // The server has taken the message: its answer to QUIT changes nothing.
        let _ = timeout(QUIT_TIMEOUT, connection.quit()).await;
        Ok(())
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
