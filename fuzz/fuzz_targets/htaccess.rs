//! Any bytes are the rules of a folder and of one below it, or an error; a target is a URL.
#![no_main]

use libfuzzer_sys::fuzz_target;
use urldb_interchange::ReadEvent;
use urldb_interchange::htaccess::HtaccessTree;

fuzz_target!(|bytes: &[u8]| {
    let middle = bytes.len() / 2;
    let mut tree = HtaccessTree::default();
    for (folder, part) in [("", &bytes[..middle]), ("a b/", &bytes[middle..])] {
        if tree.add(part, folder, &format!("{folder}.htaccess").into()).is_err() {
            return;
        }
    }
    let read = tree.read("http://a.test/x/", &mut |event| {
        if let ReadEvent::Item(item) = event {
            let target = item.record.redirects_to.as_deref();
            assert!(target.is_none_or(|it| it.to_ascii_lowercase().starts_with("http")));
            assert!(item.url().is_some() && item.spans.is_empty());
        }
        Ok(())
    });
    read.expect("no sink fails");
});
