//! The reference of a revisit to the response with its bytes, as all commands read it.

use crate::cdxj::date_in;
use crate::digest::{Digest, DigestAlgorithm};
use crate::header::id::strip_brackets;
use crate::header::{Header, RecordId, WarcDate};
use crate::render::without_blanks;

/// The end of the profile of a revisit whose server said that nothing changed.
pub(crate) const UNMODIFIED_PROFILE_END: &str = "server-not-modified";

/// A reference to the response with the bytes of a revisit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisitReference {
    /// The URL of the response, as in its index line; `None` if neither record says one.
    pub url: Option<String>,
    /// The same URL with its request, if that is not a GET and the revisit states it.
    pub url_with_request: Option<String>,
    /// The date of the response as written.
    pub date: Option<String>,
    /// The id of the response.
    pub record: Option<RecordId>,
    /// The digest of the payload. That of an empty payload beside a 304 is not it.
    pub digest: Option<Digest>,
}

impl RevisitReference {
    /// The reference in the header of a revisit.
    pub fn of(header: &Header) -> Self {
        let uri = header
            .get("WARC-Refers-To-Target-URI")
            .map(strip_brackets)
            .or_else(|| header.target_uri())
            .map(without_blanks);
        let url = uri.as_deref().map(without_request).map(str::to_owned);
        Self {
            url_with_request: uri.filter(|uri| url.as_ref() != Some(uri)),
            url,
            date: header.get("WARC-Refers-To-Date").map(str::to_owned),
            record: header.get("WARC-Refers-To").and_then(|id| id.parse().ok()),
            digest: header
                .payload_digest()
                .filter(|digest| !(is_unmodified(header) && is_of_empty_content(digest))),
        }
    }

    /// The date of the response, `YYYYMMDDhhmmss`.
    pub fn timestamp(&self) -> Option<String> {
        let date = date_in(self.date.as_deref()?)?;
        Some(WarcDate::to_timestamp14(&date))
    }
}

/// Whether the server said that nothing changed.
pub(crate) fn is_unmodified(header: &Header) -> bool {
    header
        .get("WARC-Profile")
        .unwrap_or_default()
        .ends_with(UNMODIFIED_PROFILE_END)
}

/// The URI without an appended request. A revisit of the response to a request other than GET refers to
/// the URI of its original in an index, which includes the request.
pub(crate) fn without_request(uri: &str) -> &str {
    let at = ["?__wb_method=", "&__wb_method="]
        .iter()
        .filter_map(|begin| uri.find(begin));
    at.min().map_or(uri, |at| &uri[..at])
}

/// Whether this is the digest of empty content, which belongs to a 304 response and not to its capture.
pub(crate) fn is_of_empty_content(digest: &Digest) -> bool {
    [DigestAlgorithm::Sha1, DigestAlgorithm::Sha256]
        .into_iter()
        .any(|algorithm| Digest::of(algorithm, std::io::empty()).is_ok_and(|(it, _)| it == *digest))
}
