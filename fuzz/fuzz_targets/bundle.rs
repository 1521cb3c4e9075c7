//! Any manifest is one of a bundle or is refused: its names are plain, each once. Any lines of observations are
//! read or refused; a line comes back from being written, and is found by its key.
#![no_main]

mod support;

use std::path::Path;
use std::sync::LazyLock;

use data_encoding::HEXLOWER;
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use urldb::bundle::{BundleLine, Bundles, Expected};
use urldb::ledger::KnownCaptures;
use urldb_verdict::Selection;

/// The digest of the inputs of all bundles.
const INPUTS: &str = "inputs";

/// The version of urldb: bundles of another one are refused.
fn version() -> &'static str {
    let mut lines = include_str!("../../Cargo.toml").lines();
    let version = lines.find_map(|line| line.strip_prefix("version = \""));
    version.expect("a version").trim_end_matches('"')
}

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

fuzz_target!(|bytes: &[u8]| {
    let [manifest, observations] = support::parts(bytes);
    read_manifest(manifest);
    read_observations(observations);
});

fn open(folder: &Path) -> Option<Bundles> {
    let expected = Expected {
        inputs: INPUTS,
        selection: &Selection::default(),
    };
    Bundles::open(&[folder.to_owned()], &expected).ok()
}

/// Beside these manifests there is only an empty file of observations.
fn read_manifest(manifest: &[u8]) {
    let folder = FOLDER.path().join("manifest");
    support::write(&folder.join("manifest.json"), manifest);
    support::write(&folder.join("observations.jsonl"), b"");
    let Some(mut bundles) = open(&folder) else {
        return;
    };
    assert!(bundles.started() <= bundles.finished());
    for text in bundles.troubles().iter().chain(&bundles.notes()) {
        assert!(!text.contains(|char: char| char.is_control()), "{text:?}");
    }
    for bundle in bundles.shards_mut().iter().flatten() {
        // An archive file would have to be there.
        assert_eq!(bundle.warc_files().count(), 0);
        assert_eq!(bundle.manifest().jobs, 0);
    }
}

/// The manifest of these observations is as a shard writes it.
fn read_observations(bytes: &[u8]) {
    let folder = FOLDER.path().join("observations");
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let manifest = json!({
        "format": 1, "version": version(), "shard": "1/1", "attempt": "20261123T041700Z-0a1b2c3d",
        "inputs": INPUTS, "started": "2026-11-23T04:17:00Z", "finished": "2026-11-23T04:18:00Z",
        "jobs": lines.len(),
        "files": [{
            "name": "observations.jsonl",
            "length": bytes.len(),
            "sha256": HEXLOWER.encode(&Sha256::digest(bytes)),
        }],
    });
    support::write(
        &folder.join("manifest.json"),
        manifest.to_string().as_bytes(),
    );
    support::write(&folder.join("observations.jsonl"), bytes);
    let read: Vec<BundleLine> = lines
        .iter()
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let Some(mut bundles) = open(&folder) else {
        assert!(
            read.len() < lines.len(),
            "lines that can be read are refused"
        );
        return;
    };
    let [Some(bundle)] = bundles.shards_mut() else {
        panic!("one shard");
    };
    for line in read {
        let text = serde_json::to_string(&line).expect("JSON");
        let again: BundleLine = serde_json::from_str(&text).expect("what was written can be read");
        assert_eq!(serde_json::to_string(&again).expect("JSON"), text);
        // A line that names an archive file which the bundle does not have is an error.
        if let Ok(found) = bundle.find(&line.key, &KnownCaptures::default()) {
            assert_eq!(found.expect("the line").key, line.key);
        }
    }
}
