//! Finds the bundles of a run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context;
use urldb_files::{Kind, Root, RootFile};
use urldb_text::sanitize;
use urldb_verdict::{Selection, Shard};

use super::manifest::{FORMAT, MANIFEST, Manifest, OBSERVATIONS};
use crate::explain::explain;
use crate::limits;

/// The folders between a given folder and a manifest: an artifact, a shard and an attempt.
const DEPTH: usize = 3;

/// The facts that a bundle must have in common with the collecting run.
pub struct Expected<'a> {
    /// The [digest](super::digest_of_inputs) of the inputs.
    pub inputs: &'a str,
    /// The selection.
    pub selection: &'a Selection,
}

/// The bundles in some folders, whose files are not verified.
pub(super) struct FoundBundles {
    /// The bundles that belong to the run, by shard and attempt.
    pub(super) bundles: BTreeMap<(Shard, String), (Root, Manifest)>,
    /// Why bundles do not count, by shard.
    pub(super) refused: BTreeMap<Shard, Vec<String>>,
    /// Why folders are no bundles of any shard.
    pub(super) unreadable: Vec<String>,
    /// The numbers of shards, each with a folder of such a bundle.
    counts: BTreeMap<u32, PathBuf>,
}

impl FoundBundles {
    /// Finds the bundles in and below these folders.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub(super) fn search(folders: &[PathBuf], expected: &Expected<'_>) -> anyhow::Result<Self> {
        let mut found = Self {
            bundles: BTreeMap::new(),
            refused: BTreeMap::new(),
            unreadable: vec![],
            counts: BTreeMap::new(),
        };
        for file in manifests(folders)? {
            match read_manifest(&file) {
                Ok(manifest) => found.add(file.root().clone(), manifest, expected),
                Err(error) => {
                    let why = format!("{file}: {}", explain(&error));
                    found.unreadable.push(sanitize(&why).into_owned());
                }
            }
        }
        Ok(found)
    }

    fn add(&mut self, folder: Root, manifest: Manifest, expected: &Expected<'_>) {
        let shard = manifest.shard;
        if let Err(why) = check(&manifest, expected) {
            let why = format!("{}: {why}", folder.path().display());
            self.refused.entry(shard).or_default().push(why);
            return;
        }
        self.counts
            .entry(shard.count())
            .or_insert_with(|| folder.path().to_owned());
        // The same bundle may be in two of the folders.
        self.bundles
            .entry((shard, manifest.attempt.clone()))
            .or_insert((folder, manifest));
    }

    /// All shards of the run; none without a bundle.
    ///
    /// # Errors
    /// When bundles are of different numbers of shards.
    pub(super) fn shards(&self) -> anyhow::Result<Vec<Shard>> {
        let mut counts = self.counts.iter();
        match (counts.next(), counts.next()) {
            (None, _) => Ok(vec![]),
            (Some((count, _)), None) => Ok(Shard::all(*count)?),
            (Some((one, a)), Some((other, b))) => anyhow::bail!(
                "bundles of {one} and of {other} shards are mixed ({} and {}): give the folder of one \
                 run",
                a.display(),
                b.display()
            ),
        }
    }
}

/// All manifests in and below these folders, sorted. They come from others, so no link leads out of these.
fn manifests(folders: &[PathBuf]) -> anyhow::Result<Vec<RootFile>> {
    let mut found = vec![];
    for folder in folders {
        let shown = folder.display();
        anyhow::ensure!(urldb_files::is_folder(folder), "there is no folder {shown}");
        let mut level = vec![Root::new(folder, "the folder of bundles")];
        for depth in 0..=DEPTH {
            let mut below = vec![];
            for folder in level {
                let files = folder
                    .files()
                    .with_context(|| format!("cannot list {}", folder.path().display()))?;
                if files.contains(&folder.file(MANIFEST)) {
                    found.push(folder.file(MANIFEST));
                } else if depth < DEPTH {
                    let is_folder = |file: &&RootFile| file.kind() == Some(Kind::Folder);
                    let folders = files.iter().filter(is_folder);
                    below.extend(folders.map(|file| folder.folder(file.name())));
                }
            }
            level = below;
        }
    }
    found.sort_by_cached_key(RootFile::path);
    found.dedup_by_key(|file| file.path());
    Ok(found)
}

/// Reads a manifest, and sorts its files by name.
fn read_manifest(file: &RootFile) -> anyhow::Result<Manifest> {
    let text = file.read(limits::BUNDLE_MANIFEST)?;
    let mut manifest: Manifest = serde_json::from_slice(&text)?;
    manifest.files.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some([file, _]) = manifest
        .files
        .array_windows()
        .find(|[a, b]| a.name == b.name)
    {
        anyhow::bail!("names {:?} twice", file.name);
    }
    for file in &manifest.files {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_archive = urldb_warc::files::is_archive_name(&file.name);
        anyhow::ensure!(
            !file.name.starts_with('.')
                && file.name.bytes().all(is_plain)
                && (is_archive || file.name == OBSERVATIONS),
            "names a file that no bundle has: {:?}",
            file.name
        );
    }
    Ok(manifest)
}

/// Whether a bundle belongs to the run; else the reason, for people.
fn check(manifest: &Manifest, expected: &Expected<'_>) -> Result<(), String> {
    if manifest.format != FORMAT {
        return Err(format!(
            "it has format {}, and this urldb reads format {FORMAT}: use one version for all shards",
            manifest.format
        ));
    }
    let own = env!("CARGO_PKG_VERSION");
    if manifest.version != own {
        let version = sanitize(&manifest.version);
        return Err(format!(
            "urldb {version} wrote the bundle, and this is urldb {own}: use one version for all shards"
        ));
    }
    if manifest.selection != *expected.selection {
        return Err(
            "the shard selected other records: give the same options (-d, -c, --path-prefix, URLs) to \
             all shards and to the collecting run"
                .to_owned(),
        );
    }
    if manifest.inputs != expected.inputs {
        return Err(
            "the shard read other domain files, another urldb.toml, or another ledger: check out the \
             commit of the shards, or run the shards again; bundles are collected once"
                .to_owned(),
        );
    }
    Ok(())
}
