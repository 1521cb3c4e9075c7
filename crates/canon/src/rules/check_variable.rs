//! Checks of variables: pattern, replacement and default.

use urldb_text::Code;

use super::check::Checker;
use super::lex::StringLiteral;
use super::parse::{Declaration, Spanned, VariableFunction};
use super::pattern::{Pattern, RulePattern};
use super::trace::Namespace;
use super::url_parts::UrlPart;
use super::variable::{CompiledVariable, VariableKind, without_separator};
use crate::identity::check_path;

impl Checker<'_> {
    /// The compiled variable, and its pattern; `None` where the pattern is invalid.
    ///
    /// After the last variable of a path, and in a query, the pattern needs no separator at its end:
    /// `is_last`.
    pub(crate) fn variable(
        &mut self,
        declaration: &Declaration,
        namespace: Namespace,
        is_last: bool,
    ) -> Option<(CompiledVariable, RulePattern)> {
        let kind = self.kind(declaration, namespace);
        let pattern = Pattern::parse(&declaration.pattern, self.report)?;
        self.check_text_matches(declaration, &pattern, namespace);
        let separator = declaration.part.separator();
        let ends_in = |c: char| u8::try_from(c).is_ok_and(|b| pattern.may_end_in(b));
        let add_separator = match separator {
            Some(separator) => !is_last && !ends_in(separator) && !ends_in('-'),
            None => false,
        };
        if let (true, Some(separator)) = (add_separator, separator) {
            let message = format!(
                "the pattern has no `{separator}` at its end: where the rule does not match, it is \
                 tried with one"
            );
            let span = declaration.pattern.text.span.clone();
            self.report.add(Code::RuleSeparator, span, message);
        }
        let variable = CompiledVariable {
            position: self.cursor.place(self.source, declaration.name.span.start),
            name: declaration.name.node.clone(),
            namespace,
            part: declaration.part,
            kind: kind?,
            is_lower: declaration.pattern.is_lower,
            terminator: separator.map(|s| if !ends_in(s) && ends_in('-') { '-' } else { s }),
        };
        let pattern = RulePattern {
            pattern,
            required: declaration.required,
            add_separator,
        };
        Some((variable, pattern))
    }

    /// The function of a variable, checked as far as that needs no pattern; `None` for a redirect with an
    /// error.
    fn kind(&mut self, declaration: &Declaration, namespace: Namespace) -> Option<VariableKind> {
        Some(match &declaration.function {
            VariableFunction::Group => VariableKind::Group,
            VariableFunction::Website(replacement) => {
                if let Some(problem) = unfit_reason(declaration.part, &replacement.node.value) {
                    let message = format!("the replacement {problem}");
                    let span = replacement.span.clone();
                    self.report.add(Code::RuleReplacement, span, message);
                }
                VariableKind::Website(replacement.node.value.clone())
            }
            VariableFunction::Flag(default) => {
                if declaration.required {
                    self.report_required_flag(declaration, default.as_ref());
                }
                let text = |default: &Spanned<StringLiteral>| {
                    without_separator(&default.node.value, declaration.part).to_owned()
                };
                VariableKind::Flag(default.as_ref().map(text))
            }
            VariableFunction::Redirect(status) => {
                let status = self.redirect_status(status);
                self.check_retired(declaration, namespace);
                VariableKind::Redirect(status?)
            }
        })
    }

    fn report_required_flag(
        &mut self,
        declaration: &Declaration,
        default: Option<&Spanned<StringLiteral>>,
    ) {
        let message = "this flag is required: a page without it is not admitted, and so cannot be a \
                       record; write `optional`";
        let span = declaration.name.span.clone();
        self.report.add(Code::RuleRequiredFlag, span, message);
        if let Some(default) = default {
            let message = "a required flag has no default: remove it, or write `optional`";
            let span = default.span.clone();
            self.report.add(Code::RuleRequiredDefault, span, message);
        }
    }

    /// Reports a retired option where none can be.
    fn check_retired(&mut self, declaration: &Declaration, namespace: Namespace) {
        let message = if declaration.part == UrlPart::Host {
            "a host has no retired options: the record would belong to another host"
        } else if declaration.required {
            "a retired option is required: the redirect leads to a URL without it; write `optional`"
        } else if namespace == Namespace::Official {
            "a retired option has no official position: the official URL is one without it"
        } else {
            return;
        };
        let span = declaration.name.span.clone();
        self.report.add(Code::RuleRedirect, span, message);
    }

    /// Warns where a pattern does not match the replacement, or the default at an official position:
    /// the rules write that text into URLs.
    fn check_text_matches(
        &mut self,
        declaration: &Declaration,
        pattern: &Pattern,
        namespace: Namespace,
    ) {
        let (text, message) = match &declaration.function {
            VariableFunction::Website(replacement) => (
                replacement,
                "the pattern does not match the replacement, so the rules admit no URL with the replacement",
            ),
            VariableFunction::Flag(Some(default)) if namespace == Namespace::Official => (
                default,
                "the pattern does not match the default, which the official URL has",
            ),
            VariableFunction::Flag(_) | VariableFunction::Group | VariableFunction::Redirect(_) => {
                return;
            }
        };
        let absent = text.node.value.is_empty() && !declaration.required;
        if !absent && !matches_with_or_without(pattern, &text.node.value, declaration.part) {
            let span = text.span.clone();
            self.report
                .add(Code::RuleReplacementUnmatched, span, message);
        }
    }
}

/// Whether `pattern` matches `text`, with or without a separator at the end.
fn matches_with_or_without(pattern: &Pattern, text: &str, part: UrlPart) -> bool {
    let separator = part.separator();
    let bare = without_separator(text, part);
    pattern.matches(text)
        || pattern.matches(bare)
        || separator.is_some_and(|s| pattern.matches(&format!("{bare}{s}")))
}

/// The reason why `text` cannot stand in `part`, worded so that it continues a sentence that starts with "the
/// replacement".
fn unfit_reason(part: UrlPart, text: &str) -> Option<&'static str> {
    match part {
        UrlPart::Host => {
            let allowed =
                |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
            (!text.bytes().all(allowed)).then_some(
                "cannot stand in a host: write lower-case letters, digits, `-`, `_` and `.`",
            )
        }
        UrlPart::Path => {
            let path = format!("/{text}");
            let fit = !text.starts_with('/') && !text.contains('?') && check_path(&path).is_ok();
            (!fit).then_some("cannot stand in a path: write it as in URLs, without the first `/`")
        }
        UrlPart::Query => None,
    }
}
