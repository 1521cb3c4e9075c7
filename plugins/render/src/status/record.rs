//! The status of one record: its promise, its state, its archive.

use jiff::Timestamp;
use urldb_protocol::{IncidentOverview, UrlCondition, UrlOverview};
use urldb_text::{sanitize, variant_suffix};

use super::page::StatusPage;
use super::titles::Titles;
use crate::digests::algorithm;
use crate::message::{Fact, Tone};
use crate::numbers::{bytes, count, digest, moment, number};
use crate::page::{BOLD, paint, style};
use crate::sentences::status_line;
use crate::shell::{AskedUrl, HEADER};
use crate::stored::{not_archived, stored_words};
use crate::text::Text;
use crate::uses::{USED, uses_text};

impl StatusPage<'_> {
    pub(super) fn record(&mut self, urls: &[UrlOverview]) {
        for url in urls {
            self.page.gap();
            self.url(url);
        }
    }

    fn url(&mut self, url: &UrlOverview) {
        let (tone, word) = match url.condition {
            UrlCondition::Kept => (Tone::Good, "as promised"),
            UrlCondition::Unknown if url.state.is_none() => (Tone::Warn, "not checked yet"),
            UrlCondition::Unknown => (Tone::Warn, "unknown"),
            UrlCondition::Unconfirmed => (Tone::Warn, "unconfirmed"),
            UrlCondition::Affected => (Tone::Bad, "broken"),
        };
        let painted = paint(style(tone), word);
        let variant = variant_suffix(url.variant.as_deref());
        let subject = Text::new().code(&url.url).own(sanitize(&variant)).plain();
        self.page
            .push(format!("{painted}: {}", paint(BOLD, &subject)));
        let incident = self
            .overview
            .open
            .iter()
            .find(|it| Some(&it.incident.id) == url.incident.as_ref());
        self.page.facts(&self.facts(url, incident));
        self.page
            .command("to see its history", &["urldb", "log", &url.url]);
        let get: Vec<&str> = ["urldb", "archive", "get"]
            .into_iter()
            .chain(AskedUrl::from(url).words(HEADER))
            .collect();
        match &url.promised.sha256 {
            // Other bytes were captured later.
            Some(sha256) if url.is_archived && !has_promised_bytes(url) => {
                let by_digest = ["--sha256", &digest(sha256)];
                self.page.command(
                    "to take the promised bytes out",
                    &[&get[..], &by_digest].concat(),
                );
            }
            _ if url.capture.is_some() => self.page.command("to take the bytes out", &get),
            _ => {}
        }
    }

    /// The facts of a URL, and the open incident that affects it.
    fn facts(&self, url: &UrlOverview, incident: Option<&IncidentOverview>) -> Vec<Fact> {
        let ago_or_never = |time: Option<Timestamp>| {
            Text::from(time.map_or_else(|| "never".to_owned(), |time| self.ago(time)))
        };
        let mut facts = vec![];
        let mut add = |name, text: Text| facts.push(Fact::new(name, text));
        if let Some(it) = incident {
            let title = Titles::new(self.overview).of(it);
            add(
                "incident",
                Text::from(it.incident.id.clone()).own(": ").and(title),
            );
        }
        add("promised", promise(url));
        self.add_state(url, &mut add);
        add("checked", ago_or_never(url.checked));
        if url.is_static() {
            add("compared", ago_or_never(url.verified).own(", in full"));
        }
        if let Some(since) = url.known_since {
            add("known", Text::from(format!("since {}", self.ago(since))));
        }
        add("archived", archived(url));
        if let Some(stored) = &url.stored {
            add("stored", Text::new().outside(&stored_words(stored)));
        }
        if url.muted {
            add("muted", Text::from("nobody is notified"));
        }
        if let Some(text) = uses_text(&url.uses) {
            add(USED, text);
        }
        let place = format!("{}:{}", url.file, url.line);
        add("record", Text::new().path(&place));
        facts
    }

    /// Adds the confirmed state, a state that is not confirmed yet, and failures without confirmation.
    fn add_state(&self, url: &UrlOverview, add: &mut impl FnMut(&'static str, Text)) {
        if let Some(state) = url.state {
            let mut text = Text::from(state.as_str());
            if let Some(reason) = &url.reason {
                text = text.own(" (").outside(reason).own(")");
            }
            if let Some(since) = url.since {
                text = text.own(format!(", since {}", self.ago(since)));
            }
            add("state", text);
        }
        if let (Some(pending), Some(since)) = (url.pending, url.pending_since) {
            let text = format!("{pending} since {}, not confirmed yet", self.ago(since));
            add("seen", Text::from(text));
        }
        if let Some((failures, runs)) = url
            .failures
            .filter(|_| url.condition != UrlCondition::Affected)
        {
            let (failures, runs) = (number(failures), count(runs, "run"));
            let text = format!("in {failures} of the last {runs} that checked it");
            add("failed", Text::from(text));
        }
    }
}

/// The promise of the record: `48,120 bytes, SHA-256 59b49341821f`.
fn promise(url: &UrlOverview) -> Text {
    let promised = &url.promised;
    let mut parts = vec![];
    parts.extend(promised.length.map(|length| Text::from(bytes(length))));
    let digests = promised.all_digests().into_iter();
    parts.extend(
        digests.map(|(name, hex)| {
            Text::from(format!("{}\u{a0}", algorithm(name))).outside(&digest(hex))
        }),
    );
    let media_type = promised.content_type.as_deref();
    parts.extend(media_type.map(|media_type| Text::new().outside(media_type)));
    parts.extend(promised.status.map(status_line));
    let target = promised.redirects_to.as_deref();
    parts.extend(target.map(|target| Text::from("a redirect to ").code(target)));
    let mut parts = parts.into_iter();
    match parts.next() {
        None => Text::from("that it answers"),
        Some(first) => parts.fold(first, |text, part| text.own(", ").and(part)),
    }
}

/// Whether the content that was seen last is the promised one.
fn has_promised_bytes(url: &UrlOverview) -> bool {
    let seen = url.capture.as_ref().map(|capture| &capture.digest);
    let promised = url.promised.sha256.as_ref();
    seen.zip(promised)
        .is_some_and(|(seen, promised)| seen.strip_prefix("sha256:") == Some(promised))
}

/// The last capture.
fn archived(url: &UrlOverview) -> Text {
    let Some(capture) = &url.capture else {
        return Text::from(not_archived(url));
    };
    let at = capture
        .date
        .parse::<Timestamp>()
        .map_or_else(|_| capture.date.clone(), moment);
    let what = match (capture.is_revisit, has_promised_bytes(url)) {
        (true, _) => ", the same bytes again",
        (false, true) => ", the promised bytes",
        (false, false) => "",
    };
    Text::new()
        .outside(&at)
        .own(what)
        .own(", in ")
        .path(&capture.file)
}
