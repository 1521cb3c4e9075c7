//! Compares the bytes of a body, or an announced length, with the promise.

use data_encoding::HEXLOWER;
use urldb_protocol::{Reason, State};

use crate::coding::{self, Coding};
use crate::job::Promise;
use crate::observation::{Body, BodyEnd, Damage, Decoded, Hop, Observation, ServedBytes};
use crate::verdict::{Classification, Warning};

/// Compares the promised length with the `Content-Length` of a response to HEAD, which has no body.
pub(super) fn announced_length(promise: &Promise, last: &Hop) -> Classification {
    let unknown = |observed| {
        Classification::new(State::Inconclusive, Reason::NotRead, observed)
            .expecting(bytes_text(promise))
    };
    if promise.sha256.is_some() {
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
    let announced = last.header("content-length")?.trim();
    announced
        .parse()
        .ok()
        .filter(|_| last.sent.method == "HEAD")
}

/// The bytes as they came; but what a coding hides may be just what is promised.
pub(super) fn promised_bytes(promise: &Promise, last: &Hop, body: Option<&Body>) -> Classification {
    let classification = compare_bytes(promise, body);
    match coding::hidden_by(last) {
        Some(coding) if classification.state == State::Changed => Classification::new(
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
    if let Some(classification) = promise_kept(promise, body) {
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
            other_bytes(promise, ServedBytes { length, sha256 }, after_decoding)
        }
        (BodyEnd::Complete, None) => other_bytes(promise, body.as_sent(), ""),
    }
}

fn other_bytes(promise: &Promise, served: ServedBytes, when: &str) -> Classification {
    let ServedBytes { length, sha256 } = served;
    let digest = HEXLOWER.encode(&sha256);
    let observed = format!("{length} bytes with sha256 {digest}{when}");
    Classification::new(State::Changed, mismatch(promise, length, &sha256), observed)
        .expecting(bytes_text(promise))
}

/// `ok`, if the served bytes are the promised ones, as sent or decoded. A digest proves that the bytes
/// are complete, however the connection or the coding ended; but an empty body proves nothing.
pub(super) fn promise_kept(promise: &Promise, body: &Body) -> Option<Classification> {
    let is_proof = promise.sha256.is_some() && body.length > 0;
    let is_whole = body.end == BodyEnd::Complete;
    let matches = |length, sha256: &[u8; 32]| mismatch(promise, length, sha256).is_none();
    let is_as_sent = match body.end {
        BodyEnd::Complete => true,
        BodyEnd::Broken => is_proof,
        BodyEnd::Cut => false,
    };
    let is_as_sent = is_as_sent && matches(body.length, &body.sha256);
    let is_decoded = match body.decoded {
        Some(Decoded::Whole { length, sha256 }) => {
            (is_whole || is_proof) && matches(length, &sha256)
        }
        Some(Decoded::Damaged { length, sha256, .. }) => {
            is_proof && length > 0 && matches(length, &sha256)
        }
        Some(Decoded::LongerThan(_)) | None => false,
    };
    match body.end {
        _ if !(is_as_sent || is_decoded) => None,
        BodyEnd::Broken => Some(Classification::ok().warning(Warning::FramingBroken)),
        _ if is_as_sent => Some(Classification::ok()),
        _ => Some(Classification::ok().warning(Warning::ContentEncoded)),
    }
}

/// The bytes that are reported as observed: those that keep the promise, as sent or decoded; else
/// those that a client gets after decoding. `None` if there is no body, or it is incomplete or cannot be
/// decoded.
pub fn observed_bytes(promise: &Promise, seen: &Observation) -> Option<ServedBytes> {
    let last = seen.last().filter(|last| last.sent.method != "HEAD")?;
    let body = seen.body.as_ref()?;
    let kept = promise.is_static() && promise_kept(promise, body).is_some();
    let is_as_sent = mismatch(promise, body.length, &body.sha256).is_none();
    match body.decoded {
        _ if kept && is_as_sent => Some(body.as_sent()),
        Some(Decoded::Damaged { length, sha256, .. }) if kept => {
            Some(ServedBytes { length, sha256 })
        }
        _ if coding::hidden_by(last).is_some() => None,
        _ => body.served(),
    }
}

fn mismatch(promise: &Promise, length: u64, sha256: &[u8; 32]) -> Option<Reason> {
    if promise.length.is_some_and(|promised| promised != length) {
        return Some(Reason::Length);
    }
    promise
        .sha256
        .is_some_and(|promised| promised != *sha256)
        .then_some(Reason::Digest)
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
    match (promise.length, &promise.sha256) {
        (Some(length), Some(sha256)) => {
            format!("{length} bytes with sha256 {}", HEXLOWER.encode(sha256))
        }
        (Some(length), None) => format!("{length} bytes"),
        (None, Some(sha256)) => format!("sha256 {}", HEXLOWER.encode(sha256)),
        (None, None) => "nothing".into(),
    }
}
