//! The pace of one host, by its answers and refusals: a host that refuses requests is asked more slowly.
//!
//! **First pass.** A refused URL is set aside, and asked again in the second pass. After the first refusal
//! the host gets one request at a time; many refusals double the interval between requests, answers in a
//! row halve it. A host that has answered nothing has no limit: its refusals are attempts.
//!
//! **Second pass.** The URLs that were set aside are asked in the order of their digests, a longer pause
//! apart. After a refusal a *control* is asked twice: a URL that the host has answered before. If the host
//! refuses the control too, the pause was too short, and the URL goes to the end. If not, the URL is asked
//! once more; a refusal is now the URL's own. A host that refuses five controls in a row, each after a longer pause, and
//! answers nothing in between, is down: the pace is not the cause.
//!
//! The module knows neither network nor clock: callers pass the time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use urldb_verdict::Refusal;

use crate::aside::Place;
use crate::second_pass::{
    Aside, LONGEST_INTERVAL, PassEnd, PassRequest, PassResult, SecondPass, Step,
};
use crate::stop::LONGEST_WAIT;

/// The interval that the first doubling doubles, if the configured interval is shorter.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(20);

/// Longest interval of the first pass after bare refusals, which may have another cause than the pace.
const LONGEST_BARE: Duration = Duration::from_secs(2);

/// Refusals among the last 16 answers after which the interval doubles.
const MANY_REFUSALS: u32 = 4;

/// Answers in a row after which the interval is halved.
const ANSWERS: u32 = 16;

/// The same, while the interval is a second or longer.
const SLOW_ANSWERS: u32 = 4;

/// Shortest pause at the beginning of the second pass.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Tests that a URL fails before its refusals are its own.
const TESTS: u8 = 2;

/// URLs with refusals of their own, before any answer of the second pass, that show another cause than the
/// pace.
const OWN_REFUSALS: u32 = 5;

/// Answers in a row at the configured interval after which the host has recovered: its patience counts anew.
const RECOVERY: u32 = 64;

/// Bare refusals in a row, at the longest interval, after which the second pass begins at once: the host may
/// be down, and the first pass might not end within its patience.
const OUTAGE: u32 = 16;

/// The configured pace of a host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateLimit {
    /// Most requests under way at once; at least one.
    pub(crate) concurrency: usize,
    /// Shortest time between the starts of two requests.
    pub(crate) interval: Duration,
    /// Longest time from the first refusal until the host is given up.
    pub(crate) patience: Duration,
}

/// The pace of one host.
#[derive(Debug)]
pub(crate) struct Pace {
    configured: RateLimit,
    interval: Duration,
    /// Whether the host gets one request at a time.
    is_slow: bool,
    /// The first URL of the host that it answered, later the last one that it answered after a refusal.
    control: Option<Box<str>>,
    /// Another URL that the host answered, for the time when it refuses the first one.
    second_control: Option<Box<str>>,
    /// The first refusal since the host answered at the configured interval.
    began: Option<Instant>,
    /// Answers since then.
    answers: u32,
    /// The last 16 answers, the latest one as the lowest bit: whether each was a refusal.
    recent: u16,
    /// Answers in a row.
    streak: u32,
    /// Bare refusals in a row at the longest interval.
    outage: u32,
    /// Answers in a row, at the configured interval, after which the host gets several requests at a time.
    calm: u32,
    /// Whether the refusals of the host have another cause than its pace.
    is_down: bool,
    /// The end of the pause that the last explicit refusal asked for.
    paused_until: Option<Instant>,
    aside: VecDeque<Aside>,
    second_pass: Option<Box<SecondPass>>,
}

impl Pace {
    pub(crate) fn new(configured: RateLimit) -> Self {
        let configured = RateLimit {
            concurrency: configured.concurrency.max(1),
            interval: configured.interval.min(LONGEST_WAIT),
            ..configured
        };
        Self {
            configured,
            interval: configured.interval,
            is_slow: false,
            control: None,
            second_control: None,
            began: None,
            answers: 0,
            recent: 0,
            streak: 0,
            outage: 0,
            calm: RECOVERY,
            is_down: false,
            paused_until: None,
            aside: VecDeque::new(),
            second_pass: None,
        }
    }

    /// Most requests under way at once.
    pub(crate) fn concurrency(&self) -> usize {
        if self.is_slow {
            1
        } else {
            self.configured.concurrency
        }
    }

    /// The time of the next request, after the last one began at `last`.
    pub(crate) fn next_start(&self, last: Instant) -> Instant {
        let next = last + self.wait();
        self.paused_until.map_or(next, |until| until.max(next))
    }

    fn wait(&self) -> Duration {
        let Some(pass) = &self.second_pass else {
            return self.interval;
        };
        match pass.step {
            Step::Test => pass.pause * 5 / 4,
            Step::LastAttempt => pass.pause.max(FIRST_PAUSE),
            _ => pass.pause,
        }
    }

    /// Notes an answer of the host to a request of the first pass. `control` is its URL, if the request may
    /// be repeated.
    pub(crate) fn answered(&mut self, control: impl FnOnce() -> Option<Box<str>>) {
        if self.control.is_none() {
            self.control = control();
        } else if self.second_control.is_none() {
            self.second_control = control().filter(|url| self.control.as_ref() != Some(url));
        }
        self.recent <<= 1;
        self.outage = 0;
        self.is_down = false;
        self.streak = self.streak.saturating_add(1);
        self.answers = self.answers.saturating_add(1);
        let many = if self.interval < Duration::from_secs(1) {
            ANSWERS
        } else {
            SLOW_ANSWERS
        };
        if self.streak.is_multiple_of(many) {
            self.interval = self.configured.interval.max(self.interval / 2);
        }
        if self.interval > self.configured.interval || self.second_pass.is_some() {
            return;
        }
        if self.streak >= RECOVERY {
            self.began = None;
        }
        if self.is_slow && self.streak >= self.calm {
            self.is_slow = false;
            // A host that cannot bear several requests at a time is tried less and less often.
            self.calm = self.calm.saturating_mul(2);
        }
    }

    /// Notes a refusal of a request of the first pass. Returns whether its URL is to be set aside; if not,
    /// the refusal is an attempt. `url` is its URL, if the request may be repeated.
    pub(crate) fn refused(
        &mut self,
        refusal: Refusal,
        now: Instant,
        url: impl FnOnce() -> Option<Box<str>>,
    ) -> bool {
        if self.control.is_none() || self.is_down {
            return false;
        }
        if self.control == url() {
            // No URL is its own control.
            if self.second_control.is_none() {
                return false;
            }
            std::mem::swap(&mut self.control, &mut self.second_control);
        }
        self.slow_down(refusal, now);
        self.streak = 0;
        self.recent = (self.recent << 1) | 1;
        let longest = if refusal.is_explicit {
            LONGEST_INTERVAL
        } else {
            LONGEST_BARE
        };
        let is_at_longest = !refusal.is_explicit && self.interval >= longest;
        self.outage = if is_at_longest { self.outage + 1 } else { 0 };
        if refusal.is_explicit || self.recent.count_ones() >= MANY_REFUSALS {
            let doubled = self.interval.max(SHORTEST_INTERVAL) * 2;
            self.interval = self.interval.max(doubled.min(longest));
            self.recent = 0;
        }
        true
    }

    fn slow_down(&mut self, refusal: Refusal, now: Instant) {
        if !self.is_down {
            self.is_slow = true;
        }
        if self.began.is_none() && !self.is_down {
            self.began = Some(now);
            self.answers = 0;
        }
        if let Some(pause) = refusal.pause {
            let until = now + pause;
            self.paused_until = Some(self.paused_until.map_or(until, |other| other.max(until)));
        }
    }

    /// Sets a URL aside.
    pub(crate) fn set_aside(&mut self, url: Aside) {
        self.aside.push_back(url);
    }

    /// Whether the patience with the host is over: URLs that were not asked are given up.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let is_over = |began| now.saturating_duration_since(began) > self.configured.patience;
        self.began.is_some_and(is_over) && self.current().is_none()
    }

    /// Whether the pace is not the cause of the refusals, so that the URLs that were set aside get another
    /// attempt after the end of the patience too.
    pub(crate) fn is_down(&self) -> bool {
        self.is_down
    }

    /// The average time between two answers since the first refusal, in which the host refused requests.
    pub(crate) fn average_interval(&self, now: Instant) -> Option<Duration> {
        let elapsed = now.saturating_duration_since(self.began?);
        Some(elapsed / self.answers.max(1))
    }

    fn current(&self) -> Option<&Aside> {
        self.second_pass.as_ref()?.current.as_ref()
    }

    /// Takes one of the URLs that are set aside, of a host that is given up. The URL of a request under way
    /// is not among them.
    pub(crate) fn take_aside(&mut self) -> Option<Place> {
        if let Some(pass) = self.second_pass.take()
            && !(pass.is_under_way && pass.step.is_for_url())
        {
            self.aside.extend(pass.current);
        }
        self.aside.pop_front().map(|url| url.place)
    }

    /// Whether any URL is set aside.
    pub(crate) fn has_aside(&self) -> bool {
        !self.aside.is_empty() || self.current().is_some()
    }

    /// The next request of the second pass, if one may begin now. `is_idle` says that the host has no other
    /// jobs. The caller reports its end through [`Self::turn_ended`].
    pub(crate) fn next_turn(&mut self, now: Instant, is_idle: bool) -> Option<PassRequest> {
        let is_within = self.current().is_some();
        if !is_within {
            let may_begin = is_idle || (self.outage >= OUTAGE && !self.is_down);
            if self.aside.is_empty() || !may_begin {
                self.second_pass = None;
                return None;
            }
        }
        if self.second_pass.is_none() {
            self.aside.make_contiguous().sort_by_key(|url| url.digest);
            if !self.is_down {
                self.began.get_or_insert(now);
            }
        }
        // Controls find out whether the host is down, or only slow, by pauses that begin short.
        let interval = if self.outage >= OUTAGE {
            self.configured.interval
        } else {
            self.interval
        };
        let pause = interval.max(FIRST_PAUSE);
        let pass = self
            .second_pass
            .get_or_insert_with(|| Box::new(SecondPass::new(pause)));
        if pass.is_under_way {
            return None;
        }
        if !is_within {
            pass.current = self.aside.pop_front();
            pass.step = if self.is_down {
                Step::LastAttempt
            } else {
                Step::Ask
            };
        }
        let url = pass.current?;
        pass.is_under_way = true;
        if pass.step.is_for_url() {
            return Some(PassRequest::Url(url.place));
        }
        self.control.clone().map(PassRequest::Control)
    }

    /// Notes the end of a request of the second pass. Returns the state of the URL that was set aside.
    /// `control` is the URL that was answered, if the request may be repeated.
    pub(crate) fn turn_ended(
        &mut self,
        end: PassEnd,
        now: Instant,
        control: impl FnOnce() -> Option<Box<str>>,
    ) -> PassResult {
        let is_answered = end == PassEnd::Answered;
        self.answers = self.answers.saturating_add(u32::from(is_answered));
        let mut result = PassResult::Returned;
        if let PassEnd::Refused(refusal) = end {
            self.slow_down(refusal, now);
            result = PassResult::Own;
        }
        let interval = self.interval;
        let pass = self.second_pass.as_mut();
        if pass.is_some_and(|pass| pass.request_ended(end, interval)) {
            self.host_is_down();
        }
        let Some(pass) = &mut self.second_pass else {
            return result;
        };
        pass.is_under_way = false;
        let Some(url) = pass.current else {
            return result;
        };
        match pass.step {
            Step::Ask if result == PassResult::Own => pass.step = Step::FirstControl,
            Step::FirstControl => pass.step = Step::SecondControl(is_answered),
            Step::SecondControl(true) if is_answered => pass.step = Step::Test,
            Step::SecondControl(_) => {
                pass.current = None;
                self.aside.push_back(url);
            }
            Step::Test if result == PassResult::Own => return self.test_failed(url),
            Step::Ask | Step::Test | Step::LastAttempt => {
                pass.current = None;
                if is_answered && pass.step != Step::LastAttempt {
                    self.answered_again(control);
                }
                return result;
            }
        }
        PassResult::Aside
    }

    /// Goes on as with a host that has answered nothing.
    fn host_is_down(&mut self) {
        self.is_down = true;
        self.is_slow = false;
        self.began = None;
        self.interval = self.configured.interval;
        if let Some(pass) = &mut self.second_pass {
            pass.pause = self.interval;
        }
    }

    /// Notes that the host has answered a URL that was set aside.
    fn answered_again(&mut self, control: impl FnOnce() -> Option<Box<str>>) {
        let interval = self.interval;
        if let Some(pass) = &mut self.second_pass {
            pass.has_answers = true;
            if pass.step == Step::Ask {
                pass.pause = interval.max(pass.pause / 2);
            }
        }
        self.outage = 0;
        // A URL that the host has refused before is subject to its limit.
        if let Some(control) = control() {
            self.control = Some(control);
        }
    }

    /// Notes a refusal of a URL, although the host answers its control.
    fn test_failed(&mut self, mut url: Aside) -> PassResult {
        url.tests += 1;
        let interval = self.interval;
        let Some(pass) = &mut self.second_pass else {
            return PassResult::Own;
        };
        pass.current = None;
        if url.tests < TESTS {
            self.aside.push_front(url);
            return PassResult::Aside;
        }
        pass.own += 1;
        pass.pause = interval.max(pass.pause / 2);
        self.is_down = pass.own >= OWN_REFUSALS && !pass.has_answers;
        PassResult::Own
    }
}

#[cfg(test)]
mod tests;
