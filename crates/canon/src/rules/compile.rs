//! Compilation of scripts: parse, check, and collect findings.

use urldb_text::{Code, Cursor, Finding};

use super::check::{CheckedRule, Checker};
use super::parse::{Language, parse};
use super::report::Report;
use super::script::{DomainRule, DomainScript, WebsiteRule, WebsiteScript};

/// The longest script, in bytes.
const MAX_SCRIPT: usize = 64 << 10;
/// The most rules of a script.
const MAX_RULES: usize = 64;

/// The result of compiling a script.
#[derive(Debug, Clone)]
pub struct Compilation<S> {
    /// The script; `None` if a finding is an error.
    pub script: Option<S>,
    /// The errors and warnings, in the order of the text.
    pub findings: Vec<Finding>,
}

impl<S> Compilation<S> {
    fn map<T>(self, into: impl FnOnce(S) -> T) -> Compilation<T> {
        Compilation {
            script: self.script.map(into),
            findings: self.findings,
        }
    }
}

impl DomainScript {
    /// Compiles `source`.
    pub fn compile(source: &str) -> Compilation<Self> {
        compile_rules(source, Language::Domain, |checked| DomainRule {
            rule: checked.rule,
            host: checked.host,
        })
        .map(|rules| Self { rules })
    }
}

impl WebsiteScript {
    /// Compiles `source`.
    pub fn compile(source: &str) -> Compilation<Self> {
        compile_rules(source, Language::Website, |checked| WebsiteRule {
            rule: checked.rule,
            protocol: checked.protocol,
            port: checked.port,
            query: checked.query,
            path: checked.path,
            properties: checked.properties,
        })
        .map(|rules| Self { rules })
    }
}

fn compile_rules<R>(
    source: &str,
    language: Language,
    to_rule: impl Fn(CheckedRule) -> R,
) -> Compilation<Vec<R>> {
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
        let first = parsed.iter().take(MAX_RULES);
        rules.extend(first.filter_map(|rule| checker.rule(rule)).map(to_rule));
    }
    Compilation {
        script: (report.errors == 0).then_some(rules),
        findings: report.finish(source),
    }
}
