//! Classifies one observation against one promise.

use std::borrow::Cow;

use data_encoding::HEXLOWER;
use urldb_protocol::{Reason, State};

use crate::challenge::{self, ChallengeRule};
use crate::observation::{Body, BodyEnd, Decoded, Failure, FailureKind, Hop, Observation};
use crate::promise::Promise;
use crate::warning::Warning;
use crate::{backoff, coding, media_type};

/// What one observation shows about the promise.
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

    fn new(state: State, reason: impl Into<Option<Reason>>, observed: impl Into<String>) -> Self {
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

    pub(super) fn own_network(observed: &str) -> Self {
        Self::new(
            State::Inconclusive,
            Reason::OwnNetwork,
            format!("no host answered in this run, so it may be our own network: {observed}"),
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
    let mark = challenge::recognize(seen, challenges);
    first_answer(promise, seen, mark).unwrap_or_else(|| end_of_chain(promise, seen, mark))
}

/// The body at the end of the redirects, if a record can promise its bytes.
///
/// # Errors
/// The classification that a promise of bytes would have. Unlike [`classify`], a redirect is not
/// enough: it has to lead to a complete 2xx response.
pub fn promisable<'a>(
    seen: &'a Observation,
    challenges: &[ChallengeRule],
) -> Result<&'a Body, Classification> {
    let mark = challenge::recognize(seen, challenges);
    let end = end_of_chain(&Promise::default(), seen, mark);
    match seen.complete_body() {
        _ if end.state != State::Ok => Err(end),
        Some(body) if seen.is_whole() => Ok(body),
        _ => {
            let some_bytes = Promise {
                sha256: Some([0; 32]),
                ..Promise::default()
            };
            Err(last_answer(&some_bytes, seen))
        }
    }
}

/// Classifies the first response: promises about the redirect itself, and promises that any redirect
/// keeps. `None` if the last response decides.
fn first_answer(
    promise: &Promise,
    seen: &Observation,
    mark: Option<&ChallengeRule>,
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
    let is_challenge = mark.is_some() && redirect.is_none();
    other.filter(|_| !is_challenge).or_else(|| {
        (redirect.is_some() && redirect_is_enough && !judged_at_the_end).then(|| passes(seen, mark))
    })
}

/// `redirected`, unless the promise about the redirect is kept. An error status is left to
/// [`end_of_chain`].
fn other_redirect(first: &Hop, kept: bool, promised: &str) -> Option<Classification> {
    if kept || is_error(first.status) {
        return None;
    }
    let classification = match first.redirect_target() {
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
fn passes(seen: &Observation, mark: Option<&ChallengeRule>) -> Classification {
    let end = end_of_chain(&Promise::default(), seen, mark);
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
fn end_of_chain(
    promise: &Promise,
    seen: &Observation,
    mark: Option<&ChallengeRule>,
) -> Classification {
    let bytes = || compare_bytes(promise, seen.body.as_ref());
    match mark {
        Some(rule) if !promise.is_static() || bytes().state != State::Ok => blocked(rule),
        _ => last_answer(promise, seen),
    }
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
fn last_answer(promise: &Promise, seen: &Observation) -> Classification {
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
    let bytes = if promise.is_static() {
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
    match body.end {
        BodyEnd::Broken => truncated(body, "the connection was lost"),
        BodyEnd::Cut
            if promise
                .length
                .is_some_and(|promised| body.length > promised) =>
        {
            Classification::new(
                State::Changed,
                Reason::Length,
                format!("more than {} bytes", body.length - 1),
            )
            .expecting(bytes_text(promise))
        }
        BodyEnd::Cut => Classification::new(
            State::Inconclusive,
            Reason::TooLarge,
            format!("more than {} bytes, the most that is read", body.length - 1),
        ),
        BodyEnd::Complete if let Some(cap) = hides_too_much(promise, body) => Classification::new(
            State::Inconclusive,
            Reason::TooLarge,
            format!("more than {cap} bytes, the most that is read, once its coding is undone"),
        ),
        BodyEnd::Complete => Classification::new(
            State::Changed,
            mismatch(promise, body.length, &body.sha256),
            format!(
                "{} bytes with sha256 {}",
                body.length,
                HEXLOWER.encode(&body.sha256)
            ),
        )
        .expecting(bytes_text(promise)),
    }
}

/// `ok`, where what came is what is promised. A digest proves that all of it came, however the
/// connection ended; but nothing at all proves nothing.
fn promise_kept(promise: &Promise, body: &Body) -> Option<Classification> {
    let is_all = match body.end {
        BodyEnd::Complete => true,
        BodyEnd::Broken => promise.sha256.is_some() && body.length > 0,
        BodyEnd::Cut => false,
    };
    let matches = |length, sha256: &[u8; 32]| mismatch(promise, length, sha256).is_none();
    let is_as_sent = matches(body.length, &body.sha256);
    let is_decoded = match body.decoded {
        Some(Decoded::Whole { length, sha256 }) => matches(length, &sha256),
        Some(Decoded::LongerThan(_)) | None => false,
    };
    match body.end {
        _ if !is_all || !(is_as_sent || is_decoded) => None,
        BodyEnd::Broken => Some(Classification::ok().warning(Warning::FramingBroken)),
        _ if !is_as_sent => Some(Classification::ok().warning(Warning::ContentEncoded)),
        _ => Some(Classification::ok()),
    }
}

/// After how many bytes a body was given up whose coding was being undone, unless those are
/// already more than promised.
fn hides_too_much(promise: &Promise, body: &Body) -> Option<u64> {
    match body.decoded {
        Some(Decoded::LongerThan(cap)) if promise.length.is_none_or(|length| length > cap) => {
            Some(cap)
        }
        _ => None,
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
