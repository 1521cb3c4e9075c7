//! What `--verbose` tells: a URL's whole story, attempt by attempt and hop by hop.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use urldb_protocol::State;

use super::style::{BAD, DIM, GOOD, WARN, count, paint, plain};
use crate::hex;
use crate::run::Progress;
use urldb_verdict::{Body, BodyEnd, Decoded, Hop, Observation};
use urldb_verdict::{Classification, Verdict};
use urldb_verdict::{Job, JudgedJob};

/// Whose stories are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tell {
    /// Nobody's.
    Nothing,
    /// Those of URLs that are not simply as promised.
    NotPlainlyOk,
    /// Those of all.
    Everything,
}

/// Collects stories while a run goes on.
pub(crate) struct Stories {
    tell: Tell,
    told: RefCell<Vec<Story>>,
}

/// One story, and what it is sorted by.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Story {
    file: String,
    line: usize,
    url: String,
    text: String,
}

impl Stories {
    /// Collects the stories that `tell` asks for.
    pub(crate) fn new(tell: Tell) -> Self {
        Self {
            tell,
            told: RefCell::default(),
        }
    }

    /// Writes the stories in the order of the records.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut told = self.told.borrow_mut();
        told.sort_unstable();
        let mut told = told.iter();
        told.try_for_each(|story| out.write_all(story.text.as_bytes()))
    }
}

impl Progress for Stories {
    fn judged(&self, judged: &JudgedJob) {
        let JudgedJob {
            job,
            observations: seen,
            verdict,
        } = judged;
        let is_wanted = match self.tell {
            Tell::Nothing => false,
            Tell::NotPlainlyOk => !is_plainly_ok(seen, verdict),
            Tell::Everything => true,
        };
        if is_wanted {
            self.told.borrow_mut().push(Story {
                file: job.file.to_string(),
                line: job.line,
                url: job.url.clone(),
                text: tell(job, seen, verdict),
            });
        }
    }
}

fn is_plainly_ok(seen: &[Observation], verdict: &Verdict) -> bool {
    let Classification { state, warning, .. } = verdict.classification;
    state == State::Ok && warning.is_none() && seen.len() == 1
}

fn tell(job: &Job, seen: &[Observation], verdict: &Verdict) -> String {
    let mut text = format!(
        "{} {}\n  {} {}:{}\n",
        job.request.method,
        job.url,
        paint(DIM, "-->"),
        job.file,
        job.line
    );
    let started = seen.first().map(|observation| observation.started);
    for ((number, observation), classification) in (1..).zip(seen).zip(&verdict.attempts) {
        let after = started.map(|started| observation.started.duration_since(started));
        let after = after.and_then(|after| Duration::try_from(after).ok());
        let when = match after {
            Some(after) if number > 1 => format!("{} after the first", time(after)),
            _ => observation.started.strftime("%FT%TZ").to_string(),
        };
        line(&mut text, 2, &format!("attempt {number}, {when}"));
        tell_attempt(&mut text, observation);
        line(
            &mut text,
            4,
            &format!("shows {}", described(classification)),
        );
    }
    let judged = format!("judged {}", verdict_of(verdict));
    line(&mut text, 2, &judged);
    text
}

fn tell_attempt(text: &mut String, observation: &Observation) {
    for hop in &observation.hops {
        tell_hop(text, hop, observation);
    }
    if let Some(body) = &observation.body {
        tell_body(text, body);
    }
    if let Some(failure) = &observation.failure {
        let what = format!("failed ({}): {}", failure.kind, failure.detail);
        line(text, 4, &plain(&what));
    }
    line(text, 4, &format!("took {}", time(observation.elapsed)));
}

fn tell_hop(text: &mut String, hop: &Hop, observation: &Observation) {
    let at = Duration::try_from(hop.at.duration_since(observation.started)).unwrap_or_default();
    let status = format!("{} {}", hop.status, hop.reason_phrase);
    let address = hop
        .address
        .map_or_else(String::new, |address| format!(" from {address}"));
    let what = format!(
        "+{} {}: {} {}{address}",
        time(at),
        hop.url,
        hop.version,
        status.trim_end()
    );
    line(text, 4, &plain(&what));
    if let Some(certificate) = &hop.certificate {
        let what = format!(
            "certificate of {}, valid from {} to {}, issued by {}",
            certificate.subject, certificate.not_before, certificate.not_after, certificate.issuer
        );
        line(text, 6, &plain(&what));
    }
    if let Some(target) = hop.redirect_target() {
        line(text, 6, &plain(&format!("redirects to {target}")));
    }
    for name in [
        "content-type",
        "content-length",
        "content-encoding",
        "retry-after",
        "server",
    ] {
        if let Some(value) = hop.header(name) {
            line(text, 6, &plain(&format!("{name}: {value}")));
        }
    }
}

fn tell_body(text: &mut String, body: &Body) {
    let end = match body.end {
        BodyEnd::Complete => "whole",
        BodyEnd::Cut => "not read to its end",
        BodyEnd::Broken => "broken off",
    };
    let bytes = count(body.length, "byte");
    let digest = hex::encode(&body.sha256);
    line(text, 4, &format!("body {end}: {bytes}, sha256 {digest}"));
    let decoded = match &body.decoded {
        Some(Decoded::Whole { length, sha256 }) => {
            format!("{}, sha256 {}", count(*length, "byte"), hex::encode(sha256))
        }
        Some(Decoded::LongerThan(cap)) => format!("more than {}, given up", count(*cap, "byte")),
        None => return,
    };
    line(text, 4, &format!("decoded: {decoded}"));
}

/// `changed (digest), by attempt 2`.
fn verdict_of(verdict: &Verdict) -> String {
    let doubt = match verdict.state() {
        State::Ok | State::Inconclusive => "",
        _ if verdict.sure => "",
        _ => "; later runs must confirm it",
    };
    let attempt = verdict.observation + 1;
    format!(
        "{}, by attempt {attempt}{doubt}",
        named(&verdict.classification)
    )
}

/// `changed (digest): 3 bytes with …, promised …`.
fn described(classification: &Classification) -> String {
    let warning = classification.warning.map_or_else(String::new, |warning| {
        format!("; {}: {}", warning.as_str(), warning.message())
    });
    format!(
        "{}: {}{warning}",
        named(classification),
        plain(&classification.message())
    )
}

/// `changed (digest)`.
fn named(classification: &Classification) -> String {
    let style = match classification.state {
        State::Ok => GOOD,
        state if state.is_broken() => BAD,
        _ => WARN,
    };
    let reason = classification
        .reason
        .map_or_else(String::new, |reason| format!(" ({reason})"));
    format!("{}{reason}", paint(style, classification.state))
}

fn time(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

fn line(text: &mut String, indent: usize, what: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{:indent$}{what}", "");
}
