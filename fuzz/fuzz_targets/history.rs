//! Every reader of any history ends, and believes no time in the future; lines come back from being written,
//! and merges are the same from both sides.
#![no_main]

mod support;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;
use urldb::config::{self, Config};
use urldb::ledger::{
    BaseRun, RunLine, SoughtUrl, VerificationsBuilder, is_known, lines, merge_history,
    past_runs,
};
use urldb::overview::Sources;
use urldb_canon::Scheme;
use urldb_format::Versions;
use urldb_verdict::JobKey;

const HOST: &str = "a.example";
const FILES: [&str; 4] = [
    "history/2026-10.jsonl",
    "history/2026-11.jsonl",
    "history/2026-12.jsonl",
    "history/9998-06.jsonl",
];

/// A project with two URLs.
static PROJECT: LazyLock<(TempDir, Config)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| support::write(&folder.path().join(name), text.as_bytes());
    write("urldb.toml", "");
    write(
        "urldb/a.example.yaml",
        "---\nhttp: true\n---\n_path: /0\ncontent-length: 5\n---\n_path: /1\ncontent-length: 5\n",
    );
    let config = config::load(&folder.path().join("urldb.toml")).expect("settings");
    (folder, config)
});

fuzz_target!(|bytes: &[u8]| {
    let parts: [&[u8]; 4] = support::parts(bytes);
    let side = |bytes| (!<[u8]>::is_empty(bytes)).then_some(bytes);
    let [base, ours, theirs, _] = parts.map(side);
    let of = |base, ours, theirs| merge_history(Versions { base, ours, theirs });
    assert_eq!(of(base, ours, theirs), of(base, theirs, ours));

    let (_, config) = &*PROJECT;
    let ledger = config.ledger_root();
    for (name, part) in FILES.iter().zip(parts) {
        support::write(&ledger.path().join(name), part);
    }
    let now = support::now();
    let read: Vec<RunLine> = lines(&ledger)
        .expect("files")
        .map(|line| line.expect("read"))
        .collect();
    let past = past_runs(&ledger, now).expect("files");
    assert!(past.known.iter().all(|run| is_known(run.at, now)));
    assert!(past.future.is_none_or(|future| !is_known(future, now)));
    let base = BaseRun::load(&ledger, now).expect("files");
    let mut verifications = VerificationsBuilder::default();
    for line in &read {
        verifications.add(line);
    }
    let verifications = verifications.finish(now);
    assert!(
        base.id
            .is_none_or(|base| verifications.ids().any(|run| run == base))
    );
    for path in ["/0", "/1"] {
        let key = JobKey {
            domain: HOST.to_owned(),
            path: path.to_owned(),
            request: None,
            variant: None,
            alias: None,
            scheme: Scheme::Http,
        };
        let sought = SoughtUrl {
            url: &format!("http://{HOST}{path}"),
            key: &key,
            categories: &[],
            added: None,
        };
        let (last, since) = (verifications.last(&sought), verifications.since(&sought));
        assert!(last.is_none_or(|last| is_known(last, now)));
        assert!(since.is_none_or(|since| is_known(since, now)));
    }
    look(config);

    for name in FILES {
        support::write(&ledger.path().join(name), b"");
    }
    let text: String = read
        .iter()
        .map(|line| serde_json::to_string(line).expect("JSON") + "\n")
        .collect();
    support::write(&ledger.path().join(FILES[3]), text.as_bytes());
    let again: Vec<RunLine> = lines(&ledger)
        .expect("files")
        .map(|line| line.expect("read"))
        .collect();
    assert_eq!(again, read);
});

/// The overview and the log.
fn look(config: &Config) {
    let now = support::now();
    let sources = Sources::read(config, now).expect("sources");
    let overview = sources.overview(|_| true, |_| Ok(())).expect("an overview");
    let runs = [&overview.last_run, &overview.last_complete];
    for run in runs.into_iter().flatten().chain(&overview.since_complete) {
        assert!(is_known(run.at, now));
    }
}
