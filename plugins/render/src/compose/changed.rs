//! The change of a content in one sentence.

use urldb_protocol::Evidence;

use crate::contents::contents_sentence;
use crate::numbers::{bytes, count, number};
use crate::text::Text;

/// The change of one URL's content, for a block without facts.
pub(super) fn changed_in_brief(evidence: &Evidence) -> Text {
    if let Some(contents) = &evidence.contents {
        let sentence = contents_sentence(contents).capitalized();
        return Text::new().outside(&sentence).own(".");
    }
    if let Some(first) = evidence
        .first_difference
        .filter(|_| evidence.text.is_none())
    {
        return Text::from(format!(
            "The first difference is at byte {}.",
            number(first)
        ));
    }
    let lengths = (evidence.observed.length, evidence.promised.length);
    let text = match lengths {
        _ if evidence.observed.sha256.is_none() => Text::new().outside(&evidence.detail),
        (Some(served), Some(promised)) if served != promised => Text::from(format!(
            "{} are served, {} are promised",
            bytes(served),
            number(promised)
        )),
        (Some(served), _) => Text::from(format!("{} are served", bytes(served))),
        _ => Text::new().outside(&evidence.detail),
    };
    let appended = evidence
        .text
        .as_ref()
        .filter(|text| text.appended_after.is_some());
    let text = match appended {
        Some(difference) => {
            let verb = if difference.added == 1 { "is" } else { "are" };
            let lines = count(difference.added, "line");
            text.own(format!("; {lines} {verb} new at the end"))
        }
        None => text,
    };
    if text.is_empty() { text } else { text.own(".") }
}
