//! The keys of the index, as pywb looks captures up.
//!
//! pywb turns the method and body of a request into query parameters, and looks the capture up under
//! the URL with these, in its own reading of the specification. [`Compat::Pywb`] makes the same keys.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use urldb_canon::{Compat, Request, surt};
use urldb_warc::cdxj::SortKeys;
use urldb_warc::http::StoredRequest;

/// Control characters and the space. Characters outside of ASCII are escaped in any case.
const NOT_GRAPHIC: &AsciiSet = &CONTROLS.add(b' ');

/// Makes the keys of an index.
#[derive(Debug, Clone, Copy)]
pub struct Keys;

impl SortKeys for Keys {
    fn key(&self, url: &str) -> String {
        surt(url)
    }

    fn key_of_request(&self, url: &str, request: &StoredRequest) -> Option<(String, String)> {
        let query = canonical(request).query(Compat::Pywb)?;
        let body = query.split_once('&').map_or("", |(_, body)| body);
        let url = canonical(request).append_to(url, Compat::Pywb);
        Some((surt(&url), body.to_owned()))
    }
}

/// Whether two URLs are spellings of one. URLs with one key of the index need not be.
pub fn is_same_url(one: &str, other: &str) -> bool {
    let identity = |url: &str| urldb_canon::identify(url).ok();
    // URLs that no record can have, such as those with an IPv6 address.
    let parsed = |url: &str| url::Url::parse(url).ok();
    one == other
        || identity(one).is_some_and(|it| identity(other) == Some(it))
        || parsed(one).is_some_and(|it| parsed(other) == Some(it))
}

/// The key of the captures of a URL that answer this request; a GET if there is none.
pub fn key_of(url: &str, request: Option<&StoredRequest>) -> String {
    let key = request.and_then(|request| SortKeys::key_of_request(&Keys, url, request));
    key.map_or_else(|| surt(url), |(key, _)| key)
}

/// The URL under which the answer to a request is found, fit for a header.
///
/// A revisit of a response to a POST refers to this URL, not to the URL itself: pywb looks for the
/// original with the fields of the revisit only.
pub(super) fn lookup_url(url: &str, request: &StoredRequest) -> String {
    // The URL leaves out and escapes the same characters as a key.
    let url = canonical(request).append_to(url, Compat::Pywb);
    let url = url.replace(['\r', '\n', '\t'], "");
    let url = url.trim_matches([' ', '\x0b', '\x0c']);
    utf8_percent_encode(url, NOT_GRAPHIC).to_string()
}

fn canonical(request: &StoredRequest) -> Request<'_> {
    Request {
        method: &request.method,
        content_type: &request.content_type,
        body: &request.body,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use urldb_warc::cdxj::SortKeys as _;

    use super::*;

    proptest! {
        #[test]
        fn a_revisit_refers_to_what_is_indexed(
            body in "([ -~]|%[0-9a-f]{2}|[\n\r\té\u{a0}\u{2028}]){0,20}",
            content_type in prop_oneof![
                Just("application/x-www-form-urlencoded"), Just("text/plain"), Just("a/b")
            ],
        ) {
            let request = StoredRequest {
                method: "POST".to_owned(),
                content_type: content_type.to_owned(),
                body: body.into_bytes(),
            };
            let url = "http://a.test/x";
            let (key, _) = Keys.key_of_request(url, &request).expect("a POST has a key");
            let written = lookup_url(url, &request);
            prop_assert!(written.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(surt(&written), key);
        }
    }
}
