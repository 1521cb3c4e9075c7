//! The sight of flapping URLs in a run, the acknowledgement, and the causes of events.

use jiff::Timestamp;
use urldb_protocol::{Chapter, Evidence, Incident, State};

use super::open::OpenIncident;
use crate::message::Fact;
use crate::numbers::{count, day, number};
use crate::sentences::{Cause, Subject, is_home_page};
use crate::text::Text;

impl OpenIncident<'_> {
    /// The sight of this run of flapping URLs.
    pub(super) fn today(&self) -> Vec<Fact> {
        let incident = self.view.incident;
        let mut facts = vec![];
        if self.is_one_url()
            && let Some(url) = self.view.urls().next()
        {
            let is_own = incident.evidence.is_about(url);
            let text = url.seen.map(|seen| match seen {
                State::Ok => Text::from("as promised"),
                seen if seen == incident.state && is_own => self.sight(&incident.evidence),
                seen => self.in_other_state(seen),
            });
            facts.extend(text.map(|text| Fact::new("now", text)));
        }
        let mut breaks: Vec<Timestamp> = self
            .view
            .urls()
            .flat_map(|url| &url.breaks)
            .copied()
            .collect();
        breaks.sort_unstable();
        let mut days: Vec<String> = breaks.into_iter().map(day).collect();
        days.dedup();
        if !days.is_empty() {
            facts.push(Fact::new("breaks", Text::from(days.join(", "))));
            let until = Text::from("7\u{a0}days without a break");
            facts.push(Fact::new("until", until));
        }
        facts
    }

    fn sight(&self, evidence: &Evidence) -> Text {
        let requests = count(evidence.requests.into(), "request");
        let agreeing = number(evidence.agreeing.into());
        let agree = format!("; {agreeing} of {requests} got this answer");
        self.cause.sentence().own(agree)
    }

    /// A state that the run saw without believing it.
    fn in_other_state(&self, state: State) -> Text {
        let cause = Cause {
            state,
            reason: None,
            redirect: None,
            evidence: &Evidence::default(),
            ..self.cause
        };
        let confirmed = if state.is_unsure() {
            ""
        } else {
            ", not confirmed"
        };
        cause.sentence().own(confirmed)
    }

    /// URLs of the incident that are broken in another way.
    pub(super) fn others(&self) -> Option<Fact> {
        let mut others = self
            .view
            .incident
            .affected()
            .filter(|url| url.state.is_some());
        let first = others.next()?.state?;
        let number = 1 + others.count() as u64;
        let text = format!("{} in another way, such as {first}", count(number, "URL"));
        Some(Fact::new("also", Text::from(text)))
    }

    /// The acknowledgement that holds.
    pub(super) fn ack(&self) -> Option<Fact> {
        let ack = self.view.incident.ack.as_ref()?;
        let by = if ack.by.is_empty() {
            Text::from("until ")
        } else {
            Text::from("by ").outside(&ack.by).own(" until ")
        };
        let text = by.own(day(ack.until)).own(": “").outside(&ack.because);
        Some(Fact::new("ack", text.own("”")))
    }
}

/// The cause of a chapter: `answers 404 Not Found`.
pub(crate) fn chapter_cause(incident: &Incident, chapter: &Chapter) -> Text {
    let subject = if chapter.urls == 1 {
        Subject::Url
    } else {
        Subject::Host
    };
    cause_of_chapter(incident, chapter, subject, chapter.evidence.as_ref())
}

/// The cause of a chapter, as a sentence about this subject.
pub(crate) fn cause_of_chapter(
    incident: &Incident,
    chapter: &Chapter,
    subject: Subject,
    evidence: Option<&Evidence>,
) -> Text {
    let no_evidence = Evidence::default();
    let redirect = chapter.redirect.as_deref();
    let cause = Cause {
        subject,
        state: chapter.state.unwrap_or(State::Inconclusive),
        reason: chapter.reason.as_deref(),
        redirect,
        to_home_page: redirect.is_some_and(|target| is_home_page(target, &incident.host)),
        evidence: evidence.unwrap_or(&no_evidence),
        domain: None,
        urls: (chapter.urls, chapter.urls),
    };
    if cause.counts_urls() {
        return Text::from("redirects to the home page");
    }
    cause.sentence()
}
