//! Shards: the parts of a run that several machines fetch, by rendezvous hashing (Thaler and Ravishankar,
//! 1998).
//!
//! The shard of a host depends on the host and the number of shards alone, so machines agree without
//! talking to each other. One more shard moves only the hosts that the new shard gets.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Most shards of a run.
const MOST: u32 = 1024;

/// One part of a run. Its text is `NUMBER/COUNT`, as `3/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Shard {
    number: u32,
    count: u32,
}

/// The reason why a text or a pair of numbers is no shard. The text continues a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidShard {
    /// There are no runs with so many shards.
    #[error("the number of shards is from 1 to {MOST}")]
    Count,
    /// There is no such number.
    #[error("shards are numbered from 1 to {0}")]
    Number(u32),
    /// The text has another form.
    #[error("a shard is written NUMBER/COUNT, as 3/8")]
    Form,
}

impl Shard {
    /// Shard `number` of `count`, counted from 1.
    ///
    /// # Errors
    /// When there is no such shard, or `count` is more than 1024.
    pub fn new(number: u32, count: u32) -> Result<Self, InvalidShard> {
        if count == 0 || count > MOST {
            return Err(InvalidShard::Count);
        }
        if number == 0 || number > count {
            return Err(InvalidShard::Number(count));
        }
        Ok(Self { number, count })
    }

    /// All shards of a run with this many.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn all(count: u32) -> Result<Vec<Self>, InvalidShard> {
        Self::new(1, count)?;
        Ok((1..=count).map(|number| Self { number, count }).collect())
    }

    /// The shard among `count` that a host belongs to: the one whose number has the greatest weight with
    /// the host. The weight is the first 8 bytes, as a big-endian number, of the SHA-256 of the shard's
    /// number in decimal, a zero byte, and the host in lower case. Aliases go with the host that their
    /// domain file is named after. Of a `count` of 0 and of 1, this is shard 1.
    pub fn of_host(host: &str, count: u32) -> Self {
        let host = urldb_canon::host_of(host).to_ascii_lowercase();
        let weight = |number: &u32| {
            let mut hasher = Sha256::new();
            hasher.update(number.to_string());
            hasher.update([0]);
            hasher.update(&host);
            let digest: [u8; 32] = hasher.finalize().into();
            digest
                .iter()
                .take(8)
                .fold(0, |weight: u64, byte| weight << 8 | u64::from(*byte))
        };
        let count = count.max(1);
        // Of equal weights, the smaller number counts.
        let number = (1..=count).rev().max_by_key(weight).unwrap_or(1);
        Self { number, count }
    }

    /// Whether a host belongs to the shard.
    pub fn has_host(self, host: &str) -> bool {
        Self::of_host(host, self.count) == self
    }

    /// The number, counted from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// The number of shards.
    pub fn count(self) -> u32 {
        self.count
    }

    /// The index among all shards, counted from 0.
    pub fn index(self) -> usize {
        self.number as usize - 1
    }

    /// The name of the shard's folder, as `3-of-8`.
    pub fn folder(self) -> String {
        format!("{}-of-{}", self.number, self.count)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = InvalidShard;

    fn from_str(text: &str) -> Result<Self, InvalidShard> {
        let parts = text.split_once('/');
        let number = |text: &str| text.parse::<u32>().ok();
        let (number, count) = parts
            .and_then(|(a, b)| Some((number(a)?, number(b)?)))
            .ok_or(InvalidShard::Form)?;
        Self::new(number, count)
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

impl TryFrom<String> for Shard {
    type Error = InvalidShard;

    fn try_from(text: String) -> Result<Self, InvalidShard> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with Python: `max(range(1, n + 1), key=lambda i:
    /// int.from_bytes(sha256(f"{i}\0{host}".encode()).digest()[:8], "big"))`.
    #[test]
    fn the_shard_of_a_host_never_changes() {
        let counts = [1, 2, 3, 8, 256];
        for (host, numbers) in [
            ("example.org", [1, 1, 1, 1, 221]),
            ("EXAMPLE.org", [1, 1, 1, 1, 221]),
            ("www.example.com", [1, 1, 1, 6, 222]),
            ("xn--bcher-kva.example", [1, 1, 1, 8, 66]),
            ("192.0.2.1", [1, 2, 2, 6, 164]),
            ("a.b.c.d.e.example.net", [1, 1, 1, 1, 155]),
            ("data.example.edu", [1, 1, 1, 4, 127]),
        ] {
            for (count, number) in counts.into_iter().zip(numbers) {
                let shard = Shard::of_host(host, count);
                assert_eq!((shard.number(), shard.count()), (number, count), "{host}");
                assert!(shard.has_host(host));
            }
        }
    }

    #[test]
    fn one_more_shard_takes_its_hosts_from_all_others_and_moves_no_other() {
        let hosts: Vec<String> = (0..2000)
            .map(|number| format!("h{number}.example.org"))
            .collect();
        for count in [1, 4, 8] {
            let mut moved = 0;
            let mut sizes = vec![0; count as usize];
            for host in &hosts {
                let (before, after) =
                    (Shard::of_host(host, count), Shard::of_host(host, count + 1));
                sizes[before.index()] += 1;
                if before.number() != after.number() {
                    assert_eq!(after.number(), count + 1, "{host}");
                    moved += 1;
                }
            }
            let (all, count) = (2000, count as usize);
            let is_fair = |size: &usize, count: usize| {
                (all / count * 7 / 10..=all / count * 13 / 10).contains(size)
            };
            assert!(sizes.iter().all(|size| is_fair(size, count)), "{sizes:?}");
            assert!(is_fair(&moved, count + 1), "{moved}");
        }
    }

    #[test]
    fn what_is_no_shard_is_refused() {
        for text in [
            "", "1", "/8", "0/8", "9/8", "1/0", "1/1025", "-1/8", "1/8/8", "1.5/8", " 1/8",
        ] {
            assert!(text.parse::<Shard>().is_err(), "{text:?}");
        }
        let shard: Shard = "3/8".parse().unwrap();
        assert_eq!(shard.folder(), "3-of-8");
        assert_eq!(shard.to_string(), "3/8");
        assert_eq!(Shard::all(3).unwrap().len(), 3);
    }
}
