//! Writes a catalogue record by record: with CRLF, and without fields that a reader would discard.

use std::collections::HashSet;
use std::io::{self, Write};

use super::field;
use super::reader::MAX_LINE;
use super::record::CatalogueRecord;

/// The reason why a record could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output failed.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// A required field is missing.
    #[error("the record has no {field} (SSD3 2.2)")]
    Missing {
        /// The name of the field.
        field: &'static str,
    },
    /// An earlier record has the same ID.
    #[error("two records have the ID {id} (SSD3 3.9)")]
    DuplicateId {
        /// The ID.
        id: String,
    },
    /// A field is longer than [`MAX_LINE`], the limit of the reader.
    #[error("the field {field} is longer than {MAX_LINE} bytes")]
    TooLong {
        /// The name of the field.
        field: String,
    },
}

/// Writes the records of one document.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    is_started: bool,
    ids: HashSet<Box<str>>,
}

impl<W: Write> Writer<W> {
    /// Starts a document without records.
    pub fn new(output: W) -> Self {
        Self {
            output,
            is_started: false,
            ids: HashSet::new(),
        }
    }

    /// Writes a record.
    ///
    /// # Errors
    /// If the output fails, or a reader would discard the record or one of its fields.
    pub fn write(&mut self, record: &CatalogueRecord) -> Result<(), WriteError> {
        if let Some(field) = record.missing() {
            return Err(WriteError::Missing { field: field.name });
        }
        let long = |(name, value): &(&str, &str)| name.len() + 2 + value.len() > MAX_LINE;
        if let Some((name, _)) = record.fields().find(long) {
            let field = name.to_owned();
            return Err(WriteError::TooLong { field });
        }
        if let Some(id) = record.get("ID").and_then(field::number)
            && !self.ids.insert(id.into())
        {
            let id = id.to_owned();
            return Err(WriteError::DuplicateId { id });
        }
        if self.is_started {
            self.output.write_all(b"\r\n")?;
        }
        self.is_started = true;
        for (name, value) in record.fields() {
            write!(self.output, "{name}: {value}\r\n")?;
        }
        Ok(())
    }

    /// Flushes the output and returns it.
    ///
    /// # Errors
    /// If the output fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }
}
