//! Makes notifiers from their sections of urldb.toml.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use urldb_email::EmailNotifier;
use urldb_html::{HtmlNotifier, SiteTemplates};
use urldb_protocol::Notifier;

use super::outbox::Outbox;
use super::section::{EMAIL, NotifierSection, OUR_EMAIL, text};
use super::services::{new_command, new_issues, new_webhook};
use super::test_message::sample;
use crate::config::{
    Config, EmailTransport, NotifierKind, Notify, NotifyEmail, NotifyHtml, SmtpSecurity,
};
use crate::explain::explain;
use crate::overview;

/// The most time for one mail; connecting counts.
const MAIL_LIMIT: Duration = Duration::from_secs(30);

/// Makes the notifier `name`, and renders its templates once. Contacts nobody.
///
/// # Errors
/// When the section has a fault. The error names the file and the line.
pub(super) fn new_notifier(
    config: &Config,
    name: &str,
    notify: &Notify,
) -> anyhow::Result<Box<dyn Notifier>> {
    let section = NotifierSection {
        config,
        name,
        notify,
    };
    Ok(match &notify.kind {
        NotifierKind::Email(email) => Box::new(new_email(&section, email)?),
        NotifierKind::Html(html) => Box::new(new_html(&section, html)?),
        NotifierKind::Webhook(webhook) => Box::new(new_webhook(&section, webhook)?),
        NotifierKind::Issues(issues) => Box::new(new_issues(&section, issues)?),
        NotifierKind::Command(command) => Box::new(new_command(&section, command)?),
    })
}

fn new_html(section: &NotifierSection<'_>, html: &NotifyHtml) -> anyhow::Result<HtmlNotifier> {
    let templates = site_templates(section.config, Some((section.name, section.notify)))?;
    let folder = section.config.site_root(&html.path);
    let (config, path) = (section.config.clone(), folder.clone());
    let build = move |run: &str| {
        let outbox = Outbox::new(&config.ledger_root());
        // The messages of the run itself are on their way.
        let waiting =
            outbox.waiting(|message| message.attempts() > 0 || message.envelope().run.id != run);
        let now = jiff::Timestamp::now();
        overview::site::build(&config, &templates, &path, now, waiting)
            .map_err(|error| explain(&error))
    };
    Ok(HtmlNotifier::new(folder, Box::new(build)))
}

/// The templates of the site: those of an html notifier, or ours.
///
/// # Errors
/// When a template has a fault. The error names the file and the line of urldb.toml.
pub(crate) fn site_templates(
    config: &Config,
    notifier: Option<(&str, &Notify)>,
) -> anyhow::Result<SiteTemplates> {
    let Some((name, notify)) = notifier else {
        let ours = overview::site::sources(|_, ours| Ok(ours.to_owned()))?;
        return overview::site::templates(ours);
    };
    let section = NotifierSection {
        config,
        name,
        notify,
    };
    let folder = match &notify.kind {
        NotifierKind::Html(html) => html.templates.as_deref(),
        _ => None,
    };
    let sources = overview::site::sources(|name, ours| section.template(folder, name, ours))?;
    section.about("templates", overview::site::templates(sources))
}

fn new_email(section: &NotifierSection<'_>, email: &NotifyEmail) -> anyhow::Result<EmailNotifier> {
    let settings = urldb_email::Settings {
        name: section.name.to_owned(),
        from: email.from.clone(),
        to: email.to.clone(),
        transport: transport(section, &email.transport)?,
    };
    let own = email.templates.as_deref();
    let templates = urldb_email::Templates {
        html: section.template(own, EMAIL, OUR_EMAIL)?,
    };
    let notifier = EmailNotifier::new(settings, templates);
    let key = match &notifier {
        Err(urldb_email::Error::Template(_)) => "templates",
        Err(urldb_email::Error::Authorities(_)) => "ca-file",
        Err(urldb_email::Error::PlaintextPassword { .. }) => "tls",
        _ => "type",
    };
    let notifier = section.about(key, notifier.map_err(text))?;
    section.about("templates", notifier.check(&sample()?).map_err(text))?;
    Ok(notifier)
}

fn transport(
    section: &NotifierSection<'_>,
    transport: &EmailTransport,
) -> anyhow::Result<urldb_email::Transport> {
    let smtp = match transport {
        EmailTransport::Folder(folder) => {
            return Ok(urldb_email::Transport::Folder(
                section.config.mail_root(folder),
            ));
        }
        EmailTransport::Sendmail(command) => {
            return Ok(urldb_email::Transport::Sendmail {
                command: in_repository(section, command),
                timeout: MAIL_LIMIT,
            });
        }
        EmailTransport::Smtp(smtp) => smtp,
    };
    let (security, usual_port) = match smtp.security {
        SmtpSecurity::None => (urldb_email::Security::None, 25),
        SmtpSecurity::Starttls => (urldb_email::Security::Starttls, 587),
        SmtpSecurity::Implicit => (urldb_email::Security::Implicit, 465),
    };
    let credentials = smtp
        .user
        .as_ref()
        .zip(smtp.password_env.as_ref())
        .map(|(user, variable)| {
            Ok::<_, anyhow::Error>(urldb_email::Credentials {
                user: user.clone(),
                password: section.variable("password-env", variable)?,
                source: variable.clone(),
            })
        });
    let authorities = smtp.ca_file.as_ref().map(|path| {
        let path = section.path(path);
        let read = urldb_files::read(&path, urldb_fetch::LARGEST_CA_FILE);
        section.about(
            "ca-file",
            read.with_context(|| format!("cannot read {}", path.display())),
        )
    });
    Ok(urldb_email::Transport::Smtp(urldb_email::SmtpServer {
        host: smtp.server.clone(),
        port: smtp.port.unwrap_or(usual_port),
        security,
        hello: smtp.hello.clone(),
        credentials: credentials.transpose()?,
        authorities: authorities.transpose()?,
        timeout: smtp.timeout.unwrap_or(MAIL_LIMIT),
    }))
}

/// The command; a program with a `/` is relative to the root.
fn in_repository(section: &NotifierSection<'_>, command: &[String]) -> Vec<String> {
    let mut command = command.to_vec();
    if let Some(program) = command.first_mut()
        && program.contains('/')
    {
        *program = section.path(Path::new(program)).display().to_string();
    }
    command
}
