//! Makes records follow the items of lists. Pure.
//!
//! A source that states a key of a group owns the group in that record. All other keys are people's.

use std::collections::BTreeMap;

use urldb_format::{Metadata, Record};
use urldb_interchange::Notice;
use urldb_text::{Code, Finding};

use super::claim::{Claim, Values, contradiction_at, normalize};
use super::groups::{Group, group_of};
use super::outcome::{DomainChanges, KnownRecord, Outcome};
use crate::database::page_redirect::is_of_site_rules;

/// Options of following.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FollowOptions {
    /// Records that no list made, and that say what a list says, get its name.
    pub(crate) adopt: bool,
    /// Records are removed even if most of a list is gone.
    pub(crate) force: bool,
}

/// The rules of a source about its records.
#[derive(Debug, Clone)]
pub(crate) struct SourceRule {
    /// Whether records stay when the list has them no more.
    pub(crate) keeps: bool,
    /// Whether some of the list was not taken: then none of its records is removed.
    pub(crate) is_incomplete: bool,
    /// The groups of keys that items of the format can state.
    pub(crate) states: &'static [Group],
}

/// A record that lists claim.
pub(super) fn update(
    changes: &mut DomainChanges,
    metadata: &Metadata,
    known: &KnownRecord,
    claim: &Claim,
    adopt: bool,
) {
    let record = &known.record;
    if !record.source.is_empty() {
        changes.with_own_promise += u64::from(has_own_promise(record, &claim.item.record));
    } else if let Some(what) = difference(metadata, record, claim) {
        let contradiction = hand_written(claim, known, &what);
        return changes.contradict(metadata.identity_of(record), contradiction);
    } else if !adopt {
        changes.agreeing += 1;
        return changes.keep(record, record.clone());
    }
    changes.keep(record, owned(metadata, record, claim));
}

/// A record that no list has.
pub(super) fn leave(
    changes: &mut DomainChanges,
    metadata: &Metadata,
    mut record: Record,
    rules: &BTreeMap<String, SourceRule>,
) {
    if record.source.is_empty() {
        return;
    }
    let is_incomplete = |name: &String| rules.get(name).is_some_and(|it| it.is_incomplete);
    if record.source.iter().any(is_incomplete) {
        changes.unchanged += 1;
        return;
    }
    let names = std::mem::take(&mut record.source);
    let rules: Vec<_> = names.iter().map(|name| rules.get(name)).collect();
    let is_of_rules = is_of_site_rules(&record);
    let is_own = |group: &Group| {
        // A source that urldb.toml has no more may have stated everything.
        let states = |rule: Option<&SourceRule>| rule.is_none_or(|it| it.states.contains(group));
        let is_of_rules = is_of_rules && *group == Group::Answer;
        group.is_promise() && !is_of_rules && !rules.iter().copied().any(states)
    };
    let stays =
        rules.iter().flatten().any(|rule| rule.keeps) || groups_of(&record).iter().any(is_own);
    if stays {
        changes.records.push((Box::new(record), Outcome::Updated));
        return;
    }
    for name in names {
        changes.of_sources.entry(name).or_default().removed += 1;
    }
    changes.remove.insert(metadata.exact_identity_of(&record));
}

/// The groups of which the record has a key.
fn groups_of(record: &Record) -> Vec<Group> {
    let mut groups: Vec<Group> = record.keys().filter_map(group_of).collect();
    groups.dedup();
    groups
}

/// Whether the record promises what no list states.
fn has_own_promise(record: &Record, claim: &Record) -> bool {
    let stated = groups_of(claim);
    let is_of_rules = is_of_site_rules(record);
    groups_of(record)
        .into_iter()
        .filter(|group| group.is_promise() && !(is_of_rules && *group == Group::Answer))
        .any(|group| !stated.contains(&group))
}

/// The record with the keys that the lists own.
fn owned(metadata: &Metadata, record: &Record, claim: &Claim) -> Record {
    let claimed = &claim.item.record;
    let mut owned = record.clone();
    if is_of_site_rules(record) {
        // The option may be retired no more.
        Group::Answer.copy(&Record::default(), &mut owned);
    }
    for group in groups_of(claimed) {
        group.copy(claimed, &mut owned);
    }
    owned.categories.extend(claimed.categories.iter().cloned());
    normalize(&mut owned.categories);
    owned.source.clone_from(&claimed.source);
    if metadata.schemes_of(&owned) != claim.schemes {
        metadata.set_schemes(&mut owned, &claim.schemes);
    }
    owned
}

/// The first difference between a record that people wrote and the lists; absent keys are none.
fn difference(metadata: &Metadata, record: &Record, claim: &Claim) -> Option<String> {
    let asked = metadata.schemes_of(record);
    let mut named = claim.schemes.iter();
    if let Some(scheme) = named.find(|it| !asked.contains(it)) {
        return Some(format!("it is not asked over {scheme}"));
    }
    let claimed = claim.record_beside(record);
    Values::of(record)
        .add(&claimed)
        .err()
        .map(|key| format!("`{key}` differs"))
}

fn hand_written(claim: &Claim, known: &KnownRecord, what: &str) -> Notice {
    let url = claim.url();
    let message = format!(
        "{url} has a record that no list made in {}, and {what}; change one of the two",
        known.location
    );
    contradiction_at(&claim.item, message, &known.record)
}

/// The mistake that a notice about a list tells: one of its code, or else a contradiction.
pub(super) fn finding(notice: Notice) -> Finding {
    let code = Code::ALL
        .iter()
        .find(|code| code.as_str() == notice.code)
        .copied()
        .unwrap_or(Code::ListContradiction);
    let line = notice.location.line_number();
    let finding = Finding::new(code, line, notice.message).in_file(&*notice.location.file);
    match notice.help {
        Some(help) => finding.with_help(help),
        None => finding,
    }
}
