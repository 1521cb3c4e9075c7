//! A run and its detour, one shard and a collecting run, leave the same behind: over several days, at servers
//! that behave in many ways.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};
use crate::shards::{archived, assert_same_lines, bundle, indexed, ledger, mails, report};
use crate::site::promise;
use crate::support::{Reply, Request, Server};

/// Days on which the database is checked.
const DAYS: usize = 5;

/// The paths of `example.test` whose bytes are promised.
const STATIC: [&str; 16] = [
    "/always",
    "/blocked",
    "/broken",
    "/changed",
    "/coded",
    "/cut",
    "/etag",
    "/flapping",
    "/gone",
    "/html",
    "/large",
    "/moved",
    "/muted",
    "/reset",
    "/retried",
    "/unstable",
];

/// The paths without promised bytes.
const OTHERS: [&str; 5] = ["/page", "/page-gone", "/page-new", "/to-other", "/to-page"];

fn body(path: &str) -> String {
    match path {
        // More than is kept at the first fetch.
        "/large" => "large ".repeat(20_000),
        _ => format!("{path}, as promised\n"),
    }
}

/// The reply of a day, which depends on nothing else: both ways get the same.
fn answer(request: &Request, day: usize) -> Reply {
    let host = request.header("host").unwrap_or_default();
    let path = request.target.as_str();
    let is_retry = request.header("cache-control").is_some();
    let good = || Reply::ok(body(path));
    if host.starts_with("limited") {
        let is_refused = path == "/b" && day >= 1;
        let refusal = Reply::new("429 Too Many Requests", &["Retry-After: 0"], "slowly");
        return if is_refused { refusal } else { good() };
    }
    if host.starts_with("silent") {
        return if day >= 3 {
            Reply::default().close()
        } else {
            good()
        };
    }
    match (path, day) {
        ("/always", 2) if host.starts_with("alias") => Reply::ok("another mirror"),
        ("/blocked", 1..) => Reply::new("403 Forbidden", &["cf-mitigated: challenge"], "who?"),
        ("/broken", 1 | 2) => Reply::new("500 Busy", &[], format!("error {day}")),
        ("/changed" | "/muted", 2..) => Reply::ok("other bytes"),
        ("/coded", 1..) => Reply::new("200 OK", &["Content-Encoding: gzip"], body(path)),
        ("/cut", 1..) => Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n/cut").close(),
        ("/etag", _) if request.header("if-none-match") == Some("\"1\"") => {
            Reply::raw("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n")
        }
        ("/etag", _) => Reply::new("200 OK", &["ETag: \"1\""], body(path)),
        ("/flapping", 1 | 3 | 4) => Reply::new("404 Not Found", &[], "nothing"),
        ("/gone" | "/page-gone", 1..4) => Reply::new("410 Gone", &[], "no more"),
        ("/html", 2..) => Reply::new("200 OK", &["Content-Type: text/html"], "<p>Log in"),
        ("/large", 3..) => Reply::ok(body(path).to_uppercase()),
        ("/moved", 1) => Reply::redirect(302, "/always"),
        ("/moved", 2..) => Reply::redirect(301, "/elsewhere"),
        ("/reset", 2) => Reply::default().close(),
        ("/retried", _) if !is_retry => Reply::new("500 Once", &[], "again"),
        ("/unstable", 1..) if !is_retry => Reply::ok("a counter"),
        ("/to-other", 2..) => Reply::redirect(302, "/always?other"),
        ("/to-other" | "/to-page", _) => Reply::redirect(302, "/page"),
        ("/elsewhere", _) => Reply::new("403 Forbidden", &[], "no"),
        ("/page", _) => Reply::new("200 OK", &["Content-Type: text/html"], format!("<p>{day}")),
        _ => good(),
    }
}

/// The domain files of a day.
fn write_promises(sandbox: &Sandbox, day: usize) {
    let mut text = "---\ncnames:\n- alias.example.test\n".to_owned();
    let mut paths: Vec<&str> = STATIC.iter().chain(&OTHERS).copied().collect();
    paths.sort_unstable();
    for path in paths {
        let record = match path {
            // The promise follows the bytes, and a record leaves the database.
            "/changed" if day == 4 => promise(path, "other bytes"),
            "/gone" if day == 3 => continue,
            "/page-new" if day < 2 => continue,
            "/muted" => {
                promise(path, &body(path)) + "mute-reason: known\nmute-until: '2999-12-24'\n"
            }
            "/to-other" => format!("---\n_path: {path}\nredirects-to: http://example.test/page\n"),
            _ if STATIC.contains(&path) => promise(path, &body(path)),
            _ => format!("---\n_path: {path}\n"),
        };
        text += &record;
    }
    sandbox.write("urldb/example.test.yaml", text);
    let mistaken = "---\n_path: /mistaken\ncontent-length: many\n";
    let silent = ["/a", "/b"].map(|path| promise(path, &body(path))).concat();
    let mistaken = if (1..3).contains(&day) { mistaken } else { "" };
    sandbox.write(
        "urldb/silent.example.test.yaml",
        format!("---\n{silent}{mistaken}"),
    );
    // A host of its own: it is asked slowly, and the failures of one incident should be of one second.
    let limited = ["/a", "/b"].map(|path| promise(path, &body(path))).concat();
    sandbox.write("urldb/limited.example.test.yaml", format!("---\n{limited}"));
    // A file that is no domain file, for a day.
    if day == 2 {
        sandbox.write("urldb/Misnamed.test.yaml", "---\n");
    } else if day == 3 {
        fs::remove_file(sandbox.path("urldb/Misnamed.test.yaml")).unwrap();
    }
}

/// A run in two steps.
fn detour(sandbox: &Sandbox, day: usize) -> Ran {
    let folder = format!("bundles/{day}");
    let shard = ["run", "--shard", "1/1", "--to", &folder];
    sandbox.urldb_at(&time(day, 3), &shard).code(0);
    let collect = ["run", "--from", &folder, "--format", "json"];
    sandbox.urldb_at(&time(day, 4), &collect)
}

/// A time of a day. The clocks stand, so that a busy machine tells no other times.
fn time(day: usize, minute: usize) -> String {
    format!("2026-11-{:02}T04:{minute:02}:00Z", day + 1)
}

/// Adds the paths in a JSON value, each with the type at its end.
fn add_schema(value: &Value, path: &str, schema: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                add_schema(value, &format!("{path}.{key}"), schema);
            }
        }
        Value::Array(items) => {
            for item in items {
                add_schema(item, &format!("{path}[]"), schema);
            }
        }
        Value::Null => _ = schema.insert(format!("{path}: null")),
        Value::Bool(_) => _ = schema.insert(format!("{path}: boolean")),
        Value::Number(_) => _ = schema.insert(format!("{path}: number")),
        Value::String(_) => _ = schema.insert(format!("{path}: text")),
    }
}

#[test]
fn one_shard_and_a_collecting_run_are_a_run() {
    let day = Arc::new(AtomicUsize::new(0));
    let today = Arc::clone(&day);
    let server = Server::new(move |request| answer(request, today.load(Ordering::SeqCst)));
    let hosts = [
        "example.test",
        "alias.example.test",
        "limited.example.test",
        "silent.example.test",
    ];
    let map = hosts.map(|host| format!("{host}={}", server.address()));
    let alone = Sandbox::new(&format!(
        "[project]\nname = \"shards\"\n[check]\nretries = 1\ncnames = \"all\"\nrehash-every = 2\n\
         [network]\nmap = {map:?}\n[notify.mail]\ntype = \"email\"\n\
         from = \"urldb@example.test\"\nto = [\"me@example.test\"]\nfolder = \"mail\"\n"
    ));
    let sharded = alone.copy();
    let mut schema = BTreeSet::new();
    for number in 0..DAYS {
        day.store(number, Ordering::SeqCst);
        for sandbox in [&alone, &sharded] {
            write_promises(sandbox, number);
        }
        let expected = alone.urldb_at(&time(number, 3), &["run", "--format", "json"]);
        let collected = detour(&sharded, number);
        assert_eq!(collected.code, expected.code, "day {number}");
        assert_same_lines(
            &report(&collected)
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
            &report(&expected)
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        );
        assert_same_lines(&ledger(&sharded), &ledger(&alone));
        assert_eq!(archived(&sharded), archived(&alone), "day {number}");
        assert_eq!(indexed(&sharded), indexed(&alone), "day {number}");
        assert_same_lines(&mails(&sharded), &mails(&alone));
        let folder = bundle(&sharded, &format!("bundles/{number}"), "1-of-1");
        for (file, name) in [
            ("manifest.json", "manifest"),
            ("observations.jsonl", "line"),
        ] {
            let text = fs::read_to_string(folder.join(file)).unwrap();
            for value in serde_json::Deserializer::from_str(&text).into_iter() {
                add_schema(&value.unwrap(), name, &mut schema);
            }
        }
    }
    // By `rehash-every`, some days have no conditional request.
    schema.insert("line.observations[].hops[].sent.is-conditional: boolean".to_owned());
    let schema: Vec<String> = schema.into_iter().collect();
    insta::assert_snapshot!(schema.join("\n"));
}
