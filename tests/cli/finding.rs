//! `get`: promised bytes from wherever they still are.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use crate::sandbox::Sandbox;
use crate::site::{network, promise, sha256};
use crate::support::{Reply, Request, Server};

const BODY: &str = "the promised bytes, long enough to break off\n";

/// Hosts of one server, by the `Host` of the request.
fn server(answer: impl Fn(&str, &Request) -> Option<Reply> + Send + Sync + 'static) -> Server {
    Server::new(move |request| {
        let host = request.header("host").unwrap_or_default().to_owned();
        answer(&host, request).unwrap_or_else(|| Reply::new("404 Not Found", &[], "nothing here\n"))
    })
}

/// A database in which `a.test`, `b.test` and `c.test` promise the same bytes.
fn sandbox(server: &Server, more: &str) -> Sandbox {
    let hosts = ["a.test", "b.test", "c.test", "place.test", "other.test"];
    let config = network(server.address(), &hosts);
    let sandbox = Sandbox::new(&format!("{config}{more}"));
    for host in &hosts[..3] {
        let record = promise(&format!("/{host}.csv"), BODY);
        sandbox.write(&format!("urldb/{host}.yaml"), format!("---\n{record}"));
    }
    sandbox
}

#[test]
fn the_next_copy_is_asked_where_one_is_gone_or_lies() {
    let server = server(|host, _| match host {
        "b.test" => Some(Reply::ok(BODY.replace('p', "q"))),
        "c.test" => Some(Reply::ok(BODY)),
        _ => None,
    });
    let sandbox = sandbox(&server, "");
    let ran = sandbox.ok("get http://a.test/a.test.csv -o out.csv");
    ran.says("from http://c.test/c.test.csv").complains(&[
        "http://a.test/a.test.csv: answers 404 Not Found",
        "http://b.test/b.test.csv: 45 bytes with sha256",
    ]);
    assert_eq!(fs::read_to_string(sandbox.path("out.csv")).unwrap(), BODY);
    let digest = format!("sha256:{}", sha256(BODY));
    let ran = sandbox.exits(0, &format!("get -n {digest}"));
    ran.says(&[
        "verified  copy  http://c.test/c.test.csv",
        "no        copy  http://a.test/a.test.csv: answers 404 Not Found",
    ]);
    sandbox
        .exits(2, &format!("get {digest} http://a.test/a.test.csv"))
        .complains("several contents make no file");
    // Without a file, the bytes go to standard output.
    let ran = sandbox.ok(&format!("get {digest}"));
    assert_eq!(ran.out, BODY);
}

#[test]
fn nothing_is_written_that_is_not_verified() {
    let server = server(|_, _| Some(Reply::ok("other bytes\n")));
    let sandbox = sandbox(&server, "");
    sandbox.write("out.csv", "as before\n");
    sandbox
        .exits(1, "get http://a.test/a.test.csv -o out.csv")
        .complains("do not have these bytes");
    let text = fs::read_to_string(sandbox.path("out.csv")).unwrap();
    assert_eq!(text, "as before\n");
    let ran = sandbox.exits(1, "get -n http://a.test/a.test.csv --format jsonl");
    let lines = ran.json_lines();
    assert_eq!(lines.len(), 3);
    assert!(
        lines.iter().all(|line| line["verified"] == false),
        "{lines:?}"
    );
    sandbox
        .exits(2, "get http://a.test/unknown.csv")
        .complains("is not in the database");
    sandbox
        .exits(2, "get sha256:abc")
        .complains("abc is no sha256 in hexadecimal digits");
}

#[test]
fn a_body_that_breaks_off_goes_on_by_range() {
    let server = server(|host, request| {
        let whole = BODY.as_bytes();
        match (host, request.header("range"), request.header("if-range")) {
            ("a.test", None, _) => Some(
                Reply::raw(format!(
                    "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: {}\r\n\r\n{}",
                    whole.len(),
                    &BODY[..20]
                ))
                .close(),
            ),
            ("a.test", Some("bytes=20-"), Some("\"one\"")) => Some(Reply::new(
                "206 Partial Content",
                &["Content-Range: bytes 20-44/45", "ETag: \"one\""],
                &whole[20..],
            )),
            _ => None,
        }
    });
    let sandbox = sandbox(&server, "");
    let ran = sandbox.ok("get http://a.test/a.test.csv -o out.csv");
    ran.says("from http://a.test/a.test.csv");
    assert_eq!(fs::read_to_string(sandbox.path("out.csv")).unwrap(), BODY);
    assert_eq!(server.requests().len(), 2);
}

/// The limit `timeout` is that of a body, however many requests it takes.
#[test]
fn a_body_that_drips_is_given_up_after_one_timeout() {
    let pause = std::time::Duration::from_millis(5);
    let head = "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: 1000000\r\n\r\n";
    let server = server(move |_, _| Some(Reply::raw(head).endless("x", pause)));
    let sandbox = sandbox(&server, "[check]\ntimeout = \"300ms\"\n");
    sandbox.write("urldb/b.test.yaml", "---\n");
    sandbox.write("urldb/c.test.yaml", "---\n");
    sandbox.write(
        "urldb/a.test.yaml",
        format!("---\n_path: /a.csv\ncontent-sha256: {}\n", sha256(BODY)),
    );
    sandbox.exits(1, "get http://a.test/a.csv -o out.csv");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_rest_of_other_bytes_is_not_taken() {
    let server = server(|host, request| {
        match (host, request.header("range")) {
        ("a.test", None) => Some(
            Reply::raw(format!(
                "HTTP/1.1 200 OK\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: {}\r\n\r\n{}",
                BODY.len(),
                &BODY[..20]
            ))
            .close(),
        ),
        ("a.test", Some(_)) => Some(Reply::new(
            "206 Partial Content",
            &["Content-Range: bytes 20-44/45"],
            "x".repeat(25),
        )),
        _ => None,
    }
    });
    let sandbox = sandbox(&server, "");
    sandbox.exits(1, "get http://a.test/a.test.csv -o out.csv");
    assert!(!sandbox.path("out.csv").exists());
}

#[test]
fn the_archive_and_the_places_are_asked_after_the_copies() {
    let server = server(|host, request| match host {
        "place.test" if request.target == format!("/{}", sha256(BODY)) => Some(Reply::ok(BODY)),
        "other.test" => Some(Reply::new(
            "429 Too Many Requests",
            &["Retry-After: 3600"],
            "",
        )),
        _ => None,
    });
    let places = "[find.a-place]\nurl = \"http://place.test/{sha256}\"\n\
                  [find.other]\nurl = \"http://other.test/{alg}/{hex}?u={url}\"\n";
    let sandbox = sandbox(&server, places);
    let ran = sandbox.ok("get http://a.test/a.test.csv -o out.csv");
    ran.says("from http://place.test/");
    let ran = sandbox.exits(0, "get -n http://a.test/a.test.csv");
    ran.says(&["verified  a-place", "no        other", "429"]);
    // Neither `check` nor `run` asks a place.
    let before = server.requests().len();
    sandbox.exits(1, "check");
    let asked = &server.requests()[before..];
    assert!(
        asked
            .iter()
            .all(|it| !it.header("host").unwrap().starts_with("place"))
    );
}

#[test]
fn the_archive_has_what_all_servers_have_lost() {
    let server = server(|host, request| {
        let is_first = request.connection == 0;
        (host == "a.test" && is_first).then(|| Reply::ok(BODY))
    });
    let sandbox = sandbox(&server, "");
    sandbox.exits(1, "run -d a.test -d b.test");
    let ran = sandbox.ok("get http://b.test/b.test.csv -o out.csv");
    ran.says("from the archive: ");
    assert_eq!(fs::read_to_string(sandbox.path("out.csv")).unwrap(), BODY);
    sandbox.ok("get -n --broken").says("verified  archive");
    // The bytes are archived under a URL that no record has any more.
    fs::remove_file(sandbox.path("urldb/a.test.yaml")).unwrap();
    sandbox
        .ok("get http://c.test/c.test.csv -o moved.csv")
        .says("from the archive: ");
    assert_eq!(fs::read_to_string(sandbox.path("moved.csv")).unwrap(), BODY);
    sandbox.ok("get -n --broken").says("verified  archive");
}

#[test]
fn a_message_names_the_copies_of_a_broken_file() {
    let lost = Arc::new(Mutex::new(BTreeSet::from(["c.test"])));
    let known = Arc::clone(&lost);
    let server = server(move |host, _| {
        let is_lost = known.lock().unwrap().contains(host);
        (!is_lost).then(|| Reply::ok(BODY))
    });
    let sandbox = sandbox(&server, "");
    sandbox
        .exits(1, "run")
        .says("2 other URLs serve these bytes: http://a.test/a.test.csv,");
    sandbox.ok("site build pages");
    let incident = fs::read_dir(sandbox.path("pages/incidents")).unwrap();
    let pages = incident.map(|file| fs::read_to_string(file.unwrap().path()).unwrap_or_default());
    assert!(
        pages
            .into_iter()
            .any(|page| page.contains("2 other URLs serve these bytes"))
    );
    lost.lock().unwrap().extend(["a.test", "b.test"]);
    sandbox
        .exits(1, "run")
        .says("no other URL here serves these bytes");
    lost.lock().unwrap().clear();
    sandbox.ok("run");
}

#[test]
fn a_file_that_cannot_be_read_keeps_no_message_back() {
    let server = server(|host, _| (host == "b.test").then(|| Reply::ok(BODY)));
    let sandbox = sandbox(&server, "");
    fs::write(
        sandbox.path("urldb/c.test.yaml"),
        b"---\n---\n_path: /\xff\n",
    )
    .unwrap();
    sandbox
        .exits(1, "run")
        .says("1 other URL serves these bytes: http://b.test/b.test.csv");
}

#[test]
fn a_coding_that_nobody_asked_for_is_undone() {
    let server = server(|host, _| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(BODY.as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        (host == "a.test").then(|| Reply::new("200 OK", &["Content-Encoding: gzip"], packed))
    });
    let sandbox = sandbox(&server, "");
    sandbox
        .ok("get http://a.test/a.test.csv -o out.csv")
        .says("from http://a.test/a.test.csv");
    assert_eq!(fs::read_to_string(sandbox.path("out.csv")).unwrap(), BODY);
    sandbox
        .ok("get -n http://a.test/a.test.csv")
        .says("verified  url");
}

/// The token of a place is no business of another port, of a redirect, or of a record on its host.
#[test]
fn headers_of_a_place_stay_in_it() {
    let digest = sha256(BODY);
    let place = |request: &Request| match &*request.target {
        "/raw/away" => Reply::redirect(302, "/api/admin"),
        target if target.starts_with("/raw/http") => Reply::redirect(302, "/raw/away"),
        _ => Reply::new("404 Not Found", &[], "nothing here\n"),
    };
    let (first, second) = (Server::new(place), Server::new(place));
    let hosts = ["a.test", "b.test"];
    let config = network(first.address(), &hosts);
    let [one, two] = [&first, &second].map(|server| format!("http://127.0.0.1:{}", server.port()));
    let places = format!(
        "allow = [\"127.0.0.1/32\"]\n[check]\nheaders = {{ X-All = \"all\" }}\n\
         [find.one]\nurl = \"{one}/raw/{{url}}\"\nheaders-env = {{ Authorization = \"ONE\" }}\n\
         [find.two]\nurl = \"{two}/raw/{{url}}\"\nheaders-env = {{ X-Two = \"TWO\" }}\n\
         [find.query]\nurl = \"{two}/query?u={{url}}\"\nheaders-env = {{ X-Query = \"TWO\" }}\n"
    );
    let sandbox = Sandbox::new(&format!("{config}{places}"));
    let records = [
        "/../../api/admin?delete=1",
        "/..%2f..%2fapi/admin",
        "/a?b=/../../../../api/admin",
        "/plain.csv",
    ];
    let env = [("ONE", "token-one"), ("TWO", "token-two")];
    for path in records {
        let record = format!("---\n_path: '{path}'\ncontent-sha256: {digest}\n");
        sandbox.write("urldb/a.test.yaml", format!("---\n{record}"));
        // A record on the host of the places, at another port.
        sandbox.write("urldb/b.test.yaml", format!("---\n{record}"));
        let url = format!("http://a.test{path}");
        let commands = if path == "/plain.csv" { 0..2 } else { 0..1 };
        for arguments in &[&["get", &url][..], &["get", "-n", &url]][commands] {
            let ran = sandbox.urldb_with_env(*arguments, &env);
            assert_eq!(ran.code, 1, "{path}: {ran:?}");
        }
    }
    let requests = [first.requests(), second.requests()].concat();
    let mut asked = BTreeSet::new();
    for request in &requests {
        let of_place = request.target.starts_with("/raw/http")
            || request.target.starts_with("/query?u=http%3A%2F%2F");
        let is_place = request.header("host").unwrap().starts_with("127.0.0.1");
        // The first redirect stays in the place, the second one leaves it.
        let is_within = is_place && (of_place || request.target == "/raw/away");
        let tokens = ["authorization", "x-two", "x-query"].iter();
        let tokens: Vec<_> = tokens.filter_map(|name| request.header(name)).collect();
        assert_eq!(tokens.len(), usize::from(is_within), "{request:?}");
        assert_eq!(request.header("x-all").is_some(), !is_place, "{request:?}");
        assert!(
            !is_place
                || !request.target.contains("delete=1")
                || request.target.contains("%3Fdelete"),
            "{request:?}"
        );
        if is_within && of_place {
            asked.insert(request.target.clone());
        }
    }
    assert!(asked.contains("/raw/http://a.test/plain.csv"), "{asked:?}");
    assert!(
        asked.contains("/raw/http://a.test/api/admin%3Fdelete=1"),
        "{asked:?}"
    );
}

#[test]
fn a_place_whose_token_is_not_set_is_named() {
    let server = server(|_, _| None);
    let place = "[find.own]\nurl = \"http://place.test/{sha256}\"\nheaders-env = { X-Key = \"URLDB_ABSENT\" }\n";
    let sandbox = sandbox(&server, place);
    for command in ["get", "get -n"] {
        let ran = sandbox.exits(2, &format!("{command} http://a.test/a.test.csv"));
        ran.complains_in_words(&["[find.own]: the header \"X-Key\" should be in the environment variable URLDB_ABSENT, which is not set"]);
    }
}
