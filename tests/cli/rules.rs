//! Site rules, and what they do to records.

use insta::assert_snapshot;

use crate::sandbox::Sandbox;
use crate::site::Site;
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
