//! The canonical form of scalars, keys and structures: expectations taken from `PyYAML` 6.0.3,
//! `dump_all(docs, explicit_start=True, sort_keys=True)`, and frozen.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use urldb_format::{Mapping, Schema, Value, read_documents, write_documents};

/// A text, and what follows `k:` when it is the value of `k`.
const VALUES: &[(&str, &str)] = &[
    ("", " ''\n"),
    ("a", " a\n"),
    ("yes", " 'yes'\n"),
    ("No", " 'No'\n"),
    ("on", " 'on'\n"),
    ("y", " y\n"),
    ("null", " 'null'\n"),
    ("~", " '~'\n"),
    ("=", " '='\n"),
    ("<<", " '<<'\n"),
    ("true", " 'true'\n"),
    ("1", " '1'\n"),
    ("0", " '0'\n"),
    ("0123", " '0123'\n"),
    ("089", " 089\n"),
    ("0x1f", " '0x1f'\n"),
    ("0b1", " '0b1'\n"),
    ("1_000", " '1_000'\n"),
    ("1.10", " '1.10'\n"),
    ("1.5e+3", " '1.5e+3'\n"),
    ("1e5", " 1e5\n"),
    (".5", " '.5'\n"),
    (".inf", " '.inf'\n"),
    ("-.inf", " '-.inf'\n"),
    (".nan", " '.nan'\n"),
    ("1:30", " '1:30'\n"),
    ("190:20:30.5", " '190:20:30.5'\n"),
    ("2019-01-01", " '2019-01-01'\n"),
    ("2019-1-1", " 2019-1-1\n"),
    ("2019-01-01T01:02:03Z", " '2019-01-01T01:02:03Z'\n"),
    ("---", " '---'\n"),
    ("--- a", " '--- a'\n"),
    ("- a", " '- a'\n"),
    ("-", " '-'\n"),
    ("-a", " -a\n"),
    ("? a", " '? a'\n"),
    ("?a", " ?a\n"),
    (":a", " :a\n"),
    (": a", " ': a'\n"),
    ("a: b", " 'a: b'\n"),
    ("a:", " 'a:'\n"),
    ("a:b", " a:b\n"),
    ("a #b", " 'a #b'\n"),
    ("a#b", " a#b\n"),
    ("#a", " '#a'\n"),
    (" a", " ' a'\n"),
    ("a ", " 'a '\n"),
    ("it's", " it's\n"),
    ("'a'", " '''a'''\n"),
    ("a\"b", " a\"b\n"),
    ("a\\b", " a\\b\n"),
    ("[a", " '[a'\n"),
    ("a[b]{c}", " a[b]{c}\n"),
    ("a,b", " a,b\n"),
    ("{a", " '{a'\n"),
    ("&a", " '&a'\n"),
    ("*a", " '*a'\n"),
    ("!a", " '!a'\n"),
    ("|", " '|'\n"),
    ("> a", " '> a'\n"),
    ("%a", " '%a'\n"),
    ("@a", " '@a'\n"),
    ("`a", " '`a'\n"),
    ("/", " /\n"),
    ("/x y", " /x y\n"),
    ("/a:", " '/a:'\n"),
    ("/\u{E9}", " \"/\\xE9\"\n"),
    ("/\u{1F600}", " \"/\\U0001F600\"\n"),
    ("/tab\u{9}x", " \"/tab\\tx\"\n"),
    ("/x\u{A0}y", " \"/x\\_y\"\n"),
    ("a\nb", " 'a\n\n  b'\n"),
    ("a\n", " 'a\n\n  '\n"),
    ("\na", " '\n\n  a'\n"),
    ("a\n\nb\n", " 'a\n\n\n  b\n\n  '\n"),
    ("a \nb", " \"a \\nb\"\n"),
    ("a\n b", " \"a\\n b\"\n"),
    ("it's\ntwo", " 'it''s\n\n  two'\n"),
    ("\u{85}\u{2028}\u{2029}\u{FEFF}", " \"\\N\\L\\P\\uFEFF\"\n"),
    ("\u{0}\u{7}\u{1B}\u{7F}", " \"\\0\\a\\e\\x7F\"\n"),
    ("\u{10FFFF}", " \"\\U0010FFFF\"\n"),
    (
        "1234567890123456789012345678901234567890123456789012345678901234",
        " '1234567890123456789012345678901234567890123456789012345678901234'\n",
    ),
    (
        "0000000000000000000000000000000000000000000000000000000000000000",
        " '0000000000000000000000000000000000000000000000000000000000000000'\n",
    ),
    (
        "0123456701234567012345670123456701234567012345670123456701234567",
        " '0123456701234567012345670123456701234567012345670123456701234567'\n",
    ),
    (
        "0123456789012345678901234567890123456789012345678901234567890123",
        " 0123456789012345678901234567890123456789012345678901234567890123\n",
    ),
    (
        "11111111111111111111111111111111111111111111111111111111111112e4",
        " 11111111111111111111111111111111111111111111111111111111111112e4\n",
    ),
    (
        "00000000000000000000000000000000000000000000000000000000000000e1",
        " 00000000000000000000000000000000000000000000000000000000000000e1\n",
    ),
    (
        "word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word end",
        " word word word word word word word word word word word word word word word word\n  word word word word word word word word word word word word word word end\n",
    ),
    (
        "it's word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word ",
        " 'it''s word word word word word word word word word word word word word word word\n  word word word word word word word word word word word word word word word '\n",
    ),
    (
        "a: word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word end",
        " 'a: word word word word word word word word word word word word word word word\n  word word word word word word word word word word word word word word word end'\n",
    ),
    (
        "caf\u{E9} word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word end",
        " \"caf\\xE9 word word word word word word word word word word word word word word\\\n  \\ word word word word word word word word word word word word word word word word\\\n  \\ end\"\n",
    ),
    (
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx y",
        " xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n  y\n",
    ),
    (
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx  y z",
        " xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx  y\n  z\n",
    ),
    (
        "\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}",
        " \"\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\\n  \\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\"\n",
    ),
    (
        "\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} ",
        " \"\\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9\\\n  \\ \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \\xE9 \"\n",
    ),
    (
        "word word word word word word word word word word word word word word word   double  spaces word word word word word word word word word word ",
        " 'word word word word word word word word word word word word word word word   double  spaces\n  word word word word word word word word word word '\n",
    ),
];

/// A key, and the document that maps it to `v`.
const KEYS: &[(&str, &str)] = &[
    ("a b", "a b: v\n"),
    ("yes", "'yes': v\n"),
    ("1", "'1': v\n"),
    ("", "? ''\n: v\n"),
    ("a: b", "'a: b': v\n"),
    ("#a", "'#a': v\n"),
    ("\u{E9}", "\"\\xE9\": v\n"),
    ("a\nb", "? 'a\n\n  b'\n: v\n"),
    (
        "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk",
        "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk: v\n",
    ),
    (
        "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk",
        "? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n: v\n",
    ),
    (
        "\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}",
        "\"\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\": v\n",
    ),
    (
        "\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}",
        "? \"\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\\n  \\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\\n  \\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\\n  \\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\\n  \\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\\n  \\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\\n  \\xE9\\xE9\\xE9\"\n: v\n",
    ),
    ("?", "'?': v\n"),
    ("- a", "'- a': v\n"),
];

const STRUCTURE: &str = "---\na: {}\n? jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj\n: a: b\n? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n: - v\nl:\n- a\n- - b\n  - - c\n- []\n- {}\nm:\n  a:\n  - p\n  - q\n  b:\n    x: '2'\n    y: '1'\nn:\n- a:\n  - x\n  b: '1'\nz: []\n";

fn mapping(pairs: &[(&str, Value)]) -> Mapping {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.clone()))
        .collect()
}

fn list(items: &[Value]) -> Value {
    Value::List(items.to_vec())
}

fn check(document: &Mapping, text: &str) {
    assert_eq!(write_documents([document]), text);
    let (read, findings) = read_documents(text, &Schema::TEXT);
    assert_eq!(findings, []);
    assert_eq!(read[0].mapping.sorted(), document.sorted(), "{text}");
}

#[test]
fn values() {
    for (text, written) in VALUES {
        check(
            &mapping(&[("k", Value::from(*text))]),
            &format!("---\nk:{written}"),
        );
    }
}

#[test]
fn keys() {
    for (key, written) in KEYS {
        check(
            &mapping(&[(key, Value::from("v"))]),
            &format!("---\n{written}"),
        );
    }
}

#[test]
fn structures() {
    let empty_map = || Value::Map(Mapping::new());
    let inner = mapping(&[("y", "1".into()), ("x", "2".into())]);
    let document = mapping(&[
        ("z", list(&[])),
        ("a", empty_map()),
        (
            "l",
            list(&[
                "a".into(),
                list(&["b".into(), list(&["c".into()])]),
                list(&[]),
                empty_map(),
            ]),
        ),
        (
            "m",
            mapping(&[("b", inner.into()), ("a", list(&["p".into(), "q".into()]))]).into(),
        ),
        (
            "n",
            list(&[mapping(&[("b", "1".into()), ("a", list(&["x".into()]))]).into()]),
        ),
        (&"k".repeat(130), list(&["v".into()])),
        (&"j".repeat(130), mapping(&[("a", "b".into())]).into()),
    ]);
    assert_eq!(write_documents([&document]), STRUCTURE);
    let (read, findings) = read_documents(STRUCTURE, &Schema::TEXT);
    assert_eq!(findings, []);
    assert_eq!(write_documents([&read[0].mapping]), STRUCTURE);
}

#[test]
fn integers_and_booleans_are_not_quoted_and_text_like_them_is() {
    let document = mapping(&[
        ("content-length", Value::Int(u64::MAX)),
        ("https", Value::Bool(true)),
        ("name", "18446744073709551615".into()),
        ("note", "true".into()),
    ]);
    let text = "---\ncontent-length: 18446744073709551615\nhttps: true\nname: '18446744073709551615'\nnote: 'true'\n";
    assert_eq!(write_documents([&document]), text);
    let (read, findings) = read_documents(text, &Schema::DOMAIN_FILE);
    assert_eq!((&read[0].mapping, findings), (&document, vec![]));
}

#[test]
fn an_empty_document_is_bare() {
    assert_eq!(
        write_documents([&Mapping::new(), &mapping(&[("_path", "/".into())])]),
        "---\n---\n_path: /\n"
    );
}
