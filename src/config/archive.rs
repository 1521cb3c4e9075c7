//! `[archive]`: the archive and the places that store it.

use std::path::PathBuf;
use std::time::Duration;

use urldb_store::{InvalidLocation, Location};
use urldb_warc::{DigestAlgorithm, Version};

use super::section::Section;

/// Most characters of a text about the archive.
pub(super) const MOST_TEXT: usize = 1000;

/// Most bytes of stored files that are kept on this machine, if the file does not say.
const CACHE_SIZE: u64 = 1_000_000_000;

/// Least bytes of a segment: the longest HTTP head, and as much of the body of a request as an index reads
/// (1 MiB), with room to spare.
const LEAST_SEGMENT: u64 = 2_000_000;

/// `[archive]`.
#[derive(Debug, Clone)]
pub struct Archive {
    /// The folder of WARC files.
    pub path: PathBuf,
    /// The people who run urldb, for the first record of each WARC file.
    pub operator: Option<String>,
    /// A description of the archive, for the first record of each WARC file and for exports.
    pub description: Option<String>,
    /// The records whose answers are archived.
    pub records: ArchiveRecords,
    /// The captures that get a request record.
    pub requests: ArchiveRequests,
    /// The version of WARC that is written.
    pub version: Version,
    /// The algorithm of the archive's digests.
    pub digest: DigestAlgorithm,
    /// Bytes of a WARC file after which the next file begins.
    pub max_size: u64,
    /// Most bytes in the block of a record; runs write longer ones in segments. `None` for no limit.
    pub segment_size: Option<u64>,
    /// Whether each record states its compressed length (`sl`).
    pub skip_lengths: bool,
    /// The revisits of a quiet period that a compaction keeps.
    pub keep_revisits: KeepRevisits,
    /// Most bytes beyond the promised length that are read of a body, so that the archive gets a
    /// body that grew.
    pub max_capture: u64,
    /// The address of a collection on a server that replays the archive, with a slash at its end.
    pub replay_url: Option<String>,
    /// The places of finished files; the folder is then a cache. The first one decides which files there are.
    pub stores: Vec<ArchiveStore>,
    /// Most bytes of stored files that are kept on this machine.
    pub cache_size: u64,
    /// The time within which runs read every stored byte again.
    pub check_every: Duration,
    /// Most bytes of a place that a run reads for that, and most bytes that it copies to a place.
    pub check_bytes: u64,
}

/// A place of an archive.
#[derive(Debug, Clone)]
pub struct ArchiveStore {
    /// A bucket and a prefix, or a folder.
    pub location: Location,
    /// The URL of the server, unless AWS.
    pub endpoint: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// The beginning of the names of its environment variables.
    pub env_prefix: String,
}

/// The records whose answers are archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveRecords {
    /// Records that declare a digest or a length.
    Static,
    /// All records.
    All,
}

/// The revisits of a quiet period that a compaction keeps, besides the first and the last.
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

/// The captures that get a request record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveRequests {
    /// Full captures.
    Captures,
    /// Revisits as well.
    All,
}

impl ArchiveRecords {
    const NAMES: [(&str, Self); 2] = [("static", Self::Static), ("all", Self::All)];
}

impl KeepRevisits {
    const NAMES: [(&str, Self); 4] = [
        ("all", Self::All),
        ("daily", Self::Daily),
        ("weekly", Self::Weekly),
        ("monthly", Self::Monthly),
    ];
}

impl ArchiveRequests {
    const NAMES: [(&str, Self); 2] = [("captures", Self::Captures), ("all", Self::All)];
}

/// The names of WARC versions.
const VERSIONS: [(&str, Version); 3] = [
    ("1.1", Version::Warc11),
    ("1.0", Version::Warc10),
    ("0.9", Version::Warc09),
];

const DIGESTS: [(&str, DigestAlgorithm); 2] = [
    ("sha256", DigestAlgorithm::Sha256),
    ("sha1", DigestAlgorithm::Sha1),
];

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
            max_size: 500_000_000,
            segment_size: None,
            skip_lengths: false,
            keep_revisits: KeepRevisits::All,
            max_capture: 100_000_000,
            replay_url: None,
            stores: vec![],
            cache_size: CACHE_SIZE,
            check_every: Duration::from_hours(100 * 24),
            check_bytes: 1_000_000_000,
        }
    }
}

pub(super) fn archive(section: &Section<'_>) -> Archive {
    let default = Archive::default();
    let line = |key| section.line(key, "a text", MOST_TEXT);
    Archive {
        path: section.text("path").map_or(default.path, PathBuf::from),
        operator: line("operator"),
        description: line("description"),
        records: section
            .choice("records", &ArchiveRecords::NAMES)
            .unwrap_or(default.records),
        requests: section
            .choice("requests", &ArchiveRequests::NAMES)
            .unwrap_or(default.requests),
        version: section
            .choice("version", &VERSIONS)
            .unwrap_or(default.version),
        digest: section.choice("digest", &DIGESTS).unwrap_or(default.digest),
        max_size: section.bytes("max-size").unwrap_or(default.max_size),
        segment_size: segment_size(section),
        skip_lengths: section.flag("sl").unwrap_or(default.skip_lengths),
        keep_revisits: section
            .choice("keep-revisits", &KeepRevisits::NAMES)
            .unwrap_or(default.keep_revisits),
        max_capture: section.bytes("max-capture").unwrap_or(default.max_capture),
        replay_url: section.checked("replay-url", replay_url),
        stores: stores(section),
        cache_size: section.bytes("cache-size").unwrap_or(CACHE_SIZE),
        check_every: section
            .duration("check-every")
            .unwrap_or(default.check_every),
        check_bytes: section.bytes("check-bytes").unwrap_or(default.check_bytes),
    }
}

/// The limit of blocks, large enough for an index to find in a first segment all that it needs.
fn segment_size(section: &Section<'_>) -> Option<u64> {
    let size = section.bytes("segment-size")?;
    if size < LEAST_SEGMENT {
        let room =
            "`segment-size` should be at least \"2MB\", so that a first segment has the whole head";
        section.wrong("segment-size", room);
    }
    Some(size.max(LEAST_SEGMENT))
}

/// The address of a server that replays the archive. Only output has it: no request goes there.
fn replay_url(text: &str) -> Result<String, String> {
    let wrong = |problem: &str| format!("`replay-url` should be the URL of a server: {problem}");
    let mut url = urldb_http::endpoint(text, true).map_err(|problem| wrong(&problem))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong(
            "the address of a capture begins with it, so it has no `?` and no `#`",
        ));
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url.into())
}

/// Reads the places of the archive.
fn stores(section: &Section<'_>) -> Vec<ArchiveStore> {
    let stores = section.texts_or_sections("stores", location, |table| {
        let url = table.checked("url", location);
        if !table.has("url") {
            table.problem("the `url` is missing, such as \"s3://BUCKET/PREFIX\"");
        }
        let endpoint = table.checked("endpoint", endpoint);
        let region = table.text("region");
        let prefix = table.checked("env-prefix", env_prefix);
        let store = url.map(|url| ArchiveStore {
            endpoint,
            region,
            env_prefix: prefix.unwrap_or_default(),
            ..url
        });
        if let Some(store) = &store
            && matches!(store.location, Location::Folder(_))
        {
            for key in ["endpoint", "region", "env-prefix"] {
                if table.has(key) {
                    table.wrong(key, format!("`{key}` has no effect for a folder"));
                }
            }
        }
        store
    });
    if !section.has("stores") && section.has("cache-size") {
        section.wrong("cache-size", "`cache-size` has no effect without `stores`");
    }
    for (at, store) in stores.iter().enumerate() {
        if stores[..at].iter().any(|it| it.location == store.location) {
            section.wrong("stores", format!("{} is a place twice", store.location));
        }
    }
    stores
}

/// A place with the settings of the environment.
fn location(text: &str) -> Result<ArchiveStore, String> {
    let location = text.parse().map_err(|problem: InvalidLocation| {
        format!(
            "a place of the archive should be such as \"s3://BUCKET/PREFIX\" or \"file:///FOLDER\": {problem}"
        )
    })?;
    Ok(ArchiveStore {
        location,
        endpoint: None,
        region: None,
        env_prefix: String::new(),
    })
}

fn endpoint(text: &str) -> Result<String, String> {
    // AWS_ALLOW_HTTP in the environment decides whether plain http is allowed.
    urldb_http::endpoint(text, true)
        .map(|_| text.to_owned())
        .map_err(|problem| format!("`endpoint` should be the URL of a server: {problem}"))
}

fn env_prefix(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    if text.bytes().all(is_plain) && !text.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    Err("`env-prefix` should have capital letters, digits and _, such as \"B_\"".to_owned())
}
