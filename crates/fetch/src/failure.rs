//! Maps errors of the HTTP library to [`FailureKind`]s.
//!
//! The outermost error says little; the cause is in its chain of sources.

use std::error::Error;
use std::io;

use rustls::AlertDescription;
use urldb_tls::{Fault, FaultKind};
use urldb_verdict::{Certificate, Failure, FailureKind};

use crate::certificate::faulty_certificate;
use crate::connection::ConnectError;
use crate::open_files;
use crate::options::HostOptions;
use crate::policy::ForbiddenAddress;
use crate::resolve::ResolveError;
use crate::response::MAX_HEADERS;

/// The message of the library for a head that is too large; no error type says so.
const HEAD_TOO_LARGE: &str = "message head is too large";

/// The failure that an error of the library means. The detail never contains the URL, which may
/// hold secrets.
pub(crate) fn failure_of(error: &(dyn Error + 'static), options: &HostOptions) -> Failure {
    let chain = chain(error);
    match find(&chain) {
        Some(ConnectError::Tunnel(failure)) => return failure.clone(),
        Some(ConnectError::UnsupportedTls { needed }) => {
            return Failure {
                kind: FailureKind::UnsupportedTls,
                detail: format!("needs {needed}, which urldb does not support"),
                certificate: None,
            };
        }
        _ => {}
    }
    Failure {
        kind: kind(&chain),
        detail: detail(&chain, options),
        certificate: rejected_certificate(&chain).map(Box::new),
    }
}

/// The certificate that was rejected, if that is the failure.
fn rejected_certificate(chain: &[&(dyn Error + 'static)]) -> Option<Certificate> {
    faulty_certificate(fault(chain)?)
}

fn fault<'a>(chain: &[&'a (dyn Error + 'static)]) -> Option<&'a Fault> {
    find::<rustls::Error>(chain).and_then(Fault::within)
}

fn kind(chain: &[&(dyn Error + 'static)]) -> FailureKind {
    if find::<ForbiddenAddress>(chain).is_some() {
        FailureKind::Refused
    } else if is_own_limit(chain) {
        FailureKind::OwnLimit
    } else if let Some(tls) = find::<rustls::Error>(chain) {
        tls_kind(tls)
    } else if find::<ResolveError>(chain).is_some() {
        FailureKind::Dns
    } else if is_timeout(chain) {
        FailureKind::Timeout
    } else if is_disconnect(chain) {
        FailureKind::Disconnected
    } else if find::<ConnectError>(chain).is_some() {
        FailureKind::Connect
    } else {
        FailureKind::Protocol
    }
}

fn tls_kind(error: &rustls::Error) -> FailureKind {
    if is_no_protocol(error) {
        return FailureKind::NeedsHttp2;
    }
    match Fault::within(error).map(|fault| fault.kind) {
        Some(FaultKind::Expired) => FailureKind::TlsExpired,
        Some(FaultKind::NotYetValid) => FailureKind::TlsNotYetValid,
        Some(FaultKind::WrongName) => FailureKind::TlsWrongHost,
        Some(FaultKind::UnknownAuthority) => FailureKind::TlsUntrusted,
        Some(FaultKind::Unsupported) => FailureKind::UnsupportedTls,
        Some(FaultKind::Other) | None => FailureKind::Tls,
    }
}

/// Whether the server accepts none of the protocols that were offered: HTTP/1.1.
fn is_no_protocol(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)
    )
}

/// The refusal of a handshake, in words.
fn refusal(error: &rustls::Error) -> Option<String> {
    use rustls::{Error as E, InvalidMessage as M, PeerIncompatible as P};
    match error {
        _ if is_no_protocol(error) => {
            Some("speaks only HTTP/2, which urldb does not check".to_owned())
        }
        E::InvalidMessage(M::InvalidContentType) => Some(
            "the server answers without TLS, as at a port for plain HTTP, whose URLs begin with http:".to_owned(),
        ),
        E::AlertReceived(AlertDescription::ProtocolVersion)
        | E::PeerIncompatible(
            P::ServerDoesNotSupportTls12Or13 | P::ServerTlsVersionIsDisabledByOurConfig,
        ) => Some(
            "the server accepts neither TLS 1.2 nor 1.3; older versions are not secure (RFC 8996)"
                .to_owned(),
        ),
        E::AlertReceived(alert) => Some(format!("the server refuses TLS with the alert {alert:?}")),
        _ => None,
    }
}

/// Whether the system refused a socket because too many files are open.
fn is_own_limit(chain: &[&(dyn Error + 'static)]) -> bool {
    chain
        .iter()
        .filter_map(|error| error.downcast_ref())
        .any(open_files::is_too_many)
}

/// Whether time ran out, ours or that of the system.
fn is_timeout(chain: &[&(dyn Error + 'static)]) -> bool {
    let is_own = matches!(find(chain), Some(ConnectError::Timeout));
    is_own || io_errors(chain).any(|kind| kind == io::ErrorKind::TimedOut)
}

/// Whether the server accepted the connection, and ended it before TLS was agreed or the response was complete.
fn is_disconnect(chain: &[&(dyn Error + 'static)]) -> bool {
    use io::ErrorKind as K;
    if matches!(find(chain), Some(ConnectError::Tcp(_))) {
        return false;
    }
    let hyper = find::<hyper::Error>(chain).is_some_and(|error| {
        error.is_incomplete_message() || error.is_canceled() || error.is_closed()
    });
    hyper
        || io_errors(chain).any(|kind| {
            matches!(
                kind,
                K::UnexpectedEof
                    | K::ConnectionReset
                    | K::ConnectionAborted
                    | K::BrokenPipe
                    | K::NotConnected
            )
        })
}

fn io_errors(chain: &[&(dyn Error + 'static)]) -> impl Iterator<Item = io::ErrorKind> {
    chain
        .iter()
        .filter_map(|error| error.downcast_ref())
        .map(io::Error::kind)
}

fn detail(chain: &[&(dyn Error + 'static)], options: &HostOptions) -> String {
    if is_timeout(chain) && find::<ConnectError>(chain).is_some() {
        return format!(
            "no connection within {:?} (connect-timeout)",
            options.connect_timeout
        );
    }
    if is_own_limit(chain) {
        return open_files::ADVICE.to_owned();
    }
    if let Some(fault) = fault(chain) {
        return match faulty_certificate(fault) {
            _ if fault.kind == FaultKind::Unsupported => fault.words.clone(),
            Some(certificate) => format!("{fault}; the certificate is {certificate}"),
            None => fault.to_string(),
        };
    }
    if let Some(cause) = find(chain).and_then(refusal) {
        return cause;
    }
    let cause = chain.last().map(ToString::to_string).unwrap_or_default();
    if cause == HEAD_TOO_LARGE {
        return format!(
            "the head of the response exceeds the limit of {MAX_HEADERS} headers or 300 kB"
        );
    }
    if let Some(ResolveError::Lookup(_)) = find(chain) {
        return format!("the name does not resolve: {cause}");
    }
    cause
}

fn find<'a, E: Error + 'static>(chain: &[&'a (dyn Error + 'static)]) -> Option<&'a E> {
    chain.iter().find_map(|error| error.downcast_ref())
}

/// An error and all its causes. `source` of an [`io::Error`] skips the error inside, so the function
/// unwraps an [`io::Error`] itself.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut chain = vec![error];
    let mut at = error;
    loop {
        let Some(next) = at
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            .map(|inner| inner as &(dyn Error + 'static))
            .or_else(|| at.source())
        else {
            return chain;
        };
        chain.push(next);
        at = next;
    }
}
