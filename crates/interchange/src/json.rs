//! Converts mappings of the database to JSON in ASCII, and back.
//!
//! [`Schema::DOMAIN_FILE`] says at which keys values are text.

use serde_json::{Map, Value as Json};
use urldb_format::{Mapping, Schema, Value};

/// The depth limit of nested values. It is below the limit of domain files, which hold the values.
const MAX_DEPTH: usize = 48;

/// The JSON object for a mapping.
pub(crate) fn to_json(mapping: &Mapping) -> Map<String, Json> {
    mapping
        .iter()
        .map(|(key, value)| (key.to_owned(), value_to_json(value)))
        .collect()
}

fn value_to_json(value: &Value) -> Json {
    match value {
        Value::Bool(flag) => Json::from(*flag),
        Value::Int(number) => Json::from(*number),
        Value::Text(text) | Value::Quoted(text) => Json::from(text.as_str()),
        Value::Plain(text) => plain_to_json(text),
        Value::List(items) => items.iter().map(value_to_json).collect(),
        Value::Map(mapping) => Json::Object(to_json(mapping)),
    }
}

/// The number, boolean or null of a plain scalar; a string if JSON would spell the value differently.
fn plain_to_json(text: &str) -> Json {
    let json: Json = serde_json::from_str(text).unwrap_or_default();
    let spelled = json.to_string();
    if spelled == text {
        json
    } else {
        Json::from(text)
    }
}

/// The document in a JSON object.
///
/// # Errors
/// A text that says which value the database cannot hold: null at a known key, or values nested too
/// deeply.
pub(crate) fn from_json(object: &Map<String, Json>) -> Result<Mapping, &'static str> {
    let schema = Schema::DOMAIN_FILE;
    object
        .iter()
        .map(|(key, value)| {
            let name = key.as_str();
            let value = match value {
                Json::Number(number) if schema.integers.contains(&name) => match number.as_u64() {
                    Some(number) => Value::Int(number),
                    None => Value::Text(number.to_string()),
                },
                Json::Bool(flag) if schema.booleans.contains(&name) => Value::Bool(*flag),
                other if (schema.is_known)(name) => value_from_json(other, 0, &text_of)?,
                other => value_from_json(other, 0, &own_value)?,
            };
            Ok((key.clone(), value))
        })
        .collect()
}

/// The text of a scalar at a known key.
fn text_of(scalar: &Json) -> Result<Value, &'static str> {
    match scalar {
        Json::Null => Err("the value of this key cannot be null"),
        Json::String(text) => Ok(Value::from(text.as_str())),
        other => Ok(Value::from(other.to_string())),
    }
}

/// The value of a scalar at another key.
#[expect(clippy::unnecessary_wraps, reason = "the signature of `text_of`")]
fn own_value(scalar: &Json) -> Result<Value, &'static str> {
    Ok(match scalar {
        Json::String(text) => Value::quoted(text),
        other => Value::unquoted(&other.to_string()),
    })
}

/// The value in JSON. `convert` takes the scalars.
fn value_from_json(
    value: &Json,
    depth: usize,
    convert: &impl Fn(&Json) -> Result<Value, &'static str>,
) -> Result<Value, &'static str> {
    if depth > MAX_DEPTH {
        return Err("values are nested too deeply");
    }
    Ok(match value {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => convert(value)?,
        Json::Array(items) => {
            let items = items
                .iter()
                .map(|item| value_from_json(item, depth + 1, convert));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        Json::Object(object) => {
            let pairs = object
                .iter()
                .map(|(key, value)| Ok((key.clone(), value_from_json(value, depth + 1, convert)?)));
            Value::Map(pairs.collect::<Result<Mapping, &str>>()?)
        }
    })
}

/// JSON text in printable ASCII, with `\uXXXX` for all other characters.
pub(crate) fn ascii(json: &Json) -> String {
    let text = json.to_string();
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if (' '..='~').contains(&char) {
            escaped.push(char);
        } else {
            let mut units = [0; 2];
            let units = char.encode_utf16(&mut units).iter();
            escaped.extend(units.map(|unit| format!("\\u{unit:04x}")));
        }
    }
    escaped
}
