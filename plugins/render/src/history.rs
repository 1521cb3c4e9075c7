//! The history of an incident: a row for each event, the same in issues, on the site and in feeds.

use urldb_protocol::{Because, Chapter, EventKind, Incident};

use crate::compose::{chapter_cause, notice_event};
use crate::message::{Class, Fact};
use crate::numbers::{day, number};
use crate::text::Text;

/// Most rows of a history: the last ones.
const MOST_ROWS: usize = 10;

/// The history of an incident, unless it has only begun. The rows after the first one have no name.
pub(crate) fn history(incident: &Incident) -> Vec<Fact> {
    let rows: Vec<Text> = incident
        .chapters
        .iter()
        .filter_map(|chapter| {
            let at = chapter.at.strftime("%Y-%m-%d\u{a0}%H:%M\u{a0}\u{a0}");
            Some(Text::from(at.to_string()).and(history_row(incident, chapter)?))
        })
        .collect();
    if rows.len() < 2 {
        return vec![];
    }
    let earlier = rows.len().saturating_sub(MOST_ROWS);
    let more = (earlier > 0).then(|| Text::from(format!("and {} earlier", number(earlier as u64))));
    let names = std::iter::once("history").chain(std::iter::repeat(""));
    names
        .zip(rows.into_iter().skip(earlier).chain(more))
        .map(|(name, row)| Fact::new(name, row))
        .collect()
}

/// The row of an event: who joined or left, and how many are broken then: `40 broken: answers 404 Not Found`,
/// `20 recovered, 20 broken`. `None` for an event that another row tells.
pub fn history_row(incident: &Incident, chapter: &Chapter) -> Option<Text> {
    if let Some(text) = notice_event(incident, chapter) {
        return Some(text);
    }
    let (urls, broken) = (number(chapter.urls), number(chapter.affected));
    Some(match chapter.event {
        EventKind::Opened | EventKind::Reopened | EventKind::Became => {
            let text = Text::from(format!("{urls} broken"));
            match chapter.state {
                Some(_) => text.own(": ").and(chapter_cause(incident, chapter)),
                None => text,
            }
        }
        EventKind::Grown => Text::from(format!("{urls} more, {broken} broken")),
        EventKind::Shrunk => left(chapter),
        EventKind::Flapping => Text::from(format!("{urls} flapping")),
        EventKind::Steady => Text::from(format!("{urls} broken, no longer flapping")),
        EventKind::Acked => {
            let ack = chapter.ack.as_ref()?;
            let by = if ack.by.is_empty() { "" } else { " by " };
            Text::from(format!("acknowledged{by}"))
                .outside(&ack.by)
                .own(format!(" until {}: ", day(ack.until)))
                .outside(&ack.because)
        }
        EventKind::AckEnded => Text::from("acknowledgement ended"),
        EventKind::Muted => Text::from(format!("{urls} muted")),
        EventKind::Unmuted => Text::from(format!("{urls} no longer muted")),
        EventKind::Merged => Text::from("continues in another incident"),
        EventKind::Closed if incident.is_notice() => Text::from("over"),
        EventKind::Closed | EventKind::Noticed | EventKind::Renewed => return None,
    })
}

fn left(chapter: &Chapter) -> Text {
    let word = end_word(chapter.because.unwrap_or(Because::Recovered));
    let (urls, broken) = (number(chapter.urls), number(chapter.affected));
    Text::from(format!("{urls} {word}, {broken} broken"))
}

const fn end_word(because: Because) -> &'static str {
    match because {
        Because::Recovered => "recovered",
        Because::Accepted => "accepted",
        Because::Removed => "removed",
    }
}

/// The end of an incident by the ends of its URLs: recovered if a run saw all of them as promised, else closed; and the
/// numbers: `40 URLs`, or `3 accepted, 2 recovered`. The numbers are empty for one URL that recovered.
pub(crate) fn end_of(incident: &Incident) -> (Class, String) {
    let mut ends = [("accepted", 0_u64), ("removed", 0), ("recovered", 0)];
    for url in &incident.urls {
        let word = url.left.map(end_word);
        if let Some((_, urls)) = ends.iter_mut().find(|(end, _)| Some(*end) == word) {
            *urls += 1;
        }
    }
    match ends {
        // Another incident has its URLs.
        [(_, 0), (_, 0), (_, 0)] => (Class::Closed, String::new()),
        [(_, 0), (_, 0), (_, 1)] => (Class::Recovered, String::new()),
        [(_, 0), (_, 0), (_, urls)] => (Class::Recovered, format!("{} URLs", number(urls))),
        _ => {
            let ends = ends
                .iter()
                .filter(|(_, urls)| *urls > 0)
                .map(|(word, urls)| format!("{} {word}", number(*urls)));
            (Class::Closed, ends.collect::<Vec<_>>().join(", "))
        }
    }
}
