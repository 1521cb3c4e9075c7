//! Classifies one observation against one promise.

use std::borrow::Cow;

use data_encoding::HEXLOWER;
use urldb_protocol::{Reason, State};

use crate::challenge::{self, ChallengeRule};
use crate::coding::Coding;
use crate::observation::{
    Body, BodyEnd, Damage, Decoded, Failure, FailureKind, Hop, Observation, ServedBytes,
};
use crate::promise::Promise;
use crate::warning::Warning;
use crate::{backoff, coding, media_type};

/// The classification of one observation against the promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classification {
    /// The state.
    pub state: State,
    /// The reason, where the state has several.
    pub reason: Option<Reason>,
    /// The promise, for people; absent where `observed` says enough.
    pub expected: Option<String>,
    /// The observation, for people.
    pub observed: String,
    /// A remark besides the state.
    pub warning: Option<Warning>,
}

impl Classification {
    fn ok() -> Self {
        Self {
            state: State::Ok,
            reason: None,
            expected: None,
            observed: "as promised".into(),
            warning: None,
        }
    }

    pub(super) fn new(
        state: State,
        reason: impl Into<Option<Reason>>,
        observed: impl Into<String>,
    ) -> Self {
        Self {
            state,
            reason: reason.into(),
            expected: None,
            observed: observed.into(),
            warning: None,
        }
    }

    pub(super) fn given_up() -> Self {
        Self::new(
            State::Inconclusive,
            Reason::RunEnded,
            "the run ended before it could be judged",
        )
    }

    pub(super) fn not_asked(cause: &str) -> Self {
        Self::new(
            State::Inconclusive,
            Reason::NotAsked,
            format!("was not asked: {cause}"),
        )
    }

    pub(super) fn own_network(observed: &str) -> Self {
        Self::new(
            State::Inconclusive,
            Reason::OwnNetwork,
            format!("no host answered in this run, so it may be our own network: {observed}"),
        )
    }

    pub(super) fn same_page(observed: &str, domains: usize) -> Self {
        Self::new(
            State::Inconclusive,
            Reason::OwnNetwork,
            format!(
                "hosts of {domains} domains answer with the same page and no promised bytes \
                 arrived in this run, so it may be our own network: {observed}"
            ),
        )
    }

    fn expecting(self, expected: impl Into<String>) -> Self {
        Self {
            expected: Some(expected.into()),
            ..self
        }
    }

    fn warning(self, warning: Warning) -> Self {
        Self {
            warning: Some(warning),
            ..self
        }
    }

    /// One sentence for people.
    pub fn message(&self) -> String {
        match &self.expected {
            Some(expected) => format!("{}, promised {expected}", self.observed),
            None => self.observed.clone(),
        }
    }
}

/// Classifies `seen` against `promise`. The rules `challenges` come before the built-in ones.
pub fn classify(
    promise: &Promise,
    seen: &Observation,
    challenges: &[ChallengeRule],
) -> Classification {
    first_answer(promise, seen, challenges)
        .unwrap_or_else(|| end_of_chain(promise, seen, challenges))
}

/// Classifies the first response: promises about the redirect itself, and promises that any redirect
/// keeps. `None` if the last response decides.
fn first_answer(
    promise: &Promise,
    seen: &Observation,
    challenges: &[ChallengeRule],
) -> Option<Classification> {
    let first = seen.first()?;
    let redirect = first.redirect_target();
    let other = if let Some(target) = &promise.redirects_to {
        let kept = redirect.as_ref() == Some(target);
        other_redirect(first, kept, &format!("a redirect to {target}"))
    } else if let Some(status) = promise.redirect_status {
        let kept = first.status == status || (promise.redirect_ok && redirect.is_some());
        other_redirect(first, kept, &format!("a redirect with status {status}"))
    } else {
        None
    };
    let judged_at_the_end = promise.is_static() || promise.status.is_some();
    let redirect_is_enough = promise.redirect_ok
        || promise.content_type.is_none()
        || promise.redirect_status.is_some()
        || promise.redirects_to.is_some();
    let is_challenge = || redirect.is_none() && challenge::recognize(seen, challenges).is_some();
    other.filter(|_| !is_challenge()).or_else(|| {
        (redirect.is_some() && redirect_is_enough && !judged_at_the_end)
            .then(|| passes(seen, challenges))
    })
}

/// `redirected`, unless the promise about the redirect is kept. An error status is left to
/// [`end_of_chain`].
fn other_redirect(first: &Hop, kept: bool, promised: &str) -> Option<Classification> {
    if kept || is_error(first.status) {
        return None;
    }
    let classification = match first.shown_redirect_target() {
        Some(target) => Classification::new(
            State::Redirected,
            Reason::OtherRedirect,
            format!("redirects with status {} to {target}", first.status),
        ),
        None => Classification::new(
            State::Redirected,
            Reason::NoRedirect,
            format!("answers {} and does not redirect", status_text(first)),
        ),
    };
    Some(classification.expecting(promised))
}

/// `ok`, since the first response redirects; a warning if the redirects lead to an error.
fn passes(seen: &Observation, challenges: &[ChallengeRule]) -> Classification {
    let end = end_of_chain(&Promise::default(), seen, challenges);
    match end.state {
        State::Ok => end,
        _ => Classification {
            observed: end.observed,
            ..Classification::ok()
        }
        .warning(Warning::RedirectToBroken),
    }
}

/// Classifies the end of the redirects. Promised bytes count more than the mark of a challenge.
pub(super) fn end_of_chain(
    promise: &Promise,
    seen: &Observation,
    challenges: &[ChallengeRule],
) -> Classification {
    let has_body = seen.last().is_some_and(|last| last.sent.method != "HEAD");
    let is_kept = promise.is_static()
        && has_body
        && compare_bytes(promise, seen.body.as_ref()).state == State::Ok;
    if !is_kept && let Some(rule) = challenge::recognize(seen, challenges) {
        return blocked(rule);
    }
    last_answer(promise, seen)
}

fn blocked(rule: &ChallengeRule) -> Classification {
    let reason = if rule.parked {
        Reason::Parked
    } else {
        Reason::Challenge
    };
    let observed = format!("answers with {}", rule.name);
    Classification::new(State::Blocked, reason, observed)
}

/// Classifies the last response, or the failure to get one.
pub(super) fn last_answer(promise: &Promise, seen: &Observation) -> Classification {
    let bytes_matter = |last: &Hop| {
        promise.is_static() && (!is_error(last.status) || promise.status == Some(last.status))
    };
    // A later failure does not matter if the head is enough, or if all promised bytes are there.
    let is_enough = seen.body.as_ref().is_some_and(|body| {
        !seen.last().is_some_and(bytes_matter) || promise_kept(promise, body).is_some()
    });
    if let Some(failure) = seen.failure.as_ref().filter(|_| !is_enough) {
        return failed(failure, seen.body.as_ref());
    }
    let Some(last) = seen.last() else {
        return Classification::new(State::Inconclusive, Reason::NotAsked, "was not asked");
    };
    if let Some(promised) = promise.status {
        let hop = if (300..400).contains(&promised) {
            &seen.hops[0]
        } else {
            last
        };
        if hop.status != promised && !is_error(hop.status) {
            return Classification::new(
                State::Changed,
                Reason::Status,
                format!("answers {}", status_text(hop)),
            )
            .expecting(format!("status {promised}"));
        }
        if hop.status == promised {
            return content(promise, last, seen.body.as_ref());
        }
    }
    match last.status {
        304 if last.sent.is_conditional && !has_asked_etag(last) => Classification::new(
            State::Unreachable,
            Reason::Protocol,
            "answers 304 with another ETag than that of the known content",
        ),
        304 if last.sent.is_conditional => Classification {
            observed: "answers 304: not modified since it was archived".into(),
            ..Classification::ok()
        },
        100..200 | 206 | 304 => Classification::new(
            State::Unreachable,
            Reason::Protocol,
            format!("answers {}, which nobody asked for", status_text(last)),
        ),
        200..300 => content(promise, last, seen.body.as_ref()),
        300..400 if !promise.is_static() && promise.content_type.is_none() => Classification::ok(),
        300..400 => Classification::new(
            State::Unreachable,
            Reason::RedirectInvalid,
            format!("answers {} without saying where to", status_text(last)),
        ),
        _ => error_status(last),
    }
}

fn failed(failure: &Failure, body: Option<&Body>) -> Classification {
    match (failure.kind, body) {
        (
            kind @ (FailureKind::Refused
            | FailureKind::UnsafeMethod
            | FailureKind::RunEnded
            | FailureKind::HostSilent
            | FailureKind::OwnLimit),
            _,
        ) => Classification::new(State::Inconclusive, kind.reason(), &failure.detail),
        (FailureKind::Disconnected, Some(body)) => truncated(body, &failure.detail),
        (kind, _) => Classification::new(State::Unreachable, kind.reason(), &failure.detail),
    }
}

/// Whether a 304 has no other `ETag` than the request asked about. Weak validators are compared like
/// strong ones (RFC 9110, 13.1.2).
fn has_asked_etag(last: &Hop) -> bool {
    let opaque = |etag: &str| etag.trim().trim_start_matches("W/").to_owned();
    let mut sent = last.sent.headers.iter();
    let asked = sent.find(|(name, _)| name.eq_ignore_ascii_case("if-none-match"));
    match (asked, last.header("etag")) {
        (Some((_, asked)), Some(etag)) => opaque(&String::from_utf8_lossy(asked)) == opaque(etag),
        _ => true,
    }
}

fn is_error(status: u16) -> bool {
    !(200..400).contains(&status) || status == 206 || status == 304
}

fn error_status(last: &Hop) -> Classification {
    let (state, reason) = match last.status {
        404 | 410 => (State::Gone, None),
        401 | 403 | 451 => (State::Forbidden, None),
        429 => (State::Blocked, Some(Reason::TooManyRequests)),
        400..500 => (State::ClientError, None),
        // RFC 9110, 15: what is no status counts as 5xx.
        _ => (State::ServerError, None),
    };
    let mut observed = format!("answers {}", status_text(last));
    if let Some(wait) = backoff::too_long_a_wait(last) {
        observed = format!("{observed} and {wait}");
    }
    Classification::new(state, reason, observed)
}

/// Classifies body and content type of a good last response.
fn content(promise: &Promise, last: &Hop, body: Option<&Body>) -> Classification {
    let bytes = if promise.is_static() && last.sent.method == "HEAD" {
        announced_length(promise, last)
    } else if promise.is_static() {
        promised_bytes(promise, last, body)
    } else {
        Classification::ok()
    };
    if bytes.state != State::Ok {
        return bytes;
    }
    if let Some(promised) = &promise.content_type
        && promise.redirect_status.is_none()
        && !promise.content_type_change_ok
    {
        // Clients differ in which of several they go by.
        let mut observed: Vec<_> = last.values("content-type").collect();
        observed.dedup();
        let is_kept = |observed: &Cow<'_, str>| media_type::matches(promised, observed);
        if observed.is_empty() || !observed.iter().all(is_kept) {
            let observed = match observed.join(" and ") {
                none if none.is_empty() => "no content type".to_owned(),
                some => some,
            };
            return Classification::new(
                State::Changed,
                Reason::ContentType,
                format!("serves {observed}"),
            )
            .expecting(promised.clone());
        }
    }
    bytes
}

/// Compares the promised length with the `Content-Length` of a response to HEAD, which has no body.
fn announced_length(promise: &Promise, last: &Hop) -> Classification {
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
fn promised_bytes(promise: &Promise, last: &Hop, body: Option<&Body>) -> Classification {
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

fn compare_bytes(promise: &Promise, body: Option<&Body>) -> Classification {
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
fn promise_kept(promise: &Promise, body: &Body) -> Option<Classification> {
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

fn truncated(body: &Body, detail: &str) -> Classification {
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

fn status_text(hop: &Hop) -> String {
    format!("{} {}", hop.status, hop.reason_phrase)
        .trim_end()
        .to_owned()
}
