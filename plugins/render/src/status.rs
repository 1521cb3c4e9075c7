//! The state of all promises, of one host or of one URL: for a terminal, and as data for programs.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_protocol::{
    Envelope, FileCounts, Finding, HostOverview, Incident, IncidentOverview, Mistake, Overview,
    PROTOCOL, Phase, ProjectInfo, RunInfo, RunSummary, Severity, Standing, State, Summary, Totals,
    UrlOverview, WaitingMessages,
};

use crate::compose::{IncidentTitle, Lookup, open_groups, selection, warning_titles};
use crate::layout::{columns, wrap};
use crate::message::{Class, Headline, Tone};
use crate::numbers::{age, bytes, count, day, digest, moment, number, share, share_with};
use crate::shell::command_line;
use crate::site::capitalized;
use crate::terminal::{BOLD, DIM, TerminalOptions, paint, style};
use crate::text::Text;

/// Most incidents, mistakes, warnings, hosts or URLs as promised, unless all are wanted.
const MOST: usize = 30;

/// Most selections of later runs that are named.
const MOST_SELECTIONS: usize = 3;

/// What a status is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusScope<'a> {
    /// The whole database.
    All,
    /// The promises of one host.
    Host(&'a HostOverview),
    /// One record: its URLs, over each scheme.
    Record,
    /// The URLs that a filter has kept. The text says which, after `3 of 1,247 URLs`.
    Filtered(&'a str),
}

/// The status of the promises as one JSON document, of `urldb status --format json` and of the site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct StatusDocument {
    /// The protocol number, as in an envelope. Within one number the document only gains fields.
    pub protocol: u32,
    /// The project.
    pub project: ProjectInfo,
    /// The start of the last run; absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Timestamp>,
    /// Hours after the last run from which on the document is out of date.
    pub stale_after_hours: u64,
    /// The latest time of a run that lies in the future: its clock was wrong, and it is no last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub future_run: Option<Timestamp>,
    /// The notifiers with messages that wait in the outbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outbox: Vec<WaitingMessages>,
    /// The last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<RunSummary>,
    /// The last run over the whole database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_complete_run: Option<RunSummary>,
    /// Counts of URLs over the whole database.
    pub totals: Totals,
    /// Counts of static URLs.
    pub files: FileCounts,
    /// The open incidents, the latest first.
    pub incidents: Vec<StatusIncident>,
    /// Mistakes in domain files.
    pub mistakes: Vec<Mistake>,
    /// Kept promises with a remark.
    pub warnings: Vec<Finding>,
    /// The hosts, sorted by name.
    pub hosts: Vec<HostOverview>,
    /// The URLs that were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<UrlOverview>,
}

/// An open incident in a [`StatusDocument`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct StatusIncident {
    /// The id.
    pub id: String,
    /// One sentence for people.
    pub title: String,
    /// The host that was asked.
    pub host: String,
    /// The state of the affected URLs.
    pub state: State,
    /// The text of the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When the first affected URL was first seen in the state.
    pub since: Timestamp,
    /// When the run that opened the incident began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<Timestamp>,
    /// Number of affected URLs.
    pub urls: u64,
}

/// The status as data.
pub fn status_document(overview: &Overview, urls: Vec<UrlOverview>) -> StatusDocument {
    let titles = Titles::new(overview);
    let incidents = overview.open.iter().map(|it| {
        let incident = &it.incident;
        StatusIncident {
            id: incident.id.clone(),
            title: titles.of(it).plain(),
            host: incident.host.clone(),
            state: incident.state,
            reason: it.reason.clone(),
            since: incident.since,
            opened: incident.opened,
            urls: incident.affected().count() as u64,
        }
    });
    StatusDocument {
        protocol: PROTOCOL,
        project: overview.project.clone(),
        as_of: overview.last_run.as_ref().map(|run| run.at),
        stale_after_hours: overview.stale_after,
        future_run: overview.future_run,
        outbox: overview.waiting.clone(),
        last_run: overview.last_run.clone(),
        last_complete_run: overview.last_complete.clone(),
        totals: overview.totals.clone(),
        files: overview.files,
        incidents: incidents.collect(),
        mistakes: overview.mistakes.clone(),
        warnings: overview.warnings.clone(),
        hosts: overview.hosts.clone(),
        urls,
    }
}

/// `a run has a time in the future (2027-06-01): its clock was wrong`
pub fn wrong_clock(run: Timestamp) -> String {
    let day = day(run);
    format!("a run has a time in the future ({day}): its clock was wrong")
}

/// Sentences about urldb itself: a wrong clock, and messages that wait.
pub fn remarks(overview: &Overview) -> impl Iterator<Item = String> {
    let clock = overview.future_run.map(wrong_clock);
    let clock = clock.map(|text| format!("{}.", capitalized(&text)));
    let waiting = overview.waiting.iter().map(|waiting| {
        let messages = count(waiting.messages, "message");
        let verb = if waiting.messages == 1 {
            "waits"
        } else {
            "wait"
        };
        let since = waiting
            .since
            .map(|since| format!(" since {}", moment(since)));
        let since = since.unwrap_or_default();
        format!(
            "{messages} of the notifier {} {verb}{since}.",
            waiting.notifier
        )
    });
    clock.into_iter().chain(waiting)
}

/// Titles of incidents, in the words of messages.
pub struct Titles(HashMap<String, Text>);

impl Titles {
    /// The titles of the incidents of an overview.
    pub fn new(overview: &Overview) -> Self {
        let all = overview.open.iter().chain(&overview.closed);
        // The URLs of a closed incident may be those of an open one, with another cause.
        let mut envelope = empty_envelope(overview);
        let titles = all.map(|it| {
            envelope.findings = finding(it).into_iter().collect();
            // A list of closed incidents says what was wrong.
            let incident = Incident {
                phase: Phase::Unchanged,
                closed: None,
                ..it.incident.clone()
            };
            let title = open_groups(&[&incident], &Lookup::new(&envelope)).pop();
            let title = title.map_or_else(Text::new, |IncidentTitle { title, .. }| title);
            (it.incident.id.clone(), title)
        });
        Self(titles.collect())
    }

    /// `docs.example.org answers 404 Not Found (3 of 120 URLs)`.
    pub fn of(&self, it: &IncidentOverview) -> Text {
        self.0.get(&it.incident.id).cloned().unwrap_or_default()
    }
}

/// An envelope that says of the open incidents what their titles need.
fn envelope(overview: &Overview) -> Envelope {
    Envelope {
        findings: overview.open.iter().filter_map(finding).collect(),
        mistakes: overview.mistakes.clone(),
        ..empty_envelope(overview)
    }
}

fn finding(it: &IncidentOverview) -> Option<Finding> {
    let incident = &it.incident;
    let first = incident.urls.first()?;
    let url = match incident.evidence.url.as_str() {
        "" => &first.url,
        url => url,
    };
    let code = if it.domain == incident.host {
        incident.state.as_str()
    } else {
        "alias-differs"
    };
    Some(Finding {
        code: code.to_owned(),
        severity: Severity::Error,
        url: url.to_owned(),
        file: first.file.clone(),
        line: first.line,
        categories: vec![],
        message: incident.evidence.detail.clone(),
        state: incident.state,
        reason: it.reason.clone(),
        expected: None,
        observed: None,
        not_archived: None,
        attempts: 0,
        since: Some(incident.since),
        pending: false,
        new: false,
        muted: false,
    })
}

/// An envelope without findings.
fn empty_envelope(overview: &Overview) -> Envelope {
    let ProjectInfo {
        name,
        url,
        site_url,
        commit,
    } = overview.project.clone();
    Envelope {
        protocol: PROTOCOL,
        run: RunInfo {
            id: String::new(),
            started: overview.now,
            finished: overview.now,
            version: overview.version.clone(),
            repository: name.clone(),
            project: name,
            project_url: url,
            site_url,
            commit,
            selection: None,
            interrupted: false,
            test: false,
        },
        incidents: vec![],
        findings: vec![],
        mistakes: vec![],
        fixed: vec![],
        changes: vec![],
        delay: None,
        archived: vec![],
        summary: Summary {
            states: std::collections::BTreeMap::new(),
            warnings: overview.warnings.len() as u64,
            coverage: urldb_protocol::Coverage::default(),
            totals: overview.totals.clone(),
        },
    }
}

/// The status as lines for a terminal. `urls` are the URLs that were asked for.
pub fn status(
    overview: &Overview,
    scope: StatusScope<'_>,
    urls: &[UrlOverview],
    options: TerminalOptions,
) -> String {
    let envelope = envelope(overview);
    let mut page = Page {
        overview,
        lookup: Lookup::new(&envelope),
        options,
        lines: vec![],
    };
    match scope {
        StatusScope::All => page.all(),
        StatusScope::Host(host) => page.host(host, urls),
        StatusScope::Record => page.record(urls),
        StatusScope::Filtered(filter) => page.filtered(filter, urls),
    }
    let mut text = page.lines.join("\n");
    text.push('\n');
    text
}

struct Page<'a> {
    overview: &'a Overview,
    lookup: Lookup<'a>,
    options: TerminalOptions,
    lines: Vec<String>,
}

/// Counts of URLs that a headline is about.
struct Counts {
    urls: u64,
    affected: u64,
    muted: u64,
    unconfirmed: u64,
    unknown: u64,
    incidents: u64,
    mistakes: u64,
}

impl Page<'_> {
    fn all(&mut self) {
        let overview = self.overview;
        let Totals {
            urls,
            affected,
            muted,
            unconfirmed,
            unknown,
            ..
        } = overview.totals;
        let counts = Counts {
            urls,
            affected,
            muted,
            unconfirmed,
            unknown,
            incidents: overview.open.len() as u64,
            mistakes: overview.mistakes.len() as u64,
        };
        self.headline(&counts, "");
        self.remarks();
        let incidents: Vec<&IncidentOverview> = overview.open.iter().collect();
        let mistakes: Vec<&Mistake> = overview.mistakes.iter().collect();
        let warnings: Vec<&Finding> = overview.warnings.iter().collect();
        if !self.options.quiet || counts.affected > 0 {
            self.news(&incidents, &mistakes, &warnings);
        }
        if self.options.quiet {
            return;
        }
        self.hosts();
        self.last_runs();
        if !overview.open.is_empty() {
            self.push("To see one host: urldb status HOST. Its history: urldb log HOST.");
        }
    }

    fn host(&mut self, host: &HostOverview, urls: &[UrlOverview]) {
        let open = self.overview.open.iter();
        let incidents: Vec<_> = open
            .filter(|it| host.incidents.contains(&it.incident.id))
            .collect();
        let mistakes = self.overview.mistakes.iter();
        let mistakes: Vec<_> = mistakes
            .filter(|mistake| mistake.file == host.file)
            .collect();
        let warnings = self.overview.warnings.iter();
        let warnings: Vec<_> = warnings
            .filter(|finding| finding.file == host.file)
            .collect();
        let counts = Counts {
            urls: host.urls,
            affected: host.affected,
            muted: host.muted,
            unconfirmed: host.unconfirmed,
            unknown: host.unknown,
            incidents: incidents.len() as u64,
            mistakes: mistakes.len() as u64,
        };
        self.headline(&counts, &format!(" of {}", host.host));
        self.news(&incidents, &mistakes, &warnings);
        let (kept, others): (Vec<_>, Vec<_>) =
            urls.iter().partition(|url| url.standing == Standing::Kept);
        let room = if self.options.all_urls {
            kept.len()
        } else {
            MOST.saturating_sub(others.len())
        };
        let more = kept.len().saturating_sub(room) as u64;
        let rows: Vec<&UrlOverview> = others
            .into_iter()
            .chain(kept.into_iter().take(room))
            .collect();
        self.url_rows(&rows, &format!("://{}", host.host));
        if more > 0 {
            self.push(format!(
                "and {} more as promised; --verbose shows all",
                number(more)
            ));
        }
        self.gap();
        let checked = match (host.checked, host.all_checked) {
            (None, _) => "Never checked.".to_owned(),
            (Some(last), Some(all)) if all == last => format!("Last checked: {}.", self.ago(last)),
            (Some(last), Some(all)) => {
                format!(
                    "Last checked: {}, every URL since {}.",
                    self.ago(last),
                    moment(all)
                )
            }
            (Some(last), None) => format!("Last checked: {}, but not every URL.", self.ago(last)),
        };
        self.wrapped(&Text::from(checked), 0);
        if let Some(log) = command_line(&["urldb", "log", &host.host]) {
            self.push(format!("Its history: {log}"));
        }
    }

    fn record(&mut self, urls: &[UrlOverview]) {
        for url in urls {
            self.gap();
            self.url(url);
        }
    }

    fn filtered(&mut self, filter: &str, urls: &[UrlOverview]) {
        let all = self.overview.totals.urls;
        let found = urls.len() as u64;
        let rows: Vec<&UrlOverview> = urls.iter().collect();
        let is_bad = urls.iter().any(|url| url.standing == Standing::Affected);
        let headline = match found {
            0 => Headline {
                tone: Tone::Good,
                call: "None".to_owned(),
                text: Text::from(format!("no URL {filter}")),
            },
            _ => Headline {
                tone: if is_bad { Tone::Bad } else { Tone::Warn },
                call: "Found".to_owned(),
                text: Text::from(format!("{} {filter}", share(found, all, "URL"))),
            },
        };
        self.print_headline(&headline);
        self.url_rows(&rows, "");
    }

    fn headline(&mut self, counts: &Counts, whose: &str) {
        let is_checked = self.overview.last_run.is_some();
        let headline = headline(counts, whose, is_checked);
        let headline = match headline.tone {
            Tone::Good if !self.overview.waiting.is_empty() => Headline {
                tone: Tone::Warn,
                call: "Not everything was sent".to_owned(),
                ..headline
            },
            _ => headline,
        };
        self.print_headline(&headline);
    }

    fn remarks(&mut self) {
        let remarks: Vec<String> = remarks(self.overview).collect();
        if remarks.is_empty() {
            return;
        }
        self.gap();
        for remark in remarks {
            self.wrapped(&Text::from(remark), 0);
        }
        if !self.overview.waiting.is_empty() {
            self.command("to see why messages wait", &["urldb", "notify", "list"]);
        }
    }

    fn print_headline(&mut self, headline: &Headline) {
        let call = format!("{}:", headline.call);
        let text = headline.text.clone().own(".");
        let lines = wrap(&text, self.options.width, columns(&call) + 1, 0);
        let mut lines = lines.into_iter();
        let first = lines.next().unwrap_or_default();
        self.push(format!("{} {first}", paint(style(headline.tone), &call)));
        self.lines.extend(lines);
    }

    /// Open incidents, mistakes and warnings, each on a line with its first fact below.
    fn news(
        &mut self,
        incidents: &[&IncidentOverview],
        mistakes: &[&Mistake],
        warnings: &[&Finding],
    ) {
        if incidents.is_empty() && mistakes.is_empty() && warnings.is_empty() {
            return;
        }
        self.gap();
        let incidents: Vec<_> = incidents.iter().map(|it| &it.incident).collect();
        let groups = open_groups(&incidents, &self.lookup);
        let shown = self.shown(groups.len());
        let more = groups.len() - shown;
        for group in groups.into_iter().take(shown) {
            self.title(Class::Broken, &group.title);
            let mut since = Text::from("since ").own(moment(group.since));
            let age = age(group.since, self.overview.now);
            if age.ends_with("day") || age.ends_with("days") {
                since = since.own(format!(" ({age})"));
            }
            if group.is_muted {
                since = since.own(", muted");
            }
            self.wrapped(&since, 2);
        }
        self.more(more, "incident");
        let shown = self.shown(mistakes.len());
        for mistake in &mistakes[..shown] {
            self.title(Class::Mistake, &Text::new().outside(&mistake.message));
            let place = Text::new().path(&format!("{}:{}", mistake.file, mistake.line));
            self.push(format!("  {} {}", paint(DIM, "-->"), place.plain()));
        }
        self.more(mistakes.len() - shown, "mistake");
        let titles = warning_titles(warnings, &self.lookup);
        let shown = self.shown(titles.len());
        let more = titles.len() - shown;
        for title in titles.into_iter().take(shown) {
            self.title(Class::Warning, &title);
        }
        self.more(more, "warning");
    }

    fn title(&mut self, class: Class, title: &Text) {
        let word = class.as_str();
        let lines = wrap(title, self.options.width, columns(word) + 2, 2);
        let mut lines = lines.into_iter();
        let first = paint(BOLD, &lines.next().unwrap_or_default());
        self.push(format!("{}: {first}", paint(style(class.tone()), word)));
        for line in lines {
            self.push(format!("  {}", paint(BOLD, &line)));
        }
    }

    fn more(&mut self, more: usize, noun: &str) {
        if more > 0 {
            let more = count(more as u64, noun);
            self.push(format!("and {} more; --verbose shows all", plain(&more)));
        }
    }

    fn shown(&self, number: usize) -> usize {
        if self.options.all_urls {
            number
        } else {
            number.min(MOST)
        }
    }

    fn hosts(&mut self) {
        let hosts = &self.overview.hosts;
        if hosts.is_empty() {
            return;
        }
        // Affected hosts are never left out; the order is that of names.
        let is_fine = |host: &HostOverview| host.affected == 0;
        let affected = hosts.iter().filter(|host| !is_fine(host)).count();
        let mut room = self.shown(hosts.len()).saturating_sub(affected);
        let shown: Vec<&HostOverview> = hosts
            .iter()
            .filter(|host| {
                let is_shown = !is_fine(host) || room > 0;
                room = room.saturating_sub(usize::from(is_fine(host)));
                is_shown
            })
            .collect();
        let names = shown
            .iter()
            .map(|host| Text::new().code(&host.host).plain());
        let names: Vec<String> = names.collect();
        let width = |of: &dyn Fn(&HostOverview) -> usize, least: usize| {
            shown
                .iter()
                .map(|host| of(host))
                .max()
                .unwrap_or_default()
                .max(least)
        };
        let name = names.iter().map(|name| columns(name)).max();
        let name = name.unwrap_or_default().max(4);
        let urls = width(&|host| number(host.urls).len(), 5);
        let broken = width(&|host| number(host.affected).len(), 6);
        self.gap();
        let header = format!(
            "{:name$}  {:>urls$}  {:>broken$}  last compared in full",
            "host", "URLs", "broken"
        );
        self.push(paint(DIM, &header));
        for (host, host_name) in shown.iter().zip(&names) {
            let affected = match host.affected {
                0 => format!("{:>broken$}", "-"),
                affected => paint(style(Tone::Bad), &format!("{:>broken$}", number(affected))),
            };
            let line = format!(
                "{host_name:name$}  {:>urls$}  {affected}  {}",
                number(host.urls),
                plain(&compared(host))
            );
            self.push(line);
        }
        let more = (hosts.len() - shown.len()) as u64;
        if more > 0 {
            let more = plain(&count(more, "more host"));
            self.push(format!(
                "and {more} without broken URLs; --verbose shows all"
            ));
        }
    }

    /// When the whole database was checked last, and what was checked since.
    fn last_runs(&mut self) {
        let overview = self.overview;
        if overview.last_run.is_none() {
            return;
        }
        let mut text = match &overview.last_complete {
            Some(run) => Text::from(format!("Last run over everything: {}.", self.ago(run.at))),
            None => Text::from("No run over everything yet."),
        };
        let later = &overview.since_complete;
        let skipped = later.len().saturating_sub(MOST_SELECTIONS);
        for (index, run) in later.iter().skip(skipped).enumerate() {
            let same_day = overview.last_complete.as_ref();
            let same_day = same_day.is_some_and(|complete| day(complete.at) == day(run.at));
            let at = if same_day {
                run.at.strftime("%H:%M\u{a0}UTC").to_string()
            } else {
                moment(run.at)
            };
            let begin = if index == 0 { " Since then: " } else { "; " };
            let part = run.selection.as_deref().map_or_else(Text::new, selection);
            text = text.own(begin).and(part).own(format!(" at {at}, "));
            text = text.own(of_run(run));
        }
        if !later.is_empty() {
            text = text.own(".");
        }
        if overview.open.is_empty()
            && let Some(last) = overview.closed.first()
        {
            text = text.own(format!(" Last incident: {}.", day(last.incident.since)));
        }
        self.gap();
        self.wrapped(&text, 0);
    }

    fn url_rows(&mut self, urls: &[&UrlOverview], prefix: &str) {
        if urls.is_empty() {
            return;
        }
        let states: Vec<String> = urls.iter().map(|url| state(url)).collect();
        let width = states.iter().map(|state| columns(state)).max();
        let width = width.unwrap_or_default().max(5);
        self.gap();
        let header = format!(
            "{:width$}  {:10}  {:20}  URL",
            "state", "since", "last compared"
        );
        self.push(paint(DIM, &header));
        for (url, state) in urls.iter().zip(&states) {
            let since = url
                .pending_since
                .or(url.since)
                .map_or_else(String::new, day);
            let verified = match (url.is_static(), url.verified) {
                (false, _) => "-".to_owned(),
                (true, None) => "never".to_owned(),
                (true, Some(verified)) => plain(&moment(verified)),
            };
            let state = format!("{state:width$}");
            let state = match url.standing {
                Standing::Kept => state,
                Standing::Affected => paint(style(Tone::Bad), &state),
                _ => paint(style(Tone::Warn), &state),
            };
            let shown = match url.url.split_once(prefix) {
                Some((_, rest)) if !prefix.is_empty() && url.url.starts_with("http://") => rest,
                _ => &url.url,
            };
            let shown = Text::new().code(shown).plain();
            self.push(format!("{state}  {since:10}  {verified:20}  {shown}"));
        }
    }

    #[expect(clippy::too_many_lines)]
    fn url(&mut self, url: &UrlOverview) {
        let incident = self.overview.open.iter();
        let incident = incident
            .clone()
            .find(|it| Some(&it.incident.id) == url.incident.as_ref());
        let subject = Text::new().code(&url.url);
        match url.standing {
            Standing::Kept => self.title_toned(Tone::Good, "as promised", &subject),
            Standing::Unknown if url.state.is_none() => {
                self.title_toned(Tone::Warn, "not checked yet", &subject);
            }
            Standing::Unknown => self.title_toned(Tone::Warn, "unknown", &subject),
            Standing::Unconfirmed => self.title_toned(Tone::Warn, "unconfirmed", &subject),
            Standing::Affected => self.title_toned(Tone::Bad, "broken", &subject),
        }
        let mut facts: Vec<(&str, Text)> = vec![];
        if let Some(it) = incident {
            facts.push((
                "incident",
                Text::from(it.incident.id.clone())
                    .own(": ")
                    .and(Titles::new(self.overview).of(it)),
            ));
        }
        facts.push(("promised", promise(url)));
        if let Some(state) = url.state {
            let mut text = Text::from(state.as_str());
            if let Some(reason) = &url.reason {
                text = text.own(" (").outside(reason).own(")");
            }
            if let Some(since) = url.since {
                text = text.own(format!(", since {}", self.ago(since)));
            }
            facts.push(("state", text));
        }
        if let (Some(pending), Some(since)) = (url.pending, url.pending_since) {
            let text = format!("{pending} since {}, not confirmed yet", self.ago(since));
            facts.push(("seen", Text::from(text)));
        }
        if let Some((failures, runs)) = url.failures {
            let text = format!(
                "in {} of the last {} that checked it",
                number(failures),
                count(runs, "run")
            );
            facts.push(("failed", Text::from(text)));
        }
        let checked = url
            .checked
            .map_or_else(|| "never".to_owned(), |at| self.ago(at));
        facts.push(("checked", Text::from(checked)));
        if url.is_static() {
            let verified = url
                .verified
                .map_or_else(|| "never".to_owned(), |at| self.ago(at));
            facts.push(("compared", Text::from(verified).own(", in full")));
        }
        if let Some(since) = url.known_since {
            facts.push(("known", Text::from(format!("since {}", self.ago(since)))));
        }
        facts.push(("archived", archived(url)));
        if url.muted {
            facts.push(("muted", Text::from("nobody is notified")));
        }
        facts.push((
            "record",
            Text::new().path(&format!("{}:{}", url.file, url.line)),
        ));
        for (name, text) in facts {
            let mut lines = wrap(&text, self.options.width, 12, 12).into_iter();
            let name = paint(DIM, &format!("{name:10}"));
            self.push(format!("  {name}{}", lines.next().unwrap_or_default()));
            for line in lines {
                self.push(format!("            {line}"));
            }
        }
        self.command("to see its history", &["urldb", "log", &url.url]);
        let get = ["urldb", "archive", "get", &url.url];
        match &url.promised.sha256 {
            // Other bytes were captured later.
            Some(sha256) if url.is_archived && !has_promised_bytes(url) => {
                let by_digest = ["--sha256", &digest(sha256)];
                self.command(
                    "to take the promised bytes out",
                    &[&get[..], &by_digest].concat(),
                );
            }
            _ if url.capture.is_some() => self.command("to take the bytes out", &get),
            _ => {}
        }
    }

    /// A command, unless a terminal must not get one of the words.
    fn command(&mut self, purpose: &str, words: &[&str]) {
        if let Some(line) = command_line(words) {
            self.push(format!("  {purpose}: {}", paint(BOLD, &line)));
        }
    }

    fn title_toned(&mut self, tone: Tone, word: &str, subject: &Text) {
        let painted = paint(style(tone), word);
        self.push(format!("{painted}: {}", paint(BOLD, &subject.plain())));
    }

    /// `2026-11-22 04:17 UTC, 5 h ago`.
    fn ago(&self, time: Timestamp) -> String {
        format!(
            "{}, {}\u{a0}ago",
            moment(time),
            age(time, self.overview.now)
        )
    }

    fn wrapped(&mut self, text: &Text, indent: usize) {
        for line in wrap(text, self.options.width, indent, indent) {
            self.push(format!("{:indent$}{line}", ""));
        }
    }

    fn gap(&mut self) {
        if !self.lines.is_empty() {
            self.push("");
        }
    }

    fn push(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }
}

#[expect(clippy::too_many_lines)]
fn headline(counts: &Counts, whose: &str, is_checked: bool) -> Headline {
    let Counts {
        urls,
        affected,
        muted,
        unconfirmed,
        unknown,
        incidents,
        mistakes,
    } = *counts;
    let headline = |tone, call: &str, text: String| Headline {
        tone,
        call: call.to_owned(),
        text: Text::from(text),
    };
    let of = |part: u64, verbs| share_with(part, urls, "URL", whose, verbs);
    if affected > 0 || mistakes > 0 || incidents > 0 {
        let open = [(incidents, "incident"), (mistakes, "mistake")];
        let open: Vec<String> = open
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, noun)| count(*number, noun))
            .collect();
        let verb = if incidents + mistakes == 1 {
            "is"
        } else {
            "are"
        };
        let broken = format!("{} broken", of(affected, ["is", "are"]));
        let broken = match muted {
            0 => broken,
            muted => format!("{broken} ({} muted)", number(muted)),
        };
        let text = match open.as_slice() {
            [] => broken,
            open => format!("{} {verb} open, {broken}", open.join(" and ")),
        };
        return headline(Tone::Bad, "Action needed", text);
    }
    if urls == 0 {
        return headline(
            Tone::Good,
            "All good",
            format!("there is no URL{whose} to check"),
        );
    }
    if !is_checked {
        let text = format!(
            "none of {}{whose} was checked; `urldb run` checks them",
            count(urls, "URL")
        );
        return headline(Tone::Warn, "Not known yet", text);
    }
    if unconfirmed > 0 {
        let failed = of(unconfirmed, ["has", "have"]);
        let text = format!("{failed} failed, and no second run has confirmed it");
        return headline(Tone::Warn, "Nothing to do yet", text);
    }
    if unknown > 0 {
        let text = format!("nothing is known of {}{whose}", share(unknown, urls, "URL"));
        return headline(Tone::Warn, "Nothing to do yet", text);
    }
    let text = match urls {
        1 => format!("the URL{whose} is as promised"),
        urls => format!("all {}{whose} are as promised", count(urls, "URL")),
    };
    headline(Tone::Good, "All good", text)
}

/// When the static URLs of a host were compared last: `2026-11-24 04:17 UTC (all but 2)`.
fn compared(host: &HostOverview) -> String {
    if host.files.all == 0 {
        return "never (no bytes promised)".to_owned();
    }
    match (host.verified, host.verified_without) {
        (None, _) => "never".to_owned(),
        (Some(at), 0) => moment(at),
        (Some(at), others) => format!("{} (all but {})", moment(at), number(others)),
    }
}

/// `180 URLs, all as promised`.
fn of_run(run: &RunSummary) -> String {
    let others = run.due.saturating_sub(run.ok);
    let due = count(run.due, "URL");
    match others {
        0 => format!("{due}, all as promised"),
        others => format!("{due}, {} not as promised", number(others)),
    }
}

/// The state of a URL in one word.
fn state(url: &UrlOverview) -> String {
    match (url.standing, url.state, url.pending) {
        (_, None, _) => "not checked".to_owned(),
        (Standing::Unconfirmed, _, Some(pending)) => format!("{pending}?"),
        (Standing::Affected, Some(State::Ok), _) => "not tried".to_owned(),
        (_, Some(state), _) => state.to_string(),
    }
}

/// What the record promises.
fn promise(url: &UrlOverview) -> Text {
    let promised = &url.promised;
    let mut parts = vec![];
    parts.extend(promised.length.map(|length| Text::from(bytes(length))));
    let sha256 = promised.sha256.as_deref();
    parts.extend(sha256.map(|hex| Text::from("SHA-256\u{a0}").outside(&digest(hex))));
    let media_type = promised.content_type.as_deref();
    parts.extend(media_type.map(|media_type| Text::new().outside(media_type)));
    parts.extend(promised.status.map(crate::sentences::status_line));
    let target = promised.redirects_to.as_deref();
    parts.extend(target.map(|target| Text::from("a redirect to ").code(target)));
    let mut parts = parts.into_iter();
    match parts.next() {
        None => Text::from("that it answers"),
        Some(first) => parts.fold(first, |text, part| text.own(", ").and(part)),
    }
}

/// Whether the content that was seen last is the promised one.
fn has_promised_bytes(url: &UrlOverview) -> bool {
    let seen = url.capture.as_ref().map(|capture| &capture.digest);
    let promised = url.promised.sha256.as_ref();
    seen.zip(promised)
        .is_some_and(|(seen, promised)| seen.strip_prefix("sha256:") == Some(promised))
}

/// The last capture.
fn archived(url: &UrlOverview) -> Text {
    let Some(capture) = &url.capture else {
        return Text::from("never");
    };
    let at = capture.date.parse::<Timestamp>().map(moment);
    let at = at.unwrap_or_else(|_| capture.date.clone());
    let what = match (capture.is_revisit, has_promised_bytes(url)) {
        (true, _) => ", the same bytes again",
        (false, true) => ", the promised bytes",
        (false, false) => "",
    };
    Text::new()
        .outside(&at)
        .own(what)
        .own(", in ")
        .path(&capture.file)
}

fn plain(text: &str) -> String {
    crate::numbers::with_spaces(text)
}
