//! The authors of a urldb.toml, and the keys that have an effect if strangers wrote the file.

use toml::de::{DeTable, DeValue};
use urldb_text::sanitize;

use super::FILE_NAME;

/// The people who wrote a configuration, and the files of its repository.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Author {
    /// The maintainers: every key has its effect.
    #[default]
    Maintainer,
    /// Anybody: only [`TRUSTED_KEYS`] have an effect, no link is followed, and lists are files that
    /// git tracks.
    Stranger,
}

/// The keys that have an effect under `--untrusted`, as `SECTION.KEY`; `*` stands for any name. None of
/// these keys can name a file, a program, an address or a secret, send anything more than a GET of a
/// promised URL, or raise the number of requests, the time and the memory of a check.
pub const TRUSTED_KEYS: [&str; 12] = [
    "check.blocked-after",
    "check.canonical",
    "check.challenge",
    "check.cnames",
    "check.confirm",
    "check.expiry-warning",
    "check.host.*.canonical",
    "check.promised-targets",
    "check.rehash-every",
    "lint.allow",
    "lint.keys",
    "source.*",
];

/// Most names of keys in a message, and most characters of each: strangers choose both.
const MOST_NAMES: usize = 100;
const MOST_CHARACTERS: usize = 60;

/// Removes all keys but [`TRUSTED_KEYS`], and returns the names of the removed keys.
pub(super) fn remove_untrusted(table: &mut DeTable<'_>) -> Vec<String> {
    let mut removed = vec![];
    keep_trusted(table, &mut vec![], &mut removed);
    removed
}

fn keep_trusted(table: &mut DeTable<'_>, path: &mut Vec<String>, removed: &mut Vec<String>) {
    for (key, mut value) in std::mem::take(table) {
        path.push(key.get_ref().to_string());
        let keeps = match (trust(path), value.get_mut()) {
            (KeyTrust::Key, _) => true,
            (KeyTrust::Section, DeValue::Table(section)) => {
                keep_trusted(section, path, removed);
                !section.is_empty()
            }
            (_, DeValue::Table(section)) if path.len() == 1 && !section.is_empty() => {
                let names = section
                    .keys()
                    .map(|key| format!("{}.{}", path[0], key.get_ref()));
                removed.extend(names.map(|name| shown(&name)));
                false
            }
            _ => {
                removed.push(shown(&path.join(".")));
                false
            }
        };
        path.pop();
        if keeps {
            table.insert(key, value);
        }
    }
}

/// The effect of a key that strangers wrote.
enum KeyTrust {
    /// The key has an effect.
    Key,
    /// Keys below the key may have an effect.
    Section,
    /// Neither the key nor any key below it has an effect.
    None,
}

fn trust(path: &[String]) -> KeyTrust {
    let mut trust = KeyTrust::None;
    for key in TRUSTED_KEYS {
        let names: Vec<&str> = key.split('.').collect();
        let fits = |(name, part): (&&str, &String)| *name == "*" || *name == part.as_str();
        if names.len() >= path.len() && names.iter().zip(path).all(fits) {
            if names.len() == path.len() {
                return KeyTrust::Key;
            }
            trust = KeyTrust::Section;
        }
    }
    trust
}

/// The name of a key as messages show it: sanitized, and cut after 60 characters.
pub(super) fn shown(name: &str) -> String {
    let name = sanitize(name);
    let short: String = name.chars().take(MOST_CHARACTERS).collect();
    let mark = if short.len() < name.len() { "…" } else { "" };
    format!("{short}{mark}")
}

/// The line that names the keys without effect.
pub(super) fn line_of(removed: &[String]) -> String {
    format!(
        "these keys of {FILE_NAME} have no effect with --untrusted: {}",
        join_names(removed)
    )
}

/// The first names, and the number of the others.
pub(super) fn join_names(names: &[String]) -> String {
    let first = &names[..names.len().min(MOST_NAMES)];
    let more = match names.len() - first.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", first.join(", "))
}
