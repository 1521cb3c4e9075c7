//! The events of incidents with their evidence, for the pages of incidents and URLs. One file is read at a time.

use std::collections::{BTreeMap, HashMap};

use urldb_protocol::{Because, Chapter, ChapterDetails, IncidentEvents, UrlEvidence, UrlOverview};
use urldb_verdict::incident::all_chapters;

use super::sources::Sources;
use crate::ledger::{IncidentFile, incidents};

/// Most pieces of evidence of one event.
const MOST_EVIDENCE: usize = 5;

/// The events of each URL of an incident, by URL and variant.
type OfUrls = HashMap<(String, Option<String>), OfUrl>;

/// The events about one URL of an incident.
#[derive(Debug, Default)]
struct OfUrl {
    chapters: Vec<Chapter>,
    /// The latest evidence.
    evidence: Option<UrlEvidence>,
}

impl Sources<'_> {
    /// The events of an incident; none if it has no file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn incident_events(&self, id: &str) -> anyhow::Result<IncidentEvents> {
        let file = incidents::of_id(&self.ledger, id)?;
        Ok(file.map_or_else(IncidentEvents::default, |file| events(&file)))
    }
}

fn events(file: &IncidentFile) -> IncidentEvents {
    let log = &file.log;
    let state = log.state();
    let mut left: BTreeMap<Because, u64> = BTreeMap::new();
    let gone = state.left.iter();
    for (_, departure) in gone.filter(|(key, _)| !state.members.contains_key(key)) {
        *left.entry(departure.because).or_default() += 1;
    }
    let chapters = all_chapters(log)
        .into_iter()
        .map(|(chapter, event)| ChapterDetails {
            evidence: event.evidence.iter().take(MOST_EVIDENCE).cloned().collect(),
            chapter,
        });
    IncidentEvents {
        chapters: chapters.collect(),
        left: left.into_iter().collect(),
    }
}

/// The events of URLs: those of the incidents of one host at a time.
#[derive(Debug, Default)]
pub(super) struct EventsOfUrls {
    host: String,
    by_incident: HashMap<String, OfUrls>,
}

impl EventsOfUrls {
    /// The events about a URL in these incidents, oldest first, and the latest evidence of it.
    ///
    /// # Errors
    /// When the file of an incident cannot be read.
    pub(super) fn of(
        &mut self,
        sources: &Sources<'_>,
        url: &UrlOverview,
        incidents: &[&str],
    ) -> anyhow::Result<(Vec<Chapter>, Option<UrlEvidence>)> {
        if self.host != url.host {
            url.host.clone_into(&mut self.host);
            self.by_incident.clear();
        }
        let subject = (url.url.clone(), url.variant.clone());
        let (mut chapters, mut evidence) = (vec![], None::<UrlEvidence>);
        for id in incidents {
            if !self.by_incident.contains_key(*id) {
                let read = read(sources, id)?;
                self.by_incident.insert((*id).to_owned(), read);
            }
            let of_url = self
                .by_incident
                .get(*id)
                .and_then(|urls| urls.get(&subject));
            let Some(of_url) = of_url else { continue };
            chapters.extend(of_url.chapters.iter().cloned());
            let at = |found: &UrlEvidence| found.chapter.at;
            if of_url.evidence.as_ref().map(at) > evidence.as_ref().map(at) {
                evidence.clone_from(&of_url.evidence);
            }
        }
        chapters.sort_by_key(|chapter| chapter.at);
        Ok((chapters, evidence))
    }
}

fn read(sources: &Sources<'_>, id: &str) -> anyhow::Result<OfUrls> {
    let Some(file) = incidents::of_id(&sources.ledger, id)? else {
        return Ok(OfUrls::new());
    };
    let mut of_urls = OfUrls::new();
    for (chapter, event) in all_chapters(&file.log) {
        let chapter = Chapter {
            evidence: None,
            ..chapter
        };
        for url in &event.urls {
            let subject = (url.key.url.clone(), url.key.variant.clone());
            let of_url = of_urls.entry(subject).or_default();
            of_url.chapters.push(chapter.clone());
        }
        for evidence in &event.evidence {
            let subject = (evidence.url.clone(), evidence.variant.clone());
            of_urls.entry(subject).or_default().evidence = Some(UrlEvidence {
                incident: id.to_owned(),
                chapter: chapter.clone(),
                evidence: evidence.clone(),
            });
        }
    }
    Ok(of_urls)
}
