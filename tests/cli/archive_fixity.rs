//! The rolling check: a run reads stored bytes again, a share each day.

use std::fs;
use std::path::Path;

use crate::archive_facts::words;
use crate::archive_folder::Twofold;
use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, promises};

/// Changes the last byte of a file, and returns its name.
fn damage_first_file(folder: &Path) -> String {
    let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|path| path.to_string_lossy().ends_with(".warc.gz"))
        .collect();
    files.sort();
    damage(&files[0]);
    let name = files[0].file_name().unwrap();
    name.to_str().unwrap().to_owned()
}

fn damage(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(file, bytes).unwrap();
}

fn run_at(sandbox: &Sandbox, day: u8) -> crate::sandbox::Ran {
    sandbox.urldb_at(&format!("2026-11-{day:02}T06:00:00Z"), "run")
}

#[test]
fn a_run_a_day_reads_each_place() {
    let twofold = Twofold::new("check-every = \"1d\"\n");
    let sandbox = &twofold.sandbox;
    run_at(sandbox, 1);
    let first = sandbox.read("status/archive.yaml");
    for place in 0..2 {
        let place = twofold.place(place);
        assert_has(&first, &format!("place: file://{}\n", place.display()));
    }
    assert_eq!(first.matches("round: '2026-11-01'").count(), 2);
    let url = ["status", "http://example.test/a"];
    sandbox
        .ok(&url)
        .says("in 2 of 2 places, read since 2026-11-01");
    let name = damage_first_file(&twofold.place(1));
    // The day has its check.
    run_at(sandbox, 1);
    assert_eq!(sandbox.read("status/archive.yaml"), first);
    let place = twofold.place(1);
    let mended = format!(
        "file://{} had lost or damaged {name}, which it has again",
        place.display()
    );
    run_at(sandbox, 2).complains(mended.as_str());
    let good = fs::read(twofold.place(0).join(&name)).unwrap();
    assert_eq!(fs::read(place.join(&name)).unwrap(), good);
    let second = sandbox.read("status/archive.yaml");
    assert_lacks(&second, "damaged:");
    assert_eq!(second.matches("round-before: '2026-11-01'").count(), 2);
    // The documents are about the manifest that the run has written.
    let manifest = fs::read_to_string(place.join("manifest.json")).unwrap();
    let serial = manifest.split("\"serial\": ").nth(1).unwrap();
    let serial = serial.split([',', '\n']).next().unwrap();
    assert_eq!(second.matches(&format!("serial: {serial}\n")).count(), 2);
    sandbox.ok(&url).says("in 2 of 2 places");
    // Both copies are damaged: the next run says that the file is lost.
    for place in 0..2 {
        damage(&twofold.place(place).join(&name));
    }
    fs::remove_dir_all(sandbox.path("archive")).unwrap();
    let lost = run_at(sandbox, 3);
    lost.complains(&format!("no place has a good copy of {name}"));
    let third = sandbox.read("status/archive.yaml");
    assert_eq!(third.matches("damaged:").count(), 2);
    let status = words(&sandbox.urldb("status").out);
    for place in 0..2 {
        let location = twofold.place(place);
        assert_has(
            &status,
            &format!(
                "Archive: file://{} has a damaged copy of {name}; `urldb archive repair` mends it.",
                location.display()
            ),
        );
    }
    sandbox.ok("archive repair").says("was damaged everywhere");
    run_at(sandbox, 4);
    assert_lacks(&sandbox.read("status/archive.yaml"), "damaged:");
}

#[test]
fn a_first_store_that_is_away_changes_no_document() {
    let twofold = Twofold::new("");
    let sandbox = &twofold.sandbox;
    run_at(sandbox, 1);
    let before = sandbox.read("status/archive.yaml");
    let place = twofold.place(0);
    fs::rename(&place, place.with_extension("away")).unwrap();
    run_at(sandbox, 2);
    assert_eq!(sandbox.read("status/archive.yaml"), before);
    sandbox.write("status/archive.yaml", "---\n---\nplace: x\n");
    fs::rename(place.with_extension("away"), &place).unwrap();
    run_at(sandbox, 3).complains(&["archive.yaml", "line 2: `files` is missing"]);
}

#[test]
fn an_archive_without_places_is_checked_by_its_own_digests() {
    let site = Site::with(&[("/a", "first")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, promises(&[("/a", "first")]));
    run_at(&sandbox, 1);
    assert_has(
        &sandbox.read("archive/.checked.yaml"),
        "place: archive\nround: '2026-11-01'\n",
    );
    assert!(!sandbox.path("status/archive.yaml").exists());
    let name = damage_first_file(&sandbox.path("archive"));
    run_at(&sandbox, 2).complains(format!("{name} is damaged at byte ").as_str());
    assert_has(
        &sandbox.read("archive/.checked.yaml"),
        &format!("damaged:\n- {name}\n"),
    );
}

#[test]
fn doctor_tells_of_rounds_that_take_too_long() {
    let twofold = Twofold::new("check-every = \"2d\"\ncheck-bytes = 100\n");
    let sandbox = &twofold.sandbox;
    run_at(sandbox, 1);
    sandbox
        .urldb("doctor")
        .says(&["reading all bytes again takes", "`check-bytes`"]);
    let settings = sandbox.read("urldb.toml");
    sandbox.write("urldb.toml", settings.replace("= 100\n", "= \"1GB\"\n"));
    assert_lacks(&sandbox.urldb("doctor").out, "reading all bytes");
}

#[test]
fn a_run_commits_its_check() {
    let twofold = Twofold::new("");
    let sandbox = &twofold.sandbox;
    let git = |arguments: &[&str]| {
        let done = sandbox.command("git").args(arguments).output();
        String::from_utf8(done.unwrap().stdout).unwrap()
    };
    git(&["init", "--quiet"]);
    git(&["config", "user.name", "A"]);
    git(&["config", "user.email", "a@example.test"]);
    sandbox.ok("run --commit");
    assert_has(&git(&["ls-files"]), "status/archive.yaml");
}
