//! The second pass over the URLs that a host refused: the URL and the request that it is at.

use std::time::Duration;

use urldb_verdict::Refusal;

use crate::aside::Place;

/// Longest interval of the first pass after explicit refusals, and longest pause of the second pass.
pub(crate) const LONGEST_INTERVAL: Duration = Duration::from_secs(30);

/// Bare refusals of controls in a row, without any answer, that show that the host is down.
const REFUSED_CONTROLS: u32 = 5;

/// A URL that was set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aside {
    /// Digest of the URL, by which the second pass is ordered: no dead folder comes first.
    pub(crate) digest: u64,
    pub(crate) place: Place,
    /// Tests that the URL has failed.
    pub(crate) tests: u8,
}

/// A request of the second pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PassRequest {
    /// To a URL that was set aside.
    Url(Place),
    /// To this URL, which the host has answered before.
    Control(Box<str>),
}

/// The end of a request of the second pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassEnd {
    Answered,
    Refused(Refusal),
    /// The host has neither answered nor refused the request.
    Neither,
}

/// The state of a URL that was set aside after a request of the second pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassResult {
    /// The host has not refused the request, so the URL is set aside no more.
    Returned,
    /// The URL is still set aside.
    Aside,
    /// The refusal is the URL's own, and counts as its last attempt.
    Own,
}

/// The second pass over the URLs of one host.
#[derive(Debug)]
pub(crate) struct SecondPass {
    /// Time between two requests.
    pub(crate) pause: Duration,
    pub(crate) step: Step,
    /// The URL of the current step.
    pub(crate) current: Option<Aside>,
    pub(crate) is_under_way: bool,
    /// URLs with refusals of their own.
    pub(crate) own: u32,
    /// Whether any URL was answered.
    pub(crate) has_answers: bool,
    /// Bare refusals of controls in a row.
    pub(crate) refused_controls: u32,
}

/// A request of the second pass, for one URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Ask,
    /// The last attempt, where the pace is not the cause.
    LastAttempt,
    FirstControl,
    /// With the result of the first control.
    SecondControl(bool),
    Test,
}

impl SecondPass {
    pub(crate) fn new(pause: Duration) -> Self {
        Self {
            pause,
            step: Step::Ask,
            current: None,
            is_under_way: false,
            own: 0,
            has_answers: false,
            refused_controls: 0,
        }
    }

    /// Notes the end of a request: a refused control makes the pause longer, and one refused for the pace at least
    /// `interval`. Returns whether the host is down.
    pub(crate) fn request_ended(&mut self, end: PassEnd, interval: Duration) -> bool {
        let PassEnd::Refused(refusal) = end else {
            self.refused_controls = 0;
            return false;
        };
        if self.step.is_for_url() {
            return false;
        }
        // A host with a limit that it names is not down: one of two controls is enough for a longer pause.
        let is_known = refusal.is_explicit && self.step == Step::SecondControl(false);
        if !is_known {
            self.pause = LONGEST_INTERVAL.min(self.pause * 2);
        }
        if refusal.is_explicit {
            self.pause = self.pause.max(interval);
        }
        self.refused_controls = if refusal.is_explicit {
            0
        } else {
            self.refused_controls + 1
        };
        self.refused_controls >= REFUSED_CONTROLS
    }
}

impl Step {
    /// Whether the request is for the URL that was set aside, and not for a control.
    pub(crate) fn is_for_url(self) -> bool {
        matches!(self, Self::Ask | Self::LastAttempt | Self::Test)
    }
}
