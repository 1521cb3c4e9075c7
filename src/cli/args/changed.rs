//! `--changed-since`, which selects the records that differ from those of a commit.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use clap::Args;
use urldb_format::{DomainFile, Metadata, ParsedFile, Record, RecordIdentity};
use urldb_text::{Code, Finding};
use urldb_verdict::ChangedRecords;

use crate::cli::Context;
use crate::config::{self, ChangedKeys};
use crate::git::{Comparison, FileVersion, Repository};
use crate::limits;

/// `--changed-since`.
#[derive(Debug, Default, Args)]
pub(crate) struct ChangedArgs {
    /// Only records that differ from those of this commit
    #[arg(long = "changed-since", value_name = "REV")]
    revision: Option<String>,
}

impl ChangedArgs {
    /// Whether the option is not given.
    pub(crate) fn is_everything(&self) -> bool {
        self.revision.is_none()
    }

    /// The commit, if the option is given.
    pub(crate) fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// The changed files, if the option is given.
    pub(crate) fn resolve(&self, context: &Context) -> anyhow::Result<Option<ChangedFiles>> {
        let revision = self.revision.as_deref();
        revision
            .map(|revision| ChangedFiles::since(revision, context))
            .transpose()
    }

    /// The keys of urldb.toml that differ, if the option is given.
    pub(crate) fn settings(&self, context: &Context) -> anyhow::Result<Option<ChangedKeys>> {
        let Some(revision) = &self.revision else {
            return Ok(None);
        };
        let repository = Repository::of_project(&context.config.root)?;
        let Some(repository) = repository else {
            return Ok(None);
        };
        changed_settings(&repository, &repository.changes_since(revision)?, context)
    }

    /// The records that differ, if the option is given.
    pub(crate) fn records(&self, context: &Context) -> anyhow::Result<Option<ChangedRecords>> {
        Ok(self.resolve(context)?.map(|changed| changed.records()))
    }
}

/// The domain files that may differ from those of a commit, with their old bytes.
#[derive(Debug)]
pub(crate) struct ChangedFiles {
    revision: String,
    /// The old bytes by the path of the file; empty for a new file.
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl ChangedFiles {
    fn since(revision: &str, context: &Context) -> anyhow::Result<Self> {
        let database = context.database();
        let repository = Repository::of_project(&database)?.ok_or_else(|| {
            let folder = database.display();
            anyhow::anyhow!("--changed-since {revision}: {folder} is in no git repository")
        })?;
        let folder = repository.relative(&database)?;
        let mut files = BTreeMap::new();
        let comparison = repository.changes_since(revision)?;
        for file in repository.changed_files(&comparison, &folder)? {
            let name = domain_file_name(&file.path, &folder);
            let Some(name) = name.filter(|_| file.after != FileVersion::Absent) else {
                continue;
            };
            let before = match &file.before {
                FileVersion::Blob(id) => repository.read_blob(id)?,
                _ => vec![],
            };
            files.insert(database.join(name), before);
        }
        Ok(Self {
            revision: revision.to_owned(),
            files,
        })
    }

    /// The records that differ in identity or content; all records of a file whose metadata differ.
    fn records(&self) -> ChangedRecords {
        let mut changed = ChangedRecords::since(&self.revision);
        for (path, before) in &self.files {
            let host = urldb_format::host_of(path);
            let before = DomainFile::parse(path, before).file;
            let now = DomainFile::read_or_report(path).file;
            let earlier: HashSet<RecordIdentity> = before
                .records()
                .map(|entry| before.metadata().exact_identity_of(entry.record()))
                .collect();
            if before.metadata() != now.metadata() {
                changed.are_new &= earlier.is_empty();
                changed.add_domain(&host);
                continue;
            }
            let known: HashSet<(RecordIdentity, String)> = before
                .records()
                .map(|entry| versioned(entry.record(), before.metadata()))
                .collect();
            for entry in now.records() {
                let version = versioned(entry.record(), now.metadata());
                if !known.contains(&version) {
                    changed.are_new &= !earlier.contains(&version.0);
                    changed.add_record(&host, version.0);
                }
            }
        }
        changed
    }

    /// The findings of the present files that lie in changed documents of the files, or are new.
    pub(crate) fn findings(&self, own_keys: &[String]) -> ChangedFindings {
        ChangedFindings(
            self.files
                .iter()
                .map(|(path, before)| (path.clone(), FileBefore::new(path, before, own_keys)))
                .collect(),
        )
    }
}

/// The keys of urldb.toml that differ between two states; `None` if no key does, or the file belongs to no
/// commit.
pub(crate) fn changed_settings(
    repository: &Repository,
    comparison: &Comparison,
    context: &Context,
) -> anyhow::Result<Option<ChangedKeys>> {
    let file = context.config.root.join(config::FILE_NAME);
    let Ok(name) = repository.relative(&file) else {
        return Ok(None);
    };
    let read = |version: &FileVersion| match version {
        FileVersion::Blob(id) => repository.read_blob(id),
        FileVersion::OnDisk => Ok(urldb_files::read(&file, limits::DOMAIN_FILE)?),
        FileVersion::Absent => Ok(vec![]),
        // Stands for a link, whose target is not read: a text that is no TOML.
        FileVersion::Link(_) | FileVersion::Submodule | FileVersion::Unmerged => Ok(b"=".to_vec()),
    };
    for changed in repository.changed_files(comparison, &name)? {
        if changed.path == name {
            return Ok(ChangedKeys::between(
                &read(&changed.before)?,
                &read(&changed.after)?,
            ));
        }
    }
    Ok(None)
}

/// The name of the file at `path`, if it is a domain file directly in `folder`.
pub(crate) fn domain_file_name<'a>(path: &'a Path, folder: &Path) -> Option<&'a Path> {
    let name = path.strip_prefix(folder).ok()?;
    let is_child = name.components().count() == 1;
    (is_child && urldb_format::is_domain_file(name)).then_some(name)
}

/// A record with its content, to find it in a set.
fn versioned(record: &Record, metadata: &Metadata) -> (RecordIdentity, String) {
    let content = urldb_format::write_documents([&record.to_mapping()]);
    (metadata.exact_identity_of(record), content)
}

/// The files of a change, which tell the findings that the change has caused.
#[derive(Debug)]
pub(crate) struct ChangedFindings(BTreeMap<PathBuf, FileBefore>);

impl ChangedFindings {
    /// Whether the file at `path` has changed.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    /// Whether the line, from 1, belongs to a changed document of the file at `path`.
    pub(crate) fn is_changed(&self, path: &Path, line: usize) -> bool {
        self.0.get(path).is_some_and(|file| file.is_changed(line))
    }

    /// Whether a finding in the file at `path` lies in a changed document, or was not there before.
    pub(crate) fn has(&self, path: &Path, finding: &Finding) -> bool {
        self.0.get(path).is_some_and(|file| {
            let kind = (finding.code, finding.message.clone());
            file.is_changed(finding.line) || !file.findings.contains(&kind)
        })
    }
}

/// A domain file, compared with an earlier version.
#[derive(Debug)]
struct FileBefore {
    /// For each line of the present file, whether it belongs to a changed document.
    changed_lines: Vec<bool>,
    /// The kinds of findings of the earlier version.
    findings: HashSet<(Code, String)>,
}

impl FileBefore {
    /// Whether the line, from 1, belongs to a changed document.
    fn is_changed(&self, line: usize) -> bool {
        self.changed_lines
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or(true)
    }

    fn new(path: &Path, before: &[u8], own_keys: &[String]) -> Self {
        let parsed: ParsedFile = DomainFile::parse(path, before);
        let findings = urldb_format::lint(&parsed, own_keys).into_iter();
        let before = String::from_utf8_lossy(before);
        let mut known: HashMap<String, usize> = HashMap::new();
        for document in documents(&before) {
            *known.entry(document.concat()).or_default() += 1;
        }
        // A file that cannot be read has one finding, at its first line.
        let now = DomainFile::read_bytes(path).unwrap_or_default();
        let now = String::from_utf8_lossy(&now);
        let mut changed_lines = Vec::new();
        for document in documents(&now) {
            let left = known.get_mut(&document.concat()).filter(|left| **left > 0);
            let is_changed = left.map(|left| *left -= 1).is_none();
            changed_lines.extend(document.iter().map(|_| is_changed));
        }
        Self {
            changed_lines,
            findings: findings
                .map(|finding| (finding.code, finding.message))
                .collect(),
        }
    }
}

/// The lines of each YAML document: `---` at the beginning of a line always begins one.
fn documents(text: &str) -> Vec<Vec<&str>> {
    let mut documents: Vec<Vec<&str>> = vec![];
    for line in text.split_inclusive('\n') {
        match documents.last_mut() {
            Some(document) if !line.starts_with("---") => document.push(line),
            _ => documents.push(vec![line]),
        }
    }
    documents
}
