//! `--untrusted` against every key of urldb.toml.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use toml::{Table, Value};
use urldb::config::{Author, Config, TRUSTED_KEYS, load_by};

/// A key with its value, below the names of its sections.
type Leaf = (Vec<String>, Value);

/// Every key of tests/data/every-key.toml; `tests/docs.rs` shows that it has every key there is.
fn every_key() -> Vec<Leaf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/every-key.toml");
    let table: Table = fs::read_to_string(file).unwrap().parse().unwrap();
    let mut leaves = vec![];
    for (section, value) in table {
        for (key, value) in keys(&value) {
            let path = vec![section.clone(), key.clone()];
            match (section.as_str(), key.as_str(), &value) {
                // The names of hosts and of notifiers are keys of the user's own.
                ("check", "host", Value::Table(hosts)) => {
                    for (host, section) in hosts {
                        let below = keys(section).into_iter();
                        leaves.extend(below.map(|(key, value)| {
                            ([path.clone(), vec![host.clone(), key]].concat(), value)
                        }));
                    }
                }
                ("check", "challenge", _) => leaves.push((path, value)),
                (_, _, Value::Table(table)) if section == "notify" => {
                    let below = table.clone().into_iter();
                    leaves.extend(
                        below.map(|(key, value)| ([path.clone(), vec![key]].concat(), value)),
                    );
                }
                _ => leaves.push((path, value)),
            }
        }
    }
    leaves
}

/// The keys of a table, or of the tables of an array.
fn keys(value: &Value) -> Vec<(String, Value)> {
    match value {
        Value::Table(table) => table.clone().into_iter().collect(),
        Value::Array(tables) => tables.iter().flat_map(keys).collect(),
        other => panic!("{other:?} is no section"),
    }
}

/// A file with one key.
fn file_with((path, value): &Leaf) -> String {
    let mut names = path.iter().rev();
    let mut text = format!("{{ {:?} = {} }}", names.next().unwrap(), inline(value));
    for name in names {
        let list = name == "schedule";
        let below = if list { format!("[{text}]") } else { text };
        text = format!("{{ \"{name}\" = {below} }}");
    }
    // The outermost braces are the file's own.
    text[2..text.len() - 2].to_owned()
}

/// A value as it stands in a line.
fn inline(value: &Value) -> String {
    let listed = |items: Vec<String>| items.join(", ");
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => format!("[{}]", listed(items.iter().map(inline).collect())),
        Value::Table(table) => {
            let keys = table.iter();
            let keys = keys.map(|(key, value)| format!("{key:?} = {}", inline(value)));
            format!("{{ {} }}", listed(keys.collect()))
        }
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(flag) => flag.to_string(),
        Value::Datetime(_) => unreachable!("no key has a date"),
    }
}

fn load(text: &str, author: Author) -> Result<Config, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("urldb.toml");
    fs::write(&file, text).unwrap();
    load_by(&file, author).map_err(|error| error.to_string())
}

/// All that the program reads of a configuration.
fn settings(config: &Config) -> String {
    let config = Config {
        root: "".into(),
        file: "".into(),
        without_effect: None,
        lines: [].into(),
        ..config.clone()
    };
    format!("{config:?}")
}

fn is_trusted(path: &[String]) -> bool {
    TRUSTED_KEYS.iter().any(|key| {
        let names: Vec<&str> = key.split('.').collect();
        names.len() == path.len()
            && names
                .iter()
                .zip(path)
                .all(|(name, part)| *name == "*" || name == part)
    })
}

#[test]
fn every_key_without_trust_has_no_effect_and_is_named() {
    let nothing = settings(&load("", Author::Stranger).unwrap());
    let keys = every_key();
    assert!(keys.len() > 100, "{}", keys.len());
    for leaf in &keys {
        let text = file_with(leaf);
        let config = load(&text, Author::Stranger).unwrap_or_else(|error| panic!("{text}{error}"));
        if is_trusted(&leaf.0) {
            assert_eq!(config.without_effect, None, "{text}");
            assert_ne!(settings(&config), nothing, "{text}");
            continue;
        }
        assert_eq!(settings(&config), nothing, "{text}");
        let depth = if leaf.0[0] == "schedule" {
            1
        } else {
            leaf.0.len()
        };
        let depth = if leaf.0[0] == "notify" { 2 } else { depth };
        let name = leaf.0[..depth].join(".");
        let line = config.without_effect.unwrap_or_else(|| panic!("{text}"));
        assert!(
            line.ends_with(&format!(" no effect with --untrusted: {name}")),
            "{line}"
        );
        // Not even a wrong value is looked at.
        let wrong = (leaf.0.clone(), Value::Float(0.5));
        let config = load(&file_with(&wrong), Author::Stranger).unwrap();
        assert_eq!(settings(&config), nothing, "{text}");
    }
}

#[test]
fn the_whole_file_has_only_the_effects_of_trusted_keys() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/every-key.toml");
    let whole = load(&fs::read_to_string(file).unwrap(), Author::Stranger).unwrap();
    let default = Config::default();
    assert_eq!(whole.lint.keys, ["state"]);
    assert_eq!(whole.check.verdict.confirm, 3);
    assert_eq!(whole.database.path, default.database.path);
    assert_eq!(
        format!("{:?}", whole.network),
        format!("{:?}", default.network)
    );
    assert_eq!(
        format!("{:?}", whole.archive),
        format!("{:?}", default.archive)
    );
    assert!(whole.notifiers.is_empty() && whole.schedules.is_empty());
    let host = &whole.check.fetch.hosts["data.example.org"];
    assert!(host.headers.is_empty() && !host.unsafe_methods && !host.canonical);
    let line = whole.without_effect.unwrap();
    assert!(
        !line.contains('\n') && line.contains("notify.operators, notify.page"),
        "{line}"
    );
}

#[test]
fn names_of_keys_by_strangers_fit_on_one_line() {
    let long = "x".repeat(5_000);
    let many: Vec<String> = (0..10_000)
        .map(|index| format!("key{index} = 1\n"))
        .collect();
    let many = many.concat();
    let text = format!("\"a\\n::error::\\u001b[31m\" = 1\n\"{long}\" = 1\n[network]\n{many}");
    let line = load(&text, Author::Stranger)
        .unwrap()
        .without_effect
        .unwrap();
    assert!(
        line.len() < 2_000 && !line.contains(char::is_control),
        "{line}"
    );
    assert!(line.ends_with("and 9902 more"), "{line}");
}

#[test]
fn the_documentation_has_the_trusted_keys() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n## With `--untrusted`\n").unwrap();
    let section = section.split("\n#").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let names = rows.filter_map(|row| row.split_once("` | read"));
    let names = names.flat_map(|(names, _)| names.split("`, `"));
    let names: BTreeSet<&str> = names.collect();
    assert_eq!(names, TRUSTED_KEYS.into());
}
