//! The sentence of every state, reason and warning: `docs.example.org` *answers 404 Not Found*.

use http::StatusCode;
use url::Position::{AfterQuery, BeforePath};
use url::Url;
use urldb_protocol::{Counts, Coverage, Evidence, Incident, Reason, State, Summary, UrlCopies};
use urldb_text::sanitize;

use crate::numbers::{bytes, number, ratio};
use crate::text::{Text, shown_host};

/// The subject of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// One URL.
    Url,
    /// One host, with several URLs.
    Host,
}

/// The topic of a sentence: the cause of an incident, or of several incidents with one cause.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cause<'a> {
    pub(crate) subject: Subject,
    pub(crate) state: State,
    pub(crate) reason: Option<&'a str>,
    pub(crate) redirect: Option<&'a str>,
    /// The target of the redirect is the start page of the host.
    pub(crate) to_home_page: bool,
    pub(crate) evidence: &'a Evidence,
    /// The domain, if the host is an alias that differs from it.
    pub(crate) domain: Option<&'a str>,
    /// Number of affected URLs, and of all URLs of their hosts.
    pub(crate) urls: (u64, u64),
}

impl Cause<'_> {
    /// The sentence without its subject and without a full stop.
    pub(crate) fn sentence(&self) -> Text {
        let reason = self.reason.and_then(|reason| reason.parse().ok());
        match self.state {
            State::Ok => Text::from("is as promised"),
            State::Changed => self.changed(reason),
            State::Truncated => self.truncated(),
            State::Gone if reason == Some(Reason::Parked) => {
                Text::from("offers its domain for sale")
            }
            State::Gone => Text::from("answers ").and(self.answer("404 or 410")),
            State::Redirected => self.redirected(reason),
            State::Forbidden => self.with_status("refuses access"),
            State::ClientError => self.with_status(match self.subject {
                Subject::Url => "rejects the request",
                Subject::Host => "rejects requests",
            }),
            State::ServerError => self.with_status("fails"),
            State::Unreachable => self.unreachable(reason),
            State::Blocked => self.blocked(reason),
            State::Inconclusive => self.inconclusive(reason),
        }
    }

    /// Whether the sentence already says how many URLs are affected.
    pub(crate) fn counts_urls(&self) -> bool {
        self.state == State::Changed && self.to_home_page && self.subject != Subject::Url
    }

    fn with_status(&self, text: &str) -> Text {
        match self.evidence.observed.status {
            Some(_) => Text::from(text).own(" (").and(self.answer("")).own(")"),
            None => Text::from(text),
        }
    }

    /// The status that was observed, or else `default`.
    fn answer(&self, default: &str) -> Text {
        self.evidence
            .observed
            .status
            .map_or_else(|| Text::from(default), status_line)
    }

    fn changed(&self, reason: Option<Reason>) -> Text {
        let Evidence {
            promised, observed, ..
        } = self.evidence;
        // A wrong status says nothing about the target of a redirect.
        let redirect = self.redirect.filter(|_| reason != Some(Reason::Status));
        if let Some(target) = redirect {
            return self.redirects(target);
        }
        let other_bytes = || Text::from("serves other bytes");
        if let Some(domain) = self.domain {
            return other_bytes().own(" than ").host(domain);
        }
        match reason {
            Some(Reason::Unstable) => {
                return other_bytes().own(" from one request to the next");
            }
            Some(Reason::Uploading) => return self.uploading(),
            Some(Reason::SameContent) => return self.same_content(),
            Some(Reason::DigestsDisagree) => {
                return Text::from("has promised digests that disagree");
            }
            _ => {}
        }
        if self.subject != Subject::Url && reason != Some(Reason::Status) {
            return other_bytes();
        }
        // Without a digest, the body was not read to its end.
        let whole = observed.length.filter(|_| observed.sha256.is_some());
        match (reason, promised.length, whole) {
            (Some(Reason::Status), ..) => {
                let text = Text::from("answers ");
                let Some(status) = promised.status else {
                    return text.and(self.answer("otherwise"));
                };
                let seen = observed.status_beside(status);
                text.and(seen.map_or_else(|| Text::from("otherwise"), status_line))
                    .own(" instead of ")
                    .and(status_line(status))
            }
            (Some(Reason::ContentType), ..) => {
                let text = Text::from("is ");
                let text = match &observed.content_type {
                    Some(observed) => text.outside(observed),
                    None if observed.status.is_none() => text.own("of another type"),
                    None => text.own("of no type"),
                };
                match &promised.content_type {
                    Some(promised) => text.own(" instead of ").outside(promised),
                    None => text,
                }
            }
            (_, Some(promised), Some(observed)) if observed > promised => {
                Text::from("grew by ").own(bytes(observed - promised))
            }
            (_, Some(promised), Some(observed)) if observed < promised => {
                Text::from("shrank by ").own(bytes(promised - observed))
            }
            (_, Some(_), Some(_)) => other_bytes().own(" of the same size"),
            _ => other_bytes(),
        }
    }

    fn same_content(&self) -> Text {
        let of_others = match self.subject {
            Subject::Url => " as other URLs",
            Subject::Host => " at different URLs",
        };
        Text::from("serves the same content").own(of_others)
    }

    fn uploading(&self) -> Text {
        match self.subject {
            Subject::Url => Text::from("is incomplete, and grows"),
            Subject::Host => Text::from("has incomplete files that grow"),
        }
    }

    fn redirects(&self, target: &str) -> Text {
        let (affected, all) = self.urls;
        let text = Text::from("redirects");
        match (self.to_home_page, self.subject) {
            (true, Subject::Url) => text.own(" to the home page"),
            (true, Subject::Host) if affected == all => text
                .own(" all ")
                .own(number(all))
                .own(" URLs to its home page"),
            (true, Subject::Host) => {
                let share = ratio(affected, all);
                text.own(" ").own(share).own(" URLs to its home page")
            }
            (false, _) => text
                .own(" to ")
                .code(target)
                .own(", which serves other bytes"),
        }
    }

    fn truncated(&self) -> Text {
        let text = Text::from("breaks off");
        let Evidence {
            promised, observed, ..
        } = self.evidence;
        match (self.subject, observed.length, promised.length) {
            (Subject::Url, Some(read), Some(all)) => {
                text.own(format!(" after {} of {}", number(read), bytes(all)))
            }
            (Subject::Url, Some(read), None) => text.own(format!(" after {}", bytes(read))),
            _ => text.own(" before the end"),
        }
    }

    fn redirected(&self, reason: Option<Reason>) -> Text {
        let Evidence {
            promised, observed, ..
        } = self.evidence;
        let target = self.redirect.or(observed.redirect.as_deref());
        match (reason, target) {
            (Some(Reason::NoRedirect), _) => Text::from("does not redirect"),
            (_, None) if observed.status.is_none() => {
                Text::from("redirects otherwise than promised")
            }
            (_, None) => Text::from("does not redirect"),
            (_, Some(target)) => {
                let text = Text::from("redirects to ").code(target);
                match (&promised.redirects_to, self.subject) {
                    (Some(promised), Subject::Url) => text.own(" instead of ").code(promised),
                    (Some(_), _) => text.own(" instead of the promised target"),
                    // The promise is about the status.
                    (None, _) => text.own(", otherwise than promised"),
                }
            }
        }
    }

    fn unreachable(&self, reason: Option<Reason>) -> Text {
        match reason {
            Some(Reason::Dns) => Text::from("has no address"),
            Some(Reason::Connect) => Text::from("accepts no connection"),
            Some(Reason::Disconnected) => Text::from("closes the connection without an answer"),
            Some(Reason::Timeout) => Text::from("does not answer"),
            Some(Reason::Protocol) => Text::from("does not answer in valid HTTP"),
            Some(Reason::TlsExpired) if self.is_of_authority() => {
                Text::from("has an expired intermediate certificate")
            }
            Some(Reason::TlsExpired) => Text::from("has an expired certificate"),
            Some(Reason::TlsNotYetValid) if self.is_of_authority() => {
                Text::from("has an intermediate certificate that is not valid yet")
            }
            Some(Reason::TlsNotYetValid) => Text::from("has a certificate that is not valid yet"),
            Some(Reason::TlsUntrusted) => Text::from("has a certificate of an unknown authority"),
            Some(Reason::TlsWrongHost) => Text::from("has a certificate for another name"),
            Some(Reason::Tls) => Text::from("makes no secure connection"),
            Some(Reason::RedirectLoop) => Text::from("redirects in a circle"),
            Some(Reason::RedirectLimit) => Text::from("redirects too many times"),
            Some(Reason::RedirectInvalid) => Text::from("redirects to no valid address"),
            _ => Text::from("cannot be reached"),
        }
    }

    /// Whether the rejected certificate is that of an authority between the server and the trusted one.
    fn is_of_authority(&self) -> bool {
        self.evidence
            .certificate
            .as_ref()
            .is_some_and(|it| it.authority.is_some())
    }

    fn blocked(&self, reason: Option<Reason>) -> Text {
        match reason {
            Some(Reason::RateLimited) => {
                let text = "asks for fewer requests".to_owned();
                let status = self.evidence.observed.status;
                Text::from(status.map_or(text.clone(), |status| format!("{text} ({status})")))
            }
            Some(Reason::Challenge) => Text::from("shows a page for browsers only"),
            _ => Text::from("refuses automatic requests"),
        }
    }

    fn inconclusive(&self, reason: Option<Reason>) -> Text {
        match reason {
            Some(Reason::Refused) => Text::from("was not checked: urldb's rules forbid it"),
            Some(Reason::UnsafeMethod) => {
                Text::from("was not checked: the request may change something")
            }
            Some(Reason::RunEnded) => Text::from("was not checked: the run ended first"),
            Some(Reason::NeedsHttp2) => Text::from("speaks only HTTP/2"),
            Some(Reason::UnsupportedTls) => Text::from("needs TLS that urldb does not support"),
            Some(Reason::RateLimited) => {
                Text::from("was not tried: the host refuses so many requests")
            }
            Some(Reason::HostSilent) => Text::from("was not tried: the host was silent"),
            // The subject may be several hosts.
            Some(Reason::OwnNetwork) => Text::from(match self.evidence.observed.status {
                Some(511) => "could not be reached: our own network demands a login (511)",
                Some(_) => "gave the same page as other hosts",
                None => "could not be reached",
            }),
            Some(Reason::OwnLimit) => Text::from("was not checked: too many open files here"),
            Some(Reason::TooLarge) => Text::from("is too large to compare"),
            Some(Reason::NotRead) => Text::from("answers, but not all bytes were read"),
            _ => Text::from("was not checked"),
        }
    }
}

/// Whether the reason is content that differs from request to request.
pub fn is_unsettled(reason: Reason) -> bool {
    matches!(reason, Reason::Unstable | Reason::Uploading)
}

/// `404 Not Found`; a status without a registered phrase is a number only.
pub(crate) fn status_line(status: u16) -> Text {
    let phrase = StatusCode::from_u16(status).ok();
    match phrase.and_then(|status| status.canonical_reason()) {
        Some(phrase) => Text::from(format!("{status} {phrase}")),
        None => Text::from(format!("status\u{a0}{status}")),
    }
}

/// `404 Not Found`, for a page.
pub fn status_text(status: u16) -> String {
    status_line(status).plain()
}

/// The sentence of a warning about its URL or host. A warning of a newer version has none.
pub(crate) fn warning_sentence(code: &str) -> Option<&'static str> {
    Some(match code {
        "alias-differs" => "serves other bytes than its domain",
        "content-unstable" => "served other bytes in one of its requests",
        "content-encoded" => "is compressed without being asked",
        "framing-broken" => "is complete, but its connection ended early",
        "redirect-to-broken" => "redirects to a broken page",
        "certificate-ends" => "has a certificate that ends soon",
        "canonical-missing" => "names no official URL",
        "canonical-differs" => "names another official URL",
        "flapping" => "is flapping",
        _ => return None,
    })
}

/// The other URLs with the bytes of a URL: `2 other URLs serve these bytes: …`.
pub(crate) fn copies_text(copies: &UrlCopies) -> Text {
    let text = match copies.count {
        0 => return Text::from("no other URL here serves these bytes"),
        1 => "1 other URL serves these bytes: ".to_owned(),
        count => format!("{} other URLs serve these bytes: ", number(count)),
    };
    let mut text = Text::from(text);
    for (index, url) in copies.urls.iter().enumerate() {
        text = text.own(if index == 0 { "" } else { ", " }).outside(url);
    }
    match copies.count - copies.urls.len() as u64 {
        0 => text,
        more => text.own(format!(" and {} more", number(more))),
    }
}

/// The same in plain text.
pub fn copies_in_words(copies: &UrlCopies) -> String {
    copies_text(copies).plain()
}

/// The sentence of one URL with a state and a reason, without its subject: `answers 404 Not Found`. `redirect` is the
/// target of the redirect that brought about the state, `domain` the one whose alias the URL is about.
pub fn url_sentence(
    (state, reason): (State, Option<Reason>),
    redirect: Option<&str>,
    domain: Option<&str>,
    evidence: &Evidence,
) -> String {
    let observed = || evidence.observed.redirect.as_deref();
    let redirect = redirect.or_else(|| observed().filter(|_| state == State::Changed));
    let url = Url::parse(&evidence.url).ok();
    let host = url.as_ref().map(Url::authority).unwrap_or_default();
    let cause = Cause {
        subject: Subject::Url,
        state,
        reason: reason.map(Reason::as_str),
        redirect,
        to_home_page: redirect.is_some_and(|target| is_home_page(target, host)),
        evidence,
        domain,
        urls: (1, 1),
    };
    cause.sentence().plain()
}

/// Whether `target` is the start page of `host`, the host of a domain file or a URL.
pub(crate) fn is_home_page(target: &str, host: &str) -> bool {
    let is_home =
        |url: Url| url.authority() == shown_host(host) && &url[BeforePath..AfterQuery] == "/";
    Url::parse(target).is_ok_and(is_home)
}

/// The target of the redirect that an incident is about.
pub(crate) fn redirect_of(incident: &Incident) -> Option<&str> {
    let observed = || incident.evidence.observed.redirect.as_deref();
    let target = incident.redirect.as_deref();
    match incident.state {
        // One URL that redirects to other bytes is a redirect, whatever the key of the incident is.
        State::Changed if incident.urls.len() == 1 => target.or_else(observed),
        _ => target,
    }
}

/// The counts of the URLs that the reader is told of.
pub(crate) fn readers_counts(summary: &Summary) -> &Counts {
    summary
        .audience
        .as_ref()
        .map_or(&summary.counts, |audience| &audience.counts)
}

/// The counts of those of them that were due.
pub(crate) fn readers_coverage(summary: &Summary) -> &Coverage {
    summary
        .audience
        .as_ref()
        .map_or(&summary.coverage, |audience| &audience.coverage)
}

/// ` of gaia`, after a number of URLs of a reader who is told of some URLs.
pub(crate) fn possessor(summary: &Summary) -> String {
    summary
        .audience
        .as_ref()
        .map_or_else(String::new, |it| format!(" of {}", sanitize(&it.name)))
}

#[cfg(test)]
mod tests {
    use urldb_protocol::{Observed, Shown};

    use super::*;

    #[test]
    fn a_redirect_with_another_status_is_not_called_one_to_another_target() {
        let target = Shown::new("https://b.test/x", Shown::LONGEST);
        let mut evidence = Evidence {
            observed: Observed {
                status: Some(302),
                redirect: Some(target),
                ..Observed::default()
            },
            ..Evidence::default()
        };
        let cause = (State::Redirected, Some(Reason::OtherRedirect));
        let text = url_sentence(cause, None, None, &evidence);
        assert_eq!(
            text,
            "redirects to https://b.test/x, otherwise than promised"
        );
        evidence.promised.redirects_to = Some("https://a.test/".to_owned());
        let text = url_sentence(cause, None, None, &evidence);
        assert_eq!(
            text,
            "redirects to https://b.test/x instead of https://a.test/"
        );
    }

    #[test]
    fn a_promised_redirect_with_another_status_serves_no_other_bytes() {
        let mut evidence = Evidence {
            observed: Observed {
                status: Some(200),
                redirect_status: Some(301),
                redirect: Some(Shown::new("https://b.test/x", Shown::LONGEST)),
                ..Observed::default()
            },
            ..Evidence::default()
        };
        evidence.promised.status = Some(302);
        let cause = (State::Changed, Some(Reason::Status));
        let target = Some("https://b.test/x");
        assert_eq!(
            url_sentence(cause, target, None, &evidence),
            "answers 301 Moved Permanently instead of 302 Found"
        );
        // Any other status is that of the target.
        evidence.promised.status = Some(410);
        assert_eq!(
            url_sentence(cause, target, None, &evidence),
            "answers 200 OK instead of 410 Gone"
        );
    }

    #[test]
    fn sentences_without_evidence_claim_nothing_more() {
        let none = Evidence::default();
        for (state, reason, sentence) in [
            (State::Gone, None, "answers 404 or 410"),
            (
                State::Changed,
                Some(Reason::ContentType),
                "is of another type",
            ),
            (
                State::Redirected,
                Some(Reason::OtherRedirect),
                "redirects otherwise than promised",
            ),
            (
                State::Redirected,
                Some(Reason::NoRedirect),
                "does not redirect",
            ),
        ] {
            assert_eq!(url_sentence((state, reason), None, None, &none), sentence);
        }
    }
}
