//! Compares the bytes of a body, or an announced length, with the promise.

use urldb_format::{Algorithm, Digest};
use urldb_protocol::{Reason, State};

use crate::body::{Body, BodyEnd, Damage, Decoded, ServedDigests};
use crate::coding::{self, Coding};
use crate::job::Promise;
use crate::observation::{Hop, Observation};
use crate::verdict::{Classification, Warning};

/// Compares the promised length with the `Content-Length` of a response to HEAD, which has no body.
pub(super) fn announced_length(promise: &Promise, last: &Hop) -> Classification {
    let unknown = |observed| {
        Classification::new(State::Inconclusive, Reason::NotRead, observed)
            .expecting(bytes_text(promise))
    };
    if promise.has_digest() {
        return unknown("answers HEAD, and only a body has a digest");
    }
    let is_coded = coding::coding_of(&last.list("content-encoding")) != Some(Coding::Identity);
    match observed_length(last) {
        Some(length) if promise.length == Some(length) => Classification::ok(),
        Some(_) if is_coded => unknown("announces the length of a coded body"),
        Some(length) => Classification::new(
            State::Changed,
            Reason::Length,
            format!("announces {length} bytes"),
        )
        .expecting(bytes_text(promise)),
        None => unknown("answers HEAD without a Content-Length"),
    }
}

/// The length that a response to HEAD announces, in bytes.
pub fn observed_length(last: &Hop) -> Option<u64> {
    last.header("content-length")?
        .trim()
        .parse()
        .ok()
        .filter(|_| last.sent.method == "HEAD")
}

/// The bytes as they came; but what a coding hides may be just what is promised.
pub(super) fn promised_bytes(promise: &Promise, last: &Hop, body: Option<&Body>) -> Classification {
    let classification = compare_bytes(promise, body);
    let is_other = classification.state == State::Changed
        && classification.reason != Some(Reason::DigestsDisagree);
    match coding::hidden_by(last) {
        Some(coding) if is_other => Classification::new(
            State::Unreachable,
            Reason::Protocol,
            format!("answers in the coding {coding:?}, which nobody asked for"),
        ),
        _ => classification,
    }
}

pub(super) fn compare_bytes(promise: &Promise, body: Option<&Body>) -> Classification {
    let Some(body) = body else {
        return Classification::new(
            State::Inconclusive,
            Reason::NotRead,
            "the body was not read",
        );
    };
    if let Some(classification) = decided_by_digests(promise, body) {
        return classification;
    }
    let too_large = |length: u64, when: &str| {
        let observed = format!("more than {length} bytes{when}, the most that is read");
        Classification::new(State::Inconclusive, Reason::TooLarge, observed)
    };
    let too_long = |length: u64, when: &str| {
        let observed = format!("more than {length} bytes{when}");
        Classification::new(State::Changed, Reason::Length, observed).expecting(bytes_text(promise))
    };
    let is_longer = |length: u64| promise.length.is_some_and(|promised| length > promised);
    let after_decoding = " after decoding";
    let before_the_cut = body.length.saturating_sub(1);
    match (body.end, body.decoded) {
        (BodyEnd::Broken, _) => truncated(body, "the connection was lost"),
        (_, Some(Decoded::LongerThan(length))) if is_longer(length.saturating_add(1)) => {
            too_long(length, after_decoding)
        }
        (_, Some(Decoded::LongerThan(length))) => too_large(length, after_decoding),
        (
            _,
            Some(Decoded::Damaged {
                damage: Damage::Invalid,
                ..
            }),
        ) => Classification::new(
            State::Unreachable,
            Reason::Protocol,
            "answers in a coding that cannot be undone: the body does not have the form that its \
             Content-Encoding names, or is damaged",
        ),
        (BodyEnd::Complete, Some(Decoded::Damaged { .. })) => {
            truncated(body, "its coding is not complete")
        }
        (BodyEnd::Cut, None) if is_longer(body.length) => too_long(before_the_cut, ""),
        (BodyEnd::Cut, _) => too_large(before_the_cut, ""),
        (BodyEnd::Complete, Some(Decoded::Whole { length, sha256 })) => {
            let further = &body.decoded_digests;
            let served = ServedDigests {
                length,
                sha256,
                further,
            };
            other_bytes(promise, served, after_decoding)
        }
        (BodyEnd::Complete, None) => other_bytes(promise, body.digests_as_sent(), ""),
    }
}

/// The classification of bytes that keep the promise, or contradict it in part, or were not compared with all of
/// it.
fn decided_by_digests(promise: &Promise, body: &Body) -> Option<Classification> {
    let as_sent = body.digests_as_sent();
    let not_computed = || {
        let mut promised = promise.digests.iter();
        let observed = "the digests of the body were not computed";
        promised
            .any(|digest| as_sent.has(digest).is_none())
            .then(|| Classification::new(State::Inconclusive, Reason::NotRead, observed))
    };
    promise_kept(promise, body)
        .or_else(|| contradiction(promise, body))
        .or_else(not_computed)
}

fn other_bytes(promise: &Promise, served: ServedDigests<'_>, when: &str) -> Classification {
    let length = served.length;
    let shows_sha256 = promise.sha256.is_some() || promise.digests.is_empty();
    let sha256 = shows_sha256.then_some(&served.sha256);
    let digests = digests_text(sha256, served.further);
    let observed = format!("{length} bytes with {digests}{when}");
    let reason = match served.fit(promise) {
        Fit::Whole => None,
        Fit::OtherLength => Some(Reason::Length),
        Fit::OtherDigest => Some(Reason::Digest),
        Fit::Disagreement => Some(Reason::DigestsDisagree),
    };
    Classification::new(State::Changed, reason, observed).expecting(bytes_text(promise))
}

/// The relation of served bytes to a promise of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// The length and each digest fit.
    Whole,
    /// The length differs, and no digest fits.
    OtherLength,
    /// The digests differ.
    OtherDigest,
    /// Some of the digests and the length fit, others do not: no bytes can keep the promise.
    Disagreement,
}

impl ServedDigests<'_> {
    /// Whether the bytes have this digest; `None` if their digest of its algorithm is not known.
    fn has(&self, digest: &Digest) -> Option<bool> {
        let same = self
            .further
            .iter()
            .find(|it| it.algorithm() == digest.algorithm())?;
        Some(same == digest)
    }

    /// Whether each promised digest fits, in this order: SHA-256, then the others.
    fn fitting<'a>(&'a self, promise: &'a Promise) -> impl Iterator<Item = bool> + Clone + 'a {
        let sha256 = promise.sha256.iter().map(|it| *it == self.sha256);
        let further = promise.digests.iter().map(|it| self.has(it) == Some(true));
        sha256.chain(further)
    }

    /// Whether the promise has a digest, and the bytes have each promised digest.
    fn have_digests(&self, promise: &Promise) -> bool {
        promise.has_digest() && self.fitting(promise).all(|fits| fits)
    }

    /// Compares length and digests with a promise. A length that differs beside a SHA-256 alone that fits is
    /// only another length, as it was before records had further digests.
    fn fit(&self, promise: &Promise) -> Fit {
        let is_other_length = promise.length.is_some_and(|length| length != self.length);
        let mut fitting = self.fitting(promise);
        let has_misfit = fitting.clone().any(|fits| !fits);
        let has_fit = fitting.any(|fits| fits);
        if has_fit && (has_misfit || is_other_length && !promise.digests.is_empty()) {
            Fit::Disagreement
        } else if is_other_length {
            Fit::OtherLength
        } else if has_misfit {
            Fit::OtherDigest
        } else {
            Fit::Whole
        }
    }
}

/// Whether the last response is a 2xx response whose bytes have each promised digest. A digest proves that the
/// bytes are complete, however the connection ended.
pub fn is_proven(promise: &Promise, seen: &Observation) -> bool {
    let last = seen.last();
    let is_good = last.is_some_and(|last| (200..300).contains(&last.status));
    let body = seen.body.as_ref().filter(|body| body.length > 0);
    is_good && body.is_some_and(|body| body.digests_as_sent().have_digests(promise))
}

/// The strongest promised digest, if the promise has further ones than a SHA-256, and the bytes as sent keep it.
pub fn verified_digest(promise: &Promise, seen: &Observation) -> Option<Digest> {
    let body = seen.body.as_ref().filter(|_| !promise.digests.is_empty())?;
    let is_whole = body.end == BodyEnd::Complete || body.length > 0;
    let is_kept = is_whole && body.digests_as_sent().fit(promise) == Fit::Whole;
    is_kept.then(|| promise.strongest_digest())?
}

/// `ok`, if the served bytes are the promised ones, as sent or decoded. A digest proves that the bytes
/// are complete, however the connection or the coding ended; but an empty body proves nothing.
pub(super) fn promise_kept(promise: &Promise, body: &Body) -> Option<Classification> {
    let is_proof = promise.has_digest() && body.length > 0;
    let is_whole = body.end == BodyEnd::Complete;
    let as_sent = body.digests_as_sent();
    let is_as_sent = match body.end {
        BodyEnd::Complete => true,
        BodyEnd::Broken => is_proof,
        BodyEnd::Cut => false,
    };
    let is_as_sent = is_as_sent && as_sent.fit(promise) == Fit::Whole;
    let is_decoded = body.digests_decoded().is_some_and(|served| {
        let is_complete = match body.decoded {
            Some(Decoded::Whole { .. }) => is_whole || is_proof,
            _ => is_proof && served.length > 0,
        };
        is_complete && served.fit(promise) == Fit::Whole
    });
    match body.end {
        _ if !(is_as_sent || is_decoded) => None,
        BodyEnd::Broken => Some(Classification::ok().warning(Warning::FramingBroken)),
        _ if is_as_sent => Some(Classification::ok()),
        _ => Some(Classification::ok().warning(Warning::ContentEncoded)),
    }
}

/// `changed`, if some of the promised digests and the length fit the served bytes, and others do not. A digest that
/// fits proves that the bytes are complete, so that no other request can have another result.
pub(super) fn contradiction(promise: &Promise, body: &Body) -> Option<Classification> {
    let served = contradicted(promise, body)?;
    let digests = promise
        .digests
        .iter()
        .map(|it| (it.algorithm(), served.has(it) == Some(true)));
    let sha256 = promise
        .sha256
        .iter()
        .map(|it| (Algorithm::Sha256, *it == served.sha256));
    let mut named: Vec<(Algorithm, bool)> = digests.chain(sha256).collect();
    named.sort_unstable();
    let mut parts = [vec![], vec![]];
    for (algorithm, fits) in named {
        parts[usize::from(!fits)].push(algorithm.to_string());
    }
    if promise.length.is_some_and(|length| length != served.length) {
        parts[1].push("length".to_owned());
    }
    let [fitting, others] = parts.map(|names| names.join(", "));
    let observed = format!(
        "{} bytes that have the promised {fitting}, but not the promised {others}",
        served.length
    );
    let reason = Reason::DigestsDisagree;
    let classification = Classification::new(State::Changed, reason, observed);
    Some(classification.expecting(bytes_text(promise)))
}

/// The bytes, as sent or decoded, that have one of the promised digests and not another, or not the length.
fn contradicted<'a>(promise: &Promise, body: &'a Body) -> Option<ServedDigests<'a>> {
    let as_sent = Some(body.digests_as_sent()).filter(|_| body.end != BodyEnd::Cut);
    [as_sent, body.digests_decoded()]
        .into_iter()
        .flatten()
        .find(|served| {
            let is_whole = body.end == BodyEnd::Complete || served.length > 0;
            let is_computed = promise.digests.iter().all(|it| served.has(it).is_some());
            is_whole && is_computed && served.fit(promise) == Fit::Disagreement
        })
}

/// The bytes that are reported as observed: those that keep the promise or contradict it in part, as sent or
/// decoded; else those that a client gets after decoding. `None` if there is no body, or it is incomplete or
/// cannot be decoded.
pub fn observed_bytes<'a>(promise: &Promise, seen: &'a Observation) -> Option<ServedDigests<'a>> {
    let last = seen.last().filter(|last| last.sent.method != "HEAD")?;
    let body = seen.body.as_ref()?;
    let kept = promise.is_static() && promise_kept(promise, body).is_some();
    let as_sent = body.digests_as_sent();
    match body.decoded {
        _ if kept && as_sent.fit(promise) == Fit::Whole => Some(as_sent),
        Some(Decoded::Damaged { .. }) if kept => body.digests_decoded(),
        _ if !kept && let Some(served) = contradicted(promise, body) => Some(served),
        _ if coding::hidden_by(last).is_some() => None,
        _ if body.end != BodyEnd::Complete => None,
        None => Some(as_sent),
        Some(Decoded::Whole { .. }) => body.digests_decoded(),
        Some(_) => None,
    }
}

/// The classification of a body that is not complete.
pub(super) fn truncated(body: &Body, detail: &str) -> Classification {
    Classification::new(
        State::Truncated,
        None,
        format!("ends after {} bytes: {detail}", body.length),
    )
}

fn bytes_text(promise: &Promise) -> String {
    let digests = digests_text(promise.sha256.as_ref(), &promise.digests);
    match promise.length {
        Some(length) if promise.has_digest() => format!("{length} bytes with {digests}"),
        Some(length) => format!("{length} bytes"),
        None if promise.has_digest() => digests,
        None => "nothing".into(),
    }
}

/// Digests for people, the weakest first: `md5 d41d…, sha256 e3b0…`.
fn digests_text(sha256: Option<&[u8; 32]>, further: &[Digest]) -> String {
    let sha256 = sha256.and_then(|bytes| Digest::new(Algorithm::Sha256, bytes));
    let mut digests: Vec<&Digest> = further.iter().chain(&sha256).collect();
    digests.sort_unstable();
    digests
        .into_iter()
        .map(|it| format!("{} {}", it.algorithm().name(), it.hex()))
        .collect::<Vec<_>>()
        .join(", ")
}
