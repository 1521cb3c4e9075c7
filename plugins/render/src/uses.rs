//! Words for the places in lists that use a URL.

use urldb_protocol::{Location, UrlUses};

use crate::message::Fact;
use crate::numbers::{count, counted, number};
use crate::text::Text;

/// So many places are all named.
const ALL: u64 = 3;

/// The number of places that are named of more.
const SOME: usize = 2;

/// `40 times in 12 files: guide/a.md:3, guide/b.md:9 and 38 more`, or `guide/a.md:3`; `None` for a URL that no list has.
/// `guide/a.md:3 (written as URL)` if the site rules take that URL to the page.
pub fn uses_text(uses: &UrlUses) -> Option<Text> {
    let (times, (lines, _)) = (uses.used, uses.split());
    let shown = if times <= ALL { lines.len() } else { SOME };
    let files = count(uses.used_files, "file");
    let mut text = match times {
        0 => return None,
        1 => Text::new(),
        _ => Text::from(format!("{} in {files}: ", count(times, "time"))),
    };
    for (index, at) in lines.iter().take(shown).enumerate() {
        text = text.own(if index == 0 { "" } else { ", " });
        text = text.and(place(at));
    }
    let more = times.saturating_sub(shown as u64);
    Some(match more {
        0 => text,
        _ => text.own(format!(" and {} more", number(more))),
    })
}

/// `guide/a.md:3`, or `guide/a.md:3 (written as URL)`.
fn place(at: &Location) -> Text {
    let text = Text::new().path(&format!("{}:{}", at.file, at.line));
    match &at.written_as {
        Some(url) => text.own(" (written as ").outside(url).own(")"),
        None => text,
    }
}

/// The fact about a URL that is used several times, or written otherwise.
pub(crate) fn notable_uses(uses: &UrlUses) -> Option<Fact> {
    let is_other = uses.locations.iter().any(|at| at.written_as.is_some());
    let text = uses_text(uses).filter(|_| uses.used > 1 || is_other);
    Some(Fact::new(USED, text?))
}

/// The name of that fact.
pub(crate) const USED: &str = "used";

/// `guide/a.md:3 and 39 more places`, for a row; `None` for a URL that no list has.
pub(crate) fn used_in_row(uses: &UrlUses) -> Option<String> {
    let (lines, _) = uses.split();
    let first = place(lines.first()?).plain();
    Some(match uses.used.saturating_sub(1) {
        0 => first,
        more => format!("{first} and {}", counted(more, "more place")),
    })
}
