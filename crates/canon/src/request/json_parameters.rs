//! The leaves of a JSON value (literals, numbers and strings) as query parameters. A name that is
//! repeated gets a number.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use super::encode;
use super::json::Value;
use super::limits::MAX_QUERY;
use super::parameters::Parameters;

/// The parameters by the specification; `None` if they would be longer than [`MAX_QUERY`].
pub(super) fn by_specification(value: &Value) -> Option<String> {
    let mut query = String::new();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    visit(value, "", &all_members, &mut |name, leaf| {
        let value = match leaf {
            Value::String(text) => Cow::Owned(encode::percent_plus(text.as_bytes())),
            Value::Number(literal) => Cow::Owned(javascript_number(literal)),
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
            Value::Number(literal) => pywb_number(literal)?,
            _ => leaf.literal().to_owned(),
        };
        parameters.add(name, value);
        Some(())
    })?;
    Some(parameters.join())
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
        Value::Object(object) => members(object)
            .into_iter()
            .try_for_each(|(name, value)| visit(value, name, members, leaf)),
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

/// The most digits of an integer that Python converts.
const PYTHON_DIGITS: usize = 4300;

/// The number `literal` as `toString` of JavaScript writes it.
pub(super) fn javascript_number(literal: &str) -> String {
    let number: f64 = literal.parse().unwrap_or(f64::NAN);
    ryu_js::Buffer::new().format(number).to_owned()
}

/// The number `literal` as pywb writes it: whole numbers with all digits, others as in Python.
/// `None` where Python raises an exception.
pub(super) fn pywb_number(literal: &str) -> Option<String> {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let text = if digits == "0" { digits } else { literal };
        return (digits.len() <= PYTHON_DIGITS).then(|| text.to_owned());
    }
    let number: f64 = literal.parse().ok()?;
    if number.is_nan() {
        return Some("nan".to_owned());
    }
    if number.is_infinite() {
        return None;
    }
    if number == 0.0 {
        return Some("0".to_owned());
    }
    if number.fract() == 0.0 {
        return Some(format!("{number:.0}"));
    }
    if number.abs() >= 1e-4 {
        // Of two shortest texts that are equally close, both languages choose the even one; Rust does not.
        return Some(ryu_js::Buffer::new().format(number).to_owned());
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once("e-")?;
    let mut text = format!("{mantissa}e-");
    // Writing to a string does not fail.
    let _ = write!(text, "{exponent:0>2}");
    Some(text)
}
