//! The keys of `[notify.NAME]` for `type = "email"`.

use std::path::PathBuf;
use std::time::Duration;

use super::section::Section;
use super::services::timeout;

/// The keys that need `server`.
const SMTP_KEYS: [&str; 7] = [
    "tls",
    "port",
    "hello",
    "user",
    "password-env",
    "ca-file",
    "timeout",
];

/// The keys of an email notifier.
#[derive(Debug, Clone)]
pub struct NotifyEmail {
    /// The sender.
    pub from: String,
    /// The recipients.
    pub to: Vec<String>,
    /// The transport: an SMTP server, a program, or a folder of `.eml` files.
    pub transport: EmailTransport,
    /// A folder of templates that stand in for ours of the same name.
    pub templates: Option<PathBuf>,
}

/// The transport of email.
#[derive(Debug, Clone)]
pub enum EmailTransport {
    /// An SMTP server.
    Smtp(NotifySmtp),
    /// A program with the interface of sendmail, and its first arguments.
    Sendmail(Vec<String>),
    /// A folder that each message is written into.
    Folder(PathBuf),
}

/// The keys of an SMTP server.
#[derive(Debug, Clone)]
pub struct NotifySmtp {
    /// Its host.
    pub server: String,
    /// Its port; the usual one of `security` when absent.
    pub port: Option<u16>,
    /// The protection of the connection.
    pub security: SmtpSecurity,
    /// The name of this machine in EHLO.
    pub hello: Option<String>,
    /// User name.
    pub user: Option<String>,
    /// The environment variable that holds the password.
    pub password_env: Option<String>,
    /// A PEM file of certificate authorities that are trusted beside those of the system.
    pub ca_file: Option<PathBuf>,
    /// Time limit for one mail.
    pub timeout: Option<Duration>,
}

/// The protection of a connection to an SMTP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmtpSecurity {
    /// No protection.
    None,
    /// TLS after a plain start.
    Starttls,
    /// TLS from the start.
    Implicit,
}

pub(super) fn email(section: &Section<'_>) -> Option<NotifyEmail> {
    let address = |text: &str| match urldb_email::check_address(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let from = section.checked("from", address);
    let to = section.checked_list("to", address);
    let has_both = section.has("from") && section.has("to");
    let is_empty = to.as_ref().is_some_and(Vec::is_empty);
    if !has_both || is_empty {
        section.problem("`from` and `to` are needed, such as to = [\"me@example.org\"]");
    }
    let templates = section.text("templates").map(PathBuf::from);
    let transport = email_transport(section);
    Some(NotifyEmail {
        from: from?,
        to: to.filter(|to| !to.is_empty())?,
        transport: transport?,
        templates,
    })
}

fn email_transport(section: &Section<'_>) -> Option<EmailTransport> {
    let folder = section.text("folder").map(PathBuf::from);
    let sendmail = section.words("sendmail");
    let ways = ["server", "sendmail", "folder"];
    if ways.iter().filter(|key| section.has(key)).count() != 1 {
        section.problem(
            "one of `server` (SMTP), `sendmail` (a program) and `folder` (of .eml files) is needed",
        );
    }
    match (folder, sendmail, smtp(section)) {
        (Some(folder), None, None) => Some(EmailTransport::Folder(folder)),
        (None, Some(command), None) => Some(EmailTransport::Sendmail(command)),
        (None, None, Some(smtp)) => Some(EmailTransport::Smtp(smtp)),
        _ => None,
    }
}

fn smtp(section: &Section<'_>) -> Option<NotifySmtp> {
    let server = section.checked("server", |text| match url::Host::parse(text) {
        Ok(_) => Ok(text.to_owned()),
        // An IPv6 address has brackets in URLs only.
        Err(_) if text.parse::<std::net::IpAddr>().is_ok() => Ok(text.to_owned()),
        Err(_) => Err(format!(
            "`server` should be a host, and the port is a key of its own, `port`: \"{text}\" is no host"
        )),
    });
    let security = section.choice(
        "tls",
        &[
            ("none", SmtpSecurity::None),
            ("starttls", SmtpSecurity::Starttls),
            ("implicit", SmtpSecurity::Implicit),
        ],
    );
    let port = section.port("port");
    let hello = section.checked("hello", |text| {
        Some(text).filter(|text| urldb_email::is_hello(text)).map(str::to_owned).ok_or_else(|| {
            format!(
                "`hello` should be a host name, [192.0.2.1] or [IPv6:2001:db8::1]: \"{text}\" is none"
            )
        })
    });
    let user = section.text("user");
    let password_env = section.variable("password-env");
    let ca_file = section.text("ca-file").map(PathBuf::from);
    let timeout = timeout(section);
    let keys = SMTP_KEYS.into_iter().filter(|key| section.has(key));
    for key in keys.filter(|_| !section.has("server")) {
        let message = format!("`{key}` is about a `server`, which is missing");
        section.wrong(key, message);
    }
    if section.has("user") != section.has("password-env") {
        section.problem("`user` and `password-env` go together");
    }
    Some(NotifySmtp {
        server: server?,
        port,
        security: security.unwrap_or(SmtpSecurity::Starttls),
        hello,
        user,
        password_env,
        ca_file,
        timeout,
    })
}
