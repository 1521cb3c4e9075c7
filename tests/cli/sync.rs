//! Lists that stay masters: `sync`, and `check` of a list.

use std::fs;

use serde_json::Value;

use crate::hook::Repository;
use crate::sandbox::{Sandbox, assert_lacks};
use crate::site::{Site, sha256};

const FILE: &str = "urldb/data.test.yaml";

const SUMS: &str =
    "\n[source.sums]\nformat = \"sums\"\npath = [\"SHA256SUMS\"]\nbase = \"http://data.test/\"\n";

/// A list of files, each of which has its name as its content.
fn sums(names: &[&str]) -> String {
    let lines = names
        .iter()
        .map(|name| format!("{}  {name}\n", sha256(name)));
    lines.collect()
}

fn record(name: &str, source: &str) -> String {
    let digest = sha256(name);
    format!("---\n_path: /{name}\ncontent-sha256: {digest}\nsource:\n- {source}\n")
}

fn records(names: &[&str], source: &str) -> String {
    let records: String = names.iter().map(|name| record(name, source)).collect();
    format!("---\n{records}")
}

/// A database that follows a list of these files.
fn synced(names: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new(SUMS);
    sandbox.write("SHA256SUMS", sums(names));
    sandbox.ok("sync");
    sandbox
}

#[test]
fn the_database_follows_its_list() {
    let sandbox = synced(&["a", "b"]);
    sandbox.assert_file(FILE, &records(&["a", "b"], "sums"));
    let before = sandbox.tree("");
    sandbox.ok("sync").says("2 unchanged\n");
    sandbox.ok("sync --check");
    sandbox.ok("fmt --check");
    sandbox.ok("lint");
    assert_eq!(sandbox.tree(""), before);
    // A row is new, one is changed, one is gone.
    let changed = format!("{}  a\n{}", sha256("other"), sums(&["c"]));
    sandbox.write("SHA256SUMS", &changed);
    let before = sandbox.tree("urldb");
    sandbox
        .exits(1, "sync --check")
        .says("urldb/data.test.yaml:1:1: not-synced: 3 records differ from their lists")
        .says("  added http://data.test/c (SHA256SUMS:2)\n")
        .says("  updated http://data.test/a (SHA256SUMS:1)\n")
        .says("  removed data.test/b\n");
    sandbox
        .ok("sync -n")
        .says("urldb/data.test.yaml: 1 added, 1 updated, 1 removed\n");
    assert_eq!(sandbox.tree("urldb"), before);
    // More than twenty records are counted.
    let row = |number: u8| format!("{}  d{number}\n", sha256("d"));
    let rows: String = (10..35).map(row).collect();
    sandbox.write("SHA256SUMS", changed.clone() + &rows);
    let checked = sandbox
        .exits(1, "sync --check")
        .says("  and 8 more records\n");
    assert_eq!(checked.out.matches("\n  added ").count(), 19);
    sandbox.write("SHA256SUMS", &changed);
    sandbox.ok("sync");
    let a = record("a", "sums").replace(&sha256("a"), &sha256("other"));
    sandbox.assert_file(FILE, &format!("---\n{a}{}", record("c", "sums")));
}

#[test]
fn what_people_write_stays() {
    let sandbox = synced(&["a", "b"]);
    let a = record("a", "sums").replace("content-sha", "categories:\n- core\ncontent-sha");
    let a = a.replace("source:", "name: by hand\nsource:");
    let own = "---\n_path: /own\ncontent-length: 3\n";
    let edited = format!("---\n{a}{}{own}", record("b", "sums"));
    sandbox.write(FILE, &edited);
    sandbox.ok("sync").says("2 unchanged\n");
    sandbox.assert_file(FILE, &edited);
    // A key that the list owns is written again.
    sandbox.write(FILE, edited.replace(&sha256("b"), &sha256("x")));
    sandbox
        .exits(1, "sync --check")
        .says("not-synced: 1 record differs");
    sandbox.ok("sync").says("1 updated, 1 unchanged");
    sandbox.assert_file(FILE, &edited);
    // A promise that no list states is people's, and stays when the row is gone.
    let typed = edited.replace(
        "source:\n- sums\n---\n_path: /own",
        "content-type: text/csv\nsource:\n- sums\n---\n_path: /own",
    );
    sandbox.write(FILE, &typed);
    sandbox.ok("fmt");
    sandbox
        .ok("sync")
        .says("1 record with promises that no list states");
    sandbox.write("SHA256SUMS", sums(&["a"]));
    sandbox.ok("sync");
    let b = format!(
        "---\n_path: /b\ncontent-sha256: {}\ncontent-type: text/csv\n",
        sha256("b")
    );
    sandbox.assert_file(FILE, &format!("---\n{a}{b}{own}"));
}

#[test]
fn a_record_that_people_wrote_is_never_changed() {
    let sandbox = Sandbox::new(SUMS);
    let digest = sha256("a");
    let by_hand = format!(
        "---\n---\n_path: /a\ncontent-sha256: {digest}\n---\n_path: /b\ncontent-length: 5\n"
    );
    sandbox.write(FILE, &by_hand);
    sandbox.write("SHA256SUMS", sums(&["a"]));
    sandbox.ok("sync").says(&[
        "1 unchanged",
        "1 record that no list made",
        "urldb sync --adopt",
    ]);
    sandbox.assert_file(FILE, &by_hand);
    let other = by_hand.replace(&digest, &sha256("x"));
    sandbox.write(FILE, &other);
    let mistake = "SHA256SUMS:1:1: list-contradiction: http://data.test/a has a record that no list made in \
                   urldb/data.test.yaml:3, and `content-sha256` differs";
    sandbox.exits(1, "sync").says(mistake);
    sandbox.exits(1, "sync --adopt").says(mistake);
    sandbox.assert_file(FILE, &other);
    sandbox.write(FILE, &by_hand);
    let adopted = sandbox.ok("sync --adopt").says("1 updated");
    assert_lacks(&adopted.out, "no list made");
    sandbox.assert_file(
        FILE,
        &by_hand.replace("---\n_path: /b", "source:\n- sums\n---\n_path: /b"),
    );
}

#[test]
fn lists_that_contradict_each_other_are_named_and_the_rest_is_written() {
    let more =
        "[source.table]\nformat = \"table\"\npath = [\"more/*.csv\"]\ncategory = [\"more\"]\n";
    let sandbox = Sandbox::new(&format!("{SUMS}{more}"));
    sandbox.write("SHA256SUMS", sums(&["a", "b"]));
    let row = |name: &str, content: &str| format!("http://data.test/{name},{}\n", sha256(content));
    let table = |rows: &[String]| format!("url,sha256\n{}", rows.concat());
    sandbox.write("more/1.csv", table(&[row("a", "x"), row("c", "c")]));
    sandbox.write("more/2.csv", table(&[row("b", "b")]));
    let mistake = "more/1.csv:2:1: list-contradiction: http://data.test/a is promised otherwise in SHA256SUMS:1";
    sandbox.exits(1, "sync").says(mistake);
    let in_both =
        record("b", "sums\n- table").replace("content-sha", "categories:\n- more\ncontent-sha");
    let c = record("c", "table").replace("content-sha", "categories:\n- more\ncontent-sha");
    sandbox.assert_file(FILE, &format!("---\n{in_both}{c}"));
    // The record of the contradiction is not added, and once it is there it stays.
    sandbox.write("more/1.csv", table(&[row("a", "a"), row("c", "c")]));
    sandbox.ok("sync");
    let before = sandbox.tree("urldb");
    sandbox.write("more/1.csv", table(&[row("a", "x"), row("c", "c")]));
    sandbox.exits(1, "sync").says(mistake);
    assert_eq!(sandbox.tree("urldb"), before);
    // A link that moves from one source to another.
    sandbox.write("SHA256SUMS", sums(&["a"]));
    sandbox.write("more/1.csv", table(&[row("c", "c")]));
    sandbox.ok("sync").says("2 updated, 1 unchanged");
}

#[test]
fn http_and_https_of_one_path_are_one_record() {
    let table = "[source.table]\nformat = \"table\"\npath = [\"a.csv\"]\n";
    let sandbox = Sandbox::new(table);
    sandbox.write(
        "a.csv",
        "url,size\nhttps://a.test/x,1\nhttp://a.test/x,1\nhttps://a.test/y,1\nhttps://a.test/z,1\n",
    );
    sandbox.ok("sync");
    let listed = "http://a.test/x\nhttps://a.test/x\nhttps://a.test/y\nhttps://a.test/z\n";
    assert_eq!(sandbox.ok("list").out, listed);
    sandbox.write("a.csv", "url,size\nhttps://a.test/x,1\nhttp://a.test/x,2\n");
    sandbox.exits(1, "sync").says(
        "a.csv:3:1: list-contradiction: http and https of /x are promised differently in a.csv:2; one \
         record holds one promise",
    );
}

#[test]
fn a_list_that_loses_most_of_its_rows_removes_nothing() {
    let names: Vec<String> = (10..60).map(|number| format!("f{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let sandbox = synced(&names);
    let before = sandbox.tree("urldb");
    sandbox.write("SHA256SUMS", sums(&names[..35]));
    sandbox
        .exits(1, "sync")
        .says("sums: 15 of 50 records are gone from the list; `urldb sync --force` removes them");
    assert_eq!(sandbox.tree("urldb"), before);
    sandbox.ok("sync --force").says("15 removed, 35 unchanged");
    sandbox.write("SHA256SUMS", sums(&names[..28]));
    sandbox.ok("sync").says("7 removed");
    // The table is gone from urldb.toml.
    sandbox.write(
        "urldb.toml",
        "[source.other]\nformat = \"list\"\npath = [\"urls\"]\n",
    );
    sandbox.write("urls", "http://other.test/\n");
    sandbox
        .exits(1, "sync")
        .says("sums: 28 of 28 records are gone");
    sandbox.ok("sync --force").says("1 added, 28 removed");
}

#[test]
fn a_source_can_keep_its_records() {
    let sandbox = Sandbox::new(&format!("{SUMS}on-gone = \"keep\"\n"));
    sandbox.write("SHA256SUMS", sums(&["a", "b"]));
    sandbox.ok("sync");
    sandbox.write("SHA256SUMS", sums(&["a"]));
    sandbox.ok("sync");
    let b = record("b", "sums").replace("source:\n- sums\n", "");
    sandbox.assert_file(FILE, &format!("---\n{}{b}", record("a", "sums")));
}

#[test]
fn a_list_that_cannot_be_read_stops_everything() {
    let sandbox = synced(&["a", "b"]);
    let before = sandbox.tree("urldb");
    let conflict = format!(
        "<<<<<<< ours\n{}=======\n{}>>>>>>> theirs\n",
        sums(&["a"]),
        sums(&["b"])
    );
    for (content, words) in [
        (conflict, "SHA256SUMS has a merge conflict; mend it first"),
        ("# nothing\n".to_owned(), "no URL is in SHA256SUMS"),
    ] {
        sandbox.write("SHA256SUMS", content);
        sandbox
            .exits(2, "sync")
            .complains(&["nothing was written", "[source.sums]", words]);
    }
    fs::remove_file(sandbox.path("SHA256SUMS")).unwrap();
    sandbox
        .exits(2, "sync")
        .complains("there is no file at SHA256SUMS");
    assert_eq!(sandbox.tree("urldb"), before);
    // A row that cannot be read may be the row of any record: none is removed.
    sandbox.write(
        "SHA256SUMS",
        format!("{}nonsense\n{}", sums(&["a"]), sums(&["c"])),
    );
    sandbox
        .exits(1, "sync")
        .says(&["refused: SHA256SUMS:2", "1 added, 2 unchanged"]);
    // The domain file has a conflict.
    let text = sandbox.read(FILE);
    sandbox.write(FILE, format!("<<<<<<< ours\n{text}"));
    sandbox.exits(2, "sync").complains("urldb/data.test.yaml:1");
}

#[test]
fn a_record_of_a_list_is_changed_in_the_list() {
    let sandbox = synced(&["a", "b"]);
    let before = sandbox.tree("urldb");
    let sentence = "http://data.test/b is promised in sums (SHA256SUMS:2); change it there";
    sandbox
        .exits(2, "rm http://data.test/b")
        .complains(sentence);
    assert_eq!(sandbox.tree("urldb"), before);
}

#[test]
fn lists_are_found_by_patterns_and_nothing_outside_is_read() {
    let deep = "[source.deep]\nformat = \"list\"\npath = [\"lists/*/urls\"]\nexclude = [\"http://a.test/private/**\"]\n";
    let sandbox = Repository::of(Sandbox::new(deep));
    sandbox.write(
        "lists/one/urls",
        "http://a.test/1\nhttp://a.test/private/x/y\nftp://a.test/f\n",
    );
    sandbox.write("lists/two/urls", "http://a.test/2\nhttp://a.test:443/\n");
    sandbox.write("lists/two/deeper/urls", "http://a.test/3\n");
    sandbox.write("lists/ignored/urls", "http://a.test/4\n");
    sandbox.write(".gitignore", "ignored\n");
    sandbox
        .ok("sync")
        .says(&["2 added", "left out: 1 excluded, 1 port, 1 scheme"]);
    assert_eq!(sandbox.ok("list").out, "http://a.test/1\nhttp://a.test/2\n");
    for (path, words) in [
        ("/etc/hosts", "is no path below the folder of urldb.toml"),
        ("../x", "is no path below the folder of urldb.toml"),
    ] {
        sandbox.write(
            "urldb.toml",
            format!("[source.x]\nformat = \"list\"\npath = [\"{path}\"]\n"),
        );
        sandbox.exits(2, "sync").complains(words);
    }
    sandbox.write(
        "urldb.toml",
        "[source.x]\nformat = \"summs\"\npath = [\"x\"]\n",
    );
    sandbox.exits(2, "sync").complains("did you mean \"sums\"?");
}

#[test]
fn a_list_is_added_and_checked_without_a_database() {
    let site = Site::with(&[("/a", "a"), ("/b", "changed")]);
    let network = site.network_of(&["data.test"]);
    let sandbox = Sandbox::new(&network);
    sandbox.write("SHA256SUMS", sums(&["a", "b"]));
    let before = sandbox.tree("");
    let check = "check SHA256SUMS --base http://data.test/";
    sandbox
        .exits(1, check)
        .says(&["broken[changed]: http://data.test/b", "--> SHA256SUMS:2"]);
    let found = sandbox.exits(1, &format!("{check} --format json")).json();
    let finding = &found["findings"][0];
    assert_eq!(
        (&finding["file"], &finding["line"]),
        (&"SHA256SUMS".into(), &2.into())
    );
    assert!(!found.to_string().contains("data.test.yaml"));
    // Nothing is left behind.
    assert_eq!(sandbox.tree(""), before);
    sandbox
        .exits(2, "check SHA256SUMS")
        .complains("names in SHA256SUMS are relative: add --base URL");
    sandbox.write("odd", "http://data.test/a\n");
    sandbox
        .exits(2, "check odd")
        .complains("odd: no reader knows this file: write FORMAT:PATH");
    sandbox.ok("check list:odd");
    // Neither in the repository nor with a usual name.
    fs::write(sandbox.path("../a[1]*.sha256"), sums(&["a"])).unwrap();
    sandbox
        .ok("check ../a[1]*.sha256 --base http://data.test/")
        .says("URLs: 1 ok");
    fs::write(sandbox.path("a[1]*.sha256"), sums(&["b"])).unwrap();
    sandbox
        .exits(1, "check a[1]*.sha256 --base http://data.test/")
        .says("--> a[1]*.sha256:1");
    let add = "sync --add SHA256SUMS --base http://data.test/ --name data";
    let before = sandbox.tree("");
    let dry = sandbox.ok(&format!("{add} -n"));
    dry.says(&["2 added", "not added to urldb.toml:\n\n[source.data]"]);
    assert_eq!(sandbox.tree(""), before);
    let added = sandbox.ok(add);
    added.says(&["2 added", "\nadded to urldb.toml:\n\n[source.data]"]);
    sandbox.ok("sync").says("2 unchanged");
    // A list of a source has the options of the source.
    sandbox
        .exits(1, "check SHA256SUMS")
        .says("--> SHA256SUMS:2");
    sandbox
        .exits(2, "sync --add list:odd --name data")
        .complains("urldb.toml has a [source.data]");
}

#[test]
fn a_contradiction_is_a_finding_of_the_check_and_is_not_asked() {
    let site = Site::with(&[("/a", "a"), ("/b", "b")]);
    let network = site.network_of(&["data.test"]);
    let sandbox = Sandbox::new(&network);
    sandbox.write(
        "SHA256SUMS",
        format!("{}{}  a\n", sums(&["a", "b"]), sha256("x")),
    );
    sandbox
        .exits(1, "check SHA256SUMS --base http://data.test/")
        .says(&["SHA256SUMS:3", "list-contradiction", "1 of 1 URL"]);
    assert!(site.requests().iter().all(|request| request.target == "/b"));
}

#[test]
fn a_synced_list_is_committed_only_if_the_list_is() {
    let sandbox = Repository::of(Sandbox::new(SUMS));
    sandbox.git("config user.name ada");
    sandbox.git("config user.email ada@example.test");
    sandbox.write("SHA256SUMS", sums(&["a"]));
    let uncommitted = "SHA256SUMS has uncommitted changes; commit them first";
    sandbox.exits(2, "sync --commit").complains(uncommitted);
    sandbox.git("add -A");
    sandbox.git("commit -q -m lists");
    sandbox.ok("sync --commit");
    assert!(
        sandbox
            .git("log -1 --format=%s")
            .starts_with("Follow the lists: 1 added")
    );
    sandbox.write("SHA256SUMS", sums(&["a", "b"]));
    let before = sandbox.tree("urldb");
    sandbox.exits(2, "sync --commit").complains(uncommitted);
    assert_eq!(sandbox.tree("urldb"), before);
    sandbox.ok("sync");
}

/// A killed `sync --commit` leaves what `sync` leaves.
#[test]
fn what_an_earlier_call_has_written_is_committed() {
    let sandbox = Repository::of(Sandbox::new(SUMS));
    sandbox.git("config user.name ada");
    sandbox.git("config user.email ada@example.test");
    let commit_list = |names: &[&str]| {
        sandbox.write("SHA256SUMS", sums(names));
        sandbox.git("add SHA256SUMS urldb.toml");
        sandbox.git("commit -q -m lists");
        sandbox.ok("sync");
        sandbox.write("urldb/own.test.yaml", "---\n---\n_path: /own\n");
        sandbox.ok("sync --commit").says("1 unchanged");
        assert_eq!(
            sandbox.git("status --porcelain --untracked-files=all urldb"),
            "?? urldb/own.test.yaml\n"
        );
        sandbox.git("log -1 --format=%s")
    };
    assert_eq!(commit_list(&["a"]), "Follow the lists\n");
    assert_eq!(commit_list(&["b"]), "Follow the lists\n");
    let head = sandbox.git("rev-parse HEAD");
    sandbox.ok("sync --commit").complains("nothing to commit");
    assert_eq!(sandbox.git("rev-parse HEAD"), head);
}

#[test]
fn findings_name_the_list_and_records_that_differ_from_it() {
    let site = Site::with(&[("/a", "a"), ("/b", "changed")]);
    let network = site.network_of(&["data.test"]);
    let sandbox = Sandbox::new(&format!("{network}{SUMS}"));
    sandbox.write("SHA256SUMS", sums(&["a", "b"]));
    sandbox.ok("sync");
    for command in ["check", "run"] {
        sandbox
            .exits(1, command)
            .says(&["http://data.test/b", "--> SHA256SUMS:2"]);
        let found = sandbox
            .exits(1, &format!("{command} --format sarif"))
            .json();
        let place = &found["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "SHA256SUMS");
    }
    sandbox.write("SHA256SUMS", sums(&["a"]));
    sandbox.exits(1, "run").says(&[
        "--> urldb/data.test.yaml:1",
        "not-synced",
        "`urldb sync` writes it",
    ]);
    // Without the list, the database stands for it.
    fs::remove_file(sandbox.path("SHA256SUMS")).unwrap();
    sandbox.exits(1, "check").says(&[
        "the lists cannot be followed: [source.sums]",
        "--> urldb/data.test.yaml",
    ]);
}

#[test]
fn links_of_documents_are_followed_with_each_use() {
    let site = Site::with(&[("/a", "a")]);
    let network = site.network_of(&["a.test", "docs.test"]);
    let sandbox = Repository::of(Sandbox::new(&network));
    sandbox.write(
        "pages/one.md",
        "# One\n\n[a](https://x.test/a#part) and <http://a.test/a>\n`http://code.test/`\n",
    );
    sandbox.write(
        "pages/deep/two.md",
        "\n\n\nhttp://a.test/gone and [local](../one.md) [mail](mailto:a@b.test)\n",
    );
    sandbox.write("pages/page.html", "<a href=http://a.test/gone>x</a>\n");
    sandbox.write("pages/notes.txt", "http://not.test/\n");
    // Without a set-up; a URL of an unmapped host would be asked, so the check names one host.
    let found = sandbox.exits(1, "check pages/ -d a.test");
    let found = found.says(&[
        "http://a.test/gone",
        "--> pages/deep/two.md:4",
        "2 of 3 URLs",
    ]);
    assert!(!found.out.contains("code.test") && !found.out.contains("not.test"));
    sandbox.ok("sync --add pages/").says(&[
        "3 added",
        "left out: 1 mailto, 1 relative without a base (--base or `base`)",
        "[source.pages]",
        "format = \"links\"",
        "path = [\"pages\"]",
    ]);
    let listed = "http://a.test/a\nhttp://a.test/gone\nhttps://x.test/a\n";
    assert_eq!(sandbox.ok("list").out, listed);
    sandbox.ok("sync").says("3 unchanged");
    // One of two uses is gone; then the other.
    sandbox.write("pages/page.html", "<p>\n");
    sandbox.ok("sync").says("3 unchanged");
    sandbox.write("pages/deep/two.md", "nothing\n");
    sandbox.ok("sync").says("1 removed, 2 unchanged");
    // Conflict markers in a document are text; git's index counts.
    sandbox.write(
        "pages/one.md",
        "<<<<<<< ours\nhttp://a.test/a\n=======\n>>>>>>> theirs\n",
    );
    sandbox.ok("sync").says("1 removed, 1 unchanged");
}

#[test]
fn lists_of_registries_are_followed() {
    let sandbox = Sandbox::new("");
    let digest = sha256("x");
    let conan = format!(
        "sources:\n  \"1.0\":\n    url: [\"https://a.test/x.tgz\", \"https://b.test/x.tgz\"]\n    sha256: \"{}\"\n",
        digest.to_uppercase()
    );
    sandbox.write("recipes/x/all/conandata.yml", conan);
    sandbox.write(
        "modules/m/1/source.json",
        "{\"url\": \"https://a.test/m.tgz\", \"integrity\": \"sha512-xYKvKXAvjrZMuHPoS5wHKyo9WyT9Vw2r9Y5IpFvb1gbZwBn3hfKuk0jGT2eQ5mQO1Y5OTt9NUhz8zjRlnzVXiw==\"}\n",
    );
    sandbox.write(
        "url_checksums/d.txt",
        format!("https://c.test/d.zip\t7\t{digest}\td.zip\n"),
    );
    sandbox.write(
        "urldb.toml",
        "[source.conan]\nformat = \"conandata\"\npath = [\"recipes/*/*/conandata.yml\"]\n\
         [source.bazel]\nformat = \"bazel-registry\"\npath = [\"modules/*/*/source.json\"]\n\
         [source.tfds]\nformat = \"tfds\"\npath = [\"url_checksums/*.txt\"]\n",
    );
    sandbox.ok("sync").says("4 added\n");
    let a = sandbox.read("urldb/a.test.yaml");
    assert!(
        a.contains("_path: /m.tgz\ncontent-sha512: c582af")
            && a.contains(&format!("content-sha256: {digest}")),
        "{a}"
    );
    let c = format!("content-length: 7\ncontent-sha256: {digest}\nsource:\n- tfds\n");
    assert!(sandbox.read("urldb/c.test.yaml").contains(&c));
    sandbox.ok("lint");
    sandbox.ok("fmt --check");
    sandbox.ok("sync").says("4 unchanged");
}

#[test]
fn strangers_bring_lists_and_nothing_else() {
    let site = Site::with(&[("/a", "a"), ("/b", "changed")]);
    let sandbox = synced(&["a", "b"]);
    let map = site.map("data.test");
    let notifier = "[notify.evil]\ntype = \"command\"\ncommand = [\"touch\", \"executed\"]\n";
    let outside = "[source.outside]\nformat = \"list\"\npath = [\"link\"]\n";
    sandbox.write("urldb.toml", format!("{SUMS}{notifier}"));
    let check = ["check", "--untrusted", "--map", &map];
    sandbox
        .exits(1, &check)
        .complains("these keys of urldb.toml have no effect with --untrusted: notify.evil")
        .says(&["--> SHA256SUMS:2", "URLs: 1 broken, 1 ok"]);
    let list = ["check", "--untrusted", "SHA256SUMS", "--map", &map];
    sandbox.exits(1, &list).says("--> SHA256SUMS:2");
    assert!(!sandbox.path("executed").exists());
    // A list is a file of the repository.
    let secret = sandbox.path("../secret");
    fs::write(&secret, "http://data.test/secret\n").unwrap();
    std::os::unix::fs::symlink(&secret, sandbox.path("link")).unwrap();
    sandbox.write("urldb.toml", format!("{SUMS}{outside}"));
    let ran = sandbox
        .exits(1, &check)
        .says("the lists cannot be followed: [source.outside]");
    assert!(!format!("{ran:?}").contains("data.test/secret"));
    let list = ["check", "--untrusted", "list:link", "--map", &map];
    sandbox.exits(2, &list).complains("link");
}

/// Two branches give `/a` other contents in the list, and both are synced; a merge stopped.
fn both_edited(records_of: [&str; 2]) -> Repository {
    let repository = Repository::of(Sandbox::new(SUMS));
    let commit = |names: &[&str], extra: &str, as_one: &str| {
        let text = sums(names).replace(&sha256("a"), &sha256(as_one));
        repository.write("SHA256SUMS", text);
        repository.ok("sync");
        let file = repository.read(FILE);
        repository.write(
            FILE,
            file.replacen("content-sha256", &format!("{extra}content-sha256"), 1),
        );
        repository.git("add --all");
        repository.git("commit -q --no-verify --allow-empty -m change");
    };
    commit(&["a", "b"], "", "a");
    repository.git("checkout -q -b other");
    commit(&["a", "b", "c"], records_of[1], "theirs");
    repository.git("checkout -q main");
    commit(&["a", "b"], records_of[0], "ours");
    repository.git_fails("merge -q other");
    repository
}

#[test]
fn a_conflict_in_a_record_of_a_list_is_settled_by_the_list() {
    for (mended, records) in [
        (sums(&["a", "b", "c"]), records(&["a", "b", "c"], "sums")),
        (sums(&["b", "c"]), records(&["b", "c"], "sums")),
    ] {
        let repository = both_edited(["", ""]);
        repository
            .exits(2, "sync")
            .complains("SHA256SUMS has a merge conflict; mend it first");
        repository.exits(1, "resolve").complains(
            "no conflict is settled by a list: [source.sums]: SHA256SUMS has a merge conflict",
        );
        repository.write("SHA256SUMS", mended);
        repository.git("add SHA256SUMS");
        repository.exits(2, "sync").complains(
            "urldb/data.test.yaml:2 has conflict markers: mend the list, then run `urldb resolve`",
        );
        repository
            .ok("resolve")
            .says("merged: urldb/data.test.yaml, with 1 record as its list has it\n");
        repository.assert_file(FILE, &records);
        repository.ok("sync --check");
        assert_eq!(repository.git("ls-files --unmerged"), "");
    }
}

/// The list settles the conflict of its record, and evidence that of another one: neither brings the other back.
#[test]
fn a_list_and_evidence_settle_a_conflict_each() {
    let site = Site::with(&[("/a", "a"), ("/z", "theirs")]);
    let network = site.network_of(&["data.test"]);
    let repository = Repository::of(Sandbox::new(&format!("{network}{SUMS}")));
    let file = |of_list: &str, by_hand: &str| {
        let by_hand = sha256(by_hand);
        let listed = records(&["a"], "sums").replace(&sha256("a"), &sha256(of_list));
        format!("{listed}---\n_path: /z\ncontent-sha256: {by_hand}\n")
    };
    let write = |of_list: &str, by_hand: &str| {
        repository.write(
            "SHA256SUMS",
            sums(&["a"]).replace(&sha256("a"), &sha256(of_list)),
        );
        repository.write(FILE, file(of_list, by_hand));
    };
    let commit = |of_list: &str, by_hand: &str| {
        write(of_list, by_hand);
        repository.git("add SHA256SUMS urldb");
        repository.git("commit -q --no-verify -m change");
    };
    write("a", "theirs");
    repository.ok("run");
    commit("a", "base");
    repository.git("checkout -q -b other");
    commit("b", "theirs");
    repository.git("checkout -q main");
    commit("c", "ours");
    repository.git_fails("merge -q other");
    repository.write("SHA256SUMS", sums(&["a"]));
    repository.git("add SHA256SUMS");
    repository.ok("resolve --by-evidence").says(&[
        "http://data.test/z: took theirs: a run saw the content of theirs last",
        "merged: urldb/data.test.yaml, with 1 record as its list has it",
    ]);
    repository.assert_file(FILE, &file("a", "theirs"));
    assert_eq!(repository.git("ls-files --unmerged"), "");
}

#[test]
fn a_list_settles_no_conflict_in_what_people_wrote() {
    let repository = both_edited(["categories:\n- one\nname: one\n", "name: two\n"]);
    repository.write("SHA256SUMS", sums(&["a", "b", "c"]));
    repository.git("add SHA256SUMS");
    for _ in 0..2 {
        repository
            .exits(1, "resolve")
            .says("conflict-marker: both sides changed `name` of /a\n");
        let digest = format!("content-sha256: {}\n", sha256("a"));
        let file = repository.read(FILE);
        assert_eq!(file.matches(&digest).count(), 2, "{file}");
    }
}

#[test]
fn site_rules_take_links_to_their_page_but_no_promise() {
    let sandbox = Sandbox::new("[source.table]\nformat = \"table\"\npath = [\"a.csv\"]\n");
    let rules = "main {\n  optional www = website(\"w{1,4}\\.\", \"www\");\n};\n";
    sandbox.write("urldb/rules/example.org.rules", rules);
    sandbox.write(
        "a.csv",
        "url,size\nhttp://example.org/one,\nhttp://ww.example.org/one,\nhttp://www.example.org/two,2\n\
         http://example.org/three,3\n",
    );
    sandbox.exits(1, "sync").says(
        "a.csv:5:1: other-page: the site rules take http://example.org/three to \
         http://www.example.org/three; change the list or the rules",
    );
    assert_eq!(
        sandbox.ok("list").out,
        "http://www.example.org/one\nhttp://www.example.org/two\n"
    );
}

#[test]
fn the_redirect_of_a_retired_option_comes_and_goes_with_the_rules() {
    let sandbox = Sandbox::new("[source.docs]\nformat = \"links\"\npath = [\"*.md\"]\n");
    let rules = "main {\n  optional www = website(\"w{1,4}\\.\", \"www\");\n};\n";
    sandbox.write("urldb/rules/example.org.rules", rules);
    let website = |item: &str| {
        let rules = format!("main {{ protocol = \"any\"; {item} }};\n");
        sandbox.write("urldb/rules/www.example.org.website.rules", rules);
    };
    let file = "urldb/www.example.org.yaml";
    let record = |path: &str, keys: &str| format!("---\n_path: {path}\n{keys}source:\n- docs\n");
    website("query optional old = redirect(\"[0-9]+\", \"301\");");
    sandbox.write(
        "a.md",
        "http://example.org/x\n\nhttp://ww.example.org/x?old=1\n",
    );
    sandbox.ok("sync");
    let [page, plain] = [record("/x", ""), record("/x?old=1", "")];
    let redirect = record("/x?old=1", "redirects-to: /x\n")
        .replace("source:\n- docs\n", "source:\n- docs\nstatus: 301\n");
    sandbox.assert_file(file, &format!("---\n{page}{redirect}"));
    sandbox.ok("sync --check");
    sandbox.ok("lint");
    // Retired with another status; then a parameter of the page; then an option; then retired again.
    website("query optional old = redirect(\"[0-9]+\", \"302\");");
    sandbox.exits(1, "sync --check").says("not-synced");
    sandbox.ok("sync");
    sandbox.ok("lint");
    assert!(sandbox.read(file).contains("status: 302\n"));
    website("query optional old = \"[0-9]+\";");
    sandbox.ok("sync");
    sandbox.assert_file(file, &format!("---\n{page}{plain}"));
    website("query optional old = redirect(\"[0-9]+\", \"301\");");
    sandbox.ok("sync");
    sandbox.assert_file(file, &format!("---\n{page}{redirect}"));
    website("query optional old = flag(\"[0-9]+\");");
    sandbox.ok("sync");
    sandbox.assert_file(file, &format!("---\n{page}"));
    // Rules with a mistake change nothing.
    website("query optional old = redirect(\"[0-9]+\", \"303\");");
    sandbox.exits(2, "sync").complains("rule-redirect");
    sandbox.assert_file(file, &format!("---\n{page}"));
    // A parameter that does not exist is left out, and the rest is written.
    website("parameters = strict;");
    sandbox.exits(1, "sync").says(
        "a.md:3:1: unknown-parameter: http://ww.example.org/x?old=1: the website `www.example.org` has no parameter `old`",
    );
}

#[test]
fn a_list_may_promise_the_bytes_at_the_end_of_the_redirect_but_no_other_answer() {
    let sandbox = Sandbox::new("[source.table]\nformat = \"table\"\npath = [\"a.csv\"]\n");
    let rules = "main { query optional old = redirect(\"[0-9]+\", \"301\"); };\n";
    sandbox.write("urldb/rules/www.example.org.website.rules", rules);
    sandbox.write(
        "a.csv",
        "url,size,status,redirects-to\nhttp://www.example.org/one?old=1,3,,\n\
         http://www.example.org/two?old=1,,301,http://www.example.org/two\n\
         http://www.example.org/three?old=1,,200,\nhttp://www.example.org/four?old=1,,,http://www.example.org/five\n",
    );
    sandbox.exits(1, "sync").says(&[
        "a.csv:4:1: other-page: http://www.example.org/three?old=1 should promise a redirect (301) to \
         http://www.example.org/three, since the site rules remove `old`; its `status` differs: change the list or the rules",
        "a.csv:5:1: other-page: http://www.example.org/four?old=1",
        "`redirects-to` differs",
    ]);
    let table = "source:\n- table\nstatus: 301\n";
    sandbox.assert_file(
        "urldb/www.example.org.yaml",
        &format!(
            "---\n---\n_path: /one?old=1\ncontent-length: 3\nredirects-to: /one\n{table}---\n_path: /two?old=1\n\
             redirects-to: /two\n{table}"
        ),
    );
    sandbox.ok("lint");
}

#[test]
fn a_place_says_how_it_writes_the_page_of_a_finding() {
    let site = Site::with(&[]);
    let sandbox = Sandbox::new("[source.docs]\nformat = \"links\"\npath = [\"*.md\"]\n");
    let rules = "main {\n  optional www = website(\"w{1,4}\\.\", \"www\");\n};\n";
    sandbox.write("urldb/rules/example.org.rules", rules);
    sandbox.write(
        "a.md",
        "http://www.example.org/one\n\nhttp://ww.example.org/one\n",
    );
    sandbox.write("b.md", "http://example.org/two\n");
    sandbox.ok("sync");
    let check = format!("check --map {}", site.map("www.example.org"));
    sandbox
        .exits(1, &check)
        .says("--> b.md:1 (written as http://example.org/two)  /two");
    let one = format!("{check} http://www.example.org/one");
    sandbox.exits(1, &one).says(&[
        "used      2 times in 1 file: a.md:1, a.md:3 (written as\n",
        "  http://ww.example.org/one)\n",
    ]);
    let report = sandbox.exits(1, &format!("{check} --format json")).json();
    let findings = report["findings"].as_array().unwrap();
    let written = |index: usize| &findings[0]["locations"][index]["written_as"];
    assert_eq!(written(0), &Value::Null);
    assert_eq!(written(1), "http://ww.example.org/one");
    assert_eq!(written(2), &Value::Null, "the record");
}

#[test]
fn a_file_of_two_sources_counts_once_in_each() {
    let two = "[source.a]\nformat = \"list\"\npath = [\"lists/*\"]\n[source.b]\nformat = \"list\"\npath = [\"lists/urls\"]\n";
    let sandbox = Sandbox::new(two);
    sandbox.write("lists/urls", "http://a.test/1\n");
    sandbox
        .ok("sync")
        .says(&["repeated-source: a and b both read lists/urls", "1 added"]);
    let file = "---\n---\n_path: /1\nsource:\n- a\n- b\n";
    sandbox.assert_file("urldb/a.test.yaml", file);
}

#[test]
fn lists_of_submodules_are_not_read() {
    let sandbox = Repository::of(Sandbox::new(
        "[source.a]\nformat = \"list\"\npath = [\"**/urls\"]\n",
    ));
    for folder in ["own", "specs"] {
        sandbox.write(
            &format!("{folder}/urls"),
            format!("http://{folder}.test/\n"),
        );
    }
    // As git leaves it in the work tree of a submodule.
    sandbox.write("specs/.git", "gitdir: ../.git/modules/specs\n");
    sandbox.ok("sync").says(&[
        "1 added",
        "specs is a repository of its own, and was not read",
    ]);
    assert_eq!(sandbox.ok("list").out, "http://own.test/\n");
    sandbox.write(
        "urldb.toml",
        "[source.a]\nformat = \"links\"\npath = [\"specs\"]\n",
    );
    sandbox
        .exits(2, "sync")
        .complains("specs is a submodule: run urldb in it, or copy the list");
}

#[test]
fn a_table_needs_no_header() {
    let source = "[source.table]\nformat = \"table\"\npath = [\"a.tsv\"]\n";
    let sandbox = Sandbox::new(&format!("{source}columns = \"url,-,content-length\"\n"));
    sandbox.write(
        "a.tsv",
        "http://a.test/x\tone\t1\nhttp://a.test/y\ttwo\t2\n",
    );
    sandbox.ok("sync").says("2 added");
    let file = "---\n---\n_path: /x\ncontent-length: 1\nsource:\n- table\n---\n_path: /y\ncontent-length: 2\nsource:\n- table\n";
    sandbox.assert_file("urldb/a.test.yaml", file);
    for (columns, words) in [
        ("\"url,colour\"", "colour is nothing that a column can hold"),
        ("\"-,content-length\"", "no column is `url`"),
        (
            "{ colour = \"C\" }",
            "colour is nothing that a column can hold",
        ),
    ] {
        sandbox.write("urldb.toml", format!("{source}columns = {columns}\n"));
        sandbox
            .exits(2, "sync")
            .complains(&["urldb.toml:4:", words]);
    }
}
