//! The events of a URL, a host or the whole database in one timeline: transitions and notices.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use urldb_protocol::{Because, EventKind, Incident, LogEntry, LogEvent, Phase, State};

use super::{Sources, domain_of};
use crate::ledger::{ChangeLine, IncidentLine};

/// A cause that was seen so many seconds before its incident opened was unconfirmed until then.
const UNCONFIRMED: i64 = 60;

/// The part of the database that a timeline is about.
#[derive(Debug, Clone, Copy)]
pub enum Scope<'a> {
    /// The whole database.
    All,
    /// The records of one domain file.
    Host(&'a str),
    /// One record.
    Record {
        /// The host that its domain file is named after.
        host: &'a str,
        /// Its URLs, over each scheme.
        urls: &'a [String],
    },
    /// One incident or notice, by its id.
    Incident(&'a str),
}

impl Sources<'_> {
    /// The events of the scope, the latest first.
    pub fn timeline(&self, scope: Scope<'_>) -> Vec<LogEntry> {
        let mut entries = match scope {
            Scope::All | Scope::Incident(_) => self.of_hosts(|_| true),
            Scope::Host(host) => self.of_hosts(|known| known == host),
            Scope::Record { host, urls } => self.of_urls(host, urls),
        };
        let notices = self.incidents.values().flat_map(of_notice);
        entries.extend(notices.filter(|entry| match scope {
            Scope::All | Scope::Incident(_) => true,
            Scope::Host(host) => entry.host == host,
            Scope::Record { .. } => false,
        }));
        if let Scope::Incident(id) = scope {
            entries.retain(|entry| entry.incident.as_deref() == Some(id));
        }
        // Runs of one second have the order of the history. A run that began while the history was read is the last one.
        let runs = self.replay.places();
        let place = |entry: &LogEntry| {
            let run = entry.run.as_deref()?;
            Some(runs.get(run).copied().unwrap_or(usize::MAX))
        };
        entries.sort_by(|a, b| {
            let key = |it: &LogEntry| (it.at, place(it), it.event);
            (key(b), &b.host, &b.url).cmp(&(key(a), &a.host, &a.url))
        });
        entries
    }

    /// The events of incidents, and changes that belong to none.
    fn of_hosts(&self, wants: impl Fn(&str) -> bool) -> Vec<LogEntry> {
        let mut entries = vec![];
        let mut delivered = HashSet::new();
        let mut known: Vec<_> = self.replay.incidents().collect();
        known.sort_by_key(|(id, _)| self.incidents.get(*id).map(Incident::order));
        for (id, lines) in known {
            let incident = self.incidents.get(id);
            let Some(first) = lines.first() else { continue };
            let domain = incident.map_or_else(|| first.host.clone(), domain_of);
            let of_runs = lines.iter().map(|it| (it.run.clone(), it.host.clone()));
            delivered.extend(of_runs);
            if !wants(&domain) {
                continue;
            }
            if let Some(incident) = incident {
                entries.extend(unconfirmed(incident, first, &domain));
            }
            let mut urls = 0;
            for line in lines {
                if line.phase == Phase::Closed && line.because.is_none() {
                    // Another incident has taken over its URLs.
                    continue;
                }
                let mut entry = of_incident(line, &domain, incident);
                if line.phase == Phase::Closed {
                    // The line has the number after the run.
                    entry.urls = urls;
                }
                entries.push(entry);
                urls = line.urls;
            }
        }
        let mut domains = HashMap::new();
        let without = self.replay.changes().iter().filter_map(|change| {
            let host = host_of_url(&change.url)?;
            let is_news = change.from.is_broken() || change.to.is_broken();
            let is_delivered = delivered.contains(&(change.run.clone(), host.clone()));
            if !is_news || is_delivered {
                return None;
            }
            let domain = domains
                .entry(host)
                .or_insert_with_key(|host| self.domain_of_host(host));
            wants(domain).then(|| (domain.clone(), change))
        });
        let mut groups: BTreeMap<_, Vec<&ChangeLine>> = BTreeMap::new();
        for (domain, change) in without {
            let key = (change.run.as_str(), domain, change.from, change.to);
            groups.entry(key).or_default().push(change);
        }
        entries.extend(groups.into_iter().filter_map(|((_, domain, ..), changes)| {
            let mut entry = of_change(changes.first()?, domain);
            entry.urls = changes.len() as u64;
            if changes.len() > 1 {
                (entry.url, entry.variant) = (None, None);
            }
            Some(entry)
        }));
        entries
    }

    /// The changes of the URLs of one record, and the doubts before them.
    fn of_urls(&self, host: &str, urls: &[String]) -> Vec<LogEntry> {
        let mut entries = vec![];
        for url in urls {
            let changes = self.replay.changes_of(url);
            for change in changes {
                let mut entry = of_change(change, host.to_owned());
                let line = self.line_of(change);
                entry.incident = line.map(|line| line.incident.clone());
                if let Some(line) = line {
                    let incident = self.incidents.get(&line.incident);
                    if matches!(line.because, Some(Because::Accepted | Because::Removed)) {
                        entry.event = LogEvent::PromisesChanged;
                    }
                    if change.to.is_broken()
                        && let Some(incident) = incident
                    {
                        entries.extend(unconfirmed(incident, line, host).map(|entry| LogEntry {
                            urls: 1,
                            url: Some(url.clone()),
                            variant: change.variant.clone(),
                            ..entry
                        }));
                    }
                }
                if change.to == State::Ok {
                    let mut earlier = changes.iter().rev();
                    let broke = earlier.find(|it| {
                        it.at < change.at && it.to.is_broken() && it.variant == change.variant
                    });
                    entry.since = broke.map(|broke| broke.at);
                }
                entries.push(entry);
            }
        }
        entries
    }

    /// The change of the incident of a changed URL by the same run.
    fn line_of(&self, change: &ChangeLine) -> Option<&IncidentLine> {
        let host = host_of_url(&change.url)?;
        let state = if change.to.is_broken() {
            change.to
        } else {
            change.from
        };
        let lines = self.replay.incidents().flat_map(|(_, lines)| lines);
        let mut lines = lines.filter(|line| line.run == change.run && line.host == host);
        lines.find(|line| line.state == state)
    }

    /// The host whose domain file has the URLs of a host, which may be an alias.
    fn domain_of_host(&self, host: &str) -> String {
        let mut files = self.files.iter().map(|path| urldb_format::host_of(path));
        if files.any(|known| known == host) {
            return host.to_owned();
        }
        let incident = self.incidents.values().find(|it| it.host == host);
        incident.map_or_else(|| host.to_owned(), domain_of)
    }
}

fn host_of_url(url: &str) -> Option<String> {
    Some(urldb_canon::identify(url).ok()?.host)
}

/// The first sight of a cause, if it was not confirmed at once.
fn unconfirmed(incident: &Incident, opened: &IncidentLine, host: &str) -> Option<LogEntry> {
    let begun = incident.opened.unwrap_or(opened.at);
    let is_earlier = begun.duration_since(incident.since).as_secs() >= UNCONFIRMED;
    (is_earlier && opened.phase == Phase::Opened).then(|| LogEntry {
        state: Some(incident.state),
        reason: incident.reason.clone(),
        urls: opened.urls,
        url: only_url(incident),
        variant: only_variant(incident),
        incident: Some(incident.id.clone()),
        ..entry(incident.since, LogEvent::Unconfirmed, host.to_owned())
    })
}

/// The events of a notice, the end included.
fn of_notice(incident: &Incident) -> Vec<LogEntry> {
    let mut entries: Vec<LogEntry> = vec![];
    for chapter in &incident.chapters {
        let is_end = incident.is_notice() && chapter.event == EventKind::Closed;
        let event = match (&chapter.notice, chapter.event) {
            (Some(_), EventKind::Renewed) => LogEvent::Solved,
            (Some(_), _) => LogEvent::Warned,
            (None, _) if is_end => LogEvent::Solved,
            (None, _) => continue,
        };
        let last = entries.last();
        if last.is_some_and(|last| last.event == event && last.run.as_ref() == Some(&chapter.run)) {
            continue;
        }
        let notice = chapter.notice.as_ref().or(incident.notice.as_ref());
        entries.push(LogEntry {
            notice: notice.cloned(),
            run: Some(chapter.run.clone()),
            incident: Some(incident.id.clone()),
            ..entry(chapter.at, event, domain_of(incident))
        });
    }
    entries
}

fn of_incident(line: &IncidentLine, host: &str, incident: Option<&Incident>) -> LogEntry {
    let event = match (line.phase, line.because) {
        (Phase::Closed, Some(Because::Accepted | Because::Removed)) => LogEvent::PromisesChanged,
        (Phase::Closed, _) => LogEvent::Recovered,
        _ => LogEvent::Broken,
    };
    LogEntry {
        urls: line.urls,
        url: incident.filter(|_| line.urls <= 1).and_then(only_url),
        variant: incident.filter(|_| line.urls <= 1).and_then(only_variant),
        from: (line.phase == Phase::Closed).then_some(line.state),
        state: Some(match event {
            LogEvent::Recovered => State::Ok,
            _ => line.state,
        }),
        reason: line.reason.clone().or_else(|| incident?.reason.clone()),
        since: incident
            .filter(|_| line.phase == Phase::Closed)
            .map(|it| it.since),
        run: Some(line.run.clone()),
        incident: Some(line.incident.clone()),
        ..entry(line.at, event, host.to_owned())
    }
}

fn of_change(change: &ChangeLine, host: String) -> LogEntry {
    let event = if change.to.is_broken() {
        LogEvent::Broken
    } else if change.to == State::Ok {
        LogEvent::Recovered
    } else {
        LogEvent::Unconfirmed
    };
    LogEntry {
        urls: 1,
        url: Some(change.url.clone()),
        variant: change.variant.clone(),
        from: Some(change.from),
        state: Some(change.to),
        run: Some(change.run.clone()),
        ..entry(change.at, event, host)
    }
}

fn only_url(incident: &Incident) -> Option<String> {
    match incident.urls.as_slice() {
        [only] => Some(only.url.clone()),
        _ => None,
    }
}

/// The variant of the only URL.
fn only_variant(incident: &Incident) -> Option<String> {
    match incident.urls.as_slice() {
        [only] => only.variant.clone(),
        _ => None,
    }
}

fn entry(at: Timestamp, event: LogEvent, host: String) -> LogEntry {
    LogEntry {
        at,
        event,
        host,
        urls: 0,
        url: None,
        variant: None,
        from: None,
        state: None,
        reason: None,
        since: None,
        run: None,
        incident: None,
        notice: None,
    }
}
