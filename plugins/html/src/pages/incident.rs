//! The page of one incident: commands, its chapters, its URLs.

use std::collections::HashSet;

use jiff::Timestamp;
use serde::Serialize;
use urldb_protocol::{
    Ack, AffectedUrl, Because, EventKind, Incident, IncidentEvents, IncidentOverview, Notice,
    NoticeKind,
};
use urldb_render::numbers::{age_in_words, counted, number};
use urldb_render::{
    Command, Mark, Titles, capitalized, copies_in_words, day_in_words, one_line, shown_host,
};

use super::chapters::ChapterRow;
use super::commands::capitalized_purpose;
use super::url_words::state_in_words;
use super::values::{Figure, Time, first_seen, of};
use super::{Frame, Views};
use crate::file_names::{host_page, url_page};

/// Most URLs on the page of an incident.
const MOST_URLS: usize = 100;

#[derive(Debug, Serialize)]
pub(crate) struct IncidentPage {
    pub(crate) frame: Frame,
    host: String,
    host_page: String,
    title: String,
    is_open: bool,
    since: Time,
    /// The first bad run after the incident was closed for some time.
    again: Option<Time>,
    closed: Option<Time>,
    /// The start of the last run that checked the host; absent for a closed incident.
    checked: Option<Time>,
    ack: Option<String>,
    /// When reminders begin again.
    reminders: String,
    figures: Vec<Figure>,
    /// The other URLs with the same bytes, in one sentence.
    copies: Option<String>,
    commands: Vec<Command>,
    first_chapters: Vec<ChapterRow>,
    last_chapters: Vec<ChapterRow>,
    chapters_left_out: u64,
    /// The affected URLs after each run, as a chart.
    growth: String,
    is_notice: bool,
    urls: Vec<UrlGroup>,
    more_urls: u64,
}

/// URLs of an incident that share a state.
#[derive(Debug, Serialize)]
struct UrlGroup {
    /// `Gone, broken first on 15 November 2026; last good on 14 November 2026`
    state: String,
    urls: Vec<AffectedRow>,
}

#[derive(Debug, Serialize)]
struct AffectedRow {
    url: String,
    /// The page of the URL, relative to that of the incident.
    page: Option<String>,
    place: String,
    link: Option<String>,
}

impl Views<'_> {
    /// The page of an incident with its events; `url_pages` are the pages of URLs.
    pub(crate) fn incident_page(
        &self,
        it: &IncidentOverview,
        events: &IncidentEvents,
        url_pages: &HashSet<String>,
    ) -> IncidentPage {
        let incident = &it.incident;
        let is_open = incident.closed.is_none();
        let title = self.title(it);
        let mark = match (is_open, incident.is_notice()) {
            (true, false) => Mark::Broken,
            (true, true) => Mark::Unsteady,
            (false, _) => Mark::Kept,
        };
        let host = self
            .overview
            .hosts
            .iter()
            .find(|host| host.host == it.domain && is_open);
        let asked = host.and_then(|host| host.checked);
        let checked = asked.map(Time::moment);
        let mut frame = self.frame(&title, mark, "../", "incidents");
        // A run that does not check the host leaves the page as it is, and any run that of a closed incident.
        frame.run = checked.as_ref().map(|checked| checked.iso.clone());
        if is_open && incident.is_flapping() {
            frame.mark = "w";
        }
        let chapters = self.chapters(incident, events, url_pages);
        let now = asked.unwrap_or(incident.since);
        let commands = is_open.then(|| Titles::commands(self.overview, it, now));
        IncidentPage {
            frame,
            host: shown_host(&it.domain),
            host_page: self.page_of_host(&it.domain),
            title,
            is_open,
            since: Time::moment(first_seen(incident)),
            again: reopened(it).map(Time::moment),
            closed: incident.closed.map(Time::moment),
            checked,
            copies: it
                .copies
                .as_ref()
                .map(|it| capitalized(&copies_in_words(it))),
            ack: incident.ack.as_ref().map(acknowledgement),
            reminders: incident
                .ack
                .as_ref()
                .map_or_else(String::new, |ack| reminders(incident, ack)),
            figures: figures(incident, events),
            commands: commands
                .into_iter()
                .flatten()
                .map(capitalized_purpose)
                .collect(),
            first_chapters: chapters.first,
            last_chapters: chapters.last,
            chapters_left_out: chapters.left_out,
            growth: chapters.growth,
            is_notice: incident.is_notice(),
            urls: self.affected(incident, url_pages),
            more_urls: incident.urls.len().saturating_sub(MOST_URLS) as u64,
        }
    }

    /// The page of a host; empty if it has none, such as that of a file whose name is no host.
    fn page_of_host(&self, host: &str) -> String {
        let mut hosts = self.overview.hosts.iter();
        if hosts.any(|known| known.host == host) {
            return host_page(host, 1);
        }
        String::new()
    }

    /// The first affected URLs, by their states, in the order in which these come first.
    fn affected(&self, incident: &Incident, url_pages: &HashSet<String>) -> Vec<UrlGroup> {
        let mut groups: Vec<UrlGroup> = vec![];
        for url in incident.urls.iter().take(MOST_URLS) {
            let state = capitalized(&state_of(incident, url));
            let row = self.affected_row(incident, url, url_pages);
            match groups.iter_mut().find(|group| group.state == state) {
                Some(group) => group.urls.push(row),
                None => groups.push(UrlGroup {
                    state,
                    urls: vec![row],
                }),
            }
        }
        groups
    }

    fn affected_row(
        &self,
        incident: &Incident,
        url: &AffectedUrl,
        url_pages: &HashSet<String>,
    ) -> AffectedRow {
        let page = url_page(&url.url, url.request.as_deref(), url.variant.as_deref());
        let uses = self.overview.used.get(&url.url);
        let first = uses.and_then(|uses| uses.split().0.first());
        let (file, line) = first.map_or((&url.file, url.line), |it| (&it.file, it.line));
        let more = uses.map_or(0, |uses| uses.used.saturating_sub(1));
        let more = match more {
            0 => String::new(),
            more => format!(" and {}", counted(more, "more place")),
        };
        AffectedRow {
            url: one_line(&url.url),
            page: url_pages.contains(&page).then_some(page),
            place: one_line(&format!("{file}, line {line}{more}")),
            // The file has other lines since the incident closed.
            link: self
                .file_link(file, Some(line))
                .filter(|_| incident.closed.is_none()),
        }
    }
}

/// The state of a URL in its incident: since when it is broken, or how and when it left.
fn state_of(incident: &Incident, url: &AffectedUrl) -> String {
    let on = |time: Option<Timestamp>| {
        time.map_or_else(String::new, |time| format!(" on {}", day_in_words(time)))
    };
    let ended = match url.left {
        None => {
            let state = match (url.flapping, url.not_tried) {
                (true, _) => "flapping".to_owned(),
                (false, true) => "not tried".to_owned(),
                (false, false) => state_in_words(url.state.unwrap_or(incident.state)),
            };
            let since = url.since.map_or_else(String::new, |since| {
                format!(", broken first on {}", day_in_words(since))
            });
            let muted = if url.muted { ", muted" } else { "" };
            let good = on(url.last_good);
            let good = match good.as_str() {
                "" => String::new(),
                good => format!("; last good{good}"),
            };
            return format!("{state}{since}{good}{muted}");
        }
        Some(Because::Recovered) => "as promised again",
        Some(Because::Accepted) => "left as the promise was changed,",
        Some(Because::Removed) => "left as the record was removed,",
    };
    format!("{ended}{}", on(url.until))
}

fn figures(incident: &Incident, events: &IncidentEvents) -> Vec<Figure> {
    if let Some(notice) = incident.notice.as_ref().filter(|_| incident.is_notice()) {
        return notice_figures(incident, notice);
    }
    let parts = Parts::of(incident, events);
    let all = incident.host_urls.max(incident.urls.len() as u64);
    let of_all = of(all, "URL", "");
    let mut figures = vec![];
    if let Some(closed) = incident.closed {
        figures.push(Figure::new("Were broken", number(parts.all()), of_all));
        let lasted = age_in_words(first_seen(incident), closed);
        figures.push(Figure::new("Lasted", lasted, ""));
    } else {
        let muted = incident.affected().filter(|url| url.muted).count() as u64;
        let muted = match muted {
            0 => String::new(),
            muted => format!(", {} of them muted", number(muted)),
        };
        let (name, urls) = match (parts.broken, parts.flapping) {
            (0, some) if some > 0 => ("Flapping", some),
            (broken, _) => ("Broken", broken),
        };
        figures.push(Figure::new(name, number(urls), format!("{of_all}{muted}")));
    }
    figures.push(Figure::new("Ever broken", number(parts.all()), parts.sum()));
    let mut last_good: Vec<_> = incident.affected().map(|url| url.last_good).collect();
    last_good.dedup();
    // URLs with different dates have them in their evidence.
    if let [Some(last)] = last_good.as_slice() {
        figures.push(Figure::new("Last good", day_in_words(*last), ""));
    }
    figures
}

/// The end of the certificate, and the URLs in danger; the mistakes in a file; the URLs without a result.
fn notice_figures(incident: &Incident, notice: &Notice) -> Vec<Figure> {
    let mut figures = vec![];
    if let Some(dates) = &notice.certificate {
        let name = match (incident.closed, notice.has_ended()) {
            (Some(_), _) => "Was to end",
            (None, true) => "Ended",
            (None, false) => "Ends",
        };
        let issuer = match dates.issuer.as_str() {
            "" => String::new(),
            issuer => format!("issued by {}", one_line(issuer)),
        };
        figures.push(Figure::new(name, day_in_words(dates.not_after), issuer));
    }
    if let Some(urls) = notice.endangered {
        let all = of(incident.host_urls.max(urls), "URL", "");
        let name = match notice.kind {
            NoticeKind::EvidenceLost => "Without copy",
            NoticeKind::CertificateEnds | NoticeKind::Mistake => "In danger",
            _ => "Not checked",
        };
        figures.push(Figure::new(name, number(urls), all));
    }
    if let Some(mistakes) = notice.count {
        let name = match incident.closed {
            Some(_) => "Had mistakes",
            None => "Mistakes",
        };
        figures.push(Figure::new(name, number(mistakes), one_line(&notice.file)));
    }
    figures
}

/// The first bad run since an open incident was closed for some time; absent if it never was.
fn reopened(it: &IncidentOverview) -> Option<Timestamp> {
    let incident = &it.incident;
    let mut events = incident.chapters.iter().map(|chapter| chapter.event);
    let is_open_again = incident.closed.is_none() && events.any(|it| it == EventKind::Reopened);
    is_open_again.then_some(incident.since)
}

/// The URLs that were ever affected, by their end.
struct Parts {
    broken: u64,
    flapping: u64,
    left: Vec<(Because, u64)>,
}

impl Parts {
    fn of(incident: &Incident, events: &IncidentEvents) -> Self {
        let flapping = incident.affected().filter(|url| url.flapping).count() as u64;
        let all = [Because::Recovered, Because::Accepted, Because::Removed];
        let of_urls = || all.map(|because| (because, incident.left_because(because)));
        Self {
            broken: incident.affected().count() as u64 - flapping,
            flapping,
            left: if events.left.is_empty() {
                of_urls().to_vec()
            } else {
                events.left.clone()
            },
        }
    }

    fn left(&self, wanted: Because) -> u64 {
        self.left
            .iter()
            .filter(|(because, _)| *because == wanted)
            .map(|(_, urls)| urls)
            .sum()
    }

    fn all(&self) -> u64 {
        let left: u64 = self.left.iter().map(|(_, urls)| urls).sum();
        self.broken + self.flapping + left
    }

    /// `= 0 recovered + 1 accepted + 2 broken`: the terms that are not zero, and those that recovered.
    fn sum(&self) -> String {
        let recovered = self.left(Because::Recovered);
        let terms = [
            (self.left(Because::Accepted), "accepted"),
            (self.left(Because::Removed), "removed"),
            (self.broken, "broken"),
            (self.flapping, "flapping"),
        ]
        .into_iter()
        .filter(|(urls, _)| *urls > 0);
        let terms = terms.map(|(urls, word)| format!(" + {} {word}", number(urls)));
        let terms: String = terms.collect();
        format!("= {} recovered{terms}", number(recovered))
    }
}

/// `Acknowledged by ada until 2 December 2026: “the tables move”.`
pub(super) fn acknowledgement(ack: &Ack) -> String {
    let by = match ack.by.as_str() {
        "" => String::new(),
        by => format!(" by {by}"),
    };
    let text = format!(
        "Acknowledged{by} until {}: “{}”.",
        day_in_words(ack.until),
        ack.because
    );
    one_line(&text)
}

/// When reminders begin again; empty if nobody is reminded of the incident anyway.
fn reminders(incident: &Incident, ack: &Ack) -> String {
    let is_repeated = |url: &&AffectedUrl| !url.muted && !url.flapping;
    let repeated = incident.affected().filter(is_repeated);
    let (acked, others): (Vec<_>, Vec<_>) = repeated.partition(|url| url.acked);
    let until = day_in_words(ack.until);
    match (acked.len() as u64, others.len() as u64) {
        (0, 0) => String::new(),
        (_, 0) => format!(
            "The next reminder comes with the first run from {until} on. New URLs and other causes are still news."
        ),
        (_, 1) => format!("One URL joined later, so reminders of it come before {until} too."),
        (_, some) => format!(
            "{} joined later, so reminders of them come before {until} too.",
            counted(some, "URL")
        ),
    }
}
