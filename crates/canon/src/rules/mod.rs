//! Site rules: which URLs of a domain are one page, as the owner of the domain declares it.
//!
//! Some parts of a URL select a website, some name a page, and others only say how the page is shown,
//! such as its language or a version. Rules tell these parts apart, so that all URLs of one page are
//! one record. `docs/site-rules.md` explains their language.
//!
//! A [`DomainScript`] is about the host, below the registrable domain. A [`WebsiteScript`] is about
//! protocol, port, path and query of one website. Both are compiled once. [`SiteRules`] holds the
//! scripts of a database and resolves URLs. Without rules, the result is that of
//! [`identify`](crate::identify()).

mod check;
mod check_variable;
mod compile;
mod error;
mod evaluate;
mod lex;
mod normal;
mod parse;
mod pattern;
mod properties;
mod query;
mod report;
mod resolve;
mod script;
mod set;
mod trace;
mod url_parts;
mod variable;
mod write;

pub use compile::Compilation;
pub use error::{DefaultWebsite, RejectedUrl, ResolveError};
pub use script::{DomainScript, WebsiteScript};
pub use set::{ScriptFile, SiteRules, registrable_domain};
pub use trace::{
    MatchResult, Namespace, PageRedirect, Resolution, RuleAttempt, RuleRef, Trace, ValueSource,
    Variable, VariableRole,
};
pub use url_parts::{UrlPart, UrlParts};
