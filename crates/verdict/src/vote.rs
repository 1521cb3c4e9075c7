//! The vote of a run's requests on content that differs from the promise.
//!
//! Caches, mirrors and half-finished uploads answer one URL with different content. So a vote is not only for or
//! against the promise, but for one content: two votes for the same wrong content show a change, and three
//! votes for three contents show no more than that the content is not stable.

use urldb_protocol::State;

use crate::bytes::observed_length;
use crate::job::Promise;
use crate::media_type::media_types;
use crate::observation::Observation;
use crate::verdict::Classification;

/// Most votes in a run.
const MOST_VOTES: usize = 3;

/// One vote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Vote {
    /// For the promised content.
    Promised,
    /// For other content.
    Wrong(WrongContent),
}

/// Content other than promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrongContent {
    id: ContentId,
    /// Bytes of the whole body, after decoding; absent if not all of them were read.
    length: Option<u64>,
}

/// The parts of a response by which two contents are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ContentId {
    status: u16,
    /// The content type as sent, in lower case; absent unless the record promises one.
    content_type: Option<String>,
    /// [`Body::compared_sha256`](crate::Body::compared_sha256), or the length that a response to HEAD announces.
    body: Option<BodyId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum BodyId {
    Read([u8; 32]),
    Announced(u64),
}

/// The outcome of the votes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Another vote is needed.
    Open,
    /// The promise holds, although one request got other content.
    Promised,
    /// The content has changed.
    Changed,
    /// The content differs from request to request.
    Unstable,
    /// The content grows from request to request, and is shorter than promised.
    Uploading,
}

/// The votes of a run, each with the index of its observation. A failed fetch has no vote.
pub(super) struct Votes<'a> {
    seen: &'a [Observation],
    promise: &'a Promise,
    cast: Vec<(usize, Vote)>,
}

impl<'a> Votes<'a> {
    /// The votes of these observations with these classifications.
    pub(super) fn of(
        promise: &'a Promise,
        seen: &'a [Observation],
        classifications: &[Classification],
    ) -> Self {
        let votes = (0..)
            .zip(seen)
            .zip(classifications)
            .filter_map(|((index, seen), shown)| {
                let vote = match shown.state {
                    State::Ok => Vote::Promised,
                    State::Changed => Vote::Wrong(WrongContent::of(promise, seen)?),
                    _ => return None,
                };
                Some((index, vote))
            });
        Self {
            seen,
            promise,
            cast: votes.take(MOST_VOTES).collect(),
        }
    }

    /// Number of observations without a vote.
    pub(super) fn abstained(&self) -> usize {
        self.seen.len() - self.cast.len()
    }

    pub(super) fn outcome(&self) -> Outcome {
        let votes: Vec<&Vote> = self.cast.iter().map(|(_, vote)| vote).collect();
        outcome(&votes, self.promise.length)
    }

    /// The index of the observation that an outcome rests on: the last vote for the promise, or against it.
    pub(super) fn deciding(&self, outcome: Outcome) -> Option<usize> {
        let is_for = |vote: &Vote| (*vote == Vote::Promised) == (outcome == Outcome::Promised);
        let (index, _) = self.cast.iter().rev().find(|(_, vote)| is_for(vote))?;
        Some(*index)
    }

    /// Number of observations with the same vote as the last.
    pub(super) fn agreeing(&self, index: usize) -> usize {
        let vote_at = |index| self.cast.iter().find(|(at, _)| *at == index);
        let Some((_, vote)) = vote_at(index) else {
            return 0;
        };
        self.cast
            .iter()
            .filter(|(_, other)| is_like(vote, other))
            .count()
    }

    /// One sentence about an outcome, for people.
    pub(super) fn sentence(&self, outcome: Outcome) -> Option<String> {
        let requests = self.seen.len();
        let (what, other) = if self.promise.is_static() {
            ("bytes", "other bytes")
        } else {
            ("answer", "another answer")
        };
        let has_promised = self.cast.iter().any(|(_, vote)| *vote == Vote::Promised);
        match outcome {
            Outcome::Open | Outcome::Changed => None,
            Outcome::Promised => Some(format!("1 of {requests} requests got {other}")),
            Outcome::Unstable if has_promised => {
                Some(format!("1 of {requests} requests got the promised {what}"))
            }
            Outcome::Unstable => Some(format!("serves {other} at each request")),
            Outcome::Uploading => self.growth(),
        }
    }

    /// `grew from 1.2 to 1.9 MB in 6 s; it may still be uploading`
    fn growth(&self) -> Option<String> {
        let ((first, from), (last, to)) = (self.cast.first()?, self.cast.last()?);
        let (Vote::Wrong(from), Vote::Wrong(to)) = (from, to) else {
            return None;
        };
        let sizes = sizes(from.length?, to.length?);
        let started = |index: usize| Some(self.seen.get(index)?.started);
        let time = started(*last)?.duration_since(started(*first)?).as_secs();
        let time = match time {
            ..1 => "less than a second".to_owned(),
            seconds => format!("{seconds} s"),
        };
        Some(format!(
            "grew from {sizes} in {time}; it may still be uploading"
        ))
    }
}

impl WrongContent {
    fn of(promise: &Promise, seen: &Observation) -> Option<Self> {
        let last = seen.last()?;
        let judged = promise.judged_hop(seen)?;
        let body = seen.body.as_ref();
        let read = body.map(|body| BodyId::Read(body.compared_sha256()));
        let content_type = || media_types(last).join(", ").to_ascii_lowercase();
        Some(Self {
            id: ContentId {
                status: judged.status,
                content_type: promise.content_type.is_some().then(content_type),
                body: observed_length(last).map(BodyId::Announced).or(read),
            },
            length: body.and_then(|body| Some(body.served()?.length)),
        })
    }
}

/// The outcome of at most three votes, of which the first is against the promise.
fn outcome(votes: &[&Vote], promised: Option<u64>) -> Outcome {
    let for_promise = votes.iter().filter(|vote| ***vote == Vote::Promised);
    let is_twice = matches!(votes, [.., before, last] if is_like(before, last));
    match (for_promise.count(), votes.len()) {
        (2.., _) => Outcome::Promised,
        (0, MOST_VOTES) if is_growing(votes, promised) => Outcome::Uploading,
        (0, _) if is_twice => Outcome::Changed,
        (_, MOST_VOTES) => Outcome::Unstable,
        _ => Outcome::Open,
    }
}

fn is_like(one: &Vote, other: &Vote) -> bool {
    match (one, other) {
        (Vote::Promised, Vote::Promised) => true,
        (Vote::Wrong(one), Vote::Wrong(other)) => one.id == other.id,
        _ => false,
    }
}

/// Whether each content is that before or longer, and the last one is longer than the first and shorter than
/// promised.
fn is_growing(votes: &[&Vote], promised: Option<u64>) -> bool {
    let length = |vote: &Vote| match vote {
        Vote::Promised => None,
        Vote::Wrong(content) => content.length,
    };
    let grows = votes
        .windows(2)
        .all(|pair| is_like(pair[0], pair[1]) || length(pair[0]) < length(pair[1]));
    let first = votes.first().and_then(|vote| length(vote));
    let last = votes.last().and_then(|vote| length(vote));
    grows && first.is_some() && first < last && last < promised
}

/// `1.2 to 1.9 MB`, rounded down; exact where these would be equal.
fn sizes(from: u64, to: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let unit = UNITS.into_iter().find(|(unit, _)| to >= *unit);
    let exact = || format!("{from} to {to} bytes");
    let Some((unit, name)) = unit else {
        return exact();
    };
    let size = |bytes: u64| format!("{}.{}", bytes / unit, bytes % unit / (unit / 10));
    let (short, long) = (size(from), size(to));
    if short == long {
        return exact();
    }
    format!("{short} to {long} {name}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A vote of one letter: `P`, or a wrong content. The letters of contents have growing lengths.
    fn vote(letter: char) -> Vote {
        let number = u8::try_from(letter).unwrap();
        match letter {
            'P' => Vote::Promised,
            _ => Vote::Wrong(WrongContent {
                id: ContentId {
                    status: 200,
                    content_type: None,
                    body: Some(BodyId::Read([number; 32])),
                },
                length: Some(u64::from(number - b'A') + 1),
            }),
        }
    }

    fn outcome_of(letters: &str, promised: Option<u64>) -> Outcome {
        let votes: Vec<Vote> = letters.chars().map(vote).collect();
        outcome(&votes.iter().collect::<Vec<_>>(), promised)
    }

    #[test]
    fn each_row_of_the_table_has_its_outcome() {
        use Outcome::{Changed, Open, Promised, Unstable, Uploading};
        for (votes, expected) in [
            ("A", Open),
            ("AB", Open),
            ("AP", Open),
            ("AA", Changed),
            ("BAA", Changed),
            ("APP", Promised),
            ("APA", Unstable),
            ("APB", Unstable),
            ("ABP", Unstable),
            ("ABA", Unstable),
            ("ACB", Unstable),
            ("BCA", Unstable),
            ("ABB", Uploading),
            ("ABC", Uploading),
        ] {
            assert_eq!(outcome_of(votes, Some(9)), expected, "{votes}");
        }
        // As long as promised, or longer; or nothing is known of the length.
        for (promised, votes, expected) in [
            (Some(3), "ABC", Unstable),
            (Some(2), "ABC", Unstable),
            (None, "ABC", Unstable),
            (Some(2), "ABB", Changed),
            (None, "ABB", Changed),
        ] {
            assert_eq!(
                outcome_of(votes, promised),
                expected,
                "{promised:?} {votes}"
            );
        }
    }

    #[test]
    fn sizes_are_exact_where_their_difference_would_vanish() {
        for (from, to, expected) in [
            (1_200_000, 1_999_999, "1.2 to 1.9 MB"),
            (900, 1_000, "0.9 to 1.0 kB"),
            (1, 999, "1 to 999 bytes"),
            (
                7_010_000_000,
                7_020_000_000,
                "7010000000 to 7020000000 bytes",
            ),
            (0, u64::MAX, "0.0 to 18446744073.7 GB"),
        ] {
            assert_eq!(sizes(from, to), expected);
        }
    }

    proptest! {
        #[test]
        fn only_two_equal_last_votes_without_a_promised_one_are_a_certain_change(
            letters in "[ABCP]{1,3}",
            promised in prop::option::of(0u64..6),
        ) {
            let found = outcome_of(&letters, promised);
            let has_promised = letters.contains('P');
            let last_two: Vec<char> = letters.chars().rev().take(2).collect();
            let is_twice = last_two.len() == 2 && last_two[0] == last_two[1];
            match found {
                Outcome::Changed => prop_assert!(is_twice && !has_promised),
                Outcome::Promised => prop_assert!(letters.matches('P').count() >= 2),
                Outcome::Uploading => prop_assert!(!has_promised && letters.len() == 3),
                Outcome::Unstable => prop_assert_eq!(letters.len(), 3),
                Outcome::Open => prop_assert!(letters.len() < 3 && (!is_twice || has_promised)),
            }
        }
    }
}
