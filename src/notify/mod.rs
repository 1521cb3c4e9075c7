//! Delivers reports through the notifiers that urldb.toml names.
//!
//! A report with news goes into the [`Outbox`] first, and leaves it after its
//! delivery. A run that is killed in between loses no message, and the next
//! run repeats a failed delivery.

mod outbox;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use urldb_email::EmailNotifier;
use urldb_html::HtmlNotifier;
use urldb_protocol::{DeliveryOutcome, DeliveryReport, Envelope, Notifier, Trigger};

pub use outbox::Outbox;

use crate::config::{Config, EmailTransport, Notify, NotifyEmail, NotifyHtml, SmtpSecurity};
use crate::explain::explain;

/// The most time that one delivery may take.
const TIME_LIMIT: Duration = Duration::from_mins(2);

/// The notifiers of one configuration.
pub struct Notifiers(Vec<(String, Box<dyn Notifier>)>);

/// The result of one delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The notifier's name in urldb.toml.
    pub notifier: String,
    /// The result, for people.
    pub message: String,
    /// Whether the delivery failed for good, so that another attempt is useless.
    pub failed: bool,
}

impl Notifiers {
    /// Makes the notifiers that urldb.toml names.
    ///
    /// # Errors
    /// When a notifier cannot work: a run learns this before it fetches anything.
    pub fn new(config: &Config) -> anyhow::Result<Self> {
        let made = config.notifiers.iter().map(|(name, notify)| {
            let notifier = new_notifier(&config.root, notify)
                .with_context(|| format!("[notify.{name}] cannot work"))?;
            Ok((name.clone(), notifier))
        });
        made.collect::<anyhow::Result<_>>().map(Self)
    }

    /// Puts a report with news into the outbox, for each notifier that wants news.
    pub fn post(&self, outbox: &Outbox, envelope: &Envelope) -> anyhow::Result<()> {
        if !envelope.has_news() {
            return Ok(());
        }
        let mut pending = self
            .0
            .iter()
            .filter(|(_, notifier)| notifier.trigger() == Trigger::News);
        pending.try_for_each(|(name, _)| outbox.put(name, envelope))
    }

    /// Delivers the messages in the outbox, the oldest first, and this run's
    /// report to the notifiers that want every report.
    pub fn deliver(&self, outbox: &Outbox, envelope: &Envelope) -> anyhow::Result<Vec<Delivery>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start what delivers messages")?;
        let mut delivered = vec![];
        for (name, notifier) in &self.0 {
            let deliver =
                |envelope: &Envelope| runtime.block_on(within_time(notifier.as_ref(), envelope));
            match notifier.trigger() {
                Trigger::EveryRun => delivered.push(delivery(name, deliver(envelope))),
                Trigger::News => {
                    for pending in outbox.pending(name) {
                        let done = pending.and_then(|pending| {
                            let report = deliver(&pending.envelope);
                            if report.outcome != DeliveryOutcome::Retry {
                                pending.remove()?;
                            }
                            Ok(delivery(name, report))
                        });
                        delivered.push(done.unwrap_or_else(|error| failed_delivery(name, &error)));
                    }
                }
            }
        }
        Ok(delivered)
    }
}

/// The folders that deliveries write to.
pub fn folders(config: &Config, outbox: &Outbox) -> Vec<PathBuf> {
    let written = config.notifiers.values().filter_map(|notify| match notify {
        Notify::Html(html) => Some(config.root.join(&html.path)),
        Notify::Email(NotifyEmail {
            transport: EmailTransport::Folder(folder),
            ..
        }) => Some(config.root.join(folder)),
        Notify::Email(_) => None,
    });
    written.chain(outbox.folders()).collect()
}

async fn within_time(notifier: &dyn Notifier, envelope: &Envelope) -> DeliveryReport {
    let late =
        || DeliveryReport::retry(format!("no answer within {} seconds", TIME_LIMIT.as_secs()));
    tokio::time::timeout(TIME_LIMIT, notifier.deliver(envelope))
        .await
        .unwrap_or_else(|_| late())
}

/// The result for a message that cannot be read or removed; other messages still go out.
fn failed_delivery(name: &str, error: &anyhow::Error) -> Delivery {
    Delivery {
        notifier: name.to_owned(),
        message: explain(error),
        failed: true,
    }
}

fn delivery(name: &str, report: DeliveryReport) -> Delivery {
    let message = match report.outcome {
        DeliveryOutcome::Delivered => report.message,
        DeliveryOutcome::Retry => format!("{}; the next run will try again", report.message),
        DeliveryOutcome::Failed => format!("not delivered: {}", report.message),
    };
    Delivery {
        notifier: name.to_owned(),
        message,
        failed: report.outcome == DeliveryOutcome::Failed,
    }
}

fn new_notifier(root: &Path, notify: &Notify) -> anyhow::Result<Box<dyn Notifier>> {
    Ok(match notify {
        Notify::Email(email) => Box::new(new_email(root, email)?),
        Notify::Html(NotifyHtml { path, templates }) => {
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

fn new_email(root: &Path, email: &NotifyEmail) -> anyhow::Result<EmailNotifier> {
    let transport = match &email.transport {
        EmailTransport::Folder(folder) => urldb_email::Transport::Folder(root.join(folder)),
        EmailTransport::Smtp {
            server,
            port,
            security,
            user,
            password_env,
        } => urldb_email::Transport::Smtp {
            server: server.clone(),
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
            timeout: TIME_LIMIT / 4,
        },
    };
    let settings = urldb_email::Settings {
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
