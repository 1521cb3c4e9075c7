//! The vectors, and what is said of a catalogue that is not as it should be.

use std::collections::BTreeMap;
use std::io::Cursor;

use urldb_interchange::ssd3::{CatalogueRecord, Reader, WriteError};

use crate::{parse, vectors, write};

fn as_json(record: &CatalogueRecord) -> BTreeMap<&str, &str> {
    record.fields().collect()
}

#[test]
fn every_vector_holds() {
    let vectors = vectors();
    assert!(vectors.len() > 50);
    for vector in &vectors {
        let (records, told, fatal) = parse(vector["input"].as_str().unwrap().as_bytes());
        let expect = &vector["expect"];
        let records: Vec<_> = records.iter().map(as_json).collect();
        assert_eq!(
            serde_json::to_value(&records).unwrap(),
            expect["records"],
            "{vector:#}"
        );
        assert_eq!(
            serde_json::to_value(&told).unwrap(),
            expect["diagnostics"],
            "{vector:#}"
        );
        assert_eq!(
            fatal,
            expect["fatal"].as_bool().unwrap_or(false),
            "{vector:#}"
        );
    }
}

#[test]
fn the_lines_of_what_is_discarded_are_told() {
    let text = "URI: http://a.test/\r\nNAME: a\r\nFOO: x\r\nDATE: 31/10/2007 19:03:34\r\n\r\n\r\nNAME: b\r\n";
    let mut told = Vec::new();
    let mut reader = Reader::new(Cursor::new(text)).unwrap();
    while reader
        .next_record(&mut |diagnostic| told.push(diagnostic))
        .unwrap()
        .is_some()
    {}
    let told: Vec<_> = told
        .iter()
        .map(|it| {
            (
                it.line,
                it.fault.to_string(),
                it.fault.section(),
                it.message.as_str(),
            )
        })
        .collect();
    let code = str::to_owned;
    assert_eq!(
        told,
        [
            (
                3,
                code("unrecognised-field"),
                "2.2",
                "the field is discarded: there is no field FOO; extensions begin with X-"
            ),
            (
                1,
                code("recommended-missing:DESCRIPTION"),
                "3.5",
                "a description is recommended"
            ),
            (
                7,
                code("record-discarded"),
                "2.2",
                "the record is discarded: it has no good URI"
            ),
        ]
    );
}

#[test]
fn an_id_is_a_number_of_any_size_and_only_the_first_keeps_it() {
    let record = |id: &str| {
        format!(
            "URI: http://a.test/\r\nNAME: {id}\r\nDATE: 31/10/2007 19:03:34\r\nDESCRIPTION: d\r\nID: {id}\r\n\r\n"
        )
    };
    let long = "9".repeat(500);
    let (records, told, _) = parse(
        [record("7"), record("007"), record(&long), record(&long)]
            .concat()
            .as_bytes(),
    );
    let ids: Vec<_> = records.iter().map(|record| record.get("ID")).collect();
    assert_eq!(ids, [Some("7"), None, Some(long.as_str()), None]);
    assert_eq!(told, ["duplicate-id", "duplicate-id"]);
}

#[test]
fn an_endless_line_is_discarded_without_being_held() {
    let long = "x".repeat(3 << 20);
    let text = format!(
        "URI: http://a.test/\r\nNAME: a\r\nCATEGORY: {long}\r\nDATE: 31/10/2007 19:03:34\r\nDESCRIPTION: d\r\n"
    );
    let (records, told, _) = parse(text.as_bytes());
    assert_eq!(
        (records.len(), told),
        (1, vec!["invalid-field:too-long".to_owned()])
    );
}

#[test]
fn values_are_checked_as_their_sections_say() {
    let mut record = CatalogueRecord::default();
    let mut good = |name, value| {
        let good = record.push(name, value).is_ok();
        record.remove(name);
        good
    };
    for uri in [
        "urn:isbn:1",
        "mailto:a@b.test",
        "http://[::1]:80/?a#b",
        "http://u:p@a.test/",
        "http:",
        "ftp://a/",
    ] {
        assert!(good("URI", uri), "{uri}");
    }
    for uri in [
        "//a.test/",
        "1http://a",
        "http://a b/",
        "http://a/#a#b",
        "http://[::1/",
        "http://a/%2",
        "http://a:b/",
        "a",
    ] {
        assert!(!good("URI", uri), "{uri}");
    }
    for language in ["de", "i-klingon", "EN-gb", "sgn-DE"] {
        assert!(good("LANGUAGE", language), "{language}");
    }
    for language in ["x", "german", "de--AT", "de-123456789", "-", "1e"] {
        assert!(!good("LANGUAGE", language), "{language}");
    }
    for kind in [
        "text/html; charset=utf-8",
        "a/b;c=\"d e\"",
        "application/vnd.si+xml",
    ] {
        assert!(good("TYPE", kind), "{kind}");
    }
    for kind in [
        "text/html;",
        "text html",
        "/",
        "a/b/c",
        "text/html; charset",
    ] {
        assert!(!good("TYPE", kind), "{kind}");
    }
    assert!(good("DATE", "01/01/0000 00:00:00") && !good("DATE", "31/04/2007 00:00:00"));
    assert!(!good("DATE", "+1/01/2000 00:00:00") && !good("DATE", "01-01-2000 00:00:00"));
}

#[test]
fn the_writer_refuses_what_a_reader_would_discard() {
    let mut record = CatalogueRecord::default();
    record.push("URI", "http://a.test/").unwrap();
    assert!(matches!(
        write([record.clone()]),
        Err(WriteError::Missing { field: "NAME" })
    ));
    record.push("NAME", "a").unwrap();
    record.push("DATE", "31/10/2007 19:03:34").unwrap();
    record.push("ID", "1").unwrap();
    assert!(matches!(
        write([record.clone(), record.clone()]),
        Err(WriteError::DuplicateId { .. })
    ));
    assert!(record.push("CATEGORY", "a\r\nb").is_err() && record.push("CATEGORY", "").is_err());
}
