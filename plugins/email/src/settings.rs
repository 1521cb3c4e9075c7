//! What the user has to say: who, where to, and how it should look.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use lettre::message::Mailbox;

/// Where mail comes from and goes to.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The sender, `name@host` or `Name <name@host>`.
    pub from: String,
    /// The recipients, in the same form; each gets the same message.
    pub to: Vec<String>,
    /// The way out.
    pub transport: Transport,
}

/// The way out.
#[derive(Debug, Clone)]
pub enum Transport {
    /// A mail server.
    Smtp {
        /// Its name or address.
        server: String,
        /// Its port.
        port: u16,
        /// How the connection is protected.
        security: Security,
        /// How to log in.
        credentials: Option<Credentials>,
        /// How long one message may take, all in all.
        timeout: Duration,
    },
    /// A folder that gets one `.eml` file per message; the same report replaces its own.
    Folder(PathBuf),
}

/// How the connection to a mail server is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// Not at all. With credentials, only to this very machine.
    None,
    /// A plain connection that has to become a TLS one before anything is said.
    Starttls,
    /// TLS from the first byte.
    Implicit,
}

/// How to log in to a mail server. The password is never printed.
#[derive(Clone)]
pub struct Credentials {
    /// The user.
    pub user: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// The minijinja sources of a message.
#[derive(Debug, Clone)]
pub struct Templates {
    /// The subject, one line.
    pub subject: String,
    /// The body for those who read text.
    pub text: String,
    /// The body for those who read HTML.
    pub html: String,
}

/// Settings or templates that cannot work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not an email address.
    #[error("{text:?} is not an email address: {why}")]
    Address {
        /// What was given.
        text: String,
        /// What is wrong with it, or what to write instead.
        why: &'static str,
    },
    /// Nobody to write to.
    #[error("there is nobody to write to: `to` is empty")]
    NoRecipient,
    /// A password on an open line.
    #[error(
        "the password would go to {server} unencrypted: set tls to \"starttls\" or \"implicit\""
    )]
    PlaintextPassword {
        /// The mail server.
        server: String,
    },
    /// The name of the server cannot stand in a certificate.
    #[error("cannot connect to {server} with TLS: {source}")]
    Tls {
        /// The mail server.
        server: String,
        /// What is wrong.
        source: lettre::transport::smtp::Error,
    },
    /// A template cannot be read.
    #[error(transparent)]
    Template(#[from] urldb_render::Error),
}

/// Reads an address. Only ASCII: an address that needs SMTPUTF8 would be refused
/// by many servers, and only when there is something to tell.
pub(crate) fn mailbox(text: &str) -> Result<Mailbox, Error> {
    let wrong = |why| Error::Address {
        text: text.to_owned(),
        why,
    };
    if text.contains(char::is_control) {
        return Err(wrong("it contains a control character"));
    }
    let mailbox: Mailbox = text
        .parse()
        .map_err(|_| wrong("write name@example.org or Name <name@example.org>"))?;
    if !mailbox.email.to_string().is_ascii() {
        return Err(wrong("write it in ASCII, the host in its xn-- form"));
    }
    Ok(mailbox)
}

/// Whether connections to `server` stay on this machine.
pub(crate) fn is_loopback(server: &str) -> bool {
    match server.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => server.eq_ignore_ascii_case("localhost"),
    }
}
