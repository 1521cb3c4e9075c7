//! Where a redirect leads. Pure.

use std::collections::HashSet;

use reqwest::{Method, StatusCode};
use url::{Position, Url};

use urldb_verdict::{Failure, FailureKind, becomes_get, location_text};

/// What is asked in one hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NextRequest {
    /// The method.
    pub(super) method: Method,
    /// The URL, without fragment.
    pub(super) url: Url,
    /// Whether the job's request body goes along.
    pub(super) with_body: bool,
    /// Whether no redirect has left the origin of the job's URL yet; only then the job's own headers go along.
    pub(super) at_home: bool,
}

impl NextRequest {
    /// What a job asks first.
    pub(super) fn first(method: &str, url: &str) -> Result<Self, Failure> {
        let refuse = |detail| Failure {
            kind: FailureKind::Refused,
            detail,
        };
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| refuse(format!("{method:?} is not a method")))?;
        if url.contains(char::is_control) {
            // Parsing drops some of them, and another URL would be asked for than is written.
            return Err(refuse("the URL has control characters in it".into()));
        }
        let mut url = Url::parse(url)
            .map_err(|error| refuse(format!("the URL cannot be asked for: {error}")))?;
        if let Some(problem) = unfollowable(&url) {
            return Err(refuse(format!("{} {problem}", redacted(&url))));
        }
        url.set_fragment(None);
        Ok(Self {
            method,
            url,
            with_body: true,
            at_home: true,
        })
    }

    /// What is asked after this response, with these different `Location`s; `None` when it is the last one.
    pub(super) fn next(
        &self,
        status: StatusCode,
        locations: &[&[u8]],
    ) -> Result<Option<Self>, Failure> {
        let location = match locations {
            [_, _, ..] if follows(status) => {
                // Clients differ in which of them they follow, if any.
                return Err(invalid("the redirect leads to two places at once".into()));
            }
            [location] if follows(status) => location,
            _ => return Ok(None),
        };
        let mut url = self
            .url
            .join(&location_text(location))
            .map_err(|error| invalid(format!("the redirect leads to an invalid URL: {error}")))?;
        if let Some(problem) = unfollowable(&url) {
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
            at_home: self.at_home && url.origin() == self.url.origin(),
            url,
        }))
    }
}

/// What was asked so far in one fetch.
#[derive(Debug, Default)]
pub(super) struct Visited {
    seen: HashSet<(Method, String)>,
}

impl Visited {
    /// Takes note of a request that is about to be sent.
    pub(super) fn enter(&mut self, ask: &NextRequest, max_redirects: usize) -> Result<(), Failure> {
        let url = ask.url.to_string();
        if self.seen.contains(&(ask.method.clone(), url.clone())) {
            return Err(Failure {
                kind: FailureKind::RedirectLoop,
                detail: format!("the redirect leads back to {url}"),
            });
        }
        if self.seen.len() > max_redirects {
            return Err(Failure {
                kind: FailureKind::RedirectLimit,
                detail: format!("more than {max_redirects} redirects"),
            });
        }
        self.seen.insert((ask.method.clone(), url));
        Ok(())
    }
}

fn invalid(detail: String) -> Failure {
    Failure {
        kind: FailureKind::RedirectInvalid,
        detail,
    }
}

fn follows(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn unfollowable(url: &Url) -> Option<&'static str> {
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

/// The URL as it may be shown: without credentials, and without what can carry a payload.
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

    fn ask(method: &str, url: &str) -> NextRequest {
        NextRequest::first(method, url).expect("a URL that can be asked")
    }

    fn step(
        from: &NextRequest,
        status: u16,
        location: &str,
    ) -> Result<Option<NextRequest>, Failure> {
        let status = StatusCode::from_u16(status).expect("a status");
        from.next(status, &[location.as_bytes()])
    }

    #[test]
    fn only_five_statuses_are_followed() {
        let from = ask("GET", "http://a.test/x/y");
        for status in [200, 201, 300, 304, 305, 306, 404] {
            assert_eq!(step(&from, status, "/z"), Ok(None), "{status}");
        }
        for status in [301, 302, 303, 307, 308] {
            let next = step(&from, status, "../z#f").unwrap().unwrap();
            assert_eq!(next.url.as_str(), "http://a.test/z", "{status}");
        }
        assert_eq!(from.next(StatusCode::FOUND, &[]), Ok(None));
    }

    #[test]
    fn a_post_becomes_a_get_where_the_status_says_so() {
        let from = ask("POST", "http://a.test/");
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
        let put = step(&ask("PUT", "http://a.test/"), 302, "/z")
            .unwrap()
            .unwrap();
        assert_eq!((put.method.as_str(), put.with_body), ("PUT", true));
        let head = step(&ask("HEAD", "http://a.test/"), 303, "/z")
            .unwrap()
            .unwrap();
        assert_eq!(head.method, Method::HEAD);
    }

    #[test]
    fn home_is_left_for_good() {
        let home = ask("GET", "http://a.test/");
        for elsewhere in ["https://a.test/", "http://a.test:81/", "http://b.test/"] {
            let away = step(&home, 302, elsewhere).unwrap().unwrap();
            assert!(!away.at_home, "{elsewhere}");
            let back = step(&away, 302, "http://a.test/2").unwrap().unwrap();
            assert!(!back.at_home, "{elsewhere}");
        }
        assert!(
            step(&home, 302, "http://A.test:80/2")
                .unwrap()
                .unwrap()
                .at_home
        );
    }

    #[test]
    fn what_cannot_be_followed_is_said_without_secrets() {
        let from = ask("GET", "http://a.test/");
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
        let first = NextRequest::first("GET", "http://user:hunter2@a.test/").unwrap_err();
        assert_eq!(first.kind, FailureKind::Refused);
        assert!(!first.detail.contains("hunter2"), "{}", first.detail);
    }

    #[test]
    fn a_url_with_line_ends_in_it_is_not_asked_for() {
        for url in [
            "http://a.test/\r\nX: y",
            "http://a.test/\n",
            "http://a\t.test/",
            "http://a.test/\0",
        ] {
            let failure = NextRequest::first("GET", url).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Refused, "{url:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_kept() {
        let from = ask("GET", "http://a.test/");
        let next = from
            .next(StatusCode::FOUND, &[b"/caf\xe9"])
            .unwrap()
            .unwrap();
        assert_eq!(next.url.as_str(), "http://a.test/caf%E9");
    }

    proptest! {
        #[test]
        fn no_location_leads_anywhere_else(location: Vec<u8>, tail in "[ -~]{0,40}", status in 300u16..400) {
            let from = ask("GET", "http://a.test/x");
            let status = StatusCode::from_u16(status).unwrap();
            for location in [location.as_slice(), tail.as_bytes(), format!("http:{tail}").as_bytes()] {
                if let Ok(Some(next)) = from.next(status, &[location]) {
                    prop_assert!(unfollowable(&next.url).is_none());
                    prop_assert!(next.url.host_str().is_some_and(|host| !host.is_empty()));
                    prop_assert!(next.url.fragment().is_none());
                }
            }
        }
    }
}
