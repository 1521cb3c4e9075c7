//! A merge of any three versions is the same from both sides, and can be merged again. A ledger file that can
//! be read comes back from being written.
#![no_main]

mod support;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;
use urldb::ledger::{Entry, Ledger, merge};
use urldb_files::Root;
use urldb_format::Versions;
use urldb_verdict::JobKey;

const HOST: &str = "a.example";

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

fuzz_target!(|bytes: &[u8]| {
    let [base, ours, theirs] = support::parts(bytes);
    let side = |bytes| (!<[u8]>::is_empty(bytes)).then_some(bytes);
    let of = |base, ours, theirs| merge(Versions { base, ours, theirs }).ok();
    let [base, ours, theirs] = [base, ours, theirs].map(side);
    let merged = of(base, ours, theirs);
    assert_eq!(merged, of(base, theirs, ours), "from both sides");
    if let Some(merged) = merged.flatten() {
        // A merge that fast-forwards takes bytes of one side as they are.
        let again = of(base, Some(&merged), Some(&merged));
        assert_eq!(again, Some(Some(merged)));
    }
    for side in [base, ours, theirs].into_iter().flatten() {
        write_again(side);
    }
});

/// Reads a file, writes all of its entries, and reads them again.
fn write_again(bytes: &[u8]) {
    let folder = FOLDER.path();
    let _ = std::fs::remove_dir_all(folder.join("captures"));
    support::write(&folder.join(format!("{HOST}.yaml")), bytes);
    let root = Root::new(folder, "the ledger");
    let Ok(mut ledger) = Ledger::load(&root, [HOST]) else {
        return;
    };
    let entries: Vec<(JobKey, Entry)> = ledger
        .keys()
        .map(|key| (key.clone(), ledger.get(key).expect("there").clone()))
        .collect();
    for (key, entry) in &entries {
        ledger.forget(key);
        ledger.set(key, entry.clone(), support::now());
    }
    ledger.save().expect("saved");
    let read = Ledger::load(&root, [HOST]).expect("what was written can be read");
    assert_eq!(read.keys().count(), entries.len());
    for (key, entry) in &entries {
        let read = read.get(key).expect("there");
        // These two are of the time of writing.
        let expected = Entry {
            added: read.added,
            updated: read.updated,
            ..entry.clone()
        };
        assert_eq!(*read, expected);
    }
}
