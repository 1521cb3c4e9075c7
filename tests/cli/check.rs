//! What one look finds, for people and as JSON, and how it is narrowed.

use serde_json::Value;

use crate::sandbox::{Sandbox, assert_has};
use crate::site::{FILE, Site, promise, promises};
use crate::support::Reply;

/// Two promises in `example.test`, both kept, and one in `other.test`.
fn kept() -> (Site, Sandbox) {
    let site = Site::with(&[("/a/1", "x"), ("/b", "y")]);
    let network = site.network_of(&["example.test", "other.test"]);
    let sandbox = Sandbox::new(&network);
    let a = promise("/a/1", "x").replace("content-length", "categories:\n- core\ncontent-length");
    sandbox.write(FILE, format!("---\n{a}{}", promise("/b", "y")));
    sandbox.write("urldb/other.test.yaml", promises(&[("/b", "y")]));
    (site, sandbox)
}

fn urls(document: &Value) -> Vec<&str> {
    let results = document["results"].as_array().unwrap();
    let urls = results.iter().map(|result| result["url"].as_str().unwrap());
    urls.collect()
}

#[test]
fn kept_promises_end_with_0_and_leave_nothing_behind() {
    let (_site, sandbox) = kept();
    let before = sandbox.tree("");
    let ran = sandbox
        .ok("check")
        .says(&["URLs: 3 ok", "3 of 3 byte for byte"]);
    assert_eq!(ran.err, "", "no progress where nobody looks");
    assert!(!ran.out.contains('\x1b'));
    assert_eq!(sandbox.ok("check -q").out, "");
    assert_eq!(sandbox.tree(""), before);
}

#[test]
fn broken_promises_end_with_1() {
    let (site, sandbox) = kept();
    site.remove("/b");
    sandbox.exits(1, "check").says(&[
        "broken[gone]: http://example.test/b answers 404 Not Found",
        "--> urldb/example.test.yaml:9",
        "answers 404 Not Found",
        "URLs: 2 broken, 1 ok",
    ]);
}

#[test]
fn blocked_urls_end_with_exit_code_3() {
    let (site, sandbox) = kept();
    site.serve(
        "/b",
        Reply::new("429 Too Many Requests", &["Retry-After: 0"], ""),
    );
    sandbox.exits(3, "check").says(&[
        "unknown[blocked]: http://example.test/b",
        "URLs: 2 not checked, 1 ok",
    ]);
    site.remove("/a/1");
    sandbox.exits(1, "check");
}

#[test]
fn the_json_document_has_every_url() {
    let (site, sandbox) = kept();
    site.serve("/b", Reply::ok("z"));
    let ran = sandbox.exits(1, "check --format json -d example.test");
    let document = ran.json();
    assert_eq!(document["protocol"], 2);
    assert_eq!(
        urls(&document),
        ["http://example.test/a/1", "http://example.test/b"]
    );
    let results = document["results"].as_array().unwrap();
    for result in results {
        assert_eq!(result["file"], FILE);
        assert!(result["line"].as_u64().unwrap() > 0);
        assert!(result["message"].is_string());
    }
    assert_eq!(
        (&results[0]["state"], &results[0]["line"]),
        (&"ok".into(), &3.into())
    );
    assert_eq!(results[1]["state"], "changed");
    assert_eq!(results[1]["reason"], "digest");
    assert_eq!(results[1]["attempts"], 2, "a second fetch confirmed it");
    assert_eq!(document["findings"].as_array().unwrap().len(), 1);
    assert_eq!(document["summary"]["states"]["ok"], 1);
}

#[test]
fn what_is_checked_can_be_narrowed() {
    let (site, sandbox) = kept();
    let looked = |arguments: &[&str]| {
        let all = [&["check", "--format", "json"], arguments].concat();
        let document = sandbox.ok(&all).json();
        let urls: Vec<String> = urls(&document).into_iter().map(str::to_owned).collect();
        urls.join(" ")
    };
    assert_eq!(looked(&["-d", "other.test"]), "http://other.test/b");
    assert_eq!(looked(&["-c", "core"]), "http://example.test/a/1");
    assert_eq!(looked(&["--path-prefix", "/a/"]), "http://example.test/a/1");
    assert_eq!(looked(&["http://other.test/b"]), "http://other.test/b");
    assert_eq!(
        looked(&["-d", "example.test", "-d", "other.test"])
            .split(' ')
            .count(),
        3
    );
    sandbox
        .exits(2, "check -c nothing")
        .complains("no record is selected");
    // A flag comes before the same host in the configuration.
    let other = Site::with(&[("/b", "y")]);
    sandbox.ok(&[
        "check",
        "--map",
        &other.map("other.test"),
        "http://other.test/b",
    ]);
    assert_eq!(other.requests().len(), 1);
    assert!(
        site.requests()
            .iter()
            .any(|request| request.header("host") == Some("other.test"))
    );
}

#[test]
fn check_rm_and_accept_suggest_a_similar_url_or_domain() {
    let (_site, sandbox) = kept();
    sandbox
        .exits(2, "check -d exampel.test")
        .complains("no domain file for exampel.test; did you mean example.test?");
    let similar = "not in the database; did you mean http://example.test/a/1?";
    for (code, command) in [(1, "check"), (2, "rm"), (2, "accept -y"), (2, "run")] {
        sandbox
            .exits(code, &format!("{command} http://example.test/a/2"))
            .complains(similar);
    }
    sandbox
        .exits(2, "check --map example.test -q")
        .complains("HOST[:PORT]=HOST[:PORT]");
}

#[test]
fn color_follows_the_option_and_the_environment() {
    let (_site, sandbox) = kept();
    let painted = |arguments: &[&str], env: &[(&str, &str)]| {
        let ran = sandbox.urldb_with_env(&[&["check"], arguments].concat(), env);
        ran.code(0).out.contains('\x1b')
    };
    assert!(!painted(&[], &[]), "standard output is a pipe");
    assert!(painted(&["--color", "always"], &[]));
    assert!(painted(&["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(!painted(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!painted(&[], &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
}

#[test]
fn a_closed_output_pipe_is_no_error() {
    let sandbox = Sandbox::new("");
    // Far more than a pipe holds.
    let records: Vec<String> = (0..20_000)
        .map(|number| format!("---\n_path: /{number:05}\n"))
        .collect();
    sandbox.write(FILE, format!("---\n{}", records.concat()));
    for format in ["human", "jsonl"] {
        let line = format!(
            "'{}' list --format {format} 2>err; echo $? >code",
            env!("CARGO_BIN_EXE_urldb")
        );
        let script = format!("({line}) | head -n 1");
        let output = sandbox
            .command("sh")
            .args(["-c", &script])
            .output()
            .unwrap();
        assert!(!output.stdout.is_empty());
        assert_eq!(sandbox.read("err"), "", "{format}");
        assert_eq!(sandbox.read("code"), "0\n", "{format}");
    }
}

#[test]
fn unsafe_requests_are_left_out_and_counted() {
    let site = Site::with(&[("/a", "x")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(
        FILE,
        "---\n---\n_path: /a\n---\n_path: /a\nmethod: POST\nrequest-body: q=1\n",
    );
    sandbox
        .exits(3, "check")
        .says("POST may change something on the server: set `unsafe-methods =")
        .says(&[
            "Checked 1 of 2 URLs",
            "Not checked: 1 that may change something on the\nserver.",
        ]);
    assert_eq!(site.requests().len(), 1);
    sandbox.write(
        "urldb.toml",
        format!(
            "{}[check.host.\"example.test\"]\nunsafe-methods = true\n",
            sandbox.read("urldb.toml")
        ),
    );
    sandbox.ok("check");
    let posts = site
        .requests()
        .into_iter()
        .filter(|request| request.method == "POST");
    assert_eq!(posts.map(|post| post.body).collect::<Vec<_>>(), [b"q=1"]);
}

/// A domain with an alias, where both serve `/a`, and a promised redirect at `/b`.
fn aliased(metadata: &str) -> (Site, Sandbox) {
    let site = Site::with(&[("/a", "x")]);
    let network = site.network_of(&["example.test", "alias.test"]);
    let sandbox = Sandbox::new(&network);
    let redirect = "---\n_path: /b\nredirects-to: /a\n";
    let records = promise("/a", "x");
    sandbox.write(
        FILE,
        format!("---\ncnames:\n- alias.test\n{metadata}{records}{redirect}"),
    );
    (site, sandbox)
}

#[test]
fn an_alias_that_is_named_is_asked_itself() {
    let (site, sandbox) = aliased("");
    for command in ["check", "run"] {
        let asked = site.requests().len();
        let ran = sandbox.ok(&[command, "--format", "json", "http://alias.test/a"]);
        assert_eq!(urls(&ran.json()), ["http://alias.test/a"]);
        let requests = site.requests().split_off(asked);
        let hosts: Vec<_> = requests.iter().map(|it| it.header("host")).collect();
        assert_eq!(hosts, [Some("alias.test")], "{command}");
    }
    let document = sandbox
        .ok("check --format json http://alias.test/a http://example.test/a")
        .json();
    assert_eq!(urls(&document).len(), 2, "{document}");
    site.remove("/a");
    sandbox
        .exits(1, "check http://alias.test/a")
        .says("broken[alias-differs]: http://alias.test/a answers 404 Not Found");
}

#[test]
fn targets_of_promised_redirects_can_be_skipped() {
    let site = Site::with(&[]);
    site.serve("/a", Reply::redirect(302, "http://example.test/gone"));
    let network = site.network_of(&["example.test"]);
    let sandbox = Sandbox::new(&network);
    let record = "---\n---\n_path: /a\nredirects-to: http://example.test/gone\n";
    sandbox.write("urldb/example.test.yaml", record);
    let asked = || {
        let requests = site.requests();
        requests.iter().filter(|it| it.target == "/gone").count()
    };
    sandbox.ok("check").says("redirect-to-broken");
    let followed = asked();
    assert!(followed > 0);
    let skipped = sandbox.ok("check --skip-targets");
    let is_told = skipped.out.contains("redirect-to-broken");
    assert!(!is_told, "{}", skipped.out);
    assert_eq!(asked(), followed);
    let skip = format!("[check]\npromised-targets = \"skip\"\n{network}");
    sandbox.write("urldb.toml", skip);
    sandbox.ok("run");
    assert_eq!(asked(), followed);
}

#[test]
fn a_url_that_is_never_asked_is_not_called_good() {
    let (site, sandbox) = aliased("");
    for command in ["check", "run"] {
        sandbox
            .exits(2, &[command, "https://example.test/a"])
            .complains(&[
                "https://example.test/a is never asked",
                "asked over http only",
                "`https: true`",
            ]);
        sandbox
            .exits(2, &[command, "http://alias.test/b"])
            .complains(&[
                "http://alias.test/b is never asked",
                "http://example.test/b",
            ]);
    }
    sandbox
        .exits(2, "accept -y http://alias.test/a")
        .complains("alias.test/a is an alias of example.test/a");
    let (_, only_https) = aliased("http: false\n");
    only_https
        .exits(2, "check http://example.test/a")
        .complains(&["http://example.test/a is never asked", "over https only"]);
    assert!(site.requests().is_empty());
    // A URL names what to remove as it names what to check.
    let before = sandbox.tree("urldb");
    for (url, problem) in [
        ("https://example.test/a", "over http only"),
        ("https://alias.test/a", "over http only"),
        (
            "http://alias.test/a",
            "http://alias.test/a is an alias of example.test/a, whose record is about both: \
             `urldb rm http://example.test/a` removes it",
        ),
    ] {
        sandbox
            .exits(2, &["rm", "http://example.test/b", url])
            .complains(problem);
    }
    assert_eq!(sandbox.tree("urldb"), before);
    sandbox.ok("rm http://example.test/a");
}

#[test]
fn a_domain_is_found_by_its_cname() {
    let (_site, sandbox) = aliased("");
    let list = |domain| sandbox.ok(&["list", "-d", domain]).out;
    assert_eq!(list("alias.test"), list("example.test"));
    let document = sandbox.exits(2, "check -d alias.test -c none --format json");
    assert_has(&document.err, "no record is selected");
    sandbox
        .exits(2, "list -d alais.test")
        .complains("no domain file for alais.test; did you mean alias.test?");
}

#[test]
fn a_mapping_of_a_host_that_nothing_names_is_an_error() {
    let (site, sandbox) = kept();
    let files = sandbox.tree("");
    for arguments in [
        &["check"][..],
        &["run"],
        &["accept", "-y", "--all"],
        &["watch"],
        &["add", "http://new.test/x"],
        &["import", "list", "urls"],
    ] {
        sandbox.write("urls", "http://new.test/x\n");
        let arguments = [arguments, &["--map", "exampel.test=127.0.0.1:9"]].concat();
        sandbox.exits(2, &arguments).complains(&[
            "--map exampel.test=…: no domain file, cname or `redirects-to`",
            "did you mean example.test?",
        ]);
        std::fs::remove_file(sandbox.path("urls")).unwrap();
        assert_eq!(sandbox.tree(""), files);
    }
    assert!(site.requests().is_empty());
    let unlike = ["check", "--map", "cdn.invalid=127.0.0.1:9"];
    sandbox.exits(2, &unlike).complains("`map` under [network]");
    // What a record redirects to is named, and so is what is being added.
    let target = "redirects-to: http://cdn.invalid/a\n";
    sandbox.write(
        "urldb/third.test.yaml",
        format!("---\n---\n_path: /\n{target}"),
    );
    sandbox.ok(&[&unlike[..], &["-d", "other.test"]].concat());
    let new = site.map("new.test");
    sandbox.ok(&["add", "--map", &new, "http://new.test/b"]);
}
