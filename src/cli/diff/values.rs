//! Values of keys, as text and as JSON.

use serde_json::{Map, Value as Json};
use urldb_format::Value;

/// A value on one line. Lists of plain items are separated by commas.
pub(super) fn line(value: &Value) -> String {
    let text = match value {
        Value::Text(text) | Value::Plain(text) | Value::Quoted(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::List(items) if items.iter().all(is_scalar) => {
            let items: Vec<String> = items.iter().map(line).collect();
            items.join(", ")
        }
        Value::List(_) | Value::Map(_) => json(value).to_string(),
    };
    urldb_render::one_line(&text)
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::List(_) | Value::Map(_))
}

/// A value as JSON. A scalar that YAML does not read as text is its source text.
pub(super) fn json(value: &Value) -> Json {
    match value {
        Value::Bool(flag) => (*flag).into(),
        Value::Int(number) => (*number).into(),
        Value::Text(text) | Value::Plain(text) | Value::Quoted(text) => text.as_str().into(),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(mapping) => {
            let pairs: Map<String, Json> = mapping
                .sorted()
                .into_iter()
                .map(|(key, value)| (key.to_owned(), json(value)))
                .collect();
            pairs.into()
        }
    }
}
