//! The events of incidents with their evidence, for the pages of incidents and URLs. One file is read at a time.

use std::collections::{BTreeMap, HashMap};

use urldb_protocol::{Because, Chapter, ChapterDetails, IncidentEvents, UrlEvidence, UrlOverview};
use urldb_verdict::incident::all_chapters;

use super::sources::Sources;
use crate::ledger::{IncidentFile, incidents};

/// Most pieces of evidence of one event.
const MOST_EVIDENCE: usize = 5;

/// The latest evidence of each URL of some incidents, by URL and variant.
type OfUrls = HashMap<(String, Option<String>), UrlEvidence>;

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
            agreeing: event.agreeing,
            chapter,
        });
    IncidentEvents {
        chapters: chapters.collect(),
        left: left.into_iter().collect(),
    }
}

/// The evidence of URLs: that of the incidents of one host at a time.
#[derive(Debug, Default)]
pub(super) struct EvidenceOfUrls {
    host: String,
    by_incident: HashMap<String, OfUrls>,
}

impl EvidenceOfUrls {
    /// The latest evidence of a URL in these incidents.
    ///
    /// # Errors
    /// When the file of an incident cannot be read.
    pub(super) fn latest(
        &mut self,
        sources: &Sources<'_>,
        url: &UrlOverview,
        incidents: &[&str],
    ) -> anyhow::Result<Option<UrlEvidence>> {
        if self.host != url.host {
            url.host.clone_into(&mut self.host);
            self.by_incident.clear();
        }
        let mut latest: Option<&UrlEvidence> = None;
        for id in incidents {
            if !self.by_incident.contains_key(*id) {
                let read = read(sources, id)?;
                self.by_incident.insert((*id).to_owned(), read);
            }
        }
        let subject = (url.url.clone(), url.variant.clone());
        for id in incidents {
            let found = self
                .by_incident
                .get(*id)
                .and_then(|urls| urls.get(&subject));
            let is_later = |found: &&UrlEvidence| {
                latest.is_none_or(|known| known.chapter.at < found.chapter.at)
            };
            latest = found.filter(is_later).or(latest);
        }
        Ok(latest.cloned())
    }
}

fn read(sources: &Sources<'_>, id: &str) -> anyhow::Result<OfUrls> {
    let Some(file) = incidents::of_id(&sources.ledger, id)? else {
        return Ok(OfUrls::new());
    };
    let mut latest = OfUrls::new();
    for (chapter, event) in all_chapters(&file.log) {
        let chapter = Chapter {
            evidence: None,
            ..chapter
        };
        for evidence in &event.evidence {
            let found = UrlEvidence {
                incident: id.to_owned(),
                chapter: chapter.clone(),
                evidence: evidence.clone(),
            };
            latest.insert((evidence.url.clone(), evidence.variant.clone()), found);
        }
    }
    Ok(latest)
}
