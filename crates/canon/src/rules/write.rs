//! URLs written from an evaluation: the page, and the official URL.

use super::evaluate::{Evaluation, host_below};
use super::query::{format_parameter, lower_case, parameters};
use super::script::Protocol;
use super::trace::Namespace;
use super::url_parts::UrlParts;
use super::variable::{BoundVariable, VariableKind};
use crate::identity::Scheme;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlagSpelling {
    /// No flags: the page.
    Omitted,
    /// Flags with an official position, as value and separator.
    Canonical,
    /// As `Canonical`, except that a flag keeps its text where the URL has it at the official
    /// position.
    AsMatched,
}

impl Evaluation<'_> {
    pub(crate) fn page(&self) -> String {
        let path = self.path(FlagSpelling::Omitted);
        match self.query(FlagSpelling::Omitted) {
            Some(query) => format!("{path}?{query}"),
            None => path,
        }
    }

    /// The URL of the page, with flags as `flags` says.
    pub(crate) fn url(&self, flags: FlagSpelling) -> String {
        let scheme = self.scheme();
        UrlParts {
            scheme,
            host: self.host(flags),
            // The scheme changes only where the URL has the default port of its scheme.
            port: if scheme == self.parts.scheme {
                self.parts.port
            } else {
                scheme.default_port()
            },
            path: self.path(flags),
            query: self.query(flags),
        }
        .to_string()
    }

    /// The scheme of the rule. If the rule allows both by name, `http`, which the specification
    /// prefers; but the scheme of the URL where the rule names none, where the port of the URL is not
    /// the default one, or where the rule has a port.
    fn scheme(&self) -> Scheme {
        let UrlParts { scheme, port, .. } = self.parts;
        match self.site.rule {
            Some(rule) => match rule.protocol {
                Protocol::Only(only) => only,
                Protocol::Both if rule.port.is_none() && port == scheme.default_port() => {
                    Scheme::Http
                }
                Protocol::Both | Protocol::Unstated => scheme,
            },
            None => scheme,
        }
    }

    /// The names of the variables that have an official position.
    pub(crate) fn official_names(&self) -> Vec<&str> {
        let site = self.site.query.iter().chain(&self.site.path);
        let bound = self.host.iter().flatten().chain(site);
        bound
            .map(|bound| bound.variable)
            .filter(|variable| variable.namespace == Namespace::Official)
            .map(|variable| variable.name.as_str())
            .collect()
    }

    fn host(&self, flags: FlagSpelling) -> String {
        match &self.host {
            Some(variables) if flags != FlagSpelling::Omitted => {
                host_below(&self.text_of(variables, flags), &self.domain)
            }
            _ => self.website.clone(),
        }
    }

    fn path(&self, flags: FlagSpelling) -> String {
        let path = self.parts.path.get(1..).unwrap_or("");
        let (matched, rest) = path
            .split_at_checked(self.site.path_end)
            .unwrap_or(("", path));
        let written = self.text_of(&self.site.path, flags);
        let is_closed = written.is_empty() || written.ends_with('/');
        // The pattern may have left the slash that ends the matched text to the rest.
        let left_slash = !matched.is_empty() && !matched.ends_with('/');
        let rest = match rest.strip_prefix('/') {
            Some(inner) if is_closed && left_slash => inner,
            _ => rest,
        };
        let slash = if is_closed || rest.is_empty() || rest.starts_with('/') {
            ""
        } else {
            "/"
        };
        format!("/{written}{slash}{rest}")
    }

    /// The variables of a host or path as text.
    fn text_of(&self, variables: &[BoundVariable<'_>], flags: FlagSpelling) -> String {
        let text = |bound: &BoundVariable<'_>| match self.flag_value(bound, flags) {
            None => bound.page_text(),
            Some(value) => match &bound.text {
                Some(text) if flags == FlagSpelling::AsMatched => text.clone(),
                _ => value.chars().chain(bound.variable.terminator).collect(),
            },
        };
        variables.iter().map(text).collect()
    }

    /// The value to write for a flag whose official position is here.
    fn flag_value(&self, bound: &BoundVariable<'_>, flags: FlagSpelling) -> Option<&str> {
        let is_here = matches!(bound.variable.kind, VariableKind::Flag(_))
            && bound.variable.namespace == Namespace::Official
            && flags != FlagSpelling::Omitted;
        let name = &bound.variable.name;
        let value = self.options.get(name).filter(|_| is_here)?;
        (!value.is_empty()).then_some(value)
    }

    /// The query: the declared parameters of the page in the order of the rule, then the others in
    /// the order of the URL, then the flags in the order of the rule.
    fn query(&self, flags: FlagSpelling) -> Option<String> {
        // The declared parameters, each with its position in the rule.
        let mut declared: Vec<(usize, String)> = Vec::new();
        let mut written: Vec<String> = Vec::new();
        for parameter in self.parts.query.iter().flat_map(|query| parameters(query)) {
            let lower = self.site.lower_case.then(|| lower_case(parameter.raw));
            let raw = lower.as_deref().unwrap_or(parameter.raw);
            let name = raw.split_once('=').map_or(raw, |(name, _)| name);
            let mut query = self.site.query.iter();
            let position = query.position(|bound| bound.variable.name == name);
            let Some(position) = position else {
                written.push(parameter.raw.to_owned());
                continue;
            };
            match &self.site.query[position].variable.kind {
                VariableKind::Group => declared.push((position, raw.to_owned())),
                VariableKind::Website(replacement) => {
                    declared.push((position, format_parameter(name, replacement)));
                }
                VariableKind::Flag(_) => {}
            }
        }
        for (position, bound) in self.site.query.iter().enumerate() {
            let name = &bound.variable.name;
            match &bound.variable.kind {
                VariableKind::Website(replacement) if bound.text.is_none() => {
                    declared.push((position, format_parameter(name, replacement)));
                }
                _ => written.extend(
                    self.flag_value(bound, flags)
                        .map(|value| format_parameter(name, value)),
                ),
            }
        }
        declared.sort_by_key(|(position, _)| *position);
        let declared = declared.into_iter().map(|(_, parameter)| parameter);
        let query: Vec<String> = declared.chain(written).collect();
        Some(query.join("&")).filter(|query| !query.is_empty())
    }
}
