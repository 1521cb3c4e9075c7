//! Random histories of an archive with two places: losses, damage, kills, and two machines at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use proptest::prelude::*;

use crate::archive_folder::Twofold;
use crate::sandbox::Sandbox;
use crate::site::{FILE, promises, sha256};
use crate::support::Reply;

/// A step of a history. Places and machines are 0 or 1; `which` selects a file.
#[derive(Clone, Debug)]
enum Step {
    Run {
        machine: usize,
    },
    BothRun,
    Compact {
        machine: usize,
    },
    Repair {
        machine: usize,
    },
    /// A command that is killed after some milliseconds.
    Kill {
        machine: usize,
        command: &'static str,
        after: u64,
    },
    Lose {
        place: usize,
        which: usize,
    },
    Flip {
        place: usize,
        which: usize,
    },
    Cut {
        place: usize,
        which: usize,
    },
    LoseManifest {
        place: usize,
    },
    DamageManifest {
        place: usize,
    },
    /// The machine begins without its copies.
    Forget {
        machine: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let two = || 0..2_usize;
    let command = prop_oneof![Just("run"), Just("archive repair"), Just("archive compact")];
    prop_oneof![
        3 => two().prop_map(|machine| Step::Run { machine }),
        1 => Just(Step::BothRun),
        1 => two().prop_map(|machine| Step::Compact { machine }),
        1 => two().prop_map(|machine| Step::Repair { machine }),
        2 => (two(), command, 0..150_u64)
            .prop_map(|(machine, command, after)| Step::Kill { machine, command, after }),
        2 => (two(), 0..9_usize).prop_map(|(place, which)| Step::Lose { place, which }),
        2 => (two(), 0..9_usize).prop_map(|(place, which)| Step::Flip { place, which }),
        1 => (two(), 0..9_usize).prop_map(|(place, which)| Step::Cut { place, which }),
        1 => two().prop_map(|place| Step::LoseManifest { place }),
        1 => two().prop_map(|place| Step::DamageManifest { place }),
        1 => two().prop_map(|machine| Step::Forget { machine }),
    ]
}

struct History {
    twofold: Twofold,
    other: Sandbox,
    /// The bytes of each archive file, as it was first seen.
    originals: BTreeMap<String, Vec<u8>>,
    /// The texts of a page that changes, each of which a finished run has archived.
    texts: BTreeSet<String>,
    serial: u32,
}

impl History {
    fn new() -> Self {
        let twofold = Twofold::new("");
        let other = Sandbox::new("");
        twofold.configure(&other, &[0, 1], "");
        let mut history = Self {
            twofold,
            other,
            originals: BTreeMap::new(),
            texts: BTreeSet::new(),
            serial: 0,
        };
        history.change_page();
        history
    }

    fn machine(&self, number: usize) -> &Sandbox {
        [&self.twofold.sandbox, &self.other][number]
    }

    fn change_page(&mut self) -> String {
        self.serial += 1;
        let text = format!("page {}", self.serial);
        self.twofold.site.serve("/page", Reply::ok(&text));
        for machine in [0, 1] {
            let records = [("/a", "first"), ("/b", "second"), ("/page", &text)];
            self.machine(machine).write(FILE, promises(&records));
        }
        text
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Run { machine } => {
                let text = self.change_page();
                let ran = self.machine(machine).urldb("run");
                assert!(ran.code == 0 || ran.code == 2, "{ran:?}");
                self.texts.insert(text);
            }
            Step::BothRun => {
                let text = self.change_page();
                let mut runs = [self.machine(0).start("run"), self.machine(1).start("run")];
                for run in &mut runs {
                    run.end();
                }
                self.texts.insert(text);
            }
            Step::Compact { machine } => drop(self.machine(machine).urldb("archive compact")),
            Step::Repair { machine } => {
                self.machine(machine).ok("archive repair");
            }
            Step::Kill {
                machine,
                command,
                after,
            } => {
                let mut running = self.machine(machine).start(command);
                sleep(Duration::from_millis(after));
                running.signal("-KILL");
                running.end();
            }
            Step::Lose { place, which } => {
                if let Some(file) = self.expendable(place, which) {
                    fs::remove_file(file).unwrap();
                }
            }
            Step::Flip { place, which } => {
                if let Some(file) = self.expendable(place, which) {
                    let mut bytes = fs::read(&file).unwrap();
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 1;
                    fs::write(file, bytes).unwrap();
                }
            }
            Step::Cut { place, which } => {
                if let Some(file) = self.expendable(place, which) {
                    let bytes = fs::read(&file).unwrap();
                    fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
                }
            }
            Step::LoseManifest { place } => {
                let _ = fs::remove_file(self.twofold.place(place).join("manifest.json"));
            }
            Step::DamageManifest { place } => {
                let manifest = self.twofold.place(place).join("manifest.json");
                if manifest.exists() {
                    fs::write(manifest, "{").unwrap();
                }
            }
            Step::Forget { machine } => {
                let is_in_place = |path: &PathBuf| self.is_in_place(path);
                let is_safe = (self.originals.iter())
                    .all(|(name, bytes)| self.copies(name, bytes, is_in_place) > 0);
                if is_safe {
                    let _ = fs::remove_dir_all(self.machine(machine).path("archive"));
                }
            }
        }
        self.look();
    }

    /// Remembers the bytes of new files.
    fn look(&mut self) {
        let folders = [0, 1].map(|place| self.twofold.place(place));
        let own = [0, 1].map(|machine| self.machine(machine).path("archive"));
        for folder in folders
            .into_iter()
            .chain(own)
            .filter(|folder| folder.is_dir())
        {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                if name.ends_with(".warc.gz") && !name.starts_with('.') {
                    let bytes = fs::read(&path).unwrap();
                    self.originals.entry(name).or_insert(bytes);
                }
            }
        }
    }

    /// The number of good copies of a file at paths that count.
    fn copies(&self, name: &str, bytes: &[u8], counts: impl Fn(&PathBuf) -> bool) -> usize {
        let places = [0, 1].map(|place| self.twofold.place(place).join(name));
        let own = [0, 1].map(|machine| self.machine(machine).path("archive").join(name));
        let paths = places.into_iter().chain(own).filter(counts);
        paths
            .filter(|path| fs::read(path).is_ok_and(|it| it == bytes))
            .count()
    }

    /// Whether a file is in a place, which every machine can ask.
    fn is_in_place(&self, path: &Path) -> bool {
        [0, 1]
            .iter()
            .any(|place| path.starts_with(self.twofold.place(*place)))
    }

    /// An archive file in a place of which another place has a good copy.
    fn expendable(&self, place: usize, which: usize) -> Option<PathBuf> {
        let folder = self.twofold.place(place);
        let files = self.originals.iter().filter(|(name, bytes)| {
            let path = folder.join(name);
            let is_in_other = |other: &PathBuf| *other != path && self.is_in_place(other);
            path.is_file() && self.copies(name, bytes, is_in_other) > 0
        });
        let files: Vec<PathBuf> = files.map(|(name, _)| folder.join(name)).collect();
        (!files.is_empty()).then(|| files[which % files.len()].clone())
    }

    /// Repairs, and checks that nothing is lost.
    fn end(self) {
        let Self { twofold, texts, .. } = &self;
        let sandbox = &twofold.sandbox;
        sandbox.ok("archive repair");
        self.other.ok("archive repair");
        sandbox.ok("run");
        sandbox.ok("archive verify").says("0 errors");
        let manifest = fs::read_to_string(twofold.place(0).join("manifest.json")).unwrap();
        assert!(manifest.contains("\"lost\": []"), "{manifest}");
        // A joined file of a killed process never counted.
        let all = self.originals.keys();
        for name in all.filter(|name| !name.starts_with("urldb-joined")) {
            assert!(
                manifest.contains(name.as_str()),
                "{name} is forgotten: {manifest}"
            );
        }
        for places in [[0, 1], [1, 0]] {
            let fresh = Sandbox::new("");
            twofold.configure(&fresh, &places, "");
            for text in texts {
                let digest = sha256(text);
                let got = fresh.ok(&[
                    "archive",
                    "get",
                    "http://example.test/page",
                    "--sha256",
                    &digest,
                ]);
                assert_eq!(got.out, *text);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, max_shrink_iters: 40, ..ProptestConfig::default() })]

    /// While each file has a good copy anywhere, a repair makes the archive whole again: no file is lost or
    /// forgotten, each place alone has every text that a run has archived, and nothing is left to find.
    #[test]
    fn nothing_is_lost_that_any_place_has(steps in prop::collection::vec(step(), 1..14)) {
        let mut history = History::new();
        history.take(&Step::Run { machine: 0 });
        for step in &steps {
            history.take(step);
        }
        history.end();
    }
}
