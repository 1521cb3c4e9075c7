//! Makes a notifier of its section of urldb.toml.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use urldb_email::EmailNotifier;
use urldb_html::{HtmlNotifier, SiteTemplates};
use urldb_protocol::Notifier;
use urldb_text::secret_variable;

use super::outbox::Outbox;
use super::services::{new_command, new_issues, new_webhook};
use super::test_message::sample;
use crate::config::{
    Config, EmailTransport, NotifierKind, Notify, NotifyEmail, NotifyHtml, SmtpSecurity,
};
use crate::explain::explain;
use crate::limits;
use crate::overview;

/// The most time for one mail; connecting counts.
const MAIL_LIMIT: Duration = Duration::from_secs(30);

/// A section of urldb.toml. Errors name the line of the key that they are about.
pub(super) struct Source<'a> {
    pub(super) config: &'a Config,
    pub(super) name: &'a str,
    pub(super) notify: &'a Notify,
}

/// Makes the notifier `name`, and renders its templates once. Contacts nobody.
///
/// # Errors
/// What is wrong in the section, with the file and the line.
pub(super) fn new_notifier(
    config: &Config,
    name: &str,
    notify: &Notify,
) -> anyhow::Result<Box<dyn Notifier>> {
    let source = Source {
        config,
        name,
        notify,
    };
    Ok(match &notify.kind {
        NotifierKind::Email(email) => Box::new(new_email(&source, email)?),
        NotifierKind::Html(html) => Box::new(new_html(&source, html)?),
        NotifierKind::Webhook(webhook) => Box::new(new_webhook(&source, webhook)?),
        NotifierKind::Issues(issues) => Box::new(new_issues(&source, issues)?),
        NotifierKind::Command(command) => Box::new(new_command(&source, command)?),
    })
}

impl Source<'_> {
    /// The result, with the line of the key in its error.
    pub(super) fn about<T, E: Into<anyhow::Error>>(
        &self,
        key: &str,
        result: Result<T, E>,
    ) -> anyhow::Result<T> {
        self.about_section(&self.section(), key, result)
    }

    /// The result, with the line of a key of `[network]` in its error.
    pub(super) fn about_network<T, E: Into<anyhow::Error>>(
        &self,
        key: &str,
        result: Result<T, E>,
    ) -> anyhow::Result<T> {
        self.about_section("network", key, result)
    }

    /// Whether the section has the key.
    pub(super) fn has_key(&self, key: &str) -> bool {
        self.config.has_key(&self.section(), key)
    }

    fn about_section<T, E: Into<anyhow::Error>>(
        &self,
        section: &str,
        key: &str,
        result: Result<T, E>,
    ) -> anyhow::Result<T> {
        result.map_err(|error| {
            let place = self.config.place(section, key);
            anyhow::anyhow!("{place}: {}", explain(&error.into()))
        })
    }

    fn section(&self) -> String {
        format!("notify.{}", self.name)
    }

    /// A path of the section.
    pub(super) fn path(&self, path: &Path) -> PathBuf {
        self.config.root.join(path)
    }

    /// The value of the environment variable that the key names.
    pub(super) fn variable(&self, key: &str, name: &str) -> anyhow::Result<String> {
        let value = secret_variable(name).map_err(|error| match error {
            std::env::VarError::NotPresent => {
                anyhow::anyhow!("the environment variable {name} is not set")
            }
            std::env::VarError::NotUnicode(_) => {
                anyhow::anyhow!("the environment variable {name} is not valid UTF-8")
            }
        });
        self.about(key, value)
    }

    /// The user's template of this name in the folder that `templates` names, or else the built-in one.
    pub(super) fn template(
        &self,
        folder: Option<&Path>,
        name: &str,
        ours: &str,
    ) -> anyhow::Result<String> {
        let Some(folder) = folder else {
            return Ok(ours.to_owned());
        };
        let folder = self.config.templates_root(folder);
        if !folder.is_folder() {
            let absent = anyhow::anyhow!("there is no folder {}", folder.path().display());
            return self.about("templates", Err(absent));
        }
        let file = folder.file(name);
        match file.read_to_string(limits::TEMPLATE) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(ours.to_owned()),
            read => {
                let read = read.with_context(|| format!("cannot read the template {file}"));
                self.about("templates", read)
            }
        }
    }
}

/// The error alone: its message has its causes.
pub(super) fn text(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!("{error}")
}

fn new_html(source: &Source<'_>, html: &NotifyHtml) -> anyhow::Result<HtmlNotifier> {
    let templates = site_templates(source.config, Some((source.name, source.notify)))?;
    let folder = source.config.site_root(&html.path);
    let (config, path) = (source.config.clone(), folder.clone());
    let build = move |run: &str| {
        let outbox = Outbox::new(&config.ledger_root());
        // The messages of the run itself are on their way.
        let waiting =
            outbox.waiting(|message| message.attempts() > 0 || message.envelope().run.id != run);
        let now = jiff::Timestamp::now();
        let built = overview::site::build(&config, &templates, &path, now, waiting);
        built.map_err(|error| explain(&error))
    };
    Ok(HtmlNotifier::new(folder, Box::new(build)))
}

/// The templates of the site: those of an html notifier, or ours.
///
/// # Errors
/// What is wrong with a template, with the file and the line of urldb.toml.
pub(crate) fn site_templates(
    config: &Config,
    notifier: Option<(&str, &Notify)>,
) -> anyhow::Result<SiteTemplates> {
    let Some((name, notify)) = notifier else {
        let ours = overview::site::sources(|_, ours| Ok(ours.to_owned()))?;
        return overview::site::templates(ours);
    };
    let source = Source {
        config,
        name,
        notify,
    };
    let folder = match &notify.kind {
        NotifierKind::Html(html) => html.templates.as_deref(),
        _ => None,
    };
    let sources = overview::site::sources(|name, ours| source.template(folder, name, ours))?;
    source.about("templates", overview::site::templates(sources))
}

fn new_email(source: &Source<'_>, email: &NotifyEmail) -> anyhow::Result<EmailNotifier> {
    let settings = urldb_email::Settings {
        name: source.name.to_owned(),
        from: email.from.clone(),
        to: email.to.clone(),
        transport: transport(source, &email.transport)?,
    };
    let own = email.templates.as_deref();
    let templates = urldb_email::Templates {
        html: source.template(
            own,
            "email.html",
            include_str!("../../templates/email.html"),
        )?,
    };
    let notifier = EmailNotifier::new(settings, templates);
    let key = match &notifier {
        Err(urldb_email::Error::Template(_)) => "templates",
        Err(urldb_email::Error::Authorities(_)) => "ca-file",
        Err(urldb_email::Error::PlaintextPassword { .. }) => "tls",
        _ => "type",
    };
    let notifier = source.about(key, notifier.map_err(text))?;
    source.about("templates", notifier.check(&sample()?).map_err(text))?;
    Ok(notifier)
}

fn transport(
    source: &Source<'_>,
    transport: &EmailTransport,
) -> anyhow::Result<urldb_email::Transport> {
    let (server, port, security, user, password_env, ca_file, timeout) = match transport {
        EmailTransport::Folder(folder) => {
            return Ok(urldb_email::Transport::Folder(
                source.config.mail_root(folder),
            ));
        }
        EmailTransport::Sendmail(command) => {
            return Ok(urldb_email::Transport::Sendmail {
                command: in_repository(source, command),
                timeout: MAIL_LIMIT,
            });
        }
        EmailTransport::Smtp {
            server,
            port,
            security,
            user,
            password_env,
            ca_file,
            timeout,
        } => (server, port, security, user, password_env, ca_file, timeout),
    };
    let (security, usual_port) = match security {
        SmtpSecurity::None => (urldb_email::Security::None, 25),
        SmtpSecurity::Starttls => (urldb_email::Security::Starttls, 587),
        SmtpSecurity::Implicit => (urldb_email::Security::Implicit, 465),
    };
    let login = user.as_ref().zip(password_env.as_ref());
    let credentials = login.map(|(user, variable)| {
        Ok::<_, anyhow::Error>(urldb_email::Credentials {
            user: user.clone(),
            password: source.variable("password-env", variable)?,
            source: variable.clone(),
        })
    });
    let authorities = ca_file.as_ref().map(|path| {
        let path = source.path(path);
        let read = urldb_files::read(&path, urldb_fetch::LARGEST_CA_FILE);
        source.about(
            "ca-file",
            read.with_context(|| format!("cannot read {}", path.display())),
        )
    });
    Ok(urldb_email::Transport::Smtp(urldb_email::SmtpServer {
        host: server.clone(),
        port: port.unwrap_or(usual_port),
        security,
        credentials: credentials.transpose()?,
        authorities: authorities.transpose()?,
        timeout: timeout.unwrap_or(MAIL_LIMIT),
    }))
}

/// The command; a program with a `/` is relative to the root.
fn in_repository(source: &Source<'_>, command: &[String]) -> Vec<String> {
    let mut command = command.to_vec();
    if let Some(program) = command.first_mut()
        && program.contains('/')
    {
        *program = source.path(Path::new(program)).display().to_string();
    }
    command
}
