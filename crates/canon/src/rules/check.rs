//! Checks of parsed rules, and the joining of their patterns.

use std::collections::{HashMap, HashSet};

use urldb_text::{Code, Cursor};

use super::lex::StringLiteral;
use super::parse::{Declaration, ParsedRule, RuleItem, Spanned};
use super::pattern::{Matcher, RulePattern};
use super::report::Report;
use super::script::{Protocol, QueryVariable, RuleProperties, VariableSequence};
use super::trace::{Namespace, RuleRef};
use super::url_parts::UrlPart;
use super::variable::CompiledVariable;
use crate::identity::Scheme;

/// The most variables of a rule.
const MAX_VARIABLES: usize = 32;

/// A rule of either language without errors.
pub(crate) struct CheckedRule {
    pub(crate) rule: RuleRef,
    pub(crate) protocol: Protocol,
    pub(crate) port: Option<u16>,
    pub(crate) host: VariableSequence,
    pub(crate) path: VariableSequence,
    pub(crate) query: Vec<QueryVariable>,
    pub(crate) properties: RuleProperties,
}

/// Checks the rules of a script, in their order.
pub(crate) struct Checker<'a> {
    pub(crate) source: &'a str,
    pub(crate) cursor: Cursor,
    pub(crate) report: &'a mut Report,
}

impl Checker<'_> {
    /// Reports rules that have the same name.
    pub(crate) fn unique_names(&mut self, rules: &[ParsedRule]) {
        let mut seen = HashSet::new();
        for rule in rules {
            if !seen.insert(&rule.name.node) {
                let message = format!("there is a rule `{}` above", rule.name.node);
                self.report
                    .add(Code::RuleDuplicate, rule.name.span.clone(), message);
            }
        }
    }

    /// The checked rule; `None` where the rule has an error.
    pub(crate) fn rule(&mut self, rule: &ParsedRule) -> Option<CheckedRule> {
        let errors = self.report.errors;
        let (line, _) = self.cursor.place(self.source, rule.name.span.start);
        let declarations: Vec<&Declaration> = rule.items.iter().filter_map(declaration).collect();
        if let Some(extra) = declarations.get(MAX_VARIABLES) {
            let message = format!("a rule has at most {MAX_VARIABLES} variables");
            self.report
                .add(Code::RuleTooLarge, extra.name.span.clone(), message);
            return None;
        }
        let (protocol, port) = self.protocol_and_port(rule);
        let properties = self.properties(rule);
        let mut parts = self.variables(declarations);
        if self.report.errors > errors {
            return None;
        }
        let mut take = |part| parts.remove(&part).unwrap_or_default();
        let (host, path, query) = (
            take(UrlPart::Host),
            take(UrlPart::Path),
            take(UrlPart::Query),
        );
        Some(CheckedRule {
            rule: RuleRef {
                name: rule.name.node.clone(),
                line,
            },
            protocol,
            port,
            host: self.sequence(host, UrlPart::Host, &rule.name)?,
            path: self.sequence(path, UrlPart::Path, &rule.name)?,
            query: query
                .into_iter()
                .map(|variable| self.query_variable(variable, &rule.name))
                .collect::<Option<_>>()?,
            properties,
        })
    }

    /// The protocol and port of a rule; `None` for any port.
    fn protocol_and_port(&mut self, rule: &ParsedRule) -> (Protocol, Option<u16>) {
        let mut schemes: Vec<Option<Scheme>> = Vec::new();
        let mut ports: Vec<Option<u16>> = Vec::new();
        for item in &rule.items {
            match item {
                RuleItem::Protocol(text) => schemes.push(self.protocol(text, schemes.len())),
                RuleItem::Port(text) => ports.push(self.port(text, ports.len())),
                RuleItem::Declaration(_) | RuleItem::Property(_) => {}
            }
        }
        let protocol = match schemes.pop() {
            None => Protocol::Unstated,
            Some(None) => Protocol::Both,
            Some(Some(scheme)) => Protocol::Only(scheme),
        };
        (protocol, ports.pop().flatten())
    }

    /// The variables of a rule with their patterns, by part and in order.
    fn variables(
        &mut self,
        declarations: Vec<&Declaration>,
    ) -> HashMap<UrlPart, Vec<(CompiledVariable, RulePattern)>> {
        let with_namespace: Vec<(&Declaration, Namespace)> = declarations
            .into_iter()
            .filter_map(|declaration| Some((declaration, self.namespace(declaration)?)))
            .collect();
        self.unique_variables(&with_namespace);
        let last_of_path = with_namespace
            .iter()
            .rposition(|(declaration, _)| declaration.part == UrlPart::Path);
        let mut parts: HashMap<UrlPart, Vec<_>> = HashMap::new();
        for (index, &(declaration, namespace)) in with_namespace.iter().enumerate() {
            let is_last = declaration.part == UrlPart::Query || Some(index) == last_of_path;
            if let Some(variable) = self.variable(declaration, namespace, is_last) {
                parts.entry(declaration.part).or_default().push(variable);
            }
        }
        parts
    }

    fn protocol(&mut self, text: &Spanned<StringLiteral>, before: usize) -> Option<Scheme> {
        self.report_repeated(text, before, "protocol");
        match text.node.value.trim().to_ascii_uppercase().as_str() {
            "HTTP" => Some(Scheme::Http),
            "HTTPS" => Some(Scheme::Https),
            "HTTP|HTTPS" | "HTTPS|HTTP" | "ANY" => None,
            _ => {
                let message = "a protocol is \"HTTP\", \"HTTPS\", \"HTTP|HTTPS\" or \"any\"";
                self.report
                    .add(Code::RuleProtocol, text.span.clone(), message);
                None
            }
        }
    }

    fn port(&mut self, text: &Spanned<StringLiteral>, before: usize) -> Option<u16> {
        self.report_repeated(text, before, "port");
        let digits = text.node.value.bytes().all(|b| b.is_ascii_digit());
        let port = text.node.value.parse().ok().filter(|&p| digits && p > 0);
        if port.is_none() {
            let message = "a port is a number from 1 to 65535";
            self.report.add(Code::RulePort, text.span.clone(), message);
        }
        port
    }

    /// Reports a setting that the rule has `before` times above.
    fn report_repeated(&mut self, text: &Spanned<StringLiteral>, before: usize, what: &str) {
        if before > 0 {
            let message = format!("the rule has a {what} above");
            self.report
                .add(Code::RuleDuplicate, text.span.clone(), message);
        }
    }

    /// Reports names that are repeated in a namespace and part, and second official positions.
    ///
    /// In a query a name is unique across namespaces, since it is the name of the parameter.
    fn unique_variables(&mut self, variables: &[(&Declaration, Namespace)]) {
        let mut seen = HashSet::new();
        let mut official = HashSet::new();
        for &(declaration, namespace) in variables {
            let name = &declaration.name;
            let within = (declaration.part != UrlPart::Query).then_some(namespace);
            if !seen.insert((declaration.part, within, &name.node)) {
                let message = format!("the rule has a variable `{}` above", name.node);
                self.report
                    .add(Code::RuleDuplicate, name.span.clone(), message);
            } else if namespace == Namespace::Official && !official.insert(&name.node) {
                let message = format!(
                    "`{}` has an official position above: only one can be in the namespace \
                     `canonalize`",
                    name.node
                );
                self.report
                    .add(Code::RuleOfficial, name.span.clone(), message);
            }
        }
    }

    /// The namespace of a variable; reports an unknown one.
    fn namespace(&mut self, declaration: &Declaration) -> Option<Namespace> {
        let root = |name: &str| matches!(name, "canonalize" | "canonicalize" | "global");
        let inner = match declaration.namespaces.as_slice() {
            [first, inner @ ..] if root(&first.node) => {
                if inner.is_empty() {
                    return Some(Namespace::Official);
                }
                inner
            }
            all => all,
        };
        let namespace = match inner {
            [] if declaration.part == UrlPart::Host => Some(Namespace::Domain),
            [] => Some(Namespace::Site),
            [one] => Namespace::within(&one.node),
            _ => None,
        };
        if let (None, Some(last)) = (namespace, inner.last()) {
            let message = "the namespaces are `canonalize` and, in it, `domain`, `site` and \
                           `options`";
            self.report
                .add(Code::RuleNamespace, last.span.clone(), message);
        }
        namespace
    }

    /// The variables of `part` with their patterns joined; `None` where the patterns do not fit.
    fn sequence(
        &mut self,
        variables: Vec<(CompiledVariable, RulePattern)>,
        part: UrlPart,
        name: &Spanned<String>,
    ) -> Option<VariableSequence> {
        let (variables, patterns): (Vec<_>, Vec<_>) = variables.into_iter().unzip();
        let matcher = Matcher::join(&patterns, part)
            .map_err(|problem| {
                self.report
                    .add(Code::RulePattern, name.span.clone(), problem);
            })
            .ok()?;
        Some(VariableSequence { variables, matcher })
    }

    fn query_variable(
        &mut self,
        (variable, mut pattern): (CompiledVariable, RulePattern),
        name: &Spanned<String>,
    ) -> Option<QueryVariable> {
        // The query shows whether the parameter is absent. The value of a present one must match.
        let required = std::mem::replace(&mut pattern.required, true);
        let only = vec![(variable.clone(), pattern)];
        let VariableSequence { matcher, .. } = self.sequence(only, UrlPart::Query, name)?;
        Some(QueryVariable {
            variable,
            required,
            matcher,
        })
    }
}

fn declaration(item: &RuleItem) -> Option<&Declaration> {
    match item {
        RuleItem::Declaration(declaration) => Some(declaration),
        RuleItem::Protocol(_) | RuleItem::Port(_) | RuleItem::Property(_) => None,
    }
}
