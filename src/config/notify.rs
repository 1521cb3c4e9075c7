//! `[notify.NAME]` of urldb.toml.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::civil::Weekday;
use urldb_protocol::State;
use urldb_text::nearest;

use super::mail::{self, EmailTransport, NotifyEmail};
use super::section::Section;
use super::services::{self, NotifyCommand, NotifyIssues, NotifyWebhook};
use super::source::is_name;

/// The interval of reminders, unless a section has another: a week.
const REMIND: Duration = Duration::from_hours(7 * 24);

/// The names of the days of the week.
const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

/// One `[notify.NAME]`.
#[derive(Debug, Clone)]
pub struct Notify {
    /// The type, with its keys.
    pub kind: NotifierKind,
    /// The audience of the notifier.
    pub audience: Audience,
    /// Digest of the whole section and of whether each of its environment variables is set: 16 hexadecimal
    /// digits. A change means that a delivery that failed may work now.
    pub digest: String,
}

/// The news that a notifier tells, and the URLs that it tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audience {
    /// The kinds of news.
    pub on: BTreeSet<Occasion>,
    /// Only URLs of these hosts; all when empty.
    pub domains: Vec<DomainPattern>,
    /// Only URLs with one of these categories; all when empty.
    pub categories: Vec<String>,
    /// Only URLs of these owners; all when empty.
    pub owners: Vec<String>,
    /// The states in which an incident begins a thread; all when empty.
    pub states: Vec<State>,
    /// Only URLs that no other section tells: `else`.
    pub is_rest: bool,
    /// Only URLs that have been broken for this time, and that nobody has acknowledged.
    pub after: Option<Duration>,
    /// The interval of reminders about open incidents; [`Duration::MAX`] if there are none.
    pub remind: Duration,
    /// The day of the week with a weekly report, if there is one.
    pub digest: Option<Weekday>,
    /// Whether fewer URLs of an open incident are a reason for a report: an issue shows their number,
    /// and its edit sends no message.
    pub counts: bool,
}

/// A kind of news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Occasion {
    /// A promise is broken, or an incident has grown.
    Broken,
    /// A promise is kept again.
    Recovered,
    /// URLs flap, or no longer do.
    Flapping,
    /// A notice other than that of mistakes, such as a certificate that ends soon.
    Warning,
    /// The notice of mistakes in a domain file.
    Mistake,
    /// A run has ended, with or without news.
    EveryRun,
}

impl Occasion {
    /// All kinds of news, and their names in urldb.toml.
    pub const NAMES: [(&str, Self); 6] = [
        ("broken", Self::Broken),
        ("recovered", Self::Recovered),
        ("flapping", Self::Flapping),
        ("warning", Self::Warning),
        ("mistake", Self::Mistake),
        ("every-run", Self::EveryRun),
    ];
}

/// A host, or with `*.` in front all hosts below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainPattern(String);

impl DomainPattern {
    /// Whether the pattern names the host.
    pub fn matches(&self, host: &str) -> bool {
        match self.0.strip_prefix('*') {
            // The dot stays in front.
            Some(below) => host.ends_with(below),
            None => self.0 == host,
        }
    }

    /// The pattern as a text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The pattern of a text; `None` for another text.
    pub fn parse(text: &str) -> Option<Self> {
        let (star, host) = match text.strip_prefix("*.") {
            Some(host) => ("*.", host),
            None => ("", text),
        };
        let host = url::Host::parse(host).ok()?;
        Some(Self(format!("{star}{host}")))
    }
}

impl Audience {
    /// All news about all URLs.
    pub fn news() -> Self {
        use Occasion as O;
        Self::on([O::Broken, O::Recovered, O::Flapping, O::Warning, O::Mistake])
    }

    /// Whether the notifier tells news of this kind.
    pub fn tells(&self, occasion: Occasion) -> bool {
        self.on.contains(&occasion) || self.on.contains(&Occasion::EveryRun)
    }

    /// Whether the notifier tells that promises are broken.
    pub fn tells_breaks(&self) -> bool {
        self.tells(Occasion::Broken)
    }

    /// The report of every run.
    pub fn every_run() -> Self {
        Self::on([Occasion::EveryRun])
    }

    fn on(on: impl IntoIterator<Item = Occasion>) -> Self {
        Self {
            on: on.into_iter().collect(),
            domains: vec![],
            categories: vec![],
            owners: vec![],
            states: vec![],
            is_rest: false,
            after: None,
            remind: REMIND,
            digest: None,
            counts: false,
        }
    }
}

/// The type of a notifier, with the keys of that type.
#[derive(Debug, Clone)]
pub enum NotifierKind {
    /// `type = "email"`.
    Email(NotifyEmail),
    /// `type = "html"`.
    Html(NotifyHtml),
    /// `type = "webhook"`.
    Webhook(NotifyWebhook),
    /// `type = "issues"`.
    Issues(NotifyIssues),
    /// `type = "command"`, or a type for which a program is on PATH.
    Command(NotifyCommand),
}

impl NotifierKind {
    /// The types that urldb.toml can name.
    pub const NAMES: [&str; 5] = ["email", "html", "webhook", "issues", "command"];

    /// The value of `type`; of a plugin, `command`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Email(_) => "email",
            Self::Html(_) => "html",
            Self::Webhook(_) => "webhook",
            Self::Issues(_) => "issues",
            Self::Command(_) => "command",
        }
    }

    /// The folder of a notifier that only writes files, which send no message to people.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Html(html) => Some(&html.path),
            Self::Email(email) => match &email.transport {
                EmailTransport::Folder(folder) => Some(folder),
                EmailTransport::Smtp(_) | EmailTransport::Sendmail(_) => None,
            },
            Self::Webhook(_) | Self::Issues(_) | Self::Command(_) => None,
        }
    }
}

/// The keys of an HTML notifier.
#[derive(Debug, Clone)]
pub struct NotifyHtml {
    /// The folder that the page is written into.
    pub path: PathBuf,
    /// A folder of templates that stand in for ours of the same name.
    pub templates: Option<PathBuf>,
}

pub(super) fn notifier(name: &str, section: &Section<'_>) -> Option<Notify> {
    if !is_name(name) {
        section.problem(
            "the name of a notifier has only lower-case letters, digits and hyphens, and at most \
             40 characters",
        );
    }
    let digest = section.digest();
    let kind = section.text("type");
    let audience = audience(section, kind.as_deref());
    let kind = match kind.as_deref() {
        None => {
            section.know_all();
            section.problem(format!("`type` is missing: {}", types()));
            return None;
        }
        Some("email") => mail::email(section).map(NotifierKind::Email),
        Some("html") => html(section).map(NotifierKind::Html),
        Some("webhook") => Some(NotifierKind::Webhook(services::webhook(section))),
        Some("issues") => services::issues(section).map(NotifierKind::Issues),
        Some("command") => services::command(section).map(NotifierKind::Command),
        Some(other) if is_plugin(other) => {
            Some(NotifierKind::Command(services::plugin(section, other)))
        }
        Some(other) => {
            let advice = nearest(other, NotifierKind::NAMES).map_or_else(
                || format!("known are {}", types()),
                |near| format!("did you mean \"{near}\"?"),
            );
            section.know_all();
            section.wrong(
                "type",
                format!("no notifier is of type \"{other}\"; {advice}"),
            );
            return None;
        }
    };
    Some(Notify {
        kind: kind?,
        audience,
        digest,
    })
}

/// Whether a plugin can have the type. A type that nearly equals a built-in one is a misspelling.
fn is_plugin(kind: &str) -> bool {
    is_name(kind) && nearest(kind, NotifierKind::NAMES).is_none()
}

fn types() -> String {
    NotifierKind::NAMES
        .map(|name| format!("\"{name}\""))
        .join(", ")
}

fn audience(section: &Section<'_>, kind: Option<&str>) -> Audience {
    let default = match kind {
        Some("html") => Audience::every_run(),
        _ => Audience::news(),
    };
    let on = section.checked_list("on", |text| {
        Occasion::NAMES
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, occasion)| *occasion)
            .ok_or_else(|| {
                let names = Occasion::NAMES.map(|(name, _)| name);
                unknown("kind of news", text, &names)
            })
    });
    let domains = section.checked_list("domains", |text| {
        DomainPattern::parse(text).ok_or_else(|| {
            format!("\"{text}\" is no host, such as \"example.org\" or \"*.example.org\"")
        })
    });
    let states = section.checked_list("states", |text| {
        text.parse::<State>().map_err(|_| {
            let names: Vec<_> = State::ALL.iter().map(|state| state.as_str()).collect();
            unknown("state", text, &names)
        })
    });
    let names = |key, kind: &str| {
        section
            .checked_list(key, |text| match text {
                "" => Err(format!("{kind} is not empty")),
                text => Ok(text.to_owned()),
            })
            .unwrap_or_default()
    };
    let audience = Audience {
        on: on.map_or(default.on, |on| on.into_iter().collect()),
        domains: domains.unwrap_or_default(),
        categories: names("categories", "a category"),
        owners: names("owners", "an owner"),
        states: states.unwrap_or_default(),
        is_rest: section.flag("else").unwrap_or_default(),
        after: section.duration("after"),
        remind: section.interval("remind").unwrap_or(default.remind),
        digest: digest(section, kind),
        counts: kind == Some("issues"),
    };
    for (key, is_set) in [
        ("else", audience.is_rest),
        ("after", audience.after.is_some()),
    ] {
        if is_set && kind == Some("html") {
            section.wrong(
                key,
                format!("`{key}` is about messages, and the site shows all URLs"),
            );
        } else if is_set && !audience.tells_breaks() {
            section.wrong(key, format!("`{key}` needs \"broken\" in `on`"));
        }
    }
    audience
}

/// The day of the weekly report.
fn digest(section: &Section<'_>, kind: Option<&str>) -> Option<Weekday> {
    let day = section.choice("digest", &WEEKDAYS)?;
    let is_pager = || section.text("template").as_deref() == Some("pagerduty");
    if matches!(kind, Some("html" | "issues")) || kind == Some("webhook") && is_pager() {
        let message = "`digest` is for messages that people read, such as mail";
        section.wrong("digest", message.to_owned());
    }
    Some(day)
}

fn unknown(what: &str, text: &str, known: &[&str]) -> String {
    match nearest(text, known.iter().copied()) {
        Some(near) => format!("unknown {what} \"{text}\"; did you mean \"{near}\"?"),
        None => format!("unknown {what} \"{text}\"; known are {}", known.join(", ")),
    }
}

fn html(section: &Section<'_>) -> Option<NotifyHtml> {
    let path = section.text("path").map(PathBuf::from);
    let templates = section.text("templates").map(PathBuf::from);
    let meaning = ": the folder that the page is written into";
    section.need("path", meaning);
    path.map(|path| NotifyHtml { path, templates })
}
