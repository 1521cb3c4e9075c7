//! Mistakes of staged domain files that show only beside other files of the index.
//!
//! Other files are read only if the commit can make such a mistake: the metadata of all files if it adds a
//! host or a cname, and the records of all hosts that share site rules if a staged host has site rules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use urldb_canon::rules::{ScriptFile, registrable_domain};
use urldb_format::{DomainFile, host_of};
use urldb_text::Finding;

use crate::database::across::AcrossFiles;
use crate::database::site_rules::{self, LoadedRules};
use crate::git::{RejectedFile, Repository};

struct IndexedFiles<'a> {
    repository: &'a Repository,
    /// Path and blob of each domain file.
    domain_files: Vec<(PathBuf, String)>,
    /// Path and blob of each file of rules.
    rules: Vec<(PathBuf, String)>,
}

/// The staged files with mistakes. `folder` is the database, relative to the work tree; `staged` are the
/// staged domain files with their metadata.
pub(super) fn check(
    repository: &Repository,
    folder: &Path,
    staged: &[DomainFile],
) -> anyhow::Result<Vec<RejectedFile>> {
    if staged.is_empty() {
        return Ok(vec![]);
    }
    let index = IndexedFiles::list(repository, folder)?;
    let (domains, rules) = index.rules_of(staged)?;
    let mut across = AcrossFiles::new(rules.holding());
    let with_heads = has_new_names(repository, staged)?;
    for file in staged {
        across.add_head(file);
    }
    for (path, id) in &index.domain_files {
        let has_rules = domains.contains(registrable_domain(&host_of(path)));
        if has_rules && rules.holding().is_some() {
            across.add_bytes(path, &repository.read_blob(id)?);
        } else if with_heads && !staged.iter().any(|file| file.path() == path) {
            across.add_head(&DomainFile::parse_head(path, &repository.read_blob(id)?));
        }
    }
    let is_staged = |path: &Path| staged.iter().any(|file| file.path() == path);
    let mut by_file: BTreeMap<PathBuf, Vec<Finding>> = BTreeMap::new();
    for mut finding in across.finish(|_| false, is_staged) {
        if finding.is_error()
            && let Some(path) = finding.file.take()
        {
            by_file.entry(path).or_default().push(finding);
        }
    }
    let rejected = by_file.into_iter();
    Ok(rejected
        .map(|(path, findings)| RejectedFile { path, findings })
        .collect())
}

/// Whether a staged file has a host or a cname that HEAD does not have there.
fn has_new_names(repository: &Repository, staged: &[DomainFile]) -> anyhow::Result<bool> {
    for file in staged {
        let cnames = &file.metadata().cnames;
        let Some(id) = repository.blob_at("HEAD", file.path())? else {
            return Ok(true);
        };
        if !cnames.is_empty() {
            let before = DomainFile::parse_head(file.path(), &repository.read_blob(&id)?);
            if before.metadata().cnames != *cnames {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

impl<'a> IndexedFiles<'a> {
    fn list(repository: &'a Repository, folder: &Path) -> anyhow::Result<Self> {
        let rules_folder = folder.join(site_rules::FOLDER);
        let (mut domain_files, mut rules) = (vec![], vec![]);
        for (path, id) in repository.indexed(folder)? {
            if path.parent() == Some(folder) && urldb_format::is_domain_file(&path) {
                domain_files.push((path, id));
            } else if path.parent() == Some(&rules_folder) && site_rules::is_rules_file(&path) {
                rules.push((path, id));
            }
        }
        Ok(Self {
            repository,
            domain_files,
            rules,
        })
    }

    /// The registrable domains of staged files that have site rules, and these rules.
    fn rules_of(&self, staged: &[DomainFile]) -> anyhow::Result<(BTreeSet<String>, LoadedRules)> {
        let of_staged = staged.iter().map(|file| registrable_domain(file.host()));
        let of_staged: BTreeSet<&str> = of_staged.collect();
        let mut domains = BTreeSet::new();
        let mut files = vec![];
        for (path, id) in &self.rules {
            let name = path.file_name().and_then(|name| name.to_str());
            let domain = match name.and_then(ScriptFile::from_name) {
                Some(ScriptFile::Domain(domain)) => domain,
                Some(ScriptFile::Website(website)) => registrable_domain(&website).to_owned(),
                None => continue,
            };
            if of_staged.contains(domain.as_str()) {
                files.push((path.as_path(), self.repository.read_blob(id)?));
                domains.insert(domain);
            }
        }
        let files = files.iter().map(|(path, bytes)| (*path, bytes.as_slice()));
        Ok((domains, LoadedRules::of_bytes(files)))
    }
}
