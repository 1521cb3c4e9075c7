//! Any bytes are a manifest or are refused. A manifest has no name twice, no name that leaves the folder of
//! the archive, and no name that is both there and removed; it comes back from its text.
#![no_main]

use std::collections::BTreeSet;
use std::path::{Component, Path};

use libfuzzer_sys::fuzz_target;
use urldb_store::{Manifest, check_name};

fuzz_target!(|bytes: &[u8]| {
    let Ok(manifest) = Manifest::parse(bytes) else {
        return;
    };
    let text = manifest.render();
    assert_eq!(Manifest::parse(text.as_bytes()).as_ref(), Ok(&manifest));
    assert_eq!(manifest.names().count(), manifest.files().count());
    let mut names = BTreeSet::new();
    for name in manifest.names() {
        assert!(names.insert(name), "{name} is there twice");
        assert!(!manifest.was_removed(name), "{name} is removed");
        let file = manifest.get(name).expect("a file");
        assert_eq!(file.name, name);
    }
    for name in names.into_iter().chain(manifest.removed_names()) {
        assert_eq!(check_name(name), Ok(()));
        let mut parts = Path::new(name).components();
        assert!(
            parts.all(|part| matches!(part, Component::Normal(_))),
            "{name}"
        );
        assert!(name.len() <= 255 && !name.contains(|char: char| char.is_control()));
    }
});
