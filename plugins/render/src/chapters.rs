//! The events of an incident as chapters of the status site: a sentence in the past, and the evidence of each URL.

use jiff::Timestamp;
use urldb_protocol::{
    AffectedUrl, Because, Chapter, ChapterDetails, EventKind, Evidence, Incident, Notice,
    NoticeKind, Overview, Phase, State,
};

use crate::compose::{Lookup, evidence_facts, past_of, path_of};
use crate::message::Fact;
use crate::numbers::{count, hours, number};
use crate::sentences::Subject;
use crate::site::day_in_words;
use crate::status::empty_envelope;
use crate::text::Text;

/// The evidence of one URL in a chapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceBox {
    /// The sentence without subject, in the past: `answered 404 Not Found`.
    pub sentence: Text,
    /// The facts.
    pub facts: Vec<Fact>,
}

/// The sentence of a chapter, without full stop: `3 URLs served other bytes`.
pub fn chapter_sentence(incident: &Incident, details: &ChapterDetails) -> Text {
    let chapter = &details.chapter;
    if let Some(notice) = &chapter.notice {
        return noticed(chapter.event, notice);
    }
    let subject = subject(details);
    match chapter.event {
        EventKind::Opened => opening(incident, details),
        EventKind::Reopened => opening(incident, details).own(" again"),
        EventKind::Grown => {
            let text = grown(incident, details);
            text.own(format!(", {} in all", number(chapter.affected)))
        }
        EventKind::Became => {
            let it = if chapter.urls == 1 { "it" } else { "they" };
            let other = match (chapter.sure, chapter.again) {
                (true, _) => "had a certain cause for the first time",
                (_, true) => "had an earlier cause again",
                _ => "had another cause",
            };
            let text = subject.own(format!(" {other}: {it} "));
            text.and(cause(incident, details))
        }
        EventKind::Shrunk if chapter.urls > 1 && chapter.affected > 0 => {
            let all = chapter.urls + chapter.affected;
            let (some, all) = (number(chapter.urls), count(all, "URL"));
            left(Text::from(format!("{some} of the {all}")), chapter)
        }
        EventKind::Shrunk => left(subject, chapter),
        EventKind::Intermittent => subject.own(" came and went from this run on"),
        EventKind::Steady if chapter.because.is_some() => left(subject, chapter).own(" for a week"),
        EventKind::Steady => {
            let was = if chapter.urls == 1 { "was" } else { "were" };
            subject.own(format!(
                " no longer came and went, and {was} broken in each run"
            ))
        }
        EventKind::Muted => subject.own(" muted: no message tells of it from here on"),
        EventKind::Unmuted => subject.own(" no longer muted"),
        EventKind::Acked => acknowledged(details),
        EventKind::AckEnded => Text::from("The acknowledgement ended"),
        EventKind::Merged => match &details.into {
            Some(into) => Text::from("Incident ")
                .code(into)
                .own(" took over the URLs"),
            None => Text::from("Another incident took over the URLs"),
        },
        EventKind::Closed if incident.is_notice() => notice_end(incident, chapter),
        EventKind::Closed | EventKind::Noticed | EventKind::Renewed => {
            Text::from("The incident closed")
        }
    }
}

/// The end of a notice.
fn notice_end(incident: &Incident, chapter: &Chapter) -> Text {
    let kind = incident.notice.as_ref().map(|notice| notice.kind);
    Text::from(match (kind, chapter.because) {
        (Some(NoticeKind::Blind), _) => "A run had results again",
        (Some(NoticeKind::Mistake), Some(_)) => "The file was no longer in the database",
        (Some(NoticeKind::Mistake), None) => "The file was corrected",
        (Some(NoticeKind::NeedsHttp2), None) => "The host accepted HTTP/1.1 again",
        (Some(NoticeKind::UnsupportedTls), None) => "urldb could check the host again",
        (Some(NoticeKind::SlowRound), None) => "A run checked all URLs in time",
        (Some(NoticeKind::EvidenceLost), _) => "No promised bytes were lost any more",
        _ => "The warning ended",
    })
}

/// The sentence about growth in several runs, each with its number of new URLs: `28 more URLs answered 404 Not Found,
/// 4 in each of 7 runs: 32 in all`.
pub fn growth_sentence(incident: &Incident, details: &ChapterDetails, runs: &[u64]) -> Text {
    let number_of_runs = count(runs.len() as u64, "run");
    let first = runs.first().copied().unwrap_or_default();
    let times = if runs.iter().all(|urls| *urls == first) {
        format!("{} in each of {number_of_runs}", number(first))
    } else {
        format!("in {number_of_runs}")
    };
    let all = number(details.chapter.affected);
    grown(incident, details).own(format!(", {times}: {all} in all"))
}

/// `28 more URLs answered 404 Not Found`
fn grown(incident: &Incident, details: &ChapterDetails) -> Text {
    let urls = details.chapter.urls;
    let more = format!("{} more ", number(urls));
    let noun = if urls == 1 { "URL " } else { "URLs " };
    Text::from(more).own(noun).and(cause(incident, details))
}

/// The certificate of the host, as of an event of a notice.
fn noticed(event: EventKind, notice: &Notice) -> Text {
    match notice.kind {
        NoticeKind::CertificateEnds => {}
        NoticeKind::Blind => return without_result(notice),
        NoticeKind::NeedsHttp2 => return Text::from("The host spoke only HTTP/2"),
        NoticeKind::UnsupportedTls => {
            return Text::from("The host needed TLS that urldb does not support");
        }
        NoticeKind::SlowRound => {
            return Text::from("The host refused so many requests that not all URLs were checked");
        }
        NoticeKind::EvidenceLost => {
            let more = match event {
                EventKind::Noticed => "more ",
                _ => "",
            };
            let urls = notice.lost.len() as u64;
            let noun = if urls == 1 { "URL" } else { "URLs" };
            return Text::from(format!(
                "The archive had lost the promised bytes of {} {more}{noun}, and the server sent others",
                number(urls)
            ));
        }
        NoticeKind::Mistake => {
            let mistakes = count(notice.count.unwrap_or_default(), "mistake");
            return Text::from(format!("The file had {mistakes}"));
        }
    }
    let dates = match event {
        EventKind::Renewed => &notice.renewed,
        _ => &notice.certificate,
    };
    let end = dates
        .as_ref()
        .map_or_else(String::new, |dates| day_in_words(dates.not_after));
    Text::from(match (event, notice.within_hours) {
        (EventKind::Renewed, _) => format!("The host had a new certificate, which ends on {end}"),
        (_, Some(0)) => format!("The certificate had ended, on {end}"),
        (_, Some(left)) => {
            format!(
                "The certificate had less than {} left, until {end}",
                hours(left)
            )
        }
        (_, None) => format!("The certificate was to end on {end}"),
    })
}

/// `2 runs in a row had got no result for most URLs`
fn without_result(notice: &Notice) -> Text {
    Text::from(match notice.runs.unwrap_or_default() {
        0 | 1 => "The run got no result for most URLs".to_owned(),
        runs => {
            let runs = count(runs, "run");
            format!("{runs} in a row had got no result for most URLs")
        }
    })
}

/// The subject of a chapter: the path of its only URL, or the number of its URLs.
fn subject(details: &ChapterDetails) -> Text {
    let chapter = &details.chapter;
    let is_verb = matches!(chapter.event, EventKind::Muted | EventKind::Unmuted);
    let verb = match (is_verb, chapter.urls) {
        (false, _) => "",
        (true, 1) => " was",
        (true, _) => " were",
    };
    let text = match (&details.url, chapter.urls) {
        (Some(url), 1) => Text::new().path(&path_of(url)),
        (_, urls) => Text::from(count(urls, "URL")),
    };
    text.own(verb)
}

/// `3 URLs served other bytes`, or of a host that gave no answer: `mirror.example.net had no address (100 URLs)`.
fn opening(incident: &Incident, details: &ChapterDetails) -> Text {
    let chapter = &details.chapter;
    let is_host = matches!(
        chapter.state,
        Some(State::Unreachable | State::Inconclusive | State::Blocked)
    );
    if chapter.state.is_none() {
        return subject(details).own(" did not always answer as promised");
    }
    if is_host && chapter.urls > 1 {
        let evidence = chapter.evidence.as_ref();
        let sentence = past_of(incident, chapter, Subject::Host, evidence);
        let text = Text::new().code(&incident.host).own(" ").and(sentence);
        return text.own(format!(" ({})", count(chapter.urls, "URL")));
    }
    subject(details).own(" ").and(cause(incident, details))
}

fn cause(incident: &Incident, details: &ChapterDetails) -> Text {
    let chapter = &details.chapter;
    if chapter.state.is_none() {
        return Text::from("did not always answer as promised");
    }
    let subject = match chapter.urls {
        1 => Subject::Url,
        urls => Subject::Hosts(urls),
    };
    past_of(incident, chapter, subject, chapter.evidence.as_ref())
}

/// The end of a membership: recovered, accepted and removed are three things.
fn left(subject: Text, chapter: &Chapter) -> Text {
    let (was, its_promise, its_record) = if chapter.urls == 1 {
        ("was", "its promise was", "its record was")
    } else {
        ("were", "their promises were", "their records were")
    };
    let it_serves = if chapter.urls == 1 {
        "it served"
    } else {
        "they served"
    };
    match chapter.because.unwrap_or(Because::Recovered) {
        Because::Recovered => subject.own(format!(" {was} as promised again")),
        Because::Steady => subject.own(format!(" {was} as promised")),
        Because::Accepted => {
            subject.own(format!(" left: {its_promise} changed to what {it_serves}"))
        }
        Because::Removed => subject.own(format!(" left: {its_record} removed")),
    }
}

/// `Acknowledged by ada until 2 December 2026: “the tables move”`
fn acknowledged(details: &ChapterDetails) -> Text {
    let Some(ack) = &details.chapter.ack else {
        return Text::from("Acknowledged");
    };
    let text = match ack.by.as_str() {
        "" => Text::from("Acknowledged"),
        by => Text::from("Acknowledged by ").outside(by),
    };
    let until = day_in_words(ack.until);
    let text = text.own(format!(" until {until}: “")).outside(&ack.because);
    text.own("”")
}

/// The evidence of one URL in a chapter of an incident.
pub fn evidence_box(
    overview: &Overview,
    incident: &Incident,
    chapter: &Chapter,
    evidence: &Evidence,
) -> EvidenceBox {
    let is_good = chapter.because.is_some() || chapter.state.is_none();
    let state = if is_good {
        State::Ok
    } else {
        chapter.state.unwrap_or(State::Ok)
    };
    let of_url = Chapter {
        state: Some(state),
        ..chapter.clone()
    };
    let sentence = past_of(incident, &of_url, Subject::Url, Some(evidence));
    let of_members = incident.urls.iter().find(|url| url.url == evidence.url);
    let last_good = of_members.and_then(|url| url.last_good);
    // The URL may have joined again since.
    let last_good = last_good.filter(|last| !is_good && *last < chapter.at);
    let one = one_url(incident, &of_url, evidence, last_good);
    let envelope = empty_envelope(overview);
    EvidenceBox {
        sentence,
        facts: evidence_facts(&one, &Lookup::new(&envelope)),
    }
}

/// An incident of the URL of the evidence alone.
fn one_url(
    incident: &Incident,
    chapter: &Chapter,
    evidence: &Evidence,
    last_good: Option<Timestamp>,
) -> Incident {
    let state = chapter.state.unwrap_or(State::Ok);
    Incident {
        reason: chapter.reason.clone(),
        redirect: chapter.redirect.clone(),
        urls: vec![AffectedUrl::of(&evidence.url)],
        evidence: evidence.clone(),
        last_good,
        ..Incident::group(
            Phase::Unchanged,
            incident.host.clone(),
            state,
            incident.since,
        )
    }
}

/// The path of a URL, with its query.
pub fn url_path(url: &str) -> String {
    path_of(url)
}
