//! Rules of redirects and registries as lists: checked, followed, accepted, and compared with a commit.

use crate::hook::Repository;
use crate::sandbox::Sandbox;
use crate::site::{Site, sha256};
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
        .exits(2, "check public/_redirects")
        .complains("names in public/_redirects are relative: add --base URL");
    let check = "check public/_redirects --base http://a.test/";
    sandbox.ok(check).says("URLs: 2 ok");
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
    let sandbox = Sandbox::new(&site.network_of(&["a.test", "b.test"]));
    sandbox.write("public/_redirects", RULES);
    sandbox
        .ok("sync --add public/_redirects --base http://a.test/")
        .says(&["2 added", "left out: 1 pattern", "format = \"redirects\""]);
    sandbox.ok("sync").says("2 unchanged");
    sandbox.assert_file(
        "urldb/a.test.yaml",
        "---\n---\n_path: /moved\nredirects-to: http://b.test/\nsource:\n- redirects\nstatus: 302\n---\n_path: /old\nredirects-to: /new\nsource:\n- redirects\nstatus: 301\n",
    );
    sandbox.ok("check").says("URLs: 2 ok");
    site.serve("/old", redirect("302 Found", "/newer"));
    site.serve("/newer", Reply::ok("newer"));
    sandbox
        .ok("accept -y --all")
        .says(&["--> public/_redirects:1", "accepted 1"]);
    assert_eq!(
        sandbox.read("public/_redirects"),
        RULES.replace("/old /new 301", "/old http://a.test/newer 302")
    );
    sandbox.ok("sync --check").says("2 unchanged");
}

#[test]
fn only_rules_that_a_pull_request_changes_are_asked() {
    let site = redirecting();
    let network = site.network_of(&["a.test", "b.test"]);
    let repository = Repository::of(Sandbox::new(&network));
    repository.write("_redirects", RULES);
    commit(&repository);
    repository.write("_redirects", format!("/x /new 301\n{RULES}"));
    let check = "check _redirects --base http://a.test/ --changed-since HEAD";
    repository
        .exits(1, check)
        .says(&["http://a.test/x", "--> _redirects:1"]);
    let asked = site.requests();
    assert!(asked.iter().all(|it| it.target == "/x"), "{asked:?}");
}

/// A file of a registry that promises these texts at `/x` and `/y`.
type RegistryFile = fn(&str, &str) -> String;

/// The files of registries by name, with their formats and the URLs that are left out of each.
const REGISTRIES: [(&str, &str, &str, RegistryFile); 7] = [
    ("sources.json", "nix-sources", "1 git", |x, y| {
        let source = |name: &str, text: &str| {
            let digest = sha256(text);
            format!(
                "{{\"type\": \"url\", \"urls\": [\"http://a.test/{name}\"],\n\"integrity\": \"sha256:{digest}\"}}"
            )
        };
        format!(
            "{{\"sources\": [{},\n{}, {{\"type\": \"git\"}}]}}",
            source("x", x),
            source("y", y)
        )
    }),
    ("formula.json", "brew-json", "1 head", |x, y| {
        let stable = |name: &str, text: &str| {
            let digest = sha256(text);
            format!("\"stable\": {{\"url\": \"http://a.test/{name}\", \"checksum\": \"{digest}\"}}")
        };
        format!(
            "[{{\"urls\": {{{}, \"head\": {{}}}}}},\n{{\"urls\": {{{}}}}}]",
            stable("x", x),
            stable("y", y)
        )
    }),
    ("dists/Sources", "debian-sources", "1 algorithm", |x, y| {
        let source = |name: &str, text: &str| {
            let (digest, length) = (sha256(text), text.len());
            format!("Package: p\nDirectory: .\nChecksums-Sha256:\n {digest} {length} {name}\n")
        };
        format!(
            "{}Checksums-New:\n x 1 x\n\n{}",
            source("x", x),
            source("y", y)
        )
    }),
    ("whereis.json", "annex", "1 no-url", |x, y| {
        let line = |name: &str, text: &str| {
            let (digest, length) = (sha256(text), text.len());
            format!(
                "{{\"key\":\"SHA256E-s{length}--{digest}.x\",\"whereis\":[{{\"urls\":[\"http://a.test/{name}\"]}}]}}\n"
            )
        };
        format!(
            "{}{{\"key\":\"WORM--x\",\"whereis\":[]}}\n{}",
            line("x", x),
            line("y", y)
        )
    }),
    ("datapackage.json", "datapackage", "1 inline", |x, y| {
        let resource = |name: &str, text: &str| {
            let (digest, length) = (sha256(text), text.len());
            format!("{{\"path\": \"{name}\", \"bytes\": {length}, \"hash\": \"sha256:{digest}\"}}")
        };
        format!(
            "{{\"resources\": [{},\n{{\"data\": []}}, {}]}}",
            resource("x", x),
            resource("y", y)
        )
    }),
    ("ro-crate-metadata.json", "jsonld", "1 file-set", |x, y| {
        let file = |id: &str, text: &str| {
            let digest = sha256(text);
            format!("{{\"@type\": \"File\", \"@id\": \"{id}\", \"sha256\": \"{digest}\"}}")
        };
        format!(
            "{{\"@graph\": [{},\n{{\"@type\": \"FileSet\"}}, {}]}}",
            file("http://a.test/x", x),
            file("y", y)
        )
    }),
    ("x.meta4", "metalink", "1 metaurl", |x, y| {
        let file = |name: &str, text: &str| {
            let (digest, length) = (sha256(text), text.len());
            format!(
                "<file name=\"{name}\"><size>{length}</size><hash type=\"sha-256\">{digest}</hash>\n<url>http://a.test/{name}</url></file>\n"
            )
        };
        format!(
            "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">{}<file><metaurl>x</metaurl></file>{}</metalink>\n",
            file("x", x),
            file("y", y)
        )
    }),
];

#[test]
fn each_registry_is_checked_and_followed() {
    for (file, format, left_out, text) in REGISTRIES {
        let site = Site::with(&[("/x", "first"), ("/y", "other")]);
        let repository = Repository::of(Sandbox::new(&site.network_of(&["a.test"])));
        let base = "--base http://a.test/";
        repository.write(file, text("first", "old"));
        let list = format!("{format}:{file}");
        repository
            .exits(1, &format!("check {list} {base}"))
            .says(&["broken[changed]: http://a.test/y", &format!("--> {file}:")]);
        repository.write(file, text("first", "other"));
        repository.ok(&format!("sync --add {list} {base}")).says(&[
            "2 added",
            &format!("left out: {left_out}"),
            &format!("format = \"{format}\""),
        ]);
        repository.ok("sync --check").says("2 unchanged");
        repository.ok("fmt --check");
        repository.ok("check").says("URLs: 2 ok");
        commit(&repository);
        // The promise of one is new.
        let before = site.requests().len();
        site.serve("/y", Reply::ok("newer"));
        repository.write(file, text("first", "newer"));
        repository
            .ok(&format!("check {list} --changed-since HEAD"))
            .says("URLs: 1 ok");
        let asked = site.requests().split_off(before);
        assert!(
            !asked.is_empty() && asked.iter().all(|it| it.target == "/y"),
            "{asked:?}"
        );
    }
}

#[test]
fn lines_of_a_program_name_the_places_in_another_file() {
    let site = Site::with(&[("/x", "x")]);
    let sandbox = Sandbox::new(&site.network_of(&["a.test"]));
    let line = |place: &str| format!("{{\"url\": \"http://a.test/y\"{place}}}\n");
    sandbox.write("x.jsonl", line(", \"file\": \"config/p.yml\", \"line\": 7"));
    sandbox.exits(1, "check x.jsonl").says("--> config/p.yml:7");
    sandbox.write(
        "x.jsonl",
        line("") + &line(", \"file\": \"p.yml\", \"line\": 0"),
    );
    sandbox.exits(1, "check x.jsonl").says(&[
        "--> x.jsonl:1",
        "x.jsonl:2",
        "`line` a number from 1",
    ]);
}

#[test]
fn a_registry_that_a_program_writes_is_not_edited() {
    for (file, format, _, text) in &REGISTRIES[..4] {
        let site = Site::with(&[("/x", "first"), ("/y", "other")]);
        let sandbox = Sandbox::new(&site.network_of(&["a.test"]));
        sandbox.write(file, text("first", "other"));
        sandbox.ok(&format!("sync --add {format}:{file} --base http://a.test/"));
        let before = sandbox.tree("");
        site.serve("/y", Reply::ok("newer"));
        sandbox.exits(1, "accept -y --all").complains(&[
            "http://a.test/y: ",
            &format!("{file}:"),
            "accept cannot edit this value; write ",
            &format!("{} in place of {}", sha256("newer"), sha256("other")),
        ]);
        assert_eq!(sandbox.tree(""), before);
    }
}

#[test]
fn schemas_of_a_store_are_followed() {
    let site = Site::with(&[("/x.json", "{}")]);
    let sandbox = Sandbox::new(&site.network_of(&["a.test"]));
    let text = "{\"schemas\": [\n{\"url\": \"http://a.test/x.json\",\n\"versions\": {\"1\": \"http://a.test/1.json\"}}]}\n";
    sandbox.write("api/catalog.json", text);
    sandbox.exits(1, "check api/catalog.json").says(&[
        "http://a.test/1.json",
        "--> api/catalog.json:3",
        "URLs: 1 broken, 1 ok",
    ]);
    sandbox
        .ok("sync --add api/catalog.json")
        .says(&["2 added", "format = \"schemastore\""]);
    sandbox.assert_file(
        "urldb/a.test.yaml",
        "---\n---\n_path: /1.json\nsource:\n- catalog\n---\n_path: /x.json\nsource:\n- catalog\n",
    );
}

#[test]
fn imports_of_dvc_are_checked_and_followed() {
    let site = Site::with(&[("/x", "first")]);
    let sandbox = Sandbox::new(&site.network_of(&["a.test"]));
    let import = "deps:\n- path: http://a.test/x\nouts:\n- md5: 8b04d5e3775d298e78455efc5ca404d5\n  size: 5\n  hash: md5\n  path: x\n";
    sandbox.write("data/x.dvc", import);
    sandbox.write("data/y.dvc", "outs:\n- path: y\n");
    sandbox.ok("check data/x.dvc").says("URLs: 1 ok");
    sandbox.write(
        "urldb.toml",
        format!(
            "{}\n[source.data]\nformat = \"dvc\"\npath = [\"data/*.dvc\"]\n",
            sandbox.read("urldb.toml")
        ),
    );
    sandbox.ok("sync").says(&["1 added", "left out: 1 no-url"]);
    sandbox.assert_file(
        "urldb/a.test.yaml",
        "---\n---\n_path: /x\ncontent-length: 5\ncontent-md5: 8b04d5e3775d298e78455efc5ca404d5\nsource:\n- data\n",
    );
    site.serve("/x", Reply::ok("the second"));
    sandbox
        .ok("accept -y --all")
        .says(&["--> data/x.dvc:4", "--> data/x.dvc:5", "accepted 1"]);
    let edited = import
        .replace(
            "8b04d5e3775d298e78455efc5ca404d5",
            "3212eb1ca5254451d20dfc92428d2cbe",
        )
        .replace("size: 5", "size: 10");
    assert_eq!(sandbox.read("data/x.dvc"), edited);
    sandbox.ok("sync --check").says("1 unchanged");
    sandbox.ok("check").says("URLs: 1 ok");
}
