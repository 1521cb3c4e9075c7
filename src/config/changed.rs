//! The keys of urldb.toml that differ between two versions: names only, since a value may be long or hostile.

use std::collections::BTreeMap;

use super::FILE_NAME;
use super::untrusted::{join_names, shown};

/// The keys that differ, as `SECTION.KEY`; sanitized and of bounded length.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ChangedKeys {
    /// Only in the later version.
    pub added: Vec<String>,
    /// Only in the earlier version.
    pub removed: Vec<String>,
    /// With another value.
    pub changed: Vec<String>,
    /// One of the versions is no TOML, so that its keys are unknown.
    #[serde(rename = "unreadable")]
    pub is_unreadable: bool,
}

impl ChangedKeys {
    /// Compares two versions of the file; an absent file is empty. `None` if no key differs.
    pub fn between(before: &[u8], after: &[u8]) -> Option<Self> {
        if before == after {
            return None;
        }
        let (Some(before), Some(after)) = (keys(before), keys(after)) else {
            return Some(Self {
                is_unreadable: true,
                ..Self::default()
            });
        };
        let mut differing = Self::default();
        for (name, value) in &after {
            match before.get(name) {
                None => differing.added.push(shown(name)),
                Some(former) if former != value => differing.changed.push(shown(name)),
                Some(_) => {}
            }
        }
        let removed = before.keys().filter(|name| !after.contains_key(*name));
        differing.removed = removed.map(|name| shown(name)).collect();
        (differing != Self::default()).then_some(differing)
    }

    /// `added a.b, c.d; changed e.f`, with each name as `name` writes it.
    pub fn sentence(&self, name: impl Fn(&str) -> String) -> String {
        if self.is_unreadable {
            return format!(
                "{} is not valid TOML in one of the versions",
                name(FILE_NAME)
            );
        }
        [
            ("added", &self.added),
            ("removed", &self.removed),
            ("changed", &self.changed),
        ]
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(kind, names)| {
            let names: Vec<String> = names.iter().map(|it| name(it)).collect();
            format!("{kind} {}", join_names(&names))
        })
        .collect::<Vec<_>>()
        .join("; ")
    }
}

/// The keys with their values, as `SECTION.KEY`. `None` if the text is no TOML.
fn keys(text: &[u8]) -> Option<BTreeMap<String, toml::Value>> {
    let table: toml::Table = std::str::from_utf8(text).ok()?.parse().ok()?;
    let mut keys = BTreeMap::new();
    collect(toml::Value::Table(table), "", &mut keys);
    Some(keys)
}

fn collect(value: toml::Value, name: &str, keys: &mut BTreeMap<String, toml::Value>) {
    match value {
        toml::Value::Table(table) if !table.is_empty() => {
            for (key, value) in table {
                let dot = if name.is_empty() { "" } else { "." };
                collect(value, &format!("{name}{dot}{key}"), keys);
            }
        }
        toml::Value::Table(_) if name.is_empty() => {}
        value => {
            keys.insert(name.to_owned(), value);
        }
    }
}
