//! The words for states and reasons in reports.

use urldb_protocol::{Reason, State};

/// The heading of a group of URLs in this state.
pub(crate) fn title(state: State) -> &'static str {
    match state {
        State::Ok => "As promised",
        State::Changed => "Different content",
        State::Truncated => "Cut short",
        State::Gone => "Gone",
        State::Redirected => "Redirects otherwise than promised",
        State::Forbidden => "Access refused",
        State::ClientError => "Request refused",
        State::ServerError => "Server error",
        State::Unreachable => "Unreachable",
        State::Blocked => "Turned away as a robot",
        State::Inconclusive => "Not judged",
    }
}

/// What a reason means; a reason of a newer program stands for itself.
pub(crate) fn cause(reason: &str) -> &str {
    match reason.parse::<Reason>() {
        Ok(known) => known.explanation(),
        Err(_) => reason,
    }
}

/// A code as words: `content-unstable` → `Content unstable`.
pub(crate) fn sentence(code: &str) -> String {
    let words = code.replace('-', " ");
    let mut chars = words.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => words,
    }
}
