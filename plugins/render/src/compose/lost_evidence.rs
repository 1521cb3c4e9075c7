//! The notice that the archive lost its copy of promised bytes, and that the server sends others by now.

use urldb_protocol::{Because, Chapter, EventKind, Incident, LostContent, Notice, Phase};

use super::host_notice;
use crate::message::{Block, Class, Command, Fact};
use crate::numbers::{day, number};
use crate::text::Text;

/// Most URLs that a message names.
const MOST_URLS: usize = 5;

/// The advice while the notice holds.
const ADVICE: &str = "Nothing can show the promised bytes now. Put the lost file back into a place of the archive, \
                      and run urldb archive repair. Or get the bytes from elsewhere, and serve them again. Or promise \
                      the bytes that are served.";

pub(super) fn block(incident: &Incident, notice: &Notice) -> Block {
    let is_closed = incident.phase == Phase::Closed;
    let contents = || shown(notice, is_closed);
    let mut facts: Vec<Fact> = contents().take(MOST_URLS).map(fact).collect();
    let more = contents().count().saturating_sub(MOST_URLS);
    if more > 0 {
        let more = format!("{} more", number(more as u64));
        facts.push(Fact::new("and", Text::from(more)));
    }
    let block = host_notice::block(incident, notice, sentence(incident, notice));
    let accept = contents().next().and_then(|first| {
        let purpose = "to promise the bytes that are served";
        Command::new(purpose, &["urldb", "accept", &first.url])
    });
    let repair = Command::new(
        "once the file is back in a place",
        &["urldb", "archive", "repair"],
    );
    let commands = repair.into_iter().chain(accept).filter(|_| !is_closed);
    let advice = Some(Text::from(ADVICE)).filter(|_| !is_closed);
    Block {
        class: class(notice, &block),
        tone: class(notice, &block).tone(),
        short: Text::new().code(&incident.host).own(if is_closed {
            ": no lost bytes any more"
        } else {
            ": promised bytes are lost"
        }),
        facts,
        brief: advice.clone().unwrap_or_default(),
        note: advice,
        brief_command: (!is_closed).then_some(0),
        commands: commands.collect(),
        ..block
    }
}

/// A notice is solved only if bytes came back: a changed promise or a removed record brings none.
fn class(notice: &Notice, block: &Block) -> Class {
    let is_solved = notice
        .lost
        .iter()
        .any(|it| it.left == Some(Because::Recovered));
    match block.class {
        Class::Solved if !is_solved => Class::Closed,
        class => class,
    }
}

/// The URLs that the archive lacks the bytes of, or all of them at the end.
fn shown(notice: &Notice, is_closed: bool) -> impl Iterator<Item = &LostContent> {
    let lost = notice.lost.iter();
    lost.filter(move |it| is_closed || it.left.is_none())
}

/// `lost: http://data.example.org/a.csv, on 2026-11-23`, or its end.
fn fact(content: &LostContent) -> Fact {
    let name = match content.left {
        None => "lost",
        Some(Because::Removed) => "removed",
        Some(Because::Accepted) => "accepted",
        Some(Because::Recovered | Because::Steady) => "archived",
    };
    let on = format!(", lost on {}", day(content.lost));
    let on = match content.left {
        None => on.replace("lost ", ""),
        Some(_) => on,
    };
    let url = Text::new().code(&content.url);
    Fact::new(name, url.own(on))
}

/// `serves other bytes than promised, and the archive lost its copy of the promised ones (2 of 24 URLs)`
pub(super) fn sentence(incident: &Incident, notice: &Notice) -> Text {
    if incident.phase == Phase::Closed {
        return Text::from(end(notice));
    }
    host_notice::with_urls(Text::from(LOST), incident, notice)
}

/// The sentence about the host.
const LOST: &str =
    "serves other bytes than promised, and the archive lost its copy of the promised ones";

/// The sentence about a host at the end of its notice.
pub(super) fn end(notice: &Notice) -> &'static str {
    let left_all = |because| notice.lost.iter().all(|it| it.left == Some(because));
    match () {
        () if left_all(Because::Recovered) => "has its lost bytes in the archive again",
        () if left_all(Because::Accepted) => "no longer promises the bytes that the archive lost",
        () if left_all(Because::Removed) => "no longer has records of the bytes that were lost",
        () => "no longer has promised bytes that the archive lacks",
    }
}

/// The event in the history of an issue.
pub(super) fn event(chapter: &Chapter, notice: &Notice) -> Text {
    let urls = number(notice.lost.len() as u64);
    let noun = if notice.lost.len() == 1 {
        "URL"
    } else {
        "URLs"
    };
    Text::from(match chapter.event {
        EventKind::Noticed => format!("bytes of {urls} more {noun} lost"),
        _ => format!("bytes of {urls} {noun} lost"),
    })
}
