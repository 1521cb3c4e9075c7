//! What a run reports as observed can be taken out of the archive with exactly that digest, or the
//! report says why not: over random sites, records and settings.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::site::{FILE, Site, promises, sha256};
use crate::support::Reply;

/// One record, and what its server does in each run.
#[derive(Debug, Clone)]
struct Promised {
    length: usize,
    has_length: bool,
    has_digest: bool,
    is_post: bool,
    behaviours: Vec<Behaviour>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Behaviour {
    AsPromised,
    Grown(usize),
    Shrunk,
    Other,
    Chunked,
    Gzip,
    Status(u16),
    BreaksOff,
    Stalls,
    Redirect,
    Challenge,
}

#[derive(Debug, Clone)]
struct Settings {
    records: Vec<Promised>,
    archive: String,
    check: String,
}

const RUNS: usize = 2;

fn behaviour() -> impl Strategy<Value = Behaviour> {
    prop_oneof![
        2 => Just(Behaviour::AsPromised),
        2 => prop_oneof![1..50usize, 1000..200_000usize].prop_map(Behaviour::Grown),
        1 => Just(Behaviour::Shrunk),
        1 => Just(Behaviour::Other),
        1 => Just(Behaviour::Chunked),
        1 => Just(Behaviour::Gzip),
        2 => prop::sample::select(vec![203, 403, 404, 451, 500]).prop_map(Behaviour::Status),
        1 => Just(Behaviour::BreaksOff),
        1 => Just(Behaviour::Stalls),
        1 => Just(Behaviour::Redirect),
        1 => Just(Behaviour::Challenge),
    ]
}

fn record() -> impl Strategy<Value = Promised> {
    let length = prop_oneof![Just(0), 1..100usize, 60_000..150_000usize];
    let promise = prop::sample::select(vec![(true, true), (true, false), (false, true)]);
    let behaviours = prop::collection::vec(behaviour(), RUNS);
    (length, promise, prop::bool::weighted(0.2), behaviours).prop_map(
        |(length, (has_length, has_digest), is_post, behaviours)| Promised {
            length,
            has_length,
            has_digest,
            is_post,
            behaviours,
        },
    )
}

fn settings() -> impl Strategy<Value = Settings> {
    let archive = (
        prop::sample::select(vec!["static", "all"]),
        prop::sample::select(vec!["1.1", "1.0", "0.9"]),
        prop::sample::select(vec!["sha256", "sha1"]),
        prop::sample::select(vec!["captures", "all"]),
        prop::sample::select(vec![0, 10, 2000, 100_000_000]),
    );
    let archive = archive.prop_map(|(records, version, digest, requests, most)| {
        format!(
            "[archive]\nrecords = {records:?}\nversion = {version:?}\ndigest = {digest:?}\n\
             requests = {requests:?}\nmax-capture = {most}\n"
        )
    });
    let check = (
        0..3usize,
        prop::sample::select(vec![20_000u64, 1 << 30]),
        prop::option::weighted(0.2, 1000..400_000u64),
    );
    let check = check.prop_map(|(retries, max_body, budget)| {
        let budget = budget.map_or(String::new(), |budget| format!("byte-budget = {budget}\n"));
        format!("retries = {retries}\nmax-body = {max_body}\n{budget}")
    });
    (prop::collection::vec(record(), 1..6), archive, check).prop_map(|(records, archive, check)| {
        Settings {
            records,
            archive,
            check,
        }
    })
}

impl Promised {
    fn content(&self) -> String {
        "0123456789".chars().cycle().take(self.length).collect()
    }
}

/// The database with these records, `/0` and so on.
fn domain_file(records: &[Promised]) -> String {
    let mut text = "---\n".to_owned();
    for (number, record) in records.iter().enumerate() {
        let _ = writeln!(text, "---\n_path: /{number}");
        if record.has_length {
            let _ = writeln!(text, "content-length: {}", record.length);
        }
        if record.has_digest {
            let _ = writeln!(text, "content-sha256: '{}'", sha256(record.content()));
        }
        if record.is_post {
            text.push_str("method: POST\nrequest-body: q\nrequest-content-type: text/plain\n");
        }
    }
    text
}

fn serve(site: &Site, number: usize, record: &Promised, behaviour: Behaviour) {
    let content = record.content();
    let path = format!("/{number}");
    let head = |length: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
    let reply = match behaviour {
        Behaviour::AsPromised => Reply::ok(&content),
        Behaviour::Grown(by) => Reply::ok(format!("{content}{}", "+".repeat(by))),
        Behaviour::Shrunk => Reply::ok(&content[..content.len() / 2]),
        Behaviour::Other => Reply::ok(content.replace('0', "O")),
        Behaviour::Chunked => Reply::raw(format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{content}\r\n0\r\n\r\n",
            content.len().max(1)
        )),
        Behaviour::Gzip => {
            let mut encoder = GzEncoder::new(vec![], Compression::default());
            encoder.write_all(content.as_bytes()).unwrap();
            Reply::new(
                "200 OK",
                &["Content-Encoding: gzip"],
                encoder.finish().unwrap(),
            )
        }
        Behaviour::Status(status) => Reply::new(&format!("{status} So"), &[], &content),
        Behaviour::BreaksOff => Reply::raw(head(content.len() + 9) + &content)
            .pause(Duration::from_millis(5))
            .close(),
        Behaviour::Stalls => Reply::raw(head(content.len() + 9) + &content + "+").hang(),
        Behaviour::Redirect => {
            site.serve(&format!("{path}/target"), Reply::ok(&content));
            Reply::redirect(302, &format!("{path}/target"))
        }
        Behaviour::Challenge => Reply::new(
            "200 OK",
            &["Content-Type: text/html", "cf-mitigated: challenge"],
            "<title>Just a moment...</title>",
        ),
    };
    site.serve(&path, reply);
}

/// The bytes of the last capture of what was observed last.
fn archived(sandbox: &Sandbox, result: &Value, is_post: bool) -> Result<Vec<u8>, String> {
    let observed = &result["observed"];
    let is_redirected = observed["final_url"].is_string();
    let url = observed["final_url"].as_str().or(result["url"].as_str());
    let mut arguments = vec!["archive", "get", "--any", url.unwrap()];
    if is_post && !is_redirected {
        arguments.extend(["--data", "q", "--request-content-type", "text/plain"]);
    }
    let output = sandbox.urldb_command(&arguments).output().unwrap();
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The length and the digest that a result reports are those of the archived bytes, as they were sent
/// or with their coding undone.
fn is_observed(observed: &Value, bytes: &[u8]) -> bool {
    let mut decoded = vec![];
    let is_coded = GzDecoder::new(bytes).read_to_end(&mut decoded).is_ok();
    let forms = [Some(bytes.to_owned()), is_coded.then_some(decoded)];
    forms.into_iter().flatten().any(|bytes| {
        let digest = sha256(&bytes);
        observed["length"] == bytes.len()
            && observed["sha256"]
                .as_str()
                .is_none_or(|seen| seen == digest)
    })
}

fn check(settings: &Settings) -> Result<(), TestCaseError> {
    let site = Site::new();
    let sandbox = Sandbox::new(&format!(
        "[check]\nunsafe-methods = true\nidle-timeout = \"100ms\"\n{}{}{}",
        settings.check,
        settings.archive,
        site.network()
    ));
    sandbox.write(FILE, domain_file(&settings.records));
    for run in 0..RUNS {
        for (number, record) in settings.records.iter().enumerate() {
            serve(&site, number, record, record.behaviours[run]);
        }
        let ran = sandbox.urldb("run --format json");
        prop_assert!(ran.code != 2, "{ran:?}");
        for result in ran.json()["results"].as_array().unwrap() {
            let observed = &result["observed"];
            if observed["length"].is_null() {
                continue;
            }
            let bytes = archived(&sandbox, result, result["method"] == "POST");
            match result["not_archived"].as_str() {
                None => {
                    let bytes = bytes.map_err(TestCaseError::fail)?;
                    prop_assert!(is_observed(observed, &bytes), "{} {result}", bytes.len());
                }
                Some(cause) if cause.starts_with("only its first ") => {
                    let bytes = bytes.map_err(TestCaseError::fail)?;
                    prop_assert_eq!(&observed["length"], bytes.len(), "{}", result);
                    prop_assert!(observed["sha256"].is_null(), "{result}");
                }
                Some(cause) => prop_assert!(cause.len() > 20, "{result}"),
            }
        }
        // A run that reaches its byte budget at once archives nothing, and makes no archive.
        if sandbox.path("archive").exists() {
            sandbox.ok("archive verify");
        }
        // Captures are found by the second.
        thread::sleep(Duration::from_millis(1050));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 8,
        max_shrink_iters: 20,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_reported_is_archived_or_said_not_to_be(settings in settings()) {
        check(&settings)?;
    }
}

#[test]
fn the_promised_bytes_come_back_behind_a_redirect_to_nothing() {
    let site = Site::with(&[("/a", "first")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, promises(&[("/a", "first")]));
    let get = || sandbox.ok("archive get http://example.test/a").out;
    sandbox.ok("run");
    assert_eq!(get(), "first");
    for reply in [
        Reply::redirect(302, "/nothing"),
        Reply::ok("other"),
        Reply::new("404 Not Found", &[], "gone"),
    ] {
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        site.serve("/a", reply);
        sandbox.urldb("run");
        assert_eq!(get(), "first");
    }
    assert_eq!(
        sandbox
            .ok("archive get --at 2999 http://example.test/a")
            .out,
        "other"
    );
}
