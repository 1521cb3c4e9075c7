//! Entries that come in any order, with any kind of key, are saved in the order of their keys.

use urldb_canon::Scheme;
use urldb_format::write_documents;
use urldb_protocol::State;
use urldb_verdict::UrlStatus;

use super::super::*;

const ENTRIES: u32 = 16;

/// Four jobs of each path.
fn key(number: u32) -> JobKey {
    let has = |kind| (number % 4 == kind).then(|| "x".to_owned());
    JobKey {
        domain: "example.org".to_owned(),
        path: format!("/{}", number / 4),
        request: has(1),
        variant: has(2),
        alias: has(3),
        scheme: [Scheme::Http, Scheme::Https][number as usize / 8],
    }
}

fn entry(number: u32) -> Entry {
    let content = Content {
        digest: format!("sha256:{number}"),
        etag: None,
        last_modified: None,
        fits: None,
        redirects: None,
        capture: None,
        lost: None,
    };
    Entry {
        url_status: UrlStatus {
            state: State::Ok,
            since: Timestamp::UNIX_EPOCH,
            reason: None,
            pending: None,
        },
        content: (!number.is_multiple_of(3)).then_some(content),
        bad_response: None,
        added: Timestamp::UNIX_EPOCH,
        updated: Timestamp::UNIX_EPOCH,
        breaks: vec![],
        incident: number.is_multiple_of(7).then(|| number.to_string()),
        has_text_of_challenge: false,
    }
}

fn files(folder: &Root) -> [RootFile; 2] {
    [file_of, captures::file_of].map(|of| of(folder, "example.org"))
}

/// Sets the entries, reads them, changes and removes some, and marks some as planned. Returns the files.
fn work(numbers: impl Iterator<Item = u32> + Clone) -> [String; 2] {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path(), "the ledger");
    let mut first = Ledger::new(&root);
    for number in numbers.clone() {
        first.open("example.org").unwrap();
        first.set(&key(number), entry(number), Timestamp::UNIX_EPOCH);
        if number.is_multiple_of(5) {
            first.close("example.org");
        }
    }
    first.close("example.org");
    assert_eq!(first.keys().count(), 0);
    first.save().unwrap();
    let mut again = Ledger::load(&root, ["example.org"]).unwrap();
    for number in numbers.clone().filter(|it| ![5, 9].contains(it)) {
        again.set_planned(&key(number));
    }
    assert_eq!(again.unplanned("example.org").unwrap(), [key(5), key(9)]);
    for number in numbers {
        let key = key(number);
        let known = again.get(&key).unwrap();
        assert_eq!(known, entry(number));
        match number % 10 {
            1 => again.forget(&key),
            2 => {
                let incident = Some("new".to_owned());
                again.set(&key, Entry { incident, ..known }, Timestamp::UNIX_EPOCH);
            }
            _ => {}
        }
    }
    again.close("example.org");
    again.save().unwrap();
    files(&root).map(|file| std::fs::read_to_string(file.path()).unwrap())
}

#[test]
fn entries_in_any_order_are_saved_in_theirs() {
    let mut keys: Vec<JobKey> = (0..ENTRIES).map(key).collect();
    keys.sort();
    keys.retain(|it| *it != key(1) && *it != key(11));
    let saved = work(0..ENTRIES);
    let documents = documents::documents_in(saved[0].as_bytes()).skip(1);
    let read = documents.map(|it| documents::status("example.org", &it.unwrap()).unwrap().0);
    assert_eq!(read.collect::<Vec<_>>(), keys);
    assert_eq!(saved[1].matches("digest: ").count(), 8);
    assert_eq!(work((0..ENTRIES).map(|it| it * 7 % ENTRIES)), saved);
}

#[test]
fn files_that_are_not_in_order_are_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path(), "the ledger");
    let status = |number| write_documents([&entry(number).to_mapping(&key(number))]);
    let content = |number| {
        let content = entry(number).content.unwrap();
        write_documents([&content.to_mapping(&key(number)).unwrap()])
    };
    let text = |of: &dyn Fn(u32) -> String, order: &[u32]| {
        let documents: String = order.iter().map(|number| of(*number)).collect();
        format!("---\n{documents}")
    };
    let numbers = [5, 2, 4, 1];
    let [statuses, captures] = files(&root);
    for order in [[1, 2, 4, 5], [5, 4, 2, 1], numbers] {
        let written = statuses.replace(text(&status, &numbers).as_bytes());
        written.unwrap();
        captures.replace(text(&content, &order).as_bytes()).unwrap();
        let ledger = Ledger::load(&root, ["example.org"]).unwrap();
        for number in numbers {
            let known = ledger.get(&key(number)).unwrap().content;
            assert_eq!(known, entry(number).content, "{order:?} {number}");
        }
    }
}
