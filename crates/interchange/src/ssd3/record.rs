//! A record of a catalogue, and the faults of documents.

use std::collections::BTreeMap;
use std::fmt;

use super::field::{STANDARD_FIELDS, StandardField, is_name, is_value};

/// A deviation from the format at some position of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Lines end in LF alone throughout; accepted.
    BareLf,
    /// A CR or LF that is not part of a CRLF, within a line.
    StrayBreak,
    /// A character that no document may have: it was damaged on its way (5.2).
    ForbiddenCharacter,
    /// A name of other characters than names have.
    Name,
    /// No colon and space after the name.
    Separator,
    /// No value.
    Empty,
    /// A line of more than [`MAX_LINE`](super::MAX_LINE) bytes: our own bound.
    TooLong,
    /// A value that the field may not have.
    Value(&'static StandardField),
    /// A field that is not of this version, and not an extension.
    Unrecognised,
    /// A field that the record has already.
    Duplicate,
    /// An ID that an earlier record has; only the ID is discarded.
    DuplicateId,
    /// A record that lacks a required field, or has two that differ.
    RecordDiscarded,
    /// A record without a description; it is kept.
    RecommendedMissing,
}

impl PartialEq for StandardField {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for StandardField {}

impl Fault {
    /// The section of the specification that says so.
    pub fn section(self) -> &'static str {
        match self {
            Self::BareLf | Self::StrayBreak | Self::Separator => "2.1.2",
            Self::ForbiddenCharacter => "2.1.1",
            Self::Name => "2.1.3",
            Self::Value(field) => field.section,
            Self::DuplicateId => "3.9",
            Self::RecommendedMissing => "3.5",
            Self::Empty
            | Self::TooLong
            | Self::Unrecognised
            | Self::Duplicate
            | Self::RecordDiscarded => "2.2",
        }
    }
}

impl fmt::Display for Fault {
    /// A stable code.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BareLf => "bare-lf-line-endings",
            Self::StrayBreak => "invalid-field:stray-cr-or-lf",
            Self::ForbiddenCharacter => "forbidden-character",
            Self::Name => "invalid-field:name",
            Self::Separator => "invalid-field:separator",
            Self::Empty => "invalid-field:empty",
            Self::TooLong => "invalid-field:too-long",
            Self::Value(field) => return write!(f, "invalid-field:value:{}", field.name),
            Self::Unrecognised => "unrecognised-field",
            Self::Duplicate => "duplicate-field",
            Self::DuplicateId => "duplicate-id",
            Self::RecordDiscarded => "record-discarded",
            Self::RecommendedMissing => "recommended-missing:DESCRIPTION",
        })
    }
}

/// A record of a catalogue: valid fields by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogueRecord {
    fields: BTreeMap<String, String>,
}

impl CatalogueRecord {
    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    /// Adds a field.
    ///
    /// # Errors
    /// The fault for which a reader has to discard the field.
    pub fn push(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        if !is_name(name) {
            return Err(Fault::Name);
        }
        if value.is_empty() {
            return Err(Fault::Empty);
        }
        if !is_value(value) {
            return Err(Fault::ForbiddenCharacter);
        }
        match StandardField::find(name) {
            Some(field) if !field.takes(value) => return Err(Fault::Value(field)),
            None if !name.starts_with("X-") => return Err(Fault::Unrecognised),
            _ => {}
        }
        if self.fields.contains_key(name) {
            return Err(Fault::Duplicate);
        }
        self.fields.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    /// Removes a field, and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<String> {
        self.fields.remove(name)
    }

    /// The first required field that the record lacks.
    pub fn missing(&self) -> Option<&'static StandardField> {
        let lacks = |field: &&StandardField| field.is_required && self.get(field.name).is_none();
        STANDARD_FIELDS.iter().find(lacks)
    }

    /// The fields: first those of the specification, in the order of its example, then the extensions,
    /// sorted by name.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        STANDARD_FIELDS
            .iter()
            .map(|field| field.name)
            .filter_map(|name| Some((name, self.get(name)?)))
            .chain(self.extensions())
    }

    /// The extension fields, sorted by name.
    pub fn extensions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(name, _)| name.starts_with("X-"))
    }
}
