//! A list of query parameters with different names.

use std::collections::HashMap;

use super::encode::percent_plus;
use super::limits::MAX_QUERY;

/// Parameters with different names, in the order in which the names were first added.
#[derive(Default)]
pub(super) struct Parameters {
    pairs: Vec<(String, String)>,
    /// The index in `pairs` of each name.
    indices: HashMap<String, usize>,
    /// The number of additions of each name that was added more than once.
    counts: HashMap<String, usize>,
    length: usize,
}

impl Parameters {
    /// Adds a parameter; a name that is already there gets a number: `name.2_`.
    ///
    /// Beyond [`MAX_QUERY`] bytes, parameters are dropped, since a long name that is repeated would
    /// multiply the body. That is far more than the length that pywb keeps.
    pub(super) fn add(&mut self, name: &str, value: String) {
        if self.length > MAX_QUERY {
            return;
        }
        let mut name = name.to_owned();
        if self.indices.contains_key(&name) {
            let count = self.counts.entry(name.clone()).or_insert(1);
            *count += 1;
            name = format!("{name}.{count}_");
        }
        self.length += name.len() + value.len();
        if let Some(&index) = self.indices.get(&name) {
            self.pairs[index].1 = value;
        } else {
            self.indices.insert(name.clone(), self.pairs.len());
            self.pairs.push((name, value));
        }
    }

    /// The query, with names and values in percent plus encoding.
    pub(super) fn join(&self) -> String {
        let pairs: Vec<String> = self
            .pairs
            .iter()
            .map(|(name, value)| {
                let [name, value] = [name, value].map(|text| percent_plus(text.as_bytes()));
                format!("{name}={value}")
            })
            .collect();
        pairs.join("&")
    }
}
