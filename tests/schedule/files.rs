//! The loop with real files: what is a change, and what is not.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use urldb::schedule::{Handlers, SystemClock, WatchEvent, WatchOptions, watch};
use urldb::stop::Stop;

/// Far more than anything takes: only a failing test waits that long.
const LONG: Duration = Duration::from_secs(30);
const DEBOUNCE: Duration = Duration::from_millis(40);

/// Sends on what it is told, and then waits for leave where there is a gate.
struct Report {
    changes: Sender<Vec<String>>,
    notices: Sender<WatchEvent>,
    gate: Option<Receiver<()>>,
}

impl Handlers for Report {
    fn files_changed(&mut self, changed: &[PathBuf]) {
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        // Nobody may be listening any more when the test is over.
        let _ = self.changes.send(changed.iter().map(name).collect());
        if let Some(gate) = &self.gate {
            let _ = gate.recv_timeout(LONG);
        }
    }

    fn scheduled(&mut self, _: usize) {
        unreachable!("there is no schedule");
    }

    fn log(&mut self, notice: &WatchEvent) {
        let _ = self.notices.send(notice.clone());
    }
}

/// A loop on a thread of its own, following a folder with `a.yaml` and `b.yaml` in it.
struct Watched {
    /// Removed at the end, with what tests put beside the folder's parent.
    _folder: tempfile::TempDir,
    directory: PathBuf,
    changes: Receiver<Vec<String>>,
    open: Sender<()>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Watched {
    fn start(gated: bool) -> Self {
        Self::scanning(LONG, gated)
    }

    /// As [`Self::start`], with a scan at this interval.
    fn scanning(rescan: Duration, gated: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("repository").join("urldb");
        fill(&directory);
        let (changes_in, changes) = channel();
        let (notices_in, notices) = channel();
        let (open, gate) = channel();
        let mut report = Report {
            changes: changes_in,
            notices: notices_in,
            gate: gated.then_some(gate),
        };
        let settings = WatchOptions {
            debounce: DEBOUNCE,
            rescan,
            ..WatchOptions::new(&directory)
        };
        let stop = Stop::new();
        let thread = std::thread::spawn({
            let stop = stop.clone();
            move || watch(&settings, &SystemClock, &mut report, &stop).unwrap()
        });
        match notices.recv_timeout(LONG).unwrap() {
            WatchEvent::Watching { files: 2, .. } => {}
            other => panic!("{other}"),
        }
        Self {
            _folder: folder,
            directory,
            changes,
            open,
            stop,
            thread: Some(thread),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The next changes that are told of.
    fn expect(&self, names: &[&str]) {
        assert_eq!(self.changes.recv_timeout(LONG).unwrap(), names);
    }

    /// The next changes, in however many portions they come.
    fn expect_all(&self, names: &[&str]) {
        let mut seen = BTreeSet::new();
        while !names.iter().all(|name| seen.contains(*name)) {
            seen.extend(self.changes.recv_timeout(LONG).unwrap());
        }
        assert_eq!(seen.len(), names.len(), "{seen:?}");
    }

    /// Nothing was told: a marker that is written now is the first that is.
    fn expect_silence(&self) {
        // Beyond the debounce time, so that what went before does not hide behind the marker.
        std::thread::sleep(DEBOUNCE * 3);
        replace(&self.path("marker.yaml"), "now");
        self.expect(&["marker.yaml"]);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.stop.set();
        let _ = self.open.send(());
        let ended = self.thread.take().unwrap().join();
        assert!(std::thread::panicking() || ended.is_ok());
    }
}

fn fill(directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join("a.yaml"), "a").unwrap();
    fs::write(directory.join("b.yaml"), "b").unwrap();
}

/// As editors save, and as we do.
fn replace(path: &Path, text: &str) {
    let temporary = path.with_file_name(".tmpAbCdEf");
    fs::write(&temporary, text).unwrap();
    fs::rename(temporary, path).unwrap();
}

#[test]
fn edits_additions_and_removals_are_told() {
    for rescan in [LONG, DEBOUNCE] {
        let watched = Watched::scanning(rescan, false);
        replace(&watched.path("a.yaml"), "other");
        watched.expect(&["a.yaml"]);
        replace(&watched.path("b.yaml"), "other");
        watched.expect(&["b.yaml"]);
        replace(&watched.path("c.yaml"), "new");
        watched.expect(&["c.yaml"]);
        fs::remove_file(watched.path("c.yaml")).unwrap();
        watched.expect(&["c.yaml"]);
    }
}

#[test]
fn a_file_written_in_place_is_told_at_last() {
    let watched = Watched::start(false);
    fs::write(watched.path("a.yaml"), "other").unwrap();
    watched.expect(&["a.yaml"]);
}

#[test]
fn a_renamed_file_is_two_changes() {
    let watched = Watched::start(false);
    fs::rename(watched.path("a.yaml"), watched.path("z.yaml")).unwrap();
    watched.expect(&["a.yaml", "z.yaml"]);
}

#[test]
fn the_same_contents_are_no_change() {
    let watched = Watched::start(false);
    replace(&watched.path("a.yaml"), "a");
    replace(&watched.path("b.yaml"), "b");
    fs::File::open(watched.path("a.yaml"))
        .unwrap()
        .set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    watched.expect_silence();
}

#[test]
fn what_is_no_domain_file_is_no_change() {
    let watched = Watched::start(false);
    for name in [
        ".a.yaml.swp",
        "a.yaml~",
        ".tmp123",
        "#a.yaml#",
        ".hidden.yaml",
        "notes.txt",
        "yaml",
    ] {
        fs::write(watched.path(name), "text").unwrap();
    }
    fs::create_dir(watched.path("folder.yaml")).unwrap();
    watched.expect_silence();
}

#[test]
fn a_folder_made_anew_is_taken_up_again() {
    let watched = Watched::start(false);
    fs::remove_dir_all(&watched.directory).unwrap();
    watched.expect_all(&["a.yaml", "b.yaml"]);
    fill(&watched.directory);
    watched.expect_all(&["a.yaml", "b.yaml"]);
    replace(&watched.path("a.yaml"), "other");
    watched.expect(&["a.yaml"]);
}

#[test]
fn a_folder_further_up_may_be_replaced() {
    let watched = Watched::start(false);
    let above = watched.directory.parent().unwrap();
    let beside = above.with_extension("beside");
    fill(&beside.join("urldb"));
    fs::rename(above, above.with_extension("before")).unwrap();
    fs::rename(&beside, above).unwrap();
    // It is followed again, and not only looked at once: two edits are seen.
    for text in ["once", "twice"] {
        replace(&watched.path("a.yaml"), text);
        while watched.changes.recv_timeout(LONG).unwrap() != ["a.yaml"] {}
    }
}

#[test]
fn a_folder_put_in_its_place_is_followed() {
    let watched = Watched::start(false);
    let beside = watched.directory.with_file_name("beside");
    fill(&beside);
    fs::write(beside.join("b.yaml"), "other").unwrap();
    fs::rename(
        &watched.directory,
        watched.directory.with_file_name("before"),
    )
    .unwrap();
    fs::rename(&beside, &watched.directory).unwrap();
    // Whether the moment without a folder is seen depends on the time it takes.
    let seen = watched.changes.recv_timeout(LONG).unwrap();
    if seen != ["b.yaml"] {
        assert_eq!(seen, ["a.yaml", "b.yaml"]);
        watched.expect(&["a.yaml", "b.yaml"]);
    }
    replace(&watched.path("a.yaml"), "other");
    watched.expect(&["a.yaml"]);
}

#[test]
fn changes_during_a_run_come_in_one_call_afterwards() {
    let watched = Watched::start(true);
    replace(&watched.path("a.yaml"), "1");
    watched.expect(&["a.yaml"]);
    replace(&watched.path("a.yaml"), "2");
    std::thread::sleep(DEBOUNCE * 3);
    replace(&watched.path("b.yaml"), "2");
    std::thread::sleep(DEBOUNCE * 3);
    replace(&watched.path("a.yaml"), "3");
    assert!(watched.changes.try_recv().is_err());
    watched.open.send(()).unwrap();
    watched.expect(&["a.yaml", "b.yaml"]);
}

/// As a volume of Kubernetes is updated: `..data` is a link, which is replaced; the files are links through it.
#[cfg(unix)]
#[test]
fn changes_of_linked_files_are_told_by_the_next_scan() {
    use std::os::unix::fs::symlink;
    let watched = Watched::scanning(DEBOUNCE * 2, false);
    let volume = |name: &str, text: &str| {
        fs::create_dir(watched.path(name)).unwrap();
        fs::write(watched.path(name).join("c.yaml"), text).unwrap();
        symlink(name, watched.path("..data_tmp")).unwrap();
        fs::rename(watched.path("..data_tmp"), watched.path("..data")).unwrap();
    };
    volume("..2026_1", "one");
    symlink("..data/c.yaml", watched.path("c.yaml")).unwrap();
    watched.expect(&["c.yaml"]);
    volume("..2026_2", "two");
    watched.expect(&["c.yaml"]);
    // The file behind the links is written in place, in a folder that has no events.
    fs::write(watched.path("..2026_2").join("c.yaml"), "three").unwrap();
    watched.expect(&["c.yaml"]);
}
