//! Reads one document: finds its keys line by line, and decodes each value separately.
//!
//! This module itself reads the most frequent values: plain text and text in single quotes on one line,
//! and lists and mappings of such texts. [`crate::decode`] reads all other values, one key at a time, so that
//! a mistake in one value leaves the other keys readable.

use urldb_text::{Code, Finding};

use crate::decode::{DecodedValue, decode};
use crate::document::Document;
use crate::lex::lex;
use crate::split::{self, RawDocument, SourceLine};
use crate::value::{Mapping, Schema, Value};

/// Reads documents, and collects the findings of all of them.
pub(crate) struct Scanner<'a> {
    schema: &'a Schema,
    findings: &'a mut Vec<Finding>,
}

/// The parts of a document that have been read so far.
#[derive(Default)]
struct DocumentBuilder {
    pairs: Vec<(String, Value)>,
    lines: Vec<usize>,
    /// Comments whose key has not been read yet.
    pending: Vec<String>,
    comments: Vec<(String, String)>,
    broken: bool,
}

impl DocumentBuilder {
    fn push(&mut self, key: String, value: Value, line: usize) {
        for comment in self.pending.drain(..) {
            self.comments.push((key.clone(), comment));
        }
        self.pairs.push((key, value));
        self.lines.push(line);
    }
}

/// The lines of one key and its value.
struct PairSource<'t, 'l> {
    lines: &'l [SourceLine<'t>],
    text: &'t str,
    /// The first line in the file, from 1.
    line: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(schema: &'a Schema, findings: &'a mut Vec<Finding>) -> Self {
        Self { schema, findings }
    }

    /// Reads `raw` into `document`.
    pub(crate) fn scan(&mut self, raw: &RawDocument, document: &mut Document) {
        let mut builder = DocumentBuilder::default();
        let lines: Vec<SourceLine> = split::lines(raw.body).collect();
        if raw.inline.starts_with('#') {
            builder.pending.push(raw.inline.to_owned());
            self.scan_lines(raw, &lines, &mut builder);
        } else if !raw.inline.is_empty() {
            self.scan_whole(raw, &mut builder);
        } else {
            self.scan_lines(raw, &lines, &mut builder);
        }
        self.finish(builder, document);
    }

    fn finish(&mut self, builder: DocumentBuilder, document: &mut Document) {
        let DocumentBuilder {
            pairs,
            mut lines,
            pending,
            comments,
            broken,
        } = builder;
        let mut repeats: Vec<(usize, usize)> = Vec::new();
        document.mapping = Mapping::from_pairs(pairs, |first, again| repeats.push((first, again)));
        document.intact = !broken && repeats.is_empty();
        for (first, again) in &repeats {
            let message = format!("this key was already given on line {}", lines[*first]);
            let finding = Finding::new(Code::DuplicateKey, lines[*again], message);
            self.findings
                .push(finding.with_help("remove one of the two"));
        }
        let mut repeated = repeats.iter().map(|(_, again)| *again).peekable();
        let mut index = 0..;
        lines.retain(|_| {
            repeated
                .next_if_eq(&index.next().unwrap_or_default())
                .is_none()
        });
        document.key_lines = lines;
        document.comments = comments;
        document.above.extend(pending);
    }

    /// Reads a document key by key; as a whole if it does not start with a key.
    fn scan_lines(
        &mut self,
        raw: &RawDocument,
        lines: &[SourceLine],
        builder: &mut DocumentBuilder,
    ) {
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let number = raw.body_line + at;
            let first = line.text.bytes().next();
            if line.is_blank() {
                at += 1;
            } else if first == Some(b'#') {
                builder.pending.push(line.text.trim_end().to_owned());
                at += 1;
            } else if is_end_marker(line.text) {
                return self.check_end(raw, &lines[at..], at, builder);
            } else if !starts_key(line.text) && builder.pairs.is_empty() && !builder.broken {
                return self.scan_whole(raw, builder);
            } else if !starts_key(line.text) {
                let message = "expected a key at the start of the line";
                self.fail(Finding::new(Code::SyntaxError, number, message), builder);
                at += 1;
            } else {
                let end = pair_end(lines, at);
                let pair_lines = &lines[at..end];
                let text = &raw.body[line.start..pair_lines[pair_lines.len() - 1].end];
                self.scan_pair(
                    &PairSource {
                        lines: pair_lines,
                        text,
                        line: number,
                    },
                    builder,
                );
                at = end;
            }
        }
    }

    /// Checks that only comments follow `...`, the end of a document, on the first line of `rest`.
    fn check_end(
        &mut self,
        raw: &RawDocument,
        rest: &[SourceLine],
        at: usize,
        builder: &mut DocumentBuilder,
    ) {
        for (index, line) in rest.iter().enumerate() {
            let text = if index == 0 {
                line.text["...".len()..].trim_start()
            } else {
                line.text
            };
            if text.starts_with('#') {
                builder.pending.push(text.trim_end().to_owned());
            } else if !text.trim().is_empty() {
                let message = "there is text after `...`, which ends the document";
                let finding = Finding::new(Code::SyntaxError, raw.body_line + at + index, message);
                return self.fail(
                    finding.with_help("start the next document with `---`"),
                    builder,
                );
            }
        }
    }

    fn fail(&mut self, finding: Finding, builder: &mut DocumentBuilder) {
        self.findings.push(finding);
        builder.broken = true;
    }

    fn scan_pair(&mut self, pair: &PairSource, builder: &mut DocumentBuilder) {
        match plain_pair(pair.lines) {
            Some((key, value)) => {
                let value = self.schema.typed(key, value);
                builder.push(key.to_owned(), value, pair.line);
            }
            None => self.scan_decoded(pair.text, pair.line, builder),
        }
    }

    /// Decodes the lines of a pair that is not plain. They must have exactly one key.
    fn scan_decoded(&mut self, text: &str, line: usize, builder: &mut DocumentBuilder) {
        let Some(value) = self.decode(text, line, builder) else {
            return;
        };
        match value {
            Value::Map(mapping) if mapping.len() == 1 => self.push_all(mapping, line, builder),
            Value::Map(_) => {
                let message = "expected one key here, and a line break after its value";
                self.fail(Finding::new(Code::SyntaxError, line, message), builder);
            }
            other => self.not_a_mapping(&other, line, builder),
        }
    }

    /// Reads a whole document that does not start with a key: `--- {}`, or an indented one.
    fn scan_whole(&mut self, raw: &RawDocument, builder: &mut DocumentBuilder) {
        let has_inline = !raw.inline.is_empty();
        let line = raw.body_line - usize::from(has_inline);
        let text = if has_inline {
            format!("    {}\n{}", raw.inline, raw.body)
        } else {
            raw.body.to_owned()
        };
        // Decoding finds all comments of the document again.
        builder.pending.clear();
        let text = cut_at_end_marker(&text);
        let Some(value) = self.decode(text, line, builder) else {
            return;
        };
        match value {
            Value::Map(mapping) => self.push_all(mapping, line, builder),
            other => self.not_a_mapping(&other, line, builder),
        }
    }

    fn not_a_mapping(&mut self, value: &Value, line: usize, builder: &mut DocumentBuilder) {
        let message = format!("expected `key: value`, found {}", value.kind());
        self.fail(Finding::new(Code::NotAMapping, line, message), builder);
    }

    fn push_all(&mut self, mapping: Mapping, line: usize, builder: &mut DocumentBuilder) {
        for (key, value) in mapping {
            let value = self.schema.typed(&key, value);
            builder.push(key, value, line);
        }
    }

    /// Decodes a text that starts on `line`, and keeps its comments. Refuses anchors, aliases, tags
    /// and deep nesting first.
    fn decode(&mut self, text: &str, line: usize, builder: &mut DocumentBuilder) -> Option<Value> {
        let lexed = lex(text);
        if let Some(offset) = lexed.too_deep {
            let message = "lists or mappings are nested too deeply";
            self.fail(
                Finding::new(Code::SyntaxError, line + offset, message),
                builder,
            );
            return None;
        }
        if let Some((offset, column)) = lexed.anchor_or_tag {
            let message = "anchors (`&`), aliases (`*`), tags (`!`) and merge keys (`<<`) are not part of the format";
            let help = "write the value out, or quote it if it is text";
            let finding = Finding::new(Code::AnchorOrTag, line + offset, message).at_column(column);
            self.fail(finding.with_help(help), builder);
            return None;
        }
        match decode(text) {
            Ok(DecodedValue { value, duplicates }) => {
                let comments = lexed.comments.into_iter().map(str::to_owned);
                builder.pending.extend(comments);
                for key in duplicates {
                    let message = format!("`{key}` is given twice in the value that starts here");
                    self.fail(Finding::new(Code::DuplicateKey, line, message), builder);
                }
                Some(value)
            }
            Err(error) => {
                let last = text.lines().count().saturating_sub(1);
                let finding = Finding::new(
                    Code::SyntaxError,
                    line + error.line.min(last),
                    error.message,
                );
                let help = "check the quotes, brackets and indentation of this value";
                self.fail(finding.at_column(error.column).with_help(help), builder);
                None
            }
        }
    }
}

fn is_end_marker(line: &str) -> bool {
    let rest = line.strip_prefix("...");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// The text before a `...` line, if the rest of the text is blank.
fn cut_at_end_marker(text: &str) -> &str {
    let marker = split::lines(text).find(|line| is_end_marker(line.text));
    match marker {
        Some(line) if text[line.start + "...".len()..].trim().is_empty() => &text[..line.start],
        _ => text,
    }
}

/// Whether a key can start on this line, which is not blank.
fn starts_key(line: &str) -> bool {
    !matches!(
        line.as_bytes(),
        [b' ' | b'\t' | b'[' | b'{' | b'|' | b'>' | b'%', ..] | [b'-'] | [b'-', b' ' | b'\t', ..]
    )
}

/// The end of the lines of the key at `start`: indented lines, list items, and comments between
/// them.
fn pair_end(lines: &[SourceLine], start: usize) -> usize {
    let long_key = lines[start].text.starts_with("? ") || lines[start].text == "?";
    let mut end = start + 1;
    let mut commented = false;
    for (index, line) in lines.iter().enumerate().skip(start + 1) {
        let continues = match line.text.as_bytes() {
            [b' ' | b'\t' | b']' | b'}', ..] | [b'-'] | [b'-', b' ' | b'\t', ..] => {
                !line.is_blank()
            }
            [b':'] | [b':', b' ' | b'\t', ..] => long_key,
            _ => false,
        };
        if continues {
            end = index + 1;
        } else if line.text.starts_with('#') {
            commented = true;
        } else if !line.is_blank() {
            break;
        } else if !commented && end == index {
            // Blank lines can be part of a block scalar.
            end = index + 1;
        }
    }
    end
}

/// Reads a plain pair: a key with a plain value, a list of such values, or a mapping of them that is indented
/// by two spaces.
fn plain_pair<'t>(lines: &[SourceLine<'t>]) -> Option<(&'t str, Value)> {
    let (first, rest) = lines.split_first()?;
    let (key, text) = plain_key(first.text)?;
    if rest.iter().all(SourceLine::is_blank) {
        return Some((key, plain_value(text)?));
    }
    if !text.is_empty() {
        return None;
    }
    let value = if rest[0].text.starts_with(' ') {
        Value::Map(plain_mapping(rest)?)
    } else {
        let items: Option<Vec<Value>> = rest.iter().map(|line| plain_item(line.text)).collect();
        Value::List(items?)
    };
    Some((key, value))
}

fn plain_item(line: &str) -> Option<Value> {
    let text = trim(line.strip_prefix("- ")?);
    plain_value(text).filter(|_| !text.is_empty())
}

/// A nested mapping without repeated keys.
fn plain_mapping(lines: &[SourceLine]) -> Option<Mapping> {
    let pairs = lines
        .iter()
        .map(|line| {
            let (key, text) = plain_key(line.text.strip_prefix("  ")?)?;
            let value = plain_value(text).filter(|_| !text.is_empty())?;
            Some((key.to_owned(), value))
        })
        .collect::<Option<Vec<_>>>()?;
    let mut repeats = false;
    let mapping = Mapping::from_pairs(pairs, |_, _| repeats = true);
    (!repeats).then_some(mapping)
}

/// Reads a plain value on one line: plain text, or printable ASCII in single quotes, without such a quote.
fn plain_value(text: &str) -> Option<Value> {
    if text.is_empty() || (is_plain(text) && text != "<<") {
        return Some(Value::unquoted(text));
    }
    let quoted = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let is_simple = |byte| matches!(byte, b' '..=b'~') && byte != b'\'';
    quoted.bytes().all(is_simple).then(|| Value::quoted(quoted))
}

fn plain_key(line: &str) -> Option<(&str, &str)> {
    let length = line
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
        .count();
    let (key, rest) = line.split_at(length);
    let named = key.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_');
    let rest = rest
        .strip_prefix(':')
        .filter(|rest| rest.is_empty() || rest.starts_with(' '))?;
    named.then(|| (key, trim(rest)))
}

fn trim(text: &str) -> &str {
    text.trim_matches(' ')
}

/// Whether YAML reads a text on one line as the same text. Texts that are rarely written may be
/// refused.
pub(crate) fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let starts_plain = bytes
        .first()
        .is_some_and(|byte| !b"-?:,[]{}#&*!|>'\"%@`\t".contains(byte));
    let mut previous = b'x';
    let inside_plain = bytes.iter().enumerate().all(|(index, &byte)| {
        let ok = match byte {
            b':' => bytes
                .get(index + 1)
                .is_some_and(|&next| next != b' ' && next != b'\t'),
            b'#' => previous != b' ',
            b'\t' => false,
            _ => true,
        };
        previous = byte;
        ok
    });
    starts_plain && inside_plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values that are plain, and values that are not.
    fn value() -> impl Strategy<Value = String> {
        let odd = [
            "",
            " ",
            "a",
            "5",
            "1.10",
            "null",
            "yes",
            "2020-01-01",
            "'",
            "''",
            "'''",
            "'a'",
            "'5'",
            "' a '",
            "'a''b'",
            "'a' b",
            "'a' # b",
            "'a # b'",
            "'a: b'",
            "'a",
            "a'",
            "'\u{e9}'",
            "'a\tb'",
            "'&a'",
            "\"a\"",
            "a # b",
            "a: b",
            "a:",
            "- a",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "{a}",
            "[a]",
            "? a",
            "sha256:0a1b",
            "urn:uuid:a-b",
            "~",
            "<<",
        ];
        prop_oneof![
            4 => prop::sample::select(odd.to_vec()).prop_map(str::to_owned),
            1 => "[ -~]{0,8}",
            1 => "'[ -~]{0,8}'",
        ]
    }

    /// The lines of one pair.
    fn pair() -> impl Strategy<Value = String> {
        let keys = vec!["a", "b", "null", "yes", "_path", "x-y", "<<", "5", "'a'"];
        let key = prop::sample::select(keys);
        let indent = prop::sample::select(vec!["", " ", "  ", "  ", "  ", "  ", "   ", "\t"]);
        let blank = "[ ]{0,2}".prop_map(|line| format!("{line}\n"));
        let item =
            (indent.clone(), value()).prop_map(|(indent, value)| format!("{indent}- {value}\n"));
        let nested = (indent, key.clone(), value())
            .prop_map(|(indent, key, value)| format!("{indent}{key}: {value}\n"));
        let lines = prop_oneof![
            1 => prop::collection::vec(blank, 0..2),
            2 => prop::collection::vec(item, 1..4),
            3 => prop::collection::vec(nested, 1..4),
        ];
        let value = prop_oneof![Just(String::new()), value()];
        (key, value, lines)
            .prop_map(|(key, value, lines)| format!("{key}: {value}\n{}", lines.concat()))
    }

    fn lines(text: &str) -> Vec<SourceLine<'_>> {
        split::lines(text).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 4096, ..ProptestConfig::default() })]

        #[test]
        fn plain_pairs_are_what_yaml_reads(text in pair()) {
            let lines = lines(&text);
            if pair_end(&lines, 0) == lines.len()
                && let Some((key, value)) = plain_pair(&lines)
            {
                let lexed = lex(&text);
                prop_assert!(lexed.anchor_or_tag.is_none() && lexed.too_deep.is_none(), "{text}");
                let decoded = decode(&text).unwrap();
                prop_assert!(decoded.duplicates.is_empty() && lexed.comments.is_empty(), "{text}");
                let mut expected = Mapping::new();
                expected.push(key.to_owned(), value);
                prop_assert_eq!(decoded.value, Value::Map(expected), "{}", text);
            }
        }
    }

    #[test]
    fn what_the_ledger_writes_is_plain() {
        for text in [
            "added: '2026-11-22T21:49:48Z'\n",
            "failures:\n- 20261122-214948\n- '20261122'\n",
            "capture:\n  date: '2026-11-22T21:49:48Z'\n  record: urn:uuid:5c0c0a6e-0000-4000-8000-000000000000\n",
        ] {
            assert!(plain_pair(&lines(text)).is_some(), "{text}");
        }
    }
}
