//! The notice that a domain file has mistakes: a block for each.

use urldb_protocol::{Envelope, FixedMistake, Incident, Mistake, Notice, Phase};

use super::scope::Scope;
use super::warnings::{of_fixed, of_mistake};
use crate::message::{Block, Fact};
use crate::numbers::count;
use crate::text::Text;

/// The blocks of the mistakes, new ones first, and of those that are corrected, unless the message is about the present
/// only.
pub(super) fn blocks(
    incident: &Incident,
    notice: &Notice,
    (envelope, scope): (&Envelope, Scope<'_>),
) -> Vec<Block> {
    let ids = vec![incident.id.clone()];
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
        blocks.extend(notice.fixed.iter().map(of_fixed));
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

/// A corrected mistake.
pub(super) fn fact(fixed: &FixedMistake) -> Fact {
    let mistake = Text::new().outside(&fixed.code);
    Fact::new(
        "mistake",
        match fixed.text.as_str() {
            "" => mistake,
            text => mistake.own(": ").code(text),
        },
    )
}

/// `2 mistakes`
pub(super) fn number(notice: &Notice) -> Text {
    Text::from(count(notice.count.unwrap_or_default(), "mistake"))
}
