//! The leaves of a JSON value (literals, numbers and strings) as query parameters. A name that is
//! repeated gets a number.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use super::json::Value;
use super::limits::MAX_QUERY;
use super::parameters::Parameters;
use super::{encode, number};

/// The parameters by the specification; `None` if they would be longer than [`MAX_QUERY`].
pub(super) fn by_specification(value: &Value) -> Option<String> {
    let mut query = String::new();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    visit(value, "", &all_members, &mut |name, leaf| {
        let value = match leaf {
            Value::String(text) => Cow::Owned(encode::percent_plus(text.as_bytes())),
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

/// The parameters of pywb; `None` where pywb raises an exception.
pub(super) fn pywb(value: &Value) -> Option<String> {
    let mut parameters = Parameters::default();
    visit(value, "", &last_members, &mut |name, leaf| {
        if name.is_empty() {
            return Some(());
        }
        let value = match leaf {
            Value::String(text) => text.clone(),
            Value::Number(literal) => number::pywb(literal)?,
            _ => leaf.literal().to_owned(),
        };
        parameters.add(name, value);
        Some(())
    })?;
    Some(parameters.join(|text| encode::percent_plus(text.as_bytes())))
}

/// The parameters of warcio.js: without empty values, and with names that look like numbers first.
pub(super) fn warcio_js(value: &Value) -> String {
    let mut parameters = Parameters::default();
    visit(value, "", &numbers_first, &mut |name, leaf| {
        let value = match leaf {
            Value::String(text) => text.clone(),
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

impl Value<'_> {
    /// The word of a literal; empty for other values.
    fn literal(&self) -> &'static str {
        match self {
            Self::Literal(word) => word,
            _ => "",
        }
    }
}

type MemberRefs<'a, 'v> = Vec<(&'a str, &'a Value<'v>)>;

/// Calls `leaf` for each leaf, with the name of the innermost member that contains the leaf.
///
/// The parser bounds the depth. `None` as soon as `leaf` returns `None`.
fn visit<'a, 'v>(
    value: &'a Value<'v>,
    name: &'a str,
    members: &impl Fn(&'a [(String, Value<'v>)]) -> MemberRefs<'a, 'v>,
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

fn all_members<'a, 'v>(object: &'a [(String, Value<'v>)]) -> MemberRefs<'a, 'v> {
    object
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect()
}

/// The last member of each name, at the position of the first one.
fn last_members<'a, 'v>(object: &'a [(String, Value<'v>)]) -> MemberRefs<'a, 'v> {
    let mut members: MemberRefs = Vec::with_capacity(object.len());
    let mut indices = HashMap::new();
    for (name, value) in object {
        let index = *indices.entry(name.as_str()).or_insert(members.len());
        match members.get_mut(index) {
            Some(member) => member.1 = value,
            None => members.push((name, value)),
        }
    }
    members
}

/// As [`last_members`], in the order of JavaScript: names that are array indices come first, sorted.
fn numbers_first<'a, 'v>(object: &'a [(String, Value<'v>)]) -> MemberRefs<'a, 'v> {
    let mut members = last_members(object);
    let array_index = |name: &str| {
        let number: u32 = name.parse().ok().filter(|number| *number < u32::MAX)?;
        (number.to_string() == name).then_some(number)
    };
    members.sort_by_key(|(name, _)| array_index(name).map_or((1, 0), |number| (0, number)));
    members
}
