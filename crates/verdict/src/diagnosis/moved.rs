//! Redirects of several URLs to one place, or from one folder to another.

use std::collections::BTreeMap;

use url::{Position, Url};

use crate::verdict::JudgedJob;

/// Fewest URLs that make a move.
pub(super) const FEWEST: u64 = 3;

/// One change of all URLs of a move.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Move {
    /// All lead to one URL.
    To(String),
    /// One beginning replaces another.
    Prefix { from: String, to: String },
}

/// The URLs of a move.
#[derive(Debug, Clone, Default)]
pub(super) struct MovedUrls {
    pub(super) urls: u64,
    /// Number of URLs for each status at the end; absent is no answer.
    statuses: BTreeMap<Option<u16>, u64>,
}

impl Move {
    /// The moves that the redirect of a URL may be part of.
    pub(super) fn of(judged: &JudgedJob) -> Vec<Self> {
        let seen = judged.observations.get(judged.verdict.observation);
        let target = seen.and_then(|seen| seen.first()?.shown_redirect_target());
        let Some(target) = target else {
            return vec![];
        };
        let mut moves = vec![];
        if let Some(prefix) = prefix_change(judged.job.url.as_str(), &target) {
            moves.push(prefix);
        }
        // The query of a login page often has the requested URL, so it does not count.
        let place = target.split(['?', '#']).next().unwrap_or(&target);
        moves.push(Self::To(place.to_owned()));
        moves
    }

    /// `redirects /old/… to /new/…, where all 60 answer 404`
    pub(super) fn sentence(&self, urls: &MovedUrls) -> String {
        let what = match self {
            Self::To(target) => format!("redirects {} URLs to {target}", urls.urls),
            Self::Prefix { from, to } => format!("redirects {from}… to {to}…"),
        };
        match urls.statuses.first_key_value() {
            Some((Some(status), _)) if urls.statuses.len() == 1 => {
                let all = match self {
                    Self::To(_) => "which answers".to_owned(),
                    Self::Prefix { .. } => format!("where all {} answer", urls.urls),
                };
                format!("{what}, {all} {status}")
            }
            _ => what,
        }
    }
}

impl MovedUrls {
    pub(super) fn add(&mut self, judged: &JudgedJob) {
        let seen = judged.observations.get(judged.verdict.observation);
        let status = seen
            .filter(|seen| seen.failure.is_none())
            .and_then(|seen| Some(seen.last()?.status));
        self.urls += 1;
        *self.statuses.entry(status).or_default() += 1;
    }
}

/// The change of the beginning of a URL whose end stays: at a slash, and shortest.
fn prefix_change(url: &str, target: &str) -> Option<Move> {
    let (url, target) = (Url::parse(url).ok()?, Url::parse(target).ok()?);
    if url.query() != target.query() {
        return None;
    }
    let (from, to) = (url.path(), target.path());
    let is_one_origin = url.host_str() == target.host_str();
    let same = from
        .bytes()
        .rev()
        .zip(to.bytes().rev())
        .take_while(|(a, b)| a == b)
        .count();
    // The common end begins with a slash.
    let end = from.get(from.len().checked_sub(same)?..)?;
    let end = end.get(end.find('/')?..)?;
    if end.len() < 2 {
        return None;
    }
    let before = |path: &str| path[..=path.len() - end.len()].to_owned();
    let (old, new) = (before(from), before(to));
    let new = if is_one_origin {
        new
    } else {
        format!("{}{new}", &target[..Position::BeforePath])
    };
    (old != new).then_some(Move::Prefix { from: old, to: new })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_prefix_is_found_at_a_slash() {
        let change = |url: &str, target: &str| {
            let found = prefix_change(url, target)?;
            Some(match found {
                Move::Prefix { from, to } => format!("{from} {to}"),
                Move::To(to) => to,
            })
        };
        let some = |text: &str| Some(text.to_owned());
        for (url, target, expected) in [
            (
                "http://a.test/old/x/1.csv",
                "http://a.test/new/x/1.csv",
                some("/old/ /new/"),
            ),
            (
                "http://a.test/old/1.csv",
                "http://b.test/new/1.csv",
                some("/old/ http://b.test/new/"),
            ),
            (
                "http://a.test/1.csv",
                "http://b.test/1.csv",
                some("/ http://b.test/"),
            ),
            (
                "http://a.test/1.csv",
                "http://a.test/v2/1.csv",
                some("/ /v2/"),
            ),
            ("http://a.test/old/1.csv", "http://a.test/login", None),
            ("http://a.test/old/", "http://a.test/new/", None),
            ("http://a.test/1.csv", "https://a.test/1.csv", None),
        ] {
            assert_eq!(change(url, target), expected, "{url} {target}");
        }
    }
}
