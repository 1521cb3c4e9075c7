//! Conflicts about the content of a URL: what the ledger and the archive of this machine know of both sides. With
//! `--by-evidence`, the side whose content was served last is taken.

use urldb_format::{DomainFile, Record, RecordIdentity};
use urldb_verdict::JobKey;
use urldb_warc::Digest;

use super::FileToMerge;
use super::merging::{self, MergeAttempt};
use crate::archive::{ArchiveFiles, Catalogue, date};
use crate::cli::Context;
use crate::database::lookup::url_text;
use crate::git::{MARKER_SIZE, Repository, TextStyle};
use crate::ledger::Ledger;

/// The names of the sides, in the order of the versions.
const SIDES: [&str; 2] = ["ours", "theirs"];

/// The knowledge of this machine.
pub(super) struct Evidence<'a> {
    context: &'a Context,
    /// Absent without an index on this machine.
    archive: Option<Catalogue>,
}

/// The content of a record that one side promises.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Served {
    /// The last capture of these bytes, as 14 digits.
    last: Option<String>,
    /// Whether the last run that saw the whole content saw these bytes.
    is_present: bool,
}

impl<'a> Evidence<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        let files = ArchiveFiles::on_this_machine(&context.config);
        Self {
            context,
            archive: files.and_then(Catalogue::open).ok(),
        }
    }

    /// Says beside each conflict of a file what is known. With `takes`, merges the file again as far as the evidence
    /// decides; returns a line about each record that it decided.
    pub(super) fn weigh(
        &self,
        attempt: &mut MergeAttempt,
        file: &FileToMerge,
        (repository, style): (&Repository, TextStyle),
        takes: bool,
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
        let ledger = Ledger::load(&self.context.ledger(), [sides[0].host()]).ok();
        let mut lines = vec![];
        for disputed in &attempt.disputed {
            let Some(key) = key_of(&sides, &disputed.record) else {
                continue;
            };
            let Some(served) = self.served(&sides, &key, ledger.as_ref()) else {
                continue;
            };
            let Some(sentence) = sentence(&served) else {
                continue;
            };
            if takes && let Some(winner) = winner(&served) {
                take(&mut sides, winner, &disputed.record)?;
                let url = url_text(key.scheme, &key.domain, &key.path);
                lines.push(format!("{url}: took {}: {sentence}", SIDES[winner]));
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
        // The conflicts that are left have their evidence too.
        self.weigh(attempt, file, (repository, style), false)?;
        Ok(lines)
    }

    /// The knowledge about both sides, if they promise different bytes.
    fn served(
        &self,
        sides: &[DomainFile; 2],
        key: &JobKey,
        ledger: Option<&Ledger>,
    ) -> Option<[Served; 2]> {
        let sha256 = |side: &DomainFile| side.get(&key.record())?.record().sha256();
        let digests = [sha256(&sides[0])?, sha256(&sides[1])?];
        if digests[0] == digests[1] {
            return None;
        }
        let captures = self.captures(key);
        let entry = ledger.and_then(|ledger| ledger.get(key));
        let content = entry.and_then(|entry| entry.content.as_ref());
        Some(digests.map(|digest| {
            let digest = Digest::sha256(digest).to_string();
            let mut same = captures.iter().filter(|(of, _)| *of == digest);
            Served {
                last: same.next_back().map(|(_, at)| at.clone()),
                is_present: content.is_some_and(|content| content.digest == digest),
            }
        }))
    }

    /// The digests that the archive has captured, and when, oldest first.
    fn captures(&self, key: &JobKey) -> Vec<(String, String)> {
        let url = url_text(key.scheme, &key.domain, &key.path);
        let found = self.archive.as_ref();
        // The commands of the archive report a damaged index.
        let captures = found.and_then(|archive| archive.find(&url, None).ok());
        let captures = captures.unwrap_or_default().into_iter();
        let good = captures.filter(|it| it.is_good() && it.truncated.is_none());
        let of_variant = good.filter(|it| it.line.vary == key.variant);
        of_variant
            .map(|it| (it.line.digest, it.line.timestamp))
            .collect()
    }
}

/// The job of a record that both sides have; `None` if it makes another request than GET.
fn key_of(sides: &[DomainFile; 2], identity: &RecordIdentity) -> Option<JobKey> {
    let ours = sides[0].get(identity)?.record();
    identity.request.is_none().then(|| JobKey {
        domain: sides[0].host().to_owned(),
        path: identity.path.clone(),
        request: None,
        variant: identity.variant.clone(),
        alias: None,
        scheme: sides[0].metadata().scheme_of(ours),
    })
}

/// `theirs was served on 2026-11-24, ours last on 2026-11-20`; `None` if nothing is known of either.
fn sentence(served: &[Served; 2]) -> Option<String> {
    let order = match winner(served) {
        Some(winner) => [winner, 1 - winner],
        None => [0, 1],
    };
    let [first, second] = order.map(|side| &served[side]);
    let day = |it: &Served| {
        it.last
            .as_deref()
            .map(|at| date::shown(at).chars().take(10).collect::<String>())
    };
    let leads = winner(served).is_some();
    let (one, other) = (SIDES[order[0]], SIDES[order[1]]);
    let of_first = match (day(first), first.is_present) {
        (Some(day), _) => format!("{one} was served on {day}"),
        (None, true) => format!("{one} was served last, as the ledger says"),
        (None, false) => String::new(),
    };
    let of_second = match (day(second), leads) {
        (Some(day), true) => format!("{other} not since {day}"),
        (Some(day), false) => format!("{other} was served on {day}"),
        (None, _) => format!("{other} was never archived"),
    };
    match (
        of_first.is_empty(),
        second.last.is_some() || second.is_present,
    ) {
        (true, false) => None,
        (true, true) => Some(of_second),
        (false, _) => Some(format!("{of_first}, {of_second}")),
    }
}

/// The side that was served last, if the ledger and the archive do not contradict each other.
fn winner(served: &[Served; 2]) -> Option<usize> {
    let [ours, theirs] = served;
    let by_archive = match ours.last.cmp(&theirs.last) {
        std::cmp::Ordering::Greater => Some(0),
        std::cmp::Ordering::Less => Some(1),
        std::cmp::Ordering::Equal => None,
    };
    let by_ledger = served.iter().position(|it| it.is_present);
    match (by_archive, by_ledger) {
        (Some(one), Some(other)) => (one == other).then_some(one),
        (one, other) => one.or(other),
    }
}

/// Gives both sides the content that one of them promises.
fn take(
    sides: &mut [DomainFile; 2],
    winner: usize,
    identity: &RecordIdentity,
) -> anyhow::Result<()> {
    let Some(right) = sides[winner]
        .get(identity)
        .map(|entry| entry.record().clone())
    else {
        return Ok(());
    };
    let change = |record: &mut Record| {
        record.content_length = right.content_length;
        record.content_sha256.clone_from(&right.content_sha256);
        record.further_digests.clone_from(&right.further_digests);
    };
    Ok(sides[1 - winner].update(identity, change)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(last: Option<&str>, is_present: bool) -> Served {
        Served {
            last: last.map(str::to_owned),
            is_present,
        }
    }

    #[test]
    fn the_side_that_was_served_last_is_right_unless_the_sources_disagree() {
        let (early, late) = (Some("20261120060000"), Some("20261124060000"));
        for (ours, theirs, expected, words) in [
            (
                served(early, false),
                served(late, true),
                Some(1),
                Some("theirs was served on 2026-11-24, ours not since 2026-11-20"),
            ),
            (
                served(early, true),
                served(late, false),
                None,
                Some("ours was served on 2026-11-20, theirs was served on 2026-11-24"),
            ),
            (
                served(None, false),
                served(early, false),
                Some(1),
                Some("theirs was served on 2026-11-20, ours was never archived"),
            ),
            (
                served(None, true),
                served(None, false),
                Some(0),
                Some("ours was served last, as the ledger says, theirs was never archived"),
            ),
            (
                served(late, false),
                served(late, false),
                None,
                Some("ours was served on 2026-11-24, theirs was served on 2026-11-24"),
            ),
            (served(None, false), served(None, false), None, None),
        ] {
            let both = [ours, theirs];
            assert_eq!(winner(&both), expected, "{both:?}");
            assert_eq!(sentence(&both).as_deref(), words, "{both:?}");
        }
    }
}
