//! The words for states and reasons in reports.

use urldb_protocol::State;

/// The heading of a group of URLs in this state.
pub(crate) fn title(state: State) -> &'static str {
    match state {
        State::Ok => "As promised",
        State::Changed => "Different content",
        State::Truncated => "Cut short",
        State::Gone => "Gone",
        State::Redirected => "Redirects otherwise than promised",
        State::Forbidden => "Access refused",
        State::ClientError => "Request refused",
        State::ServerError => "Server error",
        State::Unreachable => "Unreachable",
        State::Blocked => "Turned away as a robot",
        State::Inconclusive => "Not judged",
    }
}

/// What a reason means; one that is not known here stands for itself.
pub(crate) fn cause(reason: &str) -> &str {
    match reason {
        "dns" => "the name does not resolve",
        "connect" => "no connection",
        "tls-expired" => "the certificate has expired",
        "tls-untrusted" => "the certificate is not trusted",
        "tls-wrong-host" => "the certificate is for another host",
        "tls-not-yet-valid" => "the certificate is not valid yet",
        "tls" => "no secure connection",
        "timeout" => "no answer in time",
        "protocol" => "the answer is not proper HTTP",
        "redirect-loop" => "redirects in a circle",
        "redirect-limit" => "too many redirects",
        "redirect-invalid" => "redirects to nowhere",
        "digest" => "other bytes",
        "length" => "another length",
        "content-type" => "another content type",
        "status" => "another status",
        "other-redirect" => "to another place",
        "no-redirect" => "not at all",
        "too-many-requests" => "too many requests",
        "challenge" => "a challenge for browsers",
        "parked" => "a page that offers the domain for sale",
        "refused" => "our own rules forbid to connect there",
        "unsafe-method" => "the request may change something",
        "run-ended" => "the run was over",
        "host-silent" => "the host answers nothing",
        "own-limit" => "too many open files here",
        "own-network" => "perhaps it is our own network",
        "too-large" => "larger than what is read",
        "not-read" => "the body was not read",
        "not-asked" => "it was not asked for",
        other => other,
    }
}

/// A code as words: `content-unstable` → `Content unstable`.
pub(crate) fn sentence(code: &str) -> String {
    let words = code.replace('-', " ");
    let mut chars = words.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => words,
    }
}
