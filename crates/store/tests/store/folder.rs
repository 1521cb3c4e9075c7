//! The store in a folder, as on a backup disk.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::thread;

use urldb_files::Root;
use urldb_store::{Location, Manifest, Store, StoreErrorKind, StoredInput};

use crate::{assert_listed, bytes, folder, put};

#[test]
fn a_folder_has_what_a_bucket_has() {
    let place = tempfile::tempdir().expect("a folder");
    let (dir, files) = folder();
    let names: Vec<&str> = files.keys().copied().collect();
    let stores: Arc<[Store]> = Arc::new([Store::in_folder(place.path())]);
    let store = &stores[0];
    assert_eq!(*store.location(), Location::Folder(place.path().to_owned()));
    assert_eq!(store.manifest().expect("new").names().count(), 0);
    // Twice: writing again changes nothing.
    for _ in 0..2 {
        put(store, dir.path(), &names, &[]).expect("written");
        assert_eq!(store.manifest().expect("there").serial(), 1);
    }
    let manifest = store.manifest().expect("there");
    for (name, bytes) in &files {
        assert!(fs::read(place.path().join(name)).expect("there") == *bytes);
        let file = manifest.get(name).expect("there");
        let mut copy = vec![];
        store.download(&file, &mut copy).expect("proven");
        assert!(copy == *bytes, "{name}");
        let mut copy = vec![];
        let mut input = StoredInput::new(Arc::clone(&stores), file);
        std::io::copy(&mut input, &mut copy).expect("read");
        assert!(copy == *bytes, "{name}");
    }
    assert_listed(store, &files);
    // Another file of the same name is a conflict.
    for name in ["a.warc.gz", "b.warc.gz"] {
        fs::write(dir.path().join(name), bytes(files[name].len(), 9)).expect("written");
        let error = put(store, dir.path(), &[name], &[]).expect_err("other");
        assert_eq!(error.kind(), StoreErrorKind::Conflict, "{error}");
    }
}

#[test]
fn damage_and_loss_are_errors_that_name_the_file() {
    let place = tempfile::tempdir().expect("a folder");
    let (dir, _) = folder();
    let store = Store::in_folder(place.path());
    put(&store, dir.path(), &["a.warc.gz"], &[]).expect("written");
    let file = store.manifest().expect("there").get("a.warc.gz");
    let file = file.expect("there");
    let object = place.path().join("a.warc.gz");
    let download = || store.download(&file, &mut Vec::new()).expect_err("bad");
    for bad in [bytes(1000, 2), bytes(999, 1), vec![]] {
        fs::write(&object, bad).expect("written");
        let error = download();
        assert_eq!(error.kind(), StoreErrorKind::Damaged, "{error}");
        assert!(
            error.to_string().contains("a.warc.gz in file://"),
            "{error}"
        );
    }
    fs::remove_file(&object).expect("removed");
    assert_eq!(download().kind(), StoreErrorKind::Missing);
    fs::write(place.path().join("manifest.json"), "{").expect("written");
    let error = store.manifest().expect_err("damaged");
    assert_eq!(error.kind(), StoreErrorKind::Damaged, "{error}");
}

/// A disk that is not mounted is no new place.
#[test]
fn a_folder_that_is_not_there_is_not_made() {
    let place = tempfile::tempdir().expect("a folder");
    let (dir, _) = folder();
    let missing = place.path().join("urldb");
    let store = Store::in_folder(&missing);
    for error in [
        store.manifest().expect_err("missing"),
        store.list(0).expect_err("missing"),
        put(&store, dir.path(), &["a.warc.gz"], &[]).expect_err("missing"),
    ] {
        assert!(error.is_transient(), "{error}");
        assert!(error.to_string().contains("/urldb is not there"), "{error}");
    }
    assert!(!missing.exists());
}

#[test]
fn no_link_leads_out_of_the_folder() {
    let place = tempfile::tempdir().expect("a folder");
    let outside = tempfile::tempdir().expect("a folder");
    let (dir, _) = folder();
    let store = Store::in_folder(place.path());
    put(&store, dir.path(), &["a.warc.gz"], &[]).expect("written");
    let secret = outside.path().join("secret");
    fs::write(&secret, bytes(1000, 1)).expect("written");
    let object = place.path().join("a.warc.gz");
    fs::remove_file(&object).expect("removed");
    symlink(&secret, &object).expect("linked");
    symlink(outside.path(), place.path().join("index")).expect("linked");
    let file = store.manifest().expect("there").get("a.warc.gz");
    // The bytes would be the right ones.
    let error = store
        .download(&file.expect("there"), &mut Vec::new())
        .expect_err("outside");
    assert_eq!(error.kind(), StoreErrorKind::Refused, "{error}");
    put(&store, dir.path(), &["index/c.idx"], &[]).expect_err("outside");
    assert_eq!(fs::read_dir(outside.path()).expect("there").count(), 1);
    let listed = store.list(0).expect("listed");
    assert!(
        listed
            .names()
            .all(|name| !name.contains("secret") && name != "a.warc.gz"),
        "{listed:?}"
    );
}

/// Each change is there, has a serial of its own, and the manifests before it are kept.
#[test]
fn no_change_of_many_writers_to_a_folder_is_lost() {
    let place = tempfile::tempdir().expect("a folder");
    let dir = tempfile::tempdir().expect("a folder");
    let names: Vec<Vec<String>> = (0..6)
        .map(|writer| (0..4).map(|n| format!("{writer}-{n}.warc.gz")).collect())
        .collect();
    thread::scope(|scope| {
        for names in &names {
            let (place, dir) = (place.path(), dir.path());
            scope.spawn(move || {
                let store = Store::in_folder(place);
                for name in names {
                    fs::write(dir.join(name), name).expect("written");
                    put(&store, dir, &[name], &[]).expect("written");
                }
            });
        }
    });
    let store = Store::in_folder(place.path());
    let manifest = store.manifest().expect("there");
    assert_eq!(manifest.names().collect::<Vec<_>>(), names.concat());
    assert_eq!(manifest.serial(), 24);
    let former = |serial: u64| {
        let text = fs::read(place.path().join(format!("manifests/{serial}.json")));
        Manifest::parse(&text.expect("there")).expect("whole")
    };
    for serial in 0..24 {
        let manifest = former(serial);
        assert_eq!(manifest.serial(), serial);
        assert_eq!(manifest.names().count() as u64, serial);
    }
    store
        .tidy(&manifest, &store.list(0).expect("listed"))
        .expect("tidied");
    let kept = fs::read_dir(place.path().join("manifests")).expect("there");
    assert_eq!(kept.count(), 8);
    assert_eq!(former(23).serial(), 23);
    assert_eq!(former(16).serial(), 16);
    let list = store.list(0).expect("listed");
    assert_eq!(list.names().count(), 24 + 8 + 1);
}

/// A killed process left a copy of a removed file, and one of a file whose successor is not there.
#[test]
fn leftovers_go_where_their_successors_are() {
    let place = tempfile::tempdir().expect("a folder");
    let dir = tempfile::tempdir().expect("a folder");
    let store = Store::in_folder(place.path());
    for name in ["a", "b", "c", "joined"] {
        fs::write(dir.path().join(name), name).expect("written");
    }
    put(&store, dir.path(), &["a", "b", "c"], &[]).expect("written");
    put(&store, dir.path(), &["joined"], &["a", "b"]).expect("joined");
    let at = |name: &str| place.path().join(name);
    let tidy = || {
        let manifest = store.manifest().expect("there");
        let objects = store.list(0).expect("listed");
        store.tidy(&manifest, &objects).expect("tidied");
    };
    fs::write(at("a"), "a").expect("written");
    fs::write(at("other"), "nobody's").expect("written");
    fs::rename(at("joined"), at("elsewhere")).expect("moved");
    tidy();
    assert!(at("a").is_file(), "its records are nowhere else");
    fs::rename(at("elsewhere"), at("joined")).expect("moved");
    tidy();
    assert!(!at("a").exists());
    for name in ["c", "joined", "other"] {
        assert!(at(name).is_file(), "{name}");
    }
    let file = Root::new(dir.path(), "the archive").file("a");
    store.upload("a", &file).expect("written");
    store.discard(["a", "c"]).expect("deleted");
    assert!(!at("a").exists() && at("c").is_file());
}

/// A copy of the manifest is replaced by a later one only.
#[test]
fn a_copy_of_the_manifest_is_never_older_than_before() {
    let place = tempfile::tempdir().expect("a folder");
    let copies = tempfile::tempdir().expect("a folder");
    let (dir, _) = folder();
    let (store, copy) = (
        Store::in_folder(place.path()),
        Store::in_folder(copies.path()),
    );
    put(&store, dir.path(), &["a.warc.gz"], &[]).expect("written");
    let first = store.manifest().expect("there");
    put(&store, dir.path(), &["empty.warc.gz"], &[]).expect("written");
    let second = store.manifest().expect("there");
    for (given, expected) in [(&first, &first), (&second, &second), (&first, &second)] {
        copy.copy_manifest(given).expect("written");
        assert_eq!(copy.manifest().expect("there"), *expected);
    }
}

#[test]
fn ranges_come_from_the_first_place_that_has_them() {
    let places = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (dir, files) = folder();
    let stores: Arc<[Store]> = places
        .iter()
        .map(|it| Store::in_folder(it.path()))
        .collect();
    for store in &*stores {
        put(store, dir.path(), &["b.warc.gz"], &[]).expect("written");
    }
    let file = stores[0].manifest().expect("there").get("b.warc.gz");
    let file = file.expect("there");
    let object = |place: usize| places[place].path().join("b.warc.gz");
    fs::write(object(0), "shorter").expect("written");
    let mut copy = vec![];
    let mut input = StoredInput::new(Arc::clone(&stores), file.clone());
    std::io::copy(&mut input, &mut copy).expect("read");
    assert!(copy == files["b.warc.gz"]);
    fs::remove_file(object(1)).expect("removed");
    let mut input = StoredInput::new(stores, file);
    let error = std::io::copy(&mut input, &mut copy).expect_err("nowhere");
    assert!(error.to_string().contains("it has 7 bytes"), "{error}");
}
