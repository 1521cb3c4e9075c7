//! The places of a rule that take a part of the URL each, and what they took.

use super::pattern::Found;
use super::trace::{Namespace, Part, Role, Source, Variable};

/// A variable of a rule.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) name: String,
    /// Line and column of its name.
    pub(crate) place: (usize, usize),
    pub(crate) namespace: Namespace,
    pub(crate) part: Part,
    pub(crate) kind: Kind,
    /// What its pattern wants after a value; nothing in a query.
    pub(crate) joint: Option<char>,
}

/// What a variable is for.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Group,
    /// With its replacement.
    Website(String),
    /// With its default.
    Flag(Option<String>),
}

/// A variable and what it took of a URL.
#[derive(Debug)]
pub(crate) struct Bound<'r> {
    pub(crate) slot: &'r Slot,
    /// The text that matched, if any.
    pub(crate) text: Option<String>,
    /// Its value, without a separator at the end.
    pub(crate) value: Option<String>,
}

impl Slot {
    pub(crate) fn bind(&self, found: Option<Found<'_>>) -> Bound<'_> {
        let value = match (&self.kind, found) {
            (Kind::Website(replacement), _) => {
                Some(without_end(replacement, self.separator()).to_owned())
            }
            (_, Some(found)) => Some(without_end(found.value, self.separator()).to_owned()),
            (Kind::Flag(default), None) => default.clone(),
            (Kind::Group, None) => None,
        };
        Bound {
            slot: self,
            text: found.map(|found| found.text.to_owned()),
            value,
        }
    }

    fn separator(&self) -> Option<char> {
        self.part.separator()
    }
}

impl Bound<'_> {
    /// What stays of it in the host or path of the page: nothing of a flag.
    pub(crate) fn kept(&self) -> String {
        let text = self.text.as_deref().unwrap_or("");
        match (&self.slot.kind, self.slot.separator()) {
            (Kind::Flag(_), _) => String::new(),
            (Kind::Group, _) => text.to_owned(),
            (Kind::Website(replacement), Some(separator))
                if !replacement.is_empty() && (text.is_empty() || text.ends_with(separator)) =>
            {
                format!("{}{separator}", without_end(replacement, Some(separator)))
            }
            (Kind::Website(replacement), _) => replacement.clone(),
        }
    }

    /// It, for people.
    pub(crate) fn variable(&self) -> Variable {
        let slot = self.slot;
        Variable {
            namespace: slot.namespace,
            name: slot.name.clone(),
            part: slot.part,
            role: match slot.kind {
                Kind::Group => Role::Group,
                Kind::Website(_) => Role::Website,
                Kind::Flag(_) => Role::Flag,
            },
            value: self.value.clone(),
            source: match (&self.text, &self.value) {
                (Some(text), _) => Source::Matched(text.clone()),
                (None, Some(_)) => Source::Default,
                (None, None) => Source::Unset,
            },
            line: slot.place.0,
        }
    }
}

/// `text` without one separator at its end.
pub(crate) fn without_end(text: &str, separator: Option<char>) -> &str {
    separator
        .and_then(|separator| text.strip_suffix(separator))
        .unwrap_or(text)
}
