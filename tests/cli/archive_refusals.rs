//! A place of the archive that refuses hides no other place from a command that reads.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::fake_s3::{BUCKET, FakeS3, Fault};
use crate::sandbox::{Sandbox, assert_lacks};
use crate::site::{FILE, Site, promises};
use crate::support::Reply;

const URL: &str = "http://example.test/a";

const KEYS: [(&str, &str); 2] = [
    ("AWS_ACCESS_KEY_ID", "id"),
    ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI-K7MDENG"),
];

/// A bucket and a folder that have the archive of a site.
struct Places {
    site: Site,
    bucket: FakeS3,
    disk: TempDir,
}

impl Places {
    fn new() -> Self {
        let places = Self {
            site: Site::with(&[("/a", "first")]),
            bucket: FakeS3::start(),
            disk: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(places.disk.path().join("urldb")).unwrap();
        let sandbox = places.machine(&[&places.s3(BUCKET), &places.folder()]);
        sandbox.ok("run");
        // Two captures to compare.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        places.site.serve("/a", Reply::ok("other"));
        sandbox.exits(1, "run");
        places.site.remove("/a");
        places
    }

    fn s3(&self, bucket: &str) -> String {
        let endpoint = self.bucket.endpoint();
        format!("{{ url = \"s3://{bucket}/project\", endpoint = \"{endpoint}\" }}")
    }

    fn folder(&self) -> String {
        folder(&self.disk.path().join("urldb"))
    }

    /// A machine without copies that has these places.
    fn machine(&self, places: &[&str]) -> Sandbox {
        let stores = places.join(", ");
        let network = self.site.network();
        let mut sandbox = Sandbox::new(&format!("{network}[archive]\nstores = [{stores}]\n"));
        sandbox.env = KEYS.to_vec();
        sandbox.write(FILE, promises(&[("/a", "first")]));
        sandbox
    }
}

fn folder(path: &Path) -> String {
    format!("\"file://{}\"", path.display())
}

/// Every command that reads the archive works; `said` is in the warnings of those whose first place refuses.
fn reads(sandbox: &Sandbox, said: &[&str]) {
    for (code, command, out) in [
        (0, "get http://example.test/a", "first"),
        (0, "get -n http://example.test/a", "verified  archive"),
        (0, "archive get http://example.test/a", "first"),
        (0, "archive list", "2 captures"),
        (1, "archive diff http://example.test/a", "other"),
        (0, "archive export --bagit bag", ""),
        (0, "archive export --wacz a.wacz", "exported"),
    ] {
        let ran = sandbox.urldb(command);
        assert_eq!(ran.code, code, "{command}: {ran:?}");
        assert!(ran.out.contains(out), "{command}: {ran:?}");
        let warnings = ran.err.matches("warning: ").count();
        assert_eq!(
            warnings,
            usize::from(!said.is_empty()),
            "{command}: {ran:?}"
        );
        for said in said {
            assert!(ran.err.contains(said), "{command}: {ran:?}");
        }
    }
    fs::remove_dir_all(sandbox.path("bag")).unwrap();
    fs::remove_file(sandbox.path("a.wacz")).unwrap();
    // All records are read; the place is told as a finding too.
    let ran = sandbox.urldb("archive verify");
    assert!(ran.code < 2 && ran.out.contains("in 2 files"), "{ran:?}");
}

#[test]
fn a_first_place_that_refuses_hides_no_other() {
    let places = Places::new();
    let (s3, folder) = (places.s3(BUCKET), places.folder());
    let both = [&*s3, &*folder];
    for status in [301, 403, 404] {
        places.bucket.fail(move |_| Some(Fault::Status(status)));
        let name = format!("s3://{BUCKET}/project");
        let said = status.to_string();
        // An empty bucket is told as one that has lost its manifest.
        let said: &[&str] = if status == 404 {
            &[&name]
        } else {
            &[&name, &said]
        };
        reads(&places.machine(&both), said);
    }
    places.bucket.recover();
    let mut sandbox = places.machine(&both);
    sandbox.env = vec![];
    reads(
        &sandbox,
        &["s3://evidence/project cannot be asked", "AWS_ACCESS_KEY_ID"],
    );
    reads(
        &places.machine(&[&places.s3("nobody"), &folder]),
        &["s3://nobody/project"],
    );
    // A file in the place of a folder, and a folder that is away.
    let file = places.disk.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file, places.disk.path().join("away")] {
        let said = format!("file://{} ", path.display());
        reads(&places.machine(&[&self::folder(&path), &folder]), &[&said]);
    }
}

#[test]
fn another_place_that_refuses_is_not_needed() {
    let places = Places::new();
    let both = [&*places.folder(), &*places.s3(BUCKET)];
    let mut sandbox = places.machine(&both);
    places.bucket.fail(|_| Some(Fault::Status(403)));
    reads(&sandbox, &[]);
    sandbox.env = vec![];
    reads(&sandbox, &[]);
}

/// What only writes can mend is told by those that write.
#[test]
fn writers_tell_a_place_that_refuses() {
    let places = Places::new();
    let both = [&*places.s3(BUCKET), &*places.folder()];
    let mut sandbox = places.machine(&both);
    places.bucket.fail(|_| Some(Fault::Status(403)));
    sandbox.exits(2, "run").complains("403 AccessDenied");
    sandbox
        .exits(2, "archive compact")
        .complains("403 AccessDenied");
    sandbox.env = vec![];
    for command in ["run", "archive compact", "archive repair"] {
        sandbox.exits(2, command).complains("AWS_ACCESS_KEY_ID");
    }
}

#[test]
fn an_archive_of_which_no_place_can_be_asked_is_not_said_to_lack_bytes() {
    let places = Places::new();
    let mut sandbox = places.machine(&[&places.s3(BUCKET)]);
    sandbox.env = vec![];
    let ran = sandbox.exits(1, &["get", URL]);
    assert_lacks(&ran.err, "the archive do not have");
    ran.complains_in_words(&["AWS_ACCESS_KEY_ID", "and the archive cannot be read"]);
    let ran = sandbox.exits(1, &["get", "-n", URL]);
    ran.says(&["no        archive", "AWS_ACCESS_KEY_ID"]);
    sandbox
        .exits(2, &["archive", "get", URL])
        .complains("AWS_ACCESS_KEY_ID");
}
