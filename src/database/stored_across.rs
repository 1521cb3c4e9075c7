//! Mistakes of domain files in the index, or in a merge, that show only beside other files.
//!
//! Beside staged files, other files are read only if the commit can make such a mistake: the metadata of all files if it adds a
//! host or a cname, and the records of all hosts that share site rules if a staged host has site rules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use urldb_canon::rules::{ScriptFile, registrable_domain};
use urldb_format::{DomainFile, host_of};
use urldb_text::Finding;

use super::across::AcrossFiles;
use super::site_rules::{self, LoadedRules};
use crate::git::{RejectedFile, Repository};

struct StoredFiles<'a> {
    repository: &'a Repository,
    /// Path and blob of each domain file.
    domain_files: Vec<(PathBuf, String)>,
    /// Path and blob of each file of rules.
    rules: Vec<(PathBuf, String)>,
}

/// The staged files with mistakes. `folder` is the database, relative to the work tree; `staged` are the
/// staged domain files with their metadata, and `before` has the blob in the base of all that are not new;
/// `stages_rules` says whether site rules are staged too.
pub(crate) fn staged_mistakes(
    repository: &Repository,
    folder: &Path,
    staged: &[DomainFile],
    before: &BTreeMap<PathBuf, String>,
    stages_rules: bool,
) -> anyhow::Result<Vec<RejectedFile>> {
    if staged.is_empty() {
        return Ok(vec![]);
    }
    let with_heads = has_new_names(repository, staged, before)?;
    let rules = folder.join(site_rules::FOLDER);
    // No listing of a large index for nothing.
    if !with_heads && !stages_rules && repository.folder_at("HEAD", &rules)?.is_empty() {
        return Ok(vec![]);
    }
    let index = StoredFiles::new(repository, folder, repository.indexed(folder)?);
    let mut by_file = BTreeMap::<PathBuf, Vec<Finding>>::new();
    for mut finding in index.errors(staged, with_heads)? {
        if let Some(path) = finding.file.take() {
            by_file.entry(path).or_default().push(finding);
        }
    }
    Ok(by_file
        .into_iter()
        .map(|(path, findings)| RejectedFile { path, findings })
        .collect())
}

/// The mistakes in the domain files of a merged commit that neither of its sides has. `folder` is the database, relative
/// to the work tree.
///
/// # Errors
/// When git fails.
pub(crate) fn mistakes_of_merge(
    repository: &Repository,
    folder: &Path,
    merged: &str,
    sides: [&str; 2],
) -> anyhow::Result<Vec<Finding>> {
    let mut changed = BTreeSet::new();
    for side in sides {
        let files = repository.changed_between([side, merged], folder)?;
        if files.is_empty() {
            return Ok(vec![]);
        }
        changed.extend(files.into_iter().map(|file| file.path));
    }
    let errors = |commit: &str| {
        let files = StoredFiles::of_commit(repository, folder, commit)?;
        let mut judged = vec![];
        for (path, id) in &files.domain_files {
            if changed.contains(path) {
                judged.push(DomainFile::parse_head(path, &repository.read_blob(id)?));
            }
        }
        files.errors(&judged, true)
    };
    let kind = |finding: &Finding| (finding.file.clone(), finding.code);
    let mut known = BTreeSet::new();
    for side in sides {
        known.extend(errors(side)?.iter().map(kind));
    }
    let mut new = errors(merged)?;
    new.retain(|finding| !known.contains(&kind(finding)));
    Ok(new)
}

/// Whether a staged file has a host or a cname that the base does not have there.
fn has_new_names(
    repository: &Repository,
    staged: &[DomainFile],
    before: &BTreeMap<PathBuf, String>,
) -> anyhow::Result<bool> {
    for file in staged {
        let cnames = &file.metadata().cnames;
        let Some(id) = before.get(file.path()) else {
            return Ok(true);
        };
        if !cnames.is_empty() {
            let before = DomainFile::parse_head(file.path(), &repository.read_blob(id)?);
            if before.metadata().cnames != *cnames {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

impl<'a> StoredFiles<'a> {
    fn of_commit(repository: &'a Repository, folder: &Path, commit: &str) -> anyhow::Result<Self> {
        let mut files = vec![];
        for folder in [folder, &folder.join(site_rules::FOLDER)] {
            let stored = repository.folder_at(commit, folder)?;
            files.extend(
                stored
                    .iter()
                    .map(|(name, id)| (folder.join(name), id.clone())),
            );
        }
        Ok(Self::new(repository, folder, files))
    }

    fn new(repository: &'a Repository, folder: &Path, files: Vec<(PathBuf, String)>) -> Self {
        let rules_folder = folder.join(site_rules::FOLDER);
        let (mut domain_files, mut rules) = (vec![], vec![]);
        for (path, id) in files {
            if path.parent() == Some(folder) && urldb_format::is_domain_file(&path) {
                domain_files.push((path, id));
            } else if path.parent() == Some(&rules_folder) && site_rules::is_rules_file(&path) {
                rules.push((path, id));
            }
        }
        Self {
            repository,
            domain_files,
            rules,
        }
    }

    /// The errors in the judged files that show only beside the other ones. Without `with_heads`, cnames are not
    /// compared.
    fn errors(&self, judged: &[DomainFile], with_heads: bool) -> anyhow::Result<Vec<Finding>> {
        let (domains, rules) = self.rules_of(judged)?;
        let mut across = AcrossFiles::new(rules.holding());
        for file in judged {
            across.add_head(file);
        }
        let is_judged = |path: &Path| judged.iter().any(|file| file.path() == path);
        for (path, id) in &self.domain_files {
            let bytes = || self.repository.read_blob(id);
            let has_rules = domains.contains(registrable_domain(&host_of(path)));
            if has_rules && rules.holding().is_some() {
                across.add_bytes(path, &bytes()?);
            } else if with_heads && !is_judged(path) {
                across.add_head(&DomainFile::parse_head(path, &bytes()?));
            }
        }
        Ok(across
            .finish(|_| false, is_judged)
            .into_iter()
            .filter(Finding::is_error)
            .collect())
    }

    /// The registrable domains of the judged files that have site rules, and these rules.
    fn rules_of(&self, judged: &[DomainFile]) -> anyhow::Result<(BTreeSet<String>, LoadedRules)> {
        let of_judged: BTreeSet<&str> = judged
            .iter()
            .map(|file| registrable_domain(file.host()))
            .collect();
        let mut domains = BTreeSet::new();
        let mut files = vec![];
        for (path, id) in &self.rules {
            let name = path.file_name().unwrap_or_default();
            let domain = match ScriptFile::from_name(&name.to_string_lossy()) {
                Some(ScriptFile::Domain(domain)) => domain,
                Some(ScriptFile::Website(website)) => registrable_domain(&website).to_owned(),
                None => continue,
            };
            if of_judged.contains(domain.as_str()) {
                files.push((path.as_path(), self.repository.read_blob(id)?));
                domains.insert(domain);
            }
        }
        let files = files.iter().map(|(path, bytes)| (*path, bytes.as_slice()));
        Ok((domains, LoadedRules::of_bytes(files)))
    }
}
