//! The manifest of a bundle.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_verdict::{Selection, Shard};

/// The name of the manifest.
pub(super) const MANIFEST: &str = "manifest.json";

/// The name of the file with the observations.
pub(super) const OBSERVATIONS: &str = "observations.jsonl";

/// The number of this form of bundles.
pub(super) const FORMAT: u32 = 1;

/// Describes a whole bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Manifest {
    /// The number of the form.
    pub format: u32,
    /// The version of urldb that wrote the bundle.
    pub version: String,
    /// The shard.
    pub shard: Shard,
    /// Identifies this attempt of the shard: its start in UTC, and a random number.
    pub attempt: String,
    /// The [digest](super::digest_of_inputs) of everything that the collecting run must have in common.
    pub inputs: String,
    /// The records that the run was about.
    #[serde(default)]
    pub selection: Selection,
    /// When the shard began.
    pub started: Timestamp,
    /// When it ended.
    pub finished: Timestamp,
    /// Number of jobs.
    pub jobs: u64,
    /// The files of the bundle besides the manifest.
    pub files: Vec<BundleFile>,
}

/// A file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BundleFile {
    /// Its name in the folder of the bundle.
    pub name: String,
    /// Its length, in bytes.
    pub length: u64,
    /// Its SHA-256, in lower-case hex.
    pub sha256: String,
}
