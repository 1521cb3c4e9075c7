//! The digest of a section of urldb.toml.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use toml::de::{DeTable, DeValue};

use crate::environment;

/// Digest of the keys and values of a table, and of whether each environment variable is set that `env` or a
/// key ending in `-env` names: 16 hexadecimal digits.
pub(super) fn digest(table: &DeTable<'_>) -> String {
    let mut hash = Sha256::new();
    let mut keys: Vec<_> = table.iter().collect();
    keys.sort_by_key(|(key, _)| key.get_ref().to_string());
    for (key, value) in keys {
        hash_value(&mut hash, key.get_ref(), value.get_ref());
    }
    HEXLOWER.encode(&hash.finalize()[..8])
}

/// Hashes a key and its value, each with its length, so that no two sections look the same.
fn hash_value(hash: &mut Sha256, key: &str, value: &DeValue<'_>) {
    hash_text(hash, key);
    match value {
        DeValue::String(value) => {
            hash_text(hash, value);
            if key == "env" || key.ends_with("-env") {
                let is_set = environment::os_variable(value.as_ref()).is_some();
                hash_text(hash, if is_set { "set" } else { "unset" });
            }
        }
        DeValue::Array(items) => {
            hash_text(hash, &items.len().to_string());
            for item in items {
                hash_value(hash, key, item.get_ref());
            }
        }
        DeValue::Table(table) => {
            hash_text(hash, &table.len().to_string());
            for (name, value) in table {
                // The names of headers are keys below a key such as `headers-env`.
                hash_text(hash, name.get_ref());
                hash_value(hash, key, value.get_ref());
            }
        }
        other => hash_text(hash, &format!("{other:?}")),
    }
}

fn hash_text(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text);
}
