//! What is wrong with the places of an archive: each fact, its sentence, and what mends it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::archive_folder::{Twofold, contents};
use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, promises};
use crate::support::Reply;

const URL: &str = "http://example.test/a";
const OTHER: &str = "http://example.test/b";

/// The commands besides `run` and `repair` that tell each fact.
const TELLERS: [&str; 2] = ["archive verify", "doctor"];

impl Twofold {
    /// A repository after one run.
    fn after_run() -> Self {
        let twofold = Self::new("");
        twofold.sandbox.ok("run");
        twofold
    }

    /// The names of the archive files in a place.
    fn files(&self, place: usize) -> Vec<String> {
        let names = contents(&self.place(place)).into_keys();
        names.filter(|name| name.ends_with(".warc.gz")).collect()
    }

    fn object(&self, place: usize, name: &str) -> PathBuf {
        self.place(place).join(name)
    }

    fn location(&self, place: usize) -> String {
        format!("file://{}", self.place(place).display())
    }

    /// Removes all copies of this machine.
    fn forget_copies(&self) {
        fs::remove_dir_all(self.sandbox.path("archive")).unwrap();
    }

    /// Each command that tells facts says this sentence.
    fn all_say(&self, sentence: &str) {
        for command in TELLERS {
            let ran = self.sandbox.exits(1, command);
            assert_has(&words(&ran.out), sentence);
        }
    }

    /// Nothing is wrong.
    fn is_sound(&self) {
        self.is_equal();
        self.sandbox
            .ok("archive verify")
            .says("0 errors, 0 warnings");
        self.sandbox.ok("run");
        for place in [[0, 1], [1, 0]] {
            assert_eq!(self.read_elsewhere(&place), "first");
        }
    }
}

/// A text on one line: `doctor` and `status` break lines.
pub(crate) fn words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

fn cut(file: &Path, length: u64) {
    let file = fs::OpenOptions::new().write(true).open(file).unwrap();
    file.set_len(length).unwrap();
}

#[test]
fn a_missing_file_is_copied_by_the_next_run_or_a_repair() {
    for command in ["run", "archive repair"] {
        for place in [0, 1] {
            let twofold = Twofold::after_run();
            let [name] = &twofold.files(place)[..] else {
                panic!("one file")
            };
            fs::remove_file(twofold.object(place, name)).unwrap();
            // Another place has the only good copy.
            twofold.forget_copies();
            let location = twofold.location(place);
            twofold.all_say(&format!(
                "{location} lacks {name}; `urldb archive repair` mends it"
            ));
            twofold.sandbox.ok(command).complains(&[
                location.as_str(),
                &format!("had lost or damaged {name}, which it has again"),
            ]);
            twofold.is_sound();
        }
    }
}

#[test]
fn a_copy_of_another_length_is_replaced() {
    for place in [0, 1] {
        let twofold = Twofold::after_run();
        let name = &twofold.files(place)[0];
        cut(&twofold.object(place, name), 100);
        twofold.all_say(&format!(
            "{} has a damaged copy of {name}; `urldb archive repair` mends it",
            twofold.location(place)
        ));
        twofold.sandbox.ok("run").complains("which it has again");
        twofold.is_sound();
    }
}

#[test]
fn content_of_a_lost_file_is_captured_again() {
    let twofold = Twofold::after_run();
    let name = twofold.files(0)[0].clone();
    for place in [0, 1] {
        fs::remove_file(twofold.object(place, &name)).unwrap();
    }
    twofold.forget_copies();
    let sentence = format!("no place has a good copy of {name}; `urldb archive repair` mends it");
    twofold.all_say(&sentence);
    twofold
        .sandbox
        .exits(2, "archive index")
        .complains(&sentence);
    // The servers still have the bytes.
    let later = "2099-11-28T06:00:00Z";
    let ran = twofold.sandbox.urldb_at(later, "run");
    ran.code(2).complains(&sentence);
    assert_eq!(twofold.read_elsewhere(&[1, 0]), "first");
    twofold.sandbox.exits(2, "run").complains(&sentence);
    twofold
        .sandbox
        .ok("archive repair")
        .says(&format!("{name} is lost: the next run captures again"));
    twofold.sandbox.ok("run");
    twofold.is_sound();
    let manifest = fs::read_to_string(twofold.object(0, "manifest.json")).unwrap();
    assert_has(&manifest, &format!("\"lost\": [\n  \"{name}\""));
    // The file comes back.
    let sandbox = &twofold.sandbox;
    sandbox.ok("archive compact");
    twofold.is_sound();
}

#[test]
fn the_good_records_of_a_damaged_file_stay() {
    let twofold = Twofold::after_run();
    let name = twofold.files(0)[0].clone();
    // The end is gone: the record of the second URL, and the beginning is good.
    let length = fs::metadata(twofold.object(0, &name)).unwrap().len();
    cut(&twofold.object(0, &name), length / 4);
    cut(&twofold.object(1, &name), length - 20);
    twofold.forget_copies();
    twofold
        .sandbox
        .exits(2, "run")
        .complains("no place has a good copy of");
    let repaired = twofold.sandbox.ok("archive repair");
    repaired.says(&["was damaged everywhere:", "good records", "set aside in"]);
    assert_eq!(
        twofold.sandbox.files("archive", ".damaged").len(),
        1,
        "the damaged rest is kept"
    );
    twofold.sandbox.ok("run");
    let manifest = fs::read_to_string(twofold.object(0, "manifest.json")).unwrap();
    assert_has(&manifest, &format!("\"{name}\": \"urldb-"));
    twofold
        .sandbox
        .ok("archive verify")
        .says("0 errors, 0 warnings");
    for url in [URL, OTHER] {
        twofold.sandbox.ok(&["archive", "get", url]);
    }
    twofold.is_equal();
}

/// The files that a lost file was made of are still in a place, or on a machine.
#[test]
fn former_files_of_a_lost_file_count_again() {
    for is_here in [false, true] {
        let twofold = Twofold::after_run();
        twofold.sandbox.ok("run");
        let former = twofold.files(1);
        let kept: Vec<_> = former
            .iter()
            .map(|name| fs::read(twofold.object(1, name)).unwrap())
            .collect();
        twofold.sandbox.ok("archive compact");
        let [joined] = &twofold.files(0)[..] else {
            panic!("one file")
        };
        for place in [0, 1] {
            fs::remove_file(twofold.object(place, joined)).unwrap();
        }
        twofold.forget_copies();
        for (name, bytes) in former.iter().zip(&kept) {
            let target = if is_here {
                twofold.sandbox.path(&format!("archive/{name}"))
            } else {
                twofold.object(1, name)
            };
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::write(target, bytes).unwrap();
        }
        twofold.sandbox.exits(2, "run").complains("no place has");
        twofold
            .sandbox
            .ok("archive repair")
            .says("the archive has again what it was made of: 2 files");
        twofold.is_sound();
        for name in &former {
            assert!(twofold.files(0).contains(name), "{name}");
        }
    }
}

#[test]
fn a_lost_or_damaged_manifest_is_made_anew() {
    for place in [0, 1] {
        for text in [None, Some(""), Some("{\"format\": \"urldb-archive-2\"}")] {
            let twofold = Twofold::after_run();
            let files = twofold.files(place);
            let manifest = twofold.object(place, "manifest.json");
            match text {
                None => fs::remove_file(&manifest).unwrap(),
                Some(text) => fs::write(&manifest, text).unwrap(),
            }
            let before = contents(&twofold.place(place));
            let location = twofold.location(place);
            let sentence = match text {
                None => format!("{location} has lost its manifest.json; `urldb"),
                Some(_) => format!("the manifest.json of {location} is damaged: "),
            };
            twofold.all_say(&sentence);
            twofold.sandbox.exits(2, "run").complains(&sentence);
            let after = contents(&twofold.place(place));
            assert!(after == before, "nothing is written there");
            twofold.sandbox.ok("archive repair");
            for name in &files {
                assert!(twofold.files(place).contains(name));
            }
            twofold.is_sound();
        }
    }
}

/// Neither another place nor a former manifest helps: the files themselves do.
#[test]
fn a_manifest_is_made_of_the_files_that_are_there() {
    let twofold = Twofold::after_run();
    twofold.sandbox.ok("run");
    twofold.sandbox.ok("archive compact");
    twofold.sandbox.ok("run");
    let files = twofold.files(0);
    for place in [0, 1] {
        fs::remove_file(twofold.object(place, "manifest.json")).unwrap();
        fs::remove_dir_all(twofold.object(place, "manifests")).unwrap();
    }
    twofold.forget_copies();
    twofold.sandbox.exits(2, "run");
    twofold
        .sandbox
        .ok("archive repair")
        .says("has a manifest again: ");
    let manifest = fs::read_to_string(twofold.object(0, "manifest.json")).unwrap();
    for name in files {
        assert_has(&manifest, &format!("\"{name}\", \"length\""));
        assert!(twofold.files(1).contains(&name), "{name}");
    }
    twofold
        .sandbox
        .ok("archive verify")
        .says("0 errors, 0 warnings");
    for place in [[0, 1], [1, 0]] {
        assert_eq!(twofold.read_elsewhere(&place), "first");
    }
}

/// A manifest of before a compaction names files that are gone: the joined file says so.
#[test]
fn an_older_manifest_and_a_joined_file_explain_each_other() {
    let twofold = Twofold::after_run();
    twofold.sandbox.ok("run");
    let old = twofold.files(0);
    twofold.sandbox.ok("archive compact");
    let joined = twofold.files(0)[0].clone();
    fs::remove_file(twofold.object(0, "manifest.json")).unwrap();
    fs::remove_dir_all(twofold.place(1)).unwrap();
    fs::create_dir(twofold.place(1)).unwrap();
    twofold.forget_copies();
    twofold.sandbox.ok("archive repair");
    let manifest = fs::read_to_string(twofold.object(0, "manifest.json")).unwrap();
    for name in &old {
        assert_has(&manifest, &format!("\"{name}\": \"{joined}\""));
    }
    twofold.is_sound();
}

#[test]
fn a_new_place_that_is_named_first_gets_nothing_until_it_is_last() {
    let twofold = Twofold::new("");
    let sandbox = &twofold.sandbox;
    twofold.configure(sandbox, &[1], "");
    sandbox.ok("run");
    twofold.configure(sandbox, &[0, 1], "");
    let sentence = format!("the manifest of {} has the serial 0", twofold.location(0));
    twofold.all_say(&sentence);
    for command in ["run", "archive repair"] {
        sandbox
            .exits(2, command)
            .complains(&[&*sentence, "put a new store last"]);
        assert_eq!(fs::read_dir(twofold.place(0)).unwrap().count(), 0);
    }
    assert_eq!(sandbox.ok(&["archive", "get", URL]).out, "first");
    twofold.configure(sandbox, &[1, 0], "");
    sandbox.ok("archive repair");
    twofold.configure(sandbox, &[0, 1], "");
    sandbox.ok("run");
    twofold.is_sound();
}

/// A backup of the first store was put back.
#[test]
fn an_old_copy_of_the_first_store_gets_what_it_lacks() {
    let twofold = Twofold::after_run();
    let sandbox = &twofold.sandbox;
    let manifest = twofold.object(0, "manifest.json");
    let old = fs::read(&manifest).unwrap();
    sandbox.ok("run");
    sandbox.ok("archive compact");
    let new = twofold.files(0);
    for name in &new {
        fs::remove_file(twofold.object(0, name)).unwrap();
    }
    fs::write(&manifest, old).unwrap();
    twofold.forget_copies();
    sandbox.exits(2, "run").complains("is an old copy");
    sandbox.ok("archive repair").says("has a manifest again");
    for name in &new {
        assert!(twofold.files(0).contains(name), "{name}");
    }
    twofold.is_sound();
}

#[test]
fn a_file_that_no_manifest_names_is_taken_in_after_a_day() {
    let twofold = Twofold::after_run();
    // A run of another machine ended after its upload.
    let other = Sandbox::new("");
    twofold.configure(&other, &[1], "");
    other.write(FILE, promises(&[("/a", "first")]));
    let other_place = twofold.place(1);
    let before = twofold.files(1);
    let manifest = fs::read(other_place.join("manifest.json")).unwrap();
    other.ok("run");
    fs::write(other_place.join("manifest.json"), &manifest).unwrap();
    let new = twofold.files(1);
    let name = new.iter().find(|name| !before.contains(name)).unwrap();
    twofold.sandbox.ok("run");
    assert!(
        !twofold.files(0).contains(name),
        "it may be of a run that goes on"
    );
    let two_days = SystemTime::now() - Duration::from_hours(48);
    let object = fs::File::options()
        .write(true)
        .open(other_place.join(name))
        .unwrap();
    object.set_modified(two_days).unwrap();
    let ran = twofold.sandbox.ok("archive verify");
    ran.says(&[
        "object-unnamed",
        &format!(
            "{} has {name}, which no manifest names",
            twofold.location(1)
        ),
    ]);
    twofold.sandbox.ok("run");
    assert!(twofold.files(0).contains(name));
    twofold.is_sound();
}

/// A repair was killed after it had decided about a lost index, and before it had made the index anew.
#[test]
fn a_repair_makes_an_index_that_lacks_files_anew() {
    let twofold = Twofold::after_run();
    twofold.forget_copies();
    for place in 0..2 {
        let manifest = twofold.object(place, "manifest.json");
        let mut document: serde_json::Value =
            serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
        let files = document["files"].as_array_mut().unwrap();
        files.retain(|file| !file["name"].as_str().unwrap().starts_with("index/"));
        fs::write(&manifest, serde_json::to_vec(&document).unwrap()).unwrap();
        fs::remove_dir_all(twofold.object(place, "index")).unwrap();
    }
    twofold
        .sandbox
        .exits(2, &["archive", "get", URL])
        .complains("has no index");
    twofold.sandbox.ok("archive repair");
    twofold.forget_copies();
    twofold.is_sound();
}

#[test]
fn a_part_of_the_index_that_no_manifest_names_goes_after_a_day() {
    let twofold = Twofold::after_run();
    let object = twofold.object(0, "index/20260101000000-0123456789abcdef.idx");
    fs::write(&object, "a process was killed before it named this").unwrap();
    twofold.sandbox.ok("run");
    assert!(object.is_file(), "it may be of a run that goes on");
    let two_days = SystemTime::now() - Duration::from_hours(48);
    let file = fs::File::options().write(true).open(&object).unwrap();
    file.set_modified(two_days).unwrap();
    twofold.sandbox.ok("run");
    assert!(!object.exists());
    twofold.is_sound();
}

/// Readers take another copy if what they read is damaged, whether the file is read as a whole or by ranges.
#[test]
fn a_damaged_copy_is_passed_over() {
    let mut random = 33_u64;
    let mut digits = || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        format!("{:08x}", random >> 32)
    };
    let large: String = (0..1_200_000).map(|_| digits()).collect();
    for (content, damaged) in [("small", 60), (large.as_str(), 1_000_000)] {
        let twofold = Twofold::new("");
        twofold.site.serve(
            "/a",
            Reply::new("200 OK", &["Content-Type: text/plain"], content),
        );
        twofold.sandbox.write(FILE, promises(&[("/a", content)]));
        twofold.sandbox.ok("run");
        let name = twofold.files(0)[0].clone();
        let get = ["archive", "get", URL];
        let flip = |file: &Path| {
            let mut bytes = fs::read(file).unwrap();
            let at = bytes.len() - damaged;
            bytes[at] ^= 1;
            fs::write(file, bytes).unwrap();
        };
        flip(&twofold.sandbox.path("archive").join(&name));
        assert_eq!(twofold.sandbox.ok(&get).out, content);
        twofold.sandbox.ok(&["archive", "get", URL, "-o", "copy"]);
        assert_eq!(twofold.sandbox.read("copy"), content);
        twofold.forget_copies();
        flip(&twofold.object(0, &name));
        assert_eq!(twofold.sandbox.ok(&get).out, content);
        twofold.sandbox.ok("archive export --bagit bag");
        // No other copy is good.
        flip(&twofold.object(1, &name));
        twofold.forget_copies();
        twofold.sandbox.exits(2, &get);
    }
}

/// An archive without places: what was here is lost, what never was here is not.
#[test]
fn without_places_a_file_that_was_here_is_lost() {
    let site = Site::with(&[("/a", "first"), ("/b", "second")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, promises(&[("/a", "first"), ("/b", "second")]));
    sandbox.ok("run");
    let file = sandbox.files("archive", ".warc.gz")[0].clone();
    let name = file.file_name().unwrap().to_str().unwrap().to_owned();
    let away = sandbox.path("away");
    fs::rename(&file, &away).unwrap();
    let sentence = format!("no place has a good copy of {name}; `urldb archive repair` mends it");
    let tomorrow = "2099-11-29T06:00:00Z";
    sandbox
        .urldb_at(tomorrow, "run")
        .code(2)
        .complains(&sentence);
    assert_eq!(sandbox.ok(&["archive", "get", URL]).out, "first");
    // The index forgets it, and the fact stays.
    sandbox.exits(2, "archive index").complains(&sentence);
    let later = "2099-11-30T06:00:00Z";
    sandbox.urldb_at(later, "run").code(2).complains(&sentence);
    assert_has(&words(&sandbox.exits(1, "doctor").out), &sentence);
    let status = words(&sandbox.urldb("status").out);
    assert_has(&status, &format!("Archive: {sentence}."));
    sandbox
        .ok("archive repair")
        .says(&format!("{name} is lost"));
    let ran = sandbox.urldb_at("2099-12-01T06:00:00Z", "run").code(0);
    assert_lacks(&ran.err, &name);
    assert_lacks(&sandbox.ok("status").out, &name);
    sandbox.ok("archive verify").says("0 errors, 0 warnings");
    // It comes back.
    fs::rename(&away, &file).unwrap();
    sandbox.urldb_at("2099-12-02T06:00:00Z", "run").code(0);
    sandbox.ok("archive verify").says("0 errors, 0 warnings");
}

/// A new machine without the archive: nothing is concluded from that.
#[test]
fn without_places_and_index_nothing_is_lost() {
    let site = Site::with(&[("/a", "first"), ("/b", "second")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, promises(&[("/a", "first"), ("/b", "second")]));
    sandbox.urldb_at("2026-11-29T06:00:00Z", "run").code(0);
    fs::remove_dir_all(sandbox.path("archive")).unwrap();
    // Nor from a revisit of the same second.
    for at in ["2026-11-30T06:00:00Z", "2099-11-29T06:00:00Z"] {
        let ran = sandbox.urldb_at(at, "run").code(0);
        ran.says(&["2 captures of the ledger are not on", "--recapture"]);
    }
    // A job of CI begins without them.
    let in_ci = sandbox.urldb_with_env("run", &[("CI", "true")]);
    assert_lacks(&in_ci.code(0).out, "not on this machine");
    sandbox.exits(2, &["archive", "get", URL]);
    sandbox.ok("archive repair --recapture").says("is lost");
    let ran = sandbox.ok("run");
    assert_lacks(&ran.out, "not on this machine");
    assert_eq!(sandbox.ok(&["archive", "get", URL]).out, "first");
}

/// The records of a file may be in another one, as only the index says.
#[test]
fn while_the_index_cannot_be_read_nothing_is_lost() {
    let site = Site::with(&[("/a", "first"), ("/b", "second")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, promises(&[("/a", "first"), ("/b", "second")]));
    sandbox.ok("run");
    let file = &sandbox.files("archive", ".warc.gz")[0];
    fs::rename(file, file.with_file_name("other.warc.gz")).unwrap();
    sandbox.exits(2, "archive index");
    let captures = sandbox.captures();
    sandbox.urldb_at("2099-11-29T06:00:00Z", "run");
    assert_eq!(sandbox.captures(), captures);
    for lines in sandbox.files("archive/index", ".cdxj.gz") {
        fs::write(lines, "garbage").unwrap();
    }
    let ran = sandbox.urldb_at("2099-11-30T06:00:00Z", "run");
    assert_eq!(sandbox.captures(), captures);
    ran.says("the index is damaged");
}

/// Another machine joined files of an archive that is in git: the joined file says of which ones.
#[test]
fn files_that_another_machine_joined_are_not_lost() {
    let site = Site::with(&[("/a", "first"), ("/b", "second")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, promises(&[("/a", "first"), ("/b", "second")]));
    sandbox.ok("run");
    sandbox.ok("run");
    let other = sandbox.copy();
    other.ok("archive compact");
    for file in sandbox.files("archive", ".warc.gz") {
        fs::remove_file(file).unwrap();
    }
    let joined = &other.files("archive", ".warc.gz")[0];
    let name = joined.file_name().unwrap();
    fs::copy(joined, sandbox.path("archive").join(name)).unwrap();
    let captures = sandbox.captures();
    let ran = sandbox.ok("run");
    assert_lacks(&ran.out, "captured again");
    assert_eq!(
        sandbox.captures(),
        captures,
        "the captures are in the joined file"
    );
    sandbox.ok("archive index");
    sandbox.ok("archive verify").says("0 errors, 0 warnings");
}
