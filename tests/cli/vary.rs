//! Records of one URL that differ in `Accept`, from the check to the archive, the messages and merges.

use std::sync::{Arc, Mutex};

use insta::assert_snapshot;

use crate::hook::Repository;
use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, network, sha256};
use crate::support::{Reply, Request, Server};

const URL: &str = "http://example.test/ns/a";
/// A redirect to another page for each media type.
const OTHER: &str = "http://example.test/ns/b";
const TURTLE: &str = "accept: text/turtle";
const XML: &str = "accept: application/rdf+xml";
const VARY: &str = "vary:\n- accept\n";
const MAIL: &str = "[notify.mail]\ntype = \"email\"\nfolder = \"mail\"\nfrom = \"urldb@example.test\"\nto = [\"ada@example.test\"]\n";

/// A server that answers by `Accept`, and a repository that promises its answers.
struct World {
    server: Server,
    turtle: Arc<Mutex<&'static str>>,
    sandbox: Sandbox,
}

impl World {
    fn new(vary: &str) -> Self {
        let turtle = Arc::new(Mutex::new("turtle"));
        let shared = Arc::clone(&turtle);
        let server = Server::new(move |request: &Request| {
            let body = match request.header("accept") {
                Some("text/turtle") => *shared.lock().unwrap(),
                Some("application/rdf+xml") => "xml",
                _ => "page",
            };
            match request.target.as_str() {
                "/ns/b" => Reply::redirect(303, &format!("/b.{body}")),
                _ => Reply::new("200 OK", &[], body),
            }
        });
        let network = network(server.address(), &["example.test"]);
        let sandbox = Sandbox::new(&format!(
            "[check]\nprobes = false\n{network}{MAIL}[notify.site]\ntype = \"html\"\npath = \"site\"\n"
        ));
        sandbox.write(FILE, file(vary, "turtle"));
        Self {
            server,
            turtle,
            sandbox,
        }
    }

    fn serve_turtle(&self, body: &'static str) {
        *self.turtle.lock().unwrap() = body;
    }

    /// The bytes that `archive get` writes with these arguments.
    fn archived(&self, arguments: &[&str]) -> String {
        self.sandbox
            .ok(&[&["archive", "get"], arguments].concat())
            .out
    }
}

fn record(body: &str, headers: &str) -> String {
    let (length, digest) = (body.len(), sha256(body));
    format!("---\n_path: /ns/a\ncontent-length: {length}\ncontent-sha256: {digest}\n{headers}")
}

fn accept(media_type: &str) -> String {
    format!("request-headers:\n  Accept: {media_type}\n")
}

fn file(vary: &str, turtle: &str) -> String {
    let (page, xml) = (
        record("page", ""),
        record("xml", &accept("application/rdf+xml")),
    );
    format!(
        "---\n{vary}{page}{xml}{}",
        record(turtle, &accept("text/turtle"))
    )
}

#[test]
fn each_variant_has_its_own_request_ledger_entry_and_captures() {
    let world = World::new(VARY);
    let sandbox = &world.sandbox;
    sandbox.ok("lint");
    sandbox.ok("check").says("URLs: 3 ok");
    assert_eq!(world.server.requests().len(), 3);
    sandbox.ok("run");
    sandbox.ok("run");
    let known = sandbox.captures();
    for text in [
        "variant: 'accept: application/rdf+xml'",
        "variant: 'accept: text/turtle'",
    ] {
        assert_has(&known, text);
    }
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "[time]");
    settings.add_filter(r"\[time\] to \[time\]", "[time]");
    settings.add_filter(r" +\d+  urldb-\S+", "  [bytes]  [place]");
    let _guard = settings.bind_to_scope();
    assert_snapshot!(sandbox.ok("archive list").out, @r"
    http://example.test/ns/a
      2 captures, 1 content, [time]
    http://example.test/ns/a (accept: application/rdf+xml)
      2 captures, 1 content, [time]
    http://example.test/ns/a (accept: text/turtle)
      2 captures, 1 content, [time]
    ");
    assert_snapshot!(sandbox.ok(&["archive", "list", URL]).out, @r"
    http://example.test/ns/a
      [time]  200  response  3660315a9af3  [bytes]  [place]
      [time]  200  revisit   3660315a9af3  [bytes]  [place]
    http://example.test/ns/a (accept: application/rdf+xml)
      [time]  200  response  bf92a04e60b4  [bytes]  [place]
      [time]  200  revisit   bf92a04e60b4  [bytes]  [place]
    http://example.test/ns/a (accept: text/turtle)
      [time]  200  response  74dd730b5c36  [bytes]  [place]
      [time]  200  revisit   74dd730b5c36  [bytes]  [place]
    ");
    assert_snapshot!(
        sandbox.ok(&["archive", "list", URL, "--header", "Accept: text/turtle"]).out,
        @r"
    http://example.test/ns/a (accept: text/turtle)
      [time]  200  response  74dd730b5c36  [bytes]  [place]
      [time]  200  revisit   74dd730b5c36  [bytes]  [place]
    "
    );
    let lines = sandbox
        .ok(&["archive", "list", URL, "--format", "jsonl"])
        .json_lines();
    let varies: Vec<_> = lines.iter().map(|line| line["vary"].as_str()).collect();
    assert_eq!(
        varies,
        [None, None, Some(XML), Some(XML), Some(TURTLE), Some(TURTLE)]
    );
    sandbox.ok("archive verify").says("0 errors, 0 warnings");
    let index = sandbox.index();
    assert_has(&index, "\"vary\": \"accept: text/turtle\"");
    sandbox.remove_index();
    sandbox.ok("archive index");
    assert_eq!(sandbox.index(), index);
    // A line with another variant is found.
    sandbox.write_index(index.replacen(TURTLE, XML, 1));
    sandbox
        .exits(1, "archive verify")
        .says("has another URL, date or `vary`");
}

#[test]
fn each_variant_is_taken_out_of_the_archive() {
    let world = World::new(VARY);
    world.sandbox.ok("run");
    assert_eq!(world.archived(&[URL]), "page");
    assert_eq!(
        world.archived(&[URL, "--header", "ACCEPT:text/turtle"]),
        "turtle"
    );
    assert_eq!(world.archived(&[URL, "--header", XML, "--any"]), "xml");
    let unknown = ["archive", "get", URL, "--header", "accept: a/b"];
    world
        .sandbox
        .exits(2, &unknown)
        .complains("no capture of http://example.test/ns/a (accept: a/b)");
    world
        .sandbox
        .exits(2, &["archive", "list", URL, "--header", "accept: a/b"])
        .complains("no capture");
    world
        .sandbox
        .exits(2, "archive list --header a:b")
        .complains("name the URL, too");
    world.serve_turtle("other!");
    world.sandbox.exits(1, "run");
    assert_eq!(world.archived(&[URL]), "page");
    // Without a date, the promised bytes; then the latest.
    assert_eq!(world.archived(&[URL, "--header", TURTLE]), "turtle");
    world.sandbox.write(FILE, file(VARY, "other!"));
    assert_eq!(world.archived(&[URL, "--header", TURTLE]), "other!");
    let diff = ["archive", "diff", URL, "--header", TURTLE];
    world
        .sandbox
        .exits(1, &diff)
        .says(&["ns/a (accept: text/turtle)", "-turtle\n", "+other!\n"]);
    world
        .sandbox
        .ok(&["archive", "diff", URL])
        .says("never changed");
}

#[test]
fn a_redirect_of_a_variant_is_followed_in_the_archive() {
    let world = World::new(VARY);
    let records = ["application/rdf+xml", "text/turtle"].map(|media_type| {
        let body = if media_type.ends_with("xml") {
            "xml"
        } else {
            "turtle"
        };
        record(body, &accept(media_type)).replace("/ns/a", "/ns/b")
    });
    world
        .sandbox
        .write(FILE, format!("---\n{VARY}{}", records.concat()));
    world.sandbox.ok("run");
    assert_eq!(world.archived(&[OTHER, "--header", TURTLE]), "turtle");
    assert_eq!(world.archived(&[OTHER, "--header", XML]), "xml");
    assert_eq!(world.archived(&["http://example.test/b.xml"]), "xml");
    world.sandbox.exits(2, &["archive", "get", OTHER]).complains_in_words(
        "2 variants of http://example.test/ns/b: say which with --header 'accept: application/rdf+xml', or \
         --header 'accept: text/turtle'",
    );
    // The record says which of several is meant.
    world
        .sandbox
        .write(FILE, format!("---\n{VARY}{}", records[1]));
    assert_eq!(world.archived(&[OTHER]), "turtle");
}

#[test]
fn a_bag_has_the_bytes_of_each_variant() {
    let world = World::new(VARY);
    let sandbox = &world.sandbox;
    sandbox.ok("run");
    sandbox
        .ok("archive export --bagit bag")
        .says("exported 3 of 3 static records");
    let mut bodies: Vec<String> = sandbox
        .files("bag/data", "")
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    bodies.sort();
    assert_eq!(bodies, ["page", "turtle", "xml"]);
    let urls = sandbox.read("bag/urls.tsv");
    assert!(urls.starts_with("url\tfile\tcaptured\theaders\n"), "{urls}");
    for (body, headers) in [("page", ""), ("xml", XML), ("turtle", TURTLE)] {
        let line = urls
            .lines()
            .find(|line| line.ends_with(&format!("\t{headers}")));
        let file = line.unwrap().split('\t').nth(1).unwrap();
        assert_eq!(sandbox.read(&format!("bag/{file}")), body);
    }
    // Promises of a length alone, and one that the archive never had.
    let length_alone = |text: String| -> String {
        let lines = text.split_inclusive('\n');
        lines
            .filter(|line| !line.starts_with("content-sha256"))
            .collect()
    };
    sandbox.write(FILE, length_alone(file(VARY, "turtle")));
    sandbox
        .ok("archive export --bagit lengths")
        .says("exported 3 of 3 static records");
    sandbox.write(FILE, file(VARY, "other"));
    sandbox
        .exits(1, "archive export --bagit other")
        .says("exported 2 of 3 static records")
        .complains("ns/a (accept: text/turtle)");
}

#[test]
fn captures_from_before_vary_are_found() {
    let world = World::new("");
    let turtle = record("turtle", &accept("text/turtle"));
    world.sandbox.write(FILE, format!("---\n{turtle}"));
    world.sandbox.ok("run");
    assert_lacks(&world.sandbox.index(), "vary");
    world.sandbox.write(FILE, format!("---\n{VARY}{turtle}"));
    assert_eq!(world.archived(&[URL]), "turtle");
    world.sandbox.ok("run");
    assert_eq!(world.archived(&[URL]), "turtle");
    world
        .sandbox
        .ok("archive list")
        .says(&["ns/a\n", "ns/a (accept: text/turtle)\n"]);
}

#[test]
fn messages_name_the_variant_that_is_broken() {
    let world = World::new(VARY);
    let sandbox = &world.sandbox;
    sandbox.ok("run");
    world.serve_turtle("other!");
    let named = "http://example.test/ns/a (accept: text/turtle)";
    let run = sandbox.exits(1, "run");
    let mails = sandbox.take_mails();
    assert_eq!(mails.len(), 1);
    let get = "archive get http://example.test/ns/a --header 'accept: text/turtle' --sha256";
    for text in [&run.out, &mails[0].text] {
        assert_has(text, named);
        assert_has(text, get);
        assert_lacks(text, "rdf+xml");
        assert_has(text, &["-turtle", "+other!"]);
    }
    let site = sandbox.read("site/index.html");
    assert_has(&site, "a (accept: text/<wbr>turtle) serves other bytes");
    let status = sandbox.exits(1, &["status", URL]);
    status.says(&[
        "as promised: http://example.test/ns/a\n",
        "as promised: http://example.test/ns/a (accept: application/rdf+xml)\n",
        "broken: http://example.test/ns/a (accept: text/turtle)\n",
        get,
    ]);
    sandbox.exits(1, "status example.test").says(named);
    let log = sandbox.ok(&["log", URL]);
    assert_has(&log.out, "(accept: text/turtle): 1 broken:");
    assert_lacks(&log.out, "rdf+xml");
    let lines = sandbox.ok(&["log", URL, "--format", "jsonl"]).json_lines();
    assert_eq!(lines[0]["evidence"]["variant"], TURTLE);
    let check = sandbox.exits(1, &["check", URL, "--format", "json"]).json();
    assert_eq!(check["findings"][0]["variant"], TURTLE);
    for (format, text) in [
        ("sarif", TURTLE),
        ("junit", TURTLE),
        // A colon would end the title.
        ("github", "ns/a (accept%3A text/turtle) serves"),
    ] {
        sandbox.exits(1, &["check", "--format", format]).says(text);
    }
    let listed = sandbox.ok("list --format jsonl").json_lines();
    assert_eq!(listed[2]["variant"], TURTLE);
    // One URL selects all variants; one of them has another promise afterwards.
    let accepted = sandbox.ok(&["accept", "--yes", URL]);
    accepted.says(&[
        &format!("accepted {named}") as &str,
        "accepted 1, as promised 2",
    ]);
    sandbox.assert_file(FILE, &file(VARY, "other!"));
    sandbox.ok("run");
    sandbox.ok(&["rm", URL]);
    sandbox.assert_file(FILE, &format!("---\n{VARY}"));
}

/// Two broken variants of one URL have their own evidence.
#[test]
fn two_broken_variants_are_told_apart() {
    let world = World::new(VARY);
    world.sandbox.ok("run");
    let broken = file(VARY, "turtle").replace(&sha256("xml"), &sha256("XML"));
    world.sandbox.write(FILE, broken);
    world.serve_turtle("other!");
    let run = world.sandbox.exits(1, "run");
    run.says(&[
        "2 of 3 URLs",
        "/ns/a (accept: application/rdf+xml)",
        "/ns/a (accept: text/turtle)",
    ]);
    world.sandbox.write(FILE, file(VARY, "turtle"));
    world.serve_turtle("turtle");
    let end = "closed: example.test (1 accepted, 1 recovered)";
    world.sandbox.ok("run").says(end);
}

#[test]
fn lint_says_how_records_that_differ_in_a_header_are_told_apart() {
    let world = World::new("");
    let ran = world.sandbox.exits(1, "lint");
    ran.says("add `vary: [accept]` to the metadata");
    let turned = file(VARY, "turtle").replacen("---\n_path", "---\n_path: /z\n---\n_path", 1);
    world.sandbox.write(FILE, &turned);
    world.sandbox.exits(1, "fmt --check");
    world.sandbox.ok("fmt");
    world
        .sandbox
        .assert_file(FILE, &(file(VARY, "turtle") + "---\n_path: /z\n"));
}

#[test]
fn add_refuses_another_header_of_a_known_url() {
    let world = World::new(VARY);
    let sandbox = &world.sandbox;
    let add = |media_type: &str| {
        let header = format!("Accept: {media_type}");
        sandbox.urldb(&["add", "--static", "--header", &header, URL])
    };
    sandbox.write(FILE, format!("---\n{VARY}"));
    for media_type in ["text/turtle", "application/rdf+xml", "text/turtle"] {
        add(media_type).code(0);
    }
    sandbox.ok(&["add", "--static", URL]);
    sandbox.assert_file(FILE, &file(VARY, "turtle"));
    let only = format!("---\n{}", record("turtle", &accept("text/turtle")));
    sandbox.write(FILE, &only);
    add("text/turtle").code(0);
    let refused = add("application/rdf+xml").code(2);
    refused.complains_in_words(
        "`vary: [accept]` in the metadata of example.test.yaml tells them apart",
    );
    sandbox.assert_file(FILE, &only);
}

#[test]
fn branches_that_change_two_variants_merge() {
    let repository = Repository::of(Sandbox::new(""));
    repository.ok("hook install");
    let commit = |text: &str| {
        repository.write(FILE, text);
        repository.git("add --all");
        repository.git("commit -q -m change");
    };
    let base = file(VARY, "turtle");
    commit(&base);
    repository.git("checkout -q -b other");
    commit(&base.replace(&sha256("xml"), &sha256("XML")));
    repository.ok("diff main").says(&[
        "changed http://example.test/ns/a (accept: application/rdf+xml)",
        "content-sha256",
    ]);
    let json = repository.ok("diff main --format json").json();
    assert_eq!(json["files"][0]["records"][0]["variant"], XML);
    repository.git("checkout -q main");
    commit(&file(VARY, "other!"));
    repository.git("merge -q --no-edit other");
    repository.assert_file(
        FILE,
        &file(VARY, "other!").replace(&sha256("xml"), &sha256("XML")),
    );
    repository.git("checkout -q -b third HEAD~2");
    commit(&file(VARY, "third!"));
    repository.git_fails("merge -q main");
    let text = repository.read(FILE);
    assert_has(&text, "<<<<<<<");
    let message = repository.exits(1, "resolve");
    assert_has(&(message.out + &message.err), "/ns/a (accept: text/turtle)");
}

const LIST: &str = "[source.ns]\nformat = \"jsonl\"\npath = [\"ns.jsonl\"]\n";

/// A line of a list: the body that is promised to a request with this `Accept`.
fn item(body: &str, media_type: &str) -> String {
    let headers = match media_type {
        "" => String::new(),
        _ => format!(",\"request-headers\":{{\"Accept\":\"{media_type}\"}}"),
    };
    let digest = sha256(body);
    format!("{{\"url\":\"{URL}\",\"record\":{{\"content-sha256\":\"{digest}\"{headers}}}}}\n")
}

fn listed(body: &str, media_type: &str) -> String {
    let headers = if media_type.is_empty() {
        String::new()
    } else {
        accept(media_type)
    };
    let digest = sha256(body);
    format!("---\n_path: /ns/a\ncontent-sha256: {digest}\n{headers}source:\n- ns\n")
}

#[test]
fn sync_names_the_headers_by_which_items_of_a_list_differ() {
    let sandbox = Sandbox::new(LIST);
    let (page, xml) = (item("page", ""), item("xml", "application/rdf+xml"));
    let turtle = item("turtle", "text/turtle");
    sandbox.write("ns.jsonl", &page);
    sandbox.ok("sync");
    sandbox.assert_file(FILE, &format!("---\n{}", listed("page", "")));
    sandbox.write("ns.jsonl", format!("{turtle}{page}{xml}"));
    sandbox.ok("sync").says("2 added");
    let (page, xml) = (listed("page", ""), listed("xml", "application/rdf+xml"));
    let turtle = listed("turtle", "text/turtle");
    sandbox.assert_file(FILE, &format!("---\n{VARY}{page}{xml}{turtle}"));
    sandbox.ok("lint");
    sandbox.ok("sync").says("3 unchanged");
    sandbox.ok("sync --check");
    // Each variant has its own line in the list.
    let rm = sandbox.exits(2, &["rm", URL]);
    assert_has(
        &rm.err,
        "http://example.test/ns/a is promised in ns (ns.jsonl:2)",
    );
    sandbox.write("ns.jsonl", item("turtle", "text/turtle"));
    sandbox.ok("sync");
    sandbox.assert_file(FILE, &format!("---\n{VARY}{turtle}"));
    let rm = sandbox.exits(2, &["rm", URL]);
    assert_has(
        &rm.err,
        "http://example.test/ns/a (accept: text/turtle) is promised in ns (ns.jsonl:1)",
    );
}

#[test]
fn sync_leaves_the_identities_of_records_of_people_alone() {
    let sandbox = Sandbox::new(LIST);
    let own = "---\n---\n_path: /own\n";
    sandbox.write(FILE, own);
    sandbox.write(
        "ns.jsonl",
        item("page", "") + &item("turtle", "text/turtle"),
    );
    sandbox.exits(1, "sync").says(&[
        "ns.jsonl:2",
        "list-contradiction",
        "add `vary: [accept]` to the metadata",
    ]);
    sandbox.assert_file(FILE, own);
    sandbox.write(FILE, format!("---\n{VARY}---\n_path: /own\n"));
    sandbox.ok("sync").says("2 added");
}
