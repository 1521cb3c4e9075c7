//! The present of an incident, compared with the events that a reader has heard.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use urldb_protocol::{
    Ack, AffectedUrl, Chapter, EventKind, Evidence, Incident, Notice, Phase, Span, State,
};

use super::cause::Cause;
use super::event::{Event, IncidentLog, MemberKey, time_of};
use super::groups::sort_urls;
use super::notice_view::{Notices, notice_phase, told_notice};
use super::state::{Departure, IncidentState, Member, fold};

/// URLs of an incident.
type Members<'s> = BTreeMap<&'s MemberKey, &'s Member>;

/// Decides whether a URL is one of a reader's: now, or at any time until the given one.
pub type Takes<'a> = dyn Fn(&MemberKey, &Member, Option<Timestamp>) -> bool + 'a;

/// A reader of incidents.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// Number of events of the incident that the reader has heard.
    pub heard: usize,
    /// When the reader heard the last of them; absent if unknown.
    pub heard_at: Option<Timestamp>,
    /// Whether the URL is one of the reader's.
    pub takes: &'a Takes<'a>,
    /// Whether it was, when the reader heard of it.
    pub took: &'a Takes<'a>,
    /// Whether the reader is told of a notice.
    pub takes_notice: &'a dyn Fn(&Notice) -> bool,
    /// Whether the reader was.
    pub took_notice: &'a dyn Fn(&Notice) -> bool,
    /// Whether the reader sees muted URLs too: the report of a run does, a message does not.
    pub sees_muted: bool,
    /// URLs of which the reader has heard in an incident that was merged into this one.
    pub elsewhere: &'a [(MemberKey, Member)],
}

/// The incident as the reader sees it; `None` if it never was about a URL of the reader, or if it began
/// and ended unheard.
pub fn view(log: &IncidentLog, reader: &Reader<'_>) -> Option<Incident> {
    let heard = fold(&log.events[..reader.heard.min(log.events.len())]);
    let now = log.state();
    let told = reader.told(&heard, &now);
    let open = reader.open(&now, &told);
    let notices = reader.notices(&heard, &now);
    let phase = phase((&told, reader.was_affected(&heard)), (&now, &open), notices)?;
    let left = reader.left(
        &now,
        &told,
        (phase == Phase::Closed).then(|| episode(&log.events)),
    );
    let left: Vec<(&MemberKey, &Departure)> =
        left.filter(|(key, _)| !open.contains_key(key)).collect();
    let members = || {
        open.values()
            .copied()
            .chain(left.iter().map(|(_, it)| &it.member))
    };
    let cause = main_cause(&open, &left);
    let urls = urls(&open, &left, &told, &now, &cause);
    let first = log.events.first()?;
    let since = members().map(|member| member.joining.since).min();
    let since = since.or_else(|| first.at());
    Some(Incident {
        id: log.id.clone(),
        key: log.key.clone(),
        reason: cause.reason.clone(),
        redirect: cause.redirect.clone(),
        opened_by: first.id.clone(),
        opened: first.at(),
        closed: now.closed.as_deref().and_then(time_of),
        merged_into: now.merged_into.clone(),
        last_good: urls.iter().find_map(|url| url.last_good),
        added: match phase {
            Phase::Opened => 0,
            _ => urls.iter().filter(|url| url.new).count() as u64,
        },
        host_urls: {
            let known = log.events.iter().rev().find_map(|event| event.host_urls);
            known.unwrap_or_default().max(open.len() as u64)
        },
        left: urls.iter().filter(|url| url.left.is_some()).count() as u64,
        evidence: evidence(&log.events, &cause, &urls),
        chapters: chapters(&log.events, reader),
        ack: ack(&now, &open),
        notice: told_notice(&now, phase, notices),
        earlier: first.earlier.clone(),
        urls,
        ..Incident::group(
            phase,
            log.host.clone(),
            cause.state,
            since.unwrap_or_default(),
        )
    })
}

/// The URLs of which a reader, who has heard so many events of this incident, has heard in incidents that were
/// merged into it since. `of_id` finds such an incident, and the number of its events that the reader has heard.
pub fn told_elsewhere<'a>(
    log: &IncidentLog,
    heard: usize,
    of_id: impl Fn(&str) -> Option<(&'a IncidentLog, usize)>,
) -> Vec<(MemberKey, Member)> {
    let unheard = log.events.iter().skip(heard);
    let merged: BTreeSet<&str> = unheard.filter_map(|event| event.from.as_deref()).collect();
    let told = merged.into_iter().filter_map(|id| {
        let (other, heard) = of_id(id)?;
        let mut ends = other.events.iter();
        let end = ends.position(|event| event.into.as_ref() == Some(&log.id))?;
        Some(fold(&other.events[..heard.min(end)]).members)
    });
    told.flatten().collect()
}

/// The incident as whoever has heard all of it knows it; with all URLs since it opened last if it is closed.
pub fn whole(log: &IncidentLog) -> Option<Incident> {
    if !log.state().is_open() {
        return ended(log, &Reader::of_all(0));
    }
    view(log, &Reader::of_all(log.events.len()))
}

/// A closed incident, as a reader of these URLs sees its end.
pub fn ended(log: &IncidentLog, reader: &Reader<'_>) -> Option<Incident> {
    let reader = Reader {
        heard: last_join(log)? + 1,
        heard_at: log.state().closed.as_deref().and_then(time_of),
        sees_muted: true,
        elsewhere: &[],
        ..*reader
    };
    view(log, &reader).filter(|incident| incident.phase == Phase::Closed)
}

/// The same incident as [`whole`] without the URLs that are muted, or were until they left.
pub fn without_muted(log: &IncidentLog) -> Option<Incident> {
    let mutes = |event: &Event| matches!(event.event, EventKind::Muted | EventKind::Unmuted);
    let heard = if log.state().is_open() {
        log.events.len()
    } else {
        let last = last_join(log)?;
        // The run that lets URLs join mutes them at once.
        let run = &log.events[last].id;
        let same = log.events[last..].iter();
        let same = same.take_while(|it| it.id == *run && (it.event.joins() || mutes(it)));
        last + same.count()
    };
    let reader = Reader {
        sees_muted: false,
        ..Reader::of_all(heard)
    };
    view(log, &reader)
}

/// The position of the last event with which URLs joined.
fn last_join(log: &IncidentLog) -> Option<usize> {
    log.events.iter().rposition(|event| event.event.joins())
}

impl Reader<'_> {
    /// A reader of all URLs, who has heard so many events.
    pub fn of_all(heard: usize) -> Self {
        Self {
            heard,
            heard_at: None,
            takes: &|_, _, _| true,
            took: &|_, _, _| true,
            takes_notice: &|_| true,
            took_notice: &|_| true,
            sees_muted: true,
            elsewhere: &[],
        }
    }

    /// The URLs of which the reader knows that they are affected.
    fn told<'s>(&'s self, heard: &'s IncidentState, now: &IncidentState) -> Members<'s> {
        let elsewhere = self.elsewhere.iter().map(|(key, member)| (key, member));
        let elsewhere = elsewhere
            .filter(|(key, _)| now.members.contains_key(*key) || now.left.contains_key(*key));
        let members = elsewhere.chain(&heard.members);
        let members = members.filter(|(key, member)| self.saw(key, member, self.heard_at));
        members.collect()
    }

    /// The URLs that are affected now: whoever heard of a URL hears of its end, whatever filters and mutes
    /// say by then. A URL that left and joined again has ended for a reader who does not see it any more.
    fn open<'s>(&self, now: &'s IncidentState, told: &Members<'_>) -> Members<'s> {
        let members = now.members.iter();
        let is_told = |key: &&MemberKey, member: &Member| {
            let known = told.get(key);
            known.is_some_and(|known| known.joined == member.joined)
        };
        let members =
            members.filter(|(key, member)| self.sees(key, member, None) || is_told(key, member));
        members.collect()
    }

    /// The URLs that left of which the reader has heard. The end tells of all URLs since the beginning, `episode`.
    fn left<'s>(
        &self,
        now: &'s IncidentState,
        told: &Members<'_>,
        episode: Option<BTreeSet<String>>,
    ) -> impl Iterator<Item = (&'s MemberKey, &'s Departure)> {
        now.left.iter().filter(move |(key, departure)| {
            let Departure { member, at, .. } = departure;
            let until = time_of(at);
            let is_told = || self.saw(key, member, until) && self.sees(key, member, until);
            let mut episode = episode.iter();
            told.contains_key(key) || episode.any(|runs| runs.contains(at)) && is_told()
        })
    }

    /// Whether the reader heard that a URL of his was affected, or of a danger, and of the end.
    fn was_affected(&self, heard: &IncidentState) -> bool {
        let mut left = heard.left.iter();
        let has_left = left.any(|(key, departure)| {
            let end = time_of(&departure.at);
            (self.took)(key, &departure.member, end)
        });
        let notice = heard.notice.as_ref();
        let is_known = has_left || notice.is_some_and(|notice| (self.took_notice)(notice));
        is_known && heard.closed.is_some()
    }

    /// The notices of which the reader knew and knows: that a host is in danger.
    fn notices<'s>(&self, heard: &'s IncidentState, now: &'s IncidentState) -> Notices<'s> {
        let told = heard.open_notice().filter(|notice| {
            let later = now.open_notice();
            (self.took_notice)(notice) || later.is_some_and(|later| (self.took_notice)(later))
        });
        let now = now.open_notice();
        let now = now.filter(|notice| (self.takes_notice)(notice) || told.is_some());
        Notices { told, now }
    }

    /// The same as [`Self::sees`], when the reader heard of the URL.
    fn saw(&self, key: &MemberKey, member: &Member, until: Option<Timestamp>) -> bool {
        (self.took)(key, member, until) && (self.sees_muted || !member.muted)
    }

    fn sees(&self, key: &MemberKey, member: &Member, until: Option<Timestamp>) -> bool {
        (self.takes)(key, member, until) && (self.sees_muted || !member.muted)
    }
}

/// The URLs of a view, in the order of their records.
fn urls(
    open: &Members<'_>,
    left: &[(&MemberKey, &Departure)],
    told: &Members<'_>,
    now: &IncidentState,
    cause: &Cause,
) -> Vec<AffectedUrl> {
    let open = open.iter().map(|(key, member)| AffectedUrl {
        new: is_new(told.get(key).copied(), member),
        muted: member.muted,
        before: now.left.get(key).map_or_else(Vec::new, spans),
        ..affected(key, member, cause)
    });
    let left = left.iter().map(|(key, departure)| AffectedUrl {
        left: Some(departure.because),
        until: time_of(&departure.at),
        before: earlier_spans(departure),
        ..affected(key, &departure.member, cause)
    });
    let mut urls: Vec<AffectedUrl> = open.chain(left).collect();
    sort_urls(&mut urls);
    urls
}

/// The change since the reader heard of the incident last. `None` if there is nothing that the reader knows
/// or should know.
fn phase(
    (told, was_affected): (&Members<'_>, bool),
    (now, open): (&IncidentState, &Members<'_>),
    notices: Notices<'_>,
) -> Option<Phase> {
    let is_affected = !open.is_empty() || notices.now.is_some();
    if told.is_empty() && notices.told.is_none() {
        let phase = if was_affected {
            Phase::Reopened
        } else {
            Phase::Opened
        };
        return is_affected.then_some(phase);
    }
    if !is_affected {
        return Some(Phase::Closed);
    }
    // The danger has become a breakage, or the reverse.
    if told.is_empty() != open.is_empty() {
        return Some(Phase::Became);
    }
    let both = || {
        let keys = open.iter();
        keys.filter_map(|(key, member)| Some((*told.get(key)?, *member)))
    };
    let is_other = |(before, after): (&Member, &Member)| match (before.cause(), after.cause()) {
        (Some(known), Some(cause)) => !known.is_like(cause) || after.believed && !before.believed,
        (known, cause) => known.is_some() != cause.is_some(),
    };
    let comes_and_goes = |(before, after): (&Member, &Member)| {
        after.intermittent.is_some() && before.intermittent.is_none()
    };
    let is_steady = |(before, after): (&Member, &Member)| {
        after.intermittent.is_none() && before.intermittent.is_some()
    };
    let is_new = open
        .iter()
        .any(|(key, member)| is_new(told.get(key).copied(), member));
    let has_left = told
        .keys()
        .any(|key| now.left.contains_key(key) && !open.contains_key(key));
    Some(match () {
        () if open.is_empty() && notices.told != notices.now => notice_phase(notices),
        () if both().any(is_other) => Phase::Became,
        () if both().any(comes_and_goes) => Phase::Intermittent,
        () if both().any(is_steady) => Phase::Steady,
        () if is_new => Phase::Grown,
        () if has_left => Phase::Shrunk,
        () => Phase::Unchanged,
    })
}

/// Whether the reader did not know that the URL is affected, or nobody was to be told so.
fn is_new(told: Option<&Member>, now: &Member) -> bool {
    told.is_none_or(|told| told.muted && !now.muted)
}

/// The ids of the runs since the incident opened last.
fn episode(events: &[Event]) -> BTreeSet<String> {
    let begins = |event: &Event| matches!(event.event, EventKind::Opened | EventKind::Reopened);
    let begin = events.iter().rposition(begins).unwrap_or_default();
    events[begin..]
        .iter()
        .map(|event| event.id.clone())
        .collect()
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
    for cause in members.iter().filter_map(|member| member.cause()) {
        *counts.entry(cause).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    // Only some requests saw something else.
    let none = || Cause::new(State::Ok, None);
    most.map_or_else(none, |(cause, _)| cause.clone())
}

fn affected(key: &MemberKey, member: &Member, main: &Cause) -> AffectedUrl {
    let joining = &member.joining;
    let state = member.cause().map(|cause| cause.state);
    AffectedUrl {
        file: joining.file.clone(),
        line: joining.line,
        request: key.request.clone(),
        variant: key.variant.clone(),
        categories: joining.categories.clone(),
        since: Some(joining.since),
        last_good: joining.last_good,
        intermittent: member.intermittent.is_some(),
        acked: member.acked.is_some(),
        state: state.filter(|state| *state != main.state),
        ..AffectedUrl::of(&key.url)
    }
}

/// The acknowledgement, if it is about one of these URLs.
fn ack(state: &IncidentState, open: &Members<'_>) -> Option<Ack> {
    let mut open = open.values();
    let ack = state.ack.clone();
    ack.filter(|_| open.any(|member| member.acked.is_some()))
}

/// The times at which a URL was broken that is broken again.
fn spans(departure: &Departure) -> Vec<Span> {
    let mut spans = earlier_spans(departure);
    let from = departure.member.joining.since;
    spans.extend(time_of(&departure.at).map(|to| Span { from, to }));
    spans
}

fn earlier_spans(departure: &Departure) -> Vec<Span> {
    let spans = departure.before.iter();
    let spans = spans.filter_map(|(from, at)| {
        let to = time_of(at)?;
        Some(Span { from: *from, to })
    });
    spans.collect()
}

/// The evidence of the last event about one of the URLs that has the cause.
fn evidence(events: &[Event], cause: &Cause, urls: &[AffectedUrl]) -> Evidence {
    let is_shown = |evidence: &&Evidence| urls.iter().any(|url| evidence.is_about(url));
    let of_cause = events.iter().rev().filter(|event| {
        let known = event.cause.as_ref();
        known.is_some_and(|known| known.is_like(cause))
    });
    let mut evidence = of_cause.flat_map(|event| &event.evidence).filter(is_shown);
    evidence.next().cloned().unwrap_or_default()
}

/// The events about the reader's URLs.
fn chapters(events: &[Event], reader: &Reader<'_>) -> Vec<Chapter> {
    let chapters = with_events(events, reader).into_iter();
    chapters.map(|(chapter, _)| chapter).collect()
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
            let member = state.members.get(key);
            let at = Some(Timestamp::MAX);
            member.is_some_and(|it| (reader.takes)(key, it, at) || (reader.took)(key, it, at))
        }));
        let urls = event.urls.iter().filter(|url| own.contains(&url.key));
        let urls = urls.count() as u64;
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
            sure: event.sure,
            again: event.again,
            new: index >= reader.heard,
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
