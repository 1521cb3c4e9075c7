//! Recognizes records that are canonical and without a finding, and reads them as slices of the text.
//!
//! Most records of a database are such: a path, a length, a digest, a media type, each plain text on one
//! line. The module never calls another record plain. It leaves some canonical records to the general
//! reader: those with quotes, folded lines, comments, mappings, a method, a date, or keys of the user.

use crate::digest::{Algorithm, Digest};
use crate::entry::RecordEntry;
use crate::keys::{self, Key};
use crate::layout::Layout;
use crate::path_check::check_path;
use crate::record::{Record, is_sha256};
use crate::record_checks::is_source_name;
use crate::resolve::reads_as_text;
use crate::scalar::{self, ScalarRole, ScalarStyle};
use crate::scan;
use crate::spelling::misspelled;
use crate::value::parse_integer;

/// The keys of plain records, sorted. No other key changes the request of a record, so plain records with
/// different paths are different requests.
const KEYS: [&str; 14] = [
    "_path",
    "categories",
    "content-length",
    "content-md5",
    "content-sha1",
    "content-sha256",
    "content-sha384",
    "content-sha512",
    "content-type",
    "description",
    "name",
    "redirects-to",
    "source",
    "status",
];

const PATH: usize = 0;
const CATEGORIES: usize = 1;
const CONTENT_LENGTH: usize = 2;
const CONTENT_MD5: usize = 3;
const CONTENT_SHA1: usize = 4;
const CONTENT_SHA256: usize = 5;
const CONTENT_SHA384: usize = 6;
const CONTENT_SHA512: usize = 7;
const CONTENT_TYPE: usize = 8;
const DESCRIPTION: usize = 9;
const NAME: usize = 10;
const REDIRECTS_TO: usize = 11;
const SOURCE: usize = 12;
const STATUS: usize = 13;

/// The digests besides SHA-256.
const FURTHER_DIGESTS: [(usize, Algorithm); 4] = [
    (CONTENT_MD5, Algorithm::Md5),
    (CONTENT_SHA1, Algorithm::Sha1),
    (CONTENT_SHA384, Algorithm::Sha384),
    (CONTENT_SHA512, Algorithm::Sha512),
];

/// Whether the value of a key is a list.
fn is_list(key: usize) -> bool {
    matches!(key, CATEGORIES | SOURCE)
}

/// Lines up to this length are never folded.
const NEVER_FOLDED: usize = 80;

/// A record whose document is canonical, and has no finding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainRecord<'a> {
    /// The document, from its `---`.
    source: &'a str,
    /// The value of each of [`KEYS`]; empty if the record lacks the key. The value of `categories` and `source` is
    /// the lines of the list.
    values: [&'a str; KEYS.len()],
    line_count: usize,
}

impl<'a> PlainRecord<'a> {
    /// The record at the start of `text`; `None` if it is not plain. The record ends at the next line
    /// `---`, or with the text.
    pub(crate) fn at_start_of(text: &'a str, known: &mut KnownLists) -> Option<Self> {
        let mut values = [""; KEYS.len()];
        let mut rest = text.strip_prefix("---\n")?;
        let mut line_count = 1;
        let mut next = PATH;
        while !rest.is_empty() && !rest.starts_with("---\n") {
            let mut keys = next..KEYS.len();
            let (key, value) = keys.find_map(|key| {
                let value = rest.strip_prefix(KEYS[key])?.strip_prefix(':')?;
                Some((key, value))
            })?;
            if key > PATH && next == PATH {
                return None;
            }
            next = key + 1;
            let start = rest.len() - value.len();
            let (line, after) = next_line(rest)?;
            rest = after;
            line_count += 1;
            values[key] = if is_list(key) {
                let list = known.list(key, rest).filter(|_| line.len() == start)?;
                rest = &rest[list.len()..];
                line_count += memchr::memchr_iter(b'\n', list.as_bytes()).count();
                list
            } else {
                let value = line[start..].strip_prefix(' ')?;
                is_sound(key, value, line).then_some(value)?
            };
        }
        let source = &text[..text.len() - rest.len()];
        (next > PATH).then_some(Self {
            source,
            values,
            line_count,
        })
    }

    /// The document, from its `---`.
    pub(crate) fn source(&self) -> &'a str {
        self.source
    }

    /// The number of lines of the document.
    pub(crate) fn line_count(&self) -> usize {
        self.line_count
    }

    /// The `_path`.
    pub(crate) fn path(&self) -> &'a str {
        self.values[PATH]
    }

    /// Whether the record is of category `deprecated`.
    pub(crate) fn is_deprecated(&self) -> bool {
        let categories = self.values[CATEGORIES];
        !categories.is_empty() && items(categories).any(|category| category == "deprecated")
    }

    /// Whether the record has a source.
    pub(crate) fn has_source(&self) -> bool {
        !self.values[SOURCE].is_empty()
    }

    /// The record in memory of its own; its document starts on line `start`.
    pub(crate) fn to_entry(self, start: usize) -> RecordEntry {
        let text = |key: usize| (!self.values[key].is_empty()).then(|| self.values[key].to_owned());
        let texts = |key: usize| items(self.values[key]).map(str::to_owned).collect();
        let further = FURTHER_DIGESTS
            .into_iter()
            .filter_map(|(key, algorithm)| Some((algorithm, text(key)?)));
        let record = Record {
            path: self.path().to_owned(),
            categories: texts(CATEGORIES),
            content_length: parse_integer(self.values[CONTENT_LENGTH]),
            content_sha256: text(CONTENT_SHA256),
            further_digests: further.collect(),
            content_type: text(CONTENT_TYPE),
            description: text(DESCRIPTION),
            name: text(NAME),
            redirects_to: text(REDIRECTS_TO),
            source: texts(SOURCE),
            status: self.values[STATUS].parse().ok(),
            ..Record::default()
        };
        let mut line = 1;
        let mut key_lines = Vec::with_capacity(KEYS.len());
        for (key, value) in self.values.into_iter().enumerate() {
            if !value.is_empty() {
                key_lines.push((Key::Borrowed(KEYS[key]), line));
                line += 1;
                if is_list(key) {
                    line += items(value).count();
                }
            }
        }
        RecordEntry {
            record: Box::new(record),
            layout: Layout {
                start,
                keys: key_lines,
                source: self.source.to_owned(),
                ..Layout::default()
            },
            intact: true,
            is_plain: true,
        }
    }
}

/// The first line of `text` without its line break, and the text after it.
fn next_line(text: &str) -> Option<(&str, &str)> {
    let end = memchr::memchr(b'\n', text.as_bytes())?;
    Some((&text[..end], &text[end + 1..]))
}

/// Whether the value of a key has no finding, and its line is canonical.
fn is_sound(key: usize, value: &str, line: &str) -> bool {
    let further = FURTHER_DIGESTS.into_iter().find(|it| it.0 == key);
    if let Some((_, algorithm)) = further {
        return Digest::is_hex(algorithm, value) && reads_as_text(value);
    }
    match key {
        CONTENT_LENGTH => parse_integer(value).is_some(),
        CONTENT_SHA256 => is_sha256(value) && reads_as_text(value),
        STATUS => parse_integer(value).is_some_and(|status| (100..=599).contains(&status)),
        PATH => is_plain_path(value) || (is_plain_text(value, line) && is_good_path(value)),
        _ => is_plain_text(value, line),
    }
}

/// The lines of the last lists of plain records, since neighbours often have the same.
#[derive(Debug, Default)]
pub(crate) struct KnownLists {
    categories: String,
    sources: String,
}

impl KnownLists {
    /// The lines of the list of a key at the start of `text`, if the list is not empty, sorted, and without repeats.
    fn list<'a>(&mut self, key: usize, text: &'a str) -> Option<&'a str> {
        let known = if key == SOURCE {
            &mut self.sources
        } else {
            &mut self.categories
        };
        if let Some(after) = text.strip_prefix(known.as_str())
            && !after.starts_with("- ")
            && !known.is_empty()
        {
            return Some(&text[..known.len()]);
        }
        let mut rest = text;
        let mut previous = "";
        while rest.starts_with("- ") {
            let (line, after) = next_line(rest)?;
            let item = &line[2..];
            let is_sound = is_plain_text(item, line)
                && if key == SOURCE {
                    is_source_name(item)
                } else {
                    misspelled(item, keys::CATEGORIES).is_none()
                };
            if !is_sound || previous >= item {
                return None;
            }
            (previous, rest) = (item, after);
        }
        let list = &text[..text.len() - rest.len()];
        list.clone_into(known);
        (!list.is_empty()).then_some(list)
    }
}

/// The items in the lines of a list.
fn items(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter_map(|line| line.strip_prefix("- "))
}

/// Whether the canonical form of this text is the text itself, on its line, and YAML reads it as text.
fn is_plain_text(text: &str, line: &str) -> bool {
    let bytes = text.as_bytes();
    let has_no_space = bytes
        .iter()
        .fold(true, |ok, byte| ok & byte.is_ascii_graphic());
    let first = bytes.first().copied().unwrap_or_default();
    if has_no_space && matches!(first, b'/' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9') {
        // Without a space, a colon at the end is the only indicator that such a text can have.
        return bytes.last() != Some(&b':') && reads_as_text(text);
    }
    line.len() <= NEVER_FOLDED
        && scan::is_plain(text)
        && scalar::style(text, ScalarRole::Value) == ScalarStyle::Plain
}

/// Whether a path certainly has no finding, and is plain text: it has no character that is ever written in
/// another way.
fn is_plain_path(path: &str) -> bool {
    let bytes = path.as_bytes();
    let [b'/', others @ ..] = bytes else {
        return false;
    };
    let is_plain = bytes.iter().zip(others).all(|(before, byte)| {
        // A segment that begins with a dot may be a dot segment.
        IS_PLAIN_IN_PATH[usize::from(*byte)] && (*byte != b'.' || *before != b'/')
    });
    is_plain && !matches!(bytes.last(), Some(b':' | b'?'))
}

/// Whether a path has no finding.
fn is_good_path(path: &str) -> bool {
    check_path(path).is_ok() && urldb_canon::check_path(path).is_ok()
}

/// The characters of [`is_plain_path`]: those that a URL needs no escape for, without `'` and `%`.
const IS_PLAIN_IN_PATH: [bool; 256] = {
    let plain = b"-._~!$&()*+,;=:@/?[]";
    let mut table = [false; 256];
    let mut byte: u8 = 0;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let mut index = 0;
    while index < plain.len() {
        table[plain[index] as usize] = true;
        index += 1;
    }
    table
};

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain_file::{DomainFile, ParsedFile};
    use crate::entry::Segment;
    use crate::lint;
    use crate::read::DocumentReader;
    use crate::split::split;
    use crate::value::Schema;

    /// Values of any key: plain, and other than plain.
    fn value() -> impl Strategy<Value = String> {
        let odd = prop::sample::select(vec![
            "",
            " ",
            "5",
            "0",
            "07",
            "200",
            "99",
            "600",
            "404",
            "1e5",
            "1.5",
            "0x1f",
            "0b1",
            "1:30",
            "yes",
            "No",
            "null",
            "~",
            "=",
            "<<",
            "2026-12-24",
            "-",
            "- a",
            "?",
            "a:",
            "a: b",
            "a:b",
            ":a",
            "a #b",
            "a#b",
            "#a",
            "'a'",
            "\"a\"",
            "a'",
            "[a]",
            "{a}",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "%a",
            "@a",
            "`a",
            "---",
            "...",
            "a  b",
            "a ",
            "\ta",
            "a\tb",
            "a\r",
            "\u{e9}",
            "\u{2028}",
            "\u{feff}a",
            "text/html; charset=utf-8",
            "X-301-Redirect",
            "https://example.org/a?b=c",
            "redirect-ok",
            "redirect_ok",
            "deprecated",
            "=======",
            "<<<<<<< ours",
            "words that go on until they are beyond the column where a long line is folded, and more",
            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "0123456789abcdef0123456789abcdef",
            "00000000001111111111222222222233",
            "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
            "0000000000111111111122222222223333333333444444444455555555556666",
            "/",
            "//",
            "/.",
            "/..",
            "/a/../b",
            "/.well-known/x",
            "/a?",
            "/a?b?",
            "/a?'",
            "/a'",
            "/%41",
            "/%2f",
            "/%2F",
            "/%zz",
            "/a b",
            "/a#b",
            "/a\\b",
            "/a:",
            "/a:b",
            "/a<b",
            "/a|b",
            "/[a]",
        ]);
        prop_oneof![
            2 => odd.prop_map(str::to_owned),
            1 => "[ -~]{0,12}",
            1 => "/[!-~]{0,12}",
            1 => "[a-z0-9]{1,8}",
        ]
    }

    fn key() -> impl Strategy<Value = &'static str> {
        let other = [
            "method",
            "mute-until",
            "https",
            "sha256",
            "own",
            "catalogue",
            "request-body",
        ];
        prop_oneof![4 => prop::sample::select(KEYS.to_vec()), 1 => prop::sample::select(other.to_vec())]
    }

    /// A document of lines that may be wrong in any way.
    fn document() -> impl Strategy<Value = String> {
        let pair = prop_oneof![
            6 => (key(), value()).prop_map(|(key, value)| format!("{key}: {value}\n")),
            1 => (prop::bool::ANY, prop::collection::vec(value(), 0..3)).prop_map(|(is_source, items)| {
                let items = items.iter().map(|item| format!("- {item}\n"));
                let key = if is_source { "source" } else { "categories" };
                format!("{key}:\n{}", items.collect::<String>())
            }),
            1 => Just("# comment\n".to_owned()),
            1 => Just("\n".to_owned()),
        ];
        let pairs = prop::collection::vec(pair, 0..4);
        (value(), pairs, prop::bool::weighted(0.8)).prop_map(|(path, mut pairs, is_sorted)| {
            if is_sorted {
                pairs.sort();
            }
            format!("---\n_path: {path}\n{}", pairs.concat())
        })
    }

    /// A plain document for a path.
    fn plain_document() -> impl Strategy<Value = (String, String)> {
        let path = "/[a-z0-9_~-]{1,4}(/[a-z0-9][a-z.?&=;,:@+]{0,6}[a-z])?";
        let categories = prop::collection::btree_set("[a-z]{9,12}", 0..3);
        let rest = (
            prop::option::of(0..u64::MAX),
            prop::option::of("[a-f][0-9a-f]{63}"),
            prop::option::of(prop_oneof![
                "[a-f][0-9a-f]{31}".prop_map(|it| format!("md5: {it}")),
                "[a-f][0-9a-f]{39}".prop_map(|it| format!("sha1: {it}")),
                "[a-f][0-9a-f]{95}".prop_map(|it| format!("sha384: {it}")),
                "[a-f][0-9a-f]{127}".prop_map(|it| format!("sha512: {it}")),
            ]),
            prop::option::of("[a-z]{2,9}/[a-z]{2,9}(; charset=utf-8)?"),
            prop::option::of("m[a-z]{0,9}( [a-z(.,]{1,9}){0,5}"),
            prop::collection::btree_set("[a-z][0-9-]{1,3}x", 0..3),
            prop::option::of(100..600_u16),
        );
        (path, categories, rest).prop_map(|(path, categories, rest)| {
            let (length, digest, further, media, name, sources, status) = rest;
            let mut text = format!("---\n_path: {path}\n");
            if !categories.is_empty() {
                text.push_str("categories:\n");
                text.extend(categories.iter().map(|item| format!("- c{item}\n")));
            }
            text.extend(length.map(|it| format!("content-length: {it}\n")));
            let digests = [digest.map(|it| format!("sha256: {it}")), further];
            let mut digests: Vec<String> = digests.into_iter().flatten().collect();
            digests.sort();
            text.extend(digests.iter().map(|it| format!("content-{it}\n")));
            text.extend(media.map(|it| format!("content-type: {it}\n")));
            text.extend(name.map(|it| format!("name: {it}\n")));
            if !sources.is_empty() {
                text.push_str("source:\n");
                text.extend(sources.iter().map(|item| format!("- {item}\n")));
            }
            text.extend(status.map(|it| format!("status: {it}\n")));
            (path, text)
        })
    }

    /// The text of a file of plain records in order.
    pub(crate) fn plain_file() -> impl Strategy<Value = String> {
        prop::collection::vec(plain_document(), 1..12).prop_map(|documents| {
            let documents: std::collections::BTreeMap<_, _> = documents.into_iter().collect();
            format!("---\n{}", documents.into_values().collect::<String>())
        })
    }

    /// Edits of a text: bytes removed, added and replaced, lines and documents swapped, another case.
    pub(crate) fn mutated(text: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<u8>> {
        let place = any::<prop::sample::Index>();
        let piece = prop::sample::select(vec![
            "",
            " ",
            "\n",
            "\r\n",
            ":",
            ": ",
            " #",
            "#",
            "---\n",
            "--- \n",
            "- ",
            "'",
            "\"",
            "a",
            "A",
            "0",
            "9",
            "/",
            "/../",
            "%",
            "?",
            "é",
            "\t",
            "name: x\n",
            "# comment\n",
            "method: HEAD\n",
            "=======\n",
            "content-type: a\n",
        ]);
        let edit = (0..5_usize, place.clone(), place, 0..3_usize, piece);
        let edits = prop::collection::vec(edit, 0..3);
        (text, edits).prop_map(|(text, edits)| {
            let mut bytes = text.into_bytes();
            for (kind, one, other, removed, piece) in edits {
                let separator: &[u8] = if kind == 1 { b"\n" } else { b"---\n" };
                let cuts: Vec<usize> = memchr::memmem::find_iter(&bytes, separator).collect();
                let at = one.index(bytes.len() + 1);
                match kind {
                    0 => bytes.get_mut(at).into_iter().for_each(|byte| {
                        *byte = if byte.is_ascii_uppercase() {
                            byte.to_ascii_lowercase()
                        } else {
                            byte.to_ascii_uppercase()
                        };
                    }),
                    1 | 2 if cuts.len() > 1 => {
                        let (one, other) = (one.index(cuts.len() - 1), other.index(cuts.len() - 1));
                        let moved = bytes[cuts[one]..cuts[one + 1]].to_vec();
                        let at = cuts[other];
                        bytes.splice(at..at, moved);
                    }
                    _ => {
                        let end = (at + removed).min(bytes.len());
                        bytes.splice(at..end, piece.bytes());
                    }
                }
            }
            bytes
        })
    }

    /// The text of a file of documents that may be wrong.
    pub(crate) fn any_file() -> impl Strategy<Value = String> {
        let documents = prop::collection::vec(document(), 0..4);
        (documents, any::<bool>()).prop_map(|(mut documents, is_sorted)| {
            if is_sorted {
                documents.sort();
            }
            format!("---\n{}", documents.concat())
        })
    }

    /// The documents after the first, as the general reader reads them.
    fn read_generally(text: &str) -> Vec<Segment> {
        let mut reader = DocumentReader::new((1, text), &Schema::DOMAIN_FILE, &mut false);
        let documents = split(1, text).skip(1);
        let segments = documents.map(|raw| Segment::read(reader.read(&raw), text, &mut vec![]));
        segments.collect()
    }

    /// Checks that a plain record is what the general reader reads, is canonical, and has no finding.
    /// Returns the number of plain records.
    fn check_plain_records(bytes: &[u8]) -> Result<usize, TestCaseError> {
        let mut parsed = DomainFile::parse("example.org.yaml", bytes);
        let text = parsed.file.text();
        let general = read_generally(&text);
        prop_assert_eq!(parsed.file.segments.len(), general.len());
        let mut plain = vec![];
        for (segment, general) in parsed.file.segments.iter_mut().zip(&general) {
            let (Segment::Record(entry), Segment::Record(general)) = (segment, general) else {
                continue;
            };
            if std::mem::take(&mut entry.is_plain) {
                prop_assert_eq!(&entry.record, &general.record);
                prop_assert_eq!(
                    format!("{:?}", entry.layout),
                    format!("{:?}", general.layout)
                );
                prop_assert!(entry.intact && general.intact);
                prop_assert_eq!(entry.canonical(), entry.layout.source.clone());
                plain.push(entry.layout.start..entry.layout.start + entry.layout.line_count());
            }
        }
        let of_one_record = |code: &str| !matches!(code, "unsorted-records" | "duplicate-record");
        for finding in lint(&parsed, &[])
            .iter()
            .filter(|it| of_one_record(it.code.as_str()))
        {
            let is_plain = plain.iter().any(|lines| lines.contains(&finding.line));
            prop_assert!(!is_plain, "{finding}\n{text}");
        }
        Ok(plain.len())
    }

    fn parse(text: &str) -> ParsedFile {
        DomainFile::parse("example.org.yaml", text.as_bytes())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn plain_records_are_what_the_general_reader_reads(text in any_file()) {
            check_plain_records(text.as_bytes())?;
        }

        #[test]
        fn mutated_plain_records_are_what_the_general_reader_reads(bytes in mutated(plain_file())) {
            if bytes.starts_with(b"---\n---\n") {
                check_plain_records(&bytes)?;
            }
        }

        #[test]
        fn ordinary_records_are_plain(text in plain_file()) {
            let records = parse(&text).file.records().count();
            prop_assert_eq!(check_plain_records(text.as_bytes())?, records, "{}", text);
        }

        #[test]
        fn plain_paths_are_good_paths(path in "/[ -~]{0,12}") {
            let is_good = is_good_path(&path) && is_plain_text(&path, &path);
            prop_assert!(!is_plain_path(&path) || is_good, "{}", path);
        }
    }

    #[test]
    fn records_with_any_character_in_any_place_are_read_alike() {
        for byte in 0..=127_u8 {
            let odd = char::from(byte);
            for value in [
                format!("{odd}"),
                format!("a{odd}"),
                format!("{odd}a"),
                format!("a{odd}a"),
                format!("a {odd}a"),
            ] {
                let keys = [
                    "categories:\n-",
                    "content-length:",
                    "content-md5:",
                    "content-sha256:",
                    "content-type:",
                    "name:",
                    "source:\n-",
                    "status:",
                ];
                for key in keys {
                    let text = format!("---\n---\n_path: /\n{key} {value}\n");
                    check_plain_records(text.as_bytes()).unwrap();
                }
                let text = format!("---\n---\n_path: /{value}\n");
                check_plain_records(text.as_bytes()).unwrap();
            }
        }
    }
}
