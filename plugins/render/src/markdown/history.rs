//! The history of an incident, a line for each event.

use urldb_protocol::Incident;

use super::syntax::inline;
use crate::history::history_row;
use crate::numbers::{count, moment, with_spaces};

/// Most events that are listed: the first ones and the last ones.
const MOST: usize = 30;

/// The list of events; empty if the incident has none, as in a message of `check`.
pub(super) fn history(incident: &Incident) -> Option<String> {
    let lines: Vec<String> = incident
        .chapters
        .iter()
        .filter_map(|chapter| {
            let row = inline(&history_row(incident, chapter)?);
            Some(format!("- {}: {row}", with_spaces(&moment(chapter.at))))
        })
        .collect();
    if lines.is_empty() {
        return None;
    }
    let left_out = lines.len().saturating_sub(MOST);
    let (first, rest) = lines.split_at(lines.len().min(MOST / 2));
    let mut shown = first.to_vec();
    if left_out > 0 {
        shown.push(format!("- and {} more", count(left_out as u64, "event")));
    }
    shown.extend_from_slice(&rest[left_out..]);
    Some(format!("History:\n\n{}", shown.join("\n")))
}
