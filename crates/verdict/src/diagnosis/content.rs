//! The identity of a body under several URLs.

use sha2::{Digest, Sha256};

use crate::observation::Observation;

/// Most bytes of a page that identify it, after what names its URL is taken out.
const COMPARED: usize = 3 << 10;

/// Shortest run of letters and digits that identifies a request, and is left out.
const TOKEN: usize = 16;

/// Shortest part of a URL that is left out.
const PART: usize = 3;

/// Most parts of a URL that are left out.
const MOST_PARTS: usize = 16;

/// The identity of a body: two URLs that serve an error page have one, although the page may name each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ContentId {
    status: u16,
    id: [u8; 32],
}

impl ContentId {
    /// The identity of the last body that was observed for the URL. `None` if too little of the body is known.
    pub(super) fn of(url: &str, seen: &Observation) -> Option<Self> {
        let status = seen.last()?.status;
        let body = seen.complete_body();
        // The beginning of a page that goes on says too little.
        let id = if seen.start.is_empty() || seen.start.len() >= COMPARED && body.is_none() {
            body.filter(|body| body.length > 0)?.served()?.sha256
        } else {
            Sha256::digest(essence(&seen.start, url)).into()
        };
        Some(Self { status, id })
    }

    /// The digest, for the bundle of a shard.
    pub(super) fn digest(self) -> [u8; 32] {
        self.id
    }

    /// The identity of this status and this digest.
    pub(super) fn new(status: u16, id: [u8; 32]) -> Self {
        Self { status, id }
    }
}

/// The text of a page without the parts of its URL, without numbers, and without tokens.
fn essence(start: &[u8], url: &str) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(start).into_owned();
    let after_host = url.splitn(4, '/').nth(3).unwrap_or_default();
    let mut parts: Vec<&str> = after_host
        .split(['/', '?', '&', '=', '#'])
        .chain([after_host])
        .collect();
    parts.retain(|part| part.len() >= PART);
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    for part in parts.into_iter().take(MOST_PARTS) {
        text = text.replace(part, "");
    }
    text.as_bytes()
        .chunk_by(|a, b| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric())
        .filter(|word| word.len() < TOKEN)
        .flatten()
        .filter(|byte| !byte.is_ascii_digit())
        .take(COMPARED)
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_the_same_under_other_urls() {
        let page = |path: &str, token: &str| {
            let text = format!("<h1>Not here</h1>\n<p>/{path} is lost, request {token}, 12:34:56");
            essence(text.as_bytes(), &format!("https://example.test/{path}"))
        };
        let one = page("data/2024/stars.csv", "0123456789abcdef01");
        assert_eq!(
            one,
            page("data/2025/moons.csv?v=next", "ffff456789abcdef02")
        );
        let other = essence(b"<h1>Here</h1>", "https://example.test/data/2024/stars.csv");
        assert_ne!(one, other);
        // The end of a long page does not depend on the length of the URL.
        let long = |path: &str| {
            let text = format!("<p>{path}{}", "text ".repeat(2_000));
            essence(
                &text.as_bytes()[..4 << 10],
                &format!("http://a.test/{path}"),
            )
        };
        assert_eq!(long("short.csv"), long(&"long".repeat(50)));
    }
}
