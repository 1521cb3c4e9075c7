//! The configuration in urldb.toml: one struct a section, every key with a default.
//!
//! [`discover`] finds the file and [`load`] reads it, and reports all mistakes in one pass. The
//! command line overrides values of the result.

mod challenge;
mod changed;
mod load;
mod notify;
mod proxy;
mod roots;
pub(crate) mod section;
mod services;
mod untrusted;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use urldb_fetch::{FetchOptions, NetworkOptions};
use urldb_store::Location;
use urldb_text::{sanitize, secret_variable};
use urldb_verdict::{Cnames, VerdictOptions};
use urldb_warc::{DigestAlgorithm, Version};

pub use changed::ChangedKeys;
pub use load::{
    Author, ConfigError, FILE_NAME, ProblemList, database_folder, discover, discover_by, load,
    load_by,
};
pub use notify::{
    Audience, DomainPattern, EmailTransport, NotifierKind, Notify, NotifyEmail, NotifyHtml,
    Occasion, SmtpSecurity,
};
pub use services::{NotifyCommand, NotifyHttp, NotifyIssues, NotifyWebhook, TextSource};
pub use untrusted::TRUSTED_KEYS;
pub use watch::Watch;

/// The whole configuration of one repository.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The folder that urldb.toml stands in (or would); all paths are relative to it.
    pub root: PathBuf,
    /// The file that was read, for errors; empty if there is none.
    pub file: PathBuf,
    /// `[project]`.
    pub project: Project,
    /// `[database]`.
    pub database: Database,
    /// `[lint]`.
    pub lint: Lint,
    /// `[check]`.
    pub check: Check,
    /// `[network]`.
    pub network: NetworkOptions,
    /// `[archive]`.
    pub archive: Archive,
    /// `[ledger]`.
    pub ledger: Ledger,
    /// `[git]`.
    pub git: Git,
    /// `[[schedule]]`.
    pub schedules: Vec<Schedule>,
    /// `[watch]`.
    pub watch: Watch,
    /// `[notify.NAME]`.
    pub notifiers: BTreeMap<String, Notify>,
    /// One line that names the keys that strangers wrote and that have no effect; sanitized.
    pub without_effect: Option<String>,
    /// The lines of each section of the file, for errors that come up later. The name of a section is as
    /// in the file, without brackets.
    pub lines: BTreeMap<String, Lines>,
}

/// The lines of a section in urldb.toml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// The line of the section, counted from 1.
    pub section: usize,
    /// The line of each key.
    pub keys: BTreeMap<String, usize>,
}

impl Config {
    /// Whether a notifier reaches people who do not look at a folder.
    pub fn tells_people(&self) -> bool {
        let mut notifiers = self.notifiers.values();
        notifiers.any(|notify| notify.kind.folder().is_none())
    }

    /// Opens the folder of domain files.
    ///
    /// # Errors
    /// When it is not there, cannot be listed, or is a link out of the repository; says what to do.
    pub fn open_database(&self) -> anyhow::Result<urldb_format::Database> {
        // A daemon may have pulled a link since the file was read.
        self.ensure_inside()?;
        let folder = self.database_root();
        if !urldb_files::is_there(folder.path()) {
            anyhow::bail!(
                "there is no database at {}; `urldb init` makes one, and [database] path in {FILE_NAME} names another",
                folder.path().display()
            );
        }
        Ok(urldb_format::Database::open(folder.path())?)
    }

    /// Registers the secrets of requests and notifiers: a server may send them back, and no text may show
    /// them.
    fn register_secrets(&self) {
        for name in self.secret_variables() {
            // Whoever needs the variable says that it is not set.
            let _ = secret_variable(&name);
        }
    }

    /// `FILE:LINE: [SECTION]`, for an error about a key; without the file, `[SECTION]`.
    pub fn place(&self, section: &str, key: &str) -> String {
        let Some(lines) = self.lines.get(section) else {
            return format!("[{section}]");
        };
        let line = lines.keys.get(key).unwrap_or(&lines.section);
        format!("{}:{line}: [{section}]", self.file.display())
    }

    /// Whether a section of the file has the key.
    pub fn has_key(&self, section: &str, key: &str) -> bool {
        let lines = self.lines.get(section);
        lines.is_some_and(|lines| lines.keys.contains_key(key))
    }

    /// The name of the section of a host.
    pub fn section_of_host(&self, host: &str) -> Option<&str> {
        let is_of_host = |section: &&str| {
            let name = section.strip_prefix("check.host.");
            let name = name.and_then(|name| url::Host::parse(name.trim_matches('"')).ok());
            name.is_some_and(|name| name.to_string() == host)
        };
        self.lines.keys().map(String::as_str).find(is_of_host)
    }

    /// A path as it is shown and reported: relative to the root, with `/`.
    pub fn relative_name(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
        // A name with a line break could pass for a line of ours, or for a workflow command.
        sanitize(&parts.join("/")).into_owned()
    }
}

/// `[project]`: what messages call the project, and where people find it. The run finds defaults for
/// absent keys.
#[derive(Debug, Clone, Default)]
pub struct Project {
    /// The name.
    pub name: Option<String>,
    /// The address of the repository for people.
    pub url: Option<String>,
    /// The address of the status site.
    pub site_url: Option<String>,
}

/// `[database]`: where the promises stand.
#[derive(Debug, Clone)]
pub struct Database {
    /// The folder of domain files.
    pub path: PathBuf,
}

/// `[lint]`: what is no mistake in domain files.
#[derive(Debug, Clone, Default)]
pub struct Lint {
    /// Keys of the user's own, which are never misspellings of known keys.
    pub keys: Vec<String>,
}

/// `[check]`: how URLs are fetched and judged.
#[derive(Debug, Clone)]
pub struct Check {
    /// The options of fetching.
    pub fetch: FetchOptions,
    /// The options of verdicts.
    pub verdict: VerdictOptions,
    /// The time before its end from which a certificate is worth a warning.
    pub expiry_warning: Duration,
    /// Every how many days a static record is read in full, even if the server says that it has not
    /// changed.
    pub rehash_every: u64,
    /// Which records are asked of a domain's other names too.
    pub cnames: Cnames,
}

/// `[archive]`: where and how responses are archived.
#[derive(Debug, Clone)]
pub struct Archive {
    /// The folder of WARC files.
    pub path: PathBuf,
    /// Who runs urldb, for the first record of each WARC file.
    pub operator: Option<String>,
    /// What the archive is, for the first record of each WARC file and for exports.
    pub description: Option<String>,
    /// Which records are archived.
    pub records: ArchiveRecords,
    /// Which records get a request record.
    pub requests: ArchiveRequests,
    /// The version of WARC that is written.
    pub version: Version,
    /// The algorithm of the archive's digests.
    pub digest: DigestAlgorithm,
    /// Bytes of a WARC file after which the next file begins.
    pub max_size: u64,
    /// Which revisits of a quiet period a compaction keeps.
    pub keep_revisits: KeepRevisits,
    /// Most bytes beyond the promised length that are read of a body, so that the archive gets a
    /// body that grew.
    pub max_capture: u64,
    /// The object store of finished files; the folder is then a cache.
    pub store: Option<ArchiveStore>,
}

/// The object store of an archive.
#[derive(Debug, Clone)]
pub struct ArchiveStore {
    /// The bucket and the prefix.
    pub location: Location,
    /// The URL of the server, unless AWS.
    pub endpoint: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// Most bytes of stored files that are kept on this machine.
    pub cache_size: u64,
}

/// Which records are archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveRecords {
    /// Those that declare a digest or a length.
    Static,
    /// All.
    All,
}

/// Which revisits of a quiet period a compaction keeps, besides the first and the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepRevisits {
    /// All.
    All,
    /// The first of each day, in UTC.
    Daily,
    /// The first of each week, from Monday to Sunday in UTC.
    Weekly,
    /// The first of each month, in UTC.
    Monthly,
}

/// Which records get a request record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveRequests {
    /// Full captures.
    Captures,
    /// Revisits as well.
    All,
}

/// `[ledger]`: where the state between runs is kept.
#[derive(Debug, Clone)]
pub struct Ledger {
    /// The folder of ledger files.
    pub path: PathBuf,
}

/// `[git]`: what becomes of the files that runs write.
#[derive(Debug, Clone, Default)]
pub struct Git {
    /// Whether the daemon commits what a run has written, and pushes the commits.
    pub commit: bool,
}

/// One `[[schedule]]`.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Five fields as in crontab(5), or six with seconds in front.
    pub cron: String,
    /// IANA name of the time zone that it is read in.
    pub timezone: String,
    /// Only this domain.
    pub domain: Option<String>,
    /// Only this category.
    pub category: Option<String>,
}

impl Default for Database {
    fn default() -> Self {
        Self {
            path: "urldb".into(),
        }
    }
}

impl Default for Check {
    fn default() -> Self {
        Self {
            fetch: FetchOptions::default(),
            verdict: VerdictOptions::default(),
            expiry_warning: Duration::from_hours(14 * 24),
            rehash_every: 1,
            cnames: Cnames::Rotate,
        }
    }
}

impl Default for Archive {
    fn default() -> Self {
        Self {
            path: "archive".into(),
            operator: None,
            description: None,
            records: ArchiveRecords::Static,
            requests: ArchiveRequests::Captures,
            version: Version::Warc11,
            digest: DigestAlgorithm::Sha256,
            max_size: 1_000_000_000,
            keep_revisits: KeepRevisits::All,
            max_capture: 100_000_000,
            store: None,
        }
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            path: "status".into(),
        }
    }
}
