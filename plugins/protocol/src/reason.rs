//! Why a URL is in its state.

use std::fmt;
use std::str::FromStr;

/// Why a URL is in its state, where the state has several causes.
///
/// The envelope and the ledger carry the text of a reason, so that older programs can read the
/// reasons of newer ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// `changed`: the content type differs.
    ContentType,
    /// `changed`: the digest differs, the length does not or is not promised.
    Digest,
    /// `changed`: the length differs.
    Length,
    /// `changed`: the status differs.
    Status,
    /// `redirected`: there is no redirect.
    NoRedirect,
    /// `redirected`: the redirect has another target or status.
    OtherRedirect,
    /// `unreachable`: there is no connection.
    Connect,
    /// `unreachable`: the connection is lost before the response.
    Disconnected,
    /// `unreachable`: the name does not resolve.
    Dns,
    /// `unreachable`: the answer is not HTTP, or does not fit the request.
    Protocol,
    /// `unreachable`: a redirect without a usable target.
    RedirectInvalid,
    /// `unreachable`: too many redirects.
    RedirectLimit,
    /// `unreachable`: a redirect back to an earlier URL.
    RedirectLoop,
    /// `unreachable`: no answer in time.
    Timeout,
    /// `unreachable`: TLS fails for a cause without a name of its own.
    Tls,
    /// `unreachable`: the certificate has expired.
    TlsExpired,
    /// `unreachable`: the certificate is not valid yet.
    TlsNotYetValid,
    /// `unreachable`: the certificate's issuer is not trusted.
    TlsUntrusted,
    /// `unreachable`: the certificate is for another host.
    TlsWrongHost,
    /// `blocked`: a challenge for browsers.
    Challenge,
    /// `blocked`: a page that offers the domain for sale.
    Parked,
    /// `blocked`: status 429.
    TooManyRequests,
    /// `inconclusive`: the host has not answered for `host-patience`.
    HostSilent,
    /// `inconclusive`: no request was made.
    NotAsked,
    /// `inconclusive`: the body was not read.
    NotRead,
    /// `inconclusive`: this process has too many open files.
    OwnLimit,
    /// `inconclusive`: no host answers, so our own network may be at fault.
    OwnNetwork,
    /// `inconclusive`: our own policy forbids the request.
    Refused,
    /// `inconclusive`: the run ended first.
    RunEnded,
    /// `inconclusive`: the body is longer than urldb reads.
    TooLarge,
    /// `inconclusive`: the request may change something on the server, and is not permitted.
    UnsafeMethod,
}

impl Reason {
    /// Every reason, by state.
    pub const ALL: [Self; 31] = [
        Self::ContentType,
        Self::Digest,
        Self::Length,
        Self::Status,
        Self::NoRedirect,
        Self::OtherRedirect,
        Self::Connect,
        Self::Disconnected,
        Self::Dns,
        Self::Protocol,
        Self::RedirectInvalid,
        Self::RedirectLimit,
        Self::RedirectLoop,
        Self::Timeout,
        Self::Tls,
        Self::TlsExpired,
        Self::TlsNotYetValid,
        Self::TlsUntrusted,
        Self::TlsWrongHost,
        Self::Challenge,
        Self::Parked,
        Self::TooManyRequests,
        Self::HostSilent,
        Self::NotAsked,
        Self::NotRead,
        Self::OwnLimit,
        Self::OwnNetwork,
        Self::Refused,
        Self::RunEnded,
        Self::TooLarge,
        Self::UnsafeMethod,
    ];

    /// The stable kebab-case name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ContentType => "content-type",
            Self::Digest => "digest",
            Self::Length => "length",
            Self::Status => "status",
            Self::NoRedirect => "no-redirect",
            Self::OtherRedirect => "other-redirect",
            Self::Connect => "connect",
            Self::Disconnected => "disconnected",
            Self::Dns => "dns",
            Self::Protocol => "protocol",
            Self::RedirectInvalid => "redirect-invalid",
            Self::RedirectLimit => "redirect-limit",
            Self::RedirectLoop => "redirect-loop",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
            Self::TlsExpired => "tls-expired",
            Self::TlsNotYetValid => "tls-not-yet-valid",
            Self::TlsUntrusted => "tls-untrusted",
            Self::TlsWrongHost => "tls-wrong-host",
            Self::Challenge => "challenge",
            Self::Parked => "parked",
            Self::TooManyRequests => "too-many-requests",
            Self::HostSilent => "host-silent",
            Self::NotAsked => "not-asked",
            Self::NotRead => "not-read",
            Self::OwnLimit => "own-limit",
            Self::OwnNetwork => "own-network",
            Self::Refused => "refused",
            Self::RunEnded => "run-ended",
            Self::TooLarge => "too-large",
            Self::UnsafeMethod => "unsafe-method",
        }
    }

    /// The meaning of the reason, for people: one sentence without a capital letter and a full stop.
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::ContentType => "the content type differs",
            Self::Digest => "the bytes differ",
            Self::Length => "the length differs",
            Self::Status => "the status differs",
            Self::NoRedirect => "there is no redirect",
            Self::OtherRedirect => "the redirect leads to another place",
            Self::Connect => "the connection fails",
            Self::Disconnected => "the connection is closed before an answer",
            Self::Dns => "the name does not resolve",
            Self::Protocol => "the answer is not proper HTTP",
            Self::RedirectInvalid => "the redirect leads nowhere",
            Self::RedirectLimit => "there are too many redirects",
            Self::RedirectLoop => "the redirects lead in a circle",
            Self::Timeout => "the server does not answer in time",
            Self::Tls => "the TLS connection fails",
            Self::TlsExpired => "the certificate has expired",
            Self::TlsNotYetValid => "the certificate is not valid yet",
            Self::TlsUntrusted => "the certificate is not trusted",
            Self::TlsWrongHost => "the certificate is for another host",
            Self::Challenge => "the server sends a challenge for browsers",
            Self::Parked => "the page offers the domain for sale",
            Self::TooManyRequests => "the server counts too many requests",
            Self::HostSilent => "the host answers nothing",
            Self::NotAsked => "no request was made",
            Self::NotRead => "the body was not read",
            Self::OwnLimit => "urldb has too many open files",
            Self::OwnNetwork => "our own network may be at fault",
            Self::Refused => "our own rules forbid the request",
            Self::RunEnded => "the run ended first",
            Self::TooLarge => "the body is longer than urldb reads",
            Self::UnsafeMethod => "the request may change something on the server",
        }
    }

    /// Whether another request within the same run may have another result.
    pub const fn is_transient(self) -> bool {
        matches!(
            self,
            Self::Connect
                | Self::Disconnected
                | Self::Dns
                | Self::Protocol
                | Self::Timeout
                | Self::Tls
                // One of several servers behind a name may have an old certificate.
                | Self::TlsExpired
                | Self::TlsNotYetValid
                | Self::TlsUntrusted
                | Self::TlsWrongHost
                | Self::TooManyRequests
                // Other connections of this process end meanwhile.
                | Self::OwnLimit
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that names no reason of this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownReason(pub String);

impl fmt::Display for UnknownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown reason {:?}", self.0)
    }
}

impl std::error::Error for UnknownReason {}

impl FromStr for Reason {
    type Err = UnknownReason;

    fn from_str(text: &str) -> Result<Self, UnknownReason> {
        Self::ALL
            .into_iter()
            .find(|reason| reason.as_str() == text)
            .ok_or_else(|| UnknownReason(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_distinct_and_parse_back() {
        for reason in Reason::ALL {
            assert_eq!(reason.as_str().parse(), Ok(reason));
        }
        let names: BTreeSet<_> = Reason::ALL.map(Reason::as_str).into();
        let explanations: BTreeSet<_> = Reason::ALL.map(Reason::explanation).into();
        let all = Reason::ALL.len();
        assert_eq!((names.len(), explanations.len()), (all, all));
        let unknown = "sunspots".parse::<Reason>();
        assert_eq!(unknown, Err(UnknownReason("sunspots".to_owned())));
    }
}
