//! Operations of commands and the hook on domain files: locked edits, lookup, aliases, schemes, held URIs,
//! site rules, mistakes across files, and warnings about static URLs.

pub(crate) mod across;
pub(crate) mod aliases;
pub(crate) mod edit;
pub(crate) mod held;
pub(crate) mod left_out;
pub(crate) mod lookup;
pub(crate) mod mistakes;
pub(crate) mod moves;
pub(crate) mod page_redirect;
mod pages;
pub mod site_rules;
pub(crate) mod static_urls;
pub(crate) mod stored_across;
mod unstable_urls;
