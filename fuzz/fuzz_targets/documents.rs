//! Any bytes are a document of each kind, and never end in an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use urldb_interchange::documents::{DocumentKind, DocumentOptions, read};

fuzz_target!(|bytes: &[u8]| {
    let kinds = [
        DocumentKind::Markdown,
        DocumentKind::Html,
        DocumentKind::Bibtex,
        DocumentKind::CslJson,
        DocumentKind::Notebook,
    ];
    for kind in kinds {
        for base in [None, Some("https://a.test/b/")] {
            let options = DocumentOptions {
                base,
                path: "docs/a.md",
                is_local: &|path| path.len() % 2 == 0,
            };
            let result = read(bytes, kind, &"a".into(), &options, &mut |event| {
                if let urldb_interchange::ReadEvent::Item(item) = event {
                    assert!(item.url().is_some());
                }
                Ok(())
            });
            result.expect("memory can be read");
        }
    }
});
