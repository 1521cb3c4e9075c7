//! Files of the repository as promises of a server that publishes them.

use std::fs;

use crate::hook::Repository;
use crate::sandbox::Sandbox;
use crate::site::{Site, sha256};
use crate::support::Reply;

const SOURCE: &str = "[source.schemas]\nformat = \"files\"\npath = [\"schemas\"]\n\
                      base = \"http://example.test/s/\"\nindex = [\"index.html\"]\n";

/// A server that publishes the folder of [`write_files`].
fn server() -> Site {
    Site::with(&[
        ("/s/a.json", "{}\n"),
        ("/s/v1/b%20c.json", "{\"b\": 1}\n"),
        ("/s/index.html", "<p>all</p>\n"),
        ("/s/", "<p>all</p>\n"),
        ("/s/large.bin", "hello\n"),
    ])
}

/// Three files, a pointer of Git LFS, and files that are not published.
fn write_files(sandbox: &Sandbox) {
    sandbox.write("schemas/a.json", "{}\n");
    sandbox.write("schemas/v1/b c.json", "{\"b\": 1}\n");
    sandbox.write("schemas/index.html", "<p>all</p>\n");
    sandbox.write(
        "schemas/large.bin",
        format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 6\n",
            sha256("hello\n")
        ),
    );
    sandbox.write("schemas/draft.tmp", "not published\n");
    sandbox.write("schemas/.gitignore", "*.tmp\n");
}

#[test]
fn a_folder_is_checked_without_a_database() {
    let site = server();
    let repository = Repository::of(Sandbox::new(&site.network()));
    write_files(&repository.sandbox);
    let check = "check files:schemas --base http://example.test/s/";
    let ran = repository.ok(check);
    ran.says("URLs: 4 ok").complains("left out: 1 of-server");
    site.serve("/s/v1/b%20c.json", Reply::ok("{\"b\": 2}\n"));
    site.remove("/s/large.bin");
    repository.exits(1, check).says(&[
        "--> schemas/v1/b c.json:1",
        "--> schemas/large.bin:1",
        "Checked 4 of 4 URLs",
    ]);
    repository
        .exits(2, "check files:schemas")
        .complains("add --base URL");
}

#[test]
fn a_conversion_by_the_server_is_named() {
    let site = server();
    let repository = Repository::of(Sandbox::new(&site.network()));
    write_files(&repository.sandbox);
    let check = "check files:schemas --base http://example.test/s/";
    site.serve("/s/a.json", Reply::ok("{}\r\n"));
    let ran = repository.exits(1, check).says(&[
        "http://example.test/s/a.json grew by 1 byte",
        "serves the promised content with CRLF line ends in place of LF",
    ]);
    // The file is the promise.
    assert!(!ran.out.contains("urldb accept"), "{ran:#?}");
    let packed = "\u{feff}{\"b\": 1}\n";
    site.serve("/s/v1/b%20c.json", Reply::ok(packed));
    site.serve("/s/index.html", Reply::ok("<p>all</p>\r\n"));
    repository
        .exits(1, check)
        .says("3 of 4 URLs serve the promised content in another form: 2 with CRLF")
        .says("1 with a byte order mark (BOM) before the");
    // Other content that also has other line ends is no conversion.
    site.serve("/s/a.json", Reply::ok("{ }\r\n"));
    site.serve("/s/index.html", Reply::ok("<p>all</p>\n"));
    site.serve("/s/v1/b%20c.json", Reply::ok("{\"b\": 1}\n"));
    let ran = repository.exits(1, check);
    assert!(!ran.out.contains("the promised content"), "{ran:#?}");
}

#[test]
fn the_database_follows_the_files() {
    let site = server();
    let sandbox = Sandbox::new(&format!("{}{SOURCE}", site.network()));
    let repository = Repository::of(sandbox);
    write_files(&repository.sandbox);
    repository.git("add .");
    repository.git("commit -q -m files");
    repository.ok("sync").says("5 added");
    repository.ok("sync --check");
    repository.ok("run").says("URLs: 5 ok");

    // A file with another name is one removal and one addition.
    repository.git(&["mv", "schemas/a.json", "schemas/z.json"]);
    repository
        .ok("sync")
        .says("1 added, 1 removed, 4 unchanged");
    site.serve("/s/z.json", Reply::ok("[]\n"));
    let before = repository.tree("");
    repository
        .exits(1, "accept -y http://example.test/s/z.json")
        .complains("schemas/z.json:1: the file is the promise; change the file");
    assert_eq!(repository.tree(""), before);
    repository.write("schemas/z.json", "[]\n");
    repository.ok("sync").says("1 updated");
    repository.ok("check http://example.test/s/z.json");
}

/// Otherwise each sync would change the promises that the next one makes.
#[test]
fn files_that_urldb_writes_are_no_promises() {
    let site = server();
    let sandbox = Sandbox::new(&site.network());
    sandbox.write("a.txt", "hello\n");
    sandbox
        .ok("sync --add files:. --base http://example.test/s/ --name all")
        .says(&["2 added", "path = [\".\"]"]);
    sandbox.ok("sync").says("left out: 1 of-urldb");
    sandbox.ok("sync --check");
    let file = sandbox.read("urldb/example.test.yaml");
    assert!(file.contains("_path: /s/a.txt"), "{file}");
    assert!(!file.contains("example.test.yaml"), "{file}");
}

/// The digests of other files of the machine are no business of the list's author.
#[cfg(unix)]
#[test]
fn a_folder_outside_of_the_repository_is_refused() {
    let site = server();
    let sandbox = Sandbox::new(&format!("{}{SOURCE}", site.network()));
    sandbox.write("../outside/secret", "secret\n");
    std::os::unix::fs::symlink("../outside", sandbox.path("schemas")).unwrap();
    for command in ["sync", "check schemas"] {
        sandbox
            .exits(2, command)
            .complains("schemas is a link out of the repository");
    }
    std::os::unix::fs::symlink("gone", sandbox.path("../outside/secret.link")).unwrap();
    fs::remove_file(sandbox.path("../outside/secret")).unwrap();
    sandbox
        .exits(2, "sync")
        .complains("schemas is a link out of the repository");
}

/// Without the large files, which a clone need not have.
#[cfg(unix)]
#[test]
fn links_of_git_annex_promise_what_they_point_at() {
    let site = server();
    let repository = Repository::of(Sandbox::new(&site.network()));
    let sandbox = &repository.sandbox;
    let key = format!("SHA256E-s6--{}.bin", sha256("hello\n"));
    fs::create_dir(sandbox.path("data")).unwrap();
    let target = format!("../.git/annex/objects/a/b/{key}/{key}");
    std::os::unix::fs::symlink(target, sandbox.path("data/large.bin")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", sandbox.path("data/other")).unwrap();
    let check = "check files:data --base http://example.test/s/";
    let ran = repository.ok(check);
    ran.says("URLs: 1 ok").complains("left out: 1 link");
    site.serve("/s/large.bin", Reply::ok("hellO\n"));
    repository.exits(1, check).says("--> data/large.bin:1");
    // A link is known in an earlier commit too.
    repository.git("add .");
    repository.git("commit -qm links");
    repository.sandbox.write("data/a.json", "{}\n");
    repository
        .ok(&format!("{check} --changed-since HEAD"))
        .says("URLs: 1 ok");
}
