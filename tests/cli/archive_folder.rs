//! An archive whose store is a folder, as on a backup disk.

use std::fs;

use tempfile::TempDir;

use crate::sandbox::{Sandbox, assert_has};
use crate::site::{FILE, Site, promises};

const URL: &str = "http://example.test/a";

/// A repository whose archive is stored in a folder.
struct Stored {
    site: Site,
    disk: TempDir,
    sandbox: Sandbox,
}

impl Stored {
    fn new() -> Self {
        let site = Site::with(&[("/a", "first"), ("/b", "second")]);
        let disk = tempfile::tempdir().unwrap();
        fs::create_dir(disk.path().join("urldb")).unwrap();
        let sandbox = repository(&site, &disk);
        Self {
            site,
            disk,
            sandbox,
        }
    }

    /// Takes the disk away, or brings it back.
    fn move_store(&self, from: &str, to: &str) {
        let at = |name| self.disk.path().join(name);
        fs::rename(at(from), at(to)).unwrap();
    }
}

fn repository(site: &Site, disk: &TempDir) -> Sandbox {
    let store = disk.path().join("urldb");
    let store = format!("[archive]\nstore = \"file://{}\"\n", store.display());
    let sandbox = Sandbox::new(&format!("{}{store}", site.network()));
    sandbox.write(FILE, promises(&[("/a", "first"), ("/b", "second")]));
    sandbox
}

#[test]
fn machines_share_an_archive_in_a_folder() {
    let stored = Stored::new();
    let other = repository(&stored.site, &stored.disk);
    for sandbox in [&stored.sandbox, &other] {
        sandbox.ok("run").says("/urldb");
    }
    for sandbox in [&stored.sandbox, &other] {
        fs::remove_dir_all(sandbox.path("archive")).unwrap();
        assert_eq!(sandbox.ok(&["archive", "get", URL]).out, "first");
        sandbox
            .ok("archive verify")
            .says(&["in 2 files", "0 errors, 0 warnings"]);
    }
    stored
        .sandbox
        .ok("archive compact")
        .says("made 1 file of 2");
    other
        .ok("archive verify")
        .says(&["in 1 file", "0 errors, 0 warnings"]);
    let manifest = fs::read_to_string(stored.disk.path().join("urldb/manifest.json")).unwrap();
    assert_has(&manifest, "\"serial\": 4,");
}

/// The next run makes up for an upload to a disk that was away, and the archive is read without it.
#[test]
fn a_disk_that_is_away_stops_no_run() {
    let stored = Stored::new();
    let sandbox = &stored.sandbox;
    sandbox.ok("run");
    stored.move_store("urldb", "away");
    sandbox
        .exits(1, "doctor")
        .says(&["/urldb is not there", "mkdir"]);
    sandbox
        .ok("run")
        .complains(&["not stored yet", "is not there"]);
    let got = sandbox.ok(&["archive", "get", URL]);
    assert_eq!(got.out, "first");
    got.complains("this is the archive as this machine has last seen it");
    assert!(!stored.disk.path().join("urldb").exists());
    stored.move_store("away", "urldb");
    sandbox.urldb("doctor").says("/urldb: the folder is there");
    sandbox.ok("run");
    fs::remove_dir_all(sandbox.path("archive")).unwrap();
    sandbox
        .ok("archive verify")
        .says(&["in 3 files", "0 errors, 0 warnings"]);
}

/// A run removes copies of stored files from the folder of the archive.
#[test]
fn the_folder_of_the_archive_is_no_store() {
    let stored = Stored::new();
    let sandbox = &stored.sandbox;
    sandbox.ok("run");
    let settings = sandbox.read("urldb.toml");
    for folder in ["archive", "archive/index", ""] {
        let store = format!("file://{}", sandbox.path(folder).display());
        let old = format!("file://{}/urldb", stored.disk.path().display());
        sandbox.write("urldb.toml", settings.replace(&old, &store));
        for command in ["run", "archive list"] {
            sandbox.exits(2, command).complains("choose another folder");
        }
    }
}
