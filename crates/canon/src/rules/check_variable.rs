//! A variable checked: its pattern, its replacement or default.

use super::check::Checker;
use super::diagnostic::Code;
use super::parse::{Declaration, Function};
use super::pattern::{Pattern, Piece};
use super::slot::{Kind, Slot, without_end};
use super::trace::{Namespace, Part};
use crate::identity::check_path;

impl Checker<'_> {
    /// The place of a variable, and its pattern. The last one of a path `closes`: what follows is
    /// the boundary of a segment, whatever the pattern ends in. So is what follows in a query.
    pub(crate) fn slot(
        &mut self,
        declaration: &Declaration,
        namespace: Namespace,
        closes: bool,
    ) -> Option<(Slot, Piece)> {
        self.function(declaration);
        let pattern = Pattern::parse(&declaration.pattern, self.report)?;
        self.unmatched(declaration, &pattern, namespace);
        let separator = declaration.part.separator();
        let ends_in = |c: char| u8::try_from(c).is_ok_and(|b| pattern.may_end_in(b));
        let separate = match separator {
            Some(separator) => !closes && !ends_in(separator) && !ends_in('-'),
            None => false,
        };
        if let (true, Some(separator)) = (separate, separator) {
            let message = format!(
                "the pattern has no `{separator}` at its end: where the rule does not match, it is \
                 tried with one"
            );
            let span = declaration.pattern.span.clone();
            self.report.add(Code::RuleSeparator, span, message);
        }
        let slot = Slot {
            place: self.cursor.place(self.source, declaration.name.span.start),
            name: declaration.name.is.clone(),
            namespace,
            part: declaration.part,
            kind: kind(declaration),
            joint: separator.map(|s| if !ends_in(s) && ends_in('-') { '-' } else { s }),
        };
        let piece = Piece {
            pattern,
            required: declaration.required,
            separate,
        };
        Some((slot, piece))
    }

    /// What can be said of a function without its pattern.
    fn function(&mut self, declaration: &Declaration) {
        match &declaration.function {
            Function::Website(replacement) => {
                if let Some(problem) = unfit(declaration.part, &replacement.is.value) {
                    let message = format!("the replacement {problem}");
                    let span = replacement.span.clone();
                    self.report.add(Code::RuleReplacement, span, message);
                }
            }
            Function::Flag(default) if declaration.required => {
                let message = "this flag is required: a page without it is not admitted, and so \
                               cannot be a record; write `optional`";
                let span = declaration.name.span.clone();
                self.report.add(Code::RuleRequiredFlag, span, message);
                if let Some(default) = default {
                    let message = "a required flag has no default: remove it, or write `optional`";
                    let span = default.span.clone();
                    self.report.add(Code::RuleRequiredDefault, span, message);
                }
            }
            Function::Flag(_) | Function::Group => {}
        }
    }

    /// A text that will be in URLs should be matched there.
    fn unmatched(&mut self, declaration: &Declaration, pattern: &Pattern, namespace: Namespace) {
        let (text, message) = match &declaration.function {
            Function::Website(replacement) => (
                replacement,
                "the pattern does not match the replacement, so that no URL with it is admitted",
            ),
            Function::Flag(Some(default)) if namespace == Namespace::Official => (
                default,
                "the pattern does not match the default, which the official URL will have",
            ),
            Function::Flag(_) | Function::Group => return,
        };
        let absent = text.is.value.is_empty() && !declaration.required;
        if !absent && !matches_somehow(pattern, &text.is.value, declaration.part) {
            let span = text.span.clone();
            self.report
                .add(Code::RuleReplacementUnmatched, span, message);
        }
    }
}

fn kind(declaration: &Declaration) -> Kind {
    match &declaration.function {
        Function::Group => Kind::Group,
        Function::Website(replacement) => Kind::Website(replacement.is.value.clone()),
        Function::Flag(default) => Kind::Flag(default.as_ref().map(|default| {
            without_end(&default.is.value, declaration.part.separator()).to_owned()
        })),
    }
}

/// Does `pattern` match `text`, with a separator at its end or without?
fn matches_somehow(pattern: &Pattern, text: &str, part: Part) -> bool {
    let separator = part.separator();
    let bare = without_end(text, separator);
    pattern.matches(text)
        || pattern.matches(bare)
        || separator.is_some_and(|s| pattern.matches(&format!("{bare}{s}")))
}

/// Why `text` cannot stand in `part`; reads on from "the replacement".
fn unfit(part: Part, text: &str) -> Option<&'static str> {
    match part {
        Part::Host => {
            let allowed =
                |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
            (!text.bytes().all(allowed)).then_some(
                "cannot stand in a host: write lower-case letters, digits, `-`, `_` and `.`",
            )
        }
        Part::Path => {
            let path = format!("/{text}");
            let fit = !text.starts_with('/') && !text.contains('?') && check_path(&path).is_ok();
            (!fit).then_some("cannot stand in a path: write it as it is in URLs, without first `/`")
        }
        Part::Query => None,
    }
}
