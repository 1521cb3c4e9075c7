//! The growth of an incident, and the agreement of the requests of an event.

use urldb_protocol::{ChapterDetails, EventKind, Evidence};

use crate::bars::Bar;

/// The fewest requests for a URL of one event, if the run saw the cause at each of them in all requests.
pub(super) fn agreeing(details: &ChapterDetails) -> Option<u32> {
    let ChapterDetails {
        evidence, chapter, ..
    } = details;
    if (evidence.len() as u64) < chapter.urls {
        return details.agreeing;
    }
    let is_one = |evidence: &Evidence| evidence.agreeing == evidence.requests;
    evidence
        .iter()
        .map(|evidence| evidence.requests)
        .min()
        .filter(|_| evidence.iter().all(is_one))
}

/// The affected URLs after each run in which URLs joined or left.
pub(super) fn growth(events: &[ChapterDetails]) -> Vec<Bar> {
    let mut bars: Vec<(&str, Bar)> = vec![];
    for ChapterDetails { chapter, .. } in events {
        let joined = if chapter.event.joins() {
            chapter.urls
        } else {
            0
        };
        if joined == 0 && chapter.event != EventKind::Shrunk {
            continue;
        }
        match bars.last_mut() {
            Some((run, bar)) if *run == chapter.run => {
                bar.urls = chapter.affected;
                bar.new = (bar.new + joined).min(bar.urls);
            }
            _ => bars.push((
                &chapter.run,
                Bar {
                    at: chapter.at,
                    urls: chapter.affected,
                    new: joined.min(chapter.affected),
                },
            )),
        }
    }
    bars.into_iter().map(|(_, bar)| bar).collect()
}
