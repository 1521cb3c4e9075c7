//! Site rules, and what they do to records.

use insta::assert_snapshot;

use crate::sandbox::Sandbox;
use crate::site::{Site, sha256};
use crate::support::Reply;

const DOMAIN: &str = r#"main {
  optional language = flag("(en|fr|de|es)\.");
  optional www = website("w{1,4}\.", "www");
};
"#;

const WEBSITE: &str = r#"main {
  path optional canonalize::language = flag("(en|fr|de|es)/");
  namespace options { query optional language = flag("en|fr|de|es"); };
};
"#;

const DOMAIN_FILE: &str = "urldb/rules/example.org.rules";
const WEBSITE_FILE: &str = "urldb/rules/www.example.org.website.rules";

/// With rules by which the language of a page may stand in three places.
fn with_rules() -> Sandbox {
    let sandbox = Sandbox::new("");
    sandbox.write(DOMAIN_FILE, DOMAIN);
    sandbox.write(WEBSITE_FILE, WEBSITE);
    sandbox
}

#[test]
fn urls_of_one_page_become_one_record() {
    let sandbox = with_rules();
    let urls = [
        "http://en.example.org/x",
        "http://www.example.org/en/x",
        "http://www.example.org/x?language=en",
    ];
    let add = ["add", "--no-fetch"];
    let ran = sandbox.ok(&[&add[..], &urls[..]].concat());
    assert_snapshot!(ran.out, @r"
    http://en.example.org/x is http://www.example.org/x to the site rules
    http://www.example.org/en/x is http://www.example.org/x to the site rules
    http://www.example.org/x?language=en is http://www.example.org/x to the site rules
    added http://www.example.org/x in urldb/www.example.org.yaml
    ");
    let file = "---\n---\n_path: /x\n";
    sandbox.assert_file("urldb/www.example.org.yaml", &file);
    // One after the other is the same, and each of them names the record.
    for url in urls {
        sandbox.ok(&["add", "--no-fetch", url]).says("known");
        sandbox.ok(&["url", "explain", url]).says("yes, line 3");
    }
    sandbox.assert_file("urldb/www.example.org.yaml", &file);
    sandbox.ok("lint").says("3 files: 0 errors, 0 warnings");
    sandbox.ok(&["rm", urls[0]]);
    sandbox.assert_file("urldb/www.example.org.yaml", "---\n");
    // Other domains are left alone.
    let ran = sandbox.ok("add --no-fetch http://en.example.com/x");
    assert_eq!(
        ran.out,
        "added http://en.example.com/x in urldb/en.example.com.yaml\n"
    );
}

#[test]
fn what_no_rule_admits_is_not_added() {
    let sandbox = with_rules();
    let add = |url| sandbox.urldb(&["add", "--no-fetch", "http://www.example.org/a", url]);
    add("http://ftp.example.org/x").code(2).complains(&[
        "http://ftp.example.org/x cannot be added",
        "matches the host",
    ]);
    add("http://en.example.org/fr/x")
        .code(2)
        .complains("the URL gives `language` two values, `en` and `fr`");
    assert!(sandbox.files("urldb", ".yaml").is_empty());
}

#[test]
fn a_page_may_be_one_of_a_cname() {
    let sandbox = with_rules();
    sandbox.write(
        "urldb/example.org.yaml",
        "---\ncnames:\n- www.example.org\n---\n_path: /x\n",
    );
    sandbox
        .ok("add --no-fetch http://en.example.org/y")
        .says("added http://example.org/y in urldb/example.org.yaml");
    sandbox.ok("lint");
    sandbox.ok("url explain http://fr.example.org/y").says(&[
        "urldb/example.org.yaml, which has www.example.org among its cnames",
        "yes, line 7",
    ]);
}

#[test]
fn mistakes_in_rules_have_their_place() {
    let sandbox = with_rules();
    sandbox.write(
        DOMAIN_FILE,
        "main {\n  optional www = website(\"w{1,4\\.\", \"www\");\n}\n",
    );
    sandbox.write("urldb/rules/data.example.org.rules", DOMAIN);
    sandbox.write("urldb/rules/example.net.rules", b"// \xff\n");
    sandbox.write("urldb/rules/README.md", "Not a file of rules.");
    sandbox.write("urldb/rules/.x.rules", "Not either.");
    let ran = sandbox.exits(1, "lint");
    assert_snapshot!(ran.out);
    // Nobody works with rules that have mistakes.
    let ran = sandbox.exits(2, "add --no-fetch http://example.org/x");
    assert_snapshot!(ran.err);
    sandbox.ok(&["lint", WEBSITE_FILE]).says("1 file: 0 errors");
    sandbox
        .exits(1, &["lint", DOMAIN_FILE])
        .says("1 file: 1 error");
    // A link may lead anywhere.
    std::os::unix::fs::symlink("/etc/passwd", sandbox.path("urldb/rules/a.test.rules")).unwrap();
    sandbox.exits(1, "lint").says("urldb/rules/a.test.rules:1:1: unreadable-file: the file cannot be read: a.test.rules is a link out of the site rules: replace it by a file");
}

#[test]
fn two_files_of_rules_may_contradict_each_other() {
    let sandbox = with_rules();
    sandbox.write(
        DOMAIN_FILE,
        DOMAIN.replace("optional language", "optional canonalize::language"),
    );
    sandbox.exits(1, "lint").says(&[
        "urldb/rules/www.example.org.website.rules:2:",
        "rule-official",
    ]);
}

#[test]
fn records_are_held_against_the_rules() {
    let sandbox = with_rules();
    let post = "---\n_path: /x\nmethod: POST\nrequest-body: a\n";
    let file = format!("---\n---\n_path: /en/x\n---\n_path: /en/y\n---\n_path: /x\n{post}");
    sandbox.write("urldb/www.example.org.yaml", file);
    sandbox.write(
        "urldb/fr.example.org.yaml",
        "---\nhttp: false\n---\n_path: /de/z\n---\n_path: /y\n",
    );
    sandbox.write("urldb/ftp.example.org.yaml", "---\n---\n_path: /x\n");
    sandbox.write("urldb/en.example.com.yaml", "---\n---\n_path: /x\n");
    let ran = sandbox.exits(1, "lint");
    assert_snapshot!(ran.out);
}

#[test]
fn rules_that_are_staged_are_judged() {
    let sandbox = with_rules();
    let git = |arguments: &[&str]| {
        let mut command = sandbox.command("git");
        command.args(["-c", "user.name=x", "-c", "user.email=x@example.org"]);
        command.args(arguments).output().unwrap()
    };
    git(&["init", "-q"]);
    sandbox.write(DOMAIN_FILE, "main {\n  optional www = flag(\"(\");\n};\n");
    git(&["add", "."]);
    sandbox.write(DOMAIN_FILE, DOMAIN);
    sandbox.exits(1, "hook run pre-commit").complains(&[
        "urldb/rules/example.org.rules:2:24: rule-pattern",
        "commit stopped",
    ]);
    git(&["add", "."]);
    let ran = sandbox.ok("hook run pre-commit");
    assert_eq!(ran.err, "");
}

#[test]
fn pages_name_the_official_url_of_the_rules() {
    let site = Site::new();
    let page = |href: &str| {
        let html = format!("<link rel=canonical href='{href}'>");
        Reply::new("200 OK", &["Content-Type: text/html"], html)
    };
    site.serve("/en/a", page("/a?language=en"));
    site.serve("/en/b", page("/en/b"));
    let network = site.network_of(&["www.example.org"]);
    let sandbox = Sandbox::new(&format!("[check]\ncanonical = true\n{network}"));
    sandbox.write(DOMAIN_FILE, DOMAIN);
    sandbox.write(WEBSITE_FILE, WEBSITE);
    let file = "---\n---\n_path: /en/a\n---\n_path: /en/b\n";
    sandbox.write("urldb/www.example.org.yaml", file);
    let ran = sandbox.ok("check");
    assert_eq!(ran.out.matches("canonical-").count(), 1, "{}", ran.out);
    ran.says(&[
        "warning[canonical-differs]: http://www.example.org/en/a",
        "is http://www.example.org/en/a",
    ]);
    // Rules with mistakes say nothing.
    sandbox.write(WEBSITE_FILE, "main {");
    sandbox.exits(2, "check").complains("website.rules:1:");
}

/// With a retired option, and with parameters that do not exist.
fn with_retired(website: &str) -> Sandbox {
    let sandbox = Sandbox::new("");
    sandbox.write(DOMAIN_FILE, DOMAIN);
    sandbox.write(WEBSITE_FILE, website);
    sandbox
}

const RETIRED: &str = r#"main {
  path optional edition = redirect("(?:first|second)/", "302");
  query optional old = redirect("[0-9]+", "301");
  query optional sort = flag("[a-z]+");
  parameters = strict;
};
"#;

#[test]
fn a_retired_option_is_a_record_that_promises_the_redirect() {
    let sandbox = with_retired(RETIRED);
    let urls = [
        "http://en.example.org/x?old=1",
        "http://www.example.org/x?sort=name&old=1",
        "http://example.org/x?old=1",
    ];
    let ran = sandbox.ok(&[&["add", "--no-fetch"][..], &urls[..]].concat());
    assert_snapshot!(ran.out, @r"
    http://en.example.org/x?old=1 is http://www.example.org/x?old=1 to the site rules
    http://www.example.org/x?sort=name&old=1 is http://www.example.org/x?old=1 to the site rules
    http://example.org/x?old=1 is http://www.example.org/x?old=1 to the site rules
    added http://www.example.org/x?old=1 in urldb/www.example.org.yaml
      it promises a redirect (301) to http://www.example.org/x, since the site rules remove `old`
    ");
    let record = "---\n---\n_path: /x?old=1\nredirects-to: /x\nstatus: 301\n";
    sandbox.assert_file("urldb/www.example.org.yaml", record);
    for url in urls {
        sandbox.ok(&["add", "--no-fetch", url]).says("known");
        sandbox.ok(&["url", "explain", url]).says("yes, line 3");
    }
    sandbox.ok("lint").says("3 files: 0 errors, 0 warnings");
    let explained = sandbox.ok(&["url", "explain", "--format", "json", urls[0]]);
    let outcome = &explained.json()["outcome"];
    assert_eq!(outcome["page_url"], "http://www.example.org/x");
    assert_eq!(outcome["redirect"]["status"], 301);
    assert_eq!(outcome["redirect"]["removed"][0], "old");
    assert_snapshot!(sandbox.ok(&["url", "explain", urls[1]]).out);
    sandbox.ok(&["rm", urls[1]]);
    sandbox.assert_file("urldb/www.example.org.yaml", "---\n");
    // Both retired options go by one redirect, and so with the weaker status.
    sandbox
        .ok("add --no-fetch http://example.org/first/y?old=2")
        .says(
            "a redirect (302) to http://www.example.org/y, since the site rules remove `edition`, `old`",
        );
    // A request other than GET is not redirected.
    sandbox.ok("add --no-fetch --data a=b http://example.org/z?old=2");
    let file = sandbox.read("urldb/www.example.org.yaml");
    assert_eq!(file.matches("redirects-to: /y\n").count(), 1, "{file}");
    assert_eq!(file.matches("redirects-to").count(), 1, "{file}");
    sandbox.ok("lint");
}

#[test]
fn a_parameter_that_does_not_exist_is_refused_everywhere() {
    let sandbox = with_retired(RETIRED);
    let add = sandbox.exits(2, "add --no-fetch http://en.example.org/x?sorr=name");
    assert_snapshot!(add.err, @"error: http://en.example.org/x?sorr=name cannot be added: the website `www.example.org` has no parameter `sorr`; did you mean `sort`? (unknown-parameter)");
    sandbox.write(
        "urls.txt",
        "http://www.example.org/y\nhttp://www.example.org/x?test=1\n",
    );
    sandbox.exits(1, "import list urls.txt").complains(
        "urls.txt:2: http://www.example.org/x?test=1: the website `www.example.org` has no parameter `test` \
         (unknown-parameter)",
    );
    sandbox.write(
        "urldb/www.example.org.yaml",
        "---\n---\n_path: /x\n---\n_path: /x?sorr=name\n",
    );
    let lint = sandbox.exits(1, "lint");
    assert_snapshot!(lint.out);
    sandbox
        .exits(1, "url explain http://www.example.org/x?test=1")
        .says("unknown-parameter: the website `www.example.org` has no parameter `test`");
}

#[test]
fn a_record_must_promise_the_redirect_of_its_option() {
    let sandbox = with_retired(RETIRED);
    let record = |path: &str, keys: &str| format!("---\n_path: {path}\n{keys}");
    let good = [
        record(
            "/a?old=1",
            "redirects-to: http://www.example.org/a\nstatus: 301\n",
        ),
        record(
            "/b?old=1",
            "content-type: X-301-Redirect\nredirects-to: /b\n",
        ),
        record(
            "/c?old=1",
            "content-length: 3\nredirects-to: /c\nstatus: 301\n",
        ),
    ];
    let bad = [
        record("/d?old=1", ""),
        record("/e?old=1", "redirects-to: /e\nstatus: 302\n"),
        record(
            "/f?old=1",
            "redirects-to: https://www.example.org/f\nstatus: 301\n",
        ),
        record("/first/g", "redirects-to: /g\n"),
    ];
    let file = format!("---\n{}{}", good.concat(), bad.concat());
    sandbox.write("urldb/www.example.org.yaml", file);
    let lint = sandbox.exits(1, "lint");
    assert_snapshot!(lint.out);
    // A list agrees with each spelling of the target.
    sandbox.write(
        "urls.txt",
        "http://www.example.org/a?old=1\nhttp://www.example.org/b?old=1\n",
    );
    sandbox.ok("import list urls.txt").says("1 merged, 1 known");
    sandbox.write("urls.txt", "http://www.example.org/f?old=1\n");
    sandbox
        .exits(1, "import list urls.txt")
        .complains("`redirects-to` differs");
    // `add` completes the promise, and names a key that differs.
    sandbox
        .ok("add --no-fetch http://www.example.org/d?old=1")
        .says("updated");
    let known = sandbox.ok("add --no-fetch http://www.example.org/e?old=1");
    assert_snapshot!(known.err);
    sandbox.ok("add --no-fetch http://www.example.org/first/g");
    let lint = sandbox.exits(1, "lint");
    assert_eq!(
        lint.out.matches("missing-redirect").count(),
        2,
        "{}",
        lint.out
    );
}

#[test]
fn an_unknown_website_names_the_default_one() {
    let sandbox = with_rules();
    sandbox
        .exits(2, "add --no-fetch http://ftp.example.org/x?a=1")
        .complains("did you mean http://www.example.org/x?a=1? (unknown-domain)");
    let explained = sandbox.exits(1, "url explain --format json http://ftp.example.org/x");
    let problem = &explained.json()["problem"];
    assert_eq!(problem["suggestion"], "http://www.example.org/x");
    assert!(sandbox.files("urldb", ".yaml").is_empty());
    sandbox.write(WEBSITE_FILE, "main { required data = \"data/\"; };\n");
    sandbox
        .exits(2, "add --no-fetch http://ftp.example.org/x")
        .complains("; the default website of the domain is `www.example.org` (unknown-domain)");
}

#[test]
fn a_site_that_serves_the_page_twice_is_found() {
    let site = Site::new();
    let redirect = |to: &str| Reply::new("301 Moved", &[&format!("Location: {to}")], "");
    let page = || Reply::new("200 OK", &["Content-Type: text/plain"], "page");
    site.serve("/right", page());
    site.serve("/right?old=1", redirect("/right"));
    site.serve("/twice", page());
    site.serve("/twice?old=1", page());
    let network = site.network_of(&["www.example.org"]);
    let sandbox = Sandbox::new(&network);
    sandbox.write(DOMAIN_FILE, DOMAIN);
    sandbox.write(WEBSITE_FILE, RETIRED);
    let urls = [
        "http://en.example.org/right?old=1",
        "http://en.example.org/twice?old=1",
    ];
    sandbox.ok(&[&["add", "--static", "--content-type"][..], &urls[..]].concat());
    // The bytes are those at the end of the redirect.
    let file = sandbox.read("urldb/www.example.org.yaml");
    assert_eq!(file.matches("content-length: 4\n").count(), 2, "{file}");
    assert_eq!(file.matches("status: 301\n").count(), 2, "{file}");
    let check = sandbox.exits(1, "check").says("request got no redirect");
    assert_eq!(
        check.out.matches("broken[redirected]").count(),
        1,
        "{}",
        check.out
    );
    check.says("http://www.example.org/twice?old=1");
    sandbox.ok(&["check", urls[0]]);
    // The page changes, and with it the bytes at the end of the redirect, but not the redirect.
    site.serve(
        "/right",
        Reply::new("200 OK", &["Content-Type: text/plain"], "longer"),
    );
    sandbox.ok(&["accept", "--yes", urls[0]]).says("accepted 1");
    sandbox.exits(1, &["accept", "--yes", urls[1]]).complains(
        "http://www.example.org/twice?old=1 promises a redirect (301) to http://www.example.org/twice, since the site \
         rules remove `old`, and is not accepted otherwise: change the site or the rules",
    );
    let file = sandbox.read("urldb/www.example.org.yaml");
    assert!(
        file.contains("_path: /right?old=1\ncontent-length: 6\n"),
        "{file}"
    );
    assert!(file.contains("redirects-to: /right\n"), "{file}");
    assert!(file.contains("redirects-to: /twice\n"), "{file}");
    sandbox.ok("lint");
}

#[test]
fn bytes_at_the_end_of_a_redirect_are_accepted_in_their_list() {
    let site = Site::new();
    let page = |body: &str| Reply::new("200 OK", &["Content-Type: text/plain"], body);
    site.serve("/x", page("page"));
    let reply = Reply::new("301 Moved", &["Location: /x"], "");
    site.serve("/x?old=1", reply);
    let network = site.network_of(&["www.example.org"]);
    let source = "[source.table]\nformat = \"table\"\npath = [\"a.csv\"]\n";
    let sandbox = Sandbox::new(&format!("{network}{source}"));
    sandbox.write(WEBSITE_FILE, RETIRED);
    let list = |body: &str| {
        let (length, digest) = (body.len(), sha256(body));
        format!("url,size,sha256\nhttp://www.example.org/x?old=1,{length},{digest}\n")
    };
    sandbox.write("a.csv", list("page"));
    sandbox.ok("sync");
    sandbox.ok("check");
    site.serve("/x", page("other page"));
    sandbox.exits(1, "check").says("changed");
    sandbox.ok("accept --yes --all");
    sandbox.assert_file("a.csv", &list("other page"));
    sandbox.ok("sync --check");
    sandbox.ok("check");
    sandbox.ok("lint");
    let file = sandbox.read("urldb/www.example.org.yaml");
    assert!(
        file.contains("redirects-to: /x\n") && file.contains("status: 301\n"),
        "{file}"
    );
}

#[test]
fn an_import_goes_through_the_rules() {
    let sandbox = Sandbox::new("");
    let rules = "main { optional www = website(\"w{1,4}\\.\", \"www\"); };\n";
    sandbox.write("urldb/rules/example.org.rules", rules);
    sandbox.write(
        "urls.txt",
        "http://example.org/a\nhttp://ww.example.org/a\nhttp://a.test/%7Ex\n",
    );
    sandbox.ok("import list urls.txt").says("2 added");
    sandbox.assert_file("urldb/www.example.org.yaml", "---\n---\n_path: /a\n");
    sandbox.write("bad.txt", "http://other.example.org/b\n");
    let before = sandbox.tree("urldb");
    sandbox
        .exits(1, "import list bad.txt")
        .complains(&["not-admitted", "unknown-domain"]);
    assert_eq!(sandbox.tree("urldb"), before);
}
