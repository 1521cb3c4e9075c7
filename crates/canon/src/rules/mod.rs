//! Site rules: what the owner of a domain says about its URLs.
//!
//! Some parts of a URL choose a website, some name a page, and some only say how the page is shown:
//! its language, a version. Rules tell them apart, so that all URLs of one page are one record.
//! `docs/site-rules.md` teaches their language.
//!
//! A [`DomainScript`] is about the host, below the registrable domain. A [`WebsiteScript`] is about
//! protocol, port, path and query of one website. Both are compiled once; [`SiteRules`] holds them
//! and answers what a URL is. Where there are no rules, the answer is that of
//! [`identify`](crate::identify()).

mod check;
mod check_variable;
mod compile;
mod diagnostic;
mod evaluate;
mod failure;
mod lex;
mod names;
mod parse;
mod pattern;
mod query;
mod set;
mod slot;
mod trace;
mod write;

pub use compile::{Compiled, DomainScript, WebsiteScript};
pub use diagnostic::{Code, Diagnostic, Severity};
pub use failure::{Failure, Rejected};
pub use names::{ScriptFile, registrable_domain};
pub use set::SiteRules;
pub use trace::{
    Namespace, Part, Parts, Resolution, Role, RuleRef, Source, Trace, Tried, Variable, Verdict,
};
