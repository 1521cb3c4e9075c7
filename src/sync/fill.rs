//! Gives records what they lack: a list that is imported changes no promise. Pure.

use urldb_format::Metadata;

use super::claim::{
    Claim, Values, contradiction_at, known_otherwise, normalize, promised_otherwise,
};
use super::outcome::{DomainChanges, KnownRecord, Outcome};

/// Merges what items state into a record of the database.
pub(super) fn update(
    changes: &mut DomainChanges,
    metadata: &Metadata,
    known: &KnownRecord,
    claim: Claim,
) {
    let before = &known.record;
    let mut values = Values::of(before);
    let added = match values.add(&claim.record_beside(before)) {
        Ok(added) => added,
        Err(key) => {
            let message = promised_otherwise(&claim.url(), &known.location, &key);
            let contradiction = contradiction_at(&claim.item, message, before);
            return changes.contradict(metadata.identity_of(before), contradiction);
        }
    };
    if added.is_lossy {
        let notice = known_otherwise(&claim.item, &known.location);
        changes.left_out.push(notice);
    }
    let mut record = if added.is_change {
        values.into_record()
    } else {
        before.clone()
    };
    let new = claim
        .item
        .record
        .categories
        .into_iter()
        .filter(|it| !before.has_category(it));
    let number = record.categories.len();
    record.categories.extend(new);
    if record.categories.len() > number {
        normalize(&mut record.categories);
    }
    metadata.add_schemes(&mut record, true, &claim.schemes);
    let is_same = *before == record;
    changes.unchanged += u64::from(is_same);
    let outcome = if is_same {
        Outcome::Unchanged
    } else {
        Outcome::Updated
    };
    changes.records.push((Box::new(record), outcome));
}
