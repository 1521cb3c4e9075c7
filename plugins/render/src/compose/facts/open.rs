//! The evidence of an open view, apart from its cause: requests, times, common folder and address.

use urldb_protocol::{AffectedUrl, Evidence, ExplanationKind, Observed, Phase, Reason, State};

use crate::compose::causes::IncidentView;
use crate::compose::lookup::Lookup;
use crate::compose::scope::Scope;
use crate::compose::urls::{path_of, prefix};
use crate::message::Fact;
use crate::numbers::{age, count, moment, number, share};
use crate::sentences::{Cause, Subject, copies_text, is_unsettled};
use crate::text::Text;
use crate::uses::notable_uses;

/// Fewest URLs for which the common prefix is worth a line.
const MANY: u64 = 10;

/// An open incident, and the message that tells it.
pub(super) struct OpenIncident<'a> {
    pub(super) view: &'a IncidentView<'a>,
    pub(super) cause: Cause<'a>,
    pub(super) envelope: &'a Lookup<'a>,
    pub(super) scope: Scope<'a>,
}

impl OpenIncident<'_> {
    pub(super) fn evidence(&self) -> &Evidence {
        &self.view.incident.evidence
    }

    pub(super) fn is_one_url(&self) -> bool {
        self.cause.subject == Subject::Url
    }

    /// The common prefix of many URLs.
    pub(super) fn where_is(&self) -> Option<Fact> {
        let all = self.view.urls_now();
        let is_host_wide = all >= self.view.host_urls();
        let prefix = prefix(self.view.urls()).filter(|_| all > MANY && !is_host_wide)?;
        let text = Text::from(format!("all {} URLs are below ", number(all))).path(&prefix);
        Some(Fact::new("where", text))
    }

    /// The places in lists that use the URL, if there are several.
    pub(super) fn used(&self) -> Option<Fact> {
        let url = self.view.urls().next().filter(|_| self.is_one_url())?;
        notable_uses(self.envelope.uses(url)?)
    }

    /// The other URLs with the promised bytes.
    pub(super) fn copies(&self) -> Option<Fact> {
        let of = |url: &AffectedUrl| self.envelope.finding_of(url)?.copies.as_ref();
        if !self.is_one_url() {
            let copied = self
                .view
                .urls()
                .filter(|url| of(url).is_some_and(|it| it.count > 0))
                .count() as u64;
            let text = format!(
                "{} {} bytes that other URLs serve: ",
                count(copied, "URL"),
                if copied == 1 { "promises" } else { "promise" }
            );
            return (copied > 0).then(|| {
                Fact::new(
                    "copies",
                    Text::from(text).code("urldb get --dry-run --broken"),
                )
            });
        }
        let copies = of(self.view.urls().next()?)?;
        Some(Fact::new("copies", copies_text(copies)))
    }

    /// The fact behind the failures of several URLs of one host, unless the title tells it.
    pub(super) fn explained(&self) -> Option<Fact> {
        let explanation = self.evidence().explanation.as_deref()?;
        let is_title = self.cause.redirect.is_some() && self.view.incident.state == State::Changed;
        if is_title && explanation.kind == ExplanationKind::Moved {
            return None;
        }
        Some(Fact::new(
            "cause",
            Text::default().outside(&explanation.sentence),
        ))
    }

    /// Whether the content differs from request to request.
    pub(super) fn is_unsettled(&self) -> bool {
        self.view.reason().is_some_and(is_unsettled)
    }

    /// The other hosts with an incident since this run, at the same address.
    pub(super) fn shared(&self) -> Option<Fact> {
        let (address, others) = self.envelope.shared_address(self.view.incident)?;
        let text = format!("{} since this run, all at ", count(others, "more host"));
        (others > 1).then(|| Fact::new("shared", Text::from(text).outside(&address)))
    }

    /// Number of requests that agree.
    pub(super) fn seen(&self) -> Option<Fact> {
        let Evidence {
            requests, agreeing, ..
        } = *self.evidence();
        let state = self.view.incident.state;
        let answered = !matches!(state, State::Unreachable | State::Inconclusive | State::Ok);
        if requests == 0
            || !answered
            || self.is_unsettled()
            || is_only_delivered(self.evidence(), state)
        {
            return None;
        }
        let what = match state {
            State::Redirected if self.view.reason() == Some(Reason::NoRedirect) => {
                "got no redirect"
            }
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
            let finding = self.envelope.finding_of(url)?;
            u32::try_from(finding.attempts).ok()
        };
        self.view.urls().all(|url| attempts(url) == Some(requests))
    }

    pub(super) fn muted(&self) -> Option<Fact> {
        let muted = self.view.urls().filter(|url| url.muted).count() as u64;
        let all = self.view.urls_now();
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
    pub(super) fn since(&self) -> Option<Fact> {
        let since = self.view.incident.since;
        let started = self.envelope.run.started;
        let is_older = started.duration_since(since).as_secs() >= 60;
        if !is_older
            || self.scope.is_check()
            || matches!(self.scope, Scope::Issue(_))
            || self.view.phase() == Phase::Unknown
        {
            return None;
        }
        let mut text = Text::from(moment(since)).own(format!(" ({})", age(since, started)));
        let runs = self.view.incident.runs;
        if runs > 1 {
            text = text.own(format!(", {} in a row", count(runs.into(), "run")));
        }
        Some(Fact::new("since", text))
    }

    pub(super) fn last_good(&self) -> Option<Fact> {
        let last = self.view.incident.last_good?;
        Some(Fact::new("last good", Text::from(moment(last))))
    }
}

/// Whether nothing is known of changed bytes but a sentence.
fn is_only_delivered(evidence: &Evidence, state: State) -> bool {
    state == State::Changed && evidence.observed == Observed::default()
}
