//! The keys that the columns of a table hold.

use std::collections::BTreeMap;

use urldb_format::Algorithm;

use super::COLUMNS;
use super::rows::{Row, Rows};
use crate::model::ReadError;

/// Further columns that the reader accepts.
const ALSO: [&str; 8] = [
    "url",
    "digest",
    "method",
    "status",
    "redirects-to",
    "request-body",
    "extra",
    "metadata",
];

/// Names that other programs use for columns, without blanks and hyphens.
const ALIASES: [(&str, &str); 19] = [
    ("uri", "url"),
    ("loc", "url"),
    ("upstreamurl", "url"),
    ("downloadurl", "url"),
    ("length", "content-length"),
    ("size", "content-length"),
    ("bytes", "content-length"),
    ("md5sum", "content-md5"),
    ("sha1sum", "content-sha1"),
    ("sha256sum", "content-sha256"),
    ("sha384sum", "content-sha384"),
    ("sha512sum", "content-sha512"),
    ("checksum", "digest"),
    ("integrity", "digest"),
    ("type", "content-type"),
    ("mimetype", "content-type"),
    ("mediatype", "content-type"),
    ("category", "categories"),
    ("title", "name"),
];

/// The separators of cells; of those with as many known columns, the last counts.
const DELIMITERS: [u8; 3] = [b';', b'\t', b','];

/// The keys that the columns of a table hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    names: BTreeMap<String, String>,
    order: Option<Vec<Option<&'static str>>>,
}

impl Columns {
    /// The columns of a table with a header. `names` maps further names of columns to keys.
    pub fn named(names: BTreeMap<String, String>) -> Self {
        Self { names, order: None }
    }

    /// The columns of a table without a header, with a key or `-` for each, such as `url,-,content-sha256`.
    ///
    /// # Errors
    /// A text that says which key no column can hold, or that `url` is missing.
    pub fn in_order(text: &str) -> Result<Self, String> {
        let mut order = vec![];
        for name in text.split(',').map(str::trim) {
            let key = key_of(name);
            if key.is_none() && name != "-" {
                return Err(format!("{name} is nothing that a column can hold"));
            }
            order.push(key);
        }
        if !order.contains(&Some("url")) {
            return Err("no column is `url`".to_owned());
        }
        Ok(Self {
            names: BTreeMap::new(),
            order: Some(order),
        })
    }

    /// The keys of a table without a header.
    pub(super) fn order(&self) -> Option<Vec<Option<&'static str>>> {
        self.order.clone()
    }

    /// The keys by a header. `unknown` receives the other names.
    pub(super) fn of_header(
        &self,
        header: &Row,
        unknown: &mut dyn FnMut(&str) -> Result<(), ReadError>,
    ) -> Result<Vec<Option<&'static str>>, ReadError> {
        let mut keys = vec![];
        for (index, cell) in header.cells.iter().enumerate() {
            let mut name = cell.text.trim();
            if index == 0 {
                name = name
                    .trim_start_matches('\u{feff}')
                    .trim_start_matches('#')
                    .trim_start();
            }
            let key = self.key(name);
            if key.is_none() {
                unknown(name)?;
            }
            keys.push(key);
        }
        Ok(keys)
    }

    fn key(&self, name: &str) -> Option<&'static str> {
        let chosen = self.names.get(name).or_else(|| {
            self.names
                .iter()
                .find(|(other, _)| plain(other) == plain(name))
                .map(|(_, key)| key)
        });
        key_of(chosen.map_or(name, String::as_str))
    }

    /// The separator of cells: the one by which the first line has the most columns that are known.
    pub(super) fn delimiter(&self, line: &[u8]) -> u8 {
        let known = |delimiter: u8| {
            let mut row = Row::default();
            if Rows::new(line, delimiter).next(&mut row).is_err() {
                return 0;
            }
            if let Some(order) = &self.order {
                return usize::from(order.len() == row.cells.len());
            }
            self.of_header(&row, &mut |_| Ok(()))
                .unwrap_or_default()
                .iter()
                .flatten()
                .count()
        };
        DELIMITERS
            .into_iter()
            .max_by_key(|it| known(*it))
            .unwrap_or(b',')
    }
}

/// The key of a name, which has any case, blanks, hyphens and underscores.
fn key_of(name: &str) -> Option<&'static str> {
    let plain_name = plain(name);
    let alias = ALIASES.iter().find(|(alias, _)| *alias == plain_name);
    let digests = Algorithm::ALL.map(Algorithm::key);
    let is = |key: &&str| {
        plain(key) == plain_name
            || plain(key).strip_prefix("content") == Some(&*plain_name)
                && Algorithm::of_key(key).is_some()
    };
    let mut keys = COLUMNS.into_iter().chain(ALSO).chain(digests);
    alias.map(|(_, key)| *key).or_else(|| keys.find(is))
}

fn plain(name: &str) -> String {
    let is_part = |char: &char| !char.is_whitespace() && !matches!(char, '-' | '_');
    name.chars()
        .filter(is_part)
        .flat_map(char::to_lowercase)
        .collect()
}

/// Whether a column can have this name.
pub fn is_column(key: &str) -> bool {
    key_of(key).is_some_and(|known| known == key)
}
