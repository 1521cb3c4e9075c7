//! Merges the versions of one file, by the kind of the file.

use std::path::{Path, PathBuf};

use urldb_format::{
    Conflict, ConflictKind, MarkerStyle, Merged, RecordIdentity, Side, UnreadableVersion, Versions,
    is_domain_file,
};
use urldb_text::{Code, Finding};

use crate::archive::fixity::IN_ARCHIVE;
use crate::config::Config;
use crate::git::{FileVersions, Resolution, TextStyle, text_merge};
use crate::{ledger, limits, notify};

/// Why larger files are merged by lines.
pub(super) const TOO_LARGE: &str =
    "the versions have more than 256 MiB together, so git merges lines";

/// The kinds of files that urldb merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum FileKind {
    /// A domain file.
    Domain,
    /// A file of the ledger.
    Ledger,
    /// An incident.
    Incident,
    /// A file of the history.
    History,
    /// A message in the outbox.
    Message,
}

impl FileKind {
    /// The kind of the file at an absolute path without links, in the project of a configuration;
    /// `None` for a file of another kind.
    pub(in crate::cli) fn from_path(path: &Path, config: &Config) -> Option<Self> {
        let real = |path: PathBuf| urldb_files::real_path(&path).unwrap_or(path);
        let root = real(config.root.clone());
        let folder = |relative: &Path| real(root.join(relative));
        let (database, ledger) = (folder(&config.database.path), folder(&config.ledger.path));
        if path.parent() == Some(&database) && is_domain_file(path) {
            return Some(Self::Domain);
        }
        if path == folder(&config.archive.path).join(IN_ARCHIVE) {
            return Some(Self::Ledger);
        }
        let in_ledger = path.strip_prefix(&ledger).ok()?;
        if ledger::is_history(in_ledger) {
            return Some(Self::History);
        }
        let is_json = path
            .extension()
            .is_some_and(|extension| extension == "json");
        if is_json && in_ledger.starts_with("outbox") {
            return Some(Self::Message);
        }
        path.extension()
            .is_some_and(|extension| extension == "yaml")
            .then_some(if in_ledger.starts_with("incidents") {
                Self::Incident
            } else {
                Self::Ledger
            })
    }
}

#[derive(Debug)]
pub(super) struct MergeAttempt {
    /// `None` if the file stays as it is.
    pub(super) resolution: Option<Resolution>,
    /// The conflicts that are left for a person.
    pub(super) findings: Vec<Finding>,
    /// The records of these conflicts.
    pub(super) disputed: Vec<Disputed>,
    /// The number of conflicts that lists settled.
    pub(super) settled: usize,
    /// The resolutions before lists or evidence settled something.
    pub(super) earlier: Vec<Resolution>,
    /// The versions that were merged, if lists or evidence changed them.
    pub(super) versions: Option<FileVersions>,
}

/// A record that both sides changed.
#[derive(Debug)]
pub(super) struct Disputed {
    /// The index of its finding.
    pub(super) finding: usize,
    pub(super) record: RecordIdentity,
}

impl MergeAttempt {
    pub(super) fn new(resolution: Option<Resolution>, finding: Finding) -> Self {
        Self {
            resolution,
            findings: vec![finding],
            disputed: vec![],
            settled: 0,
            earlier: vec![],
            versions: None,
        }
    }

    fn clean(bytes: Option<Vec<u8>>) -> Self {
        Self {
            resolution: Some(bytes.map_or(Resolution::Removed, Resolution::Merged)),
            findings: vec![],
            disputed: vec![],
            settled: 0,
            earlier: vec![],
            versions: None,
        }
    }
}

/// Merges the versions of a file: base, ours, theirs. A version that cannot be understood makes urldb
/// merge lines, as git does.
pub(super) fn merge(
    kind: FileKind,
    [base, ours, theirs]: &[Option<Vec<u8>>; 3],
    style: TextStyle,
    marker_size: usize,
) -> anyhow::Result<MergeAttempt> {
    let versions = Versions {
        base: base.as_deref(),
        ours: ours.as_deref(),
        theirs: theirs.as_deref(),
    };
    if is_too_large(versions) {
        return merge_text(versions, TOO_LARGE.to_owned(), style, marker_size);
    }
    let markers = MarkerStyle {
        size: marker_size,
        base: (style != TextStyle::Merge).then(|| "base".to_owned()),
        ..MarkerStyle::default()
    };
    let merged = match merge_ledger(kind, versions) {
        Some(merged) => merged.map(MergeAttempt::clean),
        None => urldb_format::merge(versions, &markers).map(of_merged),
    };
    let UnreadableVersion {
        name,
        line,
        message,
    } = match merged {
        Ok(attempt) => return Ok(attempt),
        Err(unreadable) => unreadable,
    };
    let why = format!("{name} cannot be merged by record: line {line}: {message}");
    merge_text(versions, why, style, marker_size)
}

/// Merges the versions of a file in two common ancestors into the base of a merge: base, and the two. Never
/// conflicts: the base stands in place of a conflict.
pub(super) fn merge_ancestors(
    kind: FileKind,
    [base, ours, theirs]: [Option<Vec<u8>>; 3],
) -> Option<Vec<u8>> {
    let versions = Versions {
        base: base.as_deref(),
        ours: ours.as_deref(),
        theirs: theirs.as_deref(),
    };
    if is_too_large(versions) {
        return base;
    }
    match merge_ledger(kind, versions) {
        Some(merged) => merged.unwrap_or(base),
        None => urldb_format::merge_ancestors(versions),
    }
}

fn is_too_large(versions: Versions) -> bool {
    [versions.base, versions.ours, versions.theirs]
        .into_iter()
        .flatten()
        .map(<[u8]>::len)
        .sum::<usize>() as u64
        > limits::MERGE.get()
}

/// Merges a file of the ledger, which never conflicts; `None` for a domain file.
fn merge_ledger(
    kind: FileKind,
    versions: Versions,
) -> Option<Result<Option<Vec<u8>>, UnreadableVersion>> {
    match kind {
        FileKind::Domain => None,
        FileKind::Ledger => Some(ledger::merge(versions)),
        FileKind::Incident => Some(ledger::incidents::merge(versions)),
        FileKind::History => Some(Ok(ledger::merge_history(versions))),
        FileKind::Message => Some(Ok(notify::merge(versions))),
    }
}

fn of_merged(merged: Merged) -> MergeAttempt {
    match merged {
        Merged::Removed => MergeAttempt::clean(None),
        Merged::File { bytes, conflicts } if conflicts.is_empty() => {
            MergeAttempt::clean(Some(bytes))
        }
        Merged::File { bytes, conflicts } => MergeAttempt {
            resolution: Some(Resolution::Conflict(bytes)),
            findings: conflicts.iter().map(finding_of).collect(),
            disputed: disputed(&conflicts),
            settled: 0,
            earlier: vec![],
            versions: None,
        },
        Merged::RemovedAndChanged { removed_by } => {
            let sides = match removed_by {
                Side::Ours => "our side removed the file, their side changed it",
                Side::Theirs => "their side removed the file, our side changed it",
            };
            MergeAttempt::new(None, Finding::new(Code::UnmergedFile, 1, sides))
        }
    }
}

fn disputed(conflicts: &[Conflict]) -> Vec<Disputed> {
    conflicts
        .iter()
        .enumerate()
        .filter_map(|(finding, conflict)| {
            let record = conflict.record.clone()?;
            matches!(conflict.kind, ConflictKind::Keys(_)).then_some(Disputed { finding, record })
        })
        .collect()
}

fn finding_of(conflict: &Conflict) -> Finding {
    let Conflict {
        line, about, kind, ..
    } = conflict;
    let message = match kind {
        ConflictKind::RemovedAndChanged => {
            format!("one side removed {about}, the other side changed it")
        }
        ConflictKind::Keys(keys) if keys.is_empty() => {
            format!("both sides changed the comments of {about}")
        }
        ConflictKind::Keys(keys) => {
            let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            format!("both sides changed {} of {about}", keys.join(", "))
        }
    };
    Finding::new(Code::ConflictMarker, *line, message)
}

/// Merges lines, for the reason that the finding says.
fn merge_text(
    versions: Versions,
    why: String,
    style: TextStyle,
    marker_size: usize,
) -> anyhow::Result<MergeAttempt> {
    let mut finding = Finding::new(Code::UnmergedFile, 1, why);
    let (Some(ours), Some(theirs)) = (versions.ours, versions.theirs) else {
        return Ok(MergeAttempt::new(None, finding));
    };
    let lines = [versions.base.unwrap_or_default(), ours, theirs];
    let Some(merged) = text_merge(lines, style, marker_size)? else {
        return Ok(MergeAttempt::new(None, finding));
    };
    let resolution = if merged.has_conflicts {
        finding.line = first_conflict(&merged.bytes, marker_size);
        Resolution::Conflict(merged.bytes)
    } else {
        Resolution::Merged(merged.bytes)
    };
    let help = "the file was merged by lines, as git does";
    Ok(MergeAttempt::new(Some(resolution), finding.with_help(help)))
}

/// The line of the first marker in merged lines, from 1.
fn first_conflict(merged: &[u8], marker_size: usize) -> usize {
    let marker = format!("{} ours", "<".repeat(marker_size));
    let before = merged
        .split(|byte| *byte == b'\n')
        .position(|line| line.trim_ascii_end() == marker.as_bytes());
    before.map_or(1, |before| before + 1)
}
