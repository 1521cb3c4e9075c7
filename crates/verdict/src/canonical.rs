//! Compares the canonical URL that a page names with its official URL.
//!
//! A page names its canonical URL by a `Link` header or by `<link rel="canonical">`.

use url::Url;
use urldb_canon::identify;
use urldb_text::sanitize;

use crate::job::Job;
use crate::links::{Head, in_header};
use crate::observation::{Hop, Observation, PAGE};
use crate::warning::Warning;

/// Most characters of a URL in a message.
const SHOWN: usize = 200;

/// A page that does not name its official URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanonicalMismatch {
    /// [`Warning::CanonicalMissing`] or [`Warning::CanonicalDiffers`].
    pub warning: Warning,
    /// One sentence for people.
    pub message: String,
}

/// The mismatch between the page in `seen` and the job's official URL; `None` if they agree, or if
/// the job does not ask for the comparison.
///
/// Only a page from the record's own URL or from its official URL counts, since a page elsewhere is
/// not promised. A page in a content coding is not compared. Scheme and fragment do not count.
pub fn canonical_mismatch(job: &Job, seen: &Observation) -> Option<CanonicalMismatch> {
    let official = job.promise.canonical.as_deref()?;
    let (page, last) = (seen.page.as_deref()?, seen.last()?);
    let is_good = (200..300).contains(&last.status);
    let is_at_home = is_same(&last.url, official) || is_same(&last.url, job.url.as_str());
    if !is_good || !is_at_home || is_coded(last) {
        return None;
    }
    let named = named(page, last)?;
    if named.is_empty() {
        let place = if page.len() < PAGE {
            String::new()
        } else {
            format!(" in its first {} KiB", PAGE >> 10)
        };
        return Some(CanonicalMismatch {
            warning: Warning::CanonicalMissing,
            message: format!(
                "the page names no canonical URL{place}; its official one is {official}"
            ),
        });
    }
    let other = named.iter().find(|url| !is_same(url, official))?;
    Some(CanonicalMismatch {
        warning: Warning::CanonicalDiffers,
        message: format!(
            "the page names {} as canonical; its official URL is {official}",
            shown(other)
        ),
    })
}

/// The URLs that the response names as canonical, absolute where possible.
fn named(page: &[u8], last: &Hop) -> Option<Vec<String>> {
    let url = Url::parse(&last.url).ok()?;
    let absolute = |base: &Url, target: &str| {
        let joined = base.join(target);
        joined.map_or_else(|_| target.to_owned(), String::from)
    };
    let mut named = Vec::new();
    for (_, value) in last.headers.iter().filter(|(name, _)| name == "link") {
        let value = String::from_utf8_lossy(value);
        named.extend(
            in_header(&value)
                .iter()
                .map(|target| absolute(&url, target)),
        );
    }
    let head = Head::read(page, &url);
    let in_page = head.canonical.iter();
    named.extend(in_page.map(|target| absolute(&head.base, target)));
    Some(named)
}

fn is_coded(last: &Hop) -> bool {
    let codings = last.list("content-encoding");
    let mut codings = codings.split(',').map(str::trim);
    codings.any(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"))
}

fn is_same(one: &str, other: &str) -> bool {
    match (identify(one), identify(other)) {
        (Ok(one), Ok(other)) => (one.host, one.path) == (other.host, other.path),
        _ => false,
    }
}

/// The URL, sanitized and cut for one line.
fn shown(url: &str) -> String {
    let url = sanitize(url);
    let mut shown: String = url.chars().take(SHOWN).collect();
    if shown.len() < url.len() {
        shown.push_str("...");
    }
    shown
}
