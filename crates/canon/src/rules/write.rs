//! An evaluated URL written again: as its page, and as its official URL.

use super::evaluate::{Evaluation, below};
use super::query::{argument, arguments, lower_case};
use super::slot::{Bound, Kind};
use super::trace::{Namespace, Parts};
use crate::identity::Scheme;

/// What becomes of flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flags {
    /// None is written: the page.
    Dropped,
    /// Those with an official position are, as value and separator.
    Spelled,
    /// The same, but where one stood there already it is written as it was.
    AsMatched,
}

impl Evaluation<'_> {
    /// Path and query of the page.
    pub(crate) fn page(&self) -> String {
        let path = self.path(Flags::Dropped);
        match self.query(Flags::Dropped) {
            Some(query) => format!("{path}?{query}"),
            None => path,
        }
    }

    /// The URL.
    pub(crate) fn url(&self, flags: Flags) -> String {
        let scheme = self.scheme();
        Parts {
            scheme,
            host: self.host(flags),
            // The scheme changes only where the port is its default one.
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

    /// That of the rule; if it takes both, `http`, which is what the specification prefers. A port
    /// of its own belongs to the scheme in the URL.
    fn scheme(&self) -> Scheme {
        let Parts { scheme, port, .. } = self.parts;
        match self.site.rule {
            Some(rule) => rule.scheme.unwrap_or_else(|| {
                if rule.port.is_some() || port != scheme.default_port() {
                    scheme
                } else {
                    Scheme::Http
                }
            }),
            None => scheme,
        }
    }

    /// The names of the variables that have an official position.
    pub(crate) fn official_names(&self) -> Vec<&str> {
        let site = self.site.query.iter().chain(&self.site.path);
        let slots = self.host.iter().flatten().chain(site).map(|b| b.slot);
        slots
            .filter(|slot| slot.namespace == Namespace::Official)
            .map(|slot| slot.name.as_str())
            .collect()
    }

    fn host(&self, flags: Flags) -> String {
        let Some(host) = self.host.as_ref().filter(|_| flags != Flags::Dropped) else {
            return self.website.clone();
        };
        below(&self.written(host, flags), &self.domain)
    }

    fn path(&self, flags: Flags) -> String {
        let path = self.parts.path.get(1..).unwrap_or("");
        let (taken, rest) = path.split_at_checked(self.site.taken).unwrap_or(("", path));
        let written = self.written(&self.site.path, flags);
        let closed = written.is_empty() || written.ends_with('/');
        // The slash that ends what was taken is not in the rest, unless the pattern left it there.
        let left = !taken.is_empty() && !taken.ends_with('/');
        let rest = match rest.strip_prefix('/') {
            Some(inner) if closed && left => inner,
            _ => rest,
        };
        let slash = if closed || rest.is_empty() || rest.starts_with('/') {
            ""
        } else {
            "/"
        };
        format!("/{written}{slash}{rest}")
    }

    fn written(&self, bound: &[Bound<'_>], flags: Flags) -> String {
        let write = |one: &Bound<'_>| match self.flag(one, flags) {
            None => one.kept(),
            Some(value) => match &one.text {
                Some(text) if flags == Flags::AsMatched => text.clone(),
                _ => value.chars().chain(one.slot.joint).collect(),
            },
        };
        bound.iter().map(write).collect()
    }

    /// The value to write for a flag whose official position is here.
    fn flag(&self, bound: &Bound<'_>, flags: Flags) -> Option<&str> {
        let here = matches!(bound.slot.kind, Kind::Flag(_))
            && bound.slot.namespace == Namespace::Official
            && flags != Flags::Dropped;
        let value = self.options.get(&bound.slot.name).filter(|_| here)?;
        (!value.is_empty()).then_some(value)
    }

    fn query(&self, flags: Flags) -> Option<String> {
        let mut kept: Vec<String> = Vec::new();
        for one in self.parts.query.iter().flat_map(|query| arguments(query)) {
            let lower = self.site.lower_case.then(|| lower_case(one.raw));
            let raw = lower.as_deref().unwrap_or(one.raw);
            let name = raw.split_once('=').map_or(raw, |(name, _)| name);
            let bound = self.site.query.iter().find(|b| b.slot.name == name);
            match bound.map(|bound| &bound.slot.kind) {
                None => kept.push(one.raw.to_owned()),
                Some(Kind::Group) => kept.push(raw.to_owned()),
                Some(Kind::Website(replacement)) => kept.push(argument(name, replacement)),
                Some(Kind::Flag(_)) => {}
            }
        }
        for bound in &self.site.query {
            let name = &bound.slot.name;
            match &bound.slot.kind {
                Kind::Website(replacement) if bound.text.is_none() => {
                    kept.push(argument(name, replacement));
                }
                _ => kept.extend(self.flag(bound, flags).map(|value| argument(name, value))),
            }
        }
        Some(kept.join("&")).filter(|query| !query.is_empty())
    }
}
