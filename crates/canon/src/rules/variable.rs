//! The variables of a compiled rule, and their values for a URL.

use super::pattern::PatternMatch;
use super::query::lower_case;
use super::trace::{Namespace, ValueSource, Variable, VariableRole};
use super::url_parts::UrlPart;

/// A variable of a compiled rule, without its pattern.
#[derive(Debug, Clone)]
pub(crate) struct CompiledVariable {
    pub(crate) name: String,
    /// Line and column of the name.
    pub(crate) position: (usize, usize),
    pub(crate) namespace: Namespace,
    pub(crate) part: UrlPart,
    pub(crate) kind: VariableKind,
    /// Whether the text is put into lower case.
    pub(crate) is_lower: bool,
    /// The character that the pattern expects after a value; `None` in a query.
    pub(crate) terminator: Option<char>,
}

/// The function of a variable, with its second argument.
#[derive(Debug, Clone)]
pub(crate) enum VariableKind {
    Group,
    /// With the replacement.
    Website(String),
    /// With the default.
    Flag(Option<String>),
    /// A retired option, with the status of its redirect.
    Redirect(u16),
}

/// A variable and its value for a URL.
#[derive(Debug)]
pub(crate) struct BoundVariable<'r> {
    pub(crate) variable: &'r CompiledVariable,
    /// The text that matched, if any.
    pub(crate) text: Option<String>,
    /// The value, without a separator at its end.
    pub(crate) value: Option<String>,
}

impl CompiledVariable {
    /// The variable with its value for the text that its pattern matched.
    pub(crate) fn bind(&self, matched: Option<PatternMatch<'_>>) -> BoundVariable<'_> {
        let value = match (&self.kind, matched) {
            (VariableKind::Website(replacement), _) => {
                Some(without_separator(replacement, self.part).to_owned())
            }
            (_, Some(matched)) => Some(self.folded(without_separator(matched.value, self.part))),
            (VariableKind::Flag(default), None) => default.clone(),
            (VariableKind::Group | VariableKind::Redirect(_), None) => None,
        };
        BoundVariable {
            variable: self,
            text: matched.map(|matched| self.folded(matched.text)),
            value,
        }
    }

    /// The text that the variable takes for `text` of the URL.
    fn folded(&self, text: &str) -> String {
        match self.part {
            _ if !self.is_lower => text.to_owned(),
            // A decoded value has no escapes.
            UrlPart::Query => text.to_ascii_lowercase(),
            UrlPart::Host | UrlPart::Path => lower_case(text),
        }
    }
}

impl BoundVariable<'_> {
    /// The text of the variable in the host or path of the page; nothing for options.
    pub(crate) fn page_text(&self) -> String {
        let text = self.text.as_deref().unwrap_or("");
        let part = self.variable.part;
        match (&self.variable.kind, part.separator()) {
            (VariableKind::Flag(_) | VariableKind::Redirect(_), _) => String::new(),
            (VariableKind::Group, _) => text.to_owned(),
            (VariableKind::Website(replacement), Some(separator))
                if !replacement.is_empty() && (text.is_empty() || text.ends_with(separator)) =>
            {
                format!("{}{separator}", without_separator(replacement, part))
            }
            (VariableKind::Website(replacement), _) => replacement.clone(),
        }
    }

    /// The status of the redirect, if this is a retired option that the URL has.
    pub(crate) fn redirect_status(&self) -> Option<u16> {
        let text = self.text.as_deref()?;
        let is_there = self.variable.part == UrlPart::Query || !text.is_empty();
        match self.variable.kind {
            VariableKind::Redirect(status) if is_there => Some(status),
            _ => None,
        }
    }

    pub(crate) fn to_variable(&self) -> Variable {
        let variable = self.variable;
        Variable {
            namespace: variable.namespace,
            name: variable.name.clone(),
            part: variable.part,
            role: match variable.kind {
                VariableKind::Group => VariableRole::Group,
                VariableKind::Website(_) => VariableRole::Website,
                VariableKind::Flag(_) => VariableRole::Flag,
                VariableKind::Redirect(_) => VariableRole::Retired,
            },
            value: self.value.clone(),
            source: match (&self.text, &self.value) {
                (Some(text), _) => ValueSource::Matched(text.clone()),
                (None, Some(_)) => ValueSource::Default,
                (None, None) => ValueSource::Unset,
            },
            line: variable.position.0,
        }
    }
}

/// `text` without one separator of `part` at its end.
pub(crate) fn without_separator(text: &str, part: UrlPart) -> &str {
    part.separator()
        .and_then(|separator| text.strip_suffix(separator))
        .unwrap_or(text)
}
