//! The configuration in urldb.toml: one struct a section, every key with a default.
//!
//! [`discover`] finds the file and [`load`] reads it, and reports all mistakes in one pass. The
//! command line overrides values of the result.

mod archive;
mod changed;
mod check;
mod digest;
mod find;
mod headers;
mod list_format;
mod load;
mod mail;
mod notify;
mod owners;
mod roots;
mod secrets;
pub(crate) mod section;
mod services;
mod source;
mod untrusted;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use urldb_fetch::NetworkOptions;
use urldb_text::{Code, sanitize};

pub use archive::{Archive, ArchiveRecords, ArchiveRequests, ArchiveStore, KeepRevisits};
pub use changed::ChangedKeys;
pub use check::Check;
pub use find::{FindPlace, UrlTemplate};
pub use list_format::Format;
pub(crate) use list_format::{parse_base, parse_column};
pub use load::{ConfigError, ProblemList, database_folder, discover, discover_by, load, load_by};
pub use mail::{EmailTransport, NotifyEmail, NotifySmtp, SmtpSecurity};
pub use notify::{Audience, DomainPattern, NotifierKind, Notify, NotifyHtml, Occasion};
pub use owners::{OwnedPrefix, Owners};
pub use services::{NotifyCommand, NotifyHttp, NotifyIssues, NotifyWebhook, TextSource};
pub use source::{ListSource, OnGone};
pub(crate) use source::{format_of, is_name as is_source_name};
pub use untrusted::{Author, TRUSTED_KEYS};
pub use watch::Watch;

/// The name of the configuration file.
pub const FILE_NAME: &str = "urldb.toml";

/// The whole configuration of one repository.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The folder that urldb.toml stands in (or would); all paths are relative to it.
    pub root: PathBuf,
    /// The file that was read, for errors; empty if there is none.
    pub file: PathBuf,
    /// The people who wrote the file, and the files of the repository.
    pub author: Author,
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
    /// `[owners]`.
    pub owners: Owners,
    /// `[source.NAME]`.
    pub sources: BTreeMap<String, ListSource>,
    /// `[find.NAME]`: the places that `urldb get` asks, by name.
    pub find: BTreeMap<String, FindPlace>,
    /// `[notify.NAME]`.
    pub notifiers: BTreeMap<String, Notify>,
    /// One line that names the keys that strangers wrote and that have no effect; sanitized.
    pub without_effect: Option<String>,
    /// The lines of each section of the file, for errors that come up later. The name of a section is as
    /// in the file, without brackets.
    pub lines: BTreeMap<String, SectionLines>,
}

/// The lines of a section in urldb.toml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionLines {
    /// The line of the section, counted from 1.
    pub section: usize,
    /// The line of each key.
    pub keys: BTreeMap<String, usize>,
}

impl Config {
    /// Whether a notifier does more than write files into a folder.
    pub fn tells_people(&self) -> bool {
        self.notifiers
            .values()
            .any(|notify| notify.kind.folder().is_none())
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
        let parts: Vec<_> = path
            .strip_prefix(&self.root)
            .unwrap_or(path)
            .iter()
            .map(|part| part.to_string_lossy())
            .collect();
        // A name with a line break could pass for a line of ours, or for a workflow command.
        sanitize(&parts.join("/")).into_owned()
    }
}

/// `[project]`: the name and the addresses of the project, for messages. A run finds defaults for absent
/// keys.
#[derive(Debug, Clone, Default)]
pub struct Project {
    /// The name.
    pub name: Option<String>,
    /// The address of the repository for people.
    pub url: Option<String>,
    /// The address of the status site.
    pub site_url: Option<String>,
}

/// `[database]`: the folder of the promises.
#[derive(Debug, Clone)]
pub struct Database {
    /// The folder of domain files.
    pub path: PathBuf,
    /// Whether the files are copies of lists, in a temporary folder.
    pub is_of_lists: bool,
}

/// `[lint]`: exceptions from the findings in domain files.
#[derive(Debug, Clone, Default)]
pub struct Lint {
    /// Keys of the user's own, which are never misspellings of known keys.
    pub keys: Vec<String>,
    /// Codes whose warnings are not printed.
    pub allow: Vec<Code>,
}

/// `[ledger]`: the folder of the state between runs.
#[derive(Debug, Clone)]
pub struct Ledger {
    /// The folder of ledger files.
    pub path: PathBuf,
}

/// `[git]`: the commits of the files that runs write.
#[derive(Debug, Clone, Default)]
pub struct Git {
    /// Whether the daemon commits the files of a run, and pushes the commits.
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
            is_of_lists: false,
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
