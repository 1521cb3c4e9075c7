//! The lines of a package's index, and of its list of pages.

use std::collections::HashMap;

use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::{Digest, Sha256};
use urldb_warc::CdxjLine;
use urldb_warc::cdxj::REVISIT_MIME;

use crate::archive::date;

/// Brings lines with the same key and timestamp in order: their positions in the package may be in
/// another order than in the archive.
#[derive(Debug, Default)]
pub(super) struct SortedLines {
    key: String,
    timestamp: String,
    lines: Vec<String>,
}

impl SortedLines {
    /// Adds a line with its text. The line comes after the others by key and timestamp; `write` gets the
    /// lines whose order is now known.
    pub(super) fn add(
        &mut self,
        line: &CdxjLine,
        text: String,
        write: &mut dyn FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        if line.key != self.key || line.timestamp != self.timestamp {
            self.flush(write)?;
            self.key.clone_from(&line.key);
            self.timestamp.clone_from(&line.timestamp);
        }
        self.lines.push(text);
        Ok(())
    }

    /// Passes on the last lines.
    pub(super) fn flush(
        &mut self,
        write: &mut dyn FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.lines.sort_unstable();
        self.lines
            .drain(..)
            .try_for_each(|line| write(line.as_bytes()))
    }
}

/// A line of the list of pages. py-wacz accepts no line without an id or a title.
#[derive(Serialize)]
struct Page<'a> {
    id: String,
    url: &'a str,
    ts: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
}

/// The line of the list of pages for a capture, with its end. Pages are good and whole responses to
/// GET that are HTML or have a title; a revisit shows nothing that is not in the list already.
pub(super) fn page(line: &CdxjLine, titles: &HashMap<String, String>) -> Option<String> {
    let title = titles.get(&line.url);
    let is_html = matches!(line.mime.as_str(), "text/html" | "application/xhtml+xml");
    let is_good = line
        .status
        .is_none_or(|status| (200..300).contains(&status));
    let is_page = is_good
        && (is_html || title.is_some())
        && line.mime != REVISIT_MIME
        && line.request.is_none()
        && line.truncated.is_none();
    let page = || Page {
        id: id_of(line),
        url: &line.url,
        ts: date::shown(&line.timestamp),
        title: title.map(String::as_str),
    };
    let text = is_page.then(|| serde_json::to_string(&page()).ok())??;
    Some(text + "\n")
}

/// An id that the same capture has in each package.
fn id_of(line: &CdxjLine) -> String {
    let (url, timestamp, digest) = (&line.url, &line.timestamp, &line.digest);
    let hash = Sha256::digest(format!("{timestamp} {digest} {url}"));
    HEXLOWER.encode(&hash[..8])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use urldb_warc::Extent;

    use super::*;

    fn line(key: &str, timestamp: &str, offset: u64) -> CdxjLine {
        CdxjLine {
            key: key.to_owned(),
            timestamp: timestamp.to_owned(),
            url: "http://example.org/\u{7}\"é".to_owned(),
            mime: "text/html".to_owned(),
            status: Some(200),
            digest: "-".to_owned(),
            extent: Extent { offset, length: 1 },
            filename: "a.warc.gz".to_owned(),
            request: None,
            vary: None,
            truncated: None,
        }
    }

    #[test]
    fn a_page_is_good_html_or_has_a_title() {
        let titles = HashMap::from([("http://example.org/csv".to_owned(), "A table".to_owned())]);
        let html = line("org,example)/", "20261120060000", 0);
        assert_eq!(
            page(&html, &titles).unwrap(),
            "{\"id\":\"61c4fe57b46d90a9\",\"url\":\"http://example.org/\\u0007\\\"é\",\"ts\":\"2026-11-20T06:00:00Z\"}\n"
        );
        let table = CdxjLine {
            mime: "text/csv".to_owned(),
            url: "http://example.org/csv".to_owned(),
            ..line("org,example)/csv", "20261120060000", 0)
        };
        assert!(
            page(&table, &titles)
                .unwrap()
                .contains(r#""title":"A table""#)
        );
        for other in [
            CdxjLine {
                truncated: Some("length".to_owned()),
                ..html.clone()
            },
            CdxjLine {
                status: Some(404),
                ..html.clone()
            },
            CdxjLine {
                mime: "text/csv".to_owned(),
                ..html.clone()
            },
            CdxjLine {
                mime: REVISIT_MIME.to_owned(),
                ..html.clone()
            },
        ] {
            assert_eq!(page(&other, &titles), None);
        }
    }

    proptest! {
        #[test]
        fn lines_of_one_moment_are_sorted(
            places in prop::collection::vec(("[ab]", "2026112006000[01]", 0u64..1000), 0..20),
        ) {
            let mut lines: Vec<_> = places.iter().map(|(key, at, offset)| line(key, at, *offset)).collect();
            lines.sort_by(|a, b| (&a.key, &a.timestamp).cmp(&(&b.key, &b.timestamp)));
            let mut written = vec![];
            let mut write = |line: &[u8]| {
                written.push(line.to_vec());
                Ok(())
            };
            let mut sorted = SortedLines::default();
            for line in &lines {
                sorted.add(line, line.render().unwrap(), &mut write).unwrap();
            }
            sorted.flush(&mut write).unwrap();
            prop_assert_eq!(written.len(), lines.len());
            prop_assert!(written.is_sorted());
        }
    }
}
