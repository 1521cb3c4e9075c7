//! Classifies one observation against one promise.

use urldb_protocol::{Reason, State};

use crate::body::Body;
use crate::bytes::{
    announced_length, compare_bytes, contradiction, promise_kept, promised_bytes, truncated,
};
use crate::challenge::{self, ChallengeRule, TextWeight};
use crate::failure::{Failure, FailureKind};
use crate::job::Promise;
use crate::observation::{Hop, Observation};
use crate::verdict::{Classification, Warning};
use crate::{backoff, media_type, page};

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
    let is_challenge =
        || redirect.is_none() && challenge::recognize(seen, challenges, TextWeight::Part).is_some();
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
    // Bytes that have one promised digest are the promised ones, and no page in their place.
    let is_promised = promise.is_static() && has_body && {
        let compared = compare_bytes(promise, seen.body.as_ref());
        compared.state == State::Ok || compared.reason == Some(Reason::DigestsDisagree)
    };
    let weight = match promise.is_static() && has_body {
        true if promise.has_text_of_challenge => TextWeight::Nothing,
        true => TextWeight::Enough,
        false => TextWeight::Part,
    };
    if !is_promised && let Some(rule) = challenge::recognize(seen, challenges, weight) {
        return recognized(rule);
    }
    if !is_promised && weight == TextWeight::Enough && page::demands_cookies(seen) {
        let observed = "answers with a page that demands cookies";
        return Classification::new(State::Blocked, Reason::Challenge, observed);
    }
    last_answer(promise, seen)
}

fn recognized(rule: &ChallengeRule) -> Classification {
    let (state, reason) = if rule.parked {
        (State::Gone, Reason::Parked)
    } else {
        (State::Blocked, Reason::Challenge)
    };
    Classification::new(state, reason, format!("answers with {}", rule.name))
}

/// Classifies the last response, or the failure to get one.
pub(super) fn last_answer(promise: &Promise, seen: &Observation) -> Classification {
    let bytes_matter = |last: &Hop| {
        promise.is_static() && (!is_error(last.status) || promise.status == Some(last.status))
    };
    // A later failure does not matter if the head is enough, or if all promised bytes are there.
    let is_enough = seen.body.as_ref().is_some_and(|body| {
        !seen.last().is_some_and(bytes_matter)
            || promise_kept(promise, body).is_some()
            || contradiction(promise, body).is_some()
    });
    if let Some(failure) = seen.failure.as_ref().filter(|_| !is_enough) {
        return failed(failure, seen);
    }
    let Some(last) = seen.last() else {
        return Classification::new(State::Inconclusive, Reason::NotAsked, "was not asked");
    };
    if let Some(promised) = promise.status
        && let Some(hop) = promise.judged_hop(seen)
    {
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
        // A list of choices is content too (RFC 9110, 15.4.1).
        300 if seen.body.as_ref().is_some_and(|body| body.length > 0) => {
            content(promise, last, seen.body.as_ref())
        }
        300..400 => Classification::new(
            State::Unreachable,
            Reason::RedirectInvalid,
            format!("answers {} without saying where to", status_text(last)),
        ),
        _ => error_status(last),
    }
}

fn failed(failure: &Failure, seen: &Observation) -> Classification {
    match (failure.kind, seen.body.as_ref()) {
        (FailureKind::RateLimited, _) => rate_limited(failure, seen.last()),
        (
            kind @ (FailureKind::Refused
            | FailureKind::UnsafeMethod
            | FailureKind::RunEnded
            | FailureKind::HostSilent
            | FailureKind::NeedsHttp2
            | FailureKind::UnsupportedTls
            | FailureKind::OwnLimit),
            _,
        ) => Classification::new(State::Inconclusive, kind.reason(), &failure.detail),
        (FailureKind::Disconnected, Some(body)) => truncated(body, &failure.detail),
        (kind, _) => Classification::new(State::Unreachable, kind.reason(), &failure.detail),
    }
}

/// A job of a host whose `limit-patience` is over: refused by the last response, or not asked.
fn rate_limited(failure: &Failure, last: Option<&Hop>) -> Classification {
    let reason = Reason::RateLimited;
    match last.filter(|last| backoff::is_refusal(last)) {
        Some(refused) => Classification::new(
            State::Blocked,
            reason,
            format!("answers {}: {}", status_text(refused), failure.detail),
        ),
        None => Classification::new(State::Inconclusive, reason, &failure.detail),
    }
}

/// Whether a 304 has no other `ETag` than the request asked about. Weak validators are compared like
/// strong ones (RFC 9110, 13.1.2).
fn has_asked_etag(last: &Hop) -> bool {
    let opaque = |etag: &str| etag.trim().trim_start_matches("W/").to_owned();
    let asked = last
        .sent
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("if-none-match"));
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
        _ if backoff::is_explicit_refusal(last) => (State::Blocked, Some(Reason::RateLimited)),
        401 | 403 | 451 => (State::Forbidden, None),
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
        let observed = media_type::media_types(last);
        let is_kept = |observed: &String| media_type::matches(promised, observed);
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

fn status_text(hop: &Hop) -> String {
    format!("{} {}", hop.status, hop.reason_phrase)
        .trim_end()
        .to_owned()
}
