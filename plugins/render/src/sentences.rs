//! The sentence of every state, reason and warning: `docs.example.org` *answers 404 Not Found*.

use http::StatusCode;
use url::Position::{AfterQuery, BeforePath};
use url::Url;
use urldb_protocol::{Counts, Coverage, Evidence, Incident, Reason, State, Summary, UrlCopies};
use urldb_text::sanitize;

use crate::numbers::{bytes, number, ratio};
use crate::text::{Text, shown_host};

/// Whether the subject of a sentence is one host or URL, or several hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// One URL.
    Url,
    /// One host, with several URLs.
    Host,
    /// So many hosts.
    Hosts(u64),
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
            State::Ok => self.verb("is", "are").own(" as promised"),
            State::Changed => self.changed(reason),
            State::Truncated => self.truncated(),
            State::Gone if reason == Some(Reason::Parked) => match self.subject {
                Subject::Url | Subject::Host => Text::from("offers its domain for sale"),
                Subject::Hosts(_) => Text::from("offer their domains for sale"),
            },
            State::Gone => self
                .verb("answers", "answer")
                .own(" ")
                .and(self.answer("404 or 410")),
            State::Redirected => self.redirected(reason),
            State::Forbidden => self.with_status("refuses", "refuse", "access"),
            State::ClientError => self.with_status("rejects", "reject", self.the_request()),
            State::ServerError => self.with_status("fails", "fail", ""),
            State::Unreachable => self.unreachable(reason),
            State::Blocked => self.blocked(reason),
            State::Inconclusive => self.inconclusive(reason),
        }
    }

    /// Whether the sentence already says how many URLs are affected.
    pub(crate) fn counts_urls(&self) -> bool {
        self.state == State::Changed && self.to_home_page && self.subject != Subject::Url
    }

    pub(crate) fn verb(&self, one: &str, several: &str) -> Text {
        let verb = match self.subject {
            Subject::Url | Subject::Host => one,
            Subject::Hosts(_) => several,
        };
        Text::from(verb)
    }

    fn with_status(&self, one: &str, several: &str, object: &str) -> Text {
        let text = self.verb(one, several);
        let text = match object {
            "" => text,
            object => text.own(" ").own(object),
        };
        match self.evidence.observed.status {
            Some(_) => text.own(" (").and(self.answer("")).own(")"),
            None => text,
        }
    }

    fn the_request(&self) -> &'static str {
        match self.subject {
            Subject::Url => "the request",
            Subject::Host | Subject::Hosts(_) => "requests",
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
        let other_bytes = || self.verb("serves", "serve").own(" other bytes");
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
                return self
                    .verb("has", "have")
                    .own(" promised digests that disagree");
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
                let text = self.verb("answers", "answer").own(" ");
                let Some(status) = promised.status else {
                    return text.and(self.answer("otherwise"));
                };
                let seen = observed.status_beside(status);
                text.and(seen.map_or_else(|| Text::from("otherwise"), status_line))
                    .own(" instead of ")
                    .and(status_line(status))
            }
            (Some(Reason::ContentType), ..) => {
                let text = self.verb("is", "are").own(" ");
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
            Subject::Host | Subject::Hosts(_) => " at different URLs",
        };
        self.verb("serves", "serve")
            .own(" the same content")
            .own(of_others)
    }

    fn uploading(&self) -> Text {
        match self.subject {
            Subject::Url => self.verb("is", "are").own(" incomplete, and grows"),
            Subject::Host | Subject::Hosts(_) => {
                self.verb("has", "have").own(" incomplete files that grow")
            }
        }
    }

    fn redirects(&self, target: &str) -> Text {
        let (affected, all) = self.urls;
        let text = self.verb("redirects", "redirect");
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
            (true, Subject::Hosts(_)) => {
                let share = ratio(affected, all);
                text.own(" ").own(share).own(" URLs to their home pages")
            }
            (false, _) => text
                .own(" to ")
                .code(target)
                .own(", which serves other bytes"),
        }
    }

    fn truncated(&self) -> Text {
        let text = self.verb("breaks off", "break off");
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
            (Some(Reason::NoRedirect), _) => self.verb("does", "do").own(" not redirect"),
            (_, None) if observed.status.is_none() => self
                .verb("redirects", "redirect")
                .own(" otherwise than promised"),
            (_, None) => self.verb("does", "do").own(" not redirect"),
            (_, Some(target)) => {
                let text = self.verb("redirects", "redirect").own(" to ").code(target);
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
        let has = || self.verb("has", "have");
        match reason {
            Some(Reason::Dns) => has().own(" no address"),
            Some(Reason::Connect) => self.verb("accepts", "accept").own(" no connection"),
            Some(Reason::Disconnected) => self
                .verb("closes", "close")
                .own(" the connection without an answer"),
            Some(Reason::Timeout) => self.verb("does", "do").own(" not answer"),
            Some(Reason::Protocol) => self.verb("does", "do").own(" not answer in valid HTTP"),
            Some(Reason::TlsExpired) if self.is_of_authority() => self.certificate(
                "an expired intermediate certificate",
                "expired intermediate certificates",
            ),
            Some(Reason::TlsExpired) => {
                self.certificate("an expired certificate", "expired certificates")
            }
            Some(Reason::TlsNotYetValid) if self.is_of_authority() => self.certificate(
                "an intermediate certificate that is not valid yet",
                "intermediate certificates that are not valid yet",
            ),
            Some(Reason::TlsNotYetValid) => self.certificate(
                "a certificate that is not valid yet",
                "certificates that are not valid yet",
            ),
            Some(Reason::TlsUntrusted) => self.certificate(
                "a certificate of an unknown authority",
                "certificates of an unknown authority",
            ),
            Some(Reason::TlsWrongHost) => self.certificate(
                "a certificate for another name",
                "certificates for other names",
            ),
            Some(Reason::Tls) => self.verb("makes", "make").own(" no secure connection"),
            Some(Reason::RedirectLoop) => self.verb("redirects", "redirect").own(" in a circle"),
            Some(Reason::RedirectLimit) => {
                self.verb("redirects", "redirect").own(" too many times")
            }
            Some(Reason::RedirectInvalid) => self
                .verb("redirects", "redirect")
                .own(" to no valid address"),
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

    fn certificate(&self, one: &str, several: &str) -> Text {
        match self.subject {
            Subject::Url | Subject::Host => Text::from("has ").own(one),
            Subject::Hosts(_) => Text::from("have ").own(several),
        }
    }

    fn blocked(&self, reason: Option<Reason>) -> Text {
        match reason {
            Some(Reason::RateLimited) => {
                self.with_status_number("asks", "ask", "for fewer requests")
            }
            Some(Reason::Challenge) => self.verb("shows", "show").own(" a page for browsers only"),
            _ => self.verb("refuses", "refuse").own(" automatic requests"),
        }
    }

    fn with_status_number(&self, one: &str, several: &str, object: &str) -> Text {
        let text = self.verb(one, several).own(" ").own(object);
        match self.evidence.observed.status {
            Some(status) => text.own(format!(" ({status})")),
            None => text,
        }
    }

    fn inconclusive(&self, reason: Option<Reason>) -> Text {
        let was = || self.verb("was", "were");
        match reason {
            Some(Reason::Refused) => was().own(" not checked: urldb's rules forbid it"),
            Some(Reason::UnsafeMethod) => {
                was().own(" not checked: the request may change something")
            }
            Some(Reason::RunEnded) => was().own(" not checked: the run ended first"),
            Some(Reason::NeedsHttp2) => self.verb("speaks", "speak").own(" only HTTP/2"),
            Some(Reason::UnsupportedTls) => self
                .verb("needs", "need")
                .own(" TLS that urldb does not support"),
            Some(Reason::RateLimited) => match self.subject {
                Subject::Url | Subject::Host => {
                    Text::from("was not tried: the host refuses so many requests")
                }
                Subject::Hosts(_) => {
                    Text::from("were not tried: the hosts refuse so many requests")
                }
            },
            Some(Reason::HostSilent) => match self.subject {
                Subject::Url | Subject::Host => Text::from("was not tried: the host was silent"),
                Subject::Hosts(_) => Text::from("were not tried: the hosts were silent"),
            },
            Some(Reason::OwnNetwork) if self.evidence.observed.status == Some(511) => {
                was().own(" not reached: our own network demands a login (511)")
            }
            Some(Reason::OwnNetwork) if self.evidence.observed.status.is_some() => self
                .verb("answers", "answer")
                .own(" with one page, like other hosts"),
            Some(Reason::OwnNetwork) => match self.subject {
                Subject::Url | Subject::Host => Text::from("could not be reached, like all hosts"),
                Subject::Hosts(_) => Text::from("could not be reached"),
            },
            Some(Reason::OwnLimit) => was().own(" not checked: too many open files here"),
            Some(Reason::TooLarge) => self.verb("is", "are").own(" too large to compare"),
            Some(Reason::NotRead) => self
                .verb("answers", "answer")
                .own(", but not all bytes were read"),
            _ => was().own(" not checked"),
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
