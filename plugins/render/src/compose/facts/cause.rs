//! The evidence of a cause: the promise and the answer.

use jiff::fmt::rfc2822;
use url::Url;
use urldb_protocol::{
    CertificateDates, Contents, Evidence, ExplanationKind, Observed, Promised, Reason, State,
    TextDifference,
};

use super::open::OpenIncident;
use crate::compose::notices;
use crate::compose::urls::{host_of, ip_and_port, path_of};
use crate::contents::{contents_sentence, text_difference_sentence};
use crate::digests::{self, algorithm};
use crate::message::Fact;
use crate::numbers::{bytes, count, digest, moment, number};
use crate::sentences::status_line;
use crate::text::{Text, one_line};

/// Most lines of a difference.
const DIFF_LINES: usize = 20;

impl OpenIncident<'_> {
    pub(super) fn cause_facts(&self) -> Vec<Fact> {
        let evidence = self.evidence();
        let observed = &evidence.observed;
        if let Some(target) = self.cause.redirect
            && (observed.redirect_status.is_some() || observed.length.is_some())
        {
            return vec![Fact::new("redirect", redirect(target, observed))];
        }
        match self.view.incident.state {
            State::Changed => self.changed(),
            State::Redirected => self.redirected(),
            State::Unreachable => match (self.view.reason(), self.rejected()) {
                (Some(reason), Some(dates)) if is_certificate(reason) => {
                    self.certificate(reason, dates)
                }
                _ => self.tried(&evidence.detail).into_iter().collect(),
            },
            State::Truncated | State::Inconclusive | State::Blocked => self.error(),
            State::Gone if self.view.reason() == Some(Reason::Parked) => self.error(),
            _ => Vec::new(),
        }
    }

    /// The certificate that was rejected. The end of one was told before any evidence.
    fn rejected(&self) -> Option<&CertificateDates> {
        let first = self.view.incident;
        let notice = first.notice.as_ref().filter(|_| notices::is_end(first));
        first
            .evidence
            .certificate
            .as_ref()
            .or(notice.and_then(|notice| notice.certificate.as_ref()))
    }

    /// The promised and the observed bytes of one URL.
    fn changed(&self) -> Vec<Fact> {
        let evidence = self.evidence();
        let Evidence {
            promised, observed, ..
        } = evidence;
        if self.is_unsettled() {
            return self.unsettled();
        }
        if !self.is_one_url() {
            return Vec::new();
        }
        let by_type = self.view.reason() == Some(Reason::ContentType);
        let by_status = self.view.reason() == Some(Reason::Status);
        let (wanted, got) = digests::compared(evidence);
        let promised_text = if by_status {
            promised.status.map(status_line)
        } else {
            content(
                promised.length,
                &wanted,
                promised.content_type.as_deref().filter(|_| by_type),
            )
        };
        let served = if by_status {
            observed.status.map(status_line)
        } else if observed.sha256.is_none() && !by_type && !evidence.detail.is_empty() {
            // The body was not read to its end: its length is not what is served.
            Some(Text::new().outside(&evidence.detail))
        } else {
            content(
                observed.length,
                &got,
                observed.content_type.as_deref().filter(|_| by_type),
            )
        };
        let mut facts = Vec::new();
        facts.extend(promised_text.map(|text| Fact::new("promised", text)));
        facts.extend(served.map(|text| Fact::new("served", text)));
        if facts.is_empty() {
            facts.extend(self.error());
        }
        if self.view.reason() == Some(Reason::DigestsDisagree) {
            let fitting = content(None, &digests::fitting(evidence), None);
            facts.extend(fitting.map(|text| Fact::new("as promised", text)));
            let text = "contradicts itself; correct its list";
            facts.push(Fact::new("record", Text::from(text)));
        }
        facts.extend(self.differs());
        facts.extend(evidence.contents.as_ref().map(contents).unwrap_or_default());
        // The finding of this run is newer than the evidence, which may be that of the first run.
        let finding = self.envelope.finding_about(evidence);
        let cause = finding
            .and_then(|finding| finding.not_archived.as_deref())
            .or(evidence.not_archived.as_deref());
        facts.extend(cause.map(|cause| Fact::new("not archived", Text::new().outside(cause))));
        facts
    }

    /// Content that differs from request to request: the promise, and the sentence about the requests.
    fn unsettled(&self) -> Vec<Fact> {
        let evidence = self.evidence();
        let mut facts: Vec<Fact> = promised_content(&evidence.promised)
            .filter(|_| self.is_one_url())
            .map(|text| Fact::new("promised", text))
            .into_iter()
            .collect();
        let detail = Text::new().outside(&evidence.detail);
        let text = if self.is_one_url() {
            detail
        } else {
            Text::new()
                .path(&path_of(&evidence.url))
                .own(": ")
                .and(detail)
        };
        facts.extend((!evidence.detail.is_empty()).then(|| Fact::new("seen", text)));
        facts
    }

    fn differs(&self) -> Option<Fact> {
        let evidence = self.evidence();
        let explanation = evidence.explanation.as_deref();
        if explanation.is_some_and(|it| it.kind == ExplanationKind::Converted) {
            // All lines may differ, and look the same.
            return None;
        }
        if let Some(text) = &evidence.text {
            return Some(difference("differs", Text::new(), text));
        }
        let first = evidence.first_difference?;
        let mut text = Text::from(format!("first at byte {}", number(first)));
        let Evidence {
            promised, observed, ..
        } = evidence;
        if let (Some(promised), Some(observed)) = (&promised.content_type, &observed.content_type)
            && *observed == *promised
        {
            text = text.own("; ").outside(observed).own(" as before");
        }
        if let Some(modified) = &evidence.last_modified {
            text = text.own("; Last-Modified ").and(http_date(modified));
        }
        Some(Fact::new("differs", text))
    }

    fn redirected(&self) -> Vec<Fact> {
        let Evidence {
            promised, observed, ..
        } = self.evidence();
        let mut facts = Vec::new();
        if let Some(target) = &promised.redirects_to {
            facts.push(Fact::new("promised", promised_redirect(promised, target)));
        }
        if let Some(target) = &observed.redirect {
            facts.push(Fact::new("redirect", answered_redirect(target, observed)));
        }
        if facts.is_empty() {
            facts.extend(self.error());
        }
        facts
    }

    /// The fault in words, if the title does not say as much.
    fn error(&self) -> Vec<Fact> {
        let detail = self.evidence().detail.as_str();
        let error = || Fact::new("error", Text::new().outside(detail));
        if detail.is_empty() {
            Vec::new()
        } else {
            vec![error()]
        }
    }

    /// The requests that failed, and the sentence about their failure.
    fn tried(&self, detail: &str) -> Option<Fact> {
        let evidence = self.evidence();
        let tried = if evidence.tried == 0 {
            1
        } else {
            evidence.tried
        };
        let times = match evidence.requests {
            0 => String::new(),
            1 => "once".to_owned(),
            requests => count(requests.into(), "time"),
        };
        let mut text = Text::new();
        if self.is_one_url() {
            text = text.own(&times);
        } else {
            text = text.own(count(tried, "URL"));
            if !times.is_empty() {
                text = text.own(", ").own(&times);
                text = text.own(if tried > 1 && evidence.requests > 1 {
                    " each"
                } else {
                    ""
                });
            }
        }
        if !detail.is_empty() {
            let separator = if text.is_empty() { "" } else { ": " };
            text = text.own(separator).outside(detail);
        }
        let skipped = self.view.urls().filter(|url| url.not_tried).count() as u64;
        if skipped > 0 {
            let rest = match skipped {
                1 => "; the other one was not tried, because the host was silent".to_owned(),
                _ => format!(
                    "; the other {} were not tried, because the host was silent",
                    number(skipped)
                ),
            };
            text = text.own(rest);
        }
        (!text.is_empty()).then(|| Fact::new("tried", text))
    }

    fn certificate(&self, reason: Reason, dates: &CertificateDates) -> Vec<Fact> {
        let CertificateDates {
            not_before,
            not_after,
            issuer,
            authority,
        } = dates;
        let issued = |text: Text| {
            let text = match authority {
                Some(name) => text.own("held by ").outside(name).own(", "),
                None => text,
            };
            match issuer.as_str() {
                "" => text,
                issuer => text.own("issued by ").outside(issuer),
            }
        };
        let mut facts = vec![match reason {
            Reason::TlsExpired => {
                let text =
                    Text::from(moment(*not_after)).own(if issuer.is_empty() { "" } else { "; " });
                Fact::new("expired", issued(text))
            }
            Reason::TlsNotYetValid => {
                let text = Text::from("from ").own(moment(*not_before)).own("; ");
                Fact::new("valid", issued(text))
            }
            _ => Fact::new("certificate", issued(Text::new())),
        }];
        facts.retain(|fact| !fact.text.is_empty());
        if notices::is_end(self.view.incident) {
            facts.extend(notices::warned(self.view.incident));
            facts.extend(self.tried("the same certificate"));
            facts.extend(notices::elsewhere(self.view.incident, self.envelope));
            return facts;
        }
        if let Some(address) = &self.evidence().observed.address {
            let (address, port) = ip_and_port(address);
            let text = Text::new().outside(&address);
            let text = match port.or_else(|| self.port()) {
                Some(port) => text.own(format!(" port\u{a0}{port}")),
                None => text,
            };
            let text = if self.others_are_valid() {
                text.own("; all other certificates in this run are valid")
            } else {
                text
            };
            facts.push(Fact::new("server", text));
        }
        facts
    }

    fn port(&self) -> Option<u16> {
        let url = self.view.urls().next()?;
        Url::parse(&url.url).ok()?.port_or_known_default()
    }

    /// Whether no other host of the report has a fault of TLS.
    fn others_are_valid(&self) -> bool {
        self.envelope
            .findings
            .iter()
            .filter(|finding| {
                finding
                    .reason
                    .as_deref()
                    .unwrap_or_default()
                    .starts_with("tls")
            })
            .map(|finding| host_of(&finding.url))
            .into_iter()
            .all(|host| host == self.view.incident.host)
    }
}

/// The files in both archives, and the lines of texts among them.
fn contents(contents: &Contents) -> Vec<Fact> {
    let mut facts = vec![Fact::new("contents", contents_sentence(contents))];
    facts.extend(contents.members.iter().filter_map(|member| {
        let name = match member.name.as_str() {
            "" => Text::new(),
            name => Text::new().path(name).own(": "),
        };
        Some(difference("file", name, member.text.as_ref()?))
    }));
    facts
}

/// The lines of a difference. `name`: the words before the sentence.
fn difference(fact: &'static str, name: Text, difference: &TextDifference) -> Fact {
    let lines = difference.lines.iter().take(DIFF_LINES);
    Fact {
        name: fact,
        text: name.and(text_difference_sentence(difference)),
        diff: lines.map(|line| one_line(line)).collect(),
    }
}

/// The promised bytes.
pub(super) fn promised_content(promised: &Promised) -> Option<Text> {
    content(promised.length, &digests::promised(promised), None)
}

/// `48,120 bytes, SHA-256 59b49341821f, text/csv`: what is known of it.
pub(super) fn content(
    length: Option<u64>,
    digests: &[(&str, &str)],
    content_type: Option<&str>,
) -> Option<Text> {
    let mut text = Text::new();
    let comma = |text: &Text| if text.is_empty() { "" } else { ", " };
    if let Some(length) = length {
        text = text.own(bytes(length));
    }
    for (name, hex) in digests {
        let separator = comma(&text);
        text = text
            .own(separator)
            .own(format!("{}\u{a0}", algorithm(name)))
            .outside(&digest(hex));
    }
    if let Some(content_type) = content_type {
        let separator = comma(&text);
        text = text.own(separator).outside(content_type);
    }
    (!text.is_empty()).then_some(text)
}

/// `302 Found to https://…/, which serves 2,755 bytes of text/html`.
fn redirect(target: &str, observed: &Observed) -> Text {
    let text = answered_redirect(target, observed);
    let text = match (observed.length, &observed.content_type) {
        (None, _) => return text,
        (Some(length), _) => text.own(", which serves ").own(bytes(length)),
    };
    match &observed.content_type {
        Some(content_type) => text.own(" of ").outside(essence(content_type)),
        None => text,
    }
}

/// A media type without its parameters.
fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

fn answered_redirect(target: &str, observed: &Observed) -> Text {
    let status = observed.redirect_status.map(status_line);
    status
        .map_or_else(Text::new, |status| status.own(" "))
        .own("to ")
        .code(target)
}

fn promised_redirect(promised: &Promised, target: &str) -> Text {
    let status = promised.status.map(status_line);
    status
        .map_or_else(Text::new, |status| status.own(" "))
        .own("to ")
        .code(target)
}

/// An HTTP date in our form; as the server wrote it if the date is not valid.
fn http_date(text: &str) -> Text {
    match rfc2822::parse(text) {
        Ok(date) => Text::from(moment(date.timestamp())),
        Err(_) => Text::new().outside(text),
    }
}

fn is_certificate(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::TlsExpired | Reason::TlsNotYetValid | Reason::TlsUntrusted | Reason::TlsWrongHost
    )
}
