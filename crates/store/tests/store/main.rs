//! The store against a server on loopback that works, fails, loses answers, and lies.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

mod fake_s3;
mod faults;
mod folder;
mod hostile;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use fake_s3::{BUCKET, FakeS3};
use urldb_files::Root;
use urldb_store::{
    BucketLocation, Budgets, Credentials, Environment, Location, Manifest, ManifestChange, Store,
    StoreError, StoreErrorKind, StoreOptions, StoredInput,
};

const SECRET: &str = "wJalrXUtnFEMI-K7MDENG";

fn bucket_location() -> BucketLocation {
    match format!("s3://{BUCKET}/project/archive").parse() {
        Ok(Location::Bucket(location)) => location,
        other => panic!("{other:?}"),
    }
}

fn options(server: &FakeS3) -> StoreOptions {
    StoreOptions {
        location: bucket_location(),
        endpoint: Some(server.endpoint()),
        region: None,
        environment: Environment {
            credentials: Credentials::Key {
                id: "id".to_owned(),
                secret: SECRET.to_owned(),
                token: None,
            },
            endpoint: None,
            region: None,
            allow_http: false,
        },
        http: urldb_http::Options {
            authorities: None,
            proxy: None,
            timeout: Duration::from_secs(10),
            user_agent: "urldb-test".to_owned(),
        },
        budgets: Budgets::default(),
    }
}

fn store(server: &FakeS3) -> Store {
    Store::open(&options(server)).expect("set up")
}

/// Uploads files, then changes the manifest.
fn put(store: &Store, dir: &Path, names: &[&str], remove: &[&str]) -> Result<(), StoreError> {
    let mut change = ManifestChange {
        remove: remove
            .iter()
            .map(|name| ((*name).to_owned(), names.first().map(|it| (*it).to_owned())))
            .collect(),
        ..ManifestChange::default()
    };
    for name in names {
        change
            .add
            .push(store.upload(name, &Root::new(dir, "the archive").file(name))?);
    }
    match store.publish(&change)?.undeleted {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Bytes of a length that repeat nowhere near.
fn bytes(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[1]
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// A folder with files, one of which is sent in parts.
fn folder() -> (tempfile::TempDir, BTreeMap<&'static str, Vec<u8>>) {
    let dir = tempfile::tempdir().expect("a folder");
    fs::create_dir(dir.path().join("index")).expect("made");
    let files = BTreeMap::from([
        ("a.warc.gz", bytes(1000, 1)),
        ("b.warc.gz", bytes(17 << 20, 2)),
        ("empty.warc.gz", vec![]),
        ("index/c.idx", bytes(10, 3)),
    ]);
    for (name, bytes) in &files {
        fs::write(dir.path().join(name), bytes).expect("written");
    }
    (dir, files)
}

/// Checks that a store has the objects of these files, and manifests.
fn assert_listed(store: &Store, files: &BTreeMap<&'static str, Vec<u8>>) {
    let listed = store.list(files.len()).expect("listed");
    let listed = listed.objects();
    let listed = listed.filter(|(name, ..)| !name.starts_with("manifest"));
    let listed: Vec<_> = listed
        .map(|(name, length, _)| (name.to_owned(), length))
        .collect();
    let lengths = files.iter();
    let lengths = lengths.map(|(name, bytes)| ((*name).to_owned(), bytes.len() as u64));
    assert_eq!(listed, lengths.collect::<Vec<_>>());
}

#[test]
fn files_are_written_and_read_again() {
    let server = FakeS3::start();
    let (dir, files) = folder();
    let names: Vec<&str> = files.keys().copied().collect();
    assert_eq!(store(&server).manifest().expect("new").names().count(), 0);
    put(&store(&server), dir.path(), &names, &[]).expect("written");
    assert_eq!(server.unfinished_uploads(), 0);

    let stores: Arc<[Store]> = Arc::new([store(&server)]);
    let fresh = &stores[0];
    let manifest = fresh.manifest().expect("there");
    assert_eq!(manifest.names().collect::<Vec<_>>(), names);
    for (name, bytes) in &files {
        let file = manifest.get(name).expect("there");
        let mut copy = vec![];
        fresh.download(&file, &mut copy).expect("proven");
        assert!(copy == *bytes, "{name}");
        let mut input = StoredInput::new(Arc::clone(&stores), file);
        for at in [0, 5, bytes.len() / 2, bytes.len()] {
            let at = at.min(bytes.len());
            input.seek(SeekFrom::Start(at as u64)).expect("within");
            let mut rest = vec![];
            input.read_to_end(&mut rest).expect("read");
            assert!(rest == bytes[at..], "{name} from {at}");
        }
    }
    assert_listed(fresh, &files);
}

#[test]
fn a_record_costs_one_small_range() {
    let server = FakeS3::start();
    let (dir, files) = folder();
    put(&store(&server), dir.path(), &["b.warc.gz"], &[]).expect("written");
    let stores: Arc<[Store]> = Arc::new([store(&server)]);
    let file = stores[0]
        .manifest()
        .expect("there")
        .get("b.warc.gz")
        .expect("there");
    server.recover();
    let mut input = StoredInput::new(stores, file);
    input.seek(SeekFrom::Start(5_000_000)).expect("within");
    let mut record = vec![0; 4000];
    input.read_exact(&mut record).expect("read");
    assert!(record == files["b.warc.gz"][5_000_000..5_004_000]);
    assert_eq!(server.requests().len(), 1);
    // Reading on takes few requests.
    let mut rest = vec![];
    input.read_to_end(&mut rest).expect("read");
    assert!(server.requests().len() < 10, "{:?}", server.requests());
}

#[test]
fn writing_a_file_again_changes_nothing() {
    let server = FakeS3::start();
    let (dir, files) = folder();
    let names: Vec<&str> = files.keys().copied().collect();
    put(&store(&server), dir.path(), &names, &[]).expect("written");
    let manifest = server.object("project/archive/manifest.json");
    let former = server.object("project/archive/manifests/0.json");
    assert_eq!(
        Manifest::parse(&former.expect("there")),
        Ok(Manifest::default())
    );
    put(&store(&server), dir.path(), &names, &[]).expect("written again");
    assert_eq!(server.object("project/archive/manifest.json"), manifest);
    // Another file of the same name is a conflict, whatever its length.
    for other in [bytes(1000, 9), bytes(5, 9)] {
        fs::write(dir.path().join("a.warc.gz"), other).expect("written");
        let error = put(&store(&server), dir.path(), &["a.warc.gz"], &[]).expect_err("other");
        assert_eq!(error.kind(), StoreErrorKind::Conflict, "{error}");
    }
    fs::write(dir.path().join("b.warc.gz"), bytes(17 << 20, 9)).expect("written");
    let error = put(&store(&server), dir.path(), &["b.warc.gz"], &[]).expect_err("other");
    assert_eq!(error.kind(), StoreErrorKind::Conflict, "{error}");
    assert_eq!(server.object("project/archive/manifest.json"), manifest);
}

#[test]
fn no_change_of_many_writers_is_lost() {
    let server = FakeS3::start();
    let dir = tempfile::tempdir().expect("a folder");
    let names: Vec<String> = (0..8).map(|n| format!("{n}.warc.gz")).collect();
    thread::scope(|scope| {
        for name in &names {
            let (server, dir) = (&server, dir.path());
            scope.spawn(move || {
                fs::write(dir.join(name), name).expect("written");
                put(&store(server), dir, &[name], &[]).expect("written");
            });
        }
    });
    let manifest = store(&server).manifest().expect("there");
    assert_eq!(manifest.names().collect::<Vec<_>>(), names);
}

#[test]
fn of_two_that_replace_the_same_files_one_wins() {
    let server = FakeS3::start();
    let dir = tempfile::tempdir().expect("a folder");
    for name in ["a", "b", "joined", "other"] {
        fs::write(dir.path().join(name), name).expect("written");
    }
    let store = store(&server);
    put(&store, dir.path(), &["a", "b"], &[]).expect("written");
    put(&store, dir.path(), &["joined"], &["a", "b"]).expect("replaced");
    let error = put(&store, dir.path(), &["other"], &["a", "b"]).expect_err("gone");
    assert_eq!(error.kind(), StoreErrorKind::Conflict, "{error}");
    let manifest = store.manifest().expect("there");
    assert_eq!(manifest.names().collect::<Vec<_>>(), ["joined"]);
    assert!(manifest.was_removed("a") && server.object("project/archive/a").is_none());
    let other = store
        .upload("other", &Root::new(dir.path(), "the archive").file("other"))
        .expect("there");
    let joined = manifest.get("joined").expect("there");
    store
        .discard([other.name.as_str(), &joined.name])
        .expect("deleted");
    assert!(server.object("project/archive/other").is_none());
    assert!(server.object("project/archive/joined").is_some());
    // A machine that still has a copy does not bring the file back.
    let error = put(&store, dir.path(), &["a"], &[]).expect_err("removed");
    assert_eq!(error.kind(), StoreErrorKind::Conflict, "{error}");
}
