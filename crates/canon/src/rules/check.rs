//! A rule checked, and its patterns joined.

use std::collections::{HashMap, HashSet};

use super::compile::{Joined, Parameter};
use super::diagnostic::{Code, Cursor, Report};
use super::lex::Text;
use super::parse::{At, Declaration, Item, Rule};
use super::pattern::{Matcher, Piece};
use super::slot::Slot;
use super::trace::{Namespace, Part, RuleRef};
use crate::identity::Scheme;

/// The most variables of a rule.
const MAX_VARIABLES: usize = 32;

/// A rule of either language.
pub(crate) struct Draft {
    pub(crate) rule: RuleRef,
    pub(crate) scheme: Option<Scheme>,
    pub(crate) port: Option<u16>,
    pub(crate) host: Joined,
    pub(crate) path: Joined,
    pub(crate) query: Vec<Parameter>,
}

pub(crate) struct Checker<'a> {
    pub(crate) source: &'a str,
    pub(crate) cursor: Cursor,
    pub(crate) report: &'a mut Report,
}

impl Checker<'_> {
    pub(crate) fn unique_names(&mut self, rules: &[Rule]) {
        let mut seen = HashSet::new();
        for rule in rules {
            if !seen.insert(&rule.name.is) {
                let message = format!("there is a rule `{}` above", rule.name.is);
                self.report
                    .add(Code::RuleDuplicate, rule.name.span.clone(), message);
            }
        }
    }

    /// `None` where something is wrong with it.
    pub(crate) fn rule(&mut self, rule: &Rule) -> Option<Draft> {
        let errors = self.report.errors;
        let (line, _) = self.cursor.place(self.source, rule.name.span.start);
        let declarations: Vec<&Declaration> = rule.items.iter().filter_map(declaration).collect();
        if let Some(extra) = declarations.get(MAX_VARIABLES) {
            let message = format!("a rule has at most {MAX_VARIABLES} variables");
            self.report
                .add(Code::RuleTooLarge, extra.name.span.clone(), message);
            return None;
        }
        let mut scheme: Vec<Option<Scheme>> = Vec::new();
        let mut port: Vec<Option<u16>> = Vec::new();
        for item in &rule.items {
            match item {
                Item::Protocol(text) => scheme.push(self.protocol(text, scheme.len())),
                Item::Port(text) => port.push(self.port(text, port.len())),
                Item::Declaration(_) => {}
            }
        }
        let named: Vec<(&Declaration, Namespace)> = declarations
            .into_iter()
            .filter_map(|declaration| Some((declaration, self.namespace(declaration)?)))
            .collect();
        self.unique_variables(&named);
        let last = named.iter().rposition(|(d, _)| d.part == Part::Path);
        let mut parts: HashMap<Part, Vec<(Slot, Piece)>> = HashMap::new();
        for (index, &(declaration, namespace)) in named.iter().enumerate() {
            let closes = declaration.part == Part::Query || Some(index) == last;
            if let Some(slot) = self.slot(declaration, namespace, closes) {
                parts.entry(declaration.part).or_default().push(slot);
            }
        }
        if self.report.errors > errors {
            return None;
        }
        let mut take = |part| parts.remove(&part).unwrap_or_default();
        let (host, path, query) = (take(Part::Host), take(Part::Path), take(Part::Query));
        Some(Draft {
            rule: RuleRef {
                name: rule.name.is.clone(),
                line,
            },
            scheme: scheme.pop().flatten(),
            port: port.pop().flatten(),
            host: self.join(host, Part::Host, &rule.name)?,
            path: self.join(path, Part::Path, &rule.name)?,
            query: query
                .into_iter()
                .map(|one| self.parameter(one, &rule.name))
                .collect::<Option<_>>()?,
        })
    }

    fn protocol(&mut self, text: &At<Text>, before: usize) -> Option<Scheme> {
        self.once(text, before, "protocol");
        match text.is.value.trim().to_ascii_uppercase().as_str() {
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

    fn port(&mut self, text: &At<Text>, before: usize) -> Option<u16> {
        self.once(text, before, "port");
        let digits = text.is.value.bytes().all(|b| b.is_ascii_digit());
        let port = text.is.value.parse().ok().filter(|&p| digits && p > 0);
        if port.is_none() {
            let message = "a port is a number from 1 to 65535";
            self.report.add(Code::RulePort, text.span.clone(), message);
        }
        port
    }

    fn once(&mut self, text: &At<Text>, before: usize, what: &str) {
        if before > 0 {
            let message = format!("the rule has a {what} above");
            self.report
                .add(Code::RuleDuplicate, text.span.clone(), message);
        }
    }

    /// A name is unique in its namespace and part; a parameter of the query is one whatever its
    /// namespace; and one position is the official one.
    fn unique_variables(&mut self, named: &[(&Declaration, Namespace)]) {
        let mut seen = HashSet::new();
        let mut official = HashSet::new();
        for &(declaration, namespace) in named {
            let name = &declaration.name;
            let within = (declaration.part != Part::Query).then_some(namespace);
            if !seen.insert((declaration.part, within, &name.is)) {
                let message = format!("the rule has a variable `{}` above", name.is);
                self.report
                    .add(Code::RuleDuplicate, name.span.clone(), message);
            } else if namespace == Namespace::Official && !official.insert(&name.is) {
                let message = format!(
                    "`{}` has an official position above: only one can be in the namespace \
                     `canonalize`",
                    name.is
                );
                self.report
                    .add(Code::RuleOfficial, name.span.clone(), message);
            }
        }
    }

    /// The namespace of a variable; reports one that is unknown.
    fn namespace(&mut self, declaration: &Declaration) -> Option<Namespace> {
        let root = |name: &str| matches!(name, "canonalize" | "canonicalize" | "global");
        let inner = match declaration.namespaces.as_slice() {
            [first, inner @ ..] if root(&first.is) => {
                if inner.is_empty() {
                    return Some(Namespace::Official);
                }
                inner
            }
            all => all,
        };
        let namespace = match inner {
            [] if declaration.part == Part::Host => Some(Namespace::Domain),
            [] => Some(Namespace::Site),
            [one] => Namespace::within(&one.is),
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

    fn join(&mut self, both: Vec<(Slot, Piece)>, part: Part, name: &At<String>) -> Option<Joined> {
        let (slots, pieces): (Vec<_>, Vec<_>) = both.into_iter().unzip();
        let matcher = Matcher::join(&pieces, part)
            .map_err(|problem| {
                self.report
                    .add(Code::RulePattern, name.span.clone(), problem);
            })
            .ok()?;
        Some(Joined { slots, matcher })
    }

    fn parameter(&mut self, one: (Slot, Piece), name: &At<String>) -> Option<Parameter> {
        let (slot, mut piece) = one;
        // Whether it can be absent is seen from the query; where it is there, it has to match.
        let required = std::mem::replace(&mut piece.required, true);
        let Joined { matcher, .. } = self.join(vec![(slot.clone(), piece)], Part::Query, name)?;
        Some(Parameter {
            slot,
            required,
            matcher,
        })
    }
}

fn declaration(item: &Item) -> Option<&Declaration> {
    match item {
        Item::Declaration(declaration) => Some(declaration),
        Item::Protocol(_) | Item::Port(_) => None,
    }
}
