//! Files that are too large are findings or errors, and never in memory as a whole.

use std::fs::File;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::hook::Repository;
use crate::sandbox::{Case, Sandbox};
use crate::site::{FILE, Site, closed_address, promises, sha256};

/// Memory that is enough for every command here.
const MEBIBYTES: u64 = 128;

/// Writes a file with this start and length; the rest has no place on the disk.
fn write_sparse(sandbox: &Sandbox, path: &str, start: &str, length: u64) {
    let mut file = File::create(sandbox.path(path)).unwrap();
    file.write_all(start.as_bytes()).unwrap();
    file.set_len(length).unwrap();
}

#[test]
fn a_domain_file_that_is_too_large_is_a_finding_in_little_memory() {
    let sandbox = Sandbox::new("");
    let most = 512 << 20;
    let unreadable = [
        "unreadable-file",
        "it has 536870913 bytes",
        "at most 512 MiB",
    ];
    let long_line = [
        "line-too-long",
        "line 4 is longer than 1 MiB",
        "example.test.yaml:4",
    ];
    for (length, words) in [(most + 1, &unreadable), (most, &long_line)] {
        write_sparse(&sandbox, FILE, "---\n---\n_path: /a\nname: ", length);
        for command in [
            "lint",
            "lint --untrusted",
            "fmt",
            "fmt --check",
            "check",
            "check --untrusted",
        ] {
            let ran = sandbox.urldb_within(MEBIBYTES, command).code(1);
            let said = format!("{}{}", ran.out, ran.err);
            for part in words {
                assert!(said.contains(part), "{command:?}: {part}: {said}");
            }
        }
    }
}

#[test]
fn comments_count_to_the_record_below() {
    let sandbox = Sandbox::new("");
    let comments = "# nothing\n".repeat(450_000);
    sandbox.write(FILE, format!("---\n{comments}---\n_path: /a\n"));
    sandbox.exits(1, "lint").says(&[
        "urldb/example.test.yaml:2:1: record-too-long",
        "longer than 4 MB",
    ]);
}

#[test]
fn a_configuration_that_is_too_large_is_an_error() {
    let sandbox = Sandbox::new("");
    write_sparse(&sandbox, "urldb.toml", "# urldb\n", 600 << 20);
    for command in ["lint --untrusted", "check", "hook run pre-commit"] {
        let ran = sandbox.urldb_within(MEBIBYTES, command);
        assert!(ran.code == 2, "{command:?}: {ran:?}");
    }
}

#[test]
fn the_lists_of_a_command_share_a_budget() {
    let sources = ["a", "b"].map(|name| {
        let base = "base = \"https://example.test/\"";
        format!("[source.{name}]\nformat = \"sums\"\npath = [\"{name}.sha256.gz\"]\n{base}\n")
    });
    let sandbox = Sandbox::new(&sources.concat());
    let line = format!("{}  x\n", sha256("x"));
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(line.as_bytes()).unwrap();
    let blank = b"\n".repeat(1 << 20);
    for _ in 0..9 {
        encoder.write_all(&blank).unwrap();
    }
    let packed = encoder.finish().unwrap();
    sandbox.write("a.sha256.gz", &packed);
    sandbox.write("b.sha256.gz", &line);
    sandbox.ok("sync");
    sandbox.write("b.sha256.gz", &packed);
    sandbox.exits(2, "sync").complains(&[
        "[source.b]",
        "cannot read b.sha256.gz",
        "the lists of this command take more work than urldb spends on them",
    ]);
}

#[test]
fn the_merge_driver_leaves_large_files_to_git() {
    let repository = Repository::without_hook();
    let third = (256 << 20) / 3;
    for (name, length) in [("base", third), ("ours", third), ("theirs", third + 2)] {
        write_sparse(&repository, name, "---\n", length);
    }
    let driver = ["resolve", "--driver", "base", "ours", "theirs", FILE];
    repository
        .urldb_within(MEBIBYTES, &driver)
        .code(2)
        .complains(&["more than 256 MiB together", "git merges lines"]);
    let ours = std::fs::metadata(repository.path("ours")).unwrap();
    assert_eq!(ours.len(), third);
}

#[test]
fn the_merge_driver_merges_lines_of_a_version_with_a_line_that_is_too_long() {
    let repository = Repository::without_hook();
    let base = "---\n---\n_path: /a\nname: a\n---\n_path: /b\n---\n_path: /c\n---\n_path: /d\n";
    repository.write("base", base);
    repository.write(
        "ours",
        base.replace("name: a", &format!("name: {}", "a".repeat(2 << 20))),
    );
    repository.write("theirs", format!("{base}name: d\n"));
    repository
        .urldb_within(
            MEBIBYTES,
            &["resolve", "--driver", "base", "ours", "theirs", FILE],
        )
        .code(0)
        .complains("cannot be merged by record: line 4: line 4 is longer than 1 MiB");
    assert!(repository.read("ours").ends_with("_path: /d\nname: d\n"));
}

/// A run with a page, and with a message that no mail server takes.
fn with_a_message() -> (Site, Sandbox) {
    let site = Site::new();
    let sandbox = Sandbox::new(&format!(
        "{}[notify.page]\ntype = \"html\"\npath = \"public\"\ntemplates = \"words\"\n\
         [notify.mail]\ntype = \"email\"\nfrom = \"a@example.test\"\nto = [\"b@example.test\"]\n\
         server = \"127.0.0.1\"\ntls = \"none\"\nport = {}\n",
        site.network(),
        closed_address().port()
    ));
    sandbox.write("words/site/README.md", "");
    sandbox.write(FILE, promises(&[("/a", "first")]));
    sandbox.exits(1, "run");
    (site, sandbox)
}

/// The name of the only such file, as messages have it.
fn only(sandbox: &Sandbox, folder: &str, end: &str) -> String {
    let file = sandbox.files(folder, end).remove(0);
    let file = file.strip_prefix(sandbox.path("")).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn files_of_a_run_that_are_too_large_are_errors() {
    let (_site, sandbox) = with_a_message();
    let incident = only(&sandbox, "status/incidents", ".yaml");
    let message = only(&sandbox, "status/outbox", ".json");
    for (file, mebibytes) in [
        ("status/example.test.yaml", 1 << 10),
        (&incident, 256),
        (&message, 1),
        ("words/site/overview.html", 1),
        ("ca.pem", 16),
    ] {
        let _case = Case(file);
        let copy = sandbox.copy();
        if file == "ca.pem" {
            let config = sandbox.read("urldb.toml");
            copy.write(
                "urldb.toml",
                config.replace("[network]\n", "[network]\nca-file = \"ca.pem\"\n"),
            );
        }
        write_sparse(&copy, file, "", (mebibytes << 20) + 1);
        copy.exits(2, "run")
            .complains_in_words(&[file.rsplit('/').next().unwrap(), "at most"]);
    }
}

#[test]
fn a_manifest_of_a_bundle_that_is_too_large_is_an_error() {
    let site = Site::with(&[("/a", "first")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, promises(&[("/a", "first")]));
    sandbox.ok("run --shard 1/1 --to bundles");
    let manifest = only(&sandbox, "bundles", "manifest.json");
    write_sparse(&sandbox, &manifest, "", (16 << 20) + 1);
    sandbox
        .exits(2, "run --from bundles")
        .complains_in_words(&["manifest.json", "at most 16 MiB"]);
}

/// A newer urldb may have written it.
#[test]
fn a_file_of_another_format_is_named_and_stays() {
    let (_site, sandbox) = with_a_message();
    let message = only(&sandbox, "status/outbox", ".json");
    let is_refused = |file: &str, key: &str, command: &str| {
        let newer = sandbox.read(file).replacen(key, &format!("{key}9"), 1);
        sandbox.write(file, &newer);
        sandbox
            .exits(2, command)
            .complains_in_words(&["it has format 9", "and this urldb reads format"]);
        sandbox.assert_file(file, &newer);
    };
    is_refused(&message, "\"protocol\": ", "run");
    sandbox.ok("run --shard 1/1 --to bundles");
    let manifest = only(&sandbox, "bundles", "manifest.json");
    is_refused(&manifest, "\"format\": ", "run --from bundles");
}
