//! Checks that every revisit refers to a capture with its digest, and that ids are unique.
//!
//! The checks keep a few 64-bit hashes of each record. The hashes have random keys, so hostile files
//! cannot produce collisions.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::report::{LateFinding, Reporter};
use crate::digest::{Digest, DigestAlgorithm};
use crate::finding::FindingCode;
use crate::header::id::strip_brackets;
use crate::header::{Header, RecordType};

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
    Revisit(RecordName<'a>),
}

/// A name by which other records refer to a record.
#[derive(Clone, Copy, Hash)]
enum RecordName<'a> {
    Id(&'a str),
    UriAndDate(&'a str, &'a str),
    /// Any capture of the URI with the right digest.
    Uri(&'a str),
}

/// A revisit, with the hashes of the records that it refers to.
struct UnresolvedRevisit {
    at: (u32, u64),
    targets: [Option<TargetHashes>; 2],
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
        let uri = header.target_uri().map(without_request);
        let uri_and_date = uri.zip(header.get("WARC-Date"));
        let names = [
            id.map(RecordName::Id),
            uri_and_date.map(|(uri, date)| RecordName::UriAndDate(uri, date)),
            uri.map(RecordName::Uri),
        ];
        match header.record_type() {
            Some(RecordType::Response | RecordType::Resource) => {
                let digest = header.payload_digest();
                for name in names.into_iter().flatten() {
                    self.add_known(&KnownRecord::Capture(name, None));
                    if digest.is_some() {
                        self.add_known(&KnownRecord::Capture(name, digest.as_ref()));
                    }
                }
            }
            Some(RecordType::Revisit) => {
                let [id, uri_and_date, _] = names;
                for name in id.into_iter().chain(uri_and_date) {
                    self.add_known(&KnownRecord::Revisit(name));
                }
                self.add_revisit(at, header, reporter);
            }
            _ => {}
        }
    }

    fn add_revisit(&mut self, at: (u32, u64), header: &Header, reporter: &mut Reporter<'_>) {
        let profile = header.get("WARC-Profile").unwrap_or_default();
        let unmodified = profile.ends_with("server-not-modified");
        if !unmodified && !profile.is_empty() && !profile.ends_with(IDENTICAL_PROFILE_END) {
            reporter.add(
                FindingCode::RevisitProfile,
                format!("WARC-Profile is {profile:?}"),
            );
        }
        let mut digest = header.payload_digest();
        if unmodified && digest.as_ref().is_some_and(is_of_empty_content) {
            reporter.add(
                FindingCode::RevisitEmptyDigest,
                FindingCode::RevisitEmptyDigest.meaning().to_owned(),
            );
            digest = None;
        }
        let uri = target_uri(header);
        let same_content = uri.zip(digest.as_ref()).map(|(uri, digest)| {
            self.hash(&KnownRecord::Capture(RecordName::Uri(uri), Some(digest)))
        });
        let revisit = UnresolvedRevisit {
            at,
            targets: self.targets(header, digest.as_ref()),
            same_content,
        };
        if self.fault(&revisit).is_some() {
            self.unresolved_revisits.push(revisit);
        }
    }

    /// The records that a revisit refers to: by id, and by URI and date; otherwise any capture of the
    /// URI.
    fn targets(&self, header: &Header, digest: Option<&Digest>) -> [Option<TargetHashes>; 2] {
        let hashes = |name: RecordName<'_>| TargetHashes {
            exact: self.hash(&KnownRecord::Capture(name, digest)),
            any_digest: self.hash(&KnownRecord::Capture(name, None)),
            revisit: self.hash(&KnownRecord::Revisit(name)),
        };
        let id = header.get("WARC-Refers-To").map(strip_brackets);
        let uri = target_uri(header);
        let uri_and_date = uri.zip(header.get("WARC-Refers-To-Date"));
        let names = [
            id.map(RecordName::Id),
            uri_and_date.map(|(uri, date)| RecordName::UriAndDate(uri, date)),
        ];
        if names.iter().all(Option::is_none) {
            return [uri.map(RecordName::Uri).map(hashes), None];
        }
        names.map(|name| name.map(hashes))
    }

    /// The fault of a revisit, according to the records added so far.
    fn fault(&self, revisit: &UnresolvedRevisit) -> Option<FindingCode> {
        let known = |hash| self.known.contains(&hash);
        revisit.targets.iter().flatten().find_map(|target| {
            if known(target.exact) {
                None
            } else if known(target.any_digest) {
                Some(FindingCode::RevisitDigest)
            } else if known(target.revisit) {
                Some(FindingCode::RevisitOfRevisit)
            } else if revisit.same_content.is_some_and(known) {
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

/// The URI of the capture that a revisit refers to.
fn target_uri(header: &Header) -> Option<&str> {
    let stated = header.get("WARC-Refers-To-Target-URI").map(strip_brackets);
    let uri = stated.or_else(|| header.target_uri());
    uri.map(without_request)
}

/// The URI without an appended request. A revisit of the response to a request other than GET refers to
/// the URI of its original in an index, which includes the request.
fn without_request(uri: &str) -> &str {
    let at = ["?__wb_method=", "&__wb_method="]
        .iter()
        .filter_map(|begin| uri.find(begin));
    at.min().map_or(uri, |at| &uri[..at])
}

/// Whether this is the digest of empty content, which belongs to a 304 response and not to its capture.
fn is_of_empty_content(digest: &Digest) -> bool {
    [DigestAlgorithm::Sha1, DigestAlgorithm::Sha256]
        .into_iter()
        .any(|algorithm| Digest::of(algorithm, std::io::empty()).is_ok_and(|(it, _)| it == *digest))
}
