//! The order of runs. It comes from what each run started from, and clocks decide only between runs that
//! are independent of each other: a clock may have been wrong, or stepped back.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

/// Machines may differ by so much. A later time is one that its clock had wrong.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// A run, as far as its place in the order depends on it.
pub(super) trait InOrder {
    /// The run's id.
    fn id(&self) -> &str;
    /// When it began, by its clock.
    fn at(&self) -> Timestamp;
    /// The id of the run that it started from.
    fn base(&self) -> Option<&str>;
}

/// Whether a point in time of the ledger can be right: a time in the future tells nothing.
pub fn is_known(time: Timestamp, now: Timestamp) -> bool {
    time.duration_since(now) <= TOLERANCE
}

/// Brings runs into their order, each with the index of its base, which is a smaller one: so whoever goes
/// from base to base comes to an end. Of the runs that may be next, the one with the smallest time and id
/// is. A base that is missing is none, and a circle is cut before its smallest run. A run that occurs
/// twice is kept once.
pub(super) fn in_order<T: InOrder>(mut runs: Vec<T>) -> Vec<(T, Option<u32>)> {
    runs.sort_by(|a, b| (a.at(), a.id()).cmp(&(b.at(), b.id())));
    let mut known = HashSet::new();
    runs.retain(|run| known.insert(run.id().to_owned()));
    drop(known);
    let by_id: HashMap<&str, usize> = runs
        .iter()
        .enumerate()
        .map(|(number, run)| (run.id(), number))
        .collect();
    let mut bases: Vec<Option<usize>> = runs
        .iter()
        .map(|run| by_id.get(run.base()?).copied())
        .collect();
    cut_circles(&mut bases);
    let mut followers = vec![vec![]; runs.len()];
    let mut free = BinaryHeap::new();
    for (run, base) in bases.iter().enumerate() {
        match base {
            Some(base) => followers[*base].push(run),
            None => free.push(Reverse(run)),
        }
    }
    let mut places = vec![0; runs.len()];
    let mut unplaced: Vec<Option<T>> = runs.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(unplaced.len());
    while let Some(Reverse(run)) = free.pop() {
        places[run] = u32::try_from(ordered.len()).unwrap_or(u32::MAX);
        let base = bases[run].map(|base| places[base]);
        ordered.extend(unplaced[run].take().map(|run| (run, base)));
        free.extend(followers[run].drain(..).map(Reverse));
    }
    ordered
}

/// Takes the base of the first run of each circle away.
fn cut_circles(bases: &mut [Option<usize>]) {
    // The run from which each run was reached first, counted from 1.
    let mut reached_from = vec![0; bases.len()];
    for start in 0..bases.len() {
        let mut run = start;
        while reached_from[run] == 0 {
            reached_from[run] = start + 1;
            let Some(base) = bases[run] else { break };
            run = base;
            if reached_from[run] == start + 1 {
                let mut first = run;
                let mut next = base;
                while let Some(base) = bases[next].filter(|base| *base != run) {
                    first = first.min(base);
                    next = base;
                }
                bases[first] = None;
            }
        }
    }
}

/// Takes out the runs whose time lies in the future, and returns the latest of these times.
pub fn take_future<T>(
    runs: &mut Vec<T>,
    now: Timestamp,
    at: impl Fn(&T) -> Timestamp,
) -> Option<Timestamp> {
    runs.extract_if(.., |run| !is_known(at(run), now))
        .map(|run| at(&run))
        .max()
}

/// The starts of runs, in their order.
#[derive(Debug, Default)]
pub struct Starts {
    /// For each run the earliest start of it and the runs after it.
    earliest: Vec<Timestamp>,
}

impl Starts {
    /// The starts of runs, given in their order.
    pub fn of(starts: impl Iterator<Item = Timestamp>) -> Self {
        let mut earliest: Vec<Timestamp> = starts.collect();
        for later in (1..earliest.len()).rev() {
            earliest[later - 1] = earliest[later - 1].min(earliest[later]);
        }
        Self { earliest }
    }

    /// The number of the first run that can have seen a job which was added then: the last run that began
    /// before.
    pub fn first_since(&self, added: Timestamp) -> usize {
        self.earliest
            .partition_point(|start| *start <= added)
            .saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type TestRun = (String, i64, Option<String>);

    impl InOrder for TestRun {
        fn id(&self) -> &str {
            &self.0
        }

        fn at(&self) -> Timestamp {
            Timestamp::from_second(self.1).unwrap()
        }

        fn base(&self) -> Option<&str> {
            self.2.as_deref()
        }
    }

    /// `a2<b`: run `a` at second 2, which started from `b`.
    fn order(runs: &str) -> String {
        let run = |text: &str| {
            let (text, base) = text
                .split_once('<')
                .map_or((text, None), |(text, base)| (text, Some(base.to_owned())));
            (text[..1].to_owned(), text[1..].parse().unwrap(), base)
        };
        let ordered = in_order(runs.split(' ').map(run).collect());
        let ids = ordered.iter().map(|((id, ..), base)| {
            let base = base.map(|base| format!("<{base}")).unwrap_or_default();
            format!("{id}{base}")
        });
        ids.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_run_comes_after_its_base() {
        for (runs, expected) in [
            ("b2 a1 c3", "a b c"),
            ("b1 a1", "a b"),
            ("a4 b2<a c1<b", "a b<0 c<1"),
            ("a4 b2<a c5 d1", "d a b<1 c"),
            ("a1 b9<a c2<a d3<c", "a c<0 d<1 b<0"),
            ("b2<x a1", "a b"),
            ("a1<a", "a"),
            ("c3<b b2<a a1<c d0<c", "a b<0 c<1 d<2"),
            ("a5<b b4<a", "b a<0"),
            ("a1 a1 b2<a b2<a", "a b<0"),
        ] {
            assert_eq!(order(runs), expected, "{runs}");
        }
    }

    proptest! {
        #[test]
        fn any_runs_have_an_order_that_their_lines_do_not_change(
            runs in prop::collection::vec((0..12_u8, -3..3_i64, prop::option::of(0..14_u8)), 0..30),
            rotate in any::<prop::sample::Index>(),
        ) {
            let mut seen = HashSet::new();
            let runs = runs.into_iter().filter(|(id, ..)| seen.insert(*id));
            let text = |number: u8| number.to_string();
            let mut runs: Vec<TestRun> =
                runs.map(|(id, at, base)| (text(id), at, base.map(text))).collect();
            let ordered = in_order(runs.clone());
            prop_assert_eq!(ordered.len(), runs.len());
            for (place, ((.., named), base)) in ordered.iter().enumerate() {
                if let Some(base) = base {
                    prop_assert!((*base as usize) < place);
                    prop_assert_eq!(Some(&ordered[*base as usize].0.0), named.as_ref());
                }
            }
            if !runs.is_empty() {
                let middle = rotate.index(runs.len());
                runs.rotate_left(middle);
            }
            prop_assert_eq!(in_order(runs), ordered);
        }
    }
}
