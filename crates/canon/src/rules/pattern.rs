//! Patterns: regular expressions, looked at one by one, then joined into one for a rule.
//!
//! Only what takes linear time: the `regex` crate, with limits. Hosts and paths are ASCII, so
//! patterns are about bytes, and `\d` is `0` to `9`. `.` is any byte.

use std::ops::Range;

use regex::bytes::{Captures, Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};
use regex_syntax::{Error, ParserBuilder};

use super::diagnostic::{Code, Report};
use super::lex::Text;
use super::parse::At;
use super::trace::Part;

/// The largest program that the patterns of a rule may become, in bytes.
const SIZE_LIMIT: usize = 64 << 10;
/// How deep a pattern may be nested, and how deep all patterns of a rule.
const NEST_LIMIT: u32 = 32;
const RULE_NEST_LIMIT: u32 = NEST_LIMIT + 8;

/// A pattern that is a regular expression.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    source: String,
    hir: Hir,
}

impl Pattern {
    /// Reads a pattern and reports what is wrong with it.
    pub(crate) fn parse(text: &At<Text>, report: &mut Report) -> Option<Self> {
        let source = text.is.value.clone();
        if source.contains(|c: char| c.is_control()) {
            let message = "the pattern has a control character: `\\b` and `\\1` are characters in a \
                           string, write `\\\\` for a backslash";
            report.add(Code::RuleControlCharacter, text.span.clone(), message);
        }
        let hir = match parser().parse(&source) {
            Ok(hir) => hir,
            Err(error) => {
                let (what, span) = describe(&error);
                let message = format!("the pattern is no regular expression: {what}");
                report.add(Code::RulePattern, origin(text, span), message);
                return None;
            }
        };
        let properties = hir.properties();
        if properties.explicit_captures_len() > 1 {
            let message = "the pattern captures more than once: write `(?:` for the groups that \
                           only join";
            report.add(Code::RulePattern, text.span.clone(), message);
            return None;
        }
        if !properties.look_set().is_empty() {
            let message = "anchors and word boundaries are not needed: a pattern always matches a \
                           whole part";
            report.add(Code::RuleAnchor, text.span.clone(), message);
        }
        Some(Self { source, hir })
    }

    /// Can a match end in `byte`?
    pub(crate) fn may_end_in(&self, byte: u8) -> bool {
        may_end_in(&self.hir, byte)
    }

    /// Has it a group that narrows the value?
    pub(crate) fn captures(&self) -> bool {
        self.hir.properties().explicit_captures_len() == 1
    }

    /// Does it match all of `text`? Compiles it, so only for checks.
    pub(crate) fn matches(&self, text: &str) -> bool {
        compile(&format!(r"\A(?:{})\z", self.source)).is_ok_and(|r| r.is_match(text.as_bytes()))
    }
}

fn parser() -> regex_syntax::Parser {
    ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .dot_matches_new_line(true)
        .nest_limit(NEST_LIMIT)
        .build()
}

/// `source`, to be matched as the parsers of patterns understand it. A `/` ends a line, so that
/// `(?m:^|$)` is the boundary of a segment.
fn compile(source: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(source)
        .unicode(false)
        .dot_matches_new_line(true)
        .line_terminator(b'/')
        .nest_limit(RULE_NEST_LIMIT)
        .size_limit(SIZE_LIMIT)
        .build()
}

fn describe(error: &Error) -> (String, Range<usize>) {
    let range = |span: &regex_syntax::ast::Span| span.start.offset..span.end.offset;
    match error {
        Error::Parse(error) => (error.kind().to_string(), range(error.span())),
        Error::Translate(error) => (error.kind().to_string(), range(error.span())),
        other => (other.to_string(), 0..0),
    }
}

/// Where in the script the bytes `span` of a string are.
fn origin(text: &At<Text>, span: Range<usize>) -> Range<usize> {
    let at = |index: usize| text.is.origin.get(index).copied();
    match (at(span.start), at(span.end)) {
        (Some(start), Some(end)) if start < end => start..end,
        (Some(start), _) => start..start + 1,
        _ => text.span.clone(),
    }
}

fn may_end_in(hir: &Hir, byte: u8) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.last() == Some(&byte),
        HirKind::Class(Class::Bytes(class)) => class
            .iter()
            .any(|range| (range.start()..=range.end()).contains(&byte)),
        HirKind::Class(Class::Unicode(class)) => class
            .iter()
            .any(|range| (range.start()..=range.end()).contains(&char::from(byte))),
        HirKind::Repetition(repetition) => may_end_in(&repetition.sub, byte),
        HirKind::Capture(capture) => may_end_in(&capture.sub, byte),
        HirKind::Alternation(subs) => subs.iter().any(|sub| may_end_in(sub, byte)),
        HirKind::Concat(subs) => {
            let may_be_empty = |sub: &Hir| sub.properties().minimum_len() == Some(0);
            let after = subs.iter().rev().take_while(|sub| may_be_empty(sub));
            subs.iter()
                .rev()
                .take(after.count() + 1)
                .any(|sub| may_end_in(sub, byte))
        }
    }
}

/// A pattern of a rule.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) pattern: Pattern,
    pub(crate) required: bool,
    /// Whether a separator is added to it in the second attempt, since it has none.
    pub(crate) separate: bool,
}

/// The patterns of a rule, joined. In a host they match all of it, and an optional one would rather
/// match nothing. In a path they match a beginning that ends where a segment does, and an optional
/// one would rather match: nothing after it could make it.
#[derive(Debug, Clone)]
pub(crate) struct Matcher {
    strict: Regex,
    /// With separators where they are missing.
    separated: Option<Regex>,
    /// For each pattern its group, and whether it has one within.
    groups: Vec<(usize, bool)>,
}

/// What a pattern matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found<'a> {
    pub(crate) text: &'a str,
    /// The group within, or else the text.
    pub(crate) value: &'a str,
}

/// What the patterns of a rule matched.
#[derive(Debug)]
pub(crate) struct Match<'a> {
    /// For each pattern what it matched, if anything.
    pub(crate) found: Vec<Option<Found<'a>>>,
    /// Where the last one ends.
    pub(crate) end: usize,
    /// Whether separators had to be added.
    pub(crate) separated: bool,
}

impl Matcher {
    /// Joins `pieces`; an error for people when they are too large together, or do not fit.
    pub(crate) fn join(pieces: &[Piece], part: Part) -> Result<Self, String> {
        let compiled = |separated: bool| {
            let mut source = r"\A".to_owned();
            for piece in pieces {
                source.push_str(&fragment(piece, part, separated));
            }
            source.push_str(match part {
                Part::Host | Part::Query => r"\z",
                Part::Path => "(?m:^|$)",
            });
            compile(&source).map_err(|error| explain(&error))
        };
        let mut next = 1;
        let mut groups = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let captures = piece.pattern.captures();
            groups.push((next, captures));
            next += 1 + usize::from(captures);
        }
        let strict = compiled(false)?;
        if strict.captures_len() != next {
            return Err("the patterns do not fit together".to_owned());
        }
        let separate = pieces.iter().any(|piece| piece.separate);
        Ok(Self {
            strict,
            separated: separate.then(|| compiled(true)).transpose()?,
            groups,
        })
    }

    /// What the patterns match of `text`.
    pub(crate) fn matches<'a>(&self, text: &'a str) -> Option<Match<'a>> {
        let strict = self.strict.captures(text.as_bytes());
        let separated = strict.is_none();
        let captures = match (strict, &self.separated) {
            (Some(captures), _) => captures,
            (None, Some(regex)) => regex.captures(text.as_bytes())?,
            (None, None) => return None,
        };
        let found = |&(group, within): &(usize, bool)| {
            let all = slice(text, &captures, group)?;
            let value = within.then(|| slice(text, &captures, group + 1)).flatten();
            Some(Found {
                text: all,
                value: value.unwrap_or(all),
            })
        };
        Some(Match {
            found: self.groups.iter().map(found).collect(),
            end: captures.get(0).map_or(0, |all| all.end()),
            separated,
        })
    }
}

fn fragment(piece: &Piece, part: Part, separated: bool) -> String {
    let pattern = &piece.pattern.source;
    let separator = match part {
        Part::Host if separated && piece.separate => r"\.",
        Part::Path if separated && piece.separate => r"(?:/|\z)",
        _ => "",
    };
    let all = format!("((?:{pattern}){separator})");
    match part {
        _ if piece.required => all,
        Part::Host | Part::Query => format!("(?:|{all})"),
        Part::Path => format!("(?:{all}|)"),
    }
}

/// A group as text; nothing where a pattern cut a character in two.
fn slice<'a>(text: &'a str, captures: &Captures<'_>, group: usize) -> Option<&'a str> {
    text.get(captures.get(group)?.range())
}

fn explain(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => {
            format!(
                "the patterns are too large: over {} KiB compiled",
                SIZE_LIMIT >> 10
            )
        }
        _ => "the patterns do not fit together".to_owned(),
    }
}
