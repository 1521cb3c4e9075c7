//! No command follows a link out of the repository.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::hook::Repository;
use crate::sandbox::{Ran, Sandbox, assert_lacks};
use crate::site::{FILE, Site, promises};

/// A line that only files outside of the repository have.
const SECRET: &str = "canary-of-another-folder";

/// Each command that reads or writes files of the repository. `watch` ends at once, since it refuses.
const COMMANDS: [&[&str]; 33] = [
    &["fmt"],
    &["fmt", "--check", "--diff"],
    &["fmt", FILE],
    &["lint"],
    &["lint", "--untrusted"],
    &["lint", "--untrusted", "--changed-since", "HEAD"],
    &["add", "http://example.test/new"],
    &["rm", "http://example.test/a"],
    &["list"],
    &["accept", "http://example.test/a"],
    &["import", "list", "list.txt"],
    &["export", "jsonl"],
    &["diff"],
    &["resolve"],
    &["check"],
    &["check", "--untrusted"],
    &["run"],
    &["run", "--shard", "1/2", "--to", "bundles"],
    &["run", "--from", "bundles"],
    &["watch"],
    &["status"],
    &["status", "--format", "json"],
    &["log"],
    &["notify", "list"],
    &["notify", "retry"],
    &["site", "build"],
    &["archive", "list"],
    &["archive", "verify"],
    &["hook", "install"],
    &["hook", "run", "pre-commit"],
    &["doctor"],
    &["init"],
    &["url", "explain", "http://example.test/a"],
];

/// A repository with a run, and a folder beside it with files of the names that urldb uses.
fn repository() -> (Repository, PathBuf) {
    let repository = Repository::of(Sandbox::new(
        "[notify.page]\ntype = \"html\"\npath = \"site\"\n",
    ));
    let sandbox = &repository.sandbox;
    sandbox.write(FILE, promises(&[("/a", "x")]));
    sandbox.write("list.txt", "http://example.test/b\n");
    repository.git("add .");
    repository.git("commit -q -m base");
    let outside = sandbox.path("../outside");
    fs::create_dir_all(outside.join("rules")).unwrap();
    let text = format!("---\n{SECRET}:   x\n---\n_path: /b\n---\n_path: /a\n");
    for name in [
        "example.test.yaml",
        "rules/example.test.rules",
        "2020-01.jsonl",
        "index.html",
    ] {
        fs::write(outside.join(name), &text).unwrap();
    }
    (repository, outside)
}

/// All output, wherever its lines end.
fn words(ran: &Ran) -> String {
    let all = format!("{} {}", ran.out, ran.err);
    let words: Vec<&str> = all.split_whitespace().collect();
    words.join(" ")
}

fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = vec![];
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((path.clone(), fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn no_command_follows_a_folder_that_is_a_link_out_of_the_repository() {
    let (repository, outside) = repository();
    let before = content(&outside);
    let links = [
        "urldb",
        "urldb/rules",
        "status",
        "status/captures",
        "status/history",
        "status/incidents",
        "status/outbox",
        "site",
    ];
    let targets = [outside.clone(), PathBuf::from("/proc/self/absent")];
    for (link, target) in links.into_iter().zip(targets.iter().cycle()) {
        let aside = repository.path("../aside");
        let is_there = fs::rename(repository.path(link), &aside).is_ok();
        fs::create_dir_all(repository.path(link).parent().unwrap()).unwrap();
        let said = format!("{link} is a link out of the repository: replace it by a folder");
        symlink(target, repository.path(link)).unwrap();
        for command in COMMANDS {
            let ran = repository.urldb(command);
            let all = words(&ran);
            // A stranger's urldb.toml has no site.
            if link == "site" && command.contains(&"--untrusted") {
                continue;
            }
            // The hook reads the database alone.
            if command[0] == "hook" && command[1] == "run" && !link.starts_with("urldb") {
                assert_eq!(ran.code, 0, "{command:?} {link}: {all}");
                continue;
            }
            assert_eq!(ran.code, 1, "{command:?} {link}: {all}");
            assert!(all.contains(&said), "{command:?} {link}: {all}");
            assert!(!all.contains(SECRET), "{command:?} {link}: {all}");
        }
        assert_eq!(content(&outside), before, "{link}");
        fs::remove_file(repository.path(link)).unwrap();
        if is_there {
            fs::rename(aside, repository.path(link)).unwrap();
        }
    }
    // A link that stays in the repository is the maintainer's own matter.
    fs::rename(repository.path("urldb"), repository.path("promises")).unwrap();
    symlink("promises", repository.path("urldb")).unwrap();
    repository.ok("lint");
    // And so is a folder that urldb.toml places elsewhere, but not a link in it.
    repository.write("urldb.toml", "[database]\npath = \"../outside\"\n");
    repository.exits(1, "fmt --check").says("not canonical");
    fs::remove_dir_all(outside.join("rules")).unwrap();
    symlink(repository.path("promises"), outside.join("rules")).unwrap();
    repository
        .exits(1, "fmt --check")
        .complains("rules is a link out of the database: replace it by a folder");
}

#[test]
fn no_run_reads_or_writes_through_a_link_in_the_ledger_or_the_site() {
    let site = Site::with(&[("/a", "x")]);
    let (repository, outside) = repository();
    let map = site.map("example.test");
    repository.ok(&["run", "--map", &map]);
    let month = repository.files("status/history", ".jsonl").remove(0);
    let page = repository.path("site/hosts/example.test.html");
    let before = content(&outside);
    let captures = repository.files("status/captures", ".yaml").remove(0);
    let files = [
        (
            repository.path("status/example.test.yaml"),
            "example.test.yaml",
        ),
        (captures, "example.test.yaml"),
        (month, "2020-01.jsonl"),
        (page, "index.html"),
        (repository.path("site/manifest.json"), "index.html"),
        (repository.path("site/urls"), "rules"),
    ];
    for (file, name) in files {
        let aside = repository.path("../aside");
        fs::rename(&file, &aside).unwrap();
        symlink(outside.join(name), &file).unwrap();
        for command in [&["run", "--map", &map][..], &["site", "build"]] {
            let ran = repository.exits(2, command);
            let all = words(&ran);
            let link = file.strip_prefix(repository.path(".")).unwrap().display();
            let said = format!("{link} is a link out of the repository: replace it by a ");
            assert!(all.contains(&said), "{file:?} {command:?}: {all}");
            assert_lacks(&all, SECRET);
        }
        assert_eq!(content(&outside), before, "{file:?}");
        fs::remove_file(&file).unwrap();
        fs::rename(aside, &file).unwrap();
    }
    repository.ok(&["run", "--map", &map]);
}

#[test]
fn a_configuration_that_is_no_regular_file_is_not_replaced_by_that_of_a_parent_folder() {
    let (repository, outside) = repository();
    let inner = repository.path("inner");
    fs::create_dir_all(inner.join("urldb")).unwrap();
    let file = inner.join("urldb.toml");
    let pipe = || {
        let made = Command::new("mkfifo").arg(&file).status();
        assert!(made.unwrap().success());
    };
    let made: [(&str, &dyn Fn()); 5] = [
        ("it is a named pipe, not a regular file", &pipe),
        ("it is a device, not a regular file", &|| {
            symlink("/dev/zero", &file).unwrap();
        }),
        ("it is a folder, not a regular file", &|| {
            symlink(&outside, &file).unwrap();
        }),
        ("it is a folder, not a regular file", &|| {
            fs::create_dir(&file).unwrap();
        }),
        ("No such file", &|| symlink("absent", &file).unwrap()),
    ];
    for (said, make) in made {
        make();
        for command in [&["list"][..], &["lint", "--untrusted"], &["run"], &["init"]] {
            let command = [&["-C", "inner"], command].concat();
            let ran = repository.exits(2, &command);
            let stranger_link = command.contains(&"--untrusted") && file.is_symlink();
            let is_said = ran.err.contains(said) || stranger_link;
            assert!(
                is_said && ran.err.contains("urldb.toml"),
                "{command:?}: {ran:#?}"
            );
        }
        if fs::remove_file(&file).is_err() {
            fs::remove_dir(&file).unwrap();
        }
    }
    // A stranger's link could show lines of a file elsewhere.
    let elsewhere = outside.join("settings.toml");
    fs::write(&elsewhere, format!("[check]\n{SECRET} = 1\n")).unwrap();
    symlink(&elsewhere, &file).unwrap();
    let ran = repository.exits(2, "-C inner lint --untrusted");
    assert_lacks(&ran.err, SECRET);
}

/// Each file that commands read, as something that is no file: nothing waits, and nothing is read to no end.
#[test]
fn a_file_that_is_none_is_refused_by_every_command_that_reads_it() {
    let site = Site::with(&[("/a", "x")]);
    let (repository, _) = repository();
    let map = site.map("example.test");
    repository.ok(&["run", "--map", &map]);
    repository.write("urldb/rules/example.test.rules", "");
    let history = repository.files("status/history", ".jsonl").remove(0);
    let captures = repository.files("status/captures", ".yaml").remove(0);
    let domain_file = [
        &["lint"][..],
        &["fmt", "--check"],
        &["status"],
        &["check", "--map", &map],
    ];
    let ledger = [&["status"][..], &["run", "--map", &map], &["site", "build"]];
    let run = [&["run", "--map", &map][..], &["status"]];
    let cases: [(PathBuf, &[&[&str]]); 6] = [
        (repository.path(FILE), &domain_file),
        (
            repository.path("urldb/rules/example.test.rules"),
            &[&["lint"]],
        ),
        (repository.path("status/example.test.yaml"), &ledger),
        (captures, &run),
        (history, &ledger),
        (repository.path("site/manifest.json"), &[&["site", "build"]]),
    ];
    for (file, commands) in cases {
        let aside = repository.path("../aside");
        fs::rename(&file, &aside).unwrap();
        let pipe = || {
            let made = Command::new("mkfifo").arg(&file).status();
            assert!(made.unwrap().success());
        };
        let zero = || symlink("/dev/zero", &file).unwrap();
        let makes: [(&dyn Fn(), &[&str]); 2] = [
            (&pipe, &["it is a named pipe, not a regular file"]),
            (&zero, &["is a link out of the"]),
        ];
        for (make, says) in makes {
            make();
            for command in commands {
                let ran = repository.urldb(command);
                let all = words(&ran);
                assert!(matches!(ran.code, 1 | 2), "{file:?} {command:?}: {all}");
                let is_said = says.iter().all(|said| all.contains(said));
                assert!(is_said, "{file:?} {command:?}: {all}");
            }
            fs::remove_file(&file).unwrap();
        }
        fs::rename(aside, &file).unwrap();
    }
}

/// An archive with one capture, and the map of its site.
fn archived() -> (Site, Sandbox, String) {
    let site = Site::with(&[("/a", "x")]);
    let sandbox = Sandbox::new("");
    sandbox.write(FILE, promises(&[("/a", "x")]));
    let map = site.map("example.test");
    sandbox.ok(&["run", "--map", &map]);
    (site, sandbox, map)
}

/// Puts a pipe, or a link to a device or out of the repository, in the place of a file. Returns the folder
/// where the file is then.
fn put_in_place_of(sandbox: &Sandbox, file: &str, target: &str) -> PathBuf {
    let outside = sandbox.path("../outside");
    fs::create_dir(&outside).unwrap();
    let (path, moved) = (sandbox.path(file), outside.join("moved"));
    if fs::rename(&path, &moved).is_err() {
        fs::write(&moved, SECRET).unwrap();
    }
    match target {
        "pipe" => assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        ),
        "outside" => symlink(&moved, &path).unwrap(),
        device => symlink(device, &path).unwrap(),
    }
    outside
}

#[test]
fn no_command_follows_a_file_of_the_archive_out_of_it_or_waits_for_it() {
    let (_site, sandbox, map) = archived();
    let name = |end: &str| {
        let file = sandbox.files("archive", end).remove(0);
        let file = file.strip_prefix(sandbox.path("")).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let warc = name(".warc.gz");
    let commands: [(&str, &[&str]); 5] = [
        ("list", &["archive", "list"]),
        ("verify", &["archive", "verify"]),
        ("get", &["archive", "get", "http://example.test/a"]),
        ("index", &["archive", "index"]),
        ("run", &["run", "--map", &map]),
    ];
    let all = &["list", "verify", "get", "index", "run"][..];
    // The files, and the commands that need them.
    let files = [
        (warc.clone(), &["verify", "get", "index"][..]),
        (format!("{warc}.open"), &["run"]),
        (format!("{warc}.replaces"), all),
        (name(".idx"), all),
        (name(".cdxj.gz"), all),
        (name(".loc"), &["index", "run"]),
        ("archive/index".to_owned(), all),
        ("archive/.lock".to_owned(), &["index", "run"]),
        ("archive/index/.lock".to_owned(), &["index"]),
    ];
    for (file, needed_by) in &files {
        for (target, said) in [
            ("outside", "is a link out of the archive: replace it by a"),
            ("/dev/zero", "is a link out of the archive: replace it by a"),
            ("pipe", "it is a named pipe, not a regular file"),
        ] {
            for (command, arguments) in commands {
                // Without its files the index is made anew.
                let is_segment = [".idx", ".cdxj.gz", ".loc"]
                    .iter()
                    .any(|end| file.ends_with(end));
                let is_made = is_segment && ["index", "run"].contains(&command);
                if target == "pipe" && (is_made || file.ends_with("/index")) {
                    continue;
                }
                let sandbox = sandbox.copy();
                let outside = put_in_place_of(&sandbox, file, target);
                let before = content(&outside);
                let ran = sandbox.urldb(arguments);
                let case = format!("{file} {target} {command}: {ran:?}");
                let is_refused = needed_by.contains(&command);
                assert_eq!(ran.code > 0, is_refused, "{case}");
                assert_eq!(words(&ran).contains(said), is_refused, "{case}");
                assert_eq!(content(&outside), before, "{case}");
            }
        }
    }
}

#[test]
fn a_list_of_replaced_files_has_a_limit() {
    let (_site, sandbox, _) = archived();
    let list = fs::File::create(sandbox.path("archive/a.warc.gz.replaces")).unwrap();
    list.set_len(64 << 20).unwrap();
    sandbox.ok("archive list");
    list.set_len((64 << 20) + 1).unwrap();
    let limit = "urldb reads at most 64 MiB (67108864 bytes)";
    sandbox
        .exits(2, "archive list")
        .complains_in_words(&["a.warc.gz.replaces: it has 67108865 bytes", limit]);
}
