//! Makes a notifier of its section of urldb.toml.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use urldb_email::EmailNotifier;
use urldb_html::HtmlNotifier;
use urldb_protocol::Notifier;

use crate::config::{EmailTransport, NotifierKind, NotifyEmail, NotifyHtml, SmtpSecurity};

/// The most time for one mail, from connecting to the last reply.
const MAIL_LIMIT: Duration = Duration::from_secs(30);

/// Makes the notifier `name`. Contacts nobody.
pub(super) fn new_notifier(
    root: &Path,
    name: &str,
    kind: &NotifierKind,
) -> anyhow::Result<Box<dyn Notifier>> {
    Ok(match kind {
        NotifierKind::Email(email) => Box::new(new_email(root, name, email)?),
        NotifierKind::Html(NotifyHtml { path, templates }) => {
            let templates = Templates(templates.as_ref().map(|folder| root.join(folder)));
            Box::new(HtmlNotifier::new(
                urldb_html::Settings {
                    path: root.join(path),
                },
                templates.get("report.html", include_str!("../../templates/report.html"))?,
            )?)
        }
    })
}

fn new_email(root: &Path, name: &str, email: &NotifyEmail) -> anyhow::Result<EmailNotifier> {
    let transport = match &email.transport {
        EmailTransport::Folder(folder) => urldb_email::Transport::Folder(root.join(folder)),
        EmailTransport::Smtp {
            server,
            port,
            security,
            user,
            password_env,
            ca_file,
        } => urldb_email::Transport::Smtp(urldb_email::SmtpServer {
            host: server.clone(),
            port: port.unwrap_or(match security {
                SmtpSecurity::None => 25,
                SmtpSecurity::Starttls => 587,
                SmtpSecurity::Implicit => 465,
            }),
            security: match security {
                SmtpSecurity::None => urldb_email::Security::None,
                SmtpSecurity::Starttls => urldb_email::Security::Starttls,
                SmtpSecurity::Implicit => urldb_email::Security::Implicit,
            },
            credentials: credentials(user.as_deref(), password_env.as_deref())?,
            authorities: ca_file
                .as_ref()
                .map(|path| authorities(&root.join(path)))
                .transpose()?,
            timeout: MAIL_LIMIT,
        }),
        EmailTransport::Sendmail(command) => urldb_email::Transport::Sendmail {
            command: command.clone(),
            timeout: MAIL_LIMIT,
        },
    };
    let settings = urldb_email::Settings {
        name: name.to_owned(),
        from: email.from.clone(),
        to: email.to.clone(),
        transport,
    };
    let own = Templates(email.templates.as_ref().map(|folder| root.join(folder)));
    let templates = urldb_email::Templates {
        subject: own.get(
            "email-subject.txt",
            include_str!("../../templates/email-subject.txt"),
        )?,
        text: own.get("email.txt", include_str!("../../templates/email.txt"))?,
        html: own.get("email.html", include_str!("../../templates/email.html"))?,
    };
    Ok(EmailNotifier::new(settings, templates)?)
}

fn authorities(path: &Path) -> anyhow::Result<Vec<u8>> {
    urldb_files::read(path).with_context(|| format!("cannot read ca-file {}", path.display()))
}

/// User name and password. The password comes from the environment only.
fn credentials(
    user: Option<&str>,
    password_env: Option<&str>,
) -> anyhow::Result<Option<urldb_email::Credentials>> {
    match (user, password_env) {
        (None, None) => Ok(None),
        (Some(user), Some(name)) => {
            let password = std::env::var(name).with_context(|| {
                format!("the password should be in the environment variable {name}")
            })?;
            Ok(Some(urldb_email::Credentials {
                user: user.to_owned(),
                password,
                source: name.to_owned(),
            }))
        }
        _ => anyhow::bail!("`user` and `password-env` go together"),
    }
}

/// The folder of the user's own templates, if any.
struct Templates(Option<PathBuf>);

impl Templates {
    /// The user's template of this name, or else the built-in one.
    fn get(&self, name: &str, ours: &str) -> anyhow::Result<String> {
        let Some(path) = self.0.as_ref().map(|folder| folder.join(name)) else {
            return Ok(ours.to_owned());
        };
        match urldb_files::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(ours.to_owned()),
            read => read.with_context(|| format!("cannot read the template {}", path.display())),
        }
    }
}
