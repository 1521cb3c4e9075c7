//! The output of `--verbose`: each attempt of a URL, hop by hop.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use data_encoding::HEXLOWER;
use urldb_format::Digest;
use urldb_protocol::State;
use urldb_text::{sanitize, variant_suffix};
use urldb_verdict::{
    Body, BodyEnd, Classification, Damage, Decoded, Hop, Job, JudgedJob, Observation, Verdict,
};

use super::style::{BAD, DIM, GOOD, WARN, count, paint};
use crate::run::Progress;

/// The URLs that are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogDetail {
    /// No URLs.
    None,
    /// URLs with a problem, a warning or several attempts.
    Problems,
    /// All URLs.
    All,
}

/// Collects attempts while a run goes on.
pub(crate) struct AttemptLog {
    detail: LogDetail,
    entries: RefCell<Vec<LogEntry>>,
}

/// The log of one URL, with its sort key.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct LogEntry {
    file: String,
    line: usize,
    url: String,
    text: String,
}

impl AttemptLog {
    /// Collects the attempts of the URLs that `detail` names.
    pub(crate) fn new(detail: LogDetail) -> Self {
        Self {
            detail,
            entries: RefCell::default(),
        }
    }

    /// Writes the attempts in the order of the records.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut entries = self.entries.borrow_mut();
        entries.sort_unstable();
        entries
            .iter()
            .try_for_each(|entry| out.write_all(entry.text.as_bytes()))
    }
}

impl Progress for AttemptLog {
    fn judged(&self, judged: &JudgedJob) {
        let JudgedJob {
            job,
            observations: seen,
            verdict,
        } = judged;
        let is_wanted = match self.detail {
            LogDetail::None => false,
            LogDetail::Problems => !is_plainly_ok(seen, verdict),
            LogDetail::All => true,
        };
        if is_wanted {
            let (file, line) = job.place();
            self.entries.borrow_mut().push(LogEntry {
                file: file.to_owned(),
                line,
                url: job.url.to_string(),
                text: format_job(job, seen, verdict),
            });
        }
    }
}

fn is_plainly_ok(seen: &[Observation], verdict: &Verdict) -> bool {
    let Classification { state, warning, .. } = verdict.classification;
    state == State::Ok && warning.is_none() && seen.len() == 1
}

fn format_job(job: &Job, seen: &[Observation], verdict: &Verdict) -> String {
    let (file, line_number) = job.place();
    let mut text = format!(
        "{} {}{}\n  {} {}:{line_number}\n",
        sanitize(&job.request.method),
        sanitize(job.url.as_str()),
        sanitize(&variant_suffix(job.key.variant.as_deref())),
        paint(DIM, "-->"),
        sanitize(file),
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
        format_attempt(&mut text, observation);
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

fn format_attempt(text: &mut String, observation: &Observation) {
    for hop in &observation.hops {
        format_hop(text, hop, observation);
    }
    if let Some(body) = &observation.body {
        format_body(text, body);
    }
    if let Some(failure) = &observation.failure {
        let what = format!("failed ({}): {}", failure.kind, failure.detail);
        line(text, 4, &sanitize(&what));
    }
    line(text, 4, &format!("took {}", time(observation.elapsed)));
}

fn format_hop(text: &mut String, hop: &Hop, observation: &Observation) {
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
    line(text, 4, &sanitize(&what));
    if let Some(certificate) = &hop.certificate {
        let what = format!(
            "certificate of {}, valid from {} to {}, issued by {}",
            certificate.subject, certificate.not_before, certificate.not_after, certificate.issuer
        );
        line(text, 6, &sanitize(&what));
    }
    if let Some(target) = hop.shown_redirect_target() {
        line(text, 6, &sanitize(&format!("redirects to {target}")));
    }
    for name in [
        "content-type",
        "content-length",
        "content-encoding",
        "retry-after",
        "server",
    ] {
        if let Some(value) = hop.header(name) {
            line(text, 6, &sanitize(&format!("{name}: {value}")));
        }
    }
}

/// `, md5 d41d…` for each digest.
fn further(digests: &[Digest]) -> String {
    let mut text = String::new();
    for digest in digests {
        let _ = write!(text, ", {} {}", digest.algorithm().name(), digest.hex());
    }
    text
}

fn format_body(text: &mut String, body: &Body) {
    let end = match body.end {
        BodyEnd::Complete => "whole",
        BodyEnd::Cut => "not read to its end",
        BodyEnd::Broken => "broken off",
    };
    let bytes = count(body.length, "byte");
    let digest = HEXLOWER.encode(&body.sha256);
    let more = further(&body.digests);
    line(
        text,
        4,
        &format!("body {end}: {bytes}, sha256 {digest}{more}"),
    );
    let decoded = match &body.decoded {
        Some(Decoded::Whole { length, sha256 }) => {
            format!(
                "{}, sha256 {}{}",
                count(*length, "byte"),
                HEXLOWER.encode(sha256),
                further(&body.decoded_digests)
            )
        }
        Some(Decoded::Damaged { length, damage, .. }) => {
            let damage = match damage {
                Damage::Incomplete => "the coding is not complete",
                Damage::Invalid => "the coding is damaged",
            };
            format!("{}, then {damage}", count(*length, "byte"))
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
        sanitize(&classification.message())
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
