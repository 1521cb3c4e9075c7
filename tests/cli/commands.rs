//! The commands of envelopes, run by `sh` as they are printed: each shows the fault, or does what its purpose says.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::advice::{self, has_curl, shell, without_map};
use crate::certificates::{Authority, Kind};
use crate::sandbox::Sandbox;
use crate::site::{closed_address, promise, sha256};
use crate::support::{Reply, Server};

/// A host with one URL that is broken after the first run.
struct Finding {
    /// The host is `NAME.test`.
    name: &'static str,
    record: String,
    good: Answer,
    bad: Answer,
    /// The commands of the message, and the effect of each.
    commands: &'static [(&'static str, Effect)],
}

/// The answer to a request for a path, with the number of requests for it before.
type Answer = fn(&str, usize) -> Reply;

/// The effect of a command.
#[derive(Clone, Copy)]
enum Effect {
    /// It shows each of these texts.
    Shows(&'static [&'static str]),
    /// It shows so many different lines.
    ShowsDifferent(usize),
    /// It shows the digests of the promised and of the served text.
    ShowsDigests([&'static str; 2]),
    /// It makes the present bytes the promise.
    Accepts,
    /// It writes this content into the file of this name.
    Writes(&'static str, &'static str),
}

use Effect::{Accepts, Shows, ShowsDifferent, ShowsDigests, Writes};

const GOOD: &str = "a,b\n1,2\n";

const OTHER: &str = "b,a\n2,1\n";

fn good(_: &str, _: usize) -> Reply {
    Reply::ok(GOOD)
}

/// Promises of three files of a folder, whose texts have their paths.
fn records(folder: &str, word: &str) -> String {
    let paths = [1, 2, 3].map(|number| format!("{folder}{number}"));
    paths
        .map(|path| promise(&path, &format!("{word} {path}\n")))
        .concat()
}

/// The time, as `Last-Modified` has it.
fn now() -> String {
    let now = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT");
    now.to_string()
}

/// Two texts of one length, without lines.
const BINARY: [&str; 2] = ["\0\u{1}\u{2}\u{3}\0same", "\0\u{1}\u{5}\u{3}\0same"];

/// The first line of a HEAD response, and its length.
fn head(length: usize) -> Reply {
    Reply::raw(format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"
    ))
}

fn findings() -> Vec<Finding> {
    vec![
        Finding {
            name: "text",
            record: promise("/t/a.csv", GOOD),
            good,
            bad: |_, _| Reply::ok("a,b\n1,3\n"),
            commands: &[
                ("urldb accept http://text.test/t/a.csv", Accepts),
                (
                    "urldb archive get http://text.test/t/a.csv --sha256 DIGEST -o a.csv",
                    Writes("a.csv", GOOD),
                ),
            ],
        },
        Finding {
            name: "binary",
            record: promise("/a.bin", BINARY[0]),
            good: |_, _| Reply::ok(BINARY[0]),
            bad: |_, _| Reply::ok(BINARY[1]),
            commands: &[
                (
                    "urldb archive diff http://binary.test/a.bin",
                    Shows(&["the first difference is at byte 2"]),
                ),
                ("urldb accept http://binary.test/a.bin", Accepts),
            ],
        },
        Finding {
            name: "many",
            record: ["/m/1.csv", "/m/2.csv", "/n/3.csv"]
                .map(|path| promise(path, &format!("first {path}\n")))
                .concat()
                + &promise("/other", "first /other\n"),
            good: |path, _| Reply::ok(format!("first {path}\n")),
            bad: |path, _| match path {
                "/other" => Reply::ok("first /other\n"),
                path => Reply::ok(format!("later {path}\n")),
            },
            commands: &[
                (
                    "urldb archive diff http://many.test/m/1.csv",
                    Shows(&["-first /m/1.csv", "+later /m/1.csv"]),
                ),
                ("urldb check -d many.test", Shows(&["3 of 4 URLs"])),
                ("urldb accept --all -d many.test", Accepts),
            ],
        },
        Finding {
            name: "deployed",
            record: records("/d/", "first") + &promise("/other", "first /other\n"),
            good: |path, _| Reply::ok(format!("first {path}\n")),
            bad: |path, _| match path {
                "/other" => Reply::ok("first /other\n"),
                path => Reply::new(
                    "200 OK",
                    &[&format!("Last-Modified: {}", now())],
                    format!("later {path}\n"),
                ),
            },
            commands: &[
                (
                    "urldb archive diff http://deployed.test/d/1",
                    Shows(&["-first /d/1", "+later /d/1"]),
                ),
                (
                    "urldb check -d deployed.test --path-prefix /d/",
                    Shows(&["3 of 4 URLs"]),
                ),
                (
                    "urldb accept --all -d deployed.test --path-prefix /d/",
                    Accepts,
                ),
            ],
        },
        Finding {
            name: "page",
            record: records("/p/", "first"),
            good: |path, _| Reply::ok(format!("first {path}\n")),
            bad: |_, _| {
                let json = ["Content-Type: application/json"];
                Reply::new("200 OK", &json, "{\"error\":\"internal\"}")
            },
            commands: &[
                (
                    r"curl -sSL -o /dev/null -w '%{size_download} bytes\n' http://page.test/p/1",
                    Shows(&["20 bytes"]),
                ),
                (
                    "urldb check -d page.test",
                    Shows(&["answer with one content"]),
                ),
            ],
        },
        Finding {
            name: "versions",
            record: records("/v/", "first"),
            good: |path, _| Reply::ok(format!("first {path}\n")),
            // The promised bytes in the second of three requests.
            bad: |path, request| {
                let word = if request % 3 == 2 { "first" } else { "stale" };
                Reply::ok(format!("{word} {path}\n"))
            },
            commands: &[
                (
                    "for i in 1 2 3 4 5 6; do curl -sSL http://versions.test/v/1 | cksum; done",
                    ShowsDifferent(2),
                ),
                ("urldb check -d versions.test", Shows(&["Checked 3 of"])),
            ],
        },
        Finding {
            name: "shifted",
            record: records("/old/", "first"),
            good: |path, _| Reply::ok(format!("first {path}\n")),
            bad: |path, _| match path.strip_prefix("/old/") {
                Some(name) => Reply::redirect(301, &format!("/new/{name}")),
                None => Reply::new("404 Not Found", &[], "no such page"),
            },
            commands: &[
                (
                    "curl -sSL -r 0-0 -D - -o /dev/null http://shifted.test/old/1",
                    Shows(&["Location: /new/1", "404 Not Found"]),
                ),
                (
                    "urldb check -d shifted.test",
                    Shows(&["redirects /old/… to /new/…, where all 3 answer 404"]),
                ),
            ],
        },
        Finding {
            name: "bucket",
            record: records("/b/", "first"),
            good: |path, _| Reply::ok(format!("first {path}\n")),
            bad: |_, _| {
                let error = "<Error><Code>NoSuchBucket</Code></Error>";
                Reply::new("404 Not Found", &["Content-Type: application/xml"], error)
            },
            commands: &[
                (
                    "curl -sSL -r 0-0 -D - -o /dev/null http://bucket.test/b/1",
                    Shows(&["404 Not Found"]),
                ),
                ("urldb check -d bucket.test", Shows(&["the bucket is gone"])),
            ],
        },
        Finding {
            name: "unseen",
            record: promise("/a.bin", GOOD),
            good: |_, _| Reply::ok(OTHER),
            bad: |_, _| Reply::ok(OTHER),
            commands: &[
                (
                    "urldb check --verbose http://unseen.test/a.bin",
                    ShowsDigests([GOOD, OTHER]),
                ),
                ("urldb accept http://unseen.test/a.bin", Accepts),
            ],
        },
        Finding {
            name: "length",
            record: "---\n_path: /a\ncontent-length: 8\n".to_owned(),
            good,
            bad: |_, _| Reply::ok("a,b\n1,2\n3,4\n"),
            commands: &[
                (
                    r"curl -sSL -o /dev/null -w '%{size_download} bytes\n' http://length.test/a",
                    Shows(&["12 bytes"]),
                ),
                ("urldb accept http://length.test/a", Accepts),
            ],
        },
        Finding {
            name: "cut",
            record: promise("/a.csv", GOOD),
            good,
            bad: |_, _| Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\na,b").close(),
            commands: &[
                (
                    "curl -sSL -o /dev/null http://cut.test/a.csv",
                    Shows(&["curl: (18)"]),
                ),
                (
                    "urldb check http://cut.test/a.csv",
                    Shows(&["broken[truncated]"]),
                ),
            ],
        },
        Finding {
            name: "gone",
            // A shell would run the one, and divide the other.
            record: promise("/g/it's?x=$(id)&y=`id`;a", GOOD),
            good,
            bad: |_, _| Reply::new("404 Not Found", &[], "nothing here"),
            commands: &[
                (
                    r"curl -sSL -r 0-0 -D - -o /dev/null 'http://gone.test/g/it'\''s?x=$(id)&y=`id`;a'",
                    Shows(&["404 Not Found"]),
                ),
                (
                    r"urldb check 'http://gone.test/g/it'\''s?x=$(id)&y=`id`;a'",
                    Shows(&["broken[gone]"]),
                ),
                (
                    r"urldb archive get 'http://gone.test/g/it'\''s?x=$(id)&y=`id`;a' --sha256 DIGEST -o 'it'\''s'",
                    Writes("it's", GOOD),
                ),
            ],
        },
        Finding {
            name: "moved",
            record: promise("/a.csv", GOOD),
            good,
            bad: |_, _| Reply::redirect(302, "/login"),
            commands: &[
                (
                    "curl -sSL -r 0-0 -D - -o /dev/null http://moved.test/a.csv",
                    Shows(&["302 Moved", "Location: /login"]),
                ),
                (
                    "urldb check http://moved.test/a.csv",
                    Shows(&["302 Found to http://moved.test/login"]),
                ),
                (
                    "urldb archive get http://moved.test/a.csv --sha256 DIGEST -o a.csv",
                    Writes("a.csv", GOOD),
                ),
            ],
        },
        Finding {
            name: "type",
            record: "---\n_path: /a\ncontent-type: text/csv\n".to_owned(),
            good: |_, _| Reply::new("200 OK", &["Content-Type: text/csv"], GOOD),
            bad: |_, _| Reply::new("200 OK", &["Content-Type: text/html"], "<p>moved"),
            commands: &[
                (
                    r"curl -sSL -o /dev/null -w '%{content_type}\n' http://type.test/a",
                    Shows(&["text/html"]),
                ),
                ("urldb check http://type.test/a", Shows(&["text/html"])),
            ],
        },
        Finding {
            name: "status",
            record: "---\n_path: /a\nstatus: 200\n".to_owned(),
            good,
            bad: |_, _| Reply::new("203 Non-Authoritative Information", &[], GOOD),
            commands: &[
                (
                    r"curl -sSL -o /dev/null -w '%{http_code}\n' http://status.test/a",
                    Shows(&["203"]),
                ),
                ("urldb accept http://status.test/a", Accepts),
            ],
        },
        Finding {
            name: "closed",
            record: promise("/a", GOOD),
            good,
            bad: |_, _| Reply::new("403 Forbidden", &[], "members only"),
            commands: &[
                (
                    "curl -sSL -r 0-0 -D - -o /dev/null http://closed.test/a",
                    Shows(&["403 Forbidden"]),
                ),
                (
                    "urldb check http://closed.test/a",
                    Shows(&["broken[forbidden]"]),
                ),
            ],
        },
        Finding {
            name: "failing",
            record: promise("/a", GOOD),
            good,
            bad: |_, _| Reply::new("500 Internal Server Error", &[], "it fails"),
            commands: &[
                (
                    "curl -sSL -r 0-0 -D - -o /dev/null http://failing.test/a",
                    Shows(&["500 Internal Server Error"]),
                ),
                (
                    "urldb check http://failing.test/a",
                    Shows(&["broken[server-error]"]),
                ),
            ],
        },
        Finding {
            name: "limited",
            record: promise("/a", GOOD),
            good,
            bad: |_, _| Reply::new("429 Too Many Requests", &[], "not so fast"),
            commands: &[
                (
                    "curl -sSL -r 0-0 -D - -o /dev/null http://limited.test/a",
                    Shows(&["429 Too Many Requests"]),
                ),
                (
                    "urldb check http://limited.test/a",
                    Shows(&["429 Too Many Requests"]),
                ),
            ],
        },
        Finding {
            name: "head",
            record: "---\n_path: /a\ncontent-length: 8\nmethod: HEAD\n".to_owned(),
            good: |_, _| head(8),
            bad: |_, _| head(9),
            commands: &[
                (
                    "curl -sSIL http://head.test/a",
                    Shows(&["Content-Length: 9"]),
                ),
                ("urldb check -d head.test", Shows(&["broken[changed]"])),
            ],
        },
        Finding {
            name: "replicas",
            record: promise("/a.csv", GOOD),
            good,
            bad: |_, request| Reply::ok(format!("{request:08}")),
            commands: &[
                (
                    "for i in 1 2 3 4 5 6; do curl -sSL http://replicas.test/a.csv | cksum; done",
                    ShowsDifferent(6),
                ),
                (
                    "urldb check http://replicas.test/a.csv",
                    Shows(&["other bytes at each request"]),
                ),
            ],
        },
        Finding {
            name: "upload",
            record: promise("/a.csv", &"1,2\n".repeat(9_999)),
            good: |_, _| Reply::ok("1,2\n".repeat(9_999)),
            bad: |_, request| Reply::ok("1,2\n".repeat(1 + request)),
            commands: &[(
                "urldb check http://upload.test/a.csv",
                Shows(&["is incomplete, and grows"]),
            )],
        },
        Finding {
            name: "down",
            record: promise("/a", GOOD),
            good,
            bad: good,
            commands: &[
                (
                    "curl -sSL -r 0-0 -D - -o /dev/null http://down.test/a",
                    Shows(&["curl: (7)"]),
                ),
                (
                    "urldb check http://down.test/a",
                    Shows(&["broken[unreachable]"]),
                ),
            ],
        },
        Finding {
            name: "expired",
            record: promise("/a", GOOD),
            good,
            bad: good,
            commands: &[
                (
                    "curl -sSL -r 0-0 -D - -o /dev/null https://expired.test/",
                    Shows(&["curl: (60)", "expired"]),
                ),
                (
                    "urldb check https://expired.test/a",
                    Shows(&["expired certificate"]),
                ),
            ],
        },
    ]
}

/// The servers of the findings, while all is well and after.
struct World {
    sandbox: Sandbox,
    authority: Authority,
    is_bad: Arc<AtomicBool>,
    _servers: [Server; 3],
    /// The settings, and those after.
    configs: [String; 2],
}

impl World {
    fn new() -> Self {
        let is_bad = Arc::new(AtomicBool::new(false));
        let now = Arc::clone(&is_bad);
        let known = Mutex::new(HashMap::<(String, String), usize>::new());
        let all = findings();
        let server = Server::new(move |request| {
            let host = request.header("host").unwrap_or_default();
            let finding = all.iter().find(|it| host == format!("{}.test", it.name));
            // A path that does not exist, as the probe beside a file.
            let exists = request.target != "/login" && !request.target.contains("urldb-probe-");
            let Some(finding) = finding.filter(|_| exists) else {
                return Reply::new("404 Not Found", &[], "no such page");
            };
            let answer = if now.load(Ordering::SeqCst) {
                finding.bad
            } else {
                finding.good
            };
            let mut known = known.lock().unwrap();
            let number = known
                .entry((host.to_owned(), request.target.clone()))
                .or_default();
            *number += 1;
            answer(&request.target, *number - 1)
        });
        let authority = Authority::new();
        let tls = |kind| {
            let tls = authority.server(&[kind], "expired.test");
            Server::tls(tls, |_| Reply::ok(GOOD))
        };
        let (valid, expired) = (tls(Kind::Good), tls(Kind::Expired));
        let config = |tls: &Server, down| {
            let all = findings();
            let maps = all.iter().map(|it| {
                let address = match it.name {
                    "expired" => tls.address(),
                    "down" => down,
                    _ => server.address(),
                };
                format!("{}.test={address}", it.name)
            });
            let maps: Vec<String> = maps.collect();
            let ca_file = authority.file().to_str().unwrap();
            let mut config =
                format!("[check]\nconfirm = 1\n[network]\nmap = {maps:?}\nca-file = {ca_file:?}\n");
            for Finding { name, .. } in all {
                write!(
                    config,
                    "[notify.{name}]\ntype = \"command\"\ndomains = [\"{name}.test\"]\n\
                     command = [\"/bin/sh\", \"keep.sh\", \"{name}\"]\n"
                )
                .unwrap();
            }
            config
        };
        let configs = [
            config(&valid, server.address()),
            config(&expired, closed_address()),
        ];
        let sandbox = Sandbox::new(&configs[0]);
        let configs =
            configs.map(|config| config.replace("[check]\n", "[check]\nretry-wait = \"1ms\"\n"));
        sandbox.write(
            "keep.sh",
            "cat > \"$1.json\"; echo '{\"outcome\": \"delivered\"}'\n",
        );
        for Finding { name, record, .. } in findings() {
            let metadata = match name {
                "expired" => "---\nhttp: false\nhttps: true\n",
                _ => "---\n",
            };
            sandbox.write(
                &format!("urldb/{name}.test.yaml"),
                format!("{metadata}{record}"),
            );
        }
        Self {
            sandbox,
            authority,
            is_bad,
            _servers: [server, valid, expired],
            configs,
        }
    }

    /// Lets the fault of each finding begin.
    fn break_all(&self) {
        self.is_bad.store(true, Ordering::SeqCst);
        self.sandbox.write("urldb.toml", &self.configs[1]);
    }

    /// Runs a command line in a copy of the repository. Returns the copy, the exit code and all output.
    fn run(&self, line: &str) -> (Sandbox, Option<i32>, String) {
        let copy = self.sandbox.copy();
        let ca_file = self.authority.file().to_str().unwrap();
        let output = shell(line, &copy, &[("CURL_CA_BUNDLE", ca_file)]);
        let text = [output.stdout, output.stderr].concat();
        (
            copy,
            output.status.code(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    }

    /// Runs a command, and asserts its effect.
    fn assert_effect(&self, line: &str, effect: Effect) {
        if line.contains("curl ") && !has_curl() {
            eprintln!("skipped, since there is no curl: {line}");
            return;
        }
        let (copy, code, text) = self.run(line);
        let shown = format!("{line}: {code:?}\n{text}");
        match effect {
            Shows(parts) => {
                for part in parts {
                    assert!(text.contains(part), "{part} is not in {shown}");
                }
            }
            ShowsDifferent(count) => {
                let lines: BTreeSet<&str> = text.lines().collect();
                assert_eq!(lines.len(), count, "{shown}");
            }
            ShowsDigests(contents) => {
                for content in contents {
                    assert!(text.contains(&sha256(content)[..12]), "{content}: {shown}");
                }
            }
            Accepts => {
                assert!(text.contains("there is no terminal to ask on"), "{shown}");
                let (copy, code, text) = self.run(&format!("{line} --yes"));
                assert_eq!(code, Some(0), "{text}");
                let selection = line.trim_start_matches("urldb accept ");
                let selection = selection.trim_start_matches("--all ");
                copy.ok(&format!("check {selection}")[..]);
            }
            Writes(name, content) => {
                assert_eq!(code, Some(0), "{shown}");
                assert_eq!(fs::read_to_string(copy.path(name)).unwrap(), content);
            }
        }
    }
}

/// The line with a word in place of a digest.
fn without_digest(line: &str) -> String {
    let Some((before, after)) = line.split_once(" --sha256 ") else {
        return line.to_owned();
    };
    let rest = after.trim_start_matches(|char: char| char.is_ascii_hexdigit());
    format!("{before} --sha256 DIGEST{rest}")
}

#[test]
fn each_command_of_an_envelope_does_as_it_says() {
    let world = World::new();
    world.sandbox.urldb("run");
    // Captures of one second are one sight.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    world.break_all();
    let ran = world.sandbox.exits(1, "run --verbose");
    for finding in findings() {
        let host = format!("{}.test", finding.name);
        let envelope = world.sandbox.path(&format!("{}.json", finding.name));
        let lines = match fs::read(envelope) {
            Ok(envelope) => lines_of(&envelope),
            // No news yet.
            Err(_) => commands_of(&ran.out, &host),
        };
        let is_ack = |line: &&String| line.starts_with("urldb ack ");
        let (ack, others): (Vec<&String>, Vec<&String>) = lines.iter().partition(is_ack);
        let named: Vec<String> = others
            .iter()
            .map(|line| without_map(&without_digest(line)))
            .collect();
        let expected: Vec<&str> = finding.commands.iter().map(|(line, _)| *line).collect();
        assert_eq!(named, expected, "{}: {}", finding.name, ran.out);
        for (line, (_, effect)) in others.iter().zip(finding.commands) {
            world.assert_effect(line, *effect);
        }
        for line in ack {
            let (copy, code, text) = world.run(line);
            assert_eq!(code, Some(0), "{line}: {text}");
            let incidents = copy.files("status/incidents", ".yaml").into_iter();
            let mut texts = incidents.map(|file| fs::read_to_string(file).unwrap());
            assert!(texts.any(|text| text.contains("event: acked") && text.contains("BECAUSE")));
        }
    }
}

/// The commands of an envelope.
fn lines_of(envelope: &[u8]) -> Vec<String> {
    let envelope: Value = serde_json::from_slice(envelope).unwrap();
    let commands = envelope["message"]["commands"].as_array().unwrap();
    let lines = commands.iter().map(|it| it["line"].as_str().unwrap());
    lines.map(str::to_owned).collect()
}

/// The commands about a host in the output of a run.
fn commands_of(out: &str, host: &str) -> Vec<String> {
    let lines = advice::commands_of(out).into_iter();
    let lines = lines.filter(|line| line.contains(host));
    lines.map(str::to_owned).collect()
}
