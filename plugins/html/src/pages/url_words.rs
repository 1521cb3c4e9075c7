//! Sentences and words about one URL, for its page and for the table of its host.

use jiff::Timestamp;
use urldb_protocol::{State, UrlCondition, UrlDetails, UrlOverview};
use urldb_render::numbers::counted;
use urldb_render::{capitalized, day_in_words, one_line};

use super::values::bytes;

/// A time in which a URL had one state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    /// When the state was first seen.
    pub(super) from: Timestamp,
    /// Class of the mark: `k`, `w`, `b` or `o`.
    pub(super) class: &'static str,
    /// The state, for people. Nothing in it comes from outside.
    pub(super) state: String,
}

/// Failures among the last runs from which on the headline speaks of them.
const FAILURES: u64 = 3;

/// The folder and the name of a URL's path, for people.
pub(crate) fn path_parts(url: &UrlOverview) -> (String, String) {
    let split = url.path.rfind('/').filter(|_| url.request.is_none());
    let (folder, name) = url.path.split_at(split.map_or(0, |at| at + 1));
    let (folder, name) = match (folder, name) {
        (folder, "") => (String::new(), one_line(folder)),
        (folder, name) => (one_line(folder), one_line(name)),
    };
    let name = match &url.request {
        Some(_) => format!("{name} (another request than GET)"),
        None => name,
    };
    let name = match &url.variant {
        Some(variant) => format!("{name} ({})", one_line(&variant.replace('\n', ", "))),
        None => name,
    };
    (folder, name)
}

/// Class and words of a URL's state.
pub(crate) fn state_of(url: &UrlOverview) -> (&'static str, String) {
    match (url.condition, url.state) {
        (UrlCondition::Affected, _) if url.flapping => ("w", "flapping".to_owned()),
        (UrlCondition::Affected, Some(State::Ok) | None) => ("b", "not tried".to_owned()),
        (UrlCondition::Affected, Some(state)) => ("b", state_in_words(state)),
        (UrlCondition::Unconfirmed, _) => ("w", "in doubt".to_owned()),
        (UrlCondition::Unknown, None) => ("o", "not checked".to_owned()),
        (UrlCondition::Unknown, Some(state)) => ("o", state_in_words(state)),
        (UrlCondition::Kept, _) => ("k", "kept".to_owned()),
    }
}

/// `server error`
pub(crate) fn state_in_words(state: State) -> String {
    match state {
        State::Ok => "kept".to_owned(),
        state => state.as_str().replace('-', " "),
    }
}

/// The sentence about a URL.
pub(super) fn headline(url: &UrlOverview, details: &UrlDetails, stretches: &[Stretch]) -> String {
    let since = |text: &str| match url.since {
        Some(since) => format!("{text} since {}.", day_in_words(since)),
        None => format!("{text}."),
    };
    match (url.condition, url.state) {
        (UrlCondition::Affected, _) if url.flapping => flapping(url),
        (UrlCondition::Kept, _) => match url.failures {
            Some((failures, runs)) if failures >= FAILURES => {
                format!("Kept, but it failed in {failures} of the last {runs} runs.")
            }
            _ if url.is_static() => {
                let bytes = url
                    .promised
                    .length
                    .map_or_else(|| "bytes".to_owned(), bytes);
                since(&format!("The promised {bytes}"))
            }
            _ => since("As promised"),
        },
        (UrlCondition::Unconfirmed, _) => {
            let seen = url
                .pending
                .map_or("failed", State::as_str)
                .replace('-', " ");
            let day = url.pending_since.map(day_in_words).unwrap_or_default();
            format!("In doubt: {seen} on {day}, not confirmed yet.")
        }
        (UrlCondition::Affected, Some(State::Ok) | None) => {
            since("Not tried, as the host does not answer,")
        }
        (UrlCondition::Unknown, None) => "Not checked yet.".to_owned(),
        (UrlCondition::Affected | UrlCondition::Unknown, Some(state)) => {
            let text = match length_difference(url, details) {
                Some(text) if state == State::Changed => text,
                _ => since(&capitalized(&state_in_words(state))),
            };
            match before(stretches) {
                Some(before) => format!("{}; {before}.", text.trim_end_matches('.')),
                None => text,
            }
        }
    }
}

/// `Flapping: broke 3 times in the last 10 runs.`
fn flapping(url: &UrlOverview) -> String {
    match url.failures {
        Some((failures, runs)) if failures > 0 => format!(
            "Flapping: broke {} in the last {}.",
            counted(failures, "time"),
            counted(runs, "run")
        ),
        _ => "Flapping.".to_owned(),
    }
}

/// `changed before, since 14 November 2026`: another way in which the URL was broken until its present state.
fn before(stretches: &[Stretch]) -> Option<String> {
    let [.., before, last] = stretches else {
        return None;
    };
    let is_broken = before.class == "b" && last.class == "b";
    let day = day_in_words(before.from);
    is_broken.then(|| format!("{} before, since {day}", before.state))
}

/// `Changed: 364 bytes longer than promised.`
fn length_difference(url: &UrlOverview, details: &UrlDetails) -> Option<String> {
    let evidence = &details.evidence.as_ref()?.evidence;
    let observed = evidence
        .observed
        .length
        .filter(|_| evidence.observed.sha256.is_some())?;
    let promised = url.promised.length?;
    Some(match observed.abs_diff(promised) {
        0 => "Changed: other bytes of the promised length.".to_owned(),
        difference => {
            let direction = if observed > promised {
                "longer"
            } else {
                "shorter"
            };
            format!("Changed: {} {direction} than promised.", bytes(difference))
        }
    })
}

/// The result of the last check, where the headline does not tell it.
pub(super) fn result(url: &UrlOverview) -> String {
    match (url.condition, url.state) {
        (UrlCondition::Affected, Some(State::Ok) | None) if !url.flapping => {
            "The URL itself was not tried, because the host was silent.".to_owned()
        }
        (UrlCondition::Kept, ..) if url.is_static() && url.verified.is_some() => {
            if url.verified == url.checked {
                "All bytes were read, and were as promised.".to_owned()
            } else {
                String::new()
            }
        }
        _ => String::new(),
    }
}
