//! Rules of redirects and registries as lists: checked, followed, accepted, and compared with a commit.

use crate::hook::Repository;
use crate::sandbox::Sandbox;
use crate::site::Site;
use crate::support::Reply;

fn redirect(status: &str, target: &str) -> Reply {
    Reply::new(status, &[&format!("Location: {target}")], "")
}

fn commit(repository: &Repository) {
    repository.git("add -A");
    repository.git("commit -q --no-verify -m lists");
}

const RULES: &str = "/old /new 301\n/s/* /t/:splat 301\n/moved http://b.test/ 302\n";

/// A site whose server does what the rules say.
fn redirecting() -> Site {
    let site = Site::with(&[("/new", "new"), ("/", "b")]);
    site.serve("/old", redirect("301 Moved Permanently", "/new"));
    site.serve("/moved", redirect("302 Found", "http://b.test/"));
    site
}

#[test]
fn rules_of_a_site_are_tested_before_they_are_deployed() {
    let site = redirecting();
    let sandbox = Sandbox::new(&site.network_of(&["a.test", "b.test"]));
    sandbox.write("public/_redirects", RULES);
    sandbox
        .exits(2, "check --list public/_redirects")
        .complains("names in public/_redirects are relative: add --base URL");
    let check = "check --list public/_redirects --base http://a.test/";
    sandbox.ok(check).says("all 2 URLs are as promised");
    // The target of one, and the status of the other.
    site.serve("/old", redirect("301 Moved Permanently", "/newer"));
    site.serve(
        "/moved",
        redirect("301 Moved Permanently", "http://b.test/"),
    );
    sandbox.exits(1, check).says(&[
        "--> public/_redirects:1",
        "redirects to http://a.test/newer instead of http://a.test/new",
        "--> public/_redirects:3",
        "answers 301 Moved Permanently instead of 302 Found",
    ]);
}

#[test]
fn rules_are_followed_and_accepted_in_place() {
    let site = redirecting();
    site.serve(
        "/obo/x/wiki",
        redirect("301 Moved Permanently", "http://b.test/"),
    );
    let purl = "http://purl.obolibrary.org";
    let hosts = ["a.test", "b.test", "purl.obolibrary.org"];
    let sandbox = Sandbox::new(&site.network_of(&hosts));
    sandbox.write("public/_redirects", RULES);
    let config = "base_url: /obo/x\nentries:\n- exact: /wiki\n  replacement: 'http://b.test/' # x\n  status: permanent\n- regex: y\n  replacement: z\n";
    sandbox.write("config/x.yml", config);
    sandbox
        .ok("add-list -y public/_redirects --base http://a.test/")
        .says(&["2 added", "left out: 1 pattern", "format = \"redirects\""]);
    sandbox.ok("add-list -y config/x.yml").says(&[
        "1 added",
        "left out: 1 pattern, 1 regex",
        "format = \"obo-purl\"",
    ]);
    sandbox.ok("sync").says("3 added");
    sandbox.assert_file(
        "urldb/a.test.yaml",
        "---\n---\n_path: /moved\nredirects-to: http://b.test/\nsource:\n- redirects\nstatus: 302\n---\n_path: /old\nredirects-to: /new\nsource:\n- redirects\nstatus: 301\n",
    );
    sandbox.ok("check").says("all 3 URLs are as promised");
    site.serve("/old", redirect("302 Found", "/newer"));
    site.serve("/newer", Reply::ok("newer"));
    site.serve(
        "/obo/x/wiki",
        redirect("301 Moved Permanently", "http://b.test/new"),
    );
    sandbox.ok("accept -y --all").says(&[
        "--> public/_redirects:1",
        "--> config/x.yml:4",
        "accepted 2",
    ]);
    assert_eq!(
        sandbox.read("public/_redirects"),
        RULES.replace("/old /new 301", "/old http://a.test/newer 302")
    );
    assert_eq!(
        sandbox.read("config/x.yml"),
        config.replace("'http://b.test/'", "'http://b.test/new'")
    );
    sandbox.ok("sync --check").says("3 unchanged");
    // The status is a word there.
    site.serve("/obo/x/wiki", redirect("302 Found", "http://b.test/new"));
    sandbox.exits(1, "accept -y --all").complains(&format!(
        "{purl}/obo/x/wiki: config/x.yml:3: accept cannot edit this value; write 302 in place of 301"
    ));
}

#[test]
fn only_rules_that_a_pull_request_changes_are_asked() {
    let site = redirecting();
    let network = site.network_of(&["a.test", "b.test"]);
    let repository = Repository::of(Sandbox::new(&network));
    repository.write("_redirects", RULES);
    commit(&repository);
    repository.write("_redirects", format!("/x /new 301\n{RULES}"));
    let check = "check --list _redirects --base http://a.test/ --changed-since HEAD";
    repository
        .exits(1, check)
        .says(&["http://a.test/x", "--> _redirects:1"]);
    let asked = site.requests();
    assert!(asked.iter().all(|it| it.target == "/x"), "{asked:?}");
}
