//! Registries that are one long list in JSON: lines, codes and bounds.

use std::io::{self, BufReader, Read};

use proptest::prelude::*;
use urldb_interchange::{
    NoticeSeverity, ReadError, ReadEvent, Sink, brew_json, nix_sources, schemastore,
};

use crate::common::{Taken, digest};

type Reader = fn(&[u8], &mut Sink<'_>) -> Result<(), ReadError>;

const NIX: Reader = |bytes, sink| nix_sources::read(bytes, &"s.json".into(), sink);
const BREW: Reader = |bytes, sink| brew_json::read(bytes, &"f.json".into(), sink);
const SCHEMAS: Reader = |bytes, sink| schemastore::read(bytes, &"c.json".into(), sink);

fn taken(read: Reader, text: &str) -> Taken {
    Taken::of(|sink| read(text.as_bytes(), sink))
}

fn lines(taken: &Taken) -> Vec<usize> {
    let items = taken.items.iter();
    items.map(|item| item.location.line_number()).collect()
}

#[test]
fn each_source_of_nix_has_its_line() {
    let sri = "sha256-WJG1tSLV3whtD/CxEPvZ0hu0/HFjrzTQgoai6Eb2vgM=";
    let text = format!(
        "{{\n\"sources\": [\n{{\"integrity\": \"{sri}\",\n\"urls\": [\"https://a.test/x\",\n\n\"https://b.test/x\"], \"type\": \"url\"}},\n\
         {{\"type\": \"git\"}},\n{{\"urls\": [\"mirror://x/y\"]}},\n{{\"urls\": [\"https://a.test/t\"], \"outputHashMode\": \"recursive\"}},\n\
         {{}}, {{\"urls\": [\"https://c.test/\"],\n\"integrity\": \"{}\"}}\n],\n\"version\": 1}}\n",
        digest('e')
    );
    let taken = taken(NIX, &text);
    assert_eq!(
        taken.urls(),
        ["https://a.test/x", "https://b.test/x", "https://c.test/"]
    );
    assert_eq!(lines(&taken), [4, 6, 10]);
    let sha256 = |index: usize| taken.items[index].record.content_sha256.clone().unwrap();
    assert_eq!(
        sha256(1),
        "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
    );
    assert_eq!(sha256(2), digest('e'));
    // Values of a file that a program writes have no places, since `accept` must not edit them.
    assert!(taken.items.iter().all(|item| item.spans.is_empty()));
    assert_eq!(
        taken.codes(NoticeSeverity::LeftOut),
        ["s.json:7 git", "s.json:8 mirror", "s.json:9 recursive"]
    );
    assert_eq!(taken.refused(), ["s.json:10 no-url"]);
}

#[test]
fn one_formula_is_a_file_too() {
    let formula = format!(
        "{{\"urls\": {{\n\"stable\": {{\n\"url\": \"https://a.test/x\", \"checksum\": \"{}\"}},\n\"head\": {{}}}},\n\
         \"bottle\": {{\"stable\": {{\"files\": {{\"a\": {{}}, \"b\": {{}}}}}}}}}}",
        digest('a')
    );
    for text in [formula.clone(), format!("[{formula}]")] {
        let taken = taken(BREW, &text);
        assert_eq!(lines(&taken), [3]);
        assert_eq!(taken.items[0].record.content_sha256, Some(digest('a')));
        let counts: Vec<_> = taken
            .notices
            .iter()
            .map(|it| (&*it.code, it.count))
            .collect();
        assert_eq!(counts, [("head", 1), ("bottle", 2)]);
    }
}

#[test]
fn schemas_promise_to_answer() {
    let text = "{\"schemas\": [\n{\"url\": \"https://a.test/x.json\",\n\"versions\": {\"1\":\n\"https://a.test/1.json\"}},\n{}]}";
    let taken = taken(SCHEMAS, text);
    assert_eq!(lines(&taken), [2, 4]);
    assert!(taken.items.iter().all(|item| !item.record.is_static()));
    assert_eq!(taken.refused(), ["c.json:5 no-url"]);
}

#[test]
fn a_document_of_another_form_is_an_error_with_its_line() {
    let nix = "s.json:1: the file is not an object with the list `sources`";
    for (read, text, message) in [
        (NIX, "{\"version\": 1}\n", nix),
        (NIX, "[]", nix),
        (NIX, "{\"sources\": 7}", "s.json:1: "),
        (SCHEMAS, "\n7", "c.json:"),
        (BREW, "\n\n[{},\n{]", "f.json:4: key must be a string"),
        (BREW, "[] []", "f.json:1: trailing characters"),
        (BREW, "", "f.json:1: EOF while parsing"),
        (BREW, "\"x\"", "f.json:1: "),
    ] {
        let (_, result) = Taken::with_result(|sink| read(text.as_bytes(), sink));
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with(message), "{text}: {error}");
    }
    let nested = "[".repeat(100_000);
    let (_, result) = Taken::with_result(|sink| BREW(nested.as_bytes(), sink));
    assert!(result.is_err());
}

#[test]
fn an_error_of_the_sink_is_the_error_of_the_reader() {
    let text = "{\"schemas\": [{\"url\": \"https://a.test/\"}]}";
    let result = SCHEMAS(text.as_bytes(), &mut |_| Err("full".into()));
    assert!(matches!(&result, Err(ReadError::Sink(_))), "{result:?}");
    assert_eq!(result.unwrap_err().to_string(), "full");
}

#[test]
fn a_list_may_be_long_but_not_endless() {
    let entry = format!(
        "{{\"url\": \"https://a.test/\", \"x\": \"{}\"}},",
        "y".repeat(200_000)
    );
    let text = format!(
        "{{\"schemas\": [{}{{\"url\": \"https://a.test/\"}}]}}",
        entry.repeat(20)
    );
    assert_eq!(taken(SCHEMAS, &text).items.len(), 21);
    let endless = io::Cursor::new("[").chain(io::repeat(b' '));
    let result = brew_json::read(BufReader::new(endless), &"f.json".into(), &mut |_| Ok(()));
    let error = result.unwrap_err().to_string();
    assert!(error.contains("which is the limit"), "{error}");
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_of_entries_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"schemas\"", "\"sources\"", "\"urls\"", "\"url\"", "\"versions\"", "\"integrity\"", "\"stable\"",
            "\"https://a.test/\"", "\"sha256-WJG1tSLV3whtD/CxEPvZ0hu0/HFjrzTQgoai6Eb2vgM=\"", "null", "true", "-1e9", "\"\\u00e9\"", "\"\\ud800\"", "\n", "\u{feff}", "\0",
        ]), 0..40),
        is_framed: bool,
    ) {
        let mut text = words.concat();
        if is_framed {
            text = format!("{{\"schemas\": [{{\"url\": {text}}}], \"sources\": [{{\"urls\": [{text}]}}]}}");
        }
        for read in [NIX, BREW, SCHEMAS] {
            let _ = read(text.as_bytes(), &mut |event| {
                let location = match &event {
                    ReadEvent::Item(item) => &item.location,
                    ReadEvent::Notice(notice) => &notice.location,
                };
                assert!(location.line_number() <= 1 + text.matches('\n').count(), "{text:?}");
                Ok(())
            });
        }
    }
}
