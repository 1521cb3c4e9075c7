//! Converts mappings of the database to JSON in ASCII, and back.
//!
//! All values are text, except at the keys that [`Schema::DOMAIN_FILE`] names.

use serde_json::{Map, Value as Json};
use urldb_format::{Mapping, Schema, Value};

/// The depth limit of nested values. It is below the limit of domain files, which hold the values.
const MAX_DEPTH: usize = 48;

/// The JSON object for a mapping.
pub fn to_json(mapping: &Mapping) -> Map<String, Json> {
    let pairs = mapping.iter();
    pairs
        .map(|(key, value)| (key.to_owned(), value_to_json(value)))
        .collect()
}

fn value_to_json(value: &Value) -> Json {
    match value {
        Value::Bool(flag) => Json::from(*flag),
        Value::Int(number) => Json::from(*number),
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(items) => items.iter().map(value_to_json).collect(),
        Value::Map(mapping) => Json::Object(to_json(mapping)),
    }
}

/// The document in a JSON object.
///
/// # Errors
/// A text that says which value the database cannot hold: null, or values nested too deeply.
pub fn from_json(object: &Map<String, Json>) -> Result<Mapping, &'static str> {
    let schema = Schema::DOMAIN_FILE;
    let pairs = object.iter().map(|(key, value)| {
        let name = key.as_str();
        let value = match value {
            Json::Number(number) if schema.integers.contains(&name) => match number.as_u64() {
                Some(number) => Value::Int(number),
                None => Value::Text(number.to_string()),
            },
            Json::Bool(flag) if schema.booleans.contains(&name) => Value::Bool(*flag),
            other => value_from_json(other, 0)?,
        };
        Ok((key.clone(), value))
    });
    pairs.collect()
}

fn value_from_json(value: &Json, depth: usize) -> Result<Value, &'static str> {
    if depth > MAX_DEPTH {
        return Err("values are nested too deeply");
    }
    Ok(match value {
        Json::Null => return Err("there is no null in the database"),
        Json::Bool(flag) => Value::from(flag.to_string()),
        Json::Number(number) => Value::from(number.to_string()),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => {
            let items = items.iter().map(|item| value_from_json(item, depth + 1));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        Json::Object(object) => {
            let pairs = object
                .iter()
                .map(|(key, value)| Ok((key.clone(), value_from_json(value, depth + 1)?)));
            Value::Map(pairs.collect::<Result<Mapping, &str>>()?)
        }
    })
}

/// JSON text in printable ASCII, with `\uXXXX` for all other characters.
pub fn ascii(json: &Json) -> String {
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
