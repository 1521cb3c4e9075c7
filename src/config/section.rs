//! Reads one table of urldb.toml key by key, and collects its mistakes.

mod lists;
mod problems;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use jiff::{Span, SpanRelativeTo};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use urldb_text::nearest;

use super::SectionLines;
use super::digest::digest;
pub(super) use problems::Problems;

/// One table. Every key that is read counts as known.
pub(super) struct Section<'a> {
    name: String,
    offset: usize,
    table: &'a DeTable<'a>,
    known: RefCell<Vec<&'a str>>,
    problems: &'a Problems<'a>,
}

impl<'a> Section<'a> {
    pub(super) fn new(
        name: impl Into<String>,
        table: &'a Spanned<DeTable<'a>>,
        problems: &'a Problems<'a>,
    ) -> Self {
        Self::at(name.into(), table.span().start, table.get_ref(), problems)
    }

    fn at(name: String, offset: usize, table: &'a DeTable<'a>, problems: &'a Problems<'a>) -> Self {
        let section = Self {
            name,
            offset,
            table,
            known: RefCell::default(),
            problems,
        };
        let lines = (section.name.clone(), section.lines());
        problems.lines.borrow_mut().extend([lines]);
        section
    }

    /// Reads the keys, and reports those that `read` did not ask for.
    fn read_all<T>(self, read: impl FnOnce(&Self) -> T) -> T {
        let value = read(&self);
        self.finish();
        value
    }

    /// Counts all keys as known: the table has a mistake that leaves their meaning open.
    pub(super) fn know_all(&self) {
        let keys = self.table.keys().map(|key| key.get_ref().as_ref());
        self.known.borrow_mut().extend(keys);
    }

    /// Reports the keys that were not read.
    pub(super) fn finish(&self) {
        let known = self.known.borrow();
        for (key, _) in self.table {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                continue;
            }
            let place = if self.name.is_empty() {
                String::new()
            } else {
                format!(" in [{}]", self.name)
            };
            let advice = nearest(name, known.iter().copied()).map_or_else(
                || format!("; known are {}", known.join(", ")),
                |near| format!("; did you mean `{near}`?"),
            );
            self.problems.push(
                key.span().start,
                format!("unknown key `{name}`{place}{advice}"),
            );
        }
    }

    /// Says that something is wrong with the section as a whole.
    pub(super) fn problem(&self, message: impl Into<String>) {
        self.problems
            .push(self.offset, format!("[{}]: {}", self.name, message.into()));
    }

    /// Says that the value of a key is wrong; of the section as a whole, if the key is absent.
    pub(super) fn wrong(&self, key: &'static str, message: impl Into<String>) {
        let offset = self
            .find(key)
            .map_or(self.offset, |value| value.span().start);
        self.problems.push(offset, message);
    }

    /// Says that the key is missing, if it is; `more` goes on with its meaning or an example.
    pub(super) fn need(&self, key: &'static str, more: &str) {
        if !self.has(key) {
            self.problem(format!("`{key}` is missing{more}"));
        }
    }

    /// Whether the key is there, with whatever value.
    pub(super) fn has(&self, key: &'static str) -> bool {
        self.find(key).is_some()
    }

    fn lines(&self) -> SectionLines {
        let line = |offset| self.problems.line(offset);
        let keys = self.table.iter();
        SectionLines {
            section: line(self.offset),
            keys: keys
                .map(|(key, _)| (key.get_ref().to_string(), line(key.span().start)))
                .collect(),
        }
    }

    /// A text that `check` accepts; its error is the message of the mistake.
    pub(super) fn checked<T>(
        &self,
        key: &'static str,
        check: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.text(key)?;
        match check(&text) {
            Ok(value) => Some(value),
            Err(message) => {
                self.wrong(key, message);
                None
            }
        }
    }

    /// The name of an environment variable.
    pub(super) fn variable(&self, key: &'static str) -> Option<String> {
        self.checked(key, |name| {
            check_variable(name)
                .ok_or_else(|| format!("`{key}` should be the name of an environment variable"))
        })
    }

    pub(super) fn variables(&self, key: &'static str) -> Vec<String> {
        self.checked_list(key, |name| {
            check_variable(name)
                .ok_or_else(|| format!("`{key}` should have names of environment variables"))
        })
        .unwrap_or_default()
    }

    /// Digest of the section's keys and values, and of whether each environment variable is set that `env`
    /// or a key ending in `-env` names: 16 hexadecimal digits.
    pub(super) fn digest(&self) -> String {
        digest(self.table)
    }

    pub(super) fn text(&self, key: &'static str) -> Option<String> {
        self.typed(key, "a text", |value| value.as_str().map(str::to_owned))
    }

    /// One line of 1 to `most` characters, without spaces at its ends; `kind` is such as `a name`.
    pub(super) fn line(&self, key: &'static str, kind: &str, most: usize) -> Option<String> {
        let what = format!("{kind} of one line, at most {most} characters");
        self.typed(key, &what, |value| {
            let text = value.as_str()?;
            let is_short = (1..=most).contains(&text.chars().count());
            let is_line = text == text.trim() && !text.contains(char::is_control);
            (is_short && is_line).then(|| text.to_owned())
        })
    }

    pub(super) fn count(&self, key: &'static str, least: u64) -> Option<u64> {
        self.typed(key, &format!("a number from {least} up"), |value| {
            integer(value).filter(|number| *number >= least)
        })
    }

    pub(super) fn duration(&self, key: &'static str) -> Option<Duration> {
        self.typed(
            key,
            "a time such as \"500ms\", \"10s\", \"5m\" or \"7d\"",
            |value| duration(value.as_str()?),
        )
    }

    /// An interval; [`Duration::MAX`] is `"never"`.
    pub(super) fn interval(&self, key: &'static str) -> Option<Duration> {
        self.typed(
            key,
            "a time such as \"7d\", or \"never\"",
            |value| match value.as_str()? {
                "never" => Some(Duration::MAX),
                text => duration(text),
            },
        )
    }

    pub(super) fn flag(&self, key: &'static str) -> Option<bool> {
        self.typed(key, "true or false", DeValue::as_bool)
    }

    pub(super) fn numbers(&self, key: &'static str) -> Option<Vec<u16>> {
        self.typed(key, "a list of numbers such as [403, 503]", |value| {
            value
                .as_array()?
                .iter()
                .map(|item| u16::try_from(integer(item.get_ref())?).ok())
                .collect()
        })
    }

    pub(super) fn bytes(&self, key: &'static str) -> Option<u64> {
        self.typed(
            key,
            "a size such as \"64KiB\", \"10MiB\" or \"16GiB\"",
            |value| integer(value).or_else(|| bytes(value.as_str()?)),
        )
    }

    pub(super) fn choice<T: Copy>(&self, key: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let names: Vec<String> = choices
            .iter()
            .map(|(name, _)| format!("\"{name}\""))
            .collect();
        self.typed(key, &names.join(" or "), |value| {
            let text = value.as_str()?;
            choices
                .iter()
                .find(|(name, _)| *name == text)
                .map(|(_, choice)| *choice)
        })
    }

    pub(super) fn parsed<T: FromStr>(&self, key: &'static str, what: &str) -> Option<T> {
        self.typed(key, what, |value| value.as_str()?.parse().ok())
    }

    pub(super) fn list<T: FromStr>(&self, key: &'static str, what: &str) -> Option<Vec<T>> {
        self.typed(key, what, |value| {
            value
                .as_array()?
                .iter()
                .map(|item| item.get_ref().as_str()?.parse().ok())
                .collect()
        })
    }

    pub(super) fn port(&self, key: &'static str) -> Option<u16> {
        self.typed(key, "a port from 1 to 65535", |value| {
            u16::try_from(integer(value)?).ok().filter(|port| *port > 0)
        })
    }

    /// A command: a program, or a list of the program and its arguments.
    pub(super) fn words(&self, key: &'static str) -> Option<Vec<String>> {
        let what = "a program, or a list of a program and its arguments";
        self.typed(key, what, |value| {
            let words: Vec<String> = match value.as_array() {
                None => vec![value.as_str()?.to_owned()],
                Some(items) => items
                    .iter()
                    .map(|item| item.get_ref().as_str().map(str::to_owned))
                    .collect::<Option<_>>()?,
            };
            let is_command = words.first().is_some_and(|program| !program.is_empty());
            (is_command && !words.iter().any(|word| word.contains('\0'))).then_some(words)
        })
    }

    /// Whether the key is there, and has a table.
    pub(super) fn has_table(&self, key: &'static str) -> bool {
        let value = self.find(key);
        value.is_some_and(|value| value.get_ref().as_table().is_some())
    }

    pub(super) fn texts_by_name(&self, key: &'static str) -> Option<BTreeMap<String, String>> {
        self.typed(key, "a table of texts", |value| {
            value
                .as_table()?
                .iter()
                .map(|(name, text)| {
                    Some((
                        name.get_ref().to_string(),
                        text.get_ref().as_str()?.to_owned(),
                    ))
                })
                .collect()
        })
    }

    /// Reads all keys of a section whose keys are no names of ours: `read` gets each key with its text, and
    /// returns the message of a mistake.
    pub(super) fn each_text(&self, mut read: impl FnMut(&str, &str) -> Result<(), String>) {
        self.know_all();
        for (key, value) in self.table {
            let read = match value.get_ref().as_str() {
                Some(text) => read(key.get_ref(), text),
                None => Err(format!("\"{}\" should be a text", key.get_ref())),
            };
            if let Err(message) = read {
                self.problems.push(key.span().start, message);
            }
        }
    }

    /// The tables below this key, by name, each read by `read`: `[key.NAME]`.
    pub(super) fn read_named<T>(
        &self,
        key: &'static str,
        read: impl Fn(&str, &Self) -> Option<T>,
    ) -> BTreeMap<String, T> {
        self.find(key)
            .and_then(|value| self.table_of(key, value))
            .into_iter()
            .flatten()
            .filter_map(|(name, value)| {
                let name = name.get_ref();
                let path = if name.contains(is_not_bare) {
                    format!("{key}.\"{name}\"")
                } else {
                    format!("{key}.{name}")
                };
                let value = self
                    .section_of(path, value)?
                    .read_all(|it| read(name, it))?;
                Some((name.to_string(), value))
            })
            .collect()
    }

    /// The table below this key, read by `read`: `[key]`. The default if there is none.
    pub(super) fn read<T: Default>(&self, key: &'static str, read: impl FnOnce(&Self) -> T) -> T {
        let value = self.find(key);
        let section = value.and_then(|value| self.section_of(key.to_owned(), value));
        section.map_or_else(T::default, |section| section.read_all(read))
    }

    /// The tables of an array of tables, each read by `read`: `[[key]]`.
    pub(super) fn read_each<T>(
        &self,
        key: &'static str,
        read: impl Fn(&Self) -> Option<T>,
    ) -> Vec<T> {
        let Some(value) = self.find(key) else {
            return vec![];
        };
        let Some(array) = value.get_ref().as_array() else {
            let message = format!("write [[{key}]]: there may be several");
            self.problems.push(value.span().start, message);
            return vec![];
        };
        array
            .iter()
            .filter_map(|item| self.section_of(key.to_owned(), item)?.read_all(&read))
            .collect()
    }

    fn section_of(&self, name: String, value: &'a Spanned<DeValue<'a>>) -> Option<Section<'a>> {
        let name = if self.name.is_empty() {
            name
        } else {
            format!("{}.{name}", self.name)
        };
        let table = self.table_of(&name, value)?;
        Some(Self::at(name, value.span().start, table, self.problems))
    }

    fn table_of(&self, name: &str, value: &'a Spanned<DeValue<'a>>) -> Option<&'a DeTable<'a>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.problems.push(
                value.span().start,
                format!("`{name}` should be a table: write [{name}]"),
            );
        }
        table
    }

    fn find(&self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
        self.table
            .iter()
            .find(|(name, _)| name.get_ref().as_ref() == key)
            .map(|(_, value)| value)
    }

    fn typed<T>(
        &self,
        key: &'static str,
        what: &str,
        read: impl Fn(&DeValue<'a>) -> Option<T>,
    ) -> Option<T> {
        let value = self.find(key)?;
        let read = read(value.get_ref());
        if read.is_none() {
            self.problems
                .push(value.span().start, format!("`{key}` should be {what}"));
        }
        read
    }
}

/// The text, if it can be the name of an environment variable.
pub(super) fn check_variable(name: &str) -> Option<String> {
    (!name.is_empty() && !name.contains(['=', '\0'])).then(|| name.to_owned())
}

/// Whether a key with this character must stand in quotes.
fn is_not_bare(char: char) -> bool {
    !char.is_ascii_alphanumeric() && char != '-' && char != '_'
}

fn integer(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// `5m`, `1h 30m`, `7d`; days have 24 hours.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let span: Span = text.parse().ok()?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    Duration::try_from(duration).ok()
}

/// `64KiB`, `1.5 GiB` is not taken: whole numbers only.
fn bytes(text: &str) -> Option<u64> {
    let digits = text
        .find(|char: char| !char.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes() {
        assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(duration("1h 30m"), Some(Duration::from_mins(90)));
        assert_eq!(duration("7d"), Some(Duration::from_hours(168)));
        assert_eq!(duration("-1s"), None);
        assert_eq!(duration("10"), None);
        assert_eq!(bytes("64KiB"), Some(65536));
        assert_eq!(bytes("10 MB"), Some(10_000_000));
        assert_eq!(bytes("99999999999GiB"), None);
        assert_eq!(bytes("x"), None);
    }
}
