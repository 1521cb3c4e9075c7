//! Promises of other digests than a SHA-256.

use std::io::Write as _;
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;
use urldb_fetch::DigestHasher;
use urldb_format::Algorithm;

use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, network};
use crate::support::{Reply, Request, Server};

const FURTHER: [Algorithm; 4] = [
    Algorithm::Md5,
    Algorithm::Sha1,
    Algorithm::Sha384,
    Algorithm::Sha512,
];

fn hex(algorithm: Algorithm, text: &[u8]) -> String {
    let mut hasher = DigestHasher::new(algorithm);
    hasher.update(text);
    hasher.finish().unwrap().hex().to_owned()
}

/// One document: the digests of these texts at `/a`.
fn record(digests: &[(Algorithm, &str)]) -> String {
    let lines = digests.iter().map(|(algorithm, body)| {
        let digest = hex(*algorithm, body.as_bytes());
        format!("{}: {digest}\n", algorithm.key())
    });
    let lines: String = lines.collect();
    format!("---\n---\n_path: /a\n{lines}")
}

/// `example.test` with a text at `/a`, and a record that promises these digests of these texts.
fn world(served: &str, digests: &[(Algorithm, &str)]) -> (Site, Sandbox) {
    let site = Site::with(&[("/a", served)]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, record(digests));
    (site, sandbox)
}

#[test]
fn each_algorithm_alone_is_compared_told_and_accepted() {
    for algorithm in FURTHER {
        let (site, sandbox) = world("first", &[(algorithm, "first")]);
        sandbox.ok("lint");
        sandbox.ok("fmt --check");
        sandbox.ok("check").says("URLs: 1 ok");

        site.serve("/a", Reply::ok("other"));
        let name = algorithm.name();
        let [old, new] = ["first", "other"].map(|text| hex(algorithm, text.as_bytes()));
        let ran = sandbox.exits(1, "check --format json").json();
        let result = &ran["results"][0];
        assert_eq!(result["state"], "changed");
        assert_eq!(result["reason"], "digest");
        assert_eq!(result["promised"]["digests"][name], *old);
        assert_eq!(result["observed"]["digests"][name], *new);
        assert!(result["promised"].get("sha256").is_none());
        sandbox.exits(1, "check").says(&[
            &*format!("{algorithm} {}", &old[..12]),
            &*format!("{algorithm} {}", &new[..12]),
        ]);

        sandbox.ok("accept --yes --all").says(&[&*old, &*new]);
        sandbox.assert_file(FILE, &record(&[(algorithm, "other")]));
        sandbox.ok("check");
        let listed = sandbox.ok("list --format jsonl").json_lines();
        assert_eq!(listed[0]["digests"][name], *new);
    }
}

#[test]
fn every_digest_must_fit_and_is_renewed() {
    let all = |text| Algorithm::ALL.map(|algorithm| (algorithm, text));
    let (site, sandbox) = world("first", &all("first"));
    sandbox.ok("run");
    let fits = format!("fits: sha512:{}\n", hex(Algorithm::Sha512, b"first"));
    assert_has(&sandbox.captures(), &*fits);
    sandbox
        .ok("status http://example.test/a")
        .says(&["MD5 ", "SHA-512 "]);

    site.serve("/a", Reply::ok("other"));
    let ran = sandbox.exits(1, "check --format json").json();
    assert_eq!(ran["results"][0]["reason"], "digest");
    sandbox.ok("accept --yes --all");
    sandbox.assert_file(FILE, &record(&all("other")));
    sandbox.ok("check");
}

#[test]
fn digests_of_two_files_contradict_each_other_at_once() {
    for odd in Algorithm::ALL {
        let digests = Algorithm::ALL.map(|it| (it, if it == odd { "other" } else { "file" }));
        let (site, sandbox) = world("file", &digests);
        let ran = sandbox.exits(1, "check --format json").json();
        let result = &ran["results"][0];
        assert_eq!(result["state"], "changed");
        assert_eq!(result["reason"], "digests-disagree", "{odd}");
        assert_eq!(site.requests().len(), 1, "no other request can tell more");
        let message = result["message"].as_str().unwrap();
        assert_has(message, &*format!("but not the promised {odd}"));
        sandbox
            .exits(1, "check")
            .says(&["contradicts itself; correct its list", &*format!("{odd} ")]);
    }
    // A length that does not fit contradicts a digest that does.
    let (_site, sandbox) = world("file", &[(Algorithm::Sha1, "file")]);
    let text = sandbox
        .read(FILE)
        .replace("content-sha1", "content-length: 9\ncontent-sha1");
    sandbox.write(FILE, text);
    let ran = sandbox.exits(1, "check --format json").json();
    assert_eq!(ran["results"][0]["reason"], "digests-disagree");
}

#[test]
fn a_contradiction_is_believed_in_the_first_run_and_told() {
    let digests = [(Algorithm::Md5, "other"), (Algorithm::Sha512, "file")];
    let (site, sandbox) = world("file", &digests);
    sandbox.exits(1, "run");
    assert_eq!(site.requests().len(), 1);
    let ledger = sandbox.read("status/example.test.yaml");
    assert_has(&ledger, &["state: changed", "reason: digests-disagree"]);
    assert_lacks(&sandbox.captures(), "fits");
    sandbox.ok("explain digests-disagree");
    // The file is good; its promise is mended.
    sandbox.write(
        FILE,
        record(&[(Algorithm::Md5, "file"), (Algorithm::Sha512, "file")]),
    );
    sandbox.ok("run");
    assert_has(&sandbox.captures(), "fits: sha512:");
}

#[test]
fn a_record_that_contradicts_itself_is_mended_by_accept() {
    let all = |text| Algorithm::ALL.map(|algorithm| (algorithm, text));
    let mut digests = all("file");
    digests[1].1 = "other";
    let (_site, sandbox) = world("file", &digests);
    sandbox.exits(1, "check").says("sha1sum");
    sandbox.ok("accept --yes --all");
    sandbox.assert_file(FILE, &record(&all("file")));
}

#[test]
fn a_shard_takes_the_digests_along() {
    let repository = crate::hook::Repository::without_hook();
    let site = Site::with(&[("/a", "file")]);
    let config = repository.read("urldb.toml") + &site.network();
    repository.write("urldb.toml", config);
    for (wanted, code, state) in [("file", 0, "ok"), ("other", 1, "changed")] {
        let digests = [(Algorithm::Md5, wanted), (Algorithm::Sha384, "file")];
        repository.write(FILE, record(&digests));
        repository.git("add .");
        repository.git(&["commit", "-q", "-m", wanted]);
        repository.ok(&["run", "--shard", "1/1", "--to", wanted]);
        let asked = site.requests().len();
        repository.exits(code, &["run", "--from", wanted]);
        assert_eq!(
            site.requests().len(),
            asked,
            "the bundle has all that is needed"
        );
        let ledger = repository.read("status/example.test.yaml");
        assert_has(&ledger, &*format!("state: {state}\n"));
        let fits = format!("fits: sha384:{}\n", hex(Algorithm::Sha384, b"file"));
        let captures = repository.captures();
        assert_eq!(captures.contains(&fits), state == "ok", "{captures}");
    }
}

#[test]
fn a_coding_that_nobody_asked_for_is_undone_for_each_digest() {
    let mut encoder = GzEncoder::new(vec![], Compression::default());
    encoder.write_all(b"plain text").unwrap();
    let coded = encoder.finish().unwrap();
    let site = Site::new();
    let gzip = Reply::new("200 OK", &["Content-Encoding: gzip"], &coded);
    site.serve("/a", gzip);
    let sandbox = Sandbox::new(&site.network());
    for algorithm in FURTHER {
        sandbox.write(FILE, record(&[(algorithm, "plain text")]));
        sandbox.ok("check");
        let key = algorithm.key();
        let text = format!("---\n---\n_path: /a\n{key}: {}\n", hex(algorithm, &coded));
        sandbox.write(FILE, text);
        sandbox.ok("check");
        sandbox.write(FILE, record(&[(algorithm, "other text")]));
        let ran = sandbox.exits(1, "check --format json").json();
        assert_eq!(ran["results"][0]["reason"], "digest");
        let served = hex(algorithm, b"plain text");
        assert_eq!(
            ran["results"][0]["observed"]["digests"][algorithm.name()],
            *served
        );
        sandbox.write(
            FILE,
            record(&[(algorithm, "plain text"), (Algorithm::Sha256, "other")]),
        );
        let ran = sandbox.exits(1, "check --format json").json();
        assert_eq!(ran["results"][0]["reason"], "digests-disagree");
    }
}

#[test]
fn digests_that_are_none_and_those_of_head_are_mistakes() {
    let sandbox = Sandbox::new("");
    for algorithm in FURTHER {
        let key = algorithm.key();
        let digits = 2 * algorithm.length();
        let wanted = format!("`{key}` should be {digits} lower-case hexadecimal digits");
        let digest = hex(algorithm, b"x");
        for wrong in [&digest[1..], &digest.to_uppercase(), "[]"] {
            sandbox.write(FILE, format!("---\n---\n_path: /a\n{key}: {wrong}\n"));
            sandbox.exits(1, "lint").says(&["bad-digest", &wanted]);
        }
        sandbox.write(
            FILE,
            format!("---\n---\n_path: /a\n{key}: {digest}\nmethod: HEAD\n"),
        );
        let never = format!("`{key}` never holds for HEAD");
        sandbox.exits(1, "lint").says(&["bad-digest", &never]);
    }
}

/// `/a` with an `ETag`, and a record that promises these digests; only 304 is expected on later days.
fn conditional(digests: &[(Algorithm, &str)]) -> (Server, Arc<Mutex<&'static str>>, Sandbox) {
    let page = Arc::new(Mutex::new("file"));
    let known = Arc::clone(&page);
    let server = Server::new(move |request: &Request| {
        let body = *known.lock().unwrap();
        let etag = format!("ETag: \"{}\"", body.len());
        match request.header("if-none-match") {
            Some(asked) if etag.ends_with(asked) => {
                Reply::raw(format!("HTTP/1.1 304 Not Modified\r\n{etag}\r\n\r\n"))
            }
            _ => Reply::new("200 OK", &[&etag], body),
        }
    });
    let network = network(server.address(), &["example.test"]);
    let config = format!("[check]\nrehash-every = 1000000\nprobes = false\n{network}");
    let sandbox = Sandbox::new(&config);
    sandbox.write(FILE, record(digests));
    (server, page, sandbox)
}

#[test]
fn only_content_that_was_compared_with_the_digest_is_asked_for_conditionally() {
    let (server, _, sandbox) = conditional(&[(Algorithm::Md5, "file")]);
    let asked = |code| {
        let before = server.requests().len();
        sandbox.exits(code, "run");
        let requests = server.requests();
        let new = requests.iter().skip(before);
        new.map(|it| it.header("if-none-match").is_some())
            .collect::<Vec<_>>()
    };
    assert_eq!(asked(0), [false]);
    assert_eq!(asked(0), [true]);
    // A stronger digest has to be compared first, though the file is the same.
    sandbox.write(
        FILE,
        record(&[(Algorithm::Md5, "file"), (Algorithm::Sha1, "file")]),
    );
    assert_eq!(asked(0), [false]);
    assert_eq!(asked(0), [true]);
    // A digest of another file is no promise of what is archived.
    sandbox.write(FILE, record(&[(Algorithm::Sha512, "other")]));
    let requests = asked(1);
    assert!(
        requests.iter().all(|is_conditional| !is_conditional),
        "{requests:?}"
    );
}

#[test]
fn the_archive_gives_the_bytes_that_were_compared_with_the_digest() {
    let (site, sandbox) = world("file", &[(Algorithm::Md5, "file")]);
    sandbox.ok("run");
    let is_archived = |sandbox: &Sandbox| {
        let status = sandbox
            .ok("status --format json http://example.test/a")
            .json();
        status["urls"][0]["is_archived"] == true
    };
    assert!(is_archived(&sandbox));
    // Another promise, which nothing in the archive is known to keep.
    let other = sandbox.copy();
    other.write(FILE, record(&[(Algorithm::Md5, "other")]));
    assert!(!is_archived(&other));
    other.exits(1, "archive export --bagit bag");
    sandbox.ok("archive export --bagit bag");
    assert_eq!(sandbox.ok("archive get http://example.test/a").out, "file");

    site.serve("/a", Reply::ok("changed"));
    sandbox.exits(1, "run");
    sandbox.ok("archive export --bagit later");
    let exported = sandbox.read("later/data/example.test/a");
    assert_eq!(exported, "file");
}

#[test]
fn a_changed_digest_is_a_changed_promise() {
    let repository = crate::hook::Repository::without_hook();
    repository.write(FILE, record(&[(Algorithm::Sha1, "file")]));
    repository.git("add .");
    repository.git("commit -q -m base");
    repository.write(FILE, record(&[(Algorithm::Sha1, "other")]));
    repository
        .ok("diff HEAD")
        .says(&["promise changed", "content-sha1"]);
}
