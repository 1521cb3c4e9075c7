//! The settings of the email notifier: addresses, mail server, templates.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use urldb_files::Root;

use lettre::message::Mailbox;

/// Addresses of a message, and how it is delivered.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The name of the notifier: a part of every Message-ID.
    pub name: String,
    /// The sender, `name@host` or `Name <name@host>`.
    pub from: String,
    /// The recipients, in the same form; each gets the same message.
    pub to: Vec<String>,
    /// The way to the recipients.
    pub transport: Transport,
}

/// A way to the recipients.
#[derive(Debug, Clone)]
pub enum Transport {
    /// A mail server.
    Smtp(SmtpServer),
    /// A program with the interface of sendmail, which is started for each recipient with
    /// `-i -f SENDER -- RECIPIENT` and reads the message from standard input.
    Sendmail {
        /// The program and its first arguments.
        command: Vec<String>,
        /// Time limit for one start of the program.
        timeout: Duration,
    },
    /// A folder that gets one `.eml` file per message. The same report replaces its own file.
    Folder(Root),
}

/// A mail server.
#[derive(Debug, Clone)]
pub struct SmtpServer {
    /// The host name or IP address.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// The protection of the connection.
    pub security: Security,
    /// The name of this machine in EHLO: a domain name, or an address literal. If absent, the qualified name of the
    /// machine, or else the address of the connection.
    pub hello: Option<String>,
    /// User and password, if the server wants a login.
    pub credentials: Option<Credentials>,
    /// PEM of certificate authorities that are trusted in addition to those of the system.
    pub authorities: Option<Vec<u8>>,
    /// Time limit for one message; connecting counts.
    pub timeout: Duration,
}

/// The protection of the connection to a mail server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// No protection. With credentials, only a loopback address is allowed.
    None,
    /// STARTTLS, required: the connection becomes TLS before the login and the message.
    Starttls,
    /// TLS from the first byte.
    Implicit,
}

/// The login at a mail server. `Debug` leaves out the password.
#[derive(Clone)]
pub struct Credentials {
    /// The user.
    pub user: String,
    /// The password.
    pub password: String,
    /// The environment variable that the password comes from, for people.
    pub source: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// The minijinja source of a message.
#[derive(Debug, Clone)]
pub struct Templates {
    /// The HTML body.
    pub html: String,
}

/// Invalid settings or templates.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not an email address.
    #[error("{text:?} is not an email address: {why}")]
    Address {
        /// The text from the settings.
        text: String,
        /// The fault of the text, or an example of the right form.
        why: &'static str,
    },
    /// The list of recipients is empty.
    #[error("there is nobody to write to: `to` is empty")]
    NoRecipient,
    /// A password that would go over an unencrypted connection.
    #[error(
        "the password would go to {server} unencrypted: set tls to \"starttls\" or \"implicit\""
    )]
    PlaintextPassword {
        /// The mail server.
        server: String,
    },
    /// A server name that is not valid in a certificate.
    #[error("cannot connect to {server} with TLS: this is neither a host name nor an IP address")]
    ServerName {
        /// The mail server.
        server: String,
    },
    /// No TLS at all.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// Certificate authorities that cannot be read, or none at all.
    #[error("{0}")]
    Authorities(String),
    /// A `sendmail` command without a program.
    #[error("`sendmail` names no program")]
    NoProgram,
    /// A template that does not parse.
    #[error(transparent)]
    Template(#[from] urldb_render::Error),
    /// A message that cannot be composed.
    #[error("cannot compose the message: {0}")]
    Message(#[from] lettre::error::Error),
}

/// Checks an address of a sender or recipient.
///
/// # Errors
/// When the text is no address. The error shows the right form.
pub fn check_address(text: &str) -> Result<(), Error> {
    mailbox(text).map(|_| ())
}

/// Parses an address. Only ASCII is allowed: many servers refuse an address that needs SMTPUTF8,
/// and they refuse it only when a message is sent.
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

/// Whether EHLO can have the text: a domain name or an address literal, such as `[192.0.2.1]` or `[IPv6:2001:db8::1]`
/// (RFC 5321, section 4.1.3).
pub fn is_hello(text: &str) -> bool {
    let Some(literal) = text.strip_prefix('[') else {
        return is_domain(text);
    };
    let literal = literal.strip_suffix(']').unwrap_or_default();
    match literal.strip_prefix("IPv6:") {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => literal.parse::<Ipv4Addr>().is_ok(),
    }
}

/// Whether the whole Internet may look up the name, as far as its form tells.
pub(crate) fn is_qualified(name: &str) -> bool {
    const LOCAL: [&str; 5] = ["internal", "lan", "local", "localdomain", "localhost"];
    let top = name.rsplit_once('.').map(|(_, top)| top);
    is_domain(name) && top.is_some_and(|top| !LOCAL.contains(&top))
}

fn is_domain(name: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '-';
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.chars().all(is_plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let mut labels = name.split('.');
    name.len() <= 253 && labels.all(is_label) && name.parse::<Ipv4Addr>().is_err()
}

/// Whether connections to `server` stay on this machine.
pub(crate) fn is_loopback(server: &str) -> bool {
    match server.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => server.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_public_domain_is_not_qualified() {
        for (name, is_one) in [
            ("watch.example.org", true),
            ("vm", false),
            ("vm.localdomain", false),
            ("vm.local", false),
            ("my_vm.example.org", false),
            ("vm.", false),
            ("127.0.0.1", false),
        ] {
            assert_eq!(is_qualified(name), is_one, "{name}");
        }
    }
}
