//! The notice that a domain file has mistakes: a block for each.

use urldb_protocol::{Because, Envelope, Incident, Mistake, Notice, Phase};

use super::scope::Scope;
use super::warnings::{of_fixed, of_mistake};
use crate::message::{Block, Class, Fact};
use crate::numbers::{count, number};
use crate::text::Text;

/// Most corrected mistakes that the end of a notice names.
const MOST_MENDED: usize = 5;

/// The blocks of the mistakes, new ones first, and of those that are corrected, unless the message is about the present
/// only.
pub(super) fn blocks(
    incident: &Incident,
    notice: &Notice,
    (envelope, scope): (&Envelope, Scope<'_>),
) -> Vec<Block> {
    let ids = vec![incident.id.clone()];
    if incident.phase == Phase::Closed {
        return vec![Block {
            ids,
            ..closed(incident, notice)
        }];
    }
    let is_known = incident.phase == Phase::Unchanged;
    let (new, known): (Vec<_>, Vec<_>) = notice.mistakes.iter().partition(|it| it.new && !is_known);
    let shown = |mistake: &Mistake, new: bool| {
        let mistake = Mistake {
            new,
            ..mistake.clone()
        };
        of_mistake(&mistake, envelope)
    };
    let known = known.into_iter().map(|mistake| shown(mistake, false));
    let new = new.into_iter().map(|mistake| shown(mistake, true));
    let mut blocks: Vec<Block> = new.chain(known).collect();
    if let (more @ 1.., Some(last)) = (unlisted(notice), blocks.last_mut()) {
        let more = format!("{} in this file", count(more, "other mistake"));
        last.facts.push(Fact::new("more", Text::from(more)));
    }
    if !is_known && !matches!(scope, Scope::Issue(_)) {
        blocks.extend(notice.mended.iter().map(of_fixed));
    }
    for block in &mut blocks {
        block.ids.clone_from(&ids);
    }
    blocks
}

/// Number of mistakes that the notice does not list.
fn unlisted(notice: &Notice) -> u64 {
    let listed = notice.mistakes.len() as u64;
    notice.count.unwrap_or_default().saturating_sub(listed)
}

fn closed(incident: &Incident, notice: &Notice) -> Block {
    let subject = Text::new().code(&notice.file);
    let is_gone = is_removed(incident);
    let class = if is_gone {
        Class::Closed
    } else {
        Class::Solved
    };
    let sentence = end(incident);
    let mended = notice.mended.iter().filter(|_| !is_gone);
    let mut facts: Vec<Fact> = mended
        .map(|mended| {
            let mistake = Text::new().outside(&mended.code);
            let text = match mended.text.as_str() {
                "" => mistake,
                text => mistake.own(": ").code(text),
            };
            Fact::new("mistake", text)
        })
        .collect();
    let more = facts.len().saturating_sub(MOST_MENDED);
    if more > 0 {
        facts.truncate(MOST_MENDED);
        let more = format!("{} more", number(more as u64));
        facts.push(Fact::new("and", Text::from(more)));
    }
    Block {
        short: subject.clone().own(" ").own(sentence),
        facts,
        ..Block::new(class, subject, Text::from(sentence))
    }
}

fn end(incident: &Incident) -> &'static str {
    if is_removed(incident) {
        "is no longer in the database"
    } else {
        "is corrected"
    }
}

/// Whether the file is gone; the last event says so.
pub(super) fn is_removed(incident: &Incident) -> bool {
    let last = incident.chapters.last();
    last.is_some_and(|chapter| chapter.because == Some(Because::Removed))
}

/// `urldb/data.example.org.yaml has 2 mistakes`: without the subject.
pub(super) fn sentence(incident: &Incident, notice: &Notice) -> Text {
    if incident.phase == Phase::Closed {
        return Text::from(end(incident));
    }
    let mistakes = count(notice.count.unwrap_or_default(), "mistake");
    Text::from(format!("has {mistakes}"))
}

/// The event in the history of an issue.
pub(super) fn event(notice: &Notice) -> Text {
    Text::from(count(notice.count.unwrap_or_default(), "mistake"))
}
