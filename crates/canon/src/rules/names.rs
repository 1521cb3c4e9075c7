//! Which script is about which host.

/// The registrable domain of `host`: what its owner registered, `example.co.uk` for
/// `data.example.co.uk`. It only chooses the rules.
///
/// By the public suffix list that is compiled in; a suffix that is not in it has one label. A host
/// that has no such domain, as an address or a suffix itself, is its own.
pub fn registrable_domain(host: &str) -> &str {
    let address = host.parse::<std::net::Ipv4Addr>().is_ok();
    psl::domain_str(host).filter(|_| !address).unwrap_or(host)
}

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
