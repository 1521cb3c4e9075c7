//! A domain file beside the items of lists about it. The file is loaded only if it changes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use urldb_canon::{RequestUrl, Scheme};
use urldb_format::{DomainFile, HELD_URIS, Metadata, Record};
use urldb_interchange::ListItem;

use super::known::{merge_file, metadata_of};
use super::merge::{Merge, MergePolicy};
use super::outcome::{DomainChanges, Outcome};
use super::spool::{Items, Spool};
use crate::config::Config;
use crate::database::aliases::Aliases;
use crate::database::edit::Edit;
use crate::database::lookup::url_text;

/// The domains, each with the hosts of its items: itself, and its cnames.
pub(crate) fn domains(spool: &Spool, aliases: &Aliases) -> BTreeMap<String, Vec<String>> {
    let mut domains: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for host in spool.hosts() {
        let domain = aliases.primary_host(&host);
        domains.entry(domain).or_default().push(host);
    }
    domains
}

/// A domain about which lists say something.
pub(crate) struct Domain {
    host: String,
    path: PathBuf,
    /// The name of the file, as messages show it.
    name: Arc<str>,
    pub(crate) metadata: Metadata,
    has_new_vary: bool,
}

impl Domain {
    /// Reads the metadata of the domain file; one that is not there gets them from the items.
    ///
    /// # Errors
    /// When the file cannot be read, or cannot take the items.
    pub(crate) fn open(
        config: &Config,
        host: &str,
        items: &[Box<ListItem>],
        policy: MergePolicy<'_>,
    ) -> anyhow::Result<Self> {
        let path = config.database_root().path().join(format!("{host}.yaml"));
        let name: Arc<str> = config.relative_name(&path).into();
        let has_host = host == HELD_URIS || RequestUrl::new(Scheme::Http, host, "/").is_some();
        anyhow::ensure!(
            has_host || items.is_empty(),
            "{name} cannot take URLs: its name is not a host"
        );
        let known = metadata_of(&path, items, policy)?;
        Ok(Self {
            host: host.to_owned(),
            path,
            name,
            metadata: known.metadata,
            has_new_vary: known.has_new_vary,
        })
    }

    /// Merges the items into the records.
    ///
    /// # Errors
    /// When the file cannot be read, or has mistakes that hide records.
    pub(crate) fn merge(
        self,
        items: Items,
        policy: MergePolicy<'_>,
    ) -> anyhow::Result<MergedDomain> {
        let mut merge = Merge::new(&self.host, &self.metadata, items, policy);
        merge_file(&mut merge, &self.path, &self.name, policy)?;
        let changes = merge.finish();
        Ok(MergedDomain {
            host: self.host,
            path: self.path,
            name: self.name,
            metadata: self.metadata,
            has_new_vary: self.has_new_vary,
            changes,
        })
    }
}

/// A domain with merged records, not written yet.
pub(crate) struct MergedDomain {
    pub(crate) host: String,
    pub(crate) path: PathBuf,
    /// The name of the file, as messages show it.
    pub(crate) name: Arc<str>,
    pub(crate) metadata: Metadata,
    /// Whether the metadata name headers in `vary` that the file lacks.
    has_new_vary: bool,
    pub(crate) changes: DomainChanges,
}

impl MergedDomain {
    /// The records of items and of sources, each with its URL.
    pub(crate) fn records(&self) -> impl Iterator<Item = (&Record, Outcome, String)> {
        self.changes.records.iter().map(|(record, outcome)| {
            let scheme = self.metadata.scheme_of(record);
            (
                &**record,
                *outcome,
                url_text(scheme, &self.host, &record.path),
            )
        })
    }

    /// Whether the domain file stays as it is.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.has_new_vary
    }

    /// Prepares the new domain file, if something changes.
    ///
    /// # Errors
    /// When the file cannot be read or written, or has mistakes in records that change.
    pub(crate) fn prepare(self, edit: &mut Edit) -> anyhow::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let mut file = if urldb_files::is_there(&self.path) {
            let mut file = DomainFile::read(&self.path)?.file;
            if self.has_new_vary {
                file.update_metadata(|known| known.vary.clone_from(&self.metadata.vary))?;
            }
            file
        } else {
            DomainFile::create(&self.path, self.metadata)?
        };
        file.remove_all(&self.changes.remove)?;
        file.put_all(self.changes.into_put())?;
        edit.prepare(&file)
    }
}
