//! The leaves of a JSON value as parameters. A name that comes again gets a number.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use super::json::Value;
use super::{MAX_QUERY, encode, number};

/// As the specification has it; `None` if it would become too long.
pub(super) fn specified(value: &Value) -> Option<String> {
    let mut query = String::new();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    visit(value, "", &all_members, &mut |name, leaf| {
        let value = match leaf {
            Value::Text(text) => Cow::Owned(encode::percent_plus(text.as_bytes())),
            Value::Number(literal) => Cow::Owned(number::javascript(literal)),
            _ => Cow::Borrowed(leaf.literal()),
        };
        let count = counts.entry(name).or_default();
        *count += 1;
        if *count > 1 || !query.is_empty() {
            query.push('&');
        }
        query.push_str(&encode::percent_plus(name.as_bytes()));
        if *count > 1 {
            // Writing to a string does not fail.
            let _ = write!(query, ".{count}_");
        }
        query.push('=');
        query.push_str(&value);
        (query.len() <= MAX_QUERY).then_some(())
    })?;
    Some(query)
}

/// As pywb has it; `None` where it raises an exception.
pub(super) fn pywb(value: &Value) -> Option<String> {
    let mut parameters = Parameters::default();
    visit(value, "", &last_members, &mut |name, leaf| {
        if name.is_empty() {
            return Some(());
        }
        let value = match leaf {
            Value::Text(text) => text.clone(),
            Value::Number(literal) => number::pywb(literal)?,
            _ => leaf.literal().to_owned(),
        };
        parameters.add(name, value);
        Some(())
    })?;
    Some(parameters.join(|text| encode::percent_plus(text.as_bytes())))
}

/// As warcio.js has it: nothing of what is empty, and names that look like numbers first.
pub(super) fn warcio_js(value: &Value) -> String {
    let mut parameters = Parameters::default();
    visit(value, "", &numbers_first, &mut |name, leaf| {
        let value = match leaf {
            Value::Text(text) => text.clone(),
            Value::Number(literal) => number::javascript(literal),
            _ => leaf.literal().to_owned(),
        };
        if !value.is_empty() {
            parameters.add(name, value);
        }
        Some(())
    });
    parameters.join(encode::form_urlencode)
}

/// Parameters of different names, in the order in which these came up.
#[derive(Default)]
pub(super) struct Parameters {
    pairs: Vec<(String, String)>,
    places: HashMap<String, usize>,
    counts: HashMap<String, usize>,
    length: usize,
}

impl Parameters {
    /// Adds a parameter whose name is numbered if it is there. What is set far beyond the length
    /// that is kept is left out, lest a long name multiply.
    fn add(&mut self, name: &str, value: String) {
        if self.length > MAX_QUERY {
            return;
        }
        if !self.places.contains_key(name) {
            return self.set(name.to_owned(), value);
        }
        let count = self.counts.entry(name.to_owned()).or_insert(1);
        *count += 1;
        let name = format!("{name}.{count}_");
        self.set(name, value);
    }

    /// Sets a parameter, which stays where it is if it is there.
    pub(super) fn set(&mut self, name: String, value: String) {
        self.length += name.len() + value.len();
        if let Some(&place) = self.places.get(&name) {
            self.pairs[place].1 = value;
        } else {
            self.places.insert(name.clone(), self.pairs.len());
            self.pairs.push((name, value));
        }
    }

    /// The query, names and values encoded.
    pub(super) fn join(&self, encode: impl Fn(&str) -> String) -> String {
        let pairs = self.pairs.iter();
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
            .collect();
        pairs.join("&")
    }
}

impl Value<'_> {
    /// The word for a literal.
    fn literal(&self) -> &'static str {
        match self {
            Self::Literal(word) => word,
            _ => "",
        }
    }
}

type Members<'a, 'v> = Vec<(&'a str, &'a Value<'v>)>;

/// Visits the leaves, each with the name of the innermost member it is in. Depth is bounded by the
/// parser. `None` as soon as a visit is.
fn visit<'a, 'v>(
    value: &'a Value<'v>,
    name: &'a str,
    members: &impl Fn(&'a [(String, Value<'v>)]) -> Members<'a, 'v>,
    leaf: &mut impl FnMut(&'a str, &'a Value<'v>) -> Option<()>,
) -> Option<()> {
    match value {
        Value::Object(object) => {
            let mut members_of = members(object).into_iter();
            members_of.try_for_each(|(name, value)| visit(value, name, members, leaf))
        }
        Value::List(items) => items
            .iter()
            .try_for_each(|value| visit(value, name, members, leaf)),
        _ => leaf(name, value),
    }
}

fn all_members<'a, 'v>(object: &'a [(String, Value<'v>)]) -> Members<'a, 'v> {
    object
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect()
}

/// The last member of each name, where its first one stands.
fn last_members<'a, 'v>(object: &'a [(String, Value<'v>)]) -> Members<'a, 'v> {
    let mut members: Members = Vec::with_capacity(object.len());
    let mut places = HashMap::new();
    for (name, value) in object {
        let place = *places.entry(name.as_str()).or_insert(members.len());
        match members.get_mut(place) {
            Some(member) => member.1 = value,
            None => members.push((name, value)),
        }
    }
    members
}

/// The same in the order of JavaScript, which sorts the names that could be indices of a list.
fn numbers_first<'a, 'v>(object: &'a [(String, Value<'v>)]) -> Members<'a, 'v> {
    let mut members = last_members(object);
    let index = |name: &str| {
        let number: u32 = name.parse().ok().filter(|number| *number < u32::MAX)?;
        (number.to_string() == name).then_some(number)
    };
    members.sort_by_key(|(name, _)| index(name).map_or((1, 0), |number| (0, number)));
    members
}
