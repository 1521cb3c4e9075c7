//! The growth of an incident.

use urldb_protocol::{ChapterDetails, EventKind};

use crate::bars::Bar;

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
