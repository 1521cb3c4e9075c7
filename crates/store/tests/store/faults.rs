//! A writer is killed, refused or cut off at every single request.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use urldb_files::Root;
use urldb_store::{ManifestChange, Store, StoreError, StoreErrorKind};

use crate::fake_s3::{FakeS3, Fault};
use crate::{bytes, options, put, store};

/// A first run, and a compaction that joins its files.
fn scenario(store: &Store, dir: &Path) -> Result<(), StoreError> {
    let manifest = store.manifest()?;
    store.tidy(&manifest, &store.list(4)?)?;
    if !manifest.was_removed("a") {
        put(store, dir, &["a", "b", "large"], &[])?;
    }
    put(store, dir, &["joined"], &["a", "b"])
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, length) in [
        ("a", 10),
        ("b", 20),
        ("large", (8 << 20) + 5),
        ("joined", 30),
    ] {
        fs::write(dir.path().join(name), bytes(length, 7)).expect("written");
    }
    dir
}

/// The objects, and which of them count.
fn outcome(server: &FakeS3, store: &Store) -> (Vec<String>, Vec<String>) {
    let objects = server.objects().into_iter().map(|(key, _)| key);
    let objects = objects.filter(|key| !key.contains("/manifest")).collect();
    let manifest = store.manifest().expect("good");
    let names = manifest
        .names()
        .map(|name| format!("project/archive/{name}"));
    (objects, names.collect())
}

fn expected() -> (Vec<String>, Vec<String>) {
    let names = ["joined", "large"].map(|name| format!("project/archive/{name}"));
    (names.to_vec(), names.to_vec())
}

/// The requests of the scenario where nothing fails.
fn requests(server: &FakeS3, store: &Store, dir: &Path) -> usize {
    scenario(store, dir).expect("good");
    let requests = server.requests().len();
    assert_eq!(outcome(server, store), expected());
    assert!(requests > 15, "{requests}");
    requests
}

/// Each request fails once, in each of these ways.
fn each_request_fails_once(fault: Fault) {
    let (server, dir) = (FakeS3::start(), folder());
    let store = store(&server);
    for broken in 0..requests(&server, &store, dir.path()) {
        server.reset();
        let is_done = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&is_done);
        server.fail(move |seen| {
            let is_it = seen.number == broken && !done.swap(true, Ordering::SeqCst);
            is_it.then_some(fault)
        });
        let first = scenario(&store, dir.path());
        if let Err(error) = &first {
            // What cannot be repeated at once, the next run makes up for.
            assert_eq!(
                error.kind(),
                StoreErrorKind::Unreachable,
                "{fault:?} at request {broken}: {error}"
            );
            scenario(&store, dir.path()).expect("the next run");
        }
        assert_eq!(
            outcome(&server, &store),
            expected(),
            "{fault:?} at request {broken}"
        );
        assert!(is_done.load(Ordering::SeqCst));
    }
}

#[test]
fn each_request_may_be_slowed_down_once() {
    each_request_fails_once(Fault::Status(503));
}

#[test]
fn each_answer_may_be_lost_once() {
    each_request_fails_once(Fault::LostAnswer);
}

#[test]
fn each_connection_may_end_before_its_request() {
    each_request_fails_once(Fault::Drop);
}

#[test]
fn each_connection_may_end_before_its_answer() {
    each_request_fails_once(Fault::DropAfter);
}

/// A deletion is repeated, so nothing is left for a later run.
#[test]
fn a_deletion_whose_connection_ends_is_repeated() {
    for fault in [Fault::Drop, Fault::DropAfter, Fault::Status(503)] {
        let (server, dir) = (FakeS3::start(), folder());
        let store = store(&server);
        put(&store, dir.path(), &["a"], &[]).expect("written");
        let mut is_done = false;
        server.fail(move |seen| {
            let is_it = seen.method == "DELETE" && !std::mem::replace(&mut is_done, true);
            is_it.then_some(fault)
        });
        let removal = ManifestChange {
            remove: [("a".to_owned(), None)].into(),
            ..ManifestChange::default()
        };
        let published = store.publish(&removal).expect("removed");
        assert!(published.undeleted.is_none(), "{fault:?}: {published:?}");
        assert_eq!(outcome(&server, &store), (vec![], vec![]), "{fault:?}");
    }
}

/// The server does what was asked when nobody waits any more, and the same was asked again.
#[test]
fn a_request_that_times_out_is_repeated() {
    let (server, dir) = (FakeS3::start(), folder());
    let mut options = options(&server);
    options.http.timeout = Duration::from_secs(2);
    let store = Store::open(&options).expect("set up");
    put(&store, dir.path(), &["b"], &[]).expect("written");
    for method in ["GET", "PUT"] {
        for target in ["a", "manifest.json"] {
            server.recover();
            let mut is_done = false;
            server.fail(move |seen| {
                let is_it = seen.method == method && seen.target.ends_with(target);
                (is_it && !std::mem::replace(&mut is_done, true)).then_some(Fault::Slow(5000))
            });
            put(&store, dir.path(), &["a"], &[]).expect("written");
            server.recover();
            put(&store, dir.path(), &["joined"], &["a"]).expect("removed");
            assert_eq!(
                store.manifest().expect("there").names().collect::<Vec<_>>(),
                ["b", "joined"]
            );
            server.reset();
            put(&store, dir.path(), &["b"], &[]).expect("written");
        }
    }
}

/// The time limit of silence begins when the body is sent, which a slow connection takes long for.
#[test]
fn a_large_object_has_time_to_be_sent() {
    let (server, dir) = (FakeS3::start(), folder());
    let mut options = options(&server);
    options.http.timeout = Duration::from_secs(1);
    let store = Store::open(&options).expect("set up");
    fs::write(dir.path().join("a"), bytes(7_000_000, 7)).expect("written");
    server.fail(|_| Some(Fault::Slow(2000)));
    store
        .upload("a", &Root::new(dir.path(), "the archive").file("a"))
        .expect("written");
    assert_eq!(server.requests().len(), 1);
}

/// To the store, a writer that is killed is one that sends no further request.
#[test]
fn a_writer_may_be_killed_at_any_request() {
    let (server, dir) = (FakeS3::start(), folder());
    let store = store(&server);
    for last in 0..requests(&server, &store, dir.path()) {
        server.reset();
        server.fail(move |seen| (seen.number > last).then_some(Fault::Status(403)));
        let killed_run = scenario(&store, dir.path());
        server.recover();
        let names = store.manifest().expect("whole");
        let names: Vec<&str> = names.names().collect();
        let is_whole = [&[][..], &["a", "b", "large"][..], &["joined", "large"][..]]
            .contains(&names.as_slice());
        assert!(is_whole, "killed at {last}: {names:?} {killed_run:?}");
        scenario(&store, dir.path()).expect("the next run");
        assert_eq!(outcome(&server, &store), expected(), "killed at {last}");
    }
}

#[test]
fn a_store_that_is_not_there_is_an_error_that_passes() {
    let server = FakeS3::start();
    server.fail(|_| Some(Fault::Status(503)));
    let error = store(&server).manifest().expect_err("slowed down");
    assert!(error.is_transient(), "{error}");
    assert!(error.to_string().contains("503 SlowDown"), "{error}");
    server.fail(|_| Some(Fault::Status(403)));
    let error = store(&server).manifest().expect_err("refused");
    assert_eq!(error.kind(), StoreErrorKind::Refused);
    assert!(error.to_string().contains("403 AccessDenied"), "{error}");
}
