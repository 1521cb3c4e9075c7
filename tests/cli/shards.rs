//! One run on several machines: shards, bundles, and the collecting run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use urldb_verdict::Shard;

use crate::archive::records;
use crate::sandbox::{Ran, Sandbox, assert_has, assert_lacks, eventually};
use crate::site::{FILE, network, promise, sha256};
use crate::support::{Reply, Request, Server};

/// Hosts of the site, `h00.example.test` and so on; aliases are beside them.
const HOSTS: usize = 24;

fn host(number: usize) -> String {
    format!("h{number:02}.example.test")
}

/// What each host has to say.
#[derive(Debug, Default)]
struct Mood {
    /// The pages of some hosts are other than promised.
    is_changed: AtomicBool,
    /// No answer comes.
    is_slow: AtomicBool,
}

/// A site with all hosts, and what it is up to.
struct Site {
    server: Server,
    mood: Arc<Mood>,
}

impl Site {
    fn new() -> Self {
        let mood = Arc::new(Mood::default());
        let shared = Arc::clone(&mood);
        let server = Server::new(move |request| answer(request, &shared));
        Self { server, mood }
    }

    /// A repository with records at all hosts.
    fn repository(&self, more: &str) -> Sandbox {
        let mut hosts: Vec<String> = (0..HOSTS).map(host).collect();
        hosts.push("alias.example.test".to_owned());
        let network = network(self.server.address(), &hosts);
        let sandbox = Sandbox::new(&format!(
            "[project]\nname = \"shards\"\n[check]\nretries = 1\ncnames = \"all\"\n\
             {network}[notify.mail]\ntype = \"email\"\n\
             from = \"urldb@example.test\"\nto = [\"me@example.test\"]\nfolder = \"mail\"\n{more}"
        ));
        for number in 0..HOSTS {
            let name = host(number);
            let metadata = if number == 5 {
                "cnames:\n- alias.example.test\n"
            } else {
                ""
            };
            let mut text = format!("---\n{metadata}");
            for path in ["/bytes", "/new"] {
                text += &promise(path, &body(&name, path));
            }
            text += "---\n_path: /page\n";
            sandbox.write(&format!("urldb/{name}.yaml"), text);
        }
        sandbox
    }

    fn change(&self) {
        self.mood.is_changed.store(true, Ordering::SeqCst);
    }
}

fn body(host: &str, path: &str) -> String {
    format!("{host}{path}, as promised\n")
}

fn answer(request: &Request, mood: &Mood) -> Reply {
    let host = request.header("host").unwrap_or_default();
    let host = if host.starts_with("alias") {
        "h05.example.test"
    } else {
        host
    };
    let number: usize = host.get(1..3).and_then(|it| it.parse().ok()).unwrap_or(99);
    if mood.is_slow.load(Ordering::SeqCst) {
        return Reply::default().hang();
    }
    let is_changed = mood.is_changed.load(Ordering::SeqCst);
    match (&*request.target, number % 6) {
        ("/bytes", 1) if is_changed => Reply::ok("other bytes"),
        ("/bytes", 2) if is_changed => Reply::new("404 Not Found", &[], "nothing here"),
        ("/new", 3) if is_changed => Reply::redirect(302, "/page"),
        ("/new", 4) if is_changed => Reply::new("500 Oh No", &[], "broken"),
        ("/page", _) => Reply::new("200 OK", &["Content-Type: text/html"], format!("<p>{host}")),
        (path, _) => Reply::ok(body(host, path)),
    }
}

/// Runs shards at once, each in a process of its own.
#[track_caller]
fn run_shards(sandbox: &Sandbox, shards: impl IntoIterator<Item = u32>, count: u32, to: &str) {
    std::thread::scope(|scope| {
        for number in shards {
            let shard = format!("run --shard {number}/{count} --to {to}");
            scope.spawn(move || sandbox.ok(&shard).says("the bundle is"));
        }
    });
}

pub(crate) fn collect(sandbox: &Sandbox, from: &str) -> Ran {
    sandbox.urldb(&["run", "--from", from, "--format", "json"])
}

/// The text without what differs between two runs: times, ids of runs, incidents and records, and names of
/// archive files.
pub(crate) fn steady(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-:._".contains(c);
    let mut steady = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let digits = |count| word.bytes().take(count).filter(u8::is_ascii_digit).count() == count;
        let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let word = match word {
            _ if word.starts_with("urn:uuid:") => "[record]",
            _ if word.starts_with("urldb-2") => "[file]",
            _ if digits(8) && word.as_bytes().get(8) == Some(&b'T') => "[run]",
            _ if digits(4) && word.as_bytes().get(4) == Some(&b'-') => "[time]",
            _ if digits(2) && word.as_bytes().get(2) == Some(&b':') => "[time]",
            _ if word.len() == 8 && is_hex => "[id]",
            _ => word,
        };
        steady.push_str(word);
        let next = after.find(is_part).unwrap_or(after.len());
        steady.push_str(&after[..next]);
        rest = &after[next..];
    }
    steady
}

/// The lines of the ledger, file by file, without what differs between two runs.
pub(crate) fn ledger(sandbox: &Sandbox) -> Vec<String> {
    let files = sandbox.tree("status").into_iter();
    let mut files: Vec<String> = files
        .map(|(path, content)| {
            let folder = path.parent().unwrap().display();
            let name = path.file_name().unwrap().to_str().unwrap();
            let name = name.split_once('.').unwrap_or((name, ""));
            // YAML quotes an id that is a number.
            let text = String::from_utf8(content.0).unwrap().replace('\'', "");
            steady(&format!("{folder}/{} {}\n{text}", name.0, name.1))
        })
        .collect();
    files.sort();
    let lines = files.iter().flat_map(|file| file.lines());
    lines.map(str::to_owned).collect()
}

/// The report, without what differs between two runs.
pub(crate) fn report(ran: &Ran) -> String {
    let mut report = ran.json();
    let report_fields = report.as_object_mut().unwrap();
    for name in ["archived", "run"] {
        report_fields.remove(name);
    }
    report["summary"]["coverage"]["milliseconds"] = json!(0);
    for incident in report["incidents"].as_array_mut().unwrap() {
        // It depends on the incident's id, and so on the run's.
        incident.as_object_mut().unwrap().remove("threads");
    }
    steady(&serde_json::to_string_pretty(&report).unwrap())
}

/// Type and URL of all records, sorted; without the first record of each file.
pub(crate) fn archived(sandbox: &Sandbox) -> Vec<String> {
    let files = sandbox.files("archive", ".warc.gz");
    let records = files.iter().flat_map(|file| records(file));
    let mut found: Vec<String> = records
        .filter(|record| record.field("WARC-Type") != "warcinfo")
        .map(|record| {
            let url = record.field("WARC-Target-URI");
            format!("{} {url}", record.field("WARC-Type"))
        })
        .collect();
    found.sort();
    found
}

/// Keys and URLs of the index, in order.
pub(crate) fn indexed(sandbox: &Sandbox) -> Vec<String> {
    let index = sandbox.index();
    let words = index.lines().map(|line| {
        let (key, rest) = line.split_once(' ').unwrap();
        let fields: Value = serde_json::from_str(&rest[rest.find('{').unwrap()..]).unwrap();
        format!(
            "{key} {} {} {}",
            fields["url"], fields["status"], fields["mime"]
        )
    });
    let mut words: Vec<String> = words.collect();
    words.sort();
    words
}

/// The lines of all mails since the last call, without what differs between two runs.
pub(crate) fn mails(sandbox: &Sandbox) -> Vec<String> {
    let texts = sandbox.take_mails().into_iter().map(|mail| {
        let text = format!("{}\n{}", mail.header("Subject"), steady(&mail.text));
        // The duration is its own: `Checked 75 of 75 URLs, …, in 0.5 s.`
        let lines = text.lines().map(|line| match line.rsplit_once(", in ") {
            Some((before, _)) if line.starts_with("Checked ") => before,
            _ => line,
        });
        lines.map(str::to_owned).collect::<Vec<_>>()
    });
    // Several mails of one run have no order.
    let mut texts: Vec<Vec<String>> = texts.collect();
    texts.sort();
    texts.concat()
}

#[track_caller]
pub(crate) fn assert_same_lines(ours: &[String], theirs: &[String]) {
    for (number, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(ours, theirs, "line {number}");
    }
    assert_eq!(ours.len(), theirs.len());
}

/// The folder of the first bundle of a shard.
pub(crate) fn bundle(sandbox: &Sandbox, run: &str, shard: &str) -> PathBuf {
    let folder = sandbox.path(&format!("{run}/{shard}"));
    let mut attempts: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    attempts.sort();
    attempts.remove(0)
}

/// Makes the manifest describe the files of a bundle as they are.
fn seal(bundle: &Path, change: impl FnOnce(&mut Value)) {
    let path = bundle.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for file in manifest["files"].as_array_mut().unwrap() {
        let bytes = fs::read(bundle.join(file["name"].as_str().unwrap())).unwrap();
        file["length"] = json!(bytes.len());
        file["sha256"] = json!(sha256(&bytes));
    }
    let lines = fs::read(bundle.join("observations.jsonl")).unwrap();
    manifest["jobs"] = json!(lines.split_inclusive(|byte| *byte == b'\n').count());
    change(&mut manifest);
    fs::write(path, manifest.to_string()).unwrap();
}

#[test]
fn eight_shards_and_a_collecting_run_are_one_run() {
    let site = Site::new();
    let first = site.repository("[source.docs]\nformat = \"links\"\npath = [\"docs/*.md\"]\n");
    let urls = [
        "http://h04.example.test/new",
        "http://h02.example.test/bytes",
    ];
    first.write("docs/a.md", urls.join("\n\n"));
    first.ok("sync --adopt");
    first.ok("run");
    // The next run begins in another second, so that it knows when all was good.
    std::thread::sleep(Duration::from_millis(1_100));
    site.change();
    let (alone, sharded) = (first.copy(), first.copy());

    let expected = alone.exits(1, "run --format json");
    for line in [1, 3] {
        let place = json!({ "file": "docs/a.md", "line": line });
        let report = expected.json();
        let mut findings = report["findings"].as_array().unwrap().iter();
        assert!(findings.any(|it| it["locations"][0] == place));
    }
    let before = (sharded.tree("status"), sharded.tree("archive"));

    // One shard is killed while it waits for its hosts, and runs again.
    let killed = Shard::of_host(&host(1), 8);
    let (number, text) = (killed.number(), killed.to_string());
    site.mood.is_slow.store(true, Ordering::SeqCst);
    let asked = site.server.requests().len();
    let mut running = sharded.start(&["run", "--shard", &text, "--to", "bundles/7"]);
    eventually("the shard asks", || site.server.requests().len() > asked);
    running.signal("-KILL");
    assert!(!running.end().success());
    site.mood.is_slow.store(false, Ordering::SeqCst);
    let attempts = |number: u32| {
        let folder = sharded.path(&format!("bundles/7/{number}-of-8"));
        fs::read_dir(folder).unwrap().count()
    };
    assert_eq!(attempts(number), 1);
    run_shards(&sharded, 1..=8, 8, "bundles/7");
    assert_eq!(attempts(number), 2);
    assert_eq!((sharded.tree("status"), sharded.tree("archive")), before);
    assert!(sharded.mails().is_empty());

    let again = sharded.copy();
    let collected = collect(&sharded, "bundles/7").code(1);
    assert_eq!(report(&collected), report(&expected));
    let (ours, theirs) = (ledger(&sharded), ledger(&alone));
    assert_same_lines(&ours, &theirs);
    assert_eq!(archived(&sharded), archived(&alone));
    assert_eq!(indexed(&sharded), indexed(&alone));
    let text = sharded.mails().remove(0).text;
    assert_same_lines(&mails(&sharded), &mails(&alone));
    sharded.ok("archive verify");

    // The same bundles make the same run elsewhere, to the byte, but for the times at which services took messages.
    collect(&again, "bundles/7").code(1);
    let status = |sandbox: &Sandbox| {
        let files = sandbox.tree("status").into_iter();
        let files = files.map(|(path, content)| {
            let text = String::from_utf8(content.0).unwrap();
            let is_taken = |line: &&str| line.trim_start_matches([' ', '-']).starts_with("at: ");
            let lines = text.lines().filter(|line| !is_taken(line));
            (path, lines.map(str::to_owned).collect::<Vec<_>>())
        });
        files.collect::<Vec<_>>()
    };
    assert_eq!(status(&again), status(&sharded));
    let names = |sandbox: &Sandbox| sandbox.files("archive", ".warc.gz").len();
    assert_eq!(names(&again), names(&sharded));
    assert_eq!(again.mails()[0].text, text);

    // They are collected once.
    let ledger = sharded.tree("status");
    collect(&sharded, "bundles/7")
        .code(2)
        .complains_in_words(&["no bundle of this run", "bundles are collected once"]);
    assert_eq!(sharded.tree("status"), ledger);

    // The next run on one machine goes on from there.
    sharded.exits(1, "run");
    alone.exits(1, "run");
    assert_eq!(archived(&sharded), archived(&alone));
}

#[test]
fn a_missing_shard_is_named_and_its_urls_are_not_asked() {
    let site = Site::new();
    let sandbox = site.repository("");
    sandbox.ok("run");
    let before = sandbox.tree("status");
    run_shards(&sandbox, [1, 3], 3, "bundles");
    let collected = collect(&sandbox, "bundles")
        .code(2)
        .complains("shard 2 of 3 has no bundle: its URLs were not checked");
    let report = collected.json();
    let mut not_asked = 0;
    for result in report["results"].as_array().unwrap() {
        let file = result["file"].as_str().unwrap();
        let host = file.trim_start_matches("urldb/").trim_end_matches(".yaml");
        if Shard::of_host(host, 3).number() == 2 {
            assert_eq!(result["state"], "inconclusive", "{result}");
            assert_eq!(result["reason"], "not-asked", "{result}");
            not_asked += 1;
        } else {
            assert_eq!(result["state"], "ok", "{result}");
        }
    }
    assert!(not_asked > 0);
    assert_eq!(sandbox.history()[1]["incomplete"], true);
    assert!(sandbox.mails().is_empty());
    let after = sandbox.tree("status");
    let is_status = |path: &PathBuf| !path.starts_with("status/history");
    let statuses = |tree: BTreeMap<PathBuf, crate::sandbox::Content>| -> Vec<_> {
        tree.into_iter()
            .filter(|(path, _)| is_status(path))
            .collect()
    };
    assert_eq!(
        statuses(after),
        statuses(before),
        "nothing is believed of them"
    );
}

#[test]
fn the_hosts_of_a_shard_without_network_are_no_alarm() {
    let site = Site::new();
    let sandbox = site.repository("");
    sandbox.ok("run");
    let dead = Shard::of_host(&host(0), 4).number();
    run_shards(&sandbox, (1..=4).filter(|it| *it != dead), 4, "bundles");
    let hosts = (0..HOSTS)
        .map(host)
        .chain(["alias.example.test".to_owned()]);
    // Nobody listens on this port.
    let maps: Vec<_> = hosts
        .map(|host| format!(" --map {host}=127.0.0.1:1"))
        .collect();
    sandbox.ok(&format!(
        "run --shard {dead}/4 --to bundles{}",
        maps.concat()
    ));
    let report = collect(&sandbox, "bundles").code(3).json();
    let results = report["results"].as_array().unwrap();
    let silent: Vec<&Value> = results.iter().filter(|it| it["state"] != "ok").collect();
    assert!(silent.len() > 2, "{results:#?}");
    for result in silent {
        assert_eq!(result["reason"], "own-network", "{result}");
    }
    assert!(sandbox.mails().is_empty());
}

const NO_SECOND: &str = "shard 2 of 2 has no bundle";

/// Collects the bundles, which are refused for these reasons.
fn refused(sandbox: &Sandbox, reasons: &[&str]) -> Ran {
    collect(sandbox, "bundles")
        .code(2)
        .complains_in_words(reasons)
}

#[test]
fn archive_files_of_a_bundle_are_verified_and_named_once() {
    let site = Site::new();
    let sandbox = site.repository("");
    run_shards(&sandbox, 1..=2, 2, "bundles");
    let pristine = sandbox.copy();

    // Archive files that no run has written, with their digests in the manifest.
    let other = "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:\
                 00000000-0000-4000-8000-000000000001>\r\nWARC-Target-URI: http://x.test/\r\n\
                 WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: text/plain\r\n\
                 WARC-Block-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n\
                 Content-Length: 1\r\n\r\nx\r\n\r\n";
    for (bytes, reason) in [
        ("", "the file has no record [empty-file]"),
        ("garbage\n", "[not-an-archive]"),
        (other, "[block-digest]"),
    ] {
        let sandbox = pristine.copy();
        let folder = bundle(&sandbox, "bundles", "2-of-2");
        fs::write(folder.join("added.warc"), bytes).unwrap();
        seal(&folder, |manifest| {
            let files = manifest["files"].as_array_mut().unwrap();
            let digest = sha256(bytes.as_bytes());
            files.push(json!({"name": "added.warc", "length": bytes.len(), "sha256": digest}));
        });
        let cannot = "added.warc cannot enter the archive";
        refused(&sandbox, &[NO_SECOND, cannot]).complains(reason);
        assert!(!sandbox.path("archive/added.warc").exists());
        sandbox.ok("archive verify");
    }

    // A file that the manifest names twice.
    let sandbox = pristine.copy();
    seal(&bundle(&sandbox, "bundles", "2-of-2"), |manifest| {
        let files = manifest["files"].as_array_mut().unwrap();
        files.push(files[0].clone());
    });
    refused(&sandbox, &[NO_SECOND, "names \"observations.jsonl\" twice"]);
}

#[test]
fn damaged_and_foreign_bundles_are_refused() {
    let site = Site::new();
    let sandbox = site.repository("");
    run_shards(&sandbox, 1..=2, 2, "bundles");
    let pristine = sandbox.copy();

    // A byte of the observations, and one of an archive file.
    for name in ["observations.jsonl", ".warc.gz"] {
        let sandbox = pristine.copy();
        let folder = bundle(&sandbox, "bundles", "2-of-2");
        let files = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path());
        let mut files = files.filter(|path| path.to_string_lossy().ends_with(name));
        let file = files.next().unwrap();
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&file, bytes).unwrap();
        refused(&sandbox, &[NO_SECOND, "is damaged"]);
    }

    // A bundle without its manifest, and a manifest that is cut off.
    let sandbox = pristine.copy();
    let manifest = bundle(&sandbox, "bundles", "1-of-2").join("manifest.json");
    fs::remove_file(&manifest).unwrap();
    refused(&sandbox, &["shard 1 of 2 has no bundle"]);
    let sandbox = pristine.copy();
    let manifest = bundle(&sandbox, "bundles", "1-of-2").join("manifest.json");
    fs::write(&manifest, "{\"format\":1,").unwrap();
    refused(&sandbox, &["manifest.json", "shard 1 of 2 has no bundle"]);

    // Another version of a domain file; another selection; another version of urldb.
    let sandbox = pristine.copy();
    let file = format!("urldb/{}.yaml", host(0));
    sandbox.write(&file, sandbox.read(&file) + "---\n_path: /z\n");
    refused(
        &sandbox,
        &["no bundle of this run", "the shard read other domain files"],
    );
    assert!(!sandbox.path("status").exists());
    assert!(!sandbox.path("archive").exists());
    let sandbox = pristine.copy();
    sandbox
        .exits(2, &["run", "-d", &host(0), "--from", "bundles"])
        .complains_in_words("the shard selected other records");
    let sandbox = pristine.copy();
    seal(&bundle(&sandbox, "bundles", "2-of-2"), |manifest| {
        manifest["version"] = json!("0.0.1");
    });
    refused(&sandbox, &["urldb 0.0.1 wrote the bundle", NO_SECOND]);

    // Bundles of two runs.
    let sandbox = pristine.copy();
    run_shards(&sandbox, [3], 3, "bundles");
    refused(&sandbox, &["bundles of 2 and of 3 shards are mixed"]);
    assert!(!sandbox.path("status").exists());

    // No folder, and an empty one.
    let sandbox = pristine.copy();
    collect(&sandbox, "nowhere").code(2).complains("nowhere");
    fs::create_dir(sandbox.path("empty")).unwrap();
    collect(&sandbox, "empty")
        .code(2)
        .complains_in_words("no bundle of this run is in");
    // All is well without these.
    collect(&pristine, "bundles").code(0);
}

#[test]
fn of_several_attempts_the_smallest_counts() {
    let site = Site::new();
    let sandbox = site.repository("");
    run_shards(&sandbox, 1..=2, 2, "bundles");
    site.change();
    std::thread::sleep(Duration::from_millis(1_100));
    run_shards(&sandbox, [2], 2, "bundles");
    let damaged = sandbox.copy();
    collect(&sandbox, "bundles").code(0);
    assert_eq!(sandbox.files("archive", ".warc.gz").len(), 2);

    // The smallest that is whole.
    let first = bundle(&damaged, "bundles", "2-of-2");
    fs::write(first.join("observations.jsonl"), "").unwrap();
    let collected = collect(&damaged, "bundles").code(1);
    assert_lacks(&collected.err, "has no bundle");
}

#[test]
fn a_line_from_outside_makes_no_trouble_but_its_own() {
    let site = Site::new();
    let sandbox = site.repository("");
    run_shards(&sandbox, 1..=1, 1, "bundles");
    let key = json!({"domain": host(0), "path": "/bytes", "scheme": "http"});
    let at = "2026-11-22T00:00:00Z";
    let hop = json!({"url": "\u{1b}]0;x", "at": "-009999-01-02T01:59:59Z", "version": "x",
        "status": 65535, "headers": [["location", "http://\u{0}"]]});
    let body = json!({"length": u64::MAX, "sha256": sha256(""), "end": "complete"});
    let seen = json!({"started": "9999-12-30T22:00:00Z", "elapsed": {"secs": u64::MAX, "nanos": 0},
        "hops": [hop], "body": body});
    let capture = json!({"record": "x", "date": "x", "uri": "x", "file": "../../outside.warc.gz"});
    let content = json!({"new": {"digest": "x", "etag": null, "last-modified": null, "redirects": null,
        "capture": capture}});
    let seen_by = |observations: Value| json!({"key": key, "at": at, "observations": observations});
    let with_content = json!({"key": key, "at": at, "observations": [], "content": content});
    for (line, expected) in [
        (json!({"key": key}), "damaged"),
        (seen_by(json!("many")), "damaged"),
        (seen_by(json!([])), "no request was made"),
        (seen_by(json!([seen])), "65535"),
        (seen_by(json!(vec![&seen; 50])), "65535"),
        (with_content, "damaged"),
    ] {
        let sandbox = sandbox.copy();
        let bundle = bundle(&sandbox, "bundles", "1-of-1");
        let path = bundle.join("observations.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().map(|old| {
            let known: Value = serde_json::from_str(old).unwrap();
            let is_mine = known["key"] == key;
            if is_mine {
                line.to_string()
            } else {
                old.to_owned()
            }
        });
        let lines: Vec<String> = lines.collect();
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        seal(&bundle, |_| {});
        let ran = collect(&sandbox, "bundles");
        assert!([1, 2, 3].contains(&ran.code), "{line}: {ran:#?}");
        let report = ran.json();
        let results = report["results"].as_array().unwrap();
        let mine = |result: &&Value| result["url"] == format!("http://{}/bytes", host(0));
        let result = results.iter().find(mine).unwrap().to_string();
        assert_ne!(results.iter().find(mine).unwrap()["state"], "ok");
        let is_told = result.contains(expected) || expected == "no request was made";
        assert!(is_told, "{line}: {result}");
        let others = results.iter().filter(|it| !mine(it));
        assert!(others.into_iter().all(|it| it["state"] == "ok"), "{line}");
        assert!(
            !ran.out.contains('\u{1b}') && !ran.err.contains("panicked"),
            "{ran:#?}"
        );
    }

    // A line that is none, and a manifest that names a file elsewhere.
    let broken = sandbox.copy();
    let folder = bundle(&broken, "bundles", "1-of-1");
    fs::write(folder.join("observations.jsonl"), "{\n").unwrap();
    seal(&folder, |_| {});
    collect(&broken, "bundles")
        .code(2)
        .complains_in_words("observations.jsonl is damaged");
    seal(&folder, |manifest| {
        manifest["files"][0]["name"] = json!("../../../urldb.toml");
    });
    collect(&broken, "bundles")
        .code(2)
        .complains_in_words("names a file that no bundle has");
    let linked = sandbox.copy();
    let folder = bundle(&linked, "bundles", "1-of-1");
    let path = folder.join("observations.jsonl");
    fs::rename(&path, linked.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(linked.path("elsewhere"), &path).unwrap();
    collect(&linked, "bundles").code(2).complains_in_words(&[
        "observations.jsonl is damaged: 1-of-1/",
        "observations.jsonl is a link out of the folder of bundles: replace it by a file",
    ]);
    fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    collect(&linked, "bundles").code(2).complains_in_words(
        "observations.jsonl is damaged: it is a named pipe, not a regular file",
    );
}

#[test]
fn a_shard_says_what_it_needs() {
    let site = Site::new();
    let sandbox = site.repository("");
    for (arguments, text) in [
        ("run --shard 1/8", "--to <DIR>"),
        ("run --to x", "--shard <I/N>"),
        ("run --shard 9/8 --to x", "shards are numbered from 1 to 8"),
        ("run --shard /8 --to x", "a shard is written NUMBER/COUNT"),
        ("run --shard 1/8 --to x --commit", "cannot be used with"),
        ("run --shard 1/8 --to x --from y", "cannot be used with"),
        ("run --shard 1/8 --to urldb.toml", "cannot write a bundle"),
    ] {
        sandbox.exits(2, arguments).complains_in_words(text);
    }
    sandbox
        .ok("run --shard 1/1 --to bundles")
        .says("shard 1 of 1: 75 URLs of 25 hosts");
    // An empty part of a selection is a part.
    let none = Shard::of_host(&host(0), 2).number() % 2 + 1;
    let shard = format!("{none}/2");
    sandbox
        .ok(&["run", "-d", &host(0), "--shard", &shard, "--to", "part"])
        .says("0 URLs of 0 hosts");
}

#[test]
fn an_interrupted_shard_has_no_bundle() {
    let site = Site::new();
    let sandbox = site.repository("");
    site.mood.is_slow.store(true, Ordering::SeqCst);
    let mut running = sandbox.start("run --shard 1/1 --to bundles");
    eventually("the shard asks", || !site.server.requests().is_empty());
    running.signal("-TERM");
    assert_eq!(running.end().code(), Some(130));
    assert!(sandbox.files("bundles", "manifest.json").is_empty());
}

#[test]
fn secrets_that_a_server_sends_back_are_in_no_bundle() {
    let site = Site::new();
    let server = Server::new(|request: &Request| {
        let token = request.header("x-token").unwrap_or_default();
        let location = format!("Location: /b?token={token}");
        match &*request.target {
            "/a" => Reply::new("302 Found", &[&location], token),
            _ => Reply::new(
                "200 OK",
                &["Content-Type: text/html"],
                format!("<p>{token}"),
            ),
        }
    });
    let sandbox = Sandbox::new(&format!(
        "[check]\nheaders-env = {{ X-Token = \"DATA_TOKEN\" }}\n\
         {}",
        network(server.address(), &["example.test"])
    ));
    sandbox.write(FILE, "---\n---\n_path: /a\n---\n_path: /b\n");
    let env = [("DATA_TOKEN", "token-never-shown")];
    sandbox
        .urldb_with_env("-v run --shard 1/1 --to bundles", &env)
        .code(0);
    let folder = bundle(&sandbox, "bundles", "1-of-1");
    let text = fs::read_to_string(folder.join("observations.jsonl")).unwrap();
    assert_has(&text, "[redacted]");
    assert_lacks(&text, "token-never-shown");
    let collected = collect(&sandbox, "bundles").code(0);
    assert_lacks(&collected.out, "never-shown");
    drop(site);
}
