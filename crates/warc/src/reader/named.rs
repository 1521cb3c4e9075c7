//! Heads of WARC 0.17 to 1.1: a version line and named fields.

use super::error::ReadErrorKind;
use super::head::{Head, Lines, read_fields};
use crate::finding::FindingCode;
use crate::header::{Header, Version};

/// Reads a head that is all of `bytes`.
pub(super) fn read(bytes: &[u8]) -> Result<Head, ReadErrorKind> {
    let mut lines = Lines::new(bytes);
    let version_line = lines.next().unwrap_or_default();
    let mut deviations = Vec::new();
    let known = std::str::from_utf8(version_line).ok();
    let version = known.and_then(Version::from_line).unwrap_or_else(|| {
        deviations.push(FindingCode::UnknownVersion);
        Version::Warc11
    });
    let mut header = Header::default();
    read_fields(&mut lines, &mut header, &mut deviations);
    let block = header.content_length().ok_or(ReadErrorKind::NoLength)?;
    if let Some(uri) = header.get("WARC-Target-URI") {
        if version >= Version::Warc11 && uri.starts_with('<') {
            deviations.push(FindingCode::UriBrackets);
        }
        if uri.contains([' ', '\t']) {
            deviations.push(FindingCode::UriSpace);
        }
    }
    Ok(Head {
        version,
        header,
        block,
        length: bytes.len(),
        deviations,
    })
}
