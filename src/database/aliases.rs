//! The domain file of each host, and the records in one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use urldb_format::{DomainFile, DomainReader, Error};

use crate::config::Config;

/// Cnames, each with the host whose domain file names it.
pub(crate) struct Aliases(BTreeMap<String, String>);

impl Aliases {
    /// Reads the metadata of every domain file.
    ///
    /// # Errors
    /// When a file cannot be read: the host of a new record could be an alias in this file.
    pub(crate) fn load(config: &Config) -> anyhow::Result<Self> {
        Self::of_files(config.open_database()?.files())
    }

    /// The aliases in these domain files.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub(crate) fn of_files<'a>(
        files: impl IntoIterator<Item = &'a PathBuf>,
    ) -> anyhow::Result<Self> {
        Self::from_files(
            files
                .into_iter()
                .map(|path| Ok(DomainFile::read_head(path)?)),
        )
    }

    /// The aliases in the files that can be read.
    pub(crate) fn load_readable(config: &Config) -> anyhow::Result<Self> {
        let database = config.open_database()?;
        Self::from_files(database.files().iter().map(|path| {
            Ok(DomainFile::read_head(path).unwrap_or_else(|_| DomainFile::parse_head(path, b"")))
        }))
    }

    fn from_files(files: impl Iterator<Item = anyhow::Result<DomainFile>>) -> anyhow::Result<Self> {
        let (mut aliases, mut hosts) = (BTreeMap::new(), vec![]);
        for file in files {
            let file = file?;
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

    pub(crate) fn cnames(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The host whose domain file has the records of `host`.
    pub(crate) fn primary_host(&self, host: &str) -> String {
        self.0.get(host).map_or(host, String::as_str).to_owned()
    }
}

/// Every host that the database names: domains, cnames, and the hosts in `redirects-to`.
pub(crate) fn referred_hosts(config: &Config) -> anyhow::Result<BTreeSet<String>> {
    let mut hosts = BTreeSet::new();
    for path in config.open_database()?.files() {
        hosts.insert(urldb_format::host_of(path));
        // Another command reports a file that cannot be read.
        let _ = add_referred_hosts(path, &mut hosts);
    }
    Ok(hosts)
}

/// Adds the cnames of a domain file, and the hosts in its `redirects-to`.
fn add_referred_hosts(path: &Path, hosts: &mut BTreeSet<String>) -> Result<(), Error> {
    let mut file = DomainReader::open(path)?;
    hosts.extend(file.metadata().cnames.iter().cloned());
    while let Some(document) = file.next()? {
        let entry = document.to_entry();
        let target = entry
            .as_ref()
            .and_then(|it| it.record().redirects_to.as_deref());
        let target = target.and_then(|target| url::Url::parse(target).ok());
        hosts.extend(target.and_then(|target| target.host_str().map(str::to_owned)));
    }
    Ok(())
}
