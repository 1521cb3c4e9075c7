//! Checks that every revisit refers to a capture with its digest, and that ids are unique.
//!
//! The checks keep a few 64-bit hashes of each record. The hashes have random keys, so hostile files
//! cannot produce collisions.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::report::{LateFinding, Reporter};
use crate::capture::{RevisitReference, UNMODIFIED_PROFILE_END, without_request};
use crate::cdxj::{CdxjLine, date_of};
use crate::digest::{Digest, DigestAlgorithm};
use crate::finding::FindingCode;
use crate::header::id::strip_brackets;
use crate::header::{Header, RecordId, RecordType, WarcDate};

/// The end of the profile of a revisit with an identical payload. Some programs use another profile
/// with this end, `uri-agnostic-identical-payload-digest`.
pub(super) const IDENTICAL_PROFILE_END: &str = "identical-payload-digest";

#[derive(Default)]
pub(super) struct References {
    hash_state: RandomState,
    /// Hashes of [`KnownRecord`]s.
    known: HashSet<u64>,
    /// Revisits whose original has not been read yet.
    unresolved_revisits: Vec<UnresolvedRevisit>,
}

/// A fact about a record that other records can refer to.
#[derive(Hash)]
enum KnownRecord<'a> {
    Id(&'a str),
    /// A capture by one of its names, with or without its digest.
    Capture(RecordName<'a>, Option<&'a Digest>),
    /// A capture by one of its names, with a digest of this algorithm.
    Digested(RecordName<'a>, Option<DigestAlgorithm>),
    Revisit(RecordName<'a>),
}

/// A name by which other records refer to a record.
#[derive(Clone, Copy, Hash)]
enum RecordName<'a> {
    Id(&'a str),
    /// With the date as `YYYYMMDDhhmmss`.
    UriAndDate(&'a str, &'a str),
    /// Any capture of the URI with the right digest.
    Uri(&'a str),
}

/// A revisit, with the hashes of the records that it refers to.
struct UnresolvedRevisit {
    at: (u32, u64),
    targets: [Option<TargetHashes>; 2],
    has_digest: bool,
    /// The hash of any capture of the same URI with the same digest: such a capture has the content of the
    /// revisit, if the one that it refers to is lost.
    same_content: Option<u64>,
}

/// The hashes of a capture that a revisit refers to.
#[derive(Clone, Copy)]
struct TargetHashes {
    /// Of the capture with the revisit's digest.
    exact: u64,
    /// Of the capture without a digest.
    any_digest: u64,
    /// Of the capture with a digest of the same algorithm.
    comparable: u64,
    /// Of a revisit with the same name.
    revisit: u64,
}

impl References {
    /// Adds a record, and reports findings that need no later record.
    pub(super) fn add(&mut self, at: (u32, u64), header: &Header, reporter: &mut Reporter<'_>) {
        let id = header.get("WARC-Record-ID").map(strip_brackets);
        if let Some(id) = id
            && !self.add_known(&KnownRecord::Id(id))
        {
            reporter.add(
                FindingCode::IdRepeated,
                format!("another record has the id {id}"),
            );
        }
        let url = CdxjLine::url_of(header);
        let url = url.as_deref().map(without_request);
        let timestamp = date_of(header).as_ref().map(WarcDate::to_timestamp14);
        let url_and_date = url.zip(timestamp.as_deref());
        let names = [
            id.map(RecordName::Id),
            url_and_date.map(|(url, date)| RecordName::UriAndDate(url, date)),
            url.map(RecordName::Uri),
        ];
        match header.record_type() {
            Some(RecordType::Response | RecordType::Resource) => {
                let digest = header.payload_digest();
                for name in names.into_iter().flatten() {
                    self.add_known(&KnownRecord::Capture(name, None));
                    if let Some(digest) = &digest {
                        self.add_known(&KnownRecord::Capture(name, Some(digest)));
                        self.add_known(&KnownRecord::Digested(name, Some(digest.algorithm())));
                    }
                }
            }
            Some(RecordType::Revisit) => {
                let [id, url_and_date, _] = names;
                for name in id.into_iter().chain(url_and_date) {
                    self.add_known(&KnownRecord::Revisit(name));
                }
                self.add_revisit(at, header, reporter);
            }
            _ => {}
        }
    }

    fn add_revisit(&mut self, at: (u32, u64), header: &Header, reporter: &mut Reporter<'_>) {
        let profile = header.get("WARC-Profile").unwrap_or_default();
        let unmodified = profile.ends_with(UNMODIFIED_PROFILE_END);
        if !unmodified && !profile.is_empty() && !profile.ends_with(IDENTICAL_PROFILE_END) {
            reporter.add(
                FindingCode::RevisitProfile,
                format!("WARC-Profile is {profile:?}"),
            );
        }
        let reference = RevisitReference::of(header);
        if unmodified && reference.digest.is_none() && header.payload_digest().is_some() {
            reporter.add(
                FindingCode::RevisitEmptyDigest,
                FindingCode::RevisitEmptyDigest.meaning().to_owned(),
            );
        }
        let same_content =
            reference
                .url
                .as_deref()
                .zip(reference.digest.as_ref())
                .map(|(url, digest)| {
                    self.hash(&KnownRecord::Capture(RecordName::Uri(url), Some(digest)))
                });
        let revisit = UnresolvedRevisit {
            at,
            targets: self.targets(&reference),
            has_digest: reference.digest.is_some(),
            same_content,
        };
        if self.fault(&revisit).is_some() {
            self.unresolved_revisits.push(revisit);
        }
    }

    /// The records that a revisit refers to: by id, and by URI and date; otherwise any capture of the
    /// URI.
    fn targets(&self, reference: &RevisitReference) -> [Option<TargetHashes>; 2] {
        let digest = reference.digest.as_ref();
        let hashes = |name: RecordName<'_>| TargetHashes {
            exact: self.hash(&KnownRecord::Capture(name, digest)),
            any_digest: self.hash(&KnownRecord::Capture(name, None)),
            comparable: self.hash(&KnownRecord::Digested(name, digest.map(Digest::algorithm))),
            revisit: self.hash(&KnownRecord::Revisit(name)),
        };
        let id = reference.record.as_ref().map(RecordId::as_str);
        let url = reference.url.as_deref();
        let timestamp = reference.timestamp();
        let url_and_date = url.zip(timestamp.as_deref());
        let names = [
            id.map(RecordName::Id),
            url_and_date.map(|(url, date)| RecordName::UriAndDate(url, date)),
        ];
        if names.iter().all(Option::is_none) {
            return [url.map(RecordName::Uri).map(hashes), None];
        }
        names.map(|name| name.map(hashes))
    }

    /// The fault of a revisit, according to the records added so far.
    fn fault(&self, revisit: &UnresolvedRevisit) -> Option<FindingCode> {
        let known = |hash| self.known.contains(&hash);
        let targets = || revisit.targets.iter().flatten();
        let is_same_elsewhere = revisit.same_content.is_some_and(known);
        // Without a digest, one good name is enough.
        if !revisit.has_digest && targets().any(|target| known(target.exact)) {
            return None;
        }
        let is_uncompared =
            |target: &TargetHashes| known(target.any_digest) && !known(target.comparable);
        let has_uncompared = !is_same_elsewhere && targets().any(is_uncompared);
        targets().find_map(|target| {
            if known(target.exact) {
                None
            } else if known(target.comparable) {
                Some(FindingCode::RevisitDigest)
            } else if has_uncompared {
                Some(FindingCode::RevisitUncompared)
            } else if known(target.revisit) {
                Some(FindingCode::RevisitOfRevisit)
            } else if is_same_elsewhere {
                Some(FindingCode::RevisitElsewhere)
            } else {
                Some(FindingCode::RevisitUnresolved)
            }
        })
    }

    /// The revisits without a valid original, after all records were added.
    pub(super) fn unresolved(&self) -> impl Iterator<Item = LateFinding> {
        self.unresolved_revisits.iter().filter_map(|revisit| {
            let (file, offset) = revisit.at;
            let code = self.fault(revisit)?;
            Some(LateFinding { file, offset, code })
        })
    }

    /// Adds a fact. False if it was known before.
    fn add_known(&mut self, record: &KnownRecord<'_>) -> bool {
        let hash = self.hash(record);
        self.known.insert(hash)
    }

    fn hash(&self, record: &KnownRecord<'_>) -> u64 {
        self.hash_state.hash_one(record)
    }
}
