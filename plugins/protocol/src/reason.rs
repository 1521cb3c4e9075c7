//! Why a URL is in its state.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::state::UnknownName;

urldb_text::named_enum! {
    /// Why a URL is in its state, where the state has several causes.
    ///
    /// The envelope and the ledger carry the text of a reason, so that older programs can read the
    /// reasons of newer ones.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Reason {
        /// `changed`: the content type differs.
        ContentType = "content-type",
        /// `changed`: the digest differs, the length does not or is not promised.
        Digest = "digest",
        /// `changed`: some of the promised digests and the length fit, others do not.
        DigestsDisagree = "digests-disagree",
        /// `changed`: the length differs.
        Length = "length",
        /// `changed`: the status differs.
        Status = "status",
        /// `changed`: the content differs from request to request.
        Unstable = "unstable",
        /// `changed`: the content is that of other URLs of the host, whose promises differ.
        SameContent = "same-content",
        /// `changed`: the content is shorter than promised, and grows.
        Uploading = "uploading",
        /// `redirected`: there is no redirect.
        NoRedirect = "no-redirect",
        /// `redirected`: the redirect has another target or status.
        OtherRedirect = "other-redirect",
        /// `unreachable`: there is no connection.
        Connect = "connect",
        /// `unreachable`: the connection is lost before the response.
        Disconnected = "disconnected",
        /// `unreachable`: the name does not resolve.
        Dns = "dns",
        /// `unreachable`: the answer is not HTTP, or does not fit the request.
        Protocol = "protocol",
        /// `unreachable`: a redirect without a usable target.
        RedirectInvalid = "redirect-invalid",
        /// `unreachable`: too many redirects.
        RedirectLimit = "redirect-limit",
        /// `unreachable`: a redirect back to an earlier URL.
        RedirectLoop = "redirect-loop",
        /// `unreachable`: no answer in time.
        Timeout = "timeout",
        /// `unreachable`: TLS fails for a cause without a name of its own.
        Tls = "tls",
        /// `unreachable`: the certificate has expired.
        TlsExpired = "tls-expired",
        /// `unreachable`: the certificate is not valid yet.
        TlsNotYetValid = "tls-not-yet-valid",
        /// `unreachable`: the certificate's issuer is not trusted.
        TlsUntrusted = "tls-untrusted",
        /// `unreachable`: the certificate is for another host.
        TlsWrongHost = "tls-wrong-host",
        /// `blocked`: a challenge for browsers.
        Challenge = "challenge",
        /// `gone`: a page that offers the domain for sale.
        Parked = "parked",
        /// `blocked`, `inconclusive`: the host refuses requests because it gets too many.
        RateLimited = "rate-limited",
        /// `inconclusive`: the host has not answered for `host-patience`.
        HostSilent = "host-silent",
        /// `inconclusive`: the server speaks only HTTP/2.
        NeedsHttp2 = "needs-http2",
        /// `inconclusive`: the server needs an algorithm of TLS that urldb lacks.
        UnsupportedTls = "unsupported-tls",
        /// `inconclusive`: no request was made.
        NotAsked = "not-asked",
        /// `inconclusive`: the body was not read.
        NotRead = "not-read",
        /// `inconclusive`: this process has too many open files.
        OwnLimit = "own-limit",
        /// `inconclusive`: no host answers, so our own network may be at fault.
        OwnNetwork = "own-network",
        /// `inconclusive`: our own policy forbids the request.
        Refused = "refused",
        /// `inconclusive`: the run ended first.
        RunEnded = "run-ended",
        /// `inconclusive`: the body is longer than urldb reads.
        TooLarge = "too-large",
        /// `inconclusive`: the request may change something on the server, and is not permitted.
        UnsafeMethod = "unsafe-method",
    }
}

impl Reason {
    /// The meaning of the reason, for people: one sentence without a capital letter and a full stop.
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::ContentType => "the content type differs",
            Self::Digest => "the bytes differ",
            Self::DigestsDisagree => "the promised digests are not those of one file",
            Self::Length => "the length differs",
            Self::Status => "the status differs",
            Self::Unstable => "the bytes differ from request to request",
            Self::SameContent => "other files have the same content",
            Self::Uploading => "the file is shorter than promised, and grows",
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
            Self::RateLimited => "the host refuses so many requests",
            Self::HostSilent => "the host answers nothing",
            Self::NeedsHttp2 => "the server speaks only HTTP/2",
            Self::UnsupportedTls => "the server needs TLS that urldb does not support",
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
                // One of several servers may speak HTTP/1.1, or have another certificate.
                | Self::NeedsHttp2
                | Self::UnsupportedTls
                // One of several servers behind a name may have an old certificate.
                | Self::TlsExpired
                | Self::TlsNotYetValid
                | Self::TlsUntrusted
                | Self::TlsWrongHost
                | Self::RateLimited
                // Other connections of this process end meanwhile.
                | Self::OwnLimit
        )
    }
}

impl FromStr for Reason {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|reason| reason.as_str() == name)
            .ok_or_else(|| UnknownName {
                kind: "reason",
                name: name.to_owned(),
            })
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
        let unknown = "sunspots".parse::<Reason>().unwrap_err();
        assert_eq!(unknown.to_string(), "unknown reason \"sunspots\"");
    }
}
