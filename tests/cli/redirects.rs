//! The `.htaccess` files of a web server as a list.

use crate::hook::Repository;
use crate::sandbox::Sandbox;
use crate::site::Site;
use crate::support::Reply;

/// A tree with rules in two folders, of which a third is ignored by git.
fn write_tree(sandbox: &Sandbox) {
    sandbox.write(
        "www/.htaccess",
        "RewriteEngine on\nRewriteRule ^a$ http://new.test/a [R=301,L]\nRewriteRule ^ns/b$ http://new.test/1 [L]\n",
    );
    sandbox.write(
        "www/ns/.htaccess",
        "RewriteEngine on\nRewriteRule ^(b|c)$ http://new.test/$1 [R=303,L]\nRewriteRule ^d - [F]\n",
    );
}

/// A server that answers as the rules of [`write_tree`] say.
fn server() -> Site {
    let site = Site::new();
    site.serve("/a", Reply::redirect(301, "http://new.test/a"));
    for name in ["b", "c"] {
        let reply = Reply::redirect(303, &format!("http://new.test/{name}"));
        site.serve(&format!("/ns/{name}"), reply);
    }
    site
}

const SHADOWED: &str = "www/.htaccess:3: no request reaches this rule: www/ns/.htaccess has rules of its own, which replace those of its parent for http://old.test/ns/b (shadowed-rule)";

#[test]
fn a_tree_is_checked_before_it_is_deployed() {
    let site = server();
    let sandbox = Sandbox::new(&site.network_of(&["old.test"]));
    write_tree(&sandbox);
    let check = "check htaccess:www --base http://old.test/ --skip-targets";
    let before = sandbox.tree("");
    let ran = sandbox.exits(1, check);
    ran.says(&["www/.htaccess:3", "no request reaches this rule"])
        .complains("left out: 1 pattern");
    sandbox.write(
        "www/.htaccess",
        "RewriteEngine on\nRewriteRule ^a$ http://new.test/a [R=301,L]\n",
    );
    sandbox.ok(check).says("URLs: 3 ok");
    // One file knows its format, and its folder is the root.
    site.serve("/c", Reply::redirect(303, "http://new.test/c"));
    let file = "check www/ns/.htaccess --base http://old.test/ns/ --skip-targets";
    sandbox.ok(file).says("URLs: 2 ok");
    site.serve("/ns/c", Reply::redirect(303, "http://new.test/other"));
    sandbox.exits(1, check).says(&[
        "broken[redirected]: http://old.test/ns/c\n  redirects to http://new.test/other instead of http://new.test/c\n",
        "--> www/ns/.htaccess:2",
    ]);
    sandbox
        .exits(2, "check htaccess:www")
        .complains("names in www are relative: add --base URL");
    sandbox.write(".htaccess", "Options -Indexes\n");
    write_tree(&sandbox);
    std::fs::remove_file(sandbox.path(".htaccess")).unwrap();
    assert_eq!(sandbox.tree(""), before);
}

#[test]
fn rules_are_synced_and_imported_and_not_edited() {
    let site = server();
    let network = site.network_of(&["old.test"]);
    let sandbox = Sandbox::new(&format!(
        "{network}\n[check]\npromised-targets = \"skip\"\n"
    ));
    write_tree(&sandbox);
    sandbox
        .exits(1, "sync --add htaccess:www --base http://old.test")
        .says(&[
            "3 added",
            SHADOWED,
            "[source.www]\nformat = \"htaccess\"\npath = [\"www\"]\nbase = \"http://old.test/\"\n",
        ]);
    sandbox.exits(1, "sync").says(&["3 unchanged", SHADOWED]);
    let record =
        "---\n_path: /ns/b\nredirects-to: http://new.test/b\nsource:\n- www\nstatus: 303\n";
    assert!(sandbox.read("urldb/old.test.yaml").contains(record));
    sandbox
        .exits(1, "check")
        .says(&["mistake[shadowed-rule]", "Checked 3 of 3 URLs"]);
    site.serve("/ns/b", Reply::redirect(303, "http://new.test/other"));
    let before = sandbox.tree("");
    sandbox.exits(1, "accept -y http://old.test/ns/b").complains(
        "www/ns/.htaccess:2: accept cannot edit this format; change the line to http://new.test/other",
    );
    assert_eq!(sandbox.tree(""), before);

    let other = Sandbox::new("");
    write_tree(&other);
    let import = "import htaccess www --base http://old.test/";
    other.exits(1, import).complains(SHADOWED);
    other
        .exits(1, &format!("{import} --keep-going"))
        .says("3 added");
    other
        .exits(2, "import htaccess - --base http://old.test/")
        .complains("name the file or the folder");
}

#[test]
fn variants_of_a_url_are_told_apart_by_accept() {
    let sandbox = Sandbox::new(
        "[source.purl]\nformat = \"htaccess\"\npath = [\"**/.htaccess\"]\nbase = \"http://old.test/\"\n",
    );
    sandbox.write(
        "ns/.htaccess",
        "RewriteEngine on\nRewriteCond %{HTTP_ACCEPT} text/html\nRewriteRule ^a$ http://new.test/a.html [R=303,L]\n\
         RewriteRule ^a$ http://new.test/a.ttl [R=303,L]\n",
    );
    sandbox.ok("sync").says("2 added");
    let file = sandbox.read("urldb/old.test.yaml");
    assert!(
        file.starts_with("---\nhttp: true\nvary:\n- accept\n---\n")
            || file.starts_with("---\nvary:\n- accept\n---\n"),
        "{file}"
    );
    assert!(
        file.contains(
            "redirects-to: http://new.test/a.html\nrequest-headers:\n  Accept: text/html\n"
        ),
        "{file}"
    );
    sandbox.ok("sync --check");
    sandbox.ok("lint");
    sandbox.ok("fmt --check");
}

#[test]
fn the_root_of_a_repository_can_be_a_tree() {
    let sandbox = Sandbox::new("");
    sandbox.write(".htaccess", "Redirect /a http://new.test/\n");
    sandbox
        .ok("sync --add htaccess:. --base http://old.test --name purl")
        .says("1 added");
    assert!(sandbox.read("urldb.toml").contains("path = [\".\"]\n"));
    sandbox.ok("sync --check");
}

#[test]
fn a_pull_request_is_checked_at_its_new_rules() {
    let site = server();
    let repository = Repository::of(Sandbox::new(&site.network_of(&["old.test"])));
    repository.write(".gitignore", "ignored/\n");
    repository.write("ignored/.htaccess", "Redirect /x http://new.test/\n");
    write_tree(&repository);
    repository.git("add -A");
    repository.git("commit -q -m rules");
    let check = "check htaccess:www --base http://old.test/ --skip-targets --changed-since HEAD";
    repository.ok(check);
    let rules = repository.read("www/ns/.htaccess");
    repository.write(
        "www/ns/.htaccess",
        format!("{rules}RewriteRule ^e$ http://new.test/e [L]\n"),
    );
    let ran = repository.exits(1, check);
    ran.says(&["broken", "http://old.test/ns/e", "--> www/ns/.htaccess:4"]);
}
