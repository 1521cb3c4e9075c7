//! The notice that the archive lost its copy of promised bytes, and that the server sends others by now.

use urldb_protocol::{Because, Chapter, EventKind, LostContent, Notice};

use crate::message::{Command, Fact};
use crate::numbers::{counted, day};
use crate::text::Text;

/// The sentence about the host.
pub(super) const SENTENCE: &str = "has promised bytes that the archive lost";

/// The advice while the notice holds.
pub(super) const ADVICE: &str = "The host serves other bytes, so nothing can show the promised ones now. Put the lost \
                                 file back into a place of the archive, and run urldb archive repair. Or get the \
                                 bytes from elsewhere, and serve them again. Or promise the bytes that are served.";

/// The URLs with lost bytes; at the end all of them.
pub(super) fn facts(notice: &Notice, is_closed: bool) -> impl Iterator<Item = Fact> {
    shown(notice, is_closed).map(fact)
}

pub(super) fn commands(notice: &Notice) -> impl Iterator<Item = Command> {
    let accept = shown(notice, false).next().and_then(|first| {
        let purpose = "to promise the bytes that are served";
        Command::new(purpose, &["urldb", "accept", &first.url])
    });
    let repair = &["urldb", "archive", "repair"];
    let repair = Command::new("once the file is back in a place", repair);
    repair.into_iter().chain(accept)
}

/// Whether the archive has any of the bytes again: a changed promise or a removed record brings none.
pub(super) fn is_recovered(notice: &Notice) -> bool {
    let mut ends = notice.lost.iter().map(|it| it.left);
    ends.any(|end| end == Some(Because::Recovered))
}

/// The URLs that the archive lacks the bytes of, or all of them at the end.
fn shown(notice: &Notice, is_closed: bool) -> impl Iterator<Item = &LostContent> {
    notice
        .lost
        .iter()
        .filter(move |it| is_closed || it.left.is_none())
}

/// `lost: http://data.example.org/a.csv, on 2026-11-23`, or its end.
fn fact(content: &LostContent) -> Fact {
    let name = match content.left {
        None => "lost",
        Some(Because::Removed) => "removed",
        Some(Because::Accepted) => "accepted",
        Some(Because::Recovered) => "archived",
    };
    let on = match content.left {
        None => ", on ",
        Some(_) => ", lost on ",
    };
    let url = Text::new().code(&content.url);
    Fact::new(name, url.own(on).own(day(content.lost)))
}

/// The event in the history of an issue.
pub(super) fn event(chapter: &Chapter, notice: &Notice) -> Text {
    let noun = match chapter.event {
        EventKind::Noticed => "more URL",
        _ => "URL",
    };
    let urls = counted(notice.lost.len() as u64, noun);
    Text::from(format!("bytes of {urls} lost"))
}
