//! The failure that ended a fetch, and the certificate that was rejected.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_protocol::{CertificateDates, Reason, Shown};
use urldb_text::sanitize;

use crate::encoding;

/// A failure that ended a fetch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The cause, for people.
    pub detail: String,
    /// The certificate that was rejected, if that is the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Box<Certificate>>,
}

/// Declares [`FailureKind`]: each kind has a reason of the same name.
macro_rules! failure_kinds {
    ($($(#[$doc:meta])* $kind:ident,)*) => {
        /// The kinds of failure. [`FailureKind::reason`] gives the [`Reason`] of each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum FailureKind {
            $($(#[$doc])* $kind,)*
        }

        impl FailureKind {
            /// Every kind.
            pub const ALL: [Self; [$(stringify!($kind)),*].len()] = [$(Self::$kind),*];

            /// The reason that this kind of failure is for a fetch without a body.
            pub const fn reason(self) -> Reason {
                match self { $(Self::$kind => Reason::$kind,)* }
            }
        }
    };
}

failure_kinds! {
    /// The name did not resolve.
    Dns,
    /// No connection.
    Connect,
    /// The certificate is past its end.
    TlsExpired,
    /// The certificate is not valid yet.
    TlsNotYetValid,
    /// The certificate's issuer is not trusted.
    TlsUntrusted,
    /// The certificate is for another name.
    TlsWrongHost,
    /// The server accepts no version of HTTP that urldb speaks: the TLS alert `no_application_protocol`
    /// (RFC 7301, 3.2).
    NeedsHttp2,
    /// The server needs an algorithm or an extension of TLS that urldb lacks and other programs know.
    UnsupportedTls,
    /// TLS failed for another cause.
    Tls,
    /// Time ran out.
    Timeout,
    /// The answer was not HTTP, or did not fit the request.
    Protocol,
    /// The connection was lost before or within the response.
    Disconnected,
    /// A redirect leads back to an earlier URL.
    RedirectLoop,
    /// Too many redirects.
    RedirectLimit,
    /// A redirect has no target that can be followed.
    RedirectInvalid,
    /// Our own policy forbids the request.
    Refused,
    /// The request may change something on the server, and `unsafe-methods` does not permit it.
    UnsafeMethod,
    /// The run's deadline passed, or the run was interrupted.
    RunEnded,
    /// The host has not answered for `host-patience`, so it gets no more requests.
    HostSilent,
    /// The host refused requests until its `limit-patience` was over.
    RateLimited,
    /// This process has too many open files for another connection.
    OwnLimit,
}

impl FailureKind {
    /// Whether the server answers, and needs a protocol or an algorithm that urldb lacks.
    pub const fn is_unsupported(self) -> bool {
        matches!(self, Self::NeedsHttp2 | Self::UnsupportedTls)
    }

    /// The kebab-case name, which is that of the reason.
    pub const fn as_str(self) -> &'static str {
        self.reason().as_str()
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A server's certificate: its names and its period of validity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Certificate {
    /// The distinguished name of its holder, as `CN=example.org, O=…`; often empty.
    pub subject: String,
    /// The distinguished name of its issuer.
    pub issuer: String,
    /// The first second of its validity.
    pub not_before: Timestamp,
    /// The last second of its validity.
    pub not_after: Timestamp,
    /// Whether it is not the server's own, but that of an authority in its chain.
    #[serde(default, skip_serializing_if = "encoding::is_false")]
    pub is_authority: bool,
}

impl Certificate {
    /// The part of it that people look at.
    pub fn dates(&self) -> CertificateDates {
        // The server chooses the names.
        let shown = |name| Shown::new(name, Shown::LONGEST);
        CertificateDates {
            not_before: self.not_before,
            not_after: self.not_after,
            issuer: shown(common_name(&self.issuer).unwrap_or_default()),
            authority: self
                .is_authority
                .then(|| shown(common_name(&self.subject).unwrap_or(&self.subject))),
        }
    }
}

/// The common name in a distinguished name.
fn common_name(name: &str) -> Option<&str> {
    name.split(',')
        .map(str::trim)
        .find_map(|part| part.strip_prefix("CN="))
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            issuer,
            not_before,
            not_after,
            ..
        } = self;
        // The server chooses the issuer's name: the name must not control a terminal.
        let issuer = sanitize(issuer);
        write!(
            f,
            "issued by {issuer}, valid from {not_before} to {not_after}"
        )
    }
}
