//! An answer beside the promise that it takes the place of.

use std::io::{self, Write};

use data_encoding::HEXLOWER;
use urldb_format::Record;
use urldb_protocol::JobResult;
use urldb_text::{Shown, sanitize};

use crate::archive::difference::Difference;
use crate::archive::{Catalogue, ContentPair};
use crate::cli::print::output;
use crate::cli::print::style::{self, BAD, GOOD, count, paint};

/// Prints the differences between the promise and the answer, and two lines of their contents if the archive has both.
pub(super) fn show_both(result: &JobResult, archive: Option<&Catalogue>) -> io::Result<()> {
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
    let length = observed.length.filter(|_| promised.length.is_some());
    let sha256 = observed
        .sha256
        .as_ref()
        .filter(|_| promised.sha256.is_some());
    show(
        &mut out,
        "content",
        content(promised.length, promised.sha256.as_ref()),
        content(length, sha256),
    )?;
    if let Some(difference) = archive.and_then(|archive| difference(result, archive)) {
        show_difference(&mut out, &difference)?;
    }
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

/// `9 bytes, SHA-256 8f2b…`, as far as both are known.
fn content(length: Option<u64>, sha256: Option<&String>) -> Option<String> {
    let parts: Vec<String> = [
        length.map(|length| count(length, "byte")),
        sha256.map(|sha256| format!("SHA-256 {sha256}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The difference between the promised and the observed content; `None` if the archive lacks one, or cannot be read.
fn difference(result: &JobResult, archive: &Catalogue) -> Option<Difference> {
    let (promised, observed) = (&result.promised, &result.observed);
    let digest = |hex: Option<&String>| HEXLOWER.decode(hex?.as_bytes()).ok()?.try_into().ok();
    let pair = ContentPair {
        uris: vec![result.url.clone()],
        promised: digest(promised.sha256.as_ref())?,
        observed: digest(observed.sha256.as_ref())?,
        length: promised.length.max(observed.length)?,
    };
    pair.compare(archive).ok()?
}

/// Prints the first line that goes and the first that comes; of other contents, where they begin to differ.
fn show_difference(out: &mut impl Write, difference: &Difference) -> io::Result<()> {
    let Some(text) = &difference.text else {
        return writeln!(out, "  differs from byte {} on", difference.first + 1);
    };
    writeln!(out, "  differs")?;
    for (style, sign) in [(BAD, '-'), (GOOD, '+')] {
        if let Some(line) = text.lines.iter().find(|line| line.starts_with(sign)) {
            writeln!(
                out,
                "    {}",
                paint(style, format!("{sign} {}", &line[1..]))
            )?;
        }
    }
    Ok(())
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
