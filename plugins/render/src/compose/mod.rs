//! Makes the content of messages from envelopes: pure functions, the same for every output.

mod blocks;
mod causes;
mod commands;
mod coverage;
mod facts;
mod headline;
mod links;
mod stuck;
mod subjects;
mod titles;
mod warnings;

use std::collections::HashMap;
use std::ops::Deref;

use urldb_protocol::{Envelope, Finding, Incident, JobResult, Phase, State};

use crate::message::{Block, KeptPromise, Message, OpenIncidents};
use crate::numbers::moment;
use crate::text::{Text, one_line};
use causes::{Group, all_incidents};

pub(crate) use blocks::{checklist, redirects_home};
pub(crate) use facts::path_of;
pub(crate) use headline::broken_since;
pub(crate) use links::selection;
pub use links::{project_commit_link, project_file_link};
pub use stuck::{Deliveries, NextTry, StuckMessages, stuck_blocks};
pub(crate) use subjects::title;
pub use subjects::{LONGEST_SUBJECT, subject};
pub(crate) use titles::{IncidentTitle, open_groups, warning_titles};

/// Whom a message is for, and so which part of a report it tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Everything that `urldb run` knows.
    Run,
    /// Everything that `urldb check` found: one run without a memory.
    Check,
    /// Everything that `urldb check` found in the records that a pull request adds or changes.
    PullRequest {
        /// The pull request changes none of the records that were there before.
        only_adds: bool,
        /// The files are those of strangers: the check ran with `--untrusted`.
        untrusted: bool,
    },
    /// What is new, for the opening message of a thread: incidents that have opened, grown or closed,
    /// mistakes, and warnings.
    News,
    /// What this run changed in the incidents with these ids.
    Changes(&'a [&'a str]),
    /// That the incidents with these ids are still open.
    Reminder(&'a [&'a str]),
    /// What is known of the incidents with these ids, for an issue that is open while they are.
    Issue(&'a [&'a str]),
}

impl Scope<'_> {
    /// Whether the message is about one run without a memory.
    pub(crate) const fn is_check(self) -> bool {
        matches!(self, Self::Check | Self::PullRequest { .. })
    }
}

/// An envelope, with its findings by URL.
pub(crate) struct Lookup<'a> {
    envelope: &'a Envelope,
    by_url: HashMap<&'a str, &'a Finding>,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(envelope: &'a Envelope) -> Self {
        let mut by_url = HashMap::new();
        for finding in &envelope.findings {
            // The worst finding about a URL comes first.
            by_url.entry(finding.url.as_str()).or_insert(finding);
        }
        Self { envelope, by_url }
    }

    /// The worst finding about a URL.
    fn finding(&self, url: &str) -> Option<&'a Finding> {
        self.by_url.get(url).copied()
    }
}

impl Deref for Lookup<'_> {
    type Target = Envelope;

    fn deref(&self) -> &Envelope {
        self.envelope
    }
}

/// The content of a message about `envelope`.
pub fn compose(envelope: &Envelope, scope: Scope<'_>, deliveries: &Deliveries) -> Message {
    let lookup = Lookup::new(envelope);
    let incidents = all_incidents(envelope, scope);
    let report = Report::new(&lookup, scope, &incidents);
    Message {
        headline: report.headline(deliveries),
        stuck: stuck_blocks(deliveries, envelope.run.started),
        blocks: report.blocks(),
        more: None,
        also_open: report.also_open(),
        notified: report.notified(deliveries),
        archived: report.archived(),
        coverage: coverage::coverage(envelope, &incidents, scope),
        kept: Vec::new(),
        remark: remark(scope),
        site: report.site(),
    }
}

/// What a job summary adds about the check itself.
fn remark(scope: Scope<'_>) -> Option<Text> {
    let text = "This check ran for a fork: it used no secrets and notified nobody.";
    matches!(
        scope,
        Scope::PullRequest {
            untrusted: true,
            ..
        }
    )
    .then(|| Text::from(text))
}

/// The promises that a check found kept, for [`Message::kept`].
pub fn kept_promises(envelope: &Envelope, results: &[JobResult]) -> Vec<KeptPromise> {
    let kept = results.iter().filter(|result| result.state == State::Ok);
    kept.map(|result| {
        let promises_bytes = result.promised.length.is_some() || result.promised.sha256.is_some();
        KeptPromise {
            url: one_line(&result.url),
            length: result.observed.length.filter(|_| promises_bytes),
            place: links::place(envelope, &result.file, Some(result.line)),
        }
    })
    .collect()
}

/// The incidents of an envelope, sorted into what a message tells in which way.
struct Report<'a> {
    envelope: &'a Lookup<'a>,
    scope: Scope<'a>,
    /// New and grown incidents.
    news: Vec<&'a Incident>,
    closed: Vec<&'a Incident>,
    /// Open incidents that are not news.
    open: Vec<&'a Incident>,
    unconfirmed: Vec<&'a Incident>,
    unknown: Vec<&'a Incident>,
}

impl<'a> Report<'a> {
    fn new(envelope: &'a Lookup<'a>, scope: Scope<'a>, incidents: &'a [Incident]) -> Self {
        let mut report = Self {
            envelope,
            scope,
            news: Vec::new(),
            closed: Vec::new(),
            open: Vec::new(),
            unconfirmed: Vec::new(),
            unknown: Vec::new(),
        };
        for incident in incidents {
            report.sort_in(incident);
        }
        report
    }

    fn sort_in(&mut self, incident: &'a Incident) {
        let is_named = match self.scope {
            Scope::Changes(ids) | Scope::Reminder(ids) | Scope::Issue(ids) => {
                ids.contains(&incident.id.as_str())
            }
            Scope::Run | Scope::Check | Scope::PullRequest { .. } | Scope::News => true,
        };
        // Incidents that were opened silently, and muted ones, are open but no news.
        let is_silent = incident.silent && incident.phase == Phase::Opened;
        let is_news = !is_silent && !causes::is_muted(incident);
        if incident.phase == Phase::Closed && incident.merged_into.is_some() {
            // Another incident has taken over its URLs.
            return;
        }
        match (self.scope, incident.phase) {
            (scope, Phase::Closed) if scope.is_check() => {}
            (_, Phase::Unknown) => self.unknown.push(incident),
            (_, Phase::Unconfirmed) => self.unconfirmed.push(incident),
            (Scope::Reminder(_) | Scope::Issue(_), Phase::Closed) => {}
            (scope, _) if scope.is_check() => self.news.push(incident),
            (Scope::Reminder(_) | Scope::Issue(_), _) if is_named => self.news.push(incident),
            (Scope::News, Phase::Opened | Phase::Grown) if is_news => self.news.push(incident),
            (Scope::Run | Scope::Changes(_), Phase::Opened | Phase::Grown | Phase::Shrunk)
                if is_named && is_news =>
            {
                self.news.push(incident);
            }
            (Scope::Run | Scope::News | Scope::Changes(_), Phase::Closed) if is_named => {
                self.closed.push(incident);
            }
            (Scope::Changes(_), Phase::Closed) => {}
            _ => self.open.push(incident),
        }
    }

    /// Whether the message tells mistakes and warnings too, and not only incidents.
    fn tells_everything(&self) -> bool {
        self.scope.is_check() || matches!(self.scope, Scope::Run | Scope::News)
    }

    /// Whether the message has anything to tell that is new.
    fn has_news(&self) -> bool {
        let mistakes = &self.envelope.mistakes;
        let new_mistake = mistakes.iter().any(|mistake| mistake.new);
        let files = self.tells_everything() && (new_mistake || !self.envelope.fixed.is_empty());
        !self.news.is_empty() || !self.closed.is_empty() || files
    }

    /// Whether open incidents are told in full: when nothing else is told.
    fn shows_open(&self) -> bool {
        self.scope == Scope::Run && !self.has_news() && self.was_asked()
    }

    /// Whether the run asked at least one URL of the open incidents.
    fn was_asked(&self) -> bool {
        self.open
            .iter()
            .any(|incident| causes::was_asked(incident, self.envelope))
    }

    fn blocks(&self) -> Vec<Block> {
        let envelope = self.envelope;
        let groups = |incidents: &[&'a Incident]| {
            let groups = Group::all(incidents, envelope);
            let block = |group: Group<'a>| blocks::incidents(&group, envelope, self.scope);
            groups.into_iter().map(block).collect::<Vec<_>>()
        };
        let mut blocks = groups(&self.news);
        if self.shows_open() {
            blocks.extend(groups(&self.open));
        }
        if self.tells_everything() {
            blocks.extend(warnings::mistakes(envelope));
        }
        blocks.extend(groups(&self.closed));
        if self.tells_everything() {
            blocks.extend(warnings::fixed_mistakes(envelope));
            blocks.extend(warnings::warnings(envelope, self.scope));
        }
        if self.scope == Scope::Run || self.scope.is_check() {
            blocks.extend(groups(&self.unconfirmed));
            blocks.extend(groups(&self.unknown));
        }
        blocks
    }

    fn also_open(&self) -> Option<OpenIncidents> {
        let is_listed = matches!(self.scope, Scope::Run | Scope::Changes(_));
        if self.open.is_empty() || self.shows_open() || !is_listed {
            return None;
        }
        let heading = match (self.scope, &self.envelope.run.selection) {
            (_, Some(selection)) if !self.was_asked() => Text::from("Open outside ")
                .and(links::selection(selection))
                .own(", not checked in this run"),
            (Scope::Changes(_), _) => Text::from("Open, with a mail of their own"),
            _ => Text::from("Still open"),
        };
        let groups = Group::all(&self.open, self.envelope);
        let item = |group: Group<'a>| {
            let title = blocks::title(&group);
            let since = Text::from(", since ").own(moment(group.since()));
            let muted = if group
                .incidents
                .iter()
                .all(|incident| causes::is_muted(incident))
            {
                " (muted)"
            } else {
                ""
            };
            title.and(since).own(muted)
        };
        Some(OpenIncidents {
            heading,
            items: groups.into_iter().map(item).collect(),
        })
    }

    fn notified(&self, deliveries: &Deliveries) -> Option<Text> {
        if self.scope != Scope::Run {
            return None;
        }
        if !deliveries.delivered.is_empty() {
            let mut text = Text::new();
            for (index, delivered) in deliveries.delivered.iter().enumerate() {
                let separator = if index == 0 { "" } else { "; " };
                text = text.own(separator).and(delivered.clone());
            }
            return Some(text);
        }
        let is_quiet = !self.has_news() && !self.open.is_empty() && deliveries.stuck.is_empty();
        is_quiet.then(|| Text::from("nobody: nothing changed since the last run"))
    }

    /// The archive files, if a new incident is about bytes.
    fn archived(&self) -> Option<Text> {
        use urldb_protocol::State::{Changed, Truncated};
        let is_about_bytes = |incident: &&Incident| matches!(incident.state, Changed | Truncated);
        if self.scope != Scope::Run || !self.news.iter().any(is_about_bytes) {
            return None;
        }
        let mut text = Text::new();
        for (index, file) in self.envelope.archived.iter().enumerate() {
            text = text.own(if index == 0 { "" } else { ", " }).code(file);
        }
        (!text.is_empty()).then_some(text)
    }

    fn site(&self) -> Option<crate::message::SiteLink> {
        let told = self.news.iter().chain(&self.closed);
        let shown = self
            .shows_open()
            .then_some(&self.open)
            .into_iter()
            .flatten();
        let ids: Vec<&str> = told
            .chain(shown)
            .map(|incident| incident.id.as_str())
            .collect();
        if !self.has_news() && ids.is_empty() {
            return None;
        }
        let groups = Group::all(&self.news, self.envelope).len()
            + Group::all(&self.closed, self.envelope).len();
        links::site(self.envelope, &ids, groups)
    }
}
