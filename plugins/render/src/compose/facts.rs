//! The evidence of a block, in the order: cause, promised, served, differs, seen, since, last good.

use std::net::SocketAddr;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use url::Url;
use urldb_protocol::{
    AffectedUrl, CertificateDates, Envelope, Evidence, Incident, Observed, Phase, Promised, Reason,
    State, TextDifference,
};

use super::causes::Group;
use super::{Lookup, Scope};
use crate::message::Fact;
use crate::numbers::{age, bytes, count, day, digest, moment, number, share};
use crate::sentences::{Cause, Subject, status_line};
use crate::text::{Text, one_line};

/// Most lines of a difference.
const DIFF_LINES: usize = 20;

/// Fewest URLs for which the common prefix is worth a line.
const MANY: u64 = 10;

/// The evidence of a group.
pub(super) fn facts(group: &Group<'_>, envelope: &Lookup<'_>, scope: Scope<'_>) -> Vec<Fact> {
    if group.phase() == Phase::Closed {
        return closed_facts(group, envelope);
    }
    let context = Context {
        group,
        cause: group.cause(),
        envelope,
        scope,
    };
    let cause = context.cause_facts();
    let where_is = context.where_is();
    let rest = [
        context.seen(),
        context.muted(),
        context.since(),
        context.last_good(),
        context.common(),
    ];
    let rest = where_is.into_iter().chain(rest.into_iter().flatten());
    cause.into_iter().chain(rest).collect()
}

struct Context<'a> {
    group: &'a Group<'a>,
    cause: Cause<'a>,
    envelope: &'a Lookup<'a>,
    scope: Scope<'a>,
}

impl Context<'_> {
    fn evidence(&self) -> &Evidence {
        &self.group.first().evidence
    }

    fn is_one_url(&self) -> bool {
        self.cause.subject == Subject::Url
    }

    fn cause_facts(&self) -> Vec<Fact> {
        let evidence = self.evidence();
        let observed = &evidence.observed;
        if let Some(target) = self.cause.redirect
            && (observed.redirect_status.is_some() || observed.length.is_some())
        {
            return vec![Fact::new("redirect", redirect(target, observed))];
        }
        match self.group.first().state {
            State::Changed => self.changed(),
            State::Redirected => self.redirected(),
            State::Unreachable => match (self.group.reason(), &evidence.certificate) {
                (Some(reason), Some(dates)) if is_certificate(reason) => {
                    self.certificate(reason, dates)
                }
                _ => self.tried().into_iter().collect(),
            },
            State::Truncated | State::Inconclusive | State::Blocked => self.error(),
            _ => Vec::new(),
        }
    }

    /// The promised and the observed bytes of one URL.
    fn changed(&self) -> Vec<Fact> {
        let evidence = self.evidence();
        let Evidence {
            promised, observed, ..
        } = evidence;
        if !self.is_one_url() {
            return Vec::new();
        }
        let by_type = self.group.reason() == Some(Reason::ContentType);
        let by_status = self.group.reason() == Some(Reason::Status);
        let promised_text = if by_status {
            promised.status.map(status_line)
        } else {
            content(
                promised.length,
                promised.sha256.as_deref(),
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
                observed.sha256.as_deref(),
                observed.content_type.as_deref().filter(|_| by_type),
            )
        };
        let mut facts = Vec::new();
        facts.extend(promised_text.map(|text| Fact::new("promised", text)));
        facts.extend(served.map(|text| Fact::new("served", text)));
        if facts.is_empty() {
            facts.extend(self.error());
        }
        facts.extend(self.differs());
        // What is known of this run goes before what was known when the incident began.
        let finding = self.envelope.finding(&evidence.url);
        let cause = finding.and_then(|finding| finding.not_archived.as_deref());
        let cause = cause.or(evidence.not_archived.as_deref());
        facts.extend(cause.map(|cause| Fact::new("not archived", Text::new().outside(cause))));
        facts
    }

    fn differs(&self) -> Option<Fact> {
        let evidence = self.evidence();
        if let Some(text) = &evidence.text {
            return Some(Fact {
                name: "differs",
                text: difference(text),
                diff: text
                    .lines
                    .iter()
                    .take(DIFF_LINES)
                    .map(|line| one_line(line))
                    .collect(),
            });
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

    /// What went wrong in words, if the title does not say as much.
    fn error(&self) -> Vec<Fact> {
        let detail = self.evidence().detail.as_str();
        let error = || Fact::new("error", Text::new().outside(detail));
        if detail.is_empty() {
            Vec::new()
        } else {
            vec![error()]
        }
    }

    /// What was tried in vain.
    fn tried(&self) -> Option<Fact> {
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
        if !evidence.detail.is_empty() {
            let separator = if text.is_empty() { "" } else { ": " };
            text = text.own(separator);
            text = text.outside(&evidence.detail);
        }
        let skipped = self.group.urls().filter(|url| url.not_tried).count() as u64;
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
        } = dates;
        let issued = |text: Text| match issuer.as_str() {
            "" => text,
            issuer => text.own("issued by ").outside(issuer),
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
        let url = self.group.urls().next()?;
        Url::parse(&url.url).ok()?.port_or_known_default()
    }

    /// Whether no other host of the report has a fault of TLS.
    fn others_are_valid(&self) -> bool {
        let faulty = self.envelope.findings.iter().filter(|finding| {
            let reason = finding.reason.as_deref().unwrap_or_default();
            reason.starts_with("tls")
        });
        let hosts = faulty.map(|finding| super::causes::host_of(&finding.url));
        hosts
            .into_iter()
            .all(|host| host == self.group.first().host)
    }

    /// The common prefix of many URLs; of an incident that has grown, the prefix of the new ones.
    fn where_is(&self) -> Option<Fact> {
        let first = self.group.first();
        let all = self.group.urls_now();
        if self.group.incidents.len() > 1 {
            return None;
        }
        if first.phase == Phase::Grown && super::blocks::tells_growth(self.scope) {
            return self.grown();
        }
        let is_host_wide = all >= self.group.host_urls();
        let prefix = prefix(self.group.urls()).filter(|_| all > MANY && !is_host_wide)?;
        let text = Text::from(format!("all {} URLs are below ", number(all))).path(&prefix);
        Some(Fact::new("where", text))
    }

    fn grown(&self) -> Option<Fact> {
        let old: Vec<_> = self.group.urls().filter(|url| !url.new).collect();
        let new: Vec<_> = self.group.urls().filter(|url| url.new).collect();
        if new.is_empty() {
            return None;
        }
        let below = |text: Text, prefix: Option<String>| match prefix {
            Some(prefix) => text.own(" below ").path(&prefix),
            None => text,
        };
        let old_text = Text::from(count(old.len() as u64, "URL"));
        let text = below(old_text, prefix(old.into_iter()));
        let text = text
            .own("; new in this run, ")
            .own(number(new.len() as u64));
        let text = below(text, prefix(new.into_iter()));
        Some(Fact::new("where", text.own(", listed here")))
    }

    /// How many requests agree.
    fn seen(&self) -> Option<Fact> {
        let Evidence {
            requests, agreeing, ..
        } = *self.evidence();
        let state = self.group.first().state;
        let answered = !matches!(state, State::Unreachable | State::Inconclusive | State::Ok);
        let is_grown =
            self.group.phase() == Phase::Grown && super::blocks::tells_growth(self.scope);
        if requests == 0 || !answered || is_grown || is_only_told(self.evidence(), state) {
            return None;
        }
        let what = match state {
            _ if self.cause.redirect.is_some() || state == State::Redirected => "got this redirect",
            State::Changed => "got the same bytes",
            State::Truncated => "broke off",
            _ => "got this answer",
        };
        let of = share(agreeing.into(), requests.into(), "request");
        let to = match (self.is_one_url(), self.all_were_asked(requests)) {
            (true, _) => Text::new(),
            (false, true) => Text::from(" to each URL"),
            (false, false) => Text::from(" to ").path(&path_of(&self.evidence().url)),
        };
        Some(Fact::new("seen", Text::from(of).and(to).own(" ").own(what)))
    }

    /// Whether the run made the same number of requests to each affected URL.
    fn all_were_asked(&self, requests: u32) -> bool {
        let attempts = |url: &AffectedUrl| {
            let finding = self.envelope.finding(&url.url)?;
            u32::try_from(finding.attempts).ok()
        };
        self.group.urls().all(|url| attempts(url) == Some(requests))
    }

    fn muted(&self) -> Option<Fact> {
        let muted = self.group.urls().filter(|url| url.muted).count() as u64;
        let all = self.group.urls_now();
        (muted > 0).then(|| {
            let text = if muted == all {
                "nobody is notified".to_owned()
            } else {
                format!(
                    "{} of these URLs: nobody is notified about them",
                    number(muted)
                )
            };
            Fact::new("muted", Text::from(text))
        })
    }

    /// Since when, if that was before this run.
    fn since(&self) -> Option<Fact> {
        let since = self.group.since();
        let started = self.envelope.run.started;
        let is_older = started.duration_since(since).as_secs() >= 60;
        if !is_older
            || self.scope.is_check()
            || matches!(self.scope, Scope::Issue(_))
            || self.group.phase() == Phase::Unknown
        {
            return None;
        }
        let mut text = Text::from(moment(since)).own(format!(" ({})", age(since, started)));
        let runs = self.group.incidents.iter().map(|incident| incident.runs);
        let runs = runs.min().unwrap_or_default();
        if runs > 1 {
            text = text.own(format!(", {} in a row", count(runs.into(), "run")));
        }
        if let Some(day) = self.notified_on().filter(|_| self.scope == Scope::Run) {
            text = text.own("; notified on ").own(day);
        }
        Some(Fact::new("since", text))
    }

    /// The day of the run that opened a known incident, if a notifier was told.
    fn notified_on(&self) -> Option<String> {
        let first = self.group.first();
        let is_known = first.phase == Phase::Unchanged && !first.threads.is_empty();
        let opened = first.opened.filter(|_| is_known)?;
        Some(day(opened))
    }

    fn last_good(&self) -> Option<Fact> {
        let last = self
            .group
            .incidents
            .iter()
            .map(|incident| incident.last_good);
        let last = last.min().flatten()?;
        Some(Fact::new("last good", Text::from(moment(last))))
    }

    /// What the hosts of a group have in common.
    fn common(&self) -> Option<Fact> {
        let hosts = self.group.incidents.len() as u64;
        let ip = |incident: &Incident| {
            let address = incident.evidence.observed.address.as_deref()?;
            Some(ip_and_port(address).0)
        };
        let address = ip(self.group.first())?;
        let mut incidents = self.group.incidents.iter();
        let same = incidents.all(|incident| ip(incident).as_deref() == Some(&*address));
        if hosts < 2 || !same || self.group.phase() == Phase::Unknown {
            return None;
        }
        let broke = match self.group.phase() {
            Phase::Opened => " and broke in this run",
            _ => "",
        };
        let text = Text::from(format!("all {} have the address ", count(hosts, "host")))
            .outside(&address)
            .own(broke)
            .own("; look there first");
        Some(Fact::new("common", text))
    }
}

/// Whether nothing is known of changed bytes but a sentence.
fn is_only_told(evidence: &Evidence, state: State) -> bool {
    state == State::Changed && evidence.observed == Observed::default()
}

/// The IP address and the port of an address, which may have no port.
fn ip_and_port(address: &str) -> (String, Option<u16>) {
    match address.parse::<SocketAddr>() {
        Ok(address) => (address.ip().to_string(), Some(address.port())),
        Err(_) => (address.to_owned(), None),
    }
}

/// What a closed incident was.
fn closed_facts(group: &Group<'_>, envelope: &Envelope) -> Vec<Fact> {
    let mut facts = Vec::new();
    let all = group.urls_now();
    let first = group.first();
    let is_one = group.cause().subject == Subject::Url;
    let recovered = group.incidents.iter().all(|incident| {
        incident.closed_because != Some(urldb_protocol::ClosedBecause::PromisesChanged)
    });
    if recovered {
        let promised = &first.evidence.promised;
        let content = content(promised.length, promised.sha256.as_deref(), None);
        let has_bytes = content.is_some();
        match (is_one, content) {
            (true, Some(content)) => facts.push(Fact::new("served", content.own(", as promised"))),
            (false, _) if has_bytes => {
                let text = format!("the promised bytes, at all {} URLs", number(all));
                facts.push(Fact::new("served", Text::from(text)));
            }
            _ => {}
        }
    } else {
        let text = "the records were changed or removed";
        facts.push(Fact::new("cause", Text::from(text)));
    }
    let since = group.since();
    let until = closed_at(first, envelope);
    let mut text = Text::from("from ")
        .own(moment(since))
        .own(" to ")
        .own(moment(until))
        .own(format!(" ({})", age(since, until)));
    let has_answer = !matches!(first.state, State::Changed | State::Redirected | State::Ok);
    if let Some(status) = first
        .evidence
        .observed
        .status
        .filter(|_| is_one && has_answer)
    {
        text = text.own(", with ").and(status_line(status));
    }
    facts.push(Fact::new("broken", text));
    facts
}

fn closed_at(incident: &Incident, envelope: &Envelope) -> Timestamp {
    incident.closed.unwrap_or(envelope.run.started)
}

/// `48,120 bytes, SHA-256 59b49341821f, text/csv`: what is known of it.
fn content(length: Option<u64>, sha256: Option<&str>, content_type: Option<&str>) -> Option<Text> {
    let mut text = Text::new();
    let comma = |text: &Text| if text.is_empty() { "" } else { ", " };
    if let Some(length) = length {
        text = text.own(bytes(length));
    }
    if let Some(sha256) = sha256 {
        let separator = comma(&text);
        text = text
            .own(separator)
            .own("SHA-256\u{a0}")
            .outside(&digest(sha256));
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
    let status = status.map_or_else(Text::new, |status| status.own(" "));
    status.own("to ").code(target)
}

fn promised_redirect(promised: &Promised, target: &str) -> Text {
    let status = promised.status.map(status_line);
    let status = status.map_or_else(Text::new, |status| status.own(" "));
    status.own("to ").code(target)
}

fn difference(difference: &TextDifference) -> Text {
    let TextDifference {
        added,
        removed,
        appended_after,
        ..
    } = difference;
    let lines = |number: u64, what: &str| {
        let verb = if number == 1 { "is" } else { "are" };
        format!("{} {verb} {what}", count(number, "line"))
    };
    Text::from(match (appended_after, *added, *removed) {
        (Some(line), added, _) => format!(
            "{}, after line {}; the promised bytes before {} are unchanged",
            lines(added, "new at the end"),
            number(*line),
            if added == 1 { "it" } else { "them" },
        ),
        (None, 0, removed) => lines(removed, "gone"),
        (None, added, 0) => lines(added, "new"),
        (None, added, removed) => format!("{}, {}", lines(added, "new"), lines(removed, "gone")),
    })
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

/// The path of a URL, with its query.
pub(crate) fn path_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    match rest.find('/') {
        Some(slash) => rest[slash..].to_owned(),
        None => "/".to_owned(),
    }
}

/// The longest folder that all URLs are in; absent for the top folder and for no URL.
pub(super) fn prefix<'a>(urls: impl Iterator<Item = &'a AffectedUrl>) -> Option<String> {
    prefix_of(urls.map(|url| url.url.as_str()))
}

/// [`prefix`] of URLs as text.
pub(super) fn prefix_of<'a>(urls: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut common: Option<String> = None;
    for url in urls {
        let path = path_of(url);
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = &path[..=path.rfind('/').unwrap_or_default()];
        let Some(known) = &mut common else {
            common = Some(path.to_owned());
            continue;
        };
        while !path.starts_with(known.as_str()) {
            let shorter = known.trim_end_matches('/').rfind('/').unwrap_or_default();
            known.truncate(shorter + 1);
        }
    }
    common.filter(|common| common != "/")
}
