//! The names of rule files.

pub use urldb_suffix::registrable_domain;

/// The subject of a rule file, by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScriptFile {
    /// `DOMAIN.rules`: the script of a registrable domain.
    Domain(String),
    /// `WEBSITE.website.rules`: the script of a website.
    Website(String),
}

impl ScriptFile {
    /// The subject of the file `name`: `None` when the name does not end in `.rules`, or does not
    /// begin with a registrable domain or a host in the spelling of [`identify`](crate::identify()).
    ///
    /// `example.website.rules` is about the domain `example.website`, since `website` is a public
    /// suffix, and not about a website `example`.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.strip_suffix(".rules")?;
        let canonical = |name: &str| crate::host::canonical_host(name).as_deref() == Ok(name);
        if canonical(name) && registrable_domain(name) == name {
            return Some(Self::Domain(name.to_owned()));
        }
        let website = name.strip_suffix(".website")?;
        canonical(website).then(|| Self::Website(website.to_owned()))
    }
}
