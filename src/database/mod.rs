//! Operations of commands and the hook on domain files: locked edits, lookup, aliases, schemes, held URIs,
//! site rules, and mistakes across files.

pub(crate) mod across;
pub(crate) mod aliases;
pub(crate) mod edit;
pub(crate) mod held;
pub(crate) mod lookup;
pub(crate) mod mistakes;
pub(crate) mod moves;
mod pages;
pub(crate) mod schemes;
pub mod site_rules;
