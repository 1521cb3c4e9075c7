//! The first line of a message: the counts of the reader's URLs.

use urldb_protocol::Envelope;

use super::scope::Scope;
use crate::message::{Headline, Tone};
use crate::numbers::headline_of;
use crate::sentences::{possessor, readers_counts};

/// `URLs of gaia: 3 broken (1 new), 36 ok; recovered: 1`, with the mark of a test or of a weekly report.
pub(super) fn headline(envelope: &Envelope, scope: Scope<'_>) -> Headline {
    let counts = readers_counts(&envelope.summary);
    let mark = match scope {
        _ if envelope.run.test => TEST_MARK,
        Scope::Week => "weekly: ",
        _ => "",
    };
    let text = headline_of(&possessor(&envelope.summary), counts);
    Headline {
        tone: Tone::of(counts),
        text: format!("{mark}{text}"),
    }
}

/// The begin of all headlines and subjects of `urldb notify test`.
pub(super) const TEST_MARK: &str = "[test] ";
