//! A behaviour: what the server does, the record that promises its URL, the expected verdict.

use std::net::TcpStream;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use urldb_protocol::State;
use urldb_verdict::Warning;

use crate::certificates::Kind;
use crate::harness::Outcome;
use crate::support::{Reply, Request};

/// The bytes that are promised.
pub(crate) const CONTENT: &[u8] = b"exactly these bytes\r\n";

/// The record that promises [`CONTENT`]; `{length}` and `{sha256}` stand for its values.
pub(crate) const BYTES: &str = "content-length: {length}\ncontent-sha256: {sha256}";

/// The `ETag` of [`CONTENT`], where it is known.
pub(crate) const ETAG: &str = "\"known\"";

/// A record that promises the digest only.
pub(crate) const DIGEST: &str = "content-sha256: {sha256}";

/// A record that promises an empty file.
pub(crate) const NOTHING: &str = "content-length: 0\ncontent-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A record that promises a response, but no bytes.
pub(crate) const ANSWER: &str = "";

/// One thing that a server may do, and the expected verdict.
pub(crate) struct Behaviour {
    /// The name of the behaviour.
    pub(crate) name: &'static str,
    /// What the server does: a sentence without its subject.
    pub(crate) does: &'static str,
    /// The keys of the record.
    pub(crate) record: &'static str,
    /// What answers at the address of the record's host.
    pub(crate) endpoint: Endpoint,
    /// Whether the fetch is expected to run into its timeout.
    pub(crate) runs_out_of_time: bool,
    /// Whether `unsafe-methods` is set for the host.
    pub(crate) unsafe_methods: bool,
    /// Whether the first request asks for the content only if its `ETag` is another than [`ETAG`].
    pub(crate) is_conditional: bool,
    /// Whether the server keeps the promise in truth.
    pub(crate) truth: Truth,
    /// The expected verdict of the program.
    pub(crate) expected: Expected,
}

/// What answers at the address of a host.
pub(crate) enum Endpoint {
    /// A server.
    Http(Script),
    /// A server that speaks TLS. Each connection is shown the next of these certificates, and all
    /// further connections the last one.
    Tls(Vec<Kind>, Script),
    /// A listener for an https URL, which calls this function with each connection.
    TlsSocket(fn(TcpStream)),
    /// A server that speaks TLS, for an http URL.
    TlsAskedInPlain,
    /// A port without a listener.
    Nobody,
    /// A name that does not resolve.
    NoName,
}

/// Makes the reply to a request.
pub(crate) type Script = Arc<dyn Fn(&RequestContext<'_>) -> Reply + Send + Sync>;

/// A request, and what a script may need besides the request.
pub(crate) struct RequestContext<'a> {
    /// The request.
    pub(crate) request: &'a Request,
    /// How many requests came before this request.
    pub(crate) before: usize,
    /// The port of a listener that no client may connect to.
    pub(crate) trap: u16,
}

impl RequestContext<'_> {
    /// The request target.
    pub(crate) fn target(&self) -> &str {
        &self.request.target
    }

    /// The value of the `Host` header.
    pub(crate) fn host(&self) -> &str {
        self.request.header("host").unwrap_or_default()
    }
}

/// Whether the server keeps the promise in truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Truth {
    /// The server keeps the promise.
    Kept,
    /// The server breaks the promise.
    Broken(State),
    /// No client could know.
    Unknown,
}

impl Truth {
    /// Whether the verdict `changed` is wrong or cannot be known.
    pub(crate) fn is_false_alarm(self, said: State) -> bool {
        said == State::Changed && self != Self::Broken(State::Changed)
    }

    /// Whether the verdict `ok` is wrong or cannot be known.
    pub(crate) fn is_false_ok(self, said: State) -> bool {
        said == State::Ok && self != Self::Kept
    }
}

/// `ok`: the digest matches, although the connection ended wrongly.
pub(crate) fn proven() -> Expected {
    ok(1).warning(Warning::FramingBroken)
}

/// The expected verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expected {
    /// The state.
    pub(crate) state: State,
    /// The reason of the state.
    pub(crate) reason: Option<&'static str>,
    /// Whether the verdict is certain, so that no second run must confirm it.
    pub(crate) sure: bool,
    /// The warning.
    pub(crate) warning: Option<Warning>,
    /// How many requests the server received.
    pub(crate) requests: usize,
    /// The longest wait between two fetches, in seconds, if the server can influence the wait.
    pub(crate) wait: Option<RangeInclusive<u64>>,
}

/// This state without a reason, after this number of requests.
pub(crate) fn state(state: State, requests: usize) -> Expected {
    Expected {
        state,
        reason: None,
        sure: matches!(
            state,
            State::Ok | State::Changed | State::Gone | State::Truncated | State::Redirected
        ),
        warning: None,
        requests,
        wait: None,
    }
}

/// `ok`.
pub(crate) fn ok(requests: usize) -> Expected {
    state(State::Ok, requests)
}

/// `changed`, for this reason.
pub(crate) fn changed(reason: &'static str, requests: usize) -> Expected {
    state(State::Changed, requests).because(reason)
}

/// `unreachable`, for this reason.
pub(crate) fn unreachable(reason: &'static str, requests: usize) -> Expected {
    state(State::Unreachable, requests).because(reason)
}

impl Expected {
    /// Sets the reason.
    pub(crate) fn because(self, reason: &'static str) -> Self {
        Self {
            reason: Some(reason),
            ..self
        }
    }

    /// Sets the warning.
    pub(crate) fn warning(self, warning: Warning) -> Self {
        Self {
            warning: Some(warning),
            ..self
        }
    }

    /// Not certain, although verdicts with this state usually are.
    pub(crate) fn doubtful(self) -> Self {
        Self {
            sure: false,
            ..self
        }
    }

    /// Sets the longest wait, in seconds.
    pub(crate) fn after(self, seconds: RangeInclusive<u64>) -> Self {
        Self {
            wait: Some(seconds),
            ..self
        }
    }
}

impl Behaviour {
    fn new(name: &'static str, does: &'static str, endpoint: Endpoint) -> Self {
        Self {
            name,
            does,
            record: BYTES,
            endpoint,
            runs_out_of_time: false,
            unsafe_methods: false,
            is_conditional: false,
            truth: Truth::Kept,
            expected: ok(1),
        }
    }

    /// A server that replies by this script.
    pub(crate) fn http(
        name: &'static str,
        does: &'static str,
        script: impl Fn(&RequestContext<'_>) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, does, Endpoint::Http(Arc::new(script)))
    }

    /// A server with the same reply to every request.
    pub(crate) fn says(name: &'static str, does: &'static str, reply: Reply) -> Self {
        Self::http(name, does, move |_| reply.clone())
    }

    /// Another endpoint.
    pub(crate) fn at(name: &'static str, does: &'static str, endpoint: Endpoint) -> Self {
        Self::new(name, does, endpoint)
    }

    /// Sets the keys of the record.
    pub(crate) fn of(self, record: &'static str) -> Self {
        Self { record, ..self }
    }

    /// Expects that the fetch runs into its timeout.
    pub(crate) fn slowly(self) -> Self {
        Self {
            runs_out_of_time: true,
            ..self
        }
    }

    /// Sets `unsafe-methods` for the host.
    pub(crate) fn unsafely(self) -> Self {
        Self {
            unsafe_methods: true,
            ..self
        }
    }

    /// The first request is conditional, since the promised content is known with its `ETag`.
    pub(crate) fn known(self) -> Self {
        Self {
            is_conditional: true,
            ..self
        }
    }

    /// The server keeps the promise.
    pub(crate) fn kept(self, expected: Expected) -> Self {
        self.judged(Truth::Kept, expected)
    }

    /// The server breaks the promise, and the state says how.
    pub(crate) fn broken(self, expected: Expected) -> Self {
        self.judged(Truth::Broken(expected.state), expected)
    }

    /// No client could know whether the server keeps the promise.
    pub(crate) fn unknown(self, expected: Expected) -> Self {
        self.judged(Truth::Unknown, expected)
    }

    fn judged(self, truth: Truth, expected: Expected) -> Self {
        Self {
            truth,
            expected,
            ..self
        }
    }

    /// Whether the URL has the scheme https.
    pub(crate) fn is_https(&self) -> bool {
        matches!(self.endpoint, Endpoint::Tls(..) | Endpoint::TlsSocket(_))
    }

    /// How the outcome differs from the expected verdict.
    pub(crate) fn complaint(&self, outcome: &Outcome) -> Option<String> {
        let Expected { wait, .. } = &self.expected;
        let seconds = |time: Duration| time.as_secs_f64().ceil();
        let kept_waiting = wait.as_ref().is_none_or(|range| {
            let waited = seconds(outcome.longest_wait);
            waited >= seconds(Duration::from_secs(*range.start()))
                && waited <= seconds(Duration::from_secs(*range.end()))
        });
        let seen = Expected {
            state: outcome.state,
            reason: outcome.reason,
            sure: outcome.sure,
            warning: outcome.warning,
            requests: outcome.requests,
            wait: wait.clone(),
        };
        let told = &outcome.message;
        if seen != self.expected {
            let expected = &self.expected;
            return Some(format!("expected {expected:?},\n    not {seen:?}: {told}"));
        }
        if !kept_waiting {
            return Some(format!("waited {:?}: {told}", outcome.longest_wait));
        }
        if told.trim().is_empty() {
            return Some("nothing is said about it".to_owned());
        }
        None
    }
}
