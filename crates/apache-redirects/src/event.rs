//! The results of reading a tree, and the bound of the work for it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// The promise of a rule for one URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulePromise {
    /// The name of the file with the rule.
    pub file: Arc<str>,
    /// The line of the rule, from 1.
    pub line: u64,
    /// The URL that is requested.
    pub url: String,
    /// The status of the response.
    pub status: u16,
    /// The URL to which the response redirects.
    pub target: Option<String>,
    /// The value of `Accept` with which a request reaches the rule, if another one does not.
    pub accept: Option<String>,
}

/// The reason why a rule, or one of its URLs, promises nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleNote {
    /// The name of the file with the rule.
    pub file: Arc<str>,
    /// The line of the rule, from 1.
    pub line: u64,
    /// A stable code.
    pub code: &'static str,
    /// A description for people.
    pub message: String,
    /// Whether the rule is a mistake.
    pub is_mistake: bool,
}

/// An event of reading a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleEvent {
    /// A promise.
    Promise(RulePromise),
    /// A rule without a promise.
    Note(RuleNote),
}

/// The units of work that are left: guesses that depend on the rules alone. Clones share them.
#[derive(Debug, Clone)]
pub struct Work(Rc<Cell<u64>>);

impl Default for Work {
    fn default() -> Self {
        Self::of(2 << 30)
    }
}

impl Work {
    /// A budget of this number of units.
    pub fn of(units: u64) -> Self {
        Self(Rc::new(Cell::new(units)))
    }

    /// Takes units away; false if not so many are left, and then none are.
    pub fn spend(&self, units: u64) -> bool {
        let left = self.0.get().checked_sub(units);
        self.0.set(left.unwrap_or_default());
        left.is_some()
    }

    /// Whether nothing is left.
    pub(crate) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}

/// The error of a tree whose rules take too much work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfWork {
    /// The name of the file with the rule at which the work ended.
    pub file: Arc<str>,
    /// The line of that rule, from 1.
    pub line: u64,
}
