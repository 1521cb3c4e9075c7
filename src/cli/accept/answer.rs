//! An answer beside the promise that it takes the place of.

use std::io::{self, Write};

use urldb_format::Record;
use urldb_protocol::JobResult;
use urldb_text::{Shown, sanitize};

use crate::cli::print::output;
use crate::cli::print::style::{self, BAD, GOOD, paint};

/// Prints the differences between the promise and the answer.
pub(super) fn show_both(result: &JobResult) -> io::Result<()> {
    let mut out = output::stdout();
    writeln!(
        out,
        "{}\n  {} {}:{}",
        sanitize(&result.name()),
        paint(style::DIM, "-->"),
        sanitize(&result.file),
        result.line
    )?;
    let promised = &result.promised;
    let observed = &result.observed;
    show(&mut out, "length", promised.length, observed.length)?;
    show(
        &mut out,
        "sha256",
        promised.sha256.as_ref(),
        observed.sha256.as_ref(),
    )?;
    for (name, promised) in &promised.digests {
        let observed = observed.digests.get(name);
        show(&mut out, name, Some(promised), observed)?;
    }
    show(
        &mut out,
        "content type",
        promised.content_type.as_deref(),
        observed.content_type.as_deref(),
    )?;
    let status = promised.status.and_then(|it| observed.status_beside(it));
    show(&mut out, "status", promised.status, status)?;
    show(
        &mut out,
        "redirects to",
        promised.redirects_to.as_deref(),
        observed.redirect.as_deref(),
    )
}

/// Prints a key of the promise if its value changes.
fn show<T: std::fmt::Display + PartialEq>(
    out: &mut impl Write,
    what: &str,
    promised: Option<T>,
    observed: Option<T>,
) -> io::Result<()> {
    let Some(promised) = promised else {
        return Ok(());
    };
    if observed.as_ref() == Some(&promised) {
        return Ok(());
    }
    writeln!(out, "  {what}")?;
    writeln!(out, "    {}", paint(BAD, format!("- {promised}")))?;
    let observed = observed.map_or_else(
        || "nothing".to_owned(),
        |observed| sanitize(&observed.to_string()).into_owned(),
    );
    writeln!(out, "    {}", paint(GOOD, format!("+ {observed}")))
}

/// Replaces the values of the keys that the record has; adds no key.
pub(super) fn renew(record: &mut Record, result: &JobResult) {
    let observed = &result.observed;
    if record.content_length.is_some() {
        record.content_length = observed.length;
    }
    if record.content_sha256.is_some() {
        record.content_sha256.clone_from(&observed.sha256);
    }
    for (algorithm, digest) in &mut record.further_digests {
        if let Some(observed) = observed.digests.get(algorithm.name()) {
            digest.clone_from(observed);
        }
    }
    if let Some(promised) = record.status {
        record.status = observed.status_beside(promised);
    }
    let promised = result.promised.redirects_to.as_deref();
    // A promise that is kept keeps its spelling, which may be without scheme and host.
    if record.redirects_to.is_some() && observed.redirect.as_deref() != promised {
        record.redirects_to = observed.redirect.as_ref().map(Shown::to_string);
    }
    if record.content_type.is_some() {
        record.content_type = match observed.redirect_status {
            Some(status) if !record.is_static() => Some(format!("X-{status}-Redirect")),
            _ => observed.content_type.as_ref().map(Shown::to_string),
        };
    }
}
