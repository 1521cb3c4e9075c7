//! The segments of records that a rewrite leaves out, so that none stays without its record.

use std::collections::HashMap;

use urldb_warc::capture::RelatedRecords;
use urldb_warc::{CdxjLine, Extent, Header};

use super::quiet_periods::{LeftOutRecord, Position};

/// The segmented records of some files.
#[derive(Debug, Default)]
pub(super) struct SegmentedRecords {
    /// By the position of a capture: the ids of the first segments that leave with it, its own and that of
    /// its request.
    with_capture: HashMap<Position, Vec<String>>,
    /// The continuations, by the id of the first segment.
    continuations: HashMap<String, Vec<LeftOutRecord>>,
    recent: RelatedRecords<Position>,
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
        let is_segment = header.get("WARC-Segment-Number").is_some();
        let is_capture = CdxjLine::describes(header);
        let id = id_in(header, "WARC-Record-ID").filter(|_| is_segment);
        let with_capture = &mut self.with_capture;
        let mut leave_with = |capture: &Position| {
            let ids = with_capture.entry(capture.clone()).or_default();
            ids.extend(id.clone());
        };
        leave_with(&position);
        self.recent.add(header, position, |capture, _| {
            if !is_capture {
                leave_with(capture);
            }
        });
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
