//! Sorts the incidents of an envelope, and makes a message of them.

use urldb_protocol::{Envelope, Incident, JobResult, NoticeKind, Phase, Reason, State};

use super::causes::{self, IncidentView, all_incidents};
use super::headline::headline;
use super::links::{selection, site_link, source_link};
use super::lookup::Lookup;
use super::notices::notice_title;
use super::scope::Scope;
use super::stuck::{Deliveries, stuck_blocks};
use super::{blocks, coverage, notices, warnings};
use crate::message::{Block, KeptPromise, Message, OpenIncidents, SiteLink};
use crate::numbers::moment;
use crate::text::{Text, one_line};

/// The content of a message about `envelope`.
pub fn compose(envelope: &Envelope, scope: Scope<'_>, deliveries: &Deliveries) -> Message {
    let lookup = Lookup::new(envelope);
    let mut incidents = all_incidents(envelope, scope);
    if let (Scope::Week, Some(week)) = (scope, &envelope.week) {
        incidents.extend(week.closed.iter().cloned());
    }
    let report = Report::new(&lookup, scope, &incidents);
    Message {
        headline: headline(envelope, scope),
        is_offline: report.is_offline(),
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

/// A remark about the check itself, for a job summary.
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
    results
        .iter()
        .filter(|result| result.state == State::Ok)
        .map(|result| {
            let promises_bytes = result.promised.is_static();
            KeptPromise {
                url: one_line(&result.name()),
                length: result.observed.length.filter(|_| promises_bytes),
                place: source_link(envelope, &result.file, Some(result.line)),
            }
        })
        .collect()
}

/// The incidents of an envelope, sorted by the way in which a message tells them.
pub(super) struct Report<'a> {
    pub(super) envelope: &'a Lookup<'a>,
    pub(super) scope: Scope<'a>,
    /// Incidents that are new, or have changed.
    pub(super) news: Vec<&'a Incident>,
    pub(super) closed: Vec<&'a Incident>,
    /// Open incidents that are not news.
    pub(super) open: Vec<&'a Incident>,
    pub(super) unconfirmed: Vec<&'a Incident>,
    pub(super) unknown: Vec<&'a Incident>,
    /// Notices that are new, or say something new.
    pub(super) notices: Vec<&'a Incident>,
    /// Notices that hold, and say nothing new.
    pub(super) noticed: Vec<&'a Incident>,
    /// Notices that are closed.
    pub(super) solved: Vec<&'a Incident>,
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
            notices: Vec::new(),
            noticed: Vec::new(),
            solved: Vec::new(),
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
            Scope::Run | Scope::Check | Scope::PullRequest { .. } | Scope::News | Scope::Week => {
                true
            }
        };
        // Muted incidents are open but no news.
        let is_news = !causes::is_muted(incident);
        let has_changed = incident.is_news();
        if incident.is_notice() {
            let is_issue = matches!(self.scope, Scope::Issue(_));
            return match incident.phase {
                Phase::Closed if is_named && !is_issue => self.solved.push(incident),
                Phase::Closed => {}
                _ if is_named && (has_changed || is_issue) => self.notices.push(incident),
                _ => self.noticed.push(incident),
            };
        }
        match (self.scope, incident.phase) {
            (scope, Phase::Closed) if scope.is_check() => {}
            (_, Phase::Unknown) => self.unknown.push(incident),
            (_, Phase::Unconfirmed) => self.unconfirmed.push(incident),
            (Scope::Reminder(_) | Scope::Issue(_), Phase::Closed) => {}
            (scope, _) if scope.is_check() => self.news.push(incident),
            (Scope::Reminder(_) | Scope::Issue(_), _) if is_named => self.news.push(incident),
            (Scope::News, _) if has_changed && is_news => self.news.push(incident),
            (Scope::Run | Scope::Changes(_), _) if is_named && is_news && has_changed => {
                self.news.push(incident);
            }
            (Scope::Run | Scope::News | Scope::Week | Scope::Changes(_), Phase::Closed)
                if is_named =>
            {
                self.closed.push(incident);
            }
            (Scope::Changes(_), Phase::Closed) => {}
            _ => self.open.push(incident),
        }
    }

    /// Whether the message tells mistakes and warnings too, and not only incidents.
    pub(super) fn tells_everything(&self) -> bool {
        self.scope.is_check() || matches!(self.scope, Scope::Run | Scope::News)
    }

    /// Whether the message has anything to tell that is new.
    fn has_news(&self) -> bool {
        let mistakes = &self.envelope.mistakes;
        let new_mistake = mistakes.iter().any(|mistake| mistake.new);
        let files = self.tells_everything() && (new_mistake || !self.envelope.fixed.is_empty());
        let notices = !self.notices.is_empty() || !self.solved.is_empty();
        !self.news.is_empty() || !self.closed.is_empty() || notices || files
    }

    /// The open incidents that are told in full, when nothing else is, and the others: in full are told those of
    /// which this run has seen a URL.
    fn open_in_full(&self) -> (Vec<&'a Incident>, Vec<&'a Incident>) {
        let is_alone = self.scope == Scope::Run && !self.has_news();
        self.open
            .iter()
            .copied()
            .partition(|incident| is_alone && causes::was_seen(incident, self.envelope))
    }

    /// Whether a notice that says nothing new is told in full: mistakes that the run has seen, and others when nothing
    /// else is told.
    fn is_shown(&self, noticed: &Incident) -> bool {
        let is_seen = match noticed.notice_of(NoticeKind::Mistake) {
            Some(notice) => self
                .envelope
                .mistakes
                .iter()
                .any(|mistake| mistake.file == notice.file),
            None => !self.has_news(),
        };
        self.scope == Scope::Run && is_seen
    }

    /// Whether URLs have no result because of our own network.
    fn is_offline(&self) -> bool {
        self.unknown.iter().any(|it| is_own_network(it))
    }

    /// Whether the run got a result of at least one URL of the open incidents.
    pub(super) fn was_seen(&self) -> bool {
        self.open
            .iter()
            .any(|incident| causes::was_seen(incident, self.envelope))
    }

    fn blocks(&self) -> Vec<Block> {
        let envelope = self.envelope;
        let cards = |incidents: &[&'a Incident]| {
            let views = IncidentView::all(incidents, envelope);
            let block = |view: IncidentView<'a>| blocks::incident(&view, envelope, self.scope);
            views.into_iter().map(block).collect::<Vec<_>>()
        };
        if self.scope == Scope::Week {
            return self.week_blocks();
        }
        let mut blocks = cards(&self.news);
        blocks.extend(cards(&self.open_in_full().0));
        if self.tells_everything() {
            blocks.extend(warnings::mistakes(envelope));
        }
        let notice = |incident: &'a Incident| notices::blocks(incident, envelope, self.scope);
        let is_mistake = |it: &&'a Incident| it.notice_of(NoticeKind::Mistake).is_some();
        let all = |incidents: &[&'a Incident]| {
            let (mistakes, others): (Vec<_>, Vec<_>) =
                incidents.iter().copied().partition(is_mistake);
            mistakes
                .into_iter()
                .chain(others)
                .flat_map(notice)
                .collect::<Vec<_>>()
        };
        let known: Vec<&Incident> = self
            .noticed
            .iter()
            .copied()
            .filter(|it| self.is_shown(it))
            .collect();
        let (mistakes, others): (Vec<_>, Vec<_>) = known.into_iter().partition(is_mistake);
        let (new, dangers): (Vec<_>, Vec<_>) = self.notices.iter().copied().partition(is_mistake);
        blocks.extend(
            [new, mistakes, dangers, others]
                .iter()
                .flat_map(|it| all(it)),
        );
        blocks.extend(cards(&self.closed));
        blocks.extend(all(&self.solved));
        if self.tells_everything() {
            blocks.extend(warnings::fixed_mistakes(envelope));
            blocks.extend(warnings::warnings(envelope, self.scope));
        }
        if self.scope == Scope::Run || self.scope.is_check() {
            let (own, unknown): (Vec<_>, Vec<_>) = self
                .unknown
                .iter()
                .copied()
                .partition(|it| is_own_network(it));
            blocks.extend(cards(&self.unconfirmed));
            blocks.extend(blocks::own_network(&own, envelope, self.scope));
            blocks.extend(cards(&unknown));
        }
        blocks
    }

    fn also_open(&self) -> Option<OpenIncidents> {
        let is_listed = matches!(self.scope, Scope::Run | Scope::News | Scope::Changes(_));
        let noticed: Vec<&Incident> = self
            .noticed
            .iter()
            .filter(|it| !self.is_shown(it))
            .copied()
            .collect();
        let (_, open) = self.open_in_full();
        if open.is_empty() && noticed.is_empty() || !is_listed {
            return None;
        }
        let heading = match (self.scope, &self.envelope.run.selection) {
            (_, Some(arguments)) if !open.is_empty() && !self.was_seen() => {
                Text::from("Open outside ")
                    .and(selection(arguments))
                    .own(", not checked in this run")
            }
            (Scope::Changes(_), _) => Text::from("Open, with a mail of their own"),
            (Scope::Run, None) if !open.is_empty() && !self.was_seen() => {
                Text::from("Still open, without a result in this run")
            }
            _ => Text::from("Still open"),
        };
        let views = IncidentView::all(&open, self.envelope);
        let item = |view: IncidentView<'a>| {
            let title = blocks::title(&view);
            let since = Text::from(", since ").own(moment(view.incident.since));
            let muted = if causes::is_muted(view.incident) {
                " (muted)"
            } else {
                ""
            };
            Text::from(format!("{}: ", blocks::class(&view).as_str()))
                .and(title)
                .and(since)
                .own(muted)
        };
        let dangers = noticed
            .iter()
            .map(|it| Text::from("warning: ").and(notice_title(it)));
        Some(OpenIncidents {
            heading,
            items: views.into_iter().map(item).chain(dangers).collect(),
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
        let is_about_bytes =
            |incident: &&Incident| matches!(incident.state, State::Changed | State::Truncated);
        if self.scope != Scope::Run || !self.news.iter().any(is_about_bytes) {
            return None;
        }
        let mut text = Text::new();
        for (index, file) in self.envelope.archived.iter().enumerate() {
            text = text.own(if index == 0 { "" } else { ", " }).code(file);
        }
        (!text.is_empty()).then_some(text)
    }

    fn site(&self) -> Option<SiteLink> {
        let delivered = self
            .news
            .iter()
            .chain(&self.closed)
            .chain(&self.notices)
            .chain(&self.solved);
        let (shown, _) = self.open_in_full();
        let ids: Vec<&str> = delivered
            .chain(&shown)
            .map(|incident| incident.id.as_str())
            .collect();
        if !self.has_news() && ids.is_empty() && self.scope != Scope::Week {
            return None;
        }
        let news = [&self.news, &self.closed, &self.notices, &self.solved];
        let number = news.iter().map(|incidents| incidents.len()).sum();
        site_link(self.envelope, &ids, number)
    }
}

fn is_own_network(incident: &Incident) -> bool {
    incident.reason.as_deref() == Some(Reason::OwnNetwork.as_str())
}
