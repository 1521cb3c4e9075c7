//! Domain files as commands and the hook use them: locked edits, aliases, site rules, and lists
//! merged in.

pub(crate) mod aliases;
pub(crate) mod edit;
pub(crate) mod lists;
mod pages;
pub mod site_rules;
