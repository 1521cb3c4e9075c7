//! The JSON Schemas that programs are written against, compared with the types. Only with the feature `schemars`, which
//! the program does not have: `cargo test -p urldb-render --features schemars --test schemas`.
#![allow(clippy::disallowed_methods)]

use std::path::Path;
use std::{env, fs};

use urldb_protocol::envelope_schema;
use urldb_render::{log_schema, status_schema};

#[test]
fn the_published_schemas_are_those_of_the_code() {
    for (name, schema) in [
        ("envelope", envelope_schema()),
        ("status", status_schema()),
        ("log", log_schema()),
    ] {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let path = docs.join(format!("{name}.schema.json"));
        let schema = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if env::var_os("UPDATE_SCHEMA").is_some() {
            fs::write(&path, &schema).unwrap();
        }
        let published = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            published == schema,
            "docs/{name}.schema.json is not what the types say. If the change is meant, and only adds \
             fields, run: UPDATE_SCHEMA=1 cargo test -p urldb-render --features schemars --test schemas"
        );
    }
}
