//! Which script is about which host.

pub use urldb_suffix::registrable_domain;

/// What a file of rules is about, by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScriptFile {
    /// `DOMAIN.rules`: the script of a registrable domain.
    Domain(String),
    /// `WEBSITE.website.rules`: the script of a website.
    Website(String),
}

impl ScriptFile {
    /// What `name` is about: `None` when it does not end in `.rules`, or the rest is not a host in
    /// the spelling of [`identify`](crate::identify()), or no registrable domain.
    ///
    /// `example.website.rules` is about the domain `example.website`, since `website` is a suffix
    /// too, and a website has a domain.
    pub fn of(name: &str) -> Option<Self> {
        let name = name.strip_suffix(".rules")?;
        let canonical = |name: &str| crate::host::canonical_host(name).as_deref() == Ok(name);
        if canonical(name) && registrable_domain(name) == name {
            return Some(Self::Domain(name.to_owned()));
        }
        let website = name.strip_suffix(".website")?;
        canonical(website).then(|| Self::Website(website.to_owned()))
    }
}
