//! Patterns: the few texts that a pattern matches, and whether it matches a text. A pattern that Apache's library
//! for regular expressions reads in another way than `regex` is not understood.

use std::cell::RefCell;
use std::collections::HashMap;

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ast::{self, AssertionKind, Ast, ClassSetItem, FlagsItemKind, LiteralKind};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use crate::event::Work;

/// Most texts that are promised for one pattern.
const MOST_TEXTS: usize = 16;

/// The characters of a class that has all but one.
const MOST_CLASS: usize = 255;

/// The depth limit of a pattern.
const NEST_LIMIT: u32 = 32;

/// The size limit of a compiled pattern, in bytes.
const SIZE_LIMIT: usize = 16 << 10;

/// Most patterns that are compiled at a time.
const MOST_COMPILED: usize = 2000;

/// The units of work to search a text, and each of its bytes; to find captures too; and to compile a byte of a pattern.
const SEARCH: u64 = 300;
const SEARCHED_BYTE: u64 = 10;
const CAPTURES: u64 = 1000;
const COMPILED_BYTE: u64 = 2000;

/// A regular expression of a rule or a condition.
#[derive(Debug)]
pub(crate) struct Pattern {
    source: String,
    ignores_case: bool,
    /// The text with which every match begins, at the begin of the searched text.
    start: Vec<u8>,
}

impl Pattern {
    pub(crate) fn new(source: &str, ignores_case: bool) -> Self {
        let is_anchored = source.trim_start_matches('(').starts_with('^');
        let hir = Some(source).filter(|_| is_anchored && !ignores_case);
        let start = hir.and_then(parse).and_then(|hir| literal_start(&hir));
        Self {
            source: source.to_owned(),
            ignores_case,
            start: start.unwrap_or_default(),
        }
    }

    /// Whether a text begins as every match does; a match may still fail.
    fn may_match(&self, text: &str) -> bool {
        text.as_bytes().starts_with(&self.start)
    }

    /// The texts that the pattern matches from their begin to their end, with `.` read as itself, and letters as they
    /// are written. `None` if these are more than [`MOST_TEXTS`], or the pattern is not understood.
    pub(crate) fn texts(&self) -> Option<Vec<String>> {
        let found = texts_of(&parse(&self.source)?, Reading::All)?;
        let is_whole = found.iter().all(|text| text.is_start && text.is_end);
        if !is_whole {
            return None;
        }
        distinct(found)
    }

    /// Whether the pattern matches no text beside [`Self::texts`].
    pub(crate) fn is_exact(&self) -> bool {
        let mut escaped = false;
        let has_dot = self.source.chars().any(|char| {
            let is_dot = char == '.' && !escaped;
            escaped = char == '\\' && !escaped;
            is_dot
        });
        !has_dot && !self.ignores_case && !self.source.contains("(?i")
    }

    /// Some texts that the pattern matches somewhere.
    pub(crate) fn samples(&self) -> Vec<String> {
        let hir = parse(&self.source);
        hir.and_then(|hir| texts_of(&hir, Reading::Some))
            .and_then(distinct)
            .unwrap_or_default()
    }
}

/// The text behind `^` with which every match begins.
fn literal_start(hir: &Hir) -> Option<Vec<u8>> {
    match hir.kind() {
        HirKind::Capture(capture) => literal_start(&capture.sub),
        HirKind::Concat(parts) => {
            let (first, rest) = parts.split_first()?;
            let literals = rest.iter().map_while(|part| match part.kind() {
                HirKind::Literal(literal) => Some(&*literal.0),
                _ => None,
            });
            matches!(first.kind(), HirKind::Look(Look::Start))
                .then(|| literals.flatten().copied().collect())
        }
        _ => None,
    }
}

/// The texts in their order, each once; `None` if one is not UTF-8.
fn distinct(found: Vec<Text>) -> Option<Vec<String>> {
    let mut texts: Vec<String> = vec![];
    for text in found {
        let text = String::from_utf8(text.bytes).ok()?;
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    Some(texts)
}

/// The captures of a match; the first is the whole match.
pub(crate) type Captures = Vec<String>;

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Match {
    Yes(Captures),
    No,
    /// The pattern is not understood, or a limit is reached.
    Unknown,
}

impl Match {
    /// Whether the pattern matches, if that is known.
    pub(crate) fn is_match(&self) -> Option<bool> {
        match self {
            Self::Yes(_) => Some(true),
            Self::No => Some(false),
            Self::Unknown => None,
        }
    }

    pub(crate) fn captures(self) -> Option<Captures> {
        match self {
            Self::Yes(captures) => Some(captures),
            Self::No | Self::Unknown => None,
        }
    }
}

/// Matches patterns, within limits of memory and work.
#[derive(Debug, Default)]
pub(crate) struct Matcher {
    /// By their source: the patterns that regard case, and those that ignore it.
    compiled: RefCell<[HashMap<String, Option<Regex>>; 2]>,
    work: Work,
}

impl Matcher {
    pub(crate) fn new(work: Work) -> Self {
        Self {
            compiled: RefCell::default(),
            work,
        }
    }

    /// Searches the text for the pattern.
    pub(crate) fn find(&self, pattern: &Pattern, text: &str) -> Match {
        let text_of = |group: Option<regex::bytes::Match<'_>>| {
            let bytes = group.map_or(&b""[..], |it| it.as_bytes());
            String::from_utf8_lossy(bytes).into_owned()
        };
        let found = self.search(pattern, text, CAPTURES, None, |regex| {
            let found = regex.captures(text.as_bytes());
            found.map(|found| found.iter().map(text_of).collect())
        });
        match found {
            None => Match::Unknown,
            Some(None) => Match::No,
            Some(Some(captures)) => Match::Yes(captures),
        }
    }

    /// Whether the pattern matches, if that is known.
    pub(crate) fn is_match(&self, pattern: &Pattern, text: &str) -> Option<bool> {
        let search = |regex: &Regex| regex.is_match(text.as_bytes());
        self.search(pattern, text, SEARCH, false, search)
    }

    /// The result of a search, which is `no` if the text begins in another way; `None` if it is not known.
    fn search<T>(
        &self,
        pattern: &Pattern,
        text: &str,
        units: u64,
        no: T,
        search: impl FnOnce(&Regex) -> T,
    ) -> Option<T> {
        if !self.spend(1) {
            return None;
        }
        if !pattern.may_match(text) {
            return Some(no);
        }
        let mut compiled = self.compiled.borrow_mut();
        let number: usize = compiled.iter().map(HashMap::len).sum();
        let compiled = &mut compiled[usize::from(pattern.ignores_case)];
        if !compiled.contains_key(&pattern.source) {
            let is_paid = self.spend(COMPILED_BYTE * pattern.source.len() as u64);
            if number == MOST_COMPILED || !is_paid {
                return None;
            }
            compiled.insert(pattern.source.clone(), compile(pattern));
        }
        let regex = compiled.get(&pattern.source)?.as_ref()?;
        self.spend(units + SEARCHED_BYTE * text.len() as u64)
            .then(|| search(regex))
    }

    /// Takes units of work; false if none are left.
    pub(crate) fn spend(&self, units: u64) -> bool {
        self.work.spend(units)
    }

    /// Whether no work is left.
    pub(crate) fn is_spent(&self) -> bool {
        self.work.is_spent()
    }

    /// Drops all compiled patterns.
    pub(crate) fn forget(&self) {
        self.compiled.take();
    }
}

fn compile(pattern: &Pattern) -> Option<Regex> {
    parse(&pattern.source)?;
    RegexBuilder::new(&pattern.source)
        .unicode(false)
        .case_insensitive(pattern.ignores_case)
        .nest_limit(NEST_LIMIT)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(SIZE_LIMIT)
        .build()
        .ok()
}

/// The meaning of a pattern, without regard to case; `None` if it is not understood.
fn parse(source: &str) -> Option<Hir> {
    let ast = ast::parse::ParserBuilder::new()
        .nest_limit(NEST_LIMIT)
        .build()
        .parse(source)
        .ok()?;
    ast::visit(&ast, Dialect).ok()?;
    TranslatorBuilder::new()
        .unicode(false)
        .utf8(false)
        .build()
        .translate(source, &ast)
        .ok()
}

/// Refuses syntax that PCRE has not, or that means something else there.
struct Dialect;

impl ast::Visitor for Dialect {
    type Output = ();
    type Err = ();

    fn finish(self) -> Result<(), ()> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), ()> {
        let is_common = match ast {
            // PCRE: a possessive or lazy repetition.
            Ast::Repetition(it) => !matches!(*it.ast, Ast::Repetition(_)),
            Ast::Assertion(it) => matches!(
                it.kind,
                AssertionKind::StartLine
                    | AssertionKind::EndLine
                    | AssertionKind::StartText
                    | AssertionKind::WordBoundary
                    | AssertionKind::NotWordBoundary
            ),
            Ast::Literal(it) => is_common_literal(it),
            Ast::ClassUnicode(_) => false,
            Ast::Flags(it) => has_common_flags(&it.flags),
            Ast::Group(it) => it.flags().is_none_or(has_common_flags),
            _ => true,
        };
        is_common.then_some(()).ok_or(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), ()> {
        let is_common = match item {
            // PCRE: `[` in a class is a character.
            ClassSetItem::Bracketed(_) | ClassSetItem::Unicode(_) => false,
            ClassSetItem::Literal(it) => is_common_literal(it),
            _ => true,
        };
        is_common.then_some(()).ok_or(())
    }

    fn visit_class_set_binary_op_pre(&mut self, _: &ast::ClassSetBinaryOp) -> Result<(), ()> {
        Err(())
    }
}

fn is_common_literal(literal: &ast::Literal) -> bool {
    match &literal.kind {
        // Beyond ASCII, a number is a byte to Apache.
        LiteralKind::HexFixed(kind) | LiteralKind::HexBrace(kind) => {
            *kind == ast::HexLiteralKind::X && literal.c.is_ascii()
        }
        _ => true,
    }
}

fn has_common_flags(flags: &ast::Flags) -> bool {
    let is_common = |item: &ast::FlagsItem| {
        matches!(
            item.kind,
            FlagsItemKind::Negation
                | FlagsItemKind::Flag(
                    ast::Flag::CaseInsensitive
                        | ast::Flag::MultiLine
                        | ast::Flag::DotMatchesNewLine
                )
        )
    };
    flags.items.iter().all(is_common)
}

/// The texts that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Every text; none if they are too many.
    All,
    /// The shortest ones.
    Some,
}

/// A text, and whether the pattern wants the begin and the end of a path around it.
#[derive(Debug, Clone, Default)]
struct Text {
    bytes: Vec<u8>,
    is_start: bool,
    is_end: bool,
}

impl Text {
    fn of(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            ..Self::default()
        }
    }

    /// Both texts; `None` if an anchor is between them.
    fn and(&self, next: &Self) -> Option<Self> {
        let is_apart =
            self.is_end && !next.bytes.is_empty() || next.is_start && !self.bytes.is_empty();
        (!is_apart).then(|| Self {
            bytes: [&*self.bytes, &*next.bytes].concat(),
            is_start: self.is_start || next.is_start,
            is_end: self.is_end || next.is_end,
        })
    }
}

fn texts_of(hir: &Hir, reading: Reading) -> Option<Vec<Text>> {
    match hir.kind() {
        HirKind::Empty => Some(vec![Text::default()]),
        HirKind::Literal(literal) => Some(vec![Text::of(&literal.0)]),
        HirKind::Class(class) => of_class(class, reading),
        HirKind::Look(look) => of_look(*look, reading),
        HirKind::Repetition(repetition) => of_repetition(repetition, reading),
        HirKind::Capture(capture) => texts_of(&capture.sub, reading),
        HirKind::Concat(parts) => {
            let mut texts = vec![Text::default()];
            for part in parts {
                texts = product(&texts, &texts_of(part, reading)?, reading)?;
            }
            Some(texts)
        }
        HirKind::Alternation(parts) => {
            let mut texts = vec![];
            for part in parts {
                texts.extend(texts_of(part, reading)?);
                texts = limited(texts, reading)?;
            }
            Some(texts)
        }
    }
}

fn of_look(look: Look, reading: Reading) -> Option<Vec<Text>> {
    let text = Text {
        is_start: look == Look::Start,
        is_end: look == Look::End,
        ..Text::default()
    };
    (text.is_start || text.is_end || reading == Reading::Some).then(|| vec![text])
}

fn of_class(class: &Class, reading: Reading) -> Option<Vec<Text>> {
    let texts: Vec<Vec<u8>> = match class {
        Class::Bytes(class) => class
            .iter()
            .flat_map(|it| it.start()..=it.end())
            .map(|byte| vec![byte])
            .collect(),
        // Letters between `|`.
        Class::Unicode(class) => class
            .iter()
            .flat_map(|it| it.start()..=it.end())
            .take(MOST_CLASS)
            .map(String::from)
            .map(String::into_bytes)
            .collect(),
    };
    // Only a dot stands for all others.
    if texts.len() >= MOST_CLASS {
        return Some(vec![Text::of(b".")]);
    }
    let texts: Vec<Text> = match reading {
        Reading::All => texts.iter().map(|text| Text::of(text)).collect(),
        Reading::Some => {
            let is = |text: &&Vec<u8>, wants: fn(&u8) -> bool| text.iter().all(wants);
            let mut letters = texts.iter().filter(|it| is(it, u8::is_ascii_alphanumeric));
            let mut others = texts.iter().filter(|it| is(it, u8::is_ascii_graphic));
            letters
                .next()
                .or_else(|| others.next())
                .map(|text| Text::of(text))
                .into_iter()
                .collect()
        }
    };
    limited(texts, reading)
}

fn of_repetition(repetition: &Repetition, reading: Reading) -> Option<Vec<Text>> {
    let least = usize::try_from(repetition.min).ok()?;
    let most = match (repetition.max, reading) {
        (_, Reading::Some) => least,
        (Some(most), Reading::All) => usize::try_from(most).ok()?,
        (None, Reading::All) => return None,
    };
    if most > MOST_TEXTS {
        return None;
    }
    let once = texts_of(&repetition.sub, reading)?;
    let (mut texts, mut repeated) = (vec![], vec![Text::default()]);
    for times in 0..=most {
        if times >= least {
            texts.extend(repeated.iter().cloned());
            texts = limited(texts, reading)?;
        }
        if times < most {
            repeated = product(&repeated, &once, reading)?;
        }
    }
    Some(texts)
}

fn product(one: &[Text], other: &[Text], reading: Reading) -> Option<Vec<Text>> {
    let all = one
        .iter()
        .flat_map(|one| other.iter().filter_map(|other| one.and(other)));
    limited(all.collect(), reading)
}

/// The texts, if they are few; of too many the first ones, if some are enough.
fn limited(mut texts: Vec<Text>, reading: Reading) -> Option<Vec<Text>> {
    if reading == Reading::Some {
        texts.truncate(MOST_TEXTS);
    }
    (texts.len() <= MOST_TEXTS).then_some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Option<Vec<String>> {
        Pattern::new(source, true).texts()
    }

    #[test]
    fn few_texts_are_found() {
        for (source, wanted) in [
            ("^$", &[""][..]),
            ("^a/?$", &["a", "a/"]),
            ("^a(b|c)$", &["ab", "ac"]),
            ("^(?:a|b)?c{2}$", &["cc", "acc", "bcc"]),
            ("^a.owl$", &["a.owl"]),
            ("^a\\.owl$", &["a.owl"]),
            ("^[ab][12]$", &["a1", "a2", "b1", "b2"]),
            ("^a\\ b$", &["a b"]),
            ("(^a$|^b$)", &["a", "b"]),
            ("^(a|a)$", &["a"]),
            ("^\u{e9}$", &["\u{e9}"]),
            (
                "^[[:digit:]]$",
                &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
            ),
        ] {
            let found = texts(source).unwrap_or_else(|| panic!("{source}"));
            let mut found: Vec<&str> = found.iter().map(String::as_str).collect();
            let mut wanted = wanted.to_vec();
            found.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(found, wanted, "{source}");
        }
    }

    #[test]
    fn many_texts_and_other_dialects_are_none() {
        for source in [
            "a",
            "^a",
            "a$",
            "^a.*$",
            "^a|b$",
            "^[a-z]$",
            "^(a|b)(c|d)(e|f)(g|h)(i|j)$",
            "^a{17}$",
            "^a++$",
            "^[a[b]$",
            "^[a&&b]$",
            "^\\pL$",
            "^a\\b$",
            "^(a)\\1$",
            "^(?x)a b$",
            "^(?!a)b$",
            "^\\x{e9}$",
            "^(",
            "^\\<a$",
            "^[\u{e9}]$",
        ] {
            assert_eq!(texts(source), None, "{source}");
        }
        for (source, is_exact) in [("^a\\.b$", true), ("^a.b$", false), ("^a\\\\.b$", false)] {
            assert_eq!(Pattern::new(source, false).is_exact(), is_exact);
        }
        assert!(!Pattern::new("^a$", true).is_exact());
        // No path is before its own begin.
        assert_eq!(texts("^a$^b$"), Some(vec![]));
    }

    #[test]
    fn a_text_that_begins_otherwise_is_not_searched() {
        for (source, start) in [
            ("^ab/c$", "ab/c"),
            ("^ab?$", "a"),
            ("^ab{2}", "a"),
            ("^ab\\.c", "ab.c"),
            ("^(ab)", ""),
            ("(^ab(c|d))", "ab"),
            ("^ab(c|d)$", "ab"),
            ("^a|b$", ""),
            ("^a|^b", ""),
            ("ab", ""),
            ("^a(?i)b", "a"),
            ("(?i)^ab", ""),
            ("(?m)^ab", ""),
        ] {
            let found = Pattern::new(source, false).start;
            assert_eq!(String::from_utf8_lossy(&found), start, "{source}");
        }
        let matcher = Matcher::default();
        for (text, is_match) in [("a", true), ("ab", true), ("b", false), ("", false)] {
            let found = matcher.find(&Pattern::new("^ab?", false), text);
            assert_eq!(found.is_match(), Some(is_match), "{text}");
        }
        assert!(
            matcher
                .find(&Pattern::new("^AB", true), "ab")
                .is_match()
                .unwrap()
        );
    }

    #[test]
    fn samples_are_matched() {
        let matcher = Matcher::default();
        for source in [
            "text/html",
            "rdf.xml",
            "^application/(ld\\+)?json",
            "n[0-9]+.*x",
            "[^a]",
        ] {
            let pattern = Pattern::new(source, false);
            let samples = pattern.samples();
            assert!(!samples.is_empty(), "{source}");
            for sample in samples {
                assert!(
                    matcher.find(&pattern, &sample).is_match() == Some(true),
                    "{source} {sample}"
                );
            }
        }
    }

    #[test]
    fn matches_have_captures_and_limits() {
        let matcher = Matcher::default();
        let pattern = Pattern::new("^(A)(x)?", true);
        let found = matcher.find(&pattern, "ab").captures();
        assert_eq!(found, Some(["a", "a", ""].map(str::to_owned).to_vec()));
        assert_eq!(matcher.find(&pattern, "b"), Match::No);
        for source in ["(?=a)", "\\w{9999}"] {
            let other = Pattern::new(source, false);
            assert_eq!(matcher.find(&other, "a"), Match::Unknown, "{source}");
        }
        assert!(!matcher.spend(u64::MAX));
        assert_eq!(matcher.find(&pattern, "ab"), Match::Unknown);
        assert_eq!(matcher.is_match(&pattern, "ab"), None);
    }
}
