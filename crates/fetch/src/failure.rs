//! Which [`FailureKind`] an error of the HTTP library is.
//!
//! The library tells little by itself; the truth is in the chain of sources.

use std::error::Error;
use std::io;

use rustls::CertificateError;

use super::certificate::Rejected;
use super::client::MAX_HEADERS;
use super::policy::Refused;
use crate::HostOptions;
use urldb_verdict::{Failure, FailureKind};

/// How the library says that a head is too large; it tells clients in no other way.
const HEAD_TOO_LARGE: &str = "message head is too large";

/// ENFILE and EMFILE of Unix, WSAEMFILE of Windows; Rust has no names for them.
const TOO_MANY_FILES: [i32; 3] = [23, 24, 10024];

/// What an error of the library means. It never carries the URL, which may hold secrets.
pub(super) fn classify(error: reqwest::Error, options: &HostOptions) -> Failure {
    let error = error.without_url();
    let chain = chain(&error);
    Failure {
        kind: kind(&error, &chain),
        detail: detail(&error, &chain, options),
    }
}

fn kind(error: &reqwest::Error, chain: &[&(dyn Error + 'static)]) -> FailureKind {
    if find::<Refused>(chain).is_some() {
        FailureKind::Refused
    } else if is_own_limit(chain) {
        FailureKind::OwnLimit
    } else if let Some(tls) = find::<rustls::Error>(chain) {
        tls_kind(tls)
    } else if error.is_dns() {
        FailureKind::Dns
    } else if error.is_timeout() {
        FailureKind::Timeout
    } else if error.is_connect() {
        FailureKind::Connect
    } else if was_lost(chain) {
        FailureKind::Disconnected
    } else {
        FailureKind::Protocol
    }
}

fn tls_kind(error: &rustls::Error) -> FailureKind {
    use CertificateError as C;
    let error = Rejected::within(error).map_or(error, |rejected| &rejected.error);
    let rustls::Error::InvalidCertificate(error) = error else {
        return FailureKind::Tls;
    };
    match error {
        C::Expired | C::ExpiredContext { .. } => FailureKind::TlsExpired,
        C::NotValidYet | C::NotValidYetContext { .. } => FailureKind::TlsNotYetValid,
        C::NotValidForName | C::NotValidForNameContext { .. } => FailureKind::TlsWrongHost,
        // An impostor of an authority has a bad signature; `Other` is how an authority's own
        // certificate on a server is reported.
        C::UnknownIssuer | C::BadSignature | C::Other(_) => FailureKind::TlsUntrusted,
        _ => FailureKind::Tls,
    }
}

/// Whether the system gave us no socket, for it has given enough.
fn is_own_limit(chain: &[&(dyn Error + 'static)]) -> bool {
    let code = find::<io::Error>(chain).and_then(io::Error::raw_os_error);
    code.is_some_and(|code| TOO_MANY_FILES.contains(&code))
}

fn was_lost(chain: &[&(dyn Error + 'static)]) -> bool {
    use io::ErrorKind as K;
    let hyper = find::<hyper::Error>(chain).is_some_and(|error| {
        error.is_incomplete_message() || error.is_canceled() || error.is_closed()
    });
    let io = find::<io::Error>(chain).is_some_and(|error| {
        matches!(
            error.kind(),
            K::UnexpectedEof
                | K::ConnectionReset
                | K::ConnectionAborted
                | K::BrokenPipe
                | K::NotConnected
        )
    });
    hyper || io
}

fn detail(
    error: &reqwest::Error,
    chain: &[&(dyn Error + 'static)],
    options: &HostOptions,
) -> String {
    if error.is_timeout() && error.is_connect() {
        return format!(
            "no connection within {:?} (connect-timeout)",
            options.connect_timeout
        );
    }
    if is_own_limit(chain) {
        return "too many files are open here: raise the limit of this process (ulimit -n), or \
                lower `concurrency`"
            .to_owned();
    }
    if let Some(rejected) = find::<rustls::Error>(chain).and_then(Rejected::within) {
        return rejected.to_string();
    }
    let cause = chain
        .last()
        .map_or_else(|| error.to_string(), ToString::to_string);
    if cause == HEAD_TOO_LARGE {
        return format!(
            "the head of the response is larger than what is read: {MAX_HEADERS} headers, 300 kB"
        );
    }
    if let Some(cause) = cause.strip_prefix("tunnel error: ") {
        return format!("the proxy makes no connection: {cause}");
    }
    if error.is_dns() && find::<Refused>(chain).is_none() {
        return format!("the name does not resolve: {cause}");
    }
    cause
}

fn find<'a, E: Error + 'static>(chain: &[&'a (dyn Error + 'static)]) -> Option<&'a E> {
    chain.iter().find_map(|error| error.downcast_ref())
}

/// An error and all its causes. An [`io::Error`] hides what it wraps from `source`.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut chain = vec![error];
    let mut at = error;
    loop {
        let wrapped = at
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            .map(|inner| inner as &(dyn Error + 'static));
        let Some(next) = wrapped.or_else(|| at.source()) else {
            return chain;
        };
        chain.push(next);
        at = next;
    }
}
