//! What commands and the hook do with domain files: locked edits, aliases, site rules, and imported
//! lists.

pub(crate) mod aliases;
pub(crate) mod edit;
pub(crate) mod lists;
mod pages;
pub mod site_rules;
