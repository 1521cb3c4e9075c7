//! Whether segmented records have all their segments.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::Late;
use crate::finding::Code;
use crate::header::Header;
use crate::id::strip_brackets;

#[derive(Default)]
pub(super) struct Segments {
    chance: RandomState,
    /// By the id of the first segment.
    sets: HashMap<u64, Set>,
}

struct Set {
    /// Where the segment that came first stands.
    at: (u32, u64),
    /// The sum of the numbers, and of the lengths; how many there are.
    numbers: u128,
    count: u64,
    length: u64,
    total: Option<u64>,
}

impl Segments {
    pub(super) fn add(&mut self, at: (u32, u64), header: &Header) {
        let Some(number) = number(header, "WARC-Segment-Number") else {
            return;
        };
        let id = header
            .get("WARC-Segment-Origin-ID")
            .or_else(|| header.get("WARC-Record-ID"))
            .unwrap_or_default();
        let set = self
            .sets
            .entry(self.chance.hash_one(strip_brackets(id)))
            .or_insert(Set {
                at,
                numbers: 0,
                count: 0,
                length: 0,
                total: None,
            });
        // Squares too, or 1 and 4 would be as good as 2 and 3.
        set.numbers = set.numbers.wrapping_add(weight(number));
        set.count += 1;
        set.length = set
            .length
            .saturating_add(header.content_length().unwrap_or(0));
        set.total = set
            .total
            .or(self::number(header, "WARC-Segment-Total-Length"));
    }

    pub(super) fn incomplete(&self) -> impl Iterator<Item = Late> {
        self.sets.values().filter_map(|set| {
            let (file, offset) = set.at;
            let code = set.fault()?;
            Some(Late { file, offset, code })
        })
    }
}

impl Set {
    fn fault(&self) -> Option<Code> {
        let expected = (1..=self.count).map(weight).fold(0, u128::wrapping_add);
        if expected != self.numbers || self.total.is_none() {
            Some(Code::SegmentMissing)
        } else if self.total != Some(self.length) {
            Some(Code::SegmentLength)
        } else {
            None
        }
    }
}

fn weight(number: u64) -> u128 {
    let number = u128::from(number);
    number.wrapping_add(number.wrapping_mul(number) << 64)
}

fn number(header: &Header, name: &str) -> Option<u64> {
    header.get(name)?.parse().ok()
}
