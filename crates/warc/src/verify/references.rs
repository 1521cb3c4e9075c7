//! Whether every revisit refers to a response, with its digest, and every id is there once.
//!
//! Of each record a few 64-bit hashes are kept, keyed by chance, so that nobody can make two collide.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::{Late, Report};
use crate::digest::{Algorithm, Digest};
use crate::finding::Code;
use crate::header::{Header, RecordType};
use crate::id::strip_brackets;

/// What the profile of a revisit ends with that found the same payload; some programs have one of
/// their own, `uri-agnostic-identical-payload-digest`.
pub(super) const IDENTICAL: &str = "identical-payload-digest";

#[derive(Default)]
pub(super) struct References {
    chance: RandomState,
    /// What is known of the records so far.
    marks: HashSet<u64>,
    /// Revisits whose original has not been seen yet.
    open: Vec<Open>,
}

/// What a mark says of a record.
#[derive(Hash)]
enum Mark<'a> {
    Id(&'a str),
    /// A capture, by its id or by URI and date; with its digest or without.
    Capture(Name<'a>, Option<&'a Digest>),
    Revisit(Name<'a>),
}

#[derive(Clone, Copy, Hash)]
enum Name<'a> {
    Id(&'a str),
    Place(&'a str, &'a str),
    /// Any capture of the URI will do, if its digest is right.
    Uri(&'a str),
}

/// A revisit, as hashes of the marks that it asks for.
struct Open {
    at: (u32, u64),
    names: [Option<Wanted>; 2],
}

/// A capture that is referred to.
#[derive(Clone, Copy)]
struct Wanted {
    exact: u64,
    other_digest: u64,
    revisit: u64,
}

impl References {
    /// Takes a record in. What can be said at once is reported.
    pub(super) fn add(&mut self, at: (u32, u64), header: &Header, report: &mut Report<'_>) {
        let id = header.get("WARC-Record-ID").map(strip_brackets);
        if let Some(id) = id
            && !self.mark(&Mark::Id(id))
        {
            report.add(Code::IdRepeated, format!("another record has the id {id}"));
        }
        let uri = header.target_uri().map(without_request);
        let place = uri.zip(header.get("WARC-Date"));
        let names = [
            id.map(Name::Id),
            place.map(|(uri, date)| Name::Place(uri, date)),
            uri.map(Name::Uri),
        ];
        match header.record_type() {
            Some(RecordType::Response | RecordType::Resource) => {
                let digest = header.payload_digest();
                for name in names.into_iter().flatten() {
                    self.mark(&Mark::Capture(name, None));
                    if digest.is_some() {
                        self.mark(&Mark::Capture(name, digest.as_ref()));
                    }
                }
            }
            Some(RecordType::Revisit) => {
                let [id, place, _] = names;
                for name in id.into_iter().chain(place) {
                    self.mark(&Mark::Revisit(name));
                }
                self.revisit(at, header, report);
            }
            _ => {}
        }
    }

    fn revisit(&mut self, at: (u32, u64), header: &Header, report: &mut Report<'_>) {
        let profile = header.get("WARC-Profile").unwrap_or_default();
        let unmodified = profile.ends_with("server-not-modified");
        if !unmodified && !profile.is_empty() && !profile.ends_with(IDENTICAL) {
            report.add(Code::RevisitProfile, format!("WARC-Profile is {profile:?}"));
        }
        let mut digest = header.payload_digest();
        if unmodified && digest.as_ref().is_some_and(is_of_nothing) {
            report.add(
                Code::RevisitEmptyDigest,
                Code::RevisitEmptyDigest.meaning().to_owned(),
            );
            digest = None;
        }
        let open = Open {
            at,
            names: self.wanted(header, digest.as_ref()),
        };
        if self.fault(&open).is_some() {
            self.open.push(open);
        }
    }

    /// What a revisit refers to: by id, and by URI and date; or else any capture of the URI.
    fn wanted(&self, header: &Header, digest: Option<&Digest>) -> [Option<Wanted>; 2] {
        let want = |name: Name<'_>| Wanted {
            exact: self.hash(&Mark::Capture(name, digest)),
            other_digest: self.hash(&Mark::Capture(name, None)),
            revisit: self.hash(&Mark::Revisit(name)),
        };
        let id = header.get("WARC-Refers-To").map(strip_brackets);
        let uri = header
            .get("WARC-Refers-To-Target-URI")
            .map(strip_brackets)
            .or_else(|| header.target_uri())
            .map(without_request);
        let place = uri.zip(header.get("WARC-Refers-To-Date"));
        let names = [
            id.map(Name::Id),
            place.map(|(uri, date)| Name::Place(uri, date)),
        ];
        if names.iter().all(Option::is_none) {
            return [uri.map(Name::Uri).map(want), None];
        }
        names.map(|name| name.map(want))
    }

    /// What is wrong with a revisit, by what is known.
    fn fault(&self, open: &Open) -> Option<Code> {
        let known = |hash| self.marks.contains(&hash);
        open.names.iter().flatten().find_map(|wanted| {
            if known(wanted.exact) {
                None
            } else if known(wanted.other_digest) {
                Some(Code::RevisitDigest)
            } else if known(wanted.revisit) {
                Some(Code::RevisitOfRevisit)
            } else {
                Some(Code::RevisitUnresolved)
            }
        })
    }

    /// The revisits that refer to nothing good, now that all is known.
    pub(super) fn unresolved(&self) -> impl Iterator<Item = Late> {
        self.open.iter().filter_map(|open| {
            let (file, offset) = open.at;
            let code = self.fault(open)?;
            Some(Late { file, offset, code })
        })
    }

    /// Whether the mark is new.
    fn mark(&mut self, mark: &Mark<'_>) -> bool {
        let hash = self.hash(mark);
        self.marks.insert(hash)
    }

    fn hash(&self, mark: &Mark<'_>) -> u64 {
        self.chance.hash_one(mark)
    }
}

/// The URI itself, where a request other than GET is part of it: a revisit of an answer to such a
/// request refers to the place that its original has in an index.
fn without_request(uri: &str) -> &str {
    let at = ["?__wb_method=", "&__wb_method="]
        .iter()
        .filter_map(|begin| uri.find(begin));
    at.min().map_or(uri, |at| &uri[..at])
}

/// Whether it is the digest of no bytes, which a 304 has and the capture has not.
fn is_of_nothing(digest: &Digest) -> bool {
    [Algorithm::Sha1, Algorithm::Sha256]
        .into_iter()
        .any(|algorithm| Digest::of(algorithm, std::io::empty()).is_ok_and(|(it, _)| it == *digest))
}
