//! What a behaviour consists of: what the server does, the record it is held against, the verdict.

use std::net::TcpStream;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use urldb_protocol::State;
use urldb_verdict::Warning;

use crate::certificates::Kind;
use crate::play::Outcome;
use crate::support::{Reply, Request};

/// The bytes that are promised.
pub(crate) const CONTENT: &[u8] = b"exactly these bytes\r\n";

/// The record that promises them; `{length}` and `{sha256}` are theirs.
pub(crate) const BYTES: &str = "content-length: {length}\ncontent-sha256: {sha256}";

/// A record that promises the digest only.
pub(crate) const DIGEST: &str = "content-sha256: {sha256}";

/// A record that promises an empty file.
pub(crate) const NOTHING: &str = "content-length: 0\ncontent-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A record that promises nothing but an answer.
pub(crate) const ANSWER: &str = "";

/// One thing that a server may do, and what is to come of it.
pub(crate) struct Behaviour {
    /// Its name.
    pub(crate) name: &'static str,
    /// What the server does: a sentence without its subject.
    pub(crate) does: &'static str,
    /// The keys of the record.
    pub(crate) record: &'static str,
    /// What stands where the record's host should.
    pub(crate) place: Place,
    /// Whether the time that a fetch may take is expected to run out.
    pub(crate) runs_out_of_time: bool,
    /// Whether `unsafe-methods` is set for its host.
    pub(crate) unsafe_methods: bool,
    /// Whether the promise is kept, as an onlooker with all knowledge would say.
    pub(crate) truth: Truth,
    /// What the program says.
    pub(crate) expected: Expected,
}

/// What stands at the other end.
pub(crate) enum Place {
    /// A server.
    Http(Script),
    /// A server that speaks TLS, with such a certificate.
    Tls(Kind, Script),
    /// Something that is asked in https and does this with each connection.
    TlsSocket(fn(TcpStream)),
    /// A server that speaks TLS, but is asked without.
    TlsAskedInPlain,
    /// A port on which nobody listens.
    Nobody,
    /// A name that does not resolve.
    NoName,
}

/// What a server says to a request.
pub(crate) type Script = Arc<dyn Fn(&Asked<'_>) -> Reply + Send + Sync>;

/// A request, and what a script may need to know besides.
pub(crate) struct Asked<'a> {
    /// The request.
    pub(crate) request: &'a Request,
    /// How many requests came before it.
    pub(crate) before: usize,
    /// The port of a listener that nothing may ever connect to.
    pub(crate) trap: u16,
}

impl Asked<'_> {
    /// What is asked for.
    pub(crate) fn target(&self) -> &str {
        &self.request.target
    }

    /// The host that is asked.
    pub(crate) fn host(&self) -> &str {
        self.request.header("host").unwrap_or_default()
    }
}

/// What is the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Truth {
    /// The server serves what is promised.
    Kept,
    /// It does not.
    Broken(State),
    /// Nobody could tell from here.
    Unknown,
}

impl Truth {
    /// A word for the table.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken(_) => "broken",
            Self::Unknown => "unknown",
        }
    }

    /// Whether bytes are said to have changed that have not, or of which nobody could tell.
    pub(crate) fn is_false_alarm(self, said: State) -> bool {
        said == State::Changed && self != Self::Broken(State::Changed)
    }

    /// Whether a promise is said to be kept that is not, or of which nobody could tell.
    pub(crate) fn is_false_ok(self, said: State) -> bool {
        said == State::Ok && self != Self::Kept
    }
}

/// `ok`, by the digest of what came before the connection ended wrongly.
pub(crate) fn proven() -> Expected {
    ok(1).warning(Warning::FramingBroken)
}

/// The verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expected {
    /// The state.
    pub(crate) state: State,
    /// Its reason.
    pub(crate) reason: Option<&'static str>,
    /// Whether it is believed at once.
    pub(crate) sure: bool,
    /// The warning besides.
    pub(crate) warning: Option<Warning>,
    /// The requests that the server got.
    pub(crate) requests: usize,
    /// Seconds that the longest wait between two fetches takes, where the server has a say in it.
    pub(crate) wait: Option<RangeInclusive<u64>>,
}

/// This state, for no particular reason, after so many requests.
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

/// `changed`, because of this.
pub(crate) fn changed(reason: &'static str, requests: usize) -> Expected {
    state(State::Changed, requests).because(reason)
}

/// `unreachable`, because of this.
pub(crate) fn unreachable(reason: &'static str, requests: usize) -> Expected {
    state(State::Unreachable, requests).because(reason)
}

impl Expected {
    /// With a reason.
    pub(crate) fn because(self, reason: &'static str) -> Self {
        Self {
            reason: Some(reason),
            ..self
        }
    }

    /// With a warning.
    pub(crate) fn warning(self, warning: Warning) -> Self {
        Self {
            warning: Some(warning),
            ..self
        }
    }

    /// Not believed at once, although such states are.
    pub(crate) fn doubtful(self) -> Self {
        Self {
            sure: false,
            ..self
        }
    }

    /// After waiting for as many seconds as the server says.
    pub(crate) fn after(self, seconds: RangeInclusive<u64>) -> Self {
        Self {
            wait: Some(seconds),
            ..self
        }
    }
}

impl Behaviour {
    fn new(name: &'static str, does: &'static str, place: Place) -> Self {
        Self {
            name,
            does,
            record: BYTES,
            place,
            runs_out_of_time: false,
            unsafe_methods: false,
            truth: Truth::Kept,
            expected: ok(1),
        }
    }

    /// What a server does that answers by this script.
    pub(crate) fn http(
        name: &'static str,
        does: &'static str,
        script: impl Fn(&Asked<'_>) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, does, Place::Http(Arc::new(script)))
    }

    /// What a server does that always says the same.
    pub(crate) fn says(name: &'static str, does: &'static str, reply: Reply) -> Self {
        Self::http(name, does, move |_| reply.clone())
    }

    /// What something else does.
    pub(crate) fn at(name: &'static str, does: &'static str, place: Place) -> Self {
        Self::new(name, does, place)
    }

    /// Held against a record with these keys.
    pub(crate) fn of(self, record: &'static str) -> Self {
        Self { record, ..self }
    }

    /// The time that a fetch may take runs out.
    pub(crate) fn slowly(self) -> Self {
        Self {
            runs_out_of_time: true,
            ..self
        }
    }

    /// `unsafe-methods` is set for its host.
    pub(crate) fn unsafely(self) -> Self {
        Self {
            unsafe_methods: true,
            ..self
        }
    }

    /// The promise is kept, and this is said.
    pub(crate) fn kept(self, expected: Expected) -> Self {
        self.judged(Truth::Kept, expected)
    }

    /// The promise is broken as is said.
    pub(crate) fn broken(self, expected: Expected) -> Self {
        self.judged(Truth::Broken(expected.state), expected)
    }

    /// Whether the promise is kept cannot be known from what comes.
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

    /// Whether its URL is one of https.
    pub(crate) fn is_https(&self) -> bool {
        matches!(self.place, Place::Tls(..) | Place::TlsSocket(_))
    }

    /// How the outcome differs from what is expected.
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
