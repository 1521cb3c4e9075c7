//! Findings for people. What has one cause is one block: a dead host is told of once, not once
//! for each of its four hundred URLs.

use std::collections::HashMap;
use std::io::{self, Write};

use url::Url;
use urldb_protocol::{Finding, Severity, State};
use urldb_text::sanitize;

use super::style::{BAD, DIM, WARN, count, paint};

/// How many URLs of a block are shown unless all are asked for.
const SHOWN: usize = 10;

/// What findings of one block have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Cause<'a> {
    code: &'a str,
    reason: Option<&'a str>,
    pending: bool,
    message: &'a str,
    not_archived: Option<&'a str>,
    /// Absent where the cause lies with us, and so is the same for all hosts.
    host: Option<String>,
}

/// Writes findings block by block, in the order of their first ones.
pub(crate) fn write(out: &mut impl Write, findings: &[Finding], all: bool) -> io::Result<()> {
    for block in blocks(findings) {
        match block.as_slice() {
            [only] => write_one(out, only)?,
            many => write_many(out, many, all)?,
        }
    }
    Ok(())
}

fn blocks(findings: &[Finding]) -> Vec<Vec<&Finding>> {
    let mut blocks: Vec<Vec<&Finding>> = vec![];
    let mut known = HashMap::new();
    for finding in findings {
        if is_about_one_url(finding) {
            blocks.push(vec![finding]);
            continue;
        }
        let index = *known.entry(cause(finding)).or_insert(blocks.len());
        match blocks.get_mut(index) {
            Some(block) => block.push(finding),
            None => blocks.push(vec![finding]),
        }
    }
    blocks
}

/// Whether the cause lies with this one URL, however many others have gone the same way.
fn is_about_one_url(finding: &Finding) -> bool {
    matches!(
        finding.state,
        State::Changed | State::Truncated | State::Gone | State::Redirected
    )
}

fn cause(finding: &Finding) -> Cause<'_> {
    Cause {
        code: &finding.code,
        reason: finding.reason.as_deref(),
        pending: finding.pending,
        message: &finding.message,
        not_archived: finding.not_archived.as_deref(),
        host: (finding.state != State::Inconclusive).then(|| host_of(finding)),
    }
}

fn host_of(finding: &Finding) -> String {
    let url = Url::parse(&finding.url).ok();
    url.and_then(|url| url.host_str().map(str::to_owned))
        .unwrap_or_default()
}

fn write_one(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    writeln!(out, "{}: {}", headline(finding), sanitize(&finding.url))?;
    writeln!(out, "  {}", place(finding))?;
    write_explanation(out, finding, &attempts(&[finding]))
}

fn write_many(out: &mut impl Write, block: &[&Finding], all: bool) -> io::Result<()> {
    let first = block[0];
    let mut hosts: Vec<String> = block.iter().map(|finding| host_of(finding)).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let hosts = match hosts.as_slice() {
        [host] => host.clone(),
        many => count(many.len() as u64, "host"),
    };
    let urls = count(block.len() as u64, "URL");
    writeln!(out, "{}: {urls} at {hosts}", headline(first))?;
    write_explanation(out, first, &attempts(block))?;
    let shown = if all { block.len() } else { SHOWN };
    for finding in block.iter().take(shown) {
        writeln!(out, "  {}  {}", place(finding), sanitize(&finding.url))?;
    }
    let more = block.len().saturating_sub(shown);
    if more > 0 {
        writeln!(out, "  and {more} more; --verbose shows all")?;
    }
    Ok(())
}

fn headline(finding: &Finding) -> String {
    let style = if finding.severity == Severity::Error && !finding.pending {
        BAD
    } else {
        WARN
    };
    let doubt = if finding.pending {
        " (not confirmed yet)"
    } else {
        ""
    };
    format!("{}{doubt}", paint(style, sanitize(&finding.code)))
}

fn place(finding: &Finding) -> String {
    format!(
        "{} {}:{}",
        paint(DIM, "-->"),
        sanitize(&finding.file),
        finding.line
    )
}

fn write_explanation(out: &mut impl Write, finding: &Finding, attempts: &str) -> io::Result<()> {
    match (&finding.expected, &finding.observed) {
        (Some(expected), Some(observed)) => {
            writeln!(out, "  promised: {}", sanitize(expected))?;
            writeln!(out, "  observed: {}{attempts}", sanitize(observed))?;
            match &finding.not_archived {
                Some(cause) => writeln!(out, "  not archived: {}", sanitize(cause)),
                None => Ok(()),
            }
        }
        _ => writeln!(out, "  {}{attempts}", sanitize(&finding.message)),
    }
}

/// ` (3 attempts)`, or the least and the most of several.
fn attempts(block: &[&Finding]) -> String {
    let attempts = || block.iter().map(|finding| finding.attempts);
    let least = attempts().min().unwrap_or_default() as u64;
    let most = attempts().max().unwrap_or_default() as u64;
    let text = match (least, most, block.len()) {
        (_, 0, _) => return String::new(),
        (_, _, 1) => format!("({})", count(most, "attempt")),
        (least, most, _) if least == most => format!("({} each)", count(most, "attempt")),
        _ => format!("({least} to {most} attempts each)"),
    };
    format!(" {}", paint(DIM, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(url: &str, state: State, message: &str) -> Finding {
        Finding {
            code: state.as_str().to_owned(),
            severity: Severity::Warning,
            url: url.to_owned(),
            file: "urldb/a.test.yaml".to_owned(),
            line: 3,
            categories: vec![],
            message: message.to_owned(),
            state,
            reason: None,
            expected: None,
            observed: None,
            not_archived: None,
            attempts: 1,
            since: None,
            pending: false,
            new: false,
            muted: false,
        }
    }

    fn text(findings: &[Finding]) -> String {
        let mut out = vec![];
        write(&mut out, findings, false).unwrap();
        String::from_utf8(anstream::adapter::strip_bytes(&out).into_vec()).unwrap()
    }

    #[test]
    fn one_cause_is_one_block_and_another_is_another() {
        let refused = "nobody listens";
        let findings = [
            finding("http://a.test/1", State::Unreachable, refused),
            finding("http://b.test/2", State::Unreachable, refused),
            finding("http://a.test/3", State::Unreachable, "no such name"),
            Finding {
                attempts: 3,
                ..finding("https://a.test/4", State::Unreachable, refused)
            },
            Finding {
                pending: true,
                ..finding("http://a.test/5", State::Unreachable, refused)
            },
            finding("http://a.test/6", State::Gone, "answers 404"),
            finding("http://a.test/7", State::Gone, "answers 404"),
            finding("http://a.test/8", State::Inconclusive, "out of time"),
            finding("http://b.test/9", State::Inconclusive, "out of time"),
        ];
        insta::assert_snapshot!(text(&findings));
    }
}
