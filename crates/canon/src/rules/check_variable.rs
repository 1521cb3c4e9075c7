//! A variable checked: its pattern, its replacement or default.

use super::check::Checker;
use super::diagnostic::Code;
use super::lex::Text;
use super::parse::{At, Declaration, Function};
use super::pattern::{Pattern, Piece};
use super::slot::{Kind, Slot, without_end};
use super::trace::{Namespace, Part};
use crate::path::check_path;

impl Checker<'_> {
    /// The place of a variable, and its pattern. The last one of a path `closes`: what follows is
    /// the boundary of a segment, whatever the pattern ends in. So is what follows in a query.
    pub(crate) fn slot(
        &mut self,
        declaration: &Declaration,
        namespace: Namespace,
        closes: bool,
    ) -> Option<(Slot, Piece)> {
        let pattern = Pattern::parse(&declaration.pattern, self.report)?;
        let kind = self.kind(declaration, &pattern, namespace)?;
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
            kind,
            joint: separator.map(|s| if !ends_in(s) && ends_in('-') { '-' } else { s }),
        };
        let piece = Piece {
            pattern,
            required: declaration.required,
            separate,
        };
        Some((slot, piece))
    }

    fn kind(
        &mut self,
        declaration: &Declaration,
        pattern: &Pattern,
        namespace: Namespace,
    ) -> Option<Kind> {
        match &declaration.function {
            Function::Group => Some(Kind::Group),
            Function::Website(replacement) => {
                self.replacement(declaration, replacement, pattern)?;
                Some(Kind::Website(replacement.is.value.clone()))
            }
            Function::Flag(default) => {
                self.flag(declaration, default.as_ref(), pattern, namespace);
                let separator = declaration.part.separator();
                let default = default
                    .as_ref()
                    .map(|d| without_end(&d.is.value, separator));
                Some(Kind::Flag(default.map(str::to_owned)))
            }
        }
    }

    fn replacement(
        &mut self,
        declaration: &Declaration,
        replacement: &At<Text>,
        pattern: &Pattern,
    ) -> Option<()> {
        let text = &replacement.is.value;
        let span = replacement.span.clone();
        if let Some(problem) = unfit(declaration.part, text) {
            let message = format!("the replacement {problem}");
            self.report.add(Code::RuleReplacement, span, message);
            return None;
        }
        let absent = text.is_empty() && !declaration.required;
        if !absent && !matches_somehow(pattern, text, declaration.part) {
            let message = "the pattern does not match the replacement: URLs with it are refused, and \
                           so are the official ones";
            self.report
                .add(Code::RuleReplacementUnmatched, span, message);
        }
        Some(())
    }

    fn flag(
        &mut self,
        declaration: &Declaration,
        default: Option<&At<Text>>,
        pattern: &Pattern,
        namespace: Namespace,
    ) {
        if declaration.required {
            let message = "this flag is required: a page without it is not admitted, and so cannot \
                           be a record; write `optional`";
            let span = declaration.name.span.clone();
            self.report.add(Code::RuleRequiredFlag, span, message);
        }
        let Some(default) = default else { return };
        let text = &default.is.value;
        let span = default.span.clone();
        if declaration.required {
            let message = "a required flag has no default: remove it, or write `optional`";
            self.report.add(Code::RuleRequiredDefault, span, message);
        } else if namespace == Namespace::Official
            && !text.is_empty()
            && !matches_somehow(pattern, text, declaration.part)
        {
            let message =
                "the pattern does not match the default, which the official URL will have";
            self.report
                .add(Code::RuleReplacementUnmatched, span, message);
        }
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
