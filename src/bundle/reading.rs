//! Verifies and reads bundles.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use anyhow::Context;
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use urldb_files::{Root, RootFile};
use urldb_text::sanitize;
use urldb_verdict::diagnosis::HostProbes;
use urldb_verdict::{JobKey, Shard};

use super::line::BundleLine;
use super::manifest::{BundleFile, Manifest, OBSERVATIONS};
use super::search::{Expected, FoundBundles};
use crate::archive::ensure_sound;
use crate::explain::explain;
use crate::ledger::KnownCaptures;
use crate::limits;

/// Makes the numbers of keys independent of others by [`JobKey::spread`].
const SALT: u64 = u64::from_le_bytes(*b"bundled\0");

/// The bundles of a run: at most one of each shard.
#[derive(Debug)]
pub struct Bundles {
    shards: Vec<Option<Bundle>>,
    /// Why bundles do not count, by shard.
    refused: BTreeMap<Shard, Vec<String>>,
    /// Why folders are no bundles of any shard.
    unreadable: Vec<String>,
}

/// A bundle whose files are verified.
#[derive(Debug)]
pub struct Bundle {
    folder: Root,
    manifest: Manifest,
    observations: BufReader<File>,
    /// The number of each job's key, and the offset of its line, sorted.
    lines: Vec<(u64, u64)>,
}

impl Bundles {
    /// Finds the bundles in these folders, and verifies them. Of several bundles of a shard, the one with
    /// the smallest attempt counts, among those that belong to the run and are whole.
    ///
    /// # Errors
    /// When a folder cannot be listed, when bundles are of different numbers of shards, or when no bundle
    /// is left.
    pub fn open(folders: &[PathBuf], expected: &Expected<'_>) -> anyhow::Result<Self> {
        let found = FoundBundles::search(folders, expected)?;
        let shards = found.shards()?;
        let FoundBundles {
            mut bundles,
            refused,
            unreadable,
            ..
        } = found;
        let mut read = Self {
            shards: vec![],
            refused,
            unreadable,
        };
        for shard in shards {
            let of_shard = bundles.extract_if(.., |(other, _), _| *other == shard);
            let whole = read.first_whole(shard, of_shard.map(|(_, bundle)| bundle));
            read.shards.push(whole);
        }
        if read.whole().next().is_none() {
            let folders: Vec<_> = folders.iter().map(|it| it.display().to_string()).collect();
            let causes = read.refused.values().flatten();
            let mut lines = vec![format!(
                "no bundle of this run is in {}; nothing was changed",
                folders.join(", ")
            )];
            lines.extend(causes.chain(&read.unreadable).cloned());
            anyhow::bail!(lines.join("\n  "));
        }
        Ok(read)
    }

    /// The first whole one of the bundles of a shard.
    fn first_whole(
        &mut self,
        shard: Shard,
        bundles: impl Iterator<Item = (Root, Manifest)>,
    ) -> Option<Bundle> {
        for (folder, manifest) in bundles {
            match Bundle::open(folder.clone(), manifest) {
                Ok(bundle) => return Some(bundle),
                Err(error) => {
                    let why = format!("{}: {}", folder.path().display(), explain(&error));
                    self.refused
                        .entry(shard)
                        .or_default()
                        .push(sanitize(&why).into_owned());
                }
            }
        }
        None
    }

    /// The bundle of each shard, if there is one.
    pub fn shards_mut(&mut self) -> &mut [Option<Bundle>] {
        &mut self.shards
    }

    /// The bundle of each shard, if there is one.
    pub fn shards(&self) -> &[Option<Bundle>] {
        &self.shards
    }

    fn whole(&self) -> impl Iterator<Item = &Bundle> {
        self.shards.iter().flatten()
    }

    /// The number of shards.
    pub fn count(&self) -> u32 {
        u32::try_from(self.shards.len()).unwrap_or(u32::MAX)
    }

    /// The results of the probes of all shards, by host.
    pub fn probes(&self) -> BTreeMap<String, HostProbes> {
        self.whole()
            .flat_map(|bundle| bundle.manifest.probes.clone())
            .collect()
    }

    /// When the first shard began.
    pub fn started(&self) -> Timestamp {
        self.whole()
            .map(|bundle| bundle.manifest.started)
            .min()
            .unwrap_or_default()
    }

    /// When the last shard ended.
    pub fn finished(&self) -> Timestamp {
        self.whole()
            .map(|bundle| bundle.manifest.finished)
            .max()
            .unwrap_or_default()
            .max(self.started())
    }

    /// Sixteen bytes that depend on the attempts alone: the same bundles make the same run.
    pub fn id(&self) -> [u8; 16] {
        let mut hasher = Sha256::new();
        for bundle in self.whole() {
            hasher.update(bundle.manifest.shard.to_string());
            hasher.update([0]);
            hasher.update(&bundle.manifest.attempt);
            hasher.update([0]);
        }
        let digest: [u8; 32] = hasher.finalize().into();
        std::array::from_fn(|index| digest[index])
    }

    /// The shards without a bundle, with the causes. The URLs of such a shard were not asked.
    pub fn troubles(&self) -> Vec<String> {
        let mut troubles = self.unreadable.clone();
        for (index, bundle) in self.shards.iter().enumerate() {
            let shard = Shard::new(u32::try_from(index + 1).unwrap_or(u32::MAX), self.count());
            let Some(shard) = shard.ok().filter(|_| bundle.is_none()) else {
                continue;
            };
            let (number, count) = (shard.number(), shard.count());
            troubles.push(format!(
                "shard {number} of {count} has no bundle: its URLs were not checked"
            ));
            troubles.extend(self.refused.get(&shard).cloned().unwrap_or_default());
        }
        troubles
    }

    /// Bundles that do not count, although nothing is missing without them.
    pub fn notes(&self) -> Vec<String> {
        let is_covered = |shard: &Shard| {
            let of_other_run = shard.count() != self.count();
            of_other_run || self.shards.get(shard.index()).is_some_and(Option::is_some)
        };
        self.refused
            .iter()
            .filter(|(shard, _)| is_covered(shard))
            .flat_map(|(_, causes)| causes.clone())
            .collect()
    }
}

impl Bundle {
    /// Verifies the files of a bundle, and finds its lines.
    fn open(folder: Root, manifest: Manifest) -> anyhow::Result<Self> {
        let mut lines = None;
        for file in &manifest.files {
            let name = &file.name;
            let at = || format!("{} is damaged", sanitize(name));
            if name == OBSERVATIONS {
                lines = Some(read_lines(&folder, file).with_context(at)?);
            } else {
                verify(&folder, file).with_context(at)?;
            }
        }
        ensure_sound(&folder, archives(&manifest).map(|file| file.name.as_str()))?;
        let lines = lines.context("the manifest names no observations")?;
        anyhow::ensure!(
            lines.len() as u64 == manifest.jobs,
            "{OBSERVATIONS} has {} lines, and the manifest says {}",
            lines.len(),
            manifest.jobs
        );
        let observations = folder.file(OBSERVATIONS).open()?;
        Ok(Self {
            folder,
            manifest,
            observations: BufReader::new(observations),
            lines,
        })
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The WARC files.
    pub fn warc_files(&self) -> impl Iterator<Item = RootFile> {
        archives(&self.manifest).map(|file| self.folder.file(&file.name))
    }

    /// The line of a job of which the ledger has `known`; `None` if the shard did not have the job.
    ///
    /// # Errors
    /// When the line cannot be read, or refers to a WARC file that neither the bundle nor the ledger has.
    pub fn find(
        &mut self,
        key: &JobKey,
        known: &KnownCaptures,
    ) -> anyhow::Result<Option<BundleLine>> {
        let number = key.spread(SALT);
        let first = self.lines.partition_point(|(other, _)| *other < number);
        let candidates = self.lines[first..].iter();
        for (_, offset) in candidates.take_while(|(other, _)| *other == number) {
            let at = || self.folder.file(OBSERVATIONS).to_string();
            self.observations
                .seek(SeekFrom::Start(*offset))
                .with_context(at)?;
            let mut text = vec![];
            self.observations
                .by_ref()
                .take(limits::BUNDLE_LINE.get())
                .read_until(b'\n', &mut text)
                .with_context(at)?;
            let line: BundleLine = serde_json::from_slice(&text)
                .map_err(|error| anyhow::anyhow!("the byte {offset} begins a bad line: {error}"))
                .with_context(at)?;
            if line.key != *key {
                continue;
            }
            let files = &self.manifest.files;
            let has = |name: &str| {
                files
                    .binary_search_by(|it| it.name.as_str().cmp(name))
                    .is_ok()
            };
            // Other redirects or digests change the facts about a content that was archived before.
            let is_known = |name: &str| known.files().any(|file| file == name);
            let unknown = line.files().find(|name| !has(name) && !is_known(name));
            if let Some(name) = unknown {
                let name = sanitize(name);
                let folder = self.folder.path().display();
                anyhow::bail!("{folder}: there is no WARC file {name}");
            }
            return Ok(Some(line));
        }
        Ok(None)
    }
}

fn archives(manifest: &Manifest) -> impl Iterator<Item = &BundleFile> {
    manifest
        .files
        .iter()
        .filter(|file| file.name != OBSERVATIONS)
}

fn verify(folder: &Root, file: &BundleFile) -> anyhow::Result<()> {
    let (length, sha256) = urldb_store::hash(open(folder, file)?)?;
    ensure_digest(file, length, &sha256)
}

/// Verifies the observations, and finds the lines: the number of each key, and its offset, sorted.
fn read_lines(folder: &Root, file: &BundleFile) -> anyhow::Result<Vec<(u64, u64)>> {
    #[derive(Deserialize)]
    struct Line {
        key: JobKey,
    }
    let mut input = BufReader::with_capacity(1 << 20, open(folder, file)?);
    let (mut lines, mut text) = (vec![], vec![]);
    let (mut hasher, mut offset) = (Sha256::new(), 0);
    let mut wrong = None;
    loop {
        text.clear();
        let length = input
            .by_ref()
            .take(limits::BUNDLE_LINE.get())
            .read_until(b'\n', &mut text)? as u64;
        if length == 0 {
            break;
        }
        hasher.update(&text);
        match serde_json::from_slice::<Line>(&text) {
            Ok(line) => lines.push((line.key.spread(SALT), offset)),
            Err(error) => wrong = wrong.or(Some(error)),
        }
        offset += length;
    }
    // A wrong digest says more than a wrong line.
    ensure_digest(file, offset, &hasher.finalize().into())?;
    if let Some(wrong) = wrong {
        return Err(wrong.into());
    }
    lines.sort_unstable();
    Ok(lines)
}

/// Opens a file of the length that the manifest says.
fn open(folder: &Root, file: &BundleFile) -> anyhow::Result<File> {
    let opened = folder.file(&file.name).open()?;
    let length = opened.metadata()?.len();
    anyhow::ensure!(
        length == file.length,
        "it has {length} bytes, and the manifest says {}",
        file.length
    );
    Ok(opened)
}

fn ensure_digest(file: &BundleFile, length: u64, sha256: &[u8; 32]) -> anyhow::Result<()> {
    anyhow::ensure!(
        length == file.length && HEXLOWER.encode(sha256) == file.sha256,
        "its digest is not that of the manifest"
    );
    Ok(())
}
