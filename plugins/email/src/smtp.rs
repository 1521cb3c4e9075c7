//! Sends mails to a mail server.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use tokio::time::timeout;
use urldb_protocol::{Delivery, ReportDelivery, Shown};
use urldb_render::{one_line, shorten};
use urldb_text::register_secret;

use crate::connection::{self, MailServer, SendError};
use crate::guard::ReplyLog;
use crate::letter::{Letter, Recipient};
use crate::login::log_in;
use crate::settings::{Credentials, Error, Security, SmtpServer};

/// Time for the goodbye, after the last message was taken.
const QUIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The wait after a reply that puts a mail off (4xx).
const PUT_OFF: Duration = Duration::from_secs(5);

/// The reply code with which a server announces that the server closes the connection (RFC 5321,
/// section 3.8).
const CLOSING: u16 = 421;

pub(crate) struct Smtp {
    mail_server: MailServer,
    credentials: Option<Credentials>,
    /// `server:port`, for messages.
    name: String,
    /// `server:port, STARTTLS, user NAME`, for people.
    destination: String,
    /// Advice for people: the keys that have the login.
    login_advice: Option<String>,
    timeout: Duration,
}

impl std::fmt::Debug for Smtp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Smtp")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A connection to the server, and what the server has replied.
#[derive(Default)]
struct Session {
    connection: Option<AsyncSmtpConnection>,
    replies: ReplyLog,
}

/// Why the server gets no mail at all now.
struct Outage {
    message: String,
    /// A person must correct something first.
    failed: bool,
    advice: Option<String>,
    /// No reply of the server says so.
    is_unsaid: bool,
    /// The server may take mail after this time.
    wait: Option<Duration>,
}

/// The duration of a refusal of one delivery.
#[derive(Clone, Copy)]
enum Refusal {
    /// A reply of 4xx.
    Now,
    /// A reply of 5xx.
    Forever,
}

impl Smtp {
    pub(crate) fn new(server: SmtpServer) -> Result<Self, Error> {
        let SmtpServer {
            host,
            port,
            security,
            hello,
            credentials,
            authorities,
            timeout,
        } = server;
        let protection = match security {
            Security::None => "no encryption",
            Security::Starttls => "STARTTLS",
            Security::Implicit => "TLS",
        };
        let name = format!("{host}:{port}");
        let login = credentials.as_ref();
        let login = login.map_or(String::new(), |login| format!(", user {}", login.user));
        credentials.iter().for_each(register);
        Ok(Self {
            destination: format!("{name}, {protection}{login}"),
            login_advice: credentials.as_ref().map(advice),
            name,
            timeout,
            mail_server: MailServer::new(host, port, security, hello, authorities.as_deref())?,
            credentials,
        })
    }

    pub(crate) fn destination(&self) -> String {
        self.destination.clone()
    }

    /// Sends a letter. A fault that concerns all recipients is reported of each.
    pub(crate) async fn deliver(&self, letter: &Letter, report: ReportDelivery<'_>) {
        let mut session = Session::default();
        let outage = match timeout(self.timeout, self.send(&mut session, letter, report)).await {
            Ok(Ok(())) => {
                if let Some(mut connection) = session.connection {
                    // The server has taken the message: its answer to QUIT changes nothing.
                    let _ = timeout(QUIT_TIMEOUT, connection.quit()).await;
                }
                return;
            }
            Ok(Err(error)) => self.outage(&error),
            Err(_) => Outage {
                message: format!(
                    "{} did not take the message within {} s",
                    self.name,
                    self.timeout.as_secs_f32()
                ),
                failed: false,
                advice: None,
                is_unsaid: true,
                wait: None,
            },
        };
        let replies = if outage.is_unsaid {
            vec![]
        } else {
            shown_replies(&session.replies)
        };
        for Recipient { delivery, .. } in &letter.recipients {
            let result = if outage.failed {
                Delivery::failed(delivery, &outage.message)
            } else {
                Delivery::retry(delivery, &outage.message)
            };
            report(Delivery {
                replies: replies.clone(),
                advice: outage.advice.as_deref().map(Delivery::text),
                wait: outage.wait,
                ..result.of_notifier()
            });
        }
    }

    /// Sends a letter, and reports each recipient with a result of its own. An error is a fault that concerns all;
    /// every recipient whom nothing was reported of has that fault.
    async fn send(
        &self,
        session: &mut Session,
        letter: &Letter,
        report: ReportDelivery<'_>,
    ) -> Result<(), SendError> {
        let replies = session.replies.clone();
        let refuse = |recipients: &[Recipient], refusal, message: &str| {
            for Recipient { delivery, .. } in recipients {
                let message = format!("{} {message}", self.name);
                let result = match refusal {
                    Refusal::Now => Delivery::retry(delivery, message).after(Some(PUT_OFF)),
                    Refusal::Forever => Delivery::failed(delivery, message),
                };
                report(Delivery {
                    replies: shown_replies(&replies),
                    ..result
                });
            }
        };
        let connection = self.connected(session).await?;
        let message = &letter.mail.message;
        let sender = message.envelope().from().cloned();
        if let Some(refusal) = refusal(connection.command(Mail::new(sender, vec![])).await)? {
            refuse(&letter.recipients, refusal, "refused the sender");
            return Ok(());
        }
        let mut accepted = vec![];
        for recipient in &letter.recipients {
            let rcpt = Rcpt::new(recipient.address.clone(), vec![]);
            match refusal(connection.command(rcpt).await)? {
                None => accepted.push(recipient.clone()),
                Some(refusal) => {
                    let text = format!("refused the recipient {}", recipient.address);
                    refuse(std::slice::from_ref(recipient), refusal, &text);
                }
            }
        }
        if accepted.is_empty() {
            return Ok(());
        }
        let answer = match refusal(connection.command(Data).await)? {
            None => refusal(connection.message(&message.formatted()).await)?,
            refused => refused,
        };
        if let Some(refusal) = answer {
            refuse(&accepted, refusal, "refused the message");
            return Ok(());
        }
        for recipient in &accepted {
            report(Delivery {
                replies: shown_replies(&replies),
                ..Delivery::delivered(
                    &recipient.delivery,
                    format!("accepted by {} as {}", self.name, letter.mail.id),
                )
            });
        }
        Ok(())
    }

    /// The connection of the session, with the login done.
    async fn connected<'a>(
        &self,
        session: &'a mut Session,
    ) -> Result<&'a mut AsyncSmtpConnection, SendError> {
        if session.connection.is_none() {
            let mut connection = self.mail_server.connect(&session.replies).await?;
            if let Some(credentials) = &self.credentials {
                log_in(&mut connection, credentials).await?;
            }
            session.connection = Some(connection);
        }
        session.connection.as_mut().ok_or(SendError::Lost)
    }

    fn outage(&self, error: &SendError) -> Outage {
        let name = &self.name;
        let retry = |message| Outage {
            message,
            failed: false,
            advice: None,
            is_unsaid: false,
            wait: None,
        };
        let words = |error: &SmtpError| shown(&error.to_string());
        match error {
            SendError::NoStarttls => Outage {
                failed: true,
                advice: Some(
                    "check `server`, `port` and `tls`: a server with TLS from the first byte \
                     wants tls = \"implicit\", usually at port 465; a server without TLS on \
                     this machine, and no other, may have tls = \"none\""
                        .to_owned(),
                ),
                is_unsaid: true,
                ..retry(format!("{name} offers no STARTTLS, so nothing was sent"))
            },
            SendError::Connection(error)
                if error.kind() == std::io::ErrorKind::ConnectionRefused =>
            {
                let (host, port) = name.rsplit_once(':').unwrap_or((name, ""));
                retry(format!("{host} port {port} accepts no connection"))
            }
            SendError::Connection(error) => retry(format!(
                "cannot send through {name}: {}",
                shown(&connection::in_words(error))
            )),
            SendError::Lost => retry(format!("{name} closed the connection")),
            SendError::Login(error) if error.is_permanent() => Outage {
                failed: true,
                advice: self.login_advice.clone(),
                ..retry(format!("{name} refused the login"))
            },
            SendError::NoLogin | SendError::EndlessLogin => Outage {
                failed: true,
                advice: Some("check `server`, `port`, `tls` and `user`".to_owned()),
                is_unsaid: true,
                ..retry(format!("cannot log in to {name}: {error}"))
            },
            SendError::Login(error) | SendError::Smtp(error) if error.is_transient() => Outage {
                wait: Some(PUT_OFF),
                ..retry(format!("{name} takes no mail now: {}", words(error)))
            },
            SendError::Smtp(error) if error.is_permanent() => Outage {
                failed: true,
                advice: Some(refusal_advice(error).to_owned()),
                ..retry(format!("{name} takes no mail: {}", words(error)))
            },
            SendError::Login(error) | SendError::Smtp(error) => {
                retry(format!("cannot send through {name}: {}", words(error)))
            }
        }
    }
}

/// Advice about the refusal of a session: 501 and 504 are about the name in EHLO.
fn refusal_advice(error: &SmtpError) -> &'static str {
    match error.status().map(u16::from) {
        Some(501 | 504) => {
            "set `hello` to the name of this machine that the server can look up, or to its address, such as [192.0.2.1]"
        }
        _ => "check `server` and `port`",
    }
}

fn shown_replies(replies: &ReplyLog) -> Vec<Shown> {
    replies
        .lines()
        .iter()
        .map(|reply| Delivery::text(shown(reply)))
        .collect()
}

/// Words of a server, on one line.
fn shown(words: &str) -> String {
    shorten(&one_line(words), Delivery::LONGEST_TEXT)
}

/// The meaning of the server's reply to a command of the transaction: accepted, refused, or no reply that
/// ends in anything but the end of the session.
fn refusal<T>(reply: Result<T, SmtpError>) -> Result<Option<Refusal>, SendError> {
    let Err(error) = reply else {
        return Ok(None);
    };
    if error.is_permanent() {
        return Ok(Some(Refusal::Forever));
    }
    let is_closing = error.status().map(u16::from) == Some(CLOSING);
    if error.is_transient() && !is_closing {
        return Ok(Some(Refusal::Now));
    }
    Err(SendError::Smtp(error))
}

/// Advice for people: the keys that have the login, and a remark about the password.
fn advice(credentials: &Credentials) -> String {
    let Credentials {
        source, password, ..
    } = credentials;
    let remark = if password.is_empty() {
        ", which is empty"
    } else if password.trim() != password {
        ", which begins or ends with white space"
    } else {
        ""
    };
    format!("check `user`, and the password in the environment variable {source}{remark}")
}

/// Registers the password, and what AUTH PLAIN and AUTH LOGIN make of it: a server may repeat what the
/// client sent.
fn register(credentials: &Credentials) {
    let Credentials { user, password, .. } = credentials;
    if password.is_empty() {
        return;
    }
    register_secret(password);
    register_secret(&BASE64_STANDARD.encode(password));
    register_secret(&BASE64_STANDARD.encode(format!("\0{user}\0{password}")));
}
