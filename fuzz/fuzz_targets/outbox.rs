//! Any bytes are a waiting message or an error with a sentence. A merge of two versions is the same from both
//! sides, and loses no delivery that was made.
#![no_main]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tempfile::TempDir;
use urldb::config::{self, Config};
use urldb::notify::{NotifierStatus, Notifiers, Outbox, merge};
use urldb_format::Versions;

/// A project with one notifier, whose program is never started.
static PROJECT: LazyLock<(TempDir, Config)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("urldb.toml");
    support::write(
        &file,
        b"[notify.chat]\ntype = \"command\"\ncommand = [\"/nowhere/chat\"]\n",
    );
    let config = config::load(&file).expect("settings");
    (folder, config)
});

fuzz_target!(|bytes: &[u8]| {
    let parts: [&[u8]; 3] = support::parts(bytes);
    let side = |bytes| (!<[u8]>::is_empty(bytes)).then_some(bytes);
    let [base, ours, theirs] = parts.map(side);
    let of = |ours, theirs| merge(Versions { base, ours, theirs });
    let merged = of(ours, theirs);
    assert_eq!(merged, of(theirs, ours), "from both sides");

    let (folder, config) = &*PROJECT;
    let ledger = folder.path().join("status");
    let sides: Vec<bool> = [ours, theirs]
        .into_iter()
        .flatten()
        .map(|it| is_read(config, &ledger, it))
        .collect();
    let Some(merged) = merged else { return };
    if sides == [true, true] {
        assert!(is_read(config, &ledger, &merged), "a merge can be read");
        let both = [ours, theirs].into_iter().flatten();
        let is_new = base != ours && base != theirs;
        let made = both
            .flat_map(made)
            .filter(|_| is_new)
            .collect::<BTreeSet<_>>();
        assert!(made.is_subset(&self::made(&merged)), "{made:?}");
    }
});

/// Whether a file of a notifier can be read. Of a notifier that is configured, and of one that is not.
fn is_read(config: &Config, ledger: &Path, bytes: &[u8]) -> bool {
    for notifier in ["chat", "gone"] {
        support::write(&ledger.join(format!("outbox/{notifier}/1.json")), bytes);
    }
    let notifiers = Notifiers::new(config);
    let statuses = notifiers
        .statuses(&Outbox::new(&config.ledger_root()))
        .expect("an outbox");
    assert_eq!(statuses.len(), 2);
    for NotifierStatus { errors, asides, .. } in &statuses {
        let lines = errors.iter().map(|line| &**line);
        for line in lines.chain(asides.iter().map(|line| &**line)) {
            let is_unsafe = |char: char| char.is_control() && char != '\t';
            assert!(!line.contains(is_unsafe), "{line:?}");
        }
    }
    statuses[0].errors.is_empty()
}

/// The ids of the deliveries that a message says were made.
fn made(bytes: &[u8]) -> BTreeSet<String> {
    let message: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let deliveries = message.get("deliveries").and_then(Value::as_array);
    let made = deliveries.into_iter().flatten();
    let made = made.filter(|it| it.get("outcome").and_then(Value::as_str) == Some("delivered"));
    made.filter_map(|it| Some(it.get("id")?.as_str()?.to_owned()))
        .collect()
}
