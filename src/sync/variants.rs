//! The request headers that tell the records of lists apart: the key `vary` of the metadata.

use std::collections::{BTreeSet, HashMap};

use urldb_format::{Metadata, Record, RecordIdentity, differing_headers};
use urldb_interchange::ListItem;

/// The metadata with all names in `vary` by which items of one URL differ.
pub(super) fn with_vary(metadata: &Metadata, items: &[Box<ListItem>]) -> Metadata {
    let mut metadata = metadata.clone();
    let mut names: BTreeSet<String> = metadata.vary.iter().cloned().collect();
    let mut first_of: HashMap<RecordIdentity, &Record> = HashMap::new();
    // Lists without request headers are the rule, and long.
    if items.iter().all(|it| it.record.request_headers.is_empty()) {
        return metadata;
    }
    for item in items {
        let record = &item.record;
        let first = *first_of
            .entry(metadata.identity_of(record))
            .or_insert(record);
        names.extend(differing_headers(first, record).into_iter().flatten());
    }
    metadata.vary = names.into_iter().collect();
    metadata
}
