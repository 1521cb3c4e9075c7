//! Scripts compiled.

use super::check::{Checker, Draft};
use super::diagnostic::{Code, Cursor, Diagnostic, Report};
use super::parse::{Language, parse};
use super::pattern::{Found, Matcher};
use super::slot::{Bound, Slot};
use super::trace::RuleRef;
use crate::identity::Scheme;

/// The longest script, in bytes.
const MAX_SCRIPT: usize = 64 << 10;
/// The most rules of a script.
const MAX_RULES: usize = 64;

/// What became of a script.
#[derive(Debug, Clone)]
pub struct Compiled<S> {
    /// The script, unless a diagnostic is an error.
    pub script: Option<S>,
    /// All that is wrong with it, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// The compiled script of a registrable domain.
#[derive(Debug, Clone)]
pub struct DomainScript {
    pub(crate) rules: Vec<DomainRule>,
}

/// A rule about the host.
#[derive(Debug, Clone)]
pub(crate) struct DomainRule {
    pub(crate) rule: RuleRef,
    pub(crate) host: Joined,
}

/// The compiled script of a website.
#[derive(Debug, Clone)]
pub struct WebsiteScript {
    pub(crate) rules: Vec<WebsiteRule>,
}

/// A rule about the rest of the URL.
#[derive(Debug, Clone)]
pub(crate) struct WebsiteRule {
    pub(crate) rule: RuleRef,
    /// The only scheme; none: both.
    pub(crate) scheme: Option<Scheme>,
    pub(crate) port: Option<u16>,
    pub(crate) query: Vec<Parameter>,
    pub(crate) path: Joined,
}

/// Slots whose patterns are joined.
#[derive(Debug, Clone)]
pub(crate) struct Joined {
    pub(crate) slots: Vec<Slot>,
    pub(crate) matcher: Matcher,
}

/// A parameter of the query.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) slot: Slot,
    pub(crate) required: bool,
    pub(crate) matcher: Matcher,
}

impl Joined {
    /// The slots with what their patterns `found`.
    pub(crate) fn bind(&self, found: &[Option<Found<'_>>]) -> Vec<Bound<'_>> {
        let pairs = self.slots.iter().zip(found);
        pairs.map(|(slot, found)| slot.bind(*found)).collect()
    }
}

impl DomainScript {
    /// Compiles `source`.
    pub fn compile(source: &str) -> Compiled<Self> {
        script(source, Language::Domain, |draft| DomainRule {
            rule: draft.rule,
            host: draft.host,
        })
        .map(|rules| Self { rules })
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.rules.iter().flat_map(|rule| &rule.host.slots)
    }
}

impl WebsiteScript {
    /// Compiles `source`.
    pub fn compile(source: &str) -> Compiled<Self> {
        script(source, Language::Website, |draft| WebsiteRule {
            rule: draft.rule,
            scheme: draft.scheme,
            port: draft.port,
            query: draft.query,
            path: draft.path,
        })
        .map(|rules| Self { rules })
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.rules.iter().flat_map(|rule| {
            let query = rule.query.iter().map(|parameter| &parameter.slot);
            rule.path.slots.iter().chain(query)
        })
    }
}

impl<S> Compiled<S> {
    fn map<T>(self, into: impl FnOnce(S) -> T) -> Compiled<T> {
        Compiled {
            script: self.script.map(into),
            diagnostics: self.diagnostics,
        }
    }
}

fn script<R>(source: &str, language: Language, rule: impl Fn(Draft) -> R) -> Compiled<Vec<R>> {
    let mut report = Report::default();
    let mut rules = Vec::new();
    if source.len() > MAX_SCRIPT {
        let message = format!("the script is longer than {} KiB", MAX_SCRIPT >> 10);
        report.add(Code::RuleTooLarge, 0..0, message);
    } else {
        let parsed = parse(source, language, &mut report);
        if let Some(extra) = parsed.get(MAX_RULES) {
            let message = format!("a script has at most {MAX_RULES} rules");
            report.add(Code::RuleTooLarge, extra.name.span.clone(), message);
        }
        let mut checker = Checker {
            source,
            cursor: Cursor::default(),
            report: &mut report,
        };
        checker.unique_names(&parsed);
        let drafts = parsed.iter().take(MAX_RULES);
        rules.extend(drafts.filter_map(|parsed| checker.rule(parsed)).map(rule));
    }
    Compiled {
        script: (report.errors == 0).then_some(rules),
        diagnostics: report.finish(source),
    }
}
