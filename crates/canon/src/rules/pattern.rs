//! Patterns: regular expressions, parsed one by one, then joined into one for a rule.
//!
//! The `regex` crate matches in linear time, and limits bound the size of a pattern. Hosts and paths
//! are ASCII, so patterns match bytes, and `\d` is `0` to `9`. `.` is any byte.

use std::ops::Range;

use regex::bytes::{Captures, Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};
use regex_syntax::{Error, ParserBuilder};
use urldb_text::Code;

use super::lex::StringLiteral;
use super::parse::{PatternText, Spanned};
use super::report::Report;
use super::url_parts::UrlPart;

/// The largest compiled regular expression of a rule, in bytes.
const SIZE_LIMIT: usize = 64 << 10;
const NEST_LIMIT: u32 = 32;
/// The deepest nesting of the joined patterns of a rule.
const RULE_NEST_LIMIT: u32 = NEST_LIMIT + 8;

/// A pattern that is a valid regular expression.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    source: String,
    hir: Hir,
}

impl Pattern {
    /// Parses a pattern, and reports its mistakes.
    pub(crate) fn parse(pattern: &PatternText, report: &mut Report) -> Option<Self> {
        let text = &pattern.text;
        let source = text.node.value.clone();
        if source.contains(|c: char| c.is_control()) {
            let message = "the pattern has a control character: `\\b` and `\\1` are characters in a \
                           string, write `\\\\` for a backslash";
            report.add(Code::RuleControlCharacter, text.span.clone(), message);
        }
        let hir = match parser().parse(&source) {
            Ok(hir) => hir,
            Err(error) => {
                let (what, span) = describe(&error);
                let message = format!("the pattern is not a regular expression: {what}");
                report.add(Code::RulePattern, script_span(text, span), message);
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
        if !pattern.is_lower {
            return Some(Self { source, hir });
        }
        // Matching the text in lower case is matching without case.
        let source = format!("(?i:{source})");
        match parser().parse(&source) {
            Ok(hir) => Some(Self { source, hir }),
            Err(error) => {
                let message = format!("the pattern cannot be in `lower()`: {}", describe(&error).0);
                report.add(Code::RulePattern, text.span.clone(), message);
                None
            }
        }
    }

    /// Whether a match can end in `byte`.
    pub(crate) fn may_end_in(&self, byte: u8) -> bool {
        may_end_in(&self.hir, byte)
    }

    /// Whether the pattern has a group, which narrows the value.
    pub(crate) fn captures(&self) -> bool {
        self.hir.properties().explicit_captures_len() == 1
    }

    /// Whether the pattern matches all of `text`. Compiles the pattern each time, so only for checks.
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

/// Compiles `source` with the settings of [`parser`]. A `/` ends a line, so that `(?m:^|$)` is the
/// boundary of a segment.
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

/// The range of the script that the bytes `span` of a string come from.
fn script_span(text: &Spanned<StringLiteral>, span: Range<usize>) -> Range<usize> {
    let at = |index: usize| text.node.origins.get(index).copied();
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

/// A pattern, and how a rule uses the pattern.
#[derive(Debug, Clone)]
pub(crate) struct RulePattern {
    pub(crate) pattern: Pattern,
    pub(crate) required: bool,
    /// Whether the second attempt adds a separator, which the pattern lacks.
    pub(crate) add_separator: bool,
}

/// The joined patterns of a rule.
///
/// In a host the patterns match the whole text, and an optional pattern prefers to match nothing. In a
/// path the patterns match a beginning that ends where a segment ends, and an optional pattern prefers
/// to match, since no text after the beginning could force the match.
#[derive(Debug, Clone)]
pub(crate) struct Matcher {
    strict: Regex,
    /// With separators added where patterns lack them.
    with_separators: Option<Regex>,
    /// For each pattern the number of its group, and whether the pattern has a group of its own.
    groups: Vec<(usize, bool)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PatternMatch<'a> {
    pub(crate) text: &'a str,
    /// The text of the group in the pattern, else all of `text`.
    pub(crate) value: &'a str,
}

#[derive(Debug)]
pub(crate) struct RuleMatch<'a> {
    /// The match of each pattern, if it matched.
    pub(crate) patterns: Vec<Option<PatternMatch<'a>>>,
    /// The end of the last match, in bytes.
    pub(crate) end: usize,
    /// Whether separators had to be added.
    pub(crate) with_separators: bool,
}

impl Matcher {
    /// Joins `patterns`. The error is a message for people: the patterns are too large together, or do
    /// not fit together.
    pub(crate) fn join(patterns: &[RulePattern], part: UrlPart) -> Result<Self, String> {
        let compiled = |with_separators: bool| {
            let mut source = r"\A".to_owned();
            for pattern in patterns {
                source.push_str(&regex_source(pattern, part, with_separators));
            }
            source.push_str(match part {
                UrlPart::Host | UrlPart::Query => r"\z",
                UrlPart::Path => "(?m:^|$)",
            });
            compile(&source).map_err(|error| join_error(&error))
        };
        let mut next = 1;
        let mut groups = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            let captures = pattern.pattern.captures();
            groups.push((next, captures));
            next += 1 + usize::from(captures);
        }
        let strict = compiled(false)?;
        if strict.captures_len() != next {
            return Err("the patterns do not fit together".to_owned());
        }
        let may_add = patterns.iter().any(|pattern| pattern.add_separator);
        Ok(Self {
            strict,
            with_separators: may_add.then(|| compiled(true)).transpose()?,
            groups,
        })
    }

    pub(crate) fn matches<'a>(&self, text: &'a str) -> Option<RuleMatch<'a>> {
        let strict = self.strict.captures(text.as_bytes());
        let with_separators = strict.is_none();
        let captures = match (strict, &self.with_separators) {
            (Some(captures), _) => captures,
            (None, Some(regex)) => regex.captures(text.as_bytes())?,
            (None, None) => return None,
        };
        let pattern_match = |&(group, within): &(usize, bool)| {
            let all = group_text(text, &captures, group)?;
            let value = within
                .then(|| group_text(text, &captures, group + 1))
                .flatten();
            Some(PatternMatch {
                text: all,
                value: value.unwrap_or(all),
            })
        };
        Some(RuleMatch {
            patterns: self.groups.iter().map(pattern_match).collect(),
            end: captures.get(0).map_or(0, |all| all.end()),
            with_separators,
        })
    }
}

/// The regular expression of one pattern, in a group.
fn regex_source(rule_pattern: &RulePattern, part: UrlPart, with_separators: bool) -> String {
    let pattern = &rule_pattern.pattern.source;
    let add_separator = with_separators && rule_pattern.add_separator;
    let separator = match part {
        UrlPart::Host if add_separator => r"\.",
        UrlPart::Path if add_separator => r"(?:/|\z)",
        _ => "",
    };
    let all = format!("((?:{pattern}){separator})");
    match part {
        _ if rule_pattern.required => all,
        UrlPart::Host | UrlPart::Query => format!("(?:|{all})"),
        UrlPart::Path => format!("(?:{all}|)"),
    }
}

/// The text of a group; `None` where the pattern matched half a character.
fn group_text<'a>(text: &'a str, captures: &Captures<'_>, group: usize) -> Option<&'a str> {
    text.get(captures.get(group)?.range())
}

fn join_error(error: &regex::Error) -> String {
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
