//! What urldb.toml says: one struct a section, every key with a default.
//!
//! [`discover`] finds the file and [`load`] reads it, and reports everything wrong with it in
//! one pass. Flags are laid over the result by the command line.

mod challenge;
mod load;
mod mapping;
mod proxy;
pub(crate) mod section;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;
use urldb_warc::Version;
use urldb_warc::digest::Algorithm;

pub use challenge::Challenge;
pub(crate) use challenge::parse as parse_challenges;
pub use load::{Complaints, ConfigError, FILE_NAME, discover, load};
pub use mapping::{InvalidMapping, Mapping};
pub use proxy::{Proxy, ProxyAddress};

/// The whole configuration of one repository.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The folder that urldb.toml stands in (or would); all paths are relative to it.
    pub root: PathBuf,
    /// `[database]`.
    pub database: Database,
    /// `[check]`.
    pub check: Check,
    /// `[network]`.
    pub network: Network,
    /// `[archive]`.
    pub archive: Archive,
    /// `[ledger]`.
    pub ledger: Ledger,
    /// `[[schedule]]`.
    pub schedules: Vec<Schedule>,
    /// `[notify.NAME]`.
    pub notifiers: BTreeMap<String, Notify>,
}

impl Config {
    /// Opens the folder of domain files.
    ///
    /// # Errors
    /// When it is not there or cannot be listed; says what to do.
    pub fn open_database(&self) -> anyhow::Result<urldb_format::Database> {
        let folder = self.root.join(&self.database.path);
        if !folder.exists() {
            anyhow::bail!(
                "there is no database at {}; `urldb init` makes one, and [database] path in {FILE_NAME} names another",
                folder.display()
            );
        }
        Ok(urldb_format::Database::open(folder)?)
    }

    /// A path as it is shown and reported: relative to the root, with `/`.
    pub fn relative_name(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
        let mut name = String::new();
        for char in parts.join("/").chars() {
            // A name with a line break could pass for a line of ours, or for a workflow command.
            if char.is_control() {
                name.extend(char.escape_default());
            } else {
                name.push(char);
            }
        }
        name
    }
}

/// `[database]`: where the promises stand.
#[derive(Debug, Clone)]
pub struct Database {
    /// The folder of domain files.
    pub path: PathBuf,
}

/// `[check]`: how URLs are fetched and judged.
#[derive(Debug, Clone)]
pub struct Check {
    /// Requests under way at once, over all hosts.
    pub concurrency: usize,
    /// The most time for a whole run; what is left by then is inconclusive.
    pub deadline: Option<Duration>,
    /// Body bytes after which a run begins nothing more; what is left then is inconclusive.
    pub byte_budget: Option<u64>,
    /// Fetches after a first one that failed.
    pub retries: usize,
    /// Time before the first of them; it doubles from one to the next.
    pub retry_wait: Duration,
    /// Redirects followed in one fetch.
    pub max_redirects: usize,
    /// Consecutive runs that must agree before a doubtful state is news.
    pub confirm: u32,
    /// How long a URL must have been blocked before that is news.
    pub blocked_after: Duration,
    /// How long before its end a certificate is worth a warning.
    pub expiry_warning: Duration,
    /// Every how many days a static record is read in full, even if the server says that it has not
    /// changed.
    pub rehash_every: u64,
    /// Which records are asked of a domain's other names too.
    pub cnames: Cnames,
    /// Answers that say nothing about the content, besides those that are known anyway.
    pub challenges: Vec<Challenge>,
    /// How a host is treated.
    pub manners: Manners,
    /// `[check.host.NAME]`: how these hosts are treated; names as URLs have them.
    pub hosts: BTreeMap<String, Manners>,
}

/// How one host is treated: the keys of `[check]` that `[check.host.NAME]` has too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manners {
    /// Requests under way at once.
    pub host_concurrency: usize,
    /// The least time between the starts of two requests.
    pub host_interval: Duration,
    /// How long the host may leave everything without an answer before it is given up.
    pub host_patience: Duration,
    /// The most time for one fetch, redirects and body included.
    pub timeout: Duration,
    /// The most time to connect, TLS included.
    pub connect_timeout: Duration,
    /// The most time until the head of a response is complete, connecting included.
    pub head_timeout: Duration,
    /// The most time without a byte of a body.
    pub idle_timeout: Duration,
    /// Bytes of a body that are read at most.
    pub max_body: u64,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// More request headers; dropped when a redirect leaves the origin.
    pub headers: BTreeMap<String, String>,
    /// Whether requests are sent that may change something.
    pub unsafe_methods: bool,
    /// Whether its HTML pages must name their official URL.
    pub canonical: bool,
}

impl Check {
    /// How a host is treated; its name as in a URL.
    pub fn manners_of(&self, host: &str) -> &Manners {
        self.hosts.get(host).unwrap_or(&self.manners)
    }

    /// Bytes of a body that are read at most, of whichever host.
    pub fn largest_body(&self) -> u64 {
        let all = self.hosts.values().chain([&self.manners]);
        all.map(|manners| manners.max_body)
            .max()
            .unwrap_or_default()
    }
}

/// Which records are asked of a domain's other names too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cnames {
    /// One for each name and day, all in turn.
    Rotate,
    /// All.
    All,
    /// None.
    None,
}

/// `[network]`: which addresses may be talked to.
#[derive(Debug, Clone, Default)]
pub struct Network {
    /// Ranges that are not public and may be connected to all the same.
    pub allow: Vec<IpNet>,
    /// A PEM file of further certificate authorities.
    pub ca_file: Option<PathBuf>,
    /// Hosts that are to be found somewhere else; also `--map`.
    pub map: Vec<Mapping>,
    /// What all requests go through, but for those that a mapping leads elsewhere.
    pub proxy: Option<Proxy>,
}

/// `[archive]`: where what was seen is kept.
#[derive(Debug, Clone)]
pub struct Archive {
    /// The folder of WARC files.
    pub path: PathBuf,
    /// Which records are archived.
    pub records: ArchiveRecords,
    /// Beside what the request is archived too.
    pub requests: ArchiveRequests,
    /// The version of WARC that is written.
    pub version: Version,
    /// What the digests in the archive are.
    pub digest: Algorithm,
    /// Bytes of a WARC file after which another one begins.
    pub max_size: u64,
}

/// Which records are archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveRecords {
    /// Those that declare a digest or a length.
    Static,
    /// All.
    All,
}

/// Beside what the request is archived too.
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

/// One `[notify.NAME]`.
#[derive(Debug, Clone)]
pub enum Notify {
    /// `type = "email"`.
    Email(NotifyEmail),
    /// `type = "html"`.
    Html(NotifyHtml),
}

/// The keys of an email notifier.
#[derive(Debug, Clone)]
pub struct NotifyEmail {
    /// The sender.
    pub from: String,
    /// The recipients.
    pub to: Vec<String>,
    /// Where it goes: an SMTP server, or a folder of `.eml` files.
    pub transport: EmailTransport,
    /// A folder of templates that stand in for ours of the same name.
    pub templates: Option<PathBuf>,
}

/// Where email goes.
#[derive(Debug, Clone)]
pub enum EmailTransport {
    /// An SMTP server.
    Smtp {
        /// Its host.
        server: String,
        /// Its port; the usual one of `security` when absent.
        port: Option<u16>,
        /// How the connection is protected.
        security: SmtpSecurity,
        /// User name.
        user: Option<String>,
        /// The environment variable that holds the password.
        password_env: Option<String>,
    },
    /// A folder that each message is written into.
    Folder(PathBuf),
}

/// How a connection to an SMTP server is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmtpSecurity {
    /// Not at all.
    None,
    /// TLS after a plain start.
    Starttls,
    /// TLS from the start.
    Implicit,
}

/// The keys of an HTML notifier.
#[derive(Debug, Clone)]
pub struct NotifyHtml {
    /// The folder that the page is written into.
    pub path: PathBuf,
    /// A folder of templates that stand in for ours of the same name.
    pub templates: Option<PathBuf>,
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
            concurrency: 32,
            deadline: None,
            byte_budget: None,
            retries: 2,
            retry_wait: Duration::from_secs(2),
            max_redirects: 10,
            confirm: 2,
            blocked_after: Duration::from_hours(7 * 24),
            expiry_warning: Duration::from_hours(14 * 24),
            rehash_every: 1,
            cnames: Cnames::Rotate,
            challenges: vec![],
            manners: Manners::default(),
            hosts: BTreeMap::new(),
        }
    }
}

impl Default for Manners {
    fn default() -> Self {
        Self {
            host_concurrency: 4,
            host_interval: Duration::from_millis(20),
            host_patience: Duration::from_mins(2),
            timeout: Duration::from_mins(5),
            connect_timeout: Duration::from_secs(10),
            head_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(30),
            max_body: 16 << 30,
            user_agent: concat!("urldb/", env!("CARGO_PKG_VERSION")).to_owned(),
            headers: BTreeMap::new(),
            unsafe_methods: false,
            canonical: false,
        }
    }
}

impl Default for Archive {
    fn default() -> Self {
        Self {
            path: "archive".into(),
            records: ArchiveRecords::Static,
            requests: ArchiveRequests::Captures,
            version: Version::Warc11,
            digest: Algorithm::Sha256,
            max_size: 1_000_000_000,
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
