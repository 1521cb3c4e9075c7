//! Answers to other requests than GET: listed, taken out and compared.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use insta::assert_snapshot;

use crate::sandbox::{Ran, Sandbox};
use crate::site::network;
use crate::support::{Reply, Request, Server};

const FORM: &str = "http://example.test/form?z=1&0=2";
const FORM_TYPE: &str = "application/x-www-form-urlencoded";

/// A server that answers with what it was asked, and has two editions of that.
struct Echo {
    server: Server,
    is_second: Arc<AtomicBool>,
}

impl Echo {
    fn new() -> Self {
        let is_second = Arc::new(AtomicBool::new(false));
        let known = Arc::clone(&is_second);
        let answer = move |request: &Request| match request.target.as_str() {
            "/see-other" => Reply::redirect(303, "/form?z=1&0=2"),
            "/keep-asking" => Reply::redirect(307, "/form?z=1&0=2"),
            _ => {
                let edition = u8::from(known.load(Ordering::SeqCst)) + 1;
                let body = String::from_utf8_lossy(&request.body);
                let method = &request.method;
                Reply::ok(format!("edition {edition}\nof {method} {body}\n"))
            }
        };
        Self {
            server: Server::new(answer),
            is_second,
        }
    }

    /// A repository that asks it in all these ways, after a run.
    fn asked(&self, requests: &[(&str, &[&str])]) -> Sandbox {
        let network = network(self.server.address(), &["example.test"]);
        let sandbox = Sandbox::new(&format!("[check]\nunsafe-methods = true\n{network}"));
        sandbox.write("query.json", "{\"a\": [1, \"x\"]}");
        for (url, options) in requests {
            sandbox.ok(&[&["add", "--static", *url][..], options].concat());
        }
        sandbox.ok("run");
        sandbox
    }
}

const ALL: [(&str, &[&str]); 5] = [
    (FORM, &[]),
    (
        FORM,
        &["--data", "q=1", "--request-content-type", FORM_TYPE],
    ),
    (
        FORM,
        &["--data", "q=2", "--request-content-type", FORM_TYPE],
    ),
    (FORM, &["--method", "PUT", "--data", "put"]),
    (
        "http://example.test/search",
        &[
            "--data",
            "@query.json",
            "--request-content-type",
            "application/json",
        ],
    ),
];

fn archive(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    sandbox.urldb(&[&["archive"], arguments].concat())
}

#[test]
fn each_request_has_its_bytes() {
    let echo = Echo::new();
    let sandbox = echo.asked(&ALL);
    for ((url, options), bytes) in ALL.iter().zip([
        "edition 1\nof GET \n",
        "edition 1\nof POST q=1\n",
        "edition 1\nof POST q=2\n",
        "edition 1\nof PUT put\n",
        "edition 1\nof POST {\"a\": [1, \"x\"]}\n",
    ]) {
        let get = [&["get", *url][..], options].concat();
        assert_eq!(archive(&sandbox, &get).code(0).out, bytes);
    }
    // What is the same to an archive may be written in other words, and come from a pipe.
    let json = ["--data", "@-", "--request-content-type", "application/json"];
    let get = [&["archive", "get", "http://example.test/search"][..], &json].concat();
    let ran = sandbox.urldb_with_input(&get, "{\"a\":[1.0,\"x\"]}");
    assert_eq!(ran.code(0).out, "edition 1\nof POST {\"a\": [1, \"x\"]}\n");
    // A file is looked for where the program works, not where it was started.
    let mut command = sandbox.urldb_command("-C");
    command.arg(&sandbox.root).args(["archive", "get"]);
    command.args(ALL[4].1).arg(ALL[4].0).current_dir("/");
    assert!(command.output().unwrap().status.success());
}

#[test]
fn requests_are_listed_apart() {
    let echo = Echo::new();
    let sandbox = echo.asked(&ALL);
    sandbox.ok("run");
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "[time]");
    settings.add_filter(r"\[time\] to \[time\]", "[time]");
    settings.add_filter(r" +\d+  urldb-\S+", "  [bytes]  [place]");
    let _guard = settings.bind_to_scope();
    assert_snapshot!(archive(&sandbox, &["list"]).code(0).out, @r"
    POST http://example.test/form?z=1&0=2  q=1
      2 captures, 1 content, [time]
    POST http://example.test/form?z=1&0=2  q=2
      2 captures, 1 content, [time]
    PUT http://example.test/form?z=1&0=2  __wb_post_data=cHV0
      2 captures, 1 content, [time]
    http://example.test/form?z=1&0=2
      2 captures, 1 content, [time]
    POST http://example.test/search  a=1&a.2_=x
      2 captures, 1 content, [time]
    ");
    assert_snapshot!(archive(&sandbox, &["list", FORM]).code(0).out, @r"
    http://example.test/form?z=1&0=2
      [time]  200  response  709792a96edc  [bytes]  [place]
      [time]  200  revisit   709792a96edc  [bytes]  [place]
    POST http://example.test/form?z=1&0=2  q=1
      [time]  200  response  ea0dbf4253c8  [bytes]  [place]
      [time]  200  revisit   ea0dbf4253c8  [bytes]  [place]
    POST http://example.test/form?z=1&0=2  q=2
      [time]  200  response  abf5d4a1ee2f  [bytes]  [place]
      [time]  200  revisit   abf5d4a1ee2f  [bytes]  [place]
    PUT http://example.test/form?z=1&0=2  __wb_post_data=cHV0
      [time]  200  response  2ea89f79af70  [bytes]  [place]
      [time]  200  revisit   2ea89f79af70  [bytes]  [place]
    ");
    let one = [&["list", FORM][..], ALL[2].1].concat();
    assert_snapshot!(archive(&sandbox, &one).code(0).out, @r"
    POST http://example.test/form?z=1&0=2  q=2
      [time]  200  response  abf5d4a1ee2f  [bytes]  [place]
      [time]  200  revisit   abf5d4a1ee2f  [bytes]  [place]
    ");
    let get = archive(&sandbox, &["list", FORM, "--method", "GET"]).code(0);
    assert_eq!(get.out.lines().count(), 3);

    let json = |arguments: &[&str]| -> Vec<serde_json::Value> {
        let ran = archive(&sandbox, &[arguments, &["--format", "jsonl"]].concat());
        let lines = ran.code(0).out;
        let lines = lines.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap()
    };
    for lines in [json(&["list"]), json(&one)] {
        let line = lines
            .iter()
            .find(|line| line["request_body"] == "q=2")
            .unwrap();
        assert_eq!(
            (&line["url"], &line["method"]),
            (&FORM.into(), &"POST".into())
        );
    }
    let plain = &json(&["list", FORM])[0];
    assert!(plain["method"].is_null() && plain["request_body"].is_null());
}

#[test]
fn archive_commands_name_the_requests_that_the_archive_has_instead() {
    let echo = Echo::new();
    let sandbox = echo.asked(&ALL);
    for (arguments, complaint) in [
        (
            &["get", "http://example.test/search"][..],
            "is not in the archive as an answer to GET, but to POST: say with --method and --data",
        ),
        (
            &[
                "get",
                FORM,
                "--data",
                "q=3",
                "--request-content-type",
                FORM_TYPE,
            ],
            "z=1&0=2 to this POST is not in the archive; `urldb archive list http://example.test/form",
        ),
        // Read as binary, it is another request.
        (
            &["diff", FORM, "--data", "q=1"],
            "to this POST is not in the archive",
        ),
        (
            &["get", "http://example.test/searck", "--method", "PUT"],
            "did you mean http://example.test/search?",
        ),
        (&["list", "--data", "q=1"], "name the URL, too"),
        (
            &["list", FORM, "--request-content-type", "a/b"],
            "--data <DATA>",
        ),
        (&["get", FORM, "--method", "post"], "upper case"),
        (
            &["get", FORM, "--data", "@missing"],
            "cannot read the body from missing",
        ),
    ] {
        archive(&sandbox, arguments).code(2).complains(complaint);
    }
}

#[test]
fn answers_to_one_request_are_compared() {
    let echo = Echo::new();
    let sandbox = echo.asked(&ALL);
    echo.is_second.store(true, Ordering::SeqCst);
    // What is asked only once in a run is sure after the second one.
    for _ in 0..2 {
        sandbox.urldb("run");
    }
    let diff = [&["diff", FORM][..], ALL[1].1].concat();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "[time]");
    let _guard = settings.bind_to_scope();
    assert_snapshot!(archive(&sandbox, &diff).code(1).out, @r"
    --- POST http://example.test/form?z=1&0=2 of [time]
    +++ POST http://example.test/form?z=1&0=2 of [time]
    @@ -1,2 +1,2 @@
    -edition 1
    +edition 2
     of POST q=1
    ");
    let get = [&["get", FORM][..], ALL[2].1].concat();
    assert_eq!(
        archive(&sandbox, &get).code(0).out,
        "edition 2\nof POST q=2\n"
    );
}

#[test]
fn redirects_lead_on_as_they_did() {
    let echo = Echo::new();
    let data: &[&str] = &["--data", "q=1", "--request-content-type", FORM_TYPE];
    let connectors = [
        "http://example.test/see-other",
        "http://example.test/keep-asking",
    ];
    let sandbox = echo.asked(&connectors.map(|way| (way, data)));
    for (way, bytes) in connectors
        .into_iter()
        .zip(["edition 1\nof GET \n", "edition 1\nof POST q=1\n"])
    {
        let ran = archive(&sandbox, &[&["get", way][..], data].concat());
        assert_eq!(ran.code(0).out, bytes);
    }
}

/// Requests that a key of the index cannot tell apart: in other case, different behind the first
/// 4,096 characters, and without good JSON.
#[test]
fn a_request_with_the_same_key_is_another() {
    let long = "x".repeat(5000);
    let (long_a, long_b) = (format!("q={long}A"), format!("q={long}B"));
    let json = "application/json";
    let requests = [
        ("q=Ab", FORM_TYPE),
        ("q=aB", FORM_TYPE),
        (&long_a, FORM_TYPE),
        (&long_b, FORM_TYPE),
        ("no JSON", json),
        ("no JSON either", json),
    ];
    let options = requests.map(|(data, kind)| ["--data", data, "--request-content-type", kind]);
    let echo = Echo::new();
    let asked = options.each_ref().map(|options| (FORM, options.as_slice()));
    let (archived, missing): (Vec<_>, Vec<_>) = asked
        .into_iter()
        .enumerate()
        .partition(|(number, _)| number % 2 == 0);
    let sandbox = echo.asked(&archived.iter().map(|(_, asked)| *asked).collect::<Vec<_>>());
    for (number, (_, options)) in archived {
        let get = [&["get", FORM][..], options].concat();
        let expected = format!("edition 1\nof POST {}\n", requests[number].0);
        assert_eq!(archive(&sandbox, &get).code(0).out, expected);
    }
    for (_, (_, options)) in missing {
        for command in ["get", "diff"] {
            archive(&sandbox, &[&[command, FORM][..], options].concat())
                .code(2)
                .complains("has no answer of http://example.test/form?z=1&0=2 to this request");
        }
    }
}

/// Two answers under one key are not versions of each other.
#[test]
fn answers_to_requests_with_one_key_are_not_compared() {
    let echo = Echo::new();
    let one = ["--data", "q=Ab", "--request-content-type", FORM_TYPE];
    let other = ["--data", "q=aB", "--request-content-type", FORM_TYPE];
    let sandbox = echo.asked(&[(FORM, &one), (FORM, &other)]);
    for (options, bytes) in [(one, "q=Ab"), (other, "q=aB")] {
        let get = archive(&sandbox, &[&["get", FORM][..], &options].concat()).code(0);
        assert_eq!(get.out, format!("edition 1\nof POST {bytes}\n"));
        archive(&sandbox, &[&["diff", FORM][..], &options].concat())
            .code(0)
            .says("never changed");
    }
}
