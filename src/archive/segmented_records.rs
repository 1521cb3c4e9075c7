//! The segments of records that a rewrite leaves out, so that none stays without its record.

use std::collections::{HashMap, VecDeque};

use urldb_warc::{Extent, Header};

use super::quiet_periods::{LeftOutRecord, Position};

/// Most records between a request and its response, as for the index.
const MAX_DISTANCE: usize = 16;

/// The segmented records of some files.
#[derive(Debug, Default)]
pub(super) struct SegmentedRecords {
    /// By the position of a capture: the ids of the first segments that leave with it, its own and that of
    /// its request.
    with_capture: HashMap<Position, Vec<String>>,
    /// The continuations, by the id of the first segment.
    continuations: HashMap<String, Vec<LeftOutRecord>>,
    /// The last records: id and position.
    recent: VecDeque<(String, Position)>,
}

impl SegmentedRecords {
    /// Adds the next record of a file.
    pub(super) fn add(&mut self, file: &str, extent: Extent, header: &Header) {
        let position = (file.to_owned(), extent.offset);
        if let Some(origin) = id_in(header, "WARC-Segment-Origin-ID") {
            let continuations = self.continuations.entry(origin).or_default();
            continuations.push(LeftOutRecord {
                position,
                length: extent.length,
            });
            return;
        }
        let id = id_in(header, "WARC-Record-ID").unwrap_or_default();
        if header.get("WARC-Segment-Number").is_some() {
            let owner = id_in(header, "WARC-Concurrent-To");
            let owner = owner.and_then(|owner| {
                let known = self.recent.iter().find(|(id, _)| *id == owner);
                known.map(|(_, position)| position.clone())
            });
            for position in owner.into_iter().chain([position.clone()]) {
                let ids = self.with_capture.entry(position).or_default();
                ids.push(id.clone());
            }
        }
        self.recent.truncate(MAX_DISTANCE - 1);
        self.recent.push_front((id, position));
    }

    /// The continuations that leave with the capture at this position.
    pub(super) fn leaving_with(
        &self,
        capture: &Position,
    ) -> impl Iterator<Item = &LeftOutRecord> + use<'_> {
        let ids = self.with_capture.get(capture).into_iter().flatten();
        ids.filter_map(|id| self.continuations.get(id)).flatten()
    }
}

fn id_in(header: &Header, name: &str) -> Option<String> {
    let id = header.get(name)?.trim_matches(['<', '>']);
    Some(id.to_owned())
}
