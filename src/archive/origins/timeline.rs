//! Decides when a capture needs a new record about its host.
//!
//! A capture without a reference belongs to the last record about its host of its date or before. So a quiet day
//! writes nothing. Any other capture names its record (`WARC-Concurrent-To`): the one that a change makes
//! necessary, and those of servers that show several facts in turns, or of clocks that stepped back.

use jiff::{SignedDuration, Timestamp};
use urldb_warc::RecordId;

use crate::ledger::OFTEN;

const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// A fact that is replaced sooner is a quick change.
const SOON: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The records about one host, as far as a run knows them. All times are whole seconds.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// The last record, to which captures without a reference belong.
    current: Option<Record>,
    /// The one before.
    former: Option<Record>,
    /// The records of this run.
    written: Vec<Record>,
    /// The last date of a capture of this run without a reference.
    last_unnamed: Option<Timestamp>,
}

/// A record about a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) fact: String,
    /// Its date.
    pub(super) since: Timestamp,
    pub(super) id: RecordId,
    /// Number of quick changes in a row that led to it.
    pub(super) quick_changes: u64,
}

/// The record of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Placement {
    /// The last record with the date of the capture or an earlier one.
    Last,
    /// A record that exists, which the capture names.
    Named(RecordId),
    /// A record that is to be written, and which the capture names.
    New(Record),
}

impl Timeline {
    /// Adds a record of an earlier run. The later of two counts.
    pub(super) fn know(&mut self, record: Record) {
        let is_later = |known: &Record| known.since < record.since;
        if self.current.as_ref().is_none_or(is_later) {
            self.current = Some(record);
        }
    }

    /// The record of a capture of this date, which shows this fact. `may_be_last` is false if another process may
    /// write records about the host at the same time: then each capture names its own.
    pub(super) fn place(
        &mut self,
        fact: &str,
        at: Timestamp,
        may_be_last: bool,
        new_id: impl FnOnce() -> RecordId,
    ) -> Placement {
        if let Some(current) = self.current.as_ref().filter(|it| it.fact == fact) {
            if !may_be_last || self.is_often() || at < current.since {
                return Placement::Named(current.id.clone());
            }
            self.last_unnamed = self.last_unnamed.max(Some(at));
            return Placement::Last;
        }
        if let Some(known) = self.written.iter().find(|it| it.fact == fact) {
            return Placement::Named(known.id.clone());
        }
        let is_often = self.is_often();
        let current = self.current.as_ref().map(|it| it.since);
        let after = self.last_unnamed.max(current).map(|last| last + SECOND);
        // A capture of the run before may have the same second.
        let since = after.map_or(at, |after| after.max(at + SECOND));
        let before = self.current.as_ref();
        let before = before.filter(|before| since.duration_since(before.since) < SOON);
        let record = Record {
            fact: fact.to_owned(),
            since,
            id: new_id(),
            quick_changes: before.map_or(0, |before| before.quick_changes + 1),
        };
        // The ledger goes on with the record that it has.
        if !is_often {
            self.former = self.current.replace(record.clone());
        }
        self.written.push(record.clone());
        Placement::New(record)
    }

    /// Whether the ledger follows the fact no more, so that each capture names its record.
    fn is_often(&self) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|current| current.quick_changes >= OFTEN)
    }

    /// Forgets a record that could not be written.
    pub(super) fn forget(&mut self, id: &RecordId) {
        self.written.retain(|it| it.id != *id);
        if self.current.as_ref().is_some_and(|it| it.id == *id) {
            self.current = self.former.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One run: whether it is a shard, by how much it came early or late (after the end of the former one), and the captures: seconds after
    /// the start of the run, the fact that the host shows, and whether the archive fails.
    type Run = (bool, i64, Vec<(i64, u8, bool)>);

    fn run() -> impl Strategy<Value = Run> {
        let capture = (0..20i64, 0..3u8, prop::bool::weighted(0.05));
        (
            any::<bool>(),
            prop_oneof![8 => Just(0i64), 1 => -86_300..-86_200i64, 1 => 0..200_000i64],
            prop::collection::vec(capture, 0..12),
        )
    }

    fn id(number: u128) -> RecordId {
        RecordId::from_random(number.to_be_bytes())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Each capture leads to the fact that it showed, and a day without changes writes nothing.
        #[test]
        fn each_capture_leads_to_its_own_fact(runs in prop::collection::vec(run(), 1..8)) {
            let (mut records, mut captures): (Vec<(Timestamp, RecordId, u8)>, Vec<_>) = (vec![], vec![]);
            let mut known: Option<Record> = None;
            let mut replaced = 0;
            let (mut now, mut number) = (1_800_000_000i64, 0u128);
            for (is_shard, step, seen) in runs {
                now += 86_400 + step;
                let mut timeline = Timeline::default();
                known.clone().into_iter().for_each(|record| timeline.know(record));
                let before = known.clone();
                let mut facts: Vec<String> = vec![];
                for (second, fact, fails) in seen {
                    let at = Timestamp::from_second(now + second).unwrap();
                    let text = fact.to_string();
                    number += 1;
                    let placement = timeline.place(&text, at, !is_shard, || id(number));
                    match placement {
                        Placement::New(new) if fails => {
                            timeline.forget(&new.id);
                            continue;
                        }
                        Placement::New(new) => {
                            records.push((new.since, new.id.clone(), fact));
                            captures.push((at, Some(new.id.clone()), fact));
                            // As `Ledger::set_origins` does.
                            if known.as_ref().is_none_or(|known| known.quick_changes < OFTEN) {
                                known = Some(new);
                            }
                        }
                        Placement::Named(named) => captures.push((at, Some(named), fact)),
                        Placement::Last => captures.push((at, None, fact)),
                    }
                    facts.push(text);
                }
                replaced += usize::from(known != before);
                if let Some(before) = &before
                    && facts.iter().all(|seen| *seen == before.fact)
                {
                    prop_assert_eq!(known.as_ref(), Some(before), "a quiet run wrote a record");
                }
            }
            // Each week may begin with a change that is not quick.
            let weeks = (now - 1_800_000_000) / (7 * 86_400) + 1;
            prop_assert!(replaced <= 4 + usize::try_from(weeks).unwrap(), "the ledger follows {} changes", replaced);
            records.sort_by_key(|(since, ..)| *since);
            for (at, named, fact) in captures {
                let record = match &named {
                    Some(named) => records.iter().find(|(_, id, _)| id == named),
                    None => records.iter().rev().find(|(since, ..)| *since <= at),
                };
                prop_assert_eq!(record.map(|(_, _, fact)| *fact), Some(fact), "{} {:?} {:?}", at, named, records);
            }
        }
    }
}
