//! The input of planning besides the records.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use urldb_format::Digest;

use super::rehash::Rehash;
use crate::job::{JobKey, Validators};

const DAY: i64 = 24 * 60 * 60;

/// The options for turning records into jobs.
#[derive(Debug, Clone, Copy)]
pub struct PlanOptions {
    /// Most bytes of a body to read.
    pub max_body: u64,
    /// Most bytes beyond the promised length that are read of a body for the archive.
    pub max_capture: u64,
    /// Whether bodies longer than promised are read to their end.
    pub whole: bool,
    /// The bodies that are kept for the archive.
    pub kept_bodies: KeptBodies,
    /// The records that are also requested from cnames.
    pub cnames: Cnames,
    /// The number of today in UTC, counted from 1970: cnames rotate by it, and `mute-until` expires.
    pub day: u64,
    /// The static records that are read in full.
    pub rehash: Rehash,
}

impl PlanOptions {
    /// The date of today, in UTC.
    pub fn today(&self) -> Date {
        let seconds = i64::try_from(self.day)
            .unwrap_or(i64::MAX)
            .saturating_mul(DAY);
        Timestamp::from_second(seconds)
            .unwrap_or(Timestamp::MAX)
            .to_zoned(TimeZone::UTC)
            .date()
    }
}

/// The options for turning the records of one domain file into jobs.
#[derive(Debug, Clone, Copy)]
pub struct FileOptions<'a> {
    /// The name of the file in messages.
    pub name: &'a Arc<str>,
    /// Unknown keys of records that are no error.
    pub own_keys: &'a [String],
    /// The options of all files.
    pub plan: PlanOptions,
}

/// The records that are also requested from a domain's cnames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cnames {
    /// One record for each cname and day, all in turn.
    Rotate,
    /// Every record.
    All,
    /// No record.
    None,
}

/// The bodies that are kept for the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptBodies {
    /// No body.
    None,
    /// The bodies of static records.
    Static,
    /// Every body.
    All,
}

/// Facts of earlier runs about jobs.
pub trait PastRuns {
    /// Whether the archive already holds content of this job with this digest, so that the bytes
    /// need not be kept again.
    fn is_archived(&self, _: &JobKey, _: &[u8; 32]) -> bool {
        false
    }

    /// The SHA-256 of the content that the job last served, if that content was seen to have this digest and
    /// each other one that the record promised then.
    fn verified_sha256(&self, _: &JobKey, _: &Digest) -> Option<[u8; 32]> {
        None
    }

    /// Validators for a conditional request, if the job last served content with this digest.
    fn validators(&self, _: &JobKey, _: &[u8; 32]) -> Option<Validators> {
        None
    }

    /// Whether the promised bytes, when they were last seen, had a text by which a challenge is recognized.
    fn has_text_of_challenge(&self, _: &JobKey) -> bool {
        false
    }

    /// Whether the job was not as promised last time. An alias in doubt is requested every day.
    fn is_in_doubt(&self, _: &JobKey) -> bool {
        false
    }
}

/// There are no earlier runs.
impl PastRuns for () {}
