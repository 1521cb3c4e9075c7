//! The present of an incident, as a reader of some of its URLs sees it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use urldb_protocol::{
    Ack, AffectedUrl, Chapter, EventKind, Evidence, Incident, Notice, NoticeKind, Phase, State,
};

use super::cause::Cause;
use super::event::{Event, IncidentLog, MemberKey, time_of};
use super::groups::sort_urls;
use super::state::{Departure, IncidentState, Member, fold};
use super::{lost_contents, mistakes};

/// URLs of an incident.
type Members<'s> = BTreeMap<&'s MemberKey, &'s Member>;

/// A reader of incidents.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// Number of events of the incident that are not new to the reader.
    pub known: usize,
    /// Whether the URL is one of the reader's.
    pub takes: &'a dyn Fn(&MemberKey, &Member) -> bool,
    /// Whether the reader is told of a notice.
    pub takes_notice: &'a dyn Fn(&Notice) -> bool,
    /// Whether the reader sees muted URLs too: the report of a run does, a message does not.
    pub sees_muted: bool,
}

/// The whole present of an incident, as the reader sees it: the URLs that are affected, and those that have left since
/// it opened last, or since the events that the reader knows. It is closed if none of the reader's URLs is affected.
/// `None` without events.
pub fn view(log: &IncidentLog, reader: &Reader<'_>) -> Option<Incident> {
    let before = fold(&log.events[..reader.known.min(log.events.len())]);
    let now = log.state();
    let open = reader.open(&now);
    let notice = now.notice.as_ref().filter(|it| (reader.takes_notice)(it));
    let since = reader.known.min(log.last_opening());
    let episode: BTreeSet<&str> = log.events[since..]
        .iter()
        .map(|it| it.id.as_str())
        .collect();
    let left = reader.left(&now, &open, &episode);
    let phase = if open.is_empty() && notice.is_none_or(|_| !now.is_noticed) {
        Phase::Closed
    } else {
        Phase::Unchanged
    };
    let members = || {
        let left = left.iter().map(|(_, it)| &it.member);
        open.values().copied().chain(left)
    };
    let cause = main_cause(&open, &left);
    let urls = urls(&open, &left, &before, &cause);
    let first = log.events.first()?;
    let since = members()
        .map(|member| member.joining.since)
        .min()
        .or_else(|| first.at());
    Some(Incident {
        id: log.id.clone(),
        key: log.key.clone(),
        reason: cause.reason.clone(),
        redirect: cause.redirect.clone(),
        opened_by: first.id.clone(),
        opened: first.at(),
        closed: now.closed.as_deref().and_then(time_of),
        merged_into: now.merged_into.clone(),
        last_good: last_good(&urls),
        host_urls: {
            log.events
                .iter()
                .rev()
                .find_map(|event| event.host_urls)
                .unwrap_or_default()
                .max(open.len() as u64)
        },
        evidence: evidence(&log.events, &cause, &urls),
        chapters: chapters(&log.events, reader),
        ack: ack(&now, &open),
        notice: notice.map(|notice| compared(notice, phase, before.open_notice())),
        urls,
        ..Incident::group(
            phase,
            log.host.clone(),
            cause.state,
            since.unwrap_or_default(),
        )
    })
}

/// The incident as a reader of all URLs sees it who knows so many events: its phase is the change since. `None` if it
/// was closed by then, and is closed.
pub fn view_since(log: &IncidentLog, known: usize) -> Option<Incident> {
    let (before, new) = log.events.split_at(known.min(log.events.len()));
    let mut incident = view(log, &Reader::of_all(known))?;
    let is_change = |event: &Event| event.event.is_change();
    incident.phase = match (fold(before).is_open(), incident.phase) {
        (false, Phase::Closed) => return None,
        (true, Phase::Closed) => Phase::Closed,
        (false, _) => Phase::Opened,
        (true, _) if new.iter().any(is_change) => Phase::Changed,
        (true, _) => Phase::Unchanged,
    };
    Some(incident)
}

/// The incident as whoever knows all of it sees it.
pub fn whole(log: &IncidentLog) -> Option<Incident> {
    view(log, &Reader::of_all(log.events.len()))
}

/// The same incident as [`whole`] without the URLs that are muted, or were since they joined. `None` if it has no
/// others.
pub fn without_muted(log: &IncidentLog) -> Option<Incident> {
    let reader = Reader {
        sees_muted: false,
        ..Reader::of_all(log.events.len())
    };
    view(log, &reader).filter(|incident| !incident.is_about_nothing())
}

impl IncidentLog {
    /// The position of the event that opened the incident last.
    pub fn last_opening(&self) -> usize {
        let begins = |event: &Event| matches!(event.event, EventKind::Opened | EventKind::Reopened);
        self.events.iter().rposition(begins).unwrap_or_default()
    }
}

impl Reader<'_> {
    /// A reader of all URLs, who knows so many events.
    pub fn of_all(known: usize) -> Self {
        Self {
            known,
            takes: &|_, _| true,
            takes_notice: &|_| true,
            sees_muted: true,
        }
    }

    /// The URLs that are affected now.
    fn open<'s>(&self, now: &'s IncidentState) -> Members<'s> {
        let sees = |member: &Member| self.sees_muted || !member.muted;
        now.members
            .iter()
            .filter(|(key, member)| sees(member) && (self.takes)(key, member))
            .collect()
    }

    /// The URLs that have left in the episode. Nobody was told of one that was muted all the time.
    fn left<'s>(
        &self,
        now: &'s IncidentState,
        open: &Members<'_>,
        episode: &BTreeSet<&str>,
    ) -> Vec<(&'s MemberKey, &'s Departure)> {
        now.left
            .iter()
            .filter(|(key, Departure { member, at, .. })| {
                let sees = self.sees_muted || !member.is_undelivered;
                let is_recent = episode.contains(at.as_str()) && !open.contains_key(key);
                is_recent && sees && (self.takes)(key, member)
            })
            .collect()
    }
}

/// The notice, compared with that which the reader knows: of mistakes and lost contents, those that are new are marked.
fn compared(notice: &Notice, phase: Phase, known: Option<&Notice>) -> Notice {
    match (notice.kind, phase) {
        (NoticeKind::Mistake, Phase::Closed) => {
            let none = Notice {
                mistakes: vec![],
                count: Some(0),
                ..notice.clone()
            };
            mistakes::compared(known.or(Some(notice)), &none)
        }
        (NoticeKind::Mistake, _) => mistakes::compared(known, notice),
        (NoticeKind::EvidenceLost, _) => lost_contents::compared(known, notice),
        _ => notice.clone(),
    }
}

/// When the URLs were last seen as promised, if it is the same for all.
fn last_good(urls: &[AffectedUrl]) -> Option<Timestamp> {
    let last = urls.first()?.last_good;
    last.filter(|_| urls.iter().all(|url| url.last_good == last))
}

/// The URLs of a view, in the order of their records.
fn urls(
    open: &Members<'_>,
    left: &[(&MemberKey, &Departure)],
    before: &IncidentState,
    cause: &Cause,
) -> Vec<AffectedUrl> {
    let open = open.iter().map(|(key, member)| AffectedUrl {
        new: !before.members.contains_key(key),
        muted: member.muted,
        ..affected(key, member, cause)
    });
    let left = left.iter().map(|(key, departure)| AffectedUrl {
        left: Some(departure.because),
        until: time_of(&departure.at),
        ..affected(key, &departure.member, cause)
    });
    let mut urls: Vec<AffectedUrl> = open.chain(left).collect();
    sort_urls(&mut urls);
    urls
}

/// The cause of most URLs; of the URLs that left, if no other is affected.
fn main_cause(open: &Members<'_>, left: &[(&MemberKey, &Departure)]) -> Cause {
    let members: Vec<&Member> = if open.is_empty() {
        left.iter()
            .map(|(_, departure)| &departure.member)
            .collect()
    } else {
        open.values().copied().collect()
    };
    let mut counts: BTreeMap<&Cause, usize> = BTreeMap::new();
    for cause in members.iter().filter_map(|member| member.cause.as_ref()) {
        *counts.entry(cause).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    // Only some requests saw something else.
    let none = || Cause::new(State::Ok, None);
    most.map_or_else(none, |(cause, _)| cause.clone())
}

fn affected(key: &MemberKey, member: &Member, main: &Cause) -> AffectedUrl {
    let joining = &member.joining;
    let state = member.cause.as_ref().map(|cause| cause.state);
    AffectedUrl {
        file: joining.file.clone(),
        line: joining.line,
        request: key.request.clone(),
        variant: key.variant.clone(),
        categories: joining.categories.clone(),
        since: Some(joining.since),
        last_good: joining.last_good,
        flapping: member.flapping.is_some(),
        acked: member.acked.is_some(),
        state: state.filter(|state| *state != main.state),
        ..AffectedUrl::of(&key.url)
    }
}

/// The acknowledgement, if it is about one of these URLs.
fn ack(state: &IncidentState, open: &Members<'_>) -> Option<Ack> {
    let mut open = open.values();
    state
        .ack
        .clone()
        .filter(|_| open.any(|member| member.acked.is_some()))
}

/// The evidence of the last event about one of the URLs that has the cause.
fn evidence(events: &[Event], cause: &Cause, urls: &[AffectedUrl]) -> Evidence {
    let is_shown = |evidence: &&Evidence| urls.iter().any(|url| evidence.is_about(url));
    events
        .iter()
        .rev()
        .filter(|event| {
            let known = event.cause.as_ref();
            known.is_some_and(|known| known.is_like(cause))
        })
        .flat_map(|event| &event.evidence)
        .find(is_shown)
        .cloned()
        .unwrap_or_default()
}

/// The events about the reader's URLs.
fn chapters(events: &[Event], reader: &Reader<'_>) -> Vec<Chapter> {
    with_events(events, reader)
        .into_iter()
        .map(|(chapter, _)| chapter)
        .collect()
}

/// All events of an incident, each as a chapter and as its file has it.
pub fn all_chapters(log: &IncidentLog) -> Vec<(Chapter, &Event)> {
    with_events(&log.events, &Reader::of_all(log.events.len()))
}

fn with_events<'e>(events: &'e [Event], reader: &Reader<'_>) -> Vec<(Chapter, &'e Event)> {
    let mut state = IncidentState::default();
    let mut own: BTreeSet<MemberKey> = BTreeSet::new();
    let mut chapters = vec![];
    for (index, event) in events.iter().enumerate() {
        let shown = shown_event(event, &own, &state);
        state.apply(event);
        let joined = event.urls.iter().filter(|url| url.joining.is_some());
        own.extend(joined.map(|url| url.key.clone()).filter(|key| {
            state
                .members
                .get(key)
                .is_some_and(|it| (reader.takes)(key, it))
        }));
        let urls = event
            .urls
            .iter()
            .filter(|url| own.contains(&url.key))
            .count() as u64;
        let is_whole = event.urls.is_empty();
        let (Some(kind), Some(at)) = (shown, event.at().filter(|_| is_whole || urls > 0)) else {
            continue;
        };
        let evidence = event.evidence.iter().find(|it| {
            own.iter()
                .any(|key| key.url == it.url && key.variant == it.variant)
        });
        let cause = event.cause.clone();
        let chapter = Chapter {
            run: event.id.clone(),
            at,
            event: kind,
            state: cause.as_ref().map(|cause| cause.state),
            reason: cause.as_ref().and_then(|cause| cause.reason.clone()),
            redirect: cause.and_then(|cause| cause.redirect),
            because: event.because,
            new: index >= reader.known,
            ack: event.ack.clone(),
            notice: event.notice.clone(),
            urls,
            affected: state.members.keys().filter(|key| own.contains(key)).count() as u64,
            evidence: evidence.cloned(),
        };
        chapters.push((chapter, event));
    }
    chapters
}

/// The event as a reader sees it whose URLs in the incident are these before it; `None` for an event about the
/// whole incident that does not concern them.
fn shown_event(
    event: &Event,
    own: &BTreeSet<MemberKey>,
    before: &IncidentState,
) -> Option<EventKind> {
    let mut affected = before.members.iter().filter(|(key, _)| own.contains(key));
    if event.notice.is_some() || before.is_noticed {
        // Its readers hear of all that becomes of a notice.
        return Some(event.event);
    }
    match event.event {
        // URLs of others were affected before.
        EventKind::Grown | EventKind::Reopened if own.is_empty() => Some(EventKind::Opened),
        EventKind::Grown if affected.next().is_none() => Some(EventKind::Reopened),
        EventKind::AckEnded if !affected.any(|(_, member)| member.acked.is_some()) => None,
        kind => {
            let concerns = !event.urls.is_empty() || !own.is_empty();
            concerns.then_some(kind)
        }
    }
}
