//! The report as the data of a template.

use serde_json::Value;
use urldb_protocol::Envelope;

use crate::text::one_line;

/// The envelope with the names of its JSON, and every text as one sanitized line.
pub fn template_data(envelope: &Envelope) -> Value {
    harmless(serde_json::to_value(envelope).unwrap_or_default())
}

/// The same data with every text made harmless.
fn harmless(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(one_line(&text)),
        Value::Array(items) => items.into_iter().map(harmless).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, field)| (name, harmless(field)))
            .collect(),
        other => other,
    }
}
