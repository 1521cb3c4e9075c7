//! Compares the canonical URL that a page names with its official URL.
//!
//! A page names its canonical URL by a `Link` header or by `<link rel="canonical">`.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use url::Url;
use urldb_canon::identify;
use urldb_text::sanitize;

use crate::coding::{Coding, coding_of};
use crate::job::Job;
use crate::observation::{Hop, Observation, PAGE};
use crate::verdict::Warning;

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
        base.join(target)
            .map_or_else(|_| target.to_owned(), String::from)
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
    coding_of(&last.list("content-encoding")) != Some(Coding::Identity)
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

/// The canonical URLs in the value of a `Link` header (RFC 8288), as written.
pub(super) fn in_header(value: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    let mut rest = value;
    while let Some((target, after)) = rest
        .split_once('<')
        .and_then(|(_, after)| after.split_once('>'))
    {
        let (parameters, following) = parameters(after);
        let has = |name: &str| parameters.iter().find(|(known, _)| known == name);
        // A link with an anchor is about another resource than the response.
        if has("anchor").is_none() && has("rel").is_some_and(|(_, rel)| is_canonical(rel)) {
            targets.push(target);
        }
        rest = following;
    }
    targets
}

/// The parameters of a link, names in lower case, and what follows the comma after them.
fn parameters(text: &str) -> (Vec<(String, String)>, &str) {
    let mut all = Vec::new();
    let mut part = String::new();
    let (mut is_quoted, mut is_escaped) = (false, false);
    let mut take = |part: &mut String| {
        if let Some((name, value)) = std::mem::take(part).split_once('=') {
            all.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    };
    for (index, char) in text.char_indices() {
        match char {
            _ if is_escaped => {
                part.push(char);
                is_escaped = false;
            }
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ';' if !is_quoted => take(&mut part),
            ',' if !is_quoted => {
                take(&mut part);
                return (all, &text[index + 1..]);
            }
            _ => part.push(char),
        }
    }
    take(&mut part);
    (all, "")
}

fn is_canonical(rel: &str) -> bool {
    rel.split_ascii_whitespace()
        .any(|relation| relation.eq_ignore_ascii_case("canonical"))
}

/// The tags in and around a head (HTML, 13.2.6.4.4).
const IN_HEAD: [&[u8]; 12] = [
    b"html",
    b"head",
    b"base",
    b"basefont",
    b"bgsound",
    b"link",
    b"meta",
    b"noframes",
    b"noscript",
    b"script",
    b"style",
    b"title",
];

/// The canonical URLs in the head of an HTML page, and the page's base URL.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) base: Url,
    /// As written.
    pub(super) canonical: Vec<String>,
}

impl Head {
    /// Reads as much of a page as belongs to its head. `url` is where the page is.
    pub(super) fn read(page: &[u8], url: &Url) -> Self {
        let mut base = None;
        let mut canonical = Vec::new();
        let mut emitter = DefaultEmitter::default();
        // A tag within a script is text.
        emitter.naively_switch_states(true);
        for Ok(token) in Tokenizer::new_with_emitter(page, emitter) {
            let Token::StartTag(tag) = token else {
                continue;
            };
            match tag.name.as_slice() {
                b"base" => base = base.or_else(|| url.join(&attribute(&tag, "href")?).ok()),
                b"link" if is_canonical(&attribute(&tag, "rel").unwrap_or_default()) => {
                    canonical.extend(attribute(&tag, "href"));
                }
                name if IN_HEAD.contains(&name) => {}
                // Any other tag begins the body, also without a `<body>`.
                _ => break,
            }
        }
        Self {
            base: base.unwrap_or_else(|| url.clone()),
            canonical,
        }
    }
}

/// An attribute, unless it is empty.
fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    let value = String::from_utf8_lossy(value).trim().to_owned();
    Some(value).filter(|value| !value.is_empty())
}
