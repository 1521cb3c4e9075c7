//! Conflicts about the content of a URL: the side whose bytes the ledger saw last. With `--by-evidence`, that side
//! is taken.

use urldb_format::{DomainFile, Record, RecordEntry, RecordIdentity};
use urldb_verdict::JobKey;
use urldb_warc::Digest;

use super::FileToMerge;
use super::merging::{self, MergeAttempt};
use crate::cli::Context;
use crate::database::lookup::url_text;
use crate::git::{MARKER_SIZE, Repository, TextStyle};
use crate::ledger::Ledger;

/// The names of the sides, in the order of the versions.
const SIDES: [&str; 2] = ["ours", "theirs"];

/// Says beside each conflict of a file which side the ledger saw last. With `takes`, merges the file again with the
/// content of that side; returns a line about each record that this decided.
pub(super) fn weigh(
    attempt: &mut MergeAttempt,
    file: &FileToMerge,
    (repository, style): (&Repository, TextStyle),
    takes: bool,
    context: &Context,
) -> anyhow::Result<Vec<String>> {
    if attempt.disputed.is_empty() {
        return Ok(vec![]);
    }
    let mut versions = match attempt.versions.take() {
        Some(versions) => versions,
        None => file.versions(repository)?,
    };
    let parse = |bytes: &Option<Vec<u8>>| {
        let bytes = bytes.as_deref().unwrap_or_default();
        DomainFile::parse(&file.path, bytes).file
    };
    let mut sides = [parse(&versions[1]), parse(&versions[2])];
    // A ledger with conflicts of its own knows nothing.
    let Ok(ledger) = Ledger::load(&context.ledger(), [sides[0].host()]) else {
        return Ok(vec![]);
    };
    let mut lines = vec![];
    for disputed in &attempt.disputed {
        let Some((key, served)) = served_last(&sides, &disputed.record, &ledger) else {
            continue;
        };
        let sentence = format!("a run saw the content of {} last", SIDES[served]);
        if takes {
            take(&mut sides, served, &disputed.record)?;
            let url = url_text(key.scheme, &key.domain, &key.path);
            lines.push(format!("{url}: took {}: {sentence}", SIDES[served]));
        } else if let Some(finding) = attempt.findings.get_mut(disputed.finding) {
            finding.help = Some(sentence);
        }
    }
    if lines.is_empty() {
        return Ok(lines);
    }
    for (version, side) in versions[1..].iter_mut().zip(&sides) {
        *version = Some(side.text().into_bytes());
    }
    let again = merging::merge(file.kind, &versions, style, MARKER_SIZE)?;
    let mut earlier = std::mem::take(&mut attempt.earlier);
    earlier.extend(attempt.resolution.take());
    *attempt = MergeAttempt {
        settled: attempt.settled,
        earlier,
        versions: Some(versions),
        ..again
    };
    Ok(lines)
}

/// The job of a record that both sides have, and the side whose bytes the ledger saw last. `None` if both promise the
/// same bytes, the ledger saw others, or the record makes another request than GET.
fn served_last(
    sides: &[DomainFile; 2],
    identity: &RecordIdentity,
    ledger: &Ledger,
) -> Option<(JobKey, usize)> {
    let records = [sides[0].get(identity)?, sides[1].get(identity)?].map(RecordEntry::record);
    let digests = [records[0].sha256()?, records[1].sha256()?];
    if digests[0] == digests[1] || identity.request.is_some() {
        return None;
    }
    let key = JobKey {
        domain: sides[0].host().to_owned(),
        path: identity.path.clone(),
        request: None,
        variant: identity.variant.clone(),
        alias: None,
        scheme: sides[0].metadata().scheme_of(records[0]),
    };
    let seen = ledger.get(&key)?.content?.digest;
    let is_seen = |digest| Digest::sha256(digest).to_string() == seen;
    let served = digests.into_iter().position(is_seen)?;
    Some((key, served))
}

/// Gives both sides the content that one of them promises.
fn take(
    sides: &mut [DomainFile; 2],
    served: usize,
    identity: &RecordIdentity,
) -> anyhow::Result<()> {
    let right = sides[served].get(identity);
    let Some(right) = right.map(|entry| entry.record().clone()) else {
        return Ok(());
    };
    let change = |record: &mut Record| {
        record.content_length = right.content_length;
        record.content_sha256.clone_from(&right.content_sha256);
        record.further_digests.clone_from(&right.further_digests);
    };
    Ok(sides[1 - served].update(identity, change)?)
}
