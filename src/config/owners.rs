//! `[owners]` of urldb.toml: the owners of URLs, by prefixes of host and path.

use std::collections::{BTreeMap, BTreeSet};

use url::{Position, Url};

use super::section::Section;

/// Most characters of the name of an owner.
const MOST_NAME: usize = 100;

/// The owners of URLs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owners {
    /// The prefixes of each host, the longest path first.
    by_host: BTreeMap<String, Vec<OwnedPrefix>>,
}

/// A line of `[owners]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedPrefix {
    /// The prefix as the file has it.
    pub key: String,
    /// The beginning of the paths.
    pub path: String,
    /// The owner.
    pub owner: String,
}

impl Owners {
    /// The owner of the record of a host with this path.
    pub fn of(&self, host: &str, path: &str) -> Option<&str> {
        self.by_host
            .get(host)?
            .iter()
            .find(|prefix| path.starts_with(&prefix.path))
            .map(|prefix| prefix.owner.as_str())
    }

    /// The owner of a URL whose record is in the domain file of a host. The URL of an alias has the owner of
    /// the record.
    pub fn of_url(&self, host: &str, url: &str) -> Option<&str> {
        if self.by_host.is_empty() {
            return None;
        }
        let url = Url::parse(url).ok()?;
        self.of(host, &url[Position::BeforePath..Position::AfterQuery])
    }

    /// All owners.
    pub fn names(&self) -> BTreeSet<&str> {
        self.prefixes()
            .map(|(_, prefix)| prefix.owner.as_str())
            .collect()
    }

    /// All prefixes, each with its host.
    pub fn prefixes(&self) -> impl Iterator<Item = (&str, &OwnedPrefix)> {
        self.by_host
            .iter()
            .flat_map(|(host, prefixes)| prefixes.iter().map(move |it| (host.as_str(), it)))
    }

    /// Whether one of these owners has URLs of the host.
    pub fn has_host(&self, host: &str, owners: &[String]) -> bool {
        self.by_host
            .get(host)
            .into_iter()
            .flatten()
            .any(|prefix| owners.contains(&prefix.owner))
    }
}

pub(super) fn owners(section: &Section<'_>) -> Owners {
    let mut owners = Owners::default();
    section.each_text(|key, owner| {
        let (host, path) = parse(key).ok_or_else(|| {
            format!(
                "\"{key}\" is no host with the beginning of a path, such as \"data.example.org/gaia/\""
            )
        })?;
        if !is_name(owner) {
            return Err(format!(
                "an owner is a name of one line, at most {MOST_NAME} characters"
            ));
        }
        let prefixes: &mut Vec<OwnedPrefix> = owners.by_host.entry(host).or_default();
        if let Some(same) = prefixes.iter().find(|known| known.path == path) {
            return Err(format!("\"{key}\" is the same prefix as \"{}\"", same.key));
        }
        prefixes.push(OwnedPrefix {
            key: key.to_owned(),
            path,
            owner: owner.to_owned(),
        });
        Ok(())
    });
    for prefixes in owners.by_host.values_mut() {
        prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.path.len()));
    }
    owners
}

fn is_name(owner: &str) -> bool {
    let is_short = (1..=MOST_NAME).contains(&owner.chars().count());
    is_short && owner == owner.trim() && !owner.contains(char::is_control)
}

/// The host, and the beginning of the paths as records have them. A host alone stands for all its paths.
fn parse(key: &str) -> Option<(String, String)> {
    let url = Url::parse(&format!("http://{key}")).ok()?;
    let is_plain = url.username().is_empty()
        && url.password().is_none()
        && url.port().is_none()
        && url.fragment().is_none()
        && !key.contains("://");
    let path = &url[Position::BeforePath..Position::AfterQuery];
    is_plain.then(|| Some((url.host_str()?.to_owned(), path.to_owned())))?
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::super::section::Problems;
    use super::*;

    fn read(text: &str) -> (Owners, Vec<String>) {
        let problems = Problems::new(text);
        let table = DeTable::parse(text).unwrap();
        let owners = owners(&Section::new("owners", &table, &problems));
        let found = problems.into_findings().into_iter();
        let found = found.map(|it| format!("{}: {}", it.line, it.message));
        (owners, found.collect())
    }

    #[test]
    fn the_longest_prefix_wins() {
        let (owners, mistakes) = read(
            "\"Data.example.org\" = \"archive team\"\n\"data.example.org/gaia/\" = \"gaia\"\n\
             \"data.example.org/gaia/dr3?release=\" = \"dr3\"\n\"bücher.example/straße/\" = \"books\"\n",
        );
        assert_eq!(mistakes, [""; 0]);
        for (host, path, owner) in [
            ("data.example.org", "/", Some("archive team")),
            ("data.example.org", "/gaia", Some("archive team")),
            ("data.example.org", "/gaia/stars.csv", Some("gaia")),
            ("data.example.org", "/gaia/dr3?release=1", Some("dr3")),
            ("www.data.example.org", "/gaia/", None),
            ("xn--bcher-kva.example", "/stra%C3%9Fe/1", Some("books")),
        ] {
            assert_eq!(owners.of(host, path), owner, "{host}{path}");
        }
        // An alias has the owner of the record.
        let alias = "https://mirror.example.net/gaia/stars.csv";
        assert_eq!(owners.of_url("data.example.org", alias), Some("gaia"));
    }

    #[test]
    fn mistakes_are_named() {
        let (_, mistakes) = read(
            "\"https://data.example.org/\" = \"a\"\n\"data.example.org:8080/\" = \"a\"\n\
             \"a.example\" = \"b\"\n\"a.example/\" = \"b\"\n\"b.example\" = \"\"\n\"c.example\" = 1\n",
        );
        insta::assert_snapshot!(mistakes.join("\n"));
    }
}
