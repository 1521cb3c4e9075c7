//! Recognizes responses that say nothing about the content: challenges for browsers, parking pages.
//!
//! `challenges.toml` has the built-in rules, `[[check.challenge]]` of urldb.toml the user's.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::observation::{Hop, Observation};
use crate::page;

/// A rule that recognizes an answer without the content: `[[check.challenge]]` of urldb.toml. The rule
/// matches an answer that shows everything the rule names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ChallengeRule {
    /// Name of the challenge, such that "answers with NAME" can be read.
    pub name: String,
    /// Statuses, one of which the answer has; any status when empty.
    pub status: Vec<u16>,
    /// Name of a header of the answer, in lower case.
    pub header: Option<String>,
    /// Start of the header's value, in lower case.
    pub prefix: Option<String>,
    /// Part of the header's value, in lower case.
    pub contains: Option<String>,
    /// Part of the first 4 KiB of the answer, which is HTML or JSON, in lower case.
    pub body: Option<String>,
    /// Whether the answer stands in for a whole site, whose domain is for sale.
    pub parked: bool,
    /// Whether the text of [`body`](Self::body) is enough in a 2xx answer in place of promised bytes, whatever
    /// the headers are. An honest page may have the text too, but the promised one has other bytes.
    pub text_is_enough: bool,
}

/// The form of challenges.toml.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChallengeFile {
    challenge: Vec<ChallengeRule>,
}

static KNOWN: LazyLock<Vec<ChallengeRule>> = LazyLock::new(|| {
    let file: ChallengeFile = toml::from_str(include_str!("challenges.toml"))
        .expect("the program's own rules are tested");
    file.challenge
});

/// The built-in rules.
pub fn known_challenges() -> &'static [ChallengeRule] {
    &KNOWN
}

/// The weight of the texts of rules in a 2xx answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextWeight {
    /// Nothing: the promised bytes have such a text themselves.
    Nothing,
    /// A rule needs all that it names.
    Part,
    /// The answer came in place of promised bytes: a text may be enough.
    Enough,
}

/// The rule that matches the last response, if one does. The user's rules come first.
pub(super) fn recognize<'a>(
    seen: &Observation,
    own: &'a [ChallengeRule],
    weight: TextWeight,
) -> Option<&'a ChallengeRule> {
    let last = seen.last()?;
    let start = String::from_utf8_lossy(&seen.start).to_ascii_lowercase();
    let is_good = (200..300).contains(&last.status);
    let by_text = is_good && weight == TextWeight::Enough;
    let counts =
        |rule: &&ChallengeRule| !(is_good && weight == TextWeight::Nothing && rule.body.is_some());
    let has_text = |rule: &&ChallengeRule| {
        let text = rule.body.as_ref().filter(|_| rule.text_is_enough);
        by_text && text.is_some_and(|text| start.contains(text))
    };
    let rules = || own.iter().chain(known_challenges());
    rules()
        .filter(counts)
        .find(|rule| matches(rule, last, &start))
        .or_else(|| rules().find(has_text))
}

/// Whether a good answer has a text by which a rule, or the demand for cookies, would take it for a challenge.
pub(super) fn has_text_of_challenge(seen: &Observation, own: &[ChallengeRule]) -> bool {
    let rule = recognize(seen, own, TextWeight::Enough);
    rule.is_some_and(|rule| rule.body.is_some()) || page::demands_cookies(seen)
}

fn matches(rule: &ChallengeRule, last: &Hop, start: &str) -> bool {
    let status = rule.status.is_empty() || rule.status.contains(&last.status);
    let body = rule.body.as_ref().is_none_or(|text| start.contains(text));
    status && body && has_header(rule, last)
}

fn has_header(rule: &ChallengeRule, last: &Hop) -> bool {
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
