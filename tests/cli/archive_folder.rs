//! An archive whose places are folders, as on backup disks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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
    let store = format!("[archive]\nstores = [\"file://{}\"]\n", store.display());
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

/// A repository whose archive has two places.
pub(crate) struct Twofold {
    pub(crate) site: Site,
    disks: [TempDir; 2],
    pub(crate) sandbox: Sandbox,
}

impl Twofold {
    pub(crate) fn new(keys: &str) -> Self {
        let site = Site::with(&[("/a", "first"), ("/b", "second")]);
        let disks = [(); 2].map(|()| tempfile::tempdir().unwrap());
        for disk in &disks {
            fs::create_dir(disk.path().join("urldb")).unwrap();
        }
        let sandbox = Sandbox::new("");
        let twofold = Self {
            site,
            disks,
            sandbox,
        };
        twofold.configure(&twofold.sandbox, &[0, 1], keys);
        twofold
            .sandbox
            .write(FILE, promises(&[("/a", "first"), ("/b", "second")]));
        twofold
    }

    /// Names these places, in this order.
    pub(crate) fn configure(&self, sandbox: &Sandbox, places: &[usize], keys: &str) {
        let stores = places.iter().map(|place| {
            let folder = self.disks[*place].path().join("urldb");
            format!("\"file://{}\"", folder.display())
        });
        let stores = stores.collect::<Vec<_>>().join(", ");
        let network = self.site.network();
        sandbox.write(
            "urldb.toml",
            format!("{network}[archive]\nstores = [{stores}]\n{keys}"),
        );
    }

    pub(crate) fn place(&self, place: usize) -> std::path::PathBuf {
        self.disks[place].path().join("urldb")
    }

    pub(crate) fn take_away(&self, place: usize) {
        let disk = self.disks[place].path();
        fs::rename(disk.join("urldb"), disk.join("away")).unwrap();
    }

    pub(crate) fn bring_back(&self, place: usize) {
        let disk = self.disks[place].path();
        fs::rename(disk.join("away"), disk.join("urldb")).unwrap();
    }

    /// Both places have the same files, and the manifest names exactly these.
    pub(crate) fn is_equal(&self) {
        let [first, second] = [0, 1].map(|place| contents(&self.place(place)));
        let names = |it: &BTreeMap<String, Vec<u8>>| it.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&first), names(&second));
        assert!(first == second);
        let manifest = urldb_store::Manifest::parse(&first["manifest.json"]).unwrap();
        let mut listed: Vec<&str> = manifest.names().chain(["manifest.json"]).collect();
        listed.sort_unstable();
        assert_eq!(names(&first), listed);
    }

    /// The content of the URL as a machine reads it that has no copies, and has these places.
    pub(crate) fn read_elsewhere(&self, places: &[usize]) -> String {
        let other = Sandbox::new("");
        self.configure(&other, places, "");
        other.ok(&["archive", "get", URL]).out
    }
}

/// The files in a folder, but former manifests.
pub(crate) fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for part in ["", "index"] {
        for entry in fs::read_dir(folder.join(part)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
            if path.is_file() && !name.starts_with('.') {
                found.insert(name.to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn each_place_gets_what_the_first_one_has() {
    let twofold = Twofold::new("keep-revisits = \"monthly\"\n");
    let sandbox = &twofold.sandbox;
    twofold.configure(sandbox, &[0], "keep-revisits = \"monthly\"\n");
    for _ in 0..2 {
        sandbox.ok("run");
    }
    // A new place gets the files that are no longer on this machine from the first store.
    fs::remove_dir_all(sandbox.path("archive")).unwrap();
    twofold.configure(sandbox, &[0, 1], "keep-revisits = \"monthly\"\n");
    let folder = twofold.place(1).display().to_string();
    sandbox
        .ok("run")
        .says(&["stored 12 files, ", &format!("in file://{folder}")]);
    twofold.is_equal();
    assert_eq!(twofold.read_elsewhere(&[1]), "first");
    // The second place is away during a compaction, and gets the joined file later.
    twofold.take_away(1);
    sandbox
        .ok("run")
        .complains(&["cannot be asked", "is not there"]);
    sandbox.ok("archive compact").says("made 1 file of 4");
    twofold.bring_back(1);
    assert_eq!(twofold.read_elsewhere(&[1]), "first");
    sandbox.ok("run");
    twofold.is_equal();
    sandbox.ok("archive verify").says("0 errors, 0 warnings");
}

#[test]
fn files_are_read_from_the_first_place_that_has_them() {
    let twofold = Twofold::new("");
    let sandbox = &twofold.sandbox;
    sandbox.ok("run");
    let good = contents(&twofold.place(0));
    let name = good.keys().find(|name| name.ends_with(".warc.gz")).unwrap();
    let object = twofold.place(0).join(name);
    let mut flipped = good[name].clone();
    flipped[200] ^= 1;
    for bad in [&flipped[..], &flipped[1..]] {
        fs::write(&object, bad).unwrap();
        assert_eq!(twofold.read_elsewhere(&[0, 1]), "first");
    }
    fs::remove_file(&object).unwrap();
    assert_eq!(twofold.read_elsewhere(&[0, 1]), "first");
    let fact = format!(
        "file://{} lacks {name}; `urldb archive repair` mends it",
        twofold.place(0).display()
    );
    sandbox
        .exits(1, "archive verify")
        .says(&["file-missing", &fact]);
    fs::write(&object, &good[name]).unwrap();
    // The first place is away.
    twofold.take_away(0);
    let other = Sandbox::new("");
    twofold.configure(&other, &[0, 1], "");
    let got = other.ok(&["archive", "get", URL]);
    assert_eq!(got.out, "first");
    got.complains("this is the archive as file://");
    let before = contents(&twofold.place(1)).len();
    sandbox.ok("run").complains("not stored yet");
    assert_eq!(
        contents(&twofold.place(1)).len(),
        before + 1,
        "the new file"
    );
    twofold.bring_back(0);
    sandbox.ok("run");
    twofold.is_equal();
}

#[test]
fn a_first_store_that_was_emptied_begins_no_other_archive() {
    let twofold = Twofold::new("");
    let sandbox = &twofold.sandbox;
    sandbox.ok("run");
    let good = contents(&twofold.place(1));
    fs::remove_dir_all(twofold.place(0)).unwrap();
    fs::create_dir(twofold.place(0)).unwrap();
    for command in ["run", "archive compact"] {
        sandbox
            .exits(2, command)
            .complains("has lost its manifest.json");
    }
    assert_eq!(fs::read_dir(twofold.place(0)).unwrap().count(), 0);
    let kept = contents(&twofold.place(1));
    assert!(
        good.iter()
            .all(|(name, bytes)| kept.get(name) == Some(bytes))
    );
    // The other place goes on, and the emptied one gets all.
    twofold.configure(sandbox, &[1, 0], "");
    sandbox.ok("archive repair");
    twofold.is_equal();
}

#[test]
fn doctor_names_each_place() {
    let twofold = Twofold::new("");
    let settings = twofold.sandbox.read("urldb.toml");
    let bucket = "stores = [{ url = \"s3://evidence/x\", env-prefix = \"B_\" }, ";
    twofold
        .sandbox
        .write("urldb.toml", settings.replace("stores = [", bucket));
    twofold.take_away(1);
    let [first, second] = [0, 1].map(|place| twofold.place(place).display().to_string());
    twofold.sandbox.exits(1, "doctor").says(&[
        "s3://evidence/x: there are no credentials",
        "export B_AWS_ACCESS_KEY_ID=…",
        &format!("file://{first}: the folder is there"),
        &format!("file://{second} is not there"),
    ]);
}

/// A place that answers, and cannot take a file, lacks it: so the copies on this machine stay.
#[test]
fn a_file_stays_until_each_place_that_answers_has_it() {
    let twofold = Twofold::new("cache-size = \"1B\"\n");
    let sandbox = &twofold.sandbox;
    let obstacle = twofold.place(1).join("index");
    fs::write(&obstacle, "no folder").unwrap();
    sandbox.exits(2, "run").complains("index");
    assert_eq!(sandbox.files("archive", ".warc.gz").len(), 1);
    fs::remove_file(obstacle).unwrap();
    sandbox.ok("run");
    twofold.is_equal();
    assert!(sandbox.files("archive", ".warc.gz").is_empty());
}
