//! The domain file of each host, and the records in one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use urldb_format::DomainFile;

use crate::config::Config;

/// Cnames, each with the host whose domain file names it.
pub(crate) struct Aliases(BTreeMap<String, String>);

impl Aliases {
    /// Reads the metadata of every domain file.
    ///
    /// # Errors
    /// When a file cannot be read: the host of a new record could be an alias in this file.
    pub(crate) fn load(config: &Config) -> anyhow::Result<Self> {
        let database = config.open_database()?;
        let files = database.files().iter();
        Self::from_files(files.map(|path| {
            // The metadata is in every part.
            let first = DomainFile::read_parts(path)?.next();
            Ok(first.transpose()?.map(|part| part.into_parsed().0.file))
        }))
    }

    /// The aliases in the files that can be read.
    pub(crate) fn load_readable(config: &Config) -> anyhow::Result<Self> {
        let database = config.open_database()?;
        let files = database.files().iter();
        Self::from_files(files.map(|path| {
            let first = DomainFile::read_parts_or_report(path).next();
            Ok(first.map(|part| part.into_parsed().0.file))
        }))
    }

    fn from_files(
        files: impl Iterator<Item = anyhow::Result<Option<DomainFile>>>,
    ) -> anyhow::Result<Self> {
        let (mut aliases, mut hosts) = (BTreeMap::new(), vec![]);
        for file in files {
            let Some(file) = file? else { continue };
            let cnames = file.metadata().cnames.iter();
            aliases.extend(cnames.map(|cname| (cname.clone(), file.host().to_owned())));
            hosts.push(file.host().to_owned());
        }
        // A host with a file of its own is no alias.
        for host in hosts {
            aliases.remove(&host);
        }
        Ok(Self(aliases))
    }

    /// All cnames.
    pub(crate) fn cnames(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The host whose domain file has the records of `host`.
    pub(crate) fn primary_host(&self, host: &str) -> String {
        self.0.get(host).map_or(host, String::as_str).to_owned()
    }
}

/// The domain file at `path`, if there is one.
pub(crate) fn read_if_there(path: &Path) -> anyhow::Result<Option<DomainFile>> {
    if !urldb_files::is_there(path) {
        return Ok(None);
    }
    Ok(Some(DomainFile::read(path)?.file))
}

/// Every host that the database names: domains, cnames, and the hosts in `redirects-to`.
pub(crate) fn referred_hosts(config: &Config) -> anyhow::Result<BTreeSet<String>> {
    let mut hosts = BTreeSet::new();
    for path in config.open_database()?.files() {
        for part in DomainFile::read_parts_or_report(path) {
            let file = part.into_parsed().0.file;
            hosts.insert(file.host().to_owned());
            hosts.extend(file.metadata().cnames.iter().cloned());
            let targets = file
                .records()
                .filter_map(|entry| entry.record().redirects_to.as_deref());
            let targets = targets.filter_map(|target| url::Url::parse(target).ok());
            hosts.extend(targets.filter_map(|target| target.host_str().map(str::to_owned)));
        }
    }
    Ok(hosts)
}
