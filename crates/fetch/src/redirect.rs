//! The requests of a fetch: the first one, and the target of each redirect. Pure.

use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};
use url::{Position, Url};
use urldb_verdict::{Failure, FailureKind, Request, becomes_get, location_text};

/// One request of a fetch: the first one, or the target of a redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NextRequest {
    pub(crate) method: Method,
    /// The URL, without fragment.
    pub(crate) url: Url,
    /// Whether the request has the job's request body.
    pub(crate) with_body: bool,
    /// Whether no redirect has left the origin of the job's URL, nor [`Request::within`]; only then the request has
    /// the headers of the job and of the configuration.
    pub(crate) is_same_origin: bool,
    within: Option<String>,
}

impl NextRequest {
    /// The first request of a job.
    pub(crate) fn first(request: &Request, url: &str) -> Result<Self, Failure> {
        let refuse = |detail| Failure {
            kind: FailureKind::Refused,
            detail,
            certificate: None,
        };
        let Request { method, within, .. } = request;
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| refuse(format!("{method:?} is not a method")))?;
        if url.contains(char::is_control) {
            // The parser drops some control characters: the request would be for another URL.
            return Err(refuse("the URL contains control characters".into()));
        }
        let mut url =
            Url::parse(url).map_err(|error| refuse(format!("the URL is invalid: {error}")))?;
        if let Some(problem) = url_problem(&url) {
            return Err(refuse(format!("{} {problem}", redacted(&url))));
        }
        url.set_fragment(None);
        Ok(Self {
            method,
            with_body: true,
            is_same_origin: is_within(&url, within.as_deref()),
            within: within.clone(),
            url,
        })
    }

    /// The request after a response with this status and these distinct `Location` values; `None` if
    /// the response is no redirect.
    pub(crate) fn after(
        &self,
        status: StatusCode,
        locations: &[&[u8]],
    ) -> Result<Option<Self>, Failure> {
        let location = match locations {
            [_, _, ..] if is_redirect(status) => {
                // Clients differ in which of several targets they follow, if any.
                return Err(invalid(
                    "the redirect names several targets: its Location headers differ".into(),
                ));
            }
            [location] if is_redirect(status) => location,
            _ => return Ok(None),
        };
        let mut url = self
            .url
            .join(&location_text(location))
            .map_err(|error| invalid(format!("the redirect leads to an invalid URL: {error}")))?;
        if let Some(problem) = url_problem(&url) {
            return Err(invalid(format!(
                "the redirect leads to {}, which {problem}",
                redacted(&url)
            )));
        }
        url.set_fragment(None);
        let to_get = becomes_get(self.method.as_str(), status.as_u16());
        Ok(Some(Self {
            method: if to_get {
                Method::GET
            } else {
                self.method.clone()
            },
            with_body: self.with_body && !to_get,
            is_same_origin: self.is_same_origin
                && url.origin() == self.url.origin()
                && is_within(&url, self.within.as_deref()),
            within: self.within.clone(),
            url,
        }))
    }
}

/// The requests of one fetch so far.
#[derive(Debug, Default)]
pub(crate) struct Visited {
    requests: Vec<(Method, Url)>,
}

impl Visited {
    /// Adds the next request; fails on a loop and beyond `max_redirects`.
    pub(crate) fn visit(
        &mut self,
        next: &NextRequest,
        max_redirects: usize,
    ) -> Result<(), Failure> {
        let NextRequest { method, url, .. } = next;
        let is_next = |(before, from): &(Method, Url)| (before, from) == (method, url);
        if self.requests.iter().any(is_next) {
            return Err(Failure {
                kind: FailureKind::RedirectLoop,
                detail: format!("the redirect leads back to {url}"),
                certificate: None,
            });
        }
        if self.requests.len() > max_redirects {
            return Err(Failure {
                kind: FailureKind::RedirectLimit,
                detail: format!("more than {max_redirects} redirects"),
                certificate: None,
            });
        }
        self.requests.push((method.clone(), url.clone()));
        Ok(())
    }
}

/// The distinct `Location` values of a response.
pub(crate) fn locations(headers: &HeaderMap) -> Vec<&[u8]> {
    let mut locations: Vec<&[u8]> = headers
        .get_all(header::LOCATION)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    locations.dedup();
    locations
}

fn invalid(detail: String) -> Failure {
    Failure {
        kind: FailureKind::RedirectInvalid,
        detail,
        certificate: None,
    }
}

/// Whether a URL begins with `start`, if there is one.
fn is_within(url: &Url, start: Option<&str>) -> bool {
    start.is_none_or(|start| url.as_str().starts_with(start))
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Why a URL cannot be requested; follows the URL in a message.
fn url_problem(url: &Url) -> Option<&'static str> {
    if !matches!(url.scheme(), "http" | "https") {
        Some("is neither http nor https")
    } else if !url.username().is_empty() || url.password().is_some() {
        Some("carries credentials")
    } else if url.port() == Some(0) {
        Some("names port 0")
    } else {
        None
    }
}

/// The URL for messages: without credentials, and without the content of `data:` and similar URLs.
fn redacted(url: &Url) -> String {
    if url.cannot_be_a_base() {
        return format!("a {}: URL", url.scheme());
    }
    let user = if url.username().is_empty() && url.password().is_none() {
        ""
    } else {
        "[redacted]@"
    };
    format!("{}://{user}{}", url.scheme(), &url[Position::BeforeHost..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn first(method: &str, url: &str) -> Result<NextRequest, Failure> {
        let request = Request {
            method: method.to_owned(),
            headers: vec![],
            body: None,
            within: None,
        };
        NextRequest::first(&request, url)
    }

    fn request(method: &str, url: &str) -> NextRequest {
        first(method, url).expect("a valid URL")
    }

    fn step(
        from: &NextRequest,
        status: u16,
        location: &str,
    ) -> Result<Option<NextRequest>, Failure> {
        let status = StatusCode::from_u16(status).expect("a status");
        from.after(status, &[location.as_bytes()])
    }

    #[test]
    fn only_five_statuses_are_followed() {
        let from = request("GET", "http://a.test/x/y");
        for status in [200, 201, 300, 304, 305, 306, 404] {
            assert_eq!(step(&from, status, "/z"), Ok(None), "{status}");
        }
        for status in [301, 302, 303, 307, 308] {
            let next = step(&from, status, "../z#f").unwrap().unwrap();
            assert_eq!(next.url.as_str(), "http://a.test/z", "{status}");
        }
        assert_eq!(from.after(StatusCode::FOUND, &[]), Ok(None));
    }

    #[test]
    fn a_post_becomes_a_get_where_the_status_says_so() {
        let from = request("POST", "http://a.test/");
        for (status, method, with_body) in [
            (301, "GET", false),
            (302, "GET", false),
            (303, "GET", false),
            (307, "POST", true),
            (308, "POST", true),
        ] {
            let next = step(&from, status, "/z").unwrap().unwrap();
            assert_eq!(
                (next.method.as_str(), next.with_body),
                (method, with_body),
                "{status}"
            );
        }
        let put = step(&request("PUT", "http://a.test/"), 302, "/z")
            .unwrap()
            .unwrap();
        assert_eq!((put.method.as_str(), put.with_body), ("PUT", true));
        let head = step(&request("HEAD", "http://a.test/"), 303, "/z")
            .unwrap()
            .unwrap();
        assert_eq!(head.method, Method::HEAD);
    }

    #[test]
    fn a_left_origin_is_left_for_good() {
        let origin = request("GET", "http://a.test/");
        for elsewhere in ["https://a.test/", "http://a.test:81/", "http://b.test/"] {
            let away = step(&origin, 302, elsewhere).unwrap().unwrap();
            assert!(!away.is_same_origin, "{elsewhere}");
            let back = step(&away, 302, "http://a.test/2").unwrap().unwrap();
            assert!(!back.is_same_origin, "{elsewhere}");
        }
        assert!(
            step(&origin, 302, "http://A.test:80/2")
                .unwrap()
                .unwrap()
                .is_same_origin
        );
    }

    #[test]
    fn a_left_place_is_left_for_good() {
        let request = Request {
            method: "GET".to_owned(),
            headers: vec![],
            body: None,
            within: Some("http://a.test/raw/".to_owned()),
        };
        let place = NextRequest::first(&request, "http://a.test/raw/x").unwrap();
        assert!(place.is_same_origin);
        for elsewhere in [
            "/api",
            "/raw",
            "/raw/../api",
            "//a.test:81/raw/x",
            "https://a.test/raw/x",
        ] {
            let away = step(&place, 302, elsewhere).unwrap().unwrap();
            assert!(!away.is_same_origin, "{elsewhere}");
            let back = step(&away, 302, "http://a.test/raw/y").unwrap().unwrap();
            assert!(!back.is_same_origin, "{elsewhere}");
        }
        assert!(step(&place, 302, "y").unwrap().unwrap().is_same_origin);
        assert!(
            !NextRequest::first(&request, "http://a.test/raw/%2e%2e/x")
                .unwrap()
                .is_same_origin
        );
    }

    #[test]
    fn what_cannot_be_followed_is_said_without_secrets() {
        let from = request("GET", "http://a.test/");
        for location in [
            "file:///etc/passwd",
            "ftp://b.test/",
            "javascript:alert(1)",
            "http://",
            "http://b.test:0/",
        ] {
            let failure = step(&from, 302, location).unwrap_err();
            assert_eq!(failure.kind, FailureKind::RedirectInvalid, "{location}");
        }
        for location in [
            "http://user:hunter2@b.test/",
            "//user:hunter2@b.test/",
            "ftp://user:hunter2@b.test/",
        ] {
            let failure = step(&from, 302, location).unwrap_err();
            assert_eq!(failure.kind, FailureKind::RedirectInvalid, "{location}");
            assert!(!failure.detail.contains("hunter2"), "{}", failure.detail);
        }
        let first = first("GET", "http://user:hunter2@a.test/").unwrap_err();
        assert_eq!(first.kind, FailureKind::Refused);
        assert!(!first.detail.contains("hunter2"), "{}", first.detail);
    }

    #[test]
    fn a_url_with_control_characters_is_refused() {
        for url in [
            "http://a.test/\r\nX: y",
            "http://a.test/\n",
            "http://a\t.test/",
            "http://a.test/\0",
        ] {
            let failure = first("GET", url).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Refused, "{url:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_kept() {
        let from = request("GET", "http://a.test/");
        let next = from
            .after(StatusCode::FOUND, &[b"/caf\xe9"])
            .unwrap()
            .unwrap();
        assert_eq!(next.url.as_str(), "http://a.test/caf%E9");
    }

    proptest! {
        #[test]
        fn every_followed_location_is_an_http_url(location: Vec<u8>, tail in "[ -~]{0,40}", status in 300u16..400) {
            let from = request("GET", "http://a.test/x");
            let status = StatusCode::from_u16(status).unwrap();
            for location in [location.as_slice(), tail.as_bytes(), format!("http:{tail}").as_bytes()] {
                if let Ok(Some(next)) = from.after(status, &[location]) {
                    prop_assert!(url_problem(&next.url).is_none());
                    prop_assert!(next.url.host_str().is_some_and(|host| !host.is_empty()));
                    prop_assert!(next.url.fragment().is_none());
                }
            }
        }
    }
}
