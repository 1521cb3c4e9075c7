//! Properties that hold for any input: hostile bytes, arbitrary data, arbitrary edits.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use proptest::prelude::*;
use urldb_format::{
    DomainFile, Error, Mapping, Record, RecordEntry, RecordIdentity, Schema, Value, lint,
    read_documents, write_documents,
};

/// Text with what is special in YAML, and what is not.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just(" "),
        Just("  "),
        Just("\n"),
        Just("\n\n"),
        Just("\t"),
        Just(":"),
        Just(": "),
        Just(" #"),
        Just("'"),
        Just("\""),
        Just("\\"),
        Just("- "),
        Just("? "),
        Just("---"),
        Just("..."),
        Just("&a"),
        Just("*a"),
        Just("!t"),
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just("|"),
        Just(">"),
        Just("%"),
        Just("yes"),
        Just("null"),
        Just("0x1f"),
        Just("1.10"),
        Just("12:30"),
        Just("2020-01-01"),
        Just("<<"),
        Just("="),
        Just("~"),
        Just("é"),
        Just("\u{1F600}"),
        Just("\u{85}"),
        Just("\u{2028}"),
        Just("\u{FEFF}"),
        Just("\r"),
        Just("\0"),
        Just("word"),
        Just("a long stretch of words & more * and ! to fold"),
        Just("=======")
    ];
    prop_oneof![
        prop::collection::vec(word, 0..12).prop_map(|words| words.concat()),
        any::<String>(),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    text()
        .prop_map(Value::Text)
        .prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
                prop::collection::btree_map(text(), inner, 0..4)
                    .prop_map(|map| Value::Map(map.into_iter().collect())),
            ]
        })
}

fn mapping() -> impl Strategy<Value = Mapping> {
    prop::collection::btree_map(text(), value(), 0..4).prop_map(|map| map.into_iter().collect())
}

fn path() -> impl Strategy<Value = String> {
    "/[a-z]{0,2}"
}

/// The source text of a value in any style, with line breaks where a comment may stand, or where
/// ` #` is text.
fn own_value() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("5"),
        Just("'5'"),
        Just("\"5\""),
        Just("yes"),
        Just("null"),
        Just("'a # b'"),
        Just("\"a \\\" # b\""),
        Just("'it''s # b'"),
        Just("2020-01-01 1:02:03"),
        Just("a'b"),
        Just("'x: y'"),
        Just("\"# x: y\""),
    ];
    let scalars = prop::collection::vec(scalar, 1..4);
    (scalars, 0..5usize).prop_map(|(scalars, style)| match style {
        0 => format!("{}\n", scalars[0]),
        1 => format!(
            "\n{}",
            scalars
                .iter()
                .flat_map(|text| ["- ", text, "\n"])
                .collect::<String>()
        ),
        2 => format!("[{}]\n", scalars.join(",\n  ")),
        3 => {
            let pairs = scalars.iter().enumerate();
            let pairs: Vec<_> = pairs
                .map(|(number, text)| format!("  k{number}: {text}\n"))
                .collect();
            format!("\n{}", pairs.concat())
        }
        _ => "|\n".to_owned(),
    })
}

fn record() -> impl Strategy<Value = Record> {
    (
        path(),
        prop::option::of(any::<u64>()),
        prop::option::of(text()),
        prop::collection::vec("[a-z]{1,3}", 0..3),
    )
        .prop_map(|(path, content_length, description, categories)| Record {
            content_length,
            description,
            categories,
            ..Record::new(path)
        })
}

const SAMPLE: &str = "# header\n---\ncnames:\n- www.example.com\nhttps: true\n# above /\n---\n_path: /\ncategories:\n- a\n- b\n---\n# inside\n_path: /a?b=c\ncontent-length: 12\ncontent-sha256: 0123\ncontent-type: 'text/html: x'\ndescription: |\n  two\n\n  lines # not a comment\nname: \"caf\\xE9\" # trailing\nrequest-headers: {a: b, c: [d]}\n# footer\n";

/// The sample with a few characters replaced, removed or added.
fn mutated() -> impl Strategy<Value = String> {
    let edit = (
        any::<prop::sample::Index>(),
        prop::option::of(text()),
        0..6usize,
    );
    prop::collection::vec(edit, 1..5).prop_map(|edits| {
        let mut chars: Vec<char> = SAMPLE.chars().collect();
        for (index, new, removed) in edits {
            let at = index.index(chars.len().max(1)).min(chars.len());
            let end = (at + removed).min(chars.len());
            chars.splice(at..end, new.unwrap_or_default().chars());
        }
        chars.into_iter().collect()
    })
}

/// What must hold for any file: positions lie in it, nothing is lost, formatting is stable.
fn check_file(bytes: &[u8]) -> Result<(), TestCaseError> {
    let parsed = DomainFile::parse("example.com.yaml", bytes);
    let lines = String::from_utf8_lossy(bytes).lines().count().max(1);
    for finding in lint(&parsed, &[]) {
        prop_assert!(
            (1..=lines + 1).contains(&finding.line) && finding.column > 0,
            "{finding}"
        );
    }
    prop_assert_eq!(parsed.file.text(), String::from_utf8_lossy(bytes));
    match parsed.file.canonical() {
        Ok(canonical) => {
            let again = DomainFile::parse("example.com.yaml", canonical.as_bytes());
            prop_assert_eq!(&again.findings, &[]);
            prop_assert_eq!(again.file.canonical().unwrap(), canonical.clone());
            let form = lint(&again, &[])
                .into_iter()
                .filter(|finding| finding.code.as_str().starts_with("unsorted"));
            prop_assert_eq!(form.count(), 0);
            let form = lint(&again, &[])
                .into_iter()
                .find(|finding| finding.code.as_str() == "not-canonical");
            prop_assert_eq!(form, None);
            prop_assert_eq!(
                again.file.metadata().to_mapping(),
                parsed.file.metadata().to_mapping()
            );
            let mut before: Vec<Mapping> = parsed
                .file
                .records()
                .map(|entry| entry.record().to_mapping())
                .collect();
            let mut after: Vec<Mapping> = again
                .file
                .records()
                .map(|entry| entry.record().to_mapping())
                .collect();
            for mappings in [&mut before, &mut after] {
                mappings.sort_by_cached_key(|mapping| write_documents([mapping]));
                mappings.dedup();
            }
            prop_assert_eq!(write_documents(&before), write_documents(&after));
        }
        Err(Error::NotNormalizable { findings, .. }) => prop_assert!(!findings.is_empty()),
        Err(error) => prop_assert!(false, "{}", error),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check_file(&bytes)?;
    }

    #[test]
    fn any_text_is_read(text in text()) {
        check_file(format!("---\n---\n_path: /\n{text}").as_bytes())?;
        check_file(text.as_bytes())?;
    }

    #[test]
    fn any_mutation_of_a_file_is_read(text in mutated()) {
        check_file(text.as_bytes())?;
        check_file(text.replace('\n', "\r\n").as_bytes())?;
    }

    #[test]
    fn comments_and_quotes_survive(values in prop::collection::vec((own_value(), any::<bool>()), 1..5)) {
        let mut text = "---\n---\n_path: /\n".to_owned();
        for (number, (value, comment)) in values.iter().enumerate() {
            let end = if *comment { format!(" #c{number}\n") } else { "\n".to_owned() };
            text.push_str(&["k", &number.to_string(), ": ", &value.replace('\n', &end)].concat());
        }
        let file = DomainFile::parse("example.com.yaml", text.as_bytes()).file;
        if let Ok(canonical) = file.canonical() {
            for (number, (value, comment)) in values.iter().enumerate() {
                let count = if *comment { value.matches('\n').count() } else { 0 };
                prop_assert_eq!(canonical.matches(&format!("#c{number}")).count(), count, "{}{}", text, canonical);
            }
            prop_assert_eq!(canonical.matches("'5'").count(), text.matches("'5'").count() + text.matches("\"5\"").count());
        }
    }

    #[test]
    fn what_is_written_is_read_again(documents in prop::collection::vec(mapping(), 1..4)) {
        let text = write_documents(&documents);
        let (read, findings) = read_documents(&text, &Schema::TEXT);
        prop_assert_eq!(findings, []);
        prop_assert_eq!(read.len(), documents.len());
        for (read, written) in read.iter().zip(&documents) {
            // Nested mappings come back sorted, as they were written.
            prop_assert_eq!(write_documents([&read.mapping]), write_documents([written]));
            prop_assert_eq!(&read.mapping.sorted(), &written.sorted());
            prop_assert!(read.intact && read.key_lines.is_sorted());
        }
        prop_assert_eq!(write_documents(read.iter().map(|document| &document.mapping)), text);
    }

    #[test]
    fn many_keys_at_once_are_those_keys(
        known in prop::collection::vec(("[a-d]{1,2}", "[x-z]"), 0..6),
        more in prop::collection::vec(("[a-d]{1,2}", "[x-z]"), 0..6),
    ) {
        let pairs = |pairs: &[(String, String)]| {
            pairs.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect::<Vec<_>>()
        };
        let (mut one_by_one, mut at_once) = (Mapping::new(), Mapping::new());
        for (key, value) in pairs(&known).into_iter().chain(pairs(&more)) {
            one_by_one.insert(key, value);
        }
        at_once.extend(pairs(&known));
        at_once.extend(pairs(&more));
        prop_assert_eq!(at_once, one_by_one);
    }

    #[test]
    fn a_record_survives_its_document(record in record()) {
        let mut expected = record.clone();
        expected.categories.sort();
        expected.categories.dedup();
        prop_assert_eq!(Record::from_mapping(record.to_mapping()), Some(expected));
    }

    #[test]
    fn many_edits_at_once_are_those_edits(
        text in prop_oneof![Just("# only\n".to_owned()), mutated()],
        paths in prop::collection::vec("/[a-e]{0,2}", 0..8),
    ) {
        let before = DomainFile::parse("example.com.yaml", text.as_bytes()).file;
        let (mut one_by_one, mut at_once) = (before.clone(), before.clone());
        let records: Vec<Record> = paths.iter().map(|path| Record { content_length: Some(7), ..Record::new(path) }).collect();
        let done = records.iter().try_for_each(|record| match one_by_one.get(&record.identity()) {
            Some(_) => one_by_one.update(&record.identity(), |old| *old = record.clone()),
            None => one_by_one.insert(record.clone()),
        });
        let put = at_once.put_all(records);
        prop_assert_eq!(put.is_ok(), done.is_ok());
        let expected = if put.is_ok() { &one_by_one } else { &before };
        prop_assert_eq!(at_once.text(), expected.text());
        let lines = |file: &DomainFile| file.records().map(RecordEntry::line).collect::<Vec<_>>();
        prop_assert_eq!(lines(&at_once), lines(expected));
    }

    #[test]
    fn edits_leave_other_records_alone(
        records in prop::collection::vec(record(), 0..8),
        edits in prop::collection::vec((path(), text()), 0..6),
    ) {
        // Nothing in this file is canonical but the order.
        let mut expected: Vec<(String, String)> = vec![
            ("/b".to_owned(), "# one\n---\n# two\n\"_path\":   /b # three\n".to_owned()),
            ("/zzz".to_owned(), "---\n_path: '/zzz'\n\ncontent-length:   5\n".to_owned()),
        ];
        let head = "# top\n--- {}\n";
        let footer = "# end\n\n";
        let text = format!("{head}{}{}{footer}", expected[0].1, expected[1].1);
        let mut file = DomainFile::parse("example.com.yaml", text.as_bytes()).file;
        for record in records {
            let known = expected.iter().any(|(path, _)| *path == record.path);
            prop_assert_eq!(file.insert(record.clone()).is_err(), known);
            if !known {
                expected.push((record.path.clone(), write_documents([&record.to_mapping()])));
            }
        }
        for (path, description) in edits {
            let identity = RecordIdentity::get(path.clone());
            let known = expected.iter().any(|(other, _)| *other == path);
            let changed = file.update(&identity, |record| record.name = Some(description.clone()));
            prop_assert_eq!(changed.is_ok(), known);
            if known {
                let removed = file.remove(&identity).unwrap();
                prop_assert_eq!(removed.name, Some(description));
                expected.retain(|(other, _)| *other != path);
            }
        }
        expected.sort();
        let body: String = expected.iter().map(|(_, text)| text.as_str()).collect();
        prop_assert_eq!(file.text(), format!("{head}{body}{footer}"));
        let fresh = DomainFile::parse("example.com.yaml", file.text().as_bytes()).file;
        let lines = |file: &DomainFile| file.records().map(|entry| entry.key_lines().map(|(key, line)| (key.to_owned(), line)).collect::<Vec<_>>()).collect::<Vec<_>>();
        prop_assert_eq!(lines(&file), lines(&fresh));
    }
}
