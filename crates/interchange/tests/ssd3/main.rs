//! Catalogues (SSD3).
//!
//! - `reading`: the vectors, and what is said of a catalogue that is not as it should be.
//! - `database`: what the specification shows, and the way into a database and back.
//! - `properties`: the same of whatever a catalogue or a database can hold.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

mod database;
mod properties;
mod reading;

use std::io::Cursor;

use serde_json::Value as Json;
use urldb_interchange::ssd3::{CatalogueRecord, Error, Reader, WriteError, Writer};

fn vectors() -> Vec<Json> {
    let file: Json = serde_json::from_str(include_str!("../ssd3.json")).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

/// The records of a document, the codes of what was told, and whether it was refused as a whole.
fn parse(text: &[u8]) -> (Vec<CatalogueRecord>, Vec<String>, bool) {
    let mut told = Vec::new();
    let mut reader = match Reader::new(Cursor::new(text)) {
        Ok(reader) => reader,
        Err(Error::Forbidden { .. }) => {
            return (vec![], vec!["forbidden-character".to_owned()], true);
        }
        Err(error) => panic!("{error}"),
    };
    let mut records = Vec::new();
    while let Some((_, record)) = reader
        .next_record(&mut |diagnostic| {
            assert!(diagnostic.line > 0 && diagnostic.fault.section().contains('.'));
            told.push(diagnostic.fault.to_string());
        })
        .unwrap()
    {
        records.push(record);
    }
    (records, told, false)
}

fn write(records: impl IntoIterator<Item = CatalogueRecord>) -> Result<Vec<u8>, WriteError> {
    let mut writer = Writer::new(Vec::new());
    records
        .into_iter()
        .try_for_each(|record| writer.write(&record))?;
    Ok(writer.finish().unwrap())
}
