//! Answers that are meant for robots, or for buyers of a domain: they say nothing about the content.
//!
//! `challenges.toml` says how ours are recognized, `[[check.challenge]]` how the user's are.

use std::sync::LazyLock;

use crate::config::{Challenge, parse_challenges};
use crate::fetch::{Hop, Observation};

static KNOWN: LazyLock<Vec<Challenge>> = LazyLock::new(|| {
    parse_challenges(include_str!("challenges.toml")).expect("the program's own rules are tested")
});

/// The program's own rules.
pub fn known_challenges() -> &'static [Challenge] {
    &KNOWN
}

/// Which challenge the last response is, if it is one. The user's rules come first.
pub(super) fn recognize<'a>(seen: &Observation, own: &'a [Challenge]) -> Option<&'a Challenge> {
    let last = seen.last()?;
    let start = String::from_utf8_lossy(&seen.start).to_ascii_lowercase();
    let mut rules = own.iter().chain(known_challenges());
    rules.find(|rule| matches(rule, last, &start))
}

fn matches(rule: &Challenge, last: &Hop, start: &str) -> bool {
    let status = rule.status.is_empty() || rule.status.contains(&last.status);
    let body = rule.body.as_ref().is_none_or(|text| start.contains(text));
    status && body && has_header(rule, last)
}

fn has_header(rule: &Challenge, last: &Hop) -> bool {
    let Some(name) = &rule.header else {
        return true;
    };
    let Some(value) = last.header(name) else {
        return false;
    };
    let value = value.trim().to_ascii_lowercase();
    let prefix = rule.prefix.as_ref();
    let part = rule.contains.as_ref();
    prefix.is_none_or(|prefix| value.starts_with(prefix))
        && part.is_none_or(|part| value.contains(part))
}
