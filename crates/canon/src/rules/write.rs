//! URLs written from an evaluation: the page, and the official URL.

use super::evaluate::{Evaluation, host_below};
use super::query::{QueryParameter, format_parameter, lower_case};
use super::script::{Protocol, UnknownParameters};
use super::trace::{Namespace, PageRedirect};
use super::url_parts::UrlParts;
use super::variable::{BoundVariable, VariableKind};
use crate::identity::Scheme;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlagSpelling {
    /// No flags: the page.
    Omitted,
    /// No flags, but retired options and unknown parameters: the record of a redirect.
    Retired,
    /// Flags with an official position, as value and separator.
    Canonical,
    /// As `Canonical`, except that a flag keeps its text where the URL has it at the official
    /// position.
    AsMatched,
}

/// The place of a parameter in a query that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum QueryOrder {
    /// A parameter of the page with a variable, which has this position in the rule.
    Declared(usize),
    /// A parameter without a variable, in the order of the URL.
    Kept,
    /// A flag, in the order of the rule.
    Flag,
    /// A retired option with this position in the rule.
    Retired(usize),
    /// A parameter that the site does not know, in the order of the URL.
    Unknown,
}

impl FlagSpelling {
    /// Whether flags with an official position are written.
    fn has_flags(self) -> bool {
        matches!(self, Self::Canonical | Self::AsMatched)
    }
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
            Some(variables) if flags.has_flags() => {
                host_below(&self.text_of(variables, flags), &self.domain)
            }
            _ => self.website.clone(),
        }
    }

    fn path(&self, flags: FlagSpelling) -> String {
        let path = self.site.url.path.get(1..).unwrap_or("");
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
            None if flags == FlagSpelling::Retired && bound.redirect_status().is_some() => {
                bound.text.clone().unwrap_or_default()
            }
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
            && flags.has_flags();
        let name = &bound.variable.name;
        let value = self.options.get(name).filter(|_| is_here)?;
        (!value.is_empty()).then_some(value)
    }

    /// The redirect to the page without retired options and unknown parameters, if the URL has any.
    pub(crate) fn redirect(&self) -> Option<PageRedirect> {
        let mut removed: Vec<(u16, String)> = self
            .site
            .path
            .iter()
            .filter_map(|bound| Some((bound.redirect_status()?, bound.variable.name.clone())))
            .collect();
        removed.extend(self.site.query.iter().filter_map(|bound| {
            let status = bound.redirect_status()?;
            Some((status, bound.variable.name.clone()))
        }));
        if let UnknownParameters::Redirected(status) = self.site.unknown_parameters() {
            let unknown = self
                .site
                .parameters()
                .filter(|parameter| self.site.position_of(parameter).is_none());
            removed.extend(unknown.map(|parameter| (status, parameter.name.to_owned())));
        }
        // A permanent redirect would promise too much if one of the options may come back.
        let status = removed.iter().map(|(status, _)| *status).max()?;
        Some(PageRedirect {
            status,
            removed: removed.into_iter().map(|(_, name)| name).collect(),
        })
    }

    /// The query: the parameters in the order of [`QueryOrder`].
    fn query(&self, flags: FlagSpelling) -> Option<String> {
        let mut query: Vec<(QueryOrder, String)> = self
            .site
            .parameters()
            .filter_map(|parameter| self.written(&parameter, flags))
            .collect();
        for (position, bound) in self.site.query.iter().enumerate() {
            let name = &bound.variable.name;
            match &bound.variable.kind {
                VariableKind::Website(replacement) if bound.text.is_none() => {
                    let order = QueryOrder::Declared(position);
                    query.push((order, format_parameter(name, replacement)));
                }
                _ => query.extend(
                    self.flag_value(bound, flags)
                        .map(|value| (QueryOrder::Flag, format_parameter(name, value))),
                ),
            }
        }
        query.sort_by_key(|(order, _)| *order);
        let query: Vec<String> = query.into_iter().map(|(_, parameter)| parameter).collect();
        Some(query.join("&")).filter(|query| !query.is_empty())
    }

    /// A parameter of the URL as text, unless it is an option.
    fn written(
        &self,
        parameter: &QueryParameter<'_>,
        flags: FlagSpelling,
    ) -> Option<(QueryOrder, String)> {
        let with_retired = flags == FlagSpelling::Retired;
        let site = &self.site;
        let raw = parameter.raw.to_owned();
        let Some(position) = site.position_of(parameter) else {
            return match site.unknown_parameters() {
                UnknownParameters::Redirected(_) => {
                    with_retired.then_some((QueryOrder::Unknown, raw))
                }
                UnknownParameters::Kept | UnknownParameters::Refused => {
                    Some((QueryOrder::Kept, raw))
                }
            };
        };
        let variable = site.query[position].variable;
        let raw = if site.lower_case || variable.is_lower {
            lower_case(&raw)
        } else {
            raw
        };
        match &variable.kind {
            VariableKind::Group => Some((QueryOrder::Declared(position), raw)),
            VariableKind::Website(replacement) => {
                let text = format_parameter(&variable.name, replacement);
                Some((QueryOrder::Declared(position), text))
            }
            VariableKind::Redirect(_) if with_retired => Some((QueryOrder::Retired(position), raw)),
            VariableKind::Flag(_) | VariableKind::Redirect(_) => None,
        }
    }
}
