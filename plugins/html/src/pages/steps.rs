//! The rows of a story: events, with the growth of several runs as one row, and the end with the last URL.

use urldb_protocol::{Because, ChapterDetails, EventKind, Evidence, Incident};
use urldb_render::numbers::{age_in_words, number};
use urldb_render::{chapter_sentence, growth_sentence};

use crate::bars::Bar;

/// Most parts of a sum.
const MOST_PARTS: usize = 6;

/// A row of a story.
pub(super) struct Step {
    pub(super) details: ChapterDetails,
    /// Number of URLs that joined in each run of a growth; of another event, one number.
    pub(super) runs: Vec<u64>,
    /// The incident closed with it.
    pub(super) closes: bool,
}

impl Step {
    /// The rows of these events.
    pub(super) fn all(events: Vec<ChapterDetails>) -> Vec<Self> {
        let mut steps: Vec<Self> = vec![];
        for details in events {
            match steps.last_mut() {
                Some(last) if last.ends_with(&details) => last.closes = true,
                Some(last) if last.grows_with(&details) => last.grow(details),
                _ => steps.push(Self {
                    runs: vec![details.chapter.urls],
                    details,
                    closes: false,
                }),
            }
        }
        steps
    }

    /// Whether the end of the incident belongs to the row in which the last URL left.
    fn ends_with(&self, end: &ChapterDetails) -> bool {
        let last = &self.details.chapter;
        let leaves = matches!(
            last.event,
            EventKind::Shrunk | EventKind::Steady | EventKind::Renewed
        );
        end.chapter.event == EventKind::Closed && leaves && last.run == end.chapter.run
    }

    /// Whether both are growth with one cause.
    fn grows_with(&self, next: &ChapterDetails) -> bool {
        let (last, next) = (&self.details.chapter, &next.chapter);
        let is_growth = last.event == EventKind::Grown && next.event == EventKind::Grown;
        let is_alike = (last.state, &last.reason, &last.redirect)
            == (next.state, &next.reason, &next.redirect);
        is_growth && is_alike
    }

    /// The fewest requests for a URL, if the runs saw the cause at each of them in all requests.
    pub(super) fn agreeing(&self) -> Option<u32> {
        match self.runs.len() {
            1 => agreeing(&self.details),
            _ => self.details.agreeing,
        }
    }

    /// Its sentence: `28 more URLs served other bytes, 4 in each of 7 runs: 32 in all.`
    pub(super) fn sentence(&self, incident: &Incident) -> String {
        let text = match self.runs.as_slice() {
            [_] => chapter_sentence(incident, &self.details),
            runs => growth_sentence(incident, &self.details, runs),
        };
        let end = if self.closes {
            ", and the incident closed"
        } else {
            ""
        };
        format!("{}{end}.", text.plain())
    }

    fn grow(&mut self, next: ChapterDetails) {
        self.runs.push(next.chapter.urls);
        let agreeing = self.agreeing().zip(agreeing(&next));
        let all = &mut self.details;
        all.agreeing = agreeing.map(|(one, other)| one.min(other));
        all.chapter.urls += next.chapter.urls;
        all.chapter.affected = next.chapter.affected;
        all.url = None;
        all.evidence.extend(next.evidence);
        all.told.extend(next.told);
    }
}

/// The fewest requests for a URL of one event, if the run saw the cause at each of them in all requests.
fn agreeing(details: &ChapterDetails) -> Option<u32> {
    let ChapterDetails {
        evidence, chapter, ..
    } = details;
    if (evidence.len() as u64) < chapter.urls {
        return details.agreeing;
    }
    let is_one = |evidence: &Evidence| evidence.agreeing == evidence.requests;
    let requests = evidence.iter().map(|evidence| evidence.requests).min();
    requests.filter(|_| evidence.iter().all(is_one))
}

/// The affected URLs after each run in which URLs joined or left.
pub(super) fn growth(events: &[ChapterDetails]) -> Vec<Bar> {
    let mut bars: Vec<(&str, Bar)> = vec![];
    for ChapterDetails { chapter, .. } in events {
        let joined = if chapter.event.joins() {
            chapter.urls
        } else {
            0
        };
        if joined == 0 && !leaves(chapter.event, chapter.because) {
            continue;
        }
        match bars.last_mut() {
            Some((run, bar)) if *run == chapter.run => {
                bar.urls = chapter.affected;
                bar.new = (bar.new + joined).min(bar.urls);
            }
            _ => bars.push((
                &chapter.run,
                Bar {
                    at: chapter.at,
                    urls: chapter.affected,
                    new: joined.min(chapter.affected),
                },
            )),
        }
    }
    bars.into_iter().map(|(_, bar)| bar).collect()
}

fn leaves(event: EventKind, because: Option<Because>) -> bool {
    event == EventKind::Shrunk || event == EventKind::Steady && because.is_some()
}

/// `40 broken = 20 recovered on 4 Nov, after 2 days + 20 recovered on 6 Nov, after 4 days`: the URLs of a closed
/// incident that left in several runs. Empty if they left at once, or if one of them left twice.
pub(super) fn sum(incident: &Incident, events: &[ChapterDetails]) -> String {
    let begins = |details: &ChapterDetails| {
        matches!(
            details.chapter.event,
            EventKind::Opened | EventKind::Reopened
        )
    };
    let begin = events.iter().rposition(begins).unwrap_or_default();
    let chapters = || events[begin..].iter().map(|details| &details.chapter);
    let joining = chapters().filter(|chapter| chapter.event.joins()).count();
    let parts: Vec<_> = chapters()
        .filter(|chapter| leaves(chapter.event, chapter.because))
        .collect();
    let left: u64 = parts.iter().map(|chapter| chapter.urls).sum();
    let is_whole = incident.closed.is_some() && left == incident.urls.len() as u64;
    if !is_whole || !(2..=MOST_PARTS).contains(&parts.len()) {
        return String::new();
    }
    let part = |chapter: &&urldb_protocol::Chapter| {
        let word = match chapter.because {
            Some(Because::Accepted) => "accepted",
            Some(Because::Removed) => "removed",
            Some(Because::Recovered | Because::Steady) | None => "recovered",
        };
        let day = chapter.at.strftime("%-d %b");
        // URLs that joined later were broken for a shorter time.
        let first = chapters().next().filter(|_| joining == 1);
        let after = first.map_or_else(String::new, |first| {
            format!(", after {}", age_in_words(first.at, chapter.at))
        });
        format!("{} {word} on {day}{after}", number(chapter.urls))
    };
    let parts: Vec<String> = parts.iter().map(part).collect();
    format!("{} broken = {}", number(left), parts.join(" + "))
}
