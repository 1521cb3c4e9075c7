//! The facts about the past of a group: what it was before, what came and left, and the times of its URLs.

use jiff::{SignedDuration, Timestamp};
use urldb_protocol::{AffectedUrl, Because, Chapter, EventKind, Evidence, Incident, Span, State};

use super::open::OpenGroup;
use crate::message::Fact;
use crate::numbers::{age, count, day, moment, number};
use crate::sentences::{Cause, Subject, is_home_page};
use crate::text::Text;

/// Most days that are named one by one.
const MOST_DAYS: usize = 4;

/// Times of URLs that are closer than this are of one run: it asks its URLs one after the other.
const RUN: SignedDuration = SignedDuration::from_mins(10);

impl OpenGroup<'_> {
    fn only(&self) -> Option<&Incident> {
        match self.group.incidents.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The past of the URLs: broken in another way, or broken once already.
    pub(super) fn before(&self) -> Option<Fact> {
        let incident = self.only()?;
        let spans = incident.affected().find_map(|url| url.before.last());
        if let Some(span) = spans.filter(|_| !self.group.is_flapping()) {
            let text = causes(incident)
                .rfind(|chapter| chapter.at < span.to)
                .map_or_else(|| Text::from("broken"), |it| chapter_cause(incident, it));
            return Some(Fact::new("before", text.own(" ").own(span_text(span))));
        }
        let (before, last) = former_cause(incident)?;
        let from = moment(before.at);
        let text =
            chapter_cause(incident, before).own(format!(", from {from} to {}", moment(last.at)));
        Some(Fact::new("before", text))
    }

    /// The URLs that have left, and why.
    pub(super) fn left(&self) -> Vec<Fact> {
        let Some(incident) = self.only() else {
            return Vec::new();
        };
        let all = number(incident.urls.len() as u64);
        [
            ("recovered", Because::Recovered, ""),
            ("recovered", Because::Steady, ", as promised for a week"),
            (
                "accepted",
                Because::Accepted,
                ", as promised by a changed promise",
            ),
            ("removed", Because::Removed, ", no longer in the database"),
        ]
        .into_iter()
        .filter_map(|(name, because, what)| {
            let left = incident.urls.iter().filter(|url| url.left == Some(because));
            let number_left = left.clone().count() as u64;
            let mut runs: Vec<Timestamp> = left.filter_map(|url| url.until).collect();
            runs.sort_unstable();
            runs.dedup();
            let text = format!("{} of the {all} URLs{what}", number(number_left));
            let text = match runs.as_slice() {
                [run] => format!("{text}, in the run of {}", moment(*run)),
                [.., last] => format!("{text}, the last in the run of {}", moment(*last)),
                [] => text,
            };
            (number_left > 0).then(|| Fact::new(name, Text::from(text)))
        })
        .collect()
    }

    /// The sight of this run of flapping URLs.
    pub(super) fn today(&self) -> Vec<Fact> {
        let incident = self.group.first();
        let mut facts = vec![];
        if self.is_one_url()
            && let Some(url) = self.group.urls().next()
        {
            let is_own = incident.evidence.is_about(url);
            let text = url.seen.map(|seen| match seen {
                State::Ok => Text::from("as promised"),
                seen if seen == incident.state && is_own => self.sight(&incident.evidence),
                seen => self.in_other_state(seen),
            });
            facts.extend(text.map(|text| Fact::new("now", text)));
        }
        let mut breaks: Vec<Timestamp> = self
            .group
            .urls()
            .flat_map(|url| &url.breaks)
            .copied()
            .collect();
        breaks.sort_unstable();
        breaks.dedup();
        facts.extend(breaks_text(&breaks).map(|text| Fact::new("breaks", text)));
        facts
    }

    fn sight(&self, evidence: &Evidence) -> Text {
        let requests = count(evidence.requests.into(), "request");
        let agreeing = number(evidence.agreeing.into());
        let agree = format!("; {agreeing} of {requests} got this answer");
        self.cause.sentence().own(agree)
    }

    /// A state that the run saw without believing it.
    fn in_other_state(&self, state: State) -> Text {
        let cause = Cause {
            state,
            reason: None,
            redirect: None,
            evidence: &Evidence::default(),
            ..self.cause
        };
        let confirmed = if state.is_unsure() {
            ""
        } else {
            ", not confirmed"
        };
        cause.sentence().own(confirmed)
    }

    /// When the URLs were first seen broken, and last seen good, where these times differ.
    pub(super) fn since_of_urls(&self) -> Option<Fact> {
        let (since, urls) = first_of(self.group.urls(), |url| url.since)?;
        let all = self.group.urls_now();
        let started = self.envelope.run.started;
        (urls < all).then(|| {
            let age = age(since, started);
            let first = count(urls, "URL");
            let text = format!("{} ({age}) for the first {first}", moment(since));
            Fact::new("since", Text::from(text))
        })
    }

    /// The last run that saw the URLs which broke last as promised, where others were seen earlier.
    pub(super) fn last_good_of_urls(&self) -> Option<Fact> {
        let (last, urls) = last_of(self.group.urls(), |url| url.last_good)?;
        let all = self.group.urls_now();
        (urls < all).then(|| {
            let which = match urls {
                1 => "the last URL".to_owned(),
                _ => format!("the last {} URLs", number(urls)),
            };
            Fact::new(
                "last good",
                Text::from(format!("{} for {which}", moment(last))),
            )
        })
    }

    /// URLs of the incident that are broken in another way.
    pub(super) fn others(&self) -> Option<Fact> {
        let mut others = self.only()?.affected().filter(|url| url.state.is_some());
        let first = others.next()?.state?;
        let number = 1 + others.count() as u64;
        let text = format!("{} in another way, such as {first}", count(number, "URL"));
        Some(Fact::new("also", Text::from(text)))
    }

    /// A former incident of the URLs.
    pub(super) fn earlier(&self) -> Option<Fact> {
        let earlier = self.only()?.earlier.as_ref()?;
        let text = Text::from("incident ").outside(&earlier.id).own(format!(
            ", {} to {}",
            moment(earlier.opened),
            moment(earlier.closed)
        ));
        Some(Fact::new("earlier", text))
    }

    /// The acknowledgement that holds.
    pub(super) fn ack(&self) -> Option<Fact> {
        let ack = self.only()?.ack.as_ref()?;
        let by = if ack.by.is_empty() {
            Text::from("until ")
        } else {
            Text::from("by ").outside(&ack.by).own(" until ")
        };
        let text = by.own(day(ack.until)).own(": “").outside(&ack.because);
        Some(Fact::new("ack", text.own("”")))
    }
}

/// The events that tell a cause, with its evidence.
fn causes(incident: &Incident) -> impl DoubleEndedIterator<Item = &Chapter> {
    incident
        .chapters
        .iter()
        .filter(|chapter| chapter.state.is_some() && chapter.evidence.is_some())
}

/// The events that told the cause before the present one, and the present one.
fn former_cause(incident: &Incident) -> Option<(&Chapter, &Chapter)> {
    let last = causes(incident).next_back()?;
    let is_present = (last.state, &last.reason) == (Some(incident.state), &incident.reason);
    let is_other = |it: &&Chapter| (it.state, &it.reason) != (last.state, &last.reason);
    let before = causes(incident).rev().find(is_other)?;
    is_present.then_some((before, last))
}

/// The earliest time, and the number of URLs of its run.
fn first_of<'a>(
    urls: impl Iterator<Item = &'a AffectedUrl>,
    time: impl Fn(&AffectedUrl) -> Option<Timestamp>,
) -> Option<(Timestamp, u64)> {
    let times: Vec<Timestamp> = urls.filter_map(time).collect();
    let first = *times.iter().min()?;
    Some((first, in_run(&times, first)))
}

/// The latest time, and the number of URLs of its run.
fn last_of<'a>(
    urls: impl Iterator<Item = &'a AffectedUrl>,
    time: impl Fn(&AffectedUrl) -> Option<Timestamp>,
) -> Option<(Timestamp, u64)> {
    let times: Vec<Timestamp> = urls.filter_map(time).collect();
    let last = *times.iter().max()?;
    Some((last, in_run(&times, last)))
}

/// The number of times that are of the same run, by [`RUN`].
fn in_run(times: &[Timestamp], time: Timestamp) -> u64 {
    let is_of_run = |other: &&Timestamp| other.duration_since(time).abs() < RUN;
    times.iter().filter(is_of_run).count() as u64
}

/// The first time of each run that these times are of, by [`RUN`], in order.
pub(super) fn runs(times: impl Iterator<Item = Timestamp>) -> Vec<Timestamp> {
    let mut times: Vec<Timestamp> = times.collect();
    times.sort_unstable();
    times.dedup_by(|time, first| time.duration_since(*first) < RUN);
    times
}

/// The run of a time: one of `runs`.
pub(super) fn run_of(runs: &[Timestamp], time: Timestamp) -> Timestamp {
    runs.iter()
        .rev()
        .copied()
        .find(|run| *run <= time)
        .unwrap_or(time)
}

/// `3 times: 2026-11-02, 2026-11-04, 2026-11-06`, or `5 times, last on 2026-11-08`.
fn breaks_text(breaks: &[Timestamp]) -> Option<Text> {
    let last = breaks.last()?;
    let times = count(breaks.len() as u64, "time");
    let mut days: Vec<String> = breaks.iter().map(|at| day(*at)).collect();
    days.dedup();
    Some(Text::from(if days.len() <= MOST_DAYS {
        format!("{times}: {}", days.join(", "))
    } else {
        format!("{times}, last on {}", day(*last))
    }))
}

/// `from 2026-11-02 04:17 UTC to 2026-11-03 04:17 UTC (1 day)`
pub(super) fn span_text(span: &Span) -> String {
    let Span { from, to } = *span;
    format!(
        "from {} to {} ({})",
        moment(from),
        moment(to),
        age(from, to)
    )
}

/// The cause of a chapter: `answers 404 Not Found`.
pub(crate) fn chapter_cause(incident: &Incident, chapter: &Chapter) -> Text {
    let subject = if chapter.urls == 1 {
        Subject::Url
    } else {
        Subject::Host
    };
    cause_of_chapter(incident, chapter, subject, chapter.evidence.as_ref())
}

/// The cause of a chapter, as a sentence about this subject.
pub(crate) fn cause_of_chapter(
    incident: &Incident,
    chapter: &Chapter,
    subject: Subject,
    evidence: Option<&Evidence>,
) -> Text {
    let no_evidence = Evidence::default();
    let redirect = chapter.redirect.as_deref();
    let cause = Cause {
        subject,
        state: chapter.state.unwrap_or(State::Inconclusive),
        reason: chapter.reason.as_deref(),
        redirect,
        to_home_page: redirect.is_some_and(|target| is_home_page(target, &incident.host)),
        evidence: evidence.unwrap_or(&no_evidence),
        domain: None,
        urls: (chapter.urls, chapter.urls),
    };
    if cause.counts_urls() {
        return Text::from("redirects to the home page");
    }
    cause.sentence()
}

/// The ways in which the URLs of an incident were broken, in their order: `grew by 199 bytes, then answers
/// 404 Not Found`.
pub(super) fn ways(incident: &Incident) -> Option<Text> {
    let mut ways: Vec<String> = incident
        .chapters
        .iter()
        .filter(|chapter| {
            let is_cause = matches!(
                chapter.event,
                EventKind::Opened | EventKind::Reopened | EventKind::Became
            );
            is_cause && chapter.state.is_some()
        })
        .map(|chapter| chapter_cause(incident, chapter).plain())
        .collect();
    ways.dedup();
    (!ways.is_empty()).then(|| Text::new().outside(&ways.join(", then ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_one_run_are_one_time() {
        let at = |text: &str| format!("2026-11-{text}Z").parse().unwrap();
        let url = |text| AffectedUrl {
            since: Some(at(text)),
            ..AffectedUrl::of("https://example.test/")
        };
        // The second is asked in the next minute of the first one's run.
        let urls = ["02T04:17:58", "02T04:18:01", "03T04:17:58"].map(url);
        let since = |url: &AffectedUrl| url.since;
        assert_eq!(first_of(urls.iter(), since), Some((at("02T04:17:58"), 2)));
        assert_eq!(last_of(urls.iter(), since), Some((at("03T04:17:58"), 1)));
        let run = urls[..2].iter();
        assert_eq!(last_of(run, since), Some((at("02T04:18:01"), 2)));
    }
}
