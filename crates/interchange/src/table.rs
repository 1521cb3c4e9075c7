//! Tables with named columns: CSV (RFC 4180), and the same with tabs or semicolons.
//!
//! A column has the name of a key of the record. `url` is the URL, and `category` means `categories`.
//! `digest` is a digest in any spelling. `extra` and `metadata` hold, as JSON, the keys that have no column.

use std::io::{self, BufRead, Read as _, Write};
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use urldb_format::{Algorithm, Digest, Mapping, Metadata, Value};

use crate::controls::{ControlCharacter, control_in};
use crate::digest;
use crate::file_events::FileEvents;
use crate::json;
use crate::model::{DomainRecord, FilePromise, ListItem, Location, Notice, ReadError, Sink};

mod columns;
mod rows;

pub use columns::{Columns, is_column};

use rows::{Cell, Row, Rows};

/// The columns that the writer writes between `url` and `extra`.
const COLUMNS: [&str; 6] = [
    "content-length",
    "content-sha256",
    "content-type",
    "categories",
    "name",
    "description",
];

/// The separator between the categories of a record.
const SEPARATOR: char = ';';

/// Reads a table whose first row names the columns, unless `columns` says their order. Tab, comma or semicolon
/// separate the cells, by the first row, which may begin with `# `.
///
/// # Errors
/// [`ReadError::Malformed`] if no column is `url`, a row is too long, or `input` fails.
pub fn read(
    mut input: impl BufRead,
    file: &Arc<str>,
    columns: &Columns,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let first = rows::first_line(&mut input).map_err(ReadError::input(file))?;
    let delimiter = columns.delimiter(&first);
    let mut rows = Rows::new(io::Cursor::new(first).chain(input), delimiter);
    let malformed = |line: u64, message: String| ReadError::malformed(file, line, message);
    let (mut row, mut events) = (Row::default(), FileEvents { file, sink });
    let keys = if let Some(keys) = columns.order() {
        keys
    } else {
        next(&mut rows, &mut row, file)?;
        if let Some(why) = control_of(&row) {
            return Err(malformed(row.line, why.to_owned()));
        }
        columns.of_header(&row, &mut |name| {
            let why =
                format!("the column {name:?} is not taken; --column KEY=NAME says what it holds");
            events.skip(row.line, "unknown-column", &why)
        })?
    };
    if !keys.iter().flatten().any(|key| *key == "url") {
        let message =
            "the first row names no column `url`; --column url=NAME says which it is".to_owned();
        return Err(malformed(1, message));
    }
    while next(&mut rows, &mut row, file)? {
        if row.cells.iter().all(|cell| cell.text.trim().is_empty()) {
            continue;
        }
        if let Some(why) = control_of(&row) {
            events.refuse(row.line, "bad-cell", why)?;
            continue;
        }
        let cells = keys
            .iter()
            .zip(&row.cells)
            .filter_map(|(key, cell)| Some(((*key)?, cell)));
        events.pass(parse(cells, &events.at(row.line)))?;
    }
    Ok(())
}

/// Reads the next row; false at the end.
fn next(rows: &mut Rows<impl BufRead>, row: &mut Row, file: &Arc<str>) -> Result<bool, ReadError> {
    rows.next(row)
        .map_err(|error| ReadError::malformed(file, row.line, error.to_string()))
}

/// The reason why a row with a control character is refused.
fn control_of(row: &Row) -> Option<&'static str> {
    row.cells
        .iter()
        .find_map(|cell| control_in(cell.text.as_bytes()))
        .map(ControlCharacter::message)
}

fn parse<'a>(
    cells: impl Iterator<Item = (&'static str, &'a Cell)>,
    location: &Location,
) -> Result<ListItem, Notice> {
    let mut values = RowValues::default();
    for (column, cell) in cells.filter(|(_, cell)| !cell.text.trim().is_empty()) {
        values
            .take(column, cell)
            .map_err(|why| Notice::refused(location.clone(), "bad-cell", why))?;
    }
    values.item(location)
}

/// The values of a row.
#[derive(Default)]
struct RowValues<'a> {
    url: &'a str,
    document: Mapping,
    /// The keys that have no column.
    extra: Mapping,
    metadata: Option<Metadata>,
    promise: FilePromise,
    /// The places of other values.
    spans: Vec<(&'static str, Option<Range<u64>>)>,
}

impl<'a> RowValues<'a> {
    /// Takes a cell that is not blank.
    ///
    /// # Errors
    /// A text that says why the cell holds no value of its column.
    fn take(&mut self, column: &'static str, cell: &'a Cell) -> Result<(), String> {
        let text = cell.text.as_str();
        match column {
            "url" => self.url = text.trim(),
            "extra" => self.extra = parse_object(text)?,
            "metadata" => self.metadata = Some(Metadata::from_mapping(parse_object(text)?)),
            "categories" => {
                let categories = text
                    .split(SEPARATOR)
                    .map(str::trim)
                    .filter(|text| !text.is_empty());
                let categories = Value::List(categories.map(Value::from).collect());
                self.document.insert(column, categories);
            }
            "content-length" | "status" => self.take_number(column, cell)?,
            "digest" => self.take_digests(cell)?,
            _ => {
                if let Some(algorithm) = Algorithm::of_key(column) {
                    return self.take_digest(algorithm, cell);
                }
                self.document.insert(column, text);
                self.spans.push((column, cell.span()));
            }
        }
        Ok(())
    }

    fn take_number(&mut self, column: &'static str, cell: &Cell) -> Result<(), String> {
        let Some((text, span)) = cell.trimmed() else {
            return Ok(());
        };
        let number = text
            .parse::<u64>()
            .map_err(|_| format!("{column} is not a number: {text}"))?;
        if column == "status" {
            self.document.insert(column, number);
            self.spans.push((column, span));
        } else {
            self.promise.length = Some((number, span));
        }
        Ok(())
    }

    /// Takes the digest of a column that names its algorithm.
    fn take_digest(&mut self, algorithm: Algorithm, cell: &Cell) -> Result<(), String> {
        if let Some((text, span)) = cell.trimmed() {
            let digest = digest::parse(text, Some(algorithm))
                .map_err(|unknown| format!("{algorithm}: {unknown}"))?;
            self.promise.digests.push((digest, span));
        }
        Ok(())
    }

    /// Takes digests in any spelling.
    fn take_digests(&mut self, cell: &Cell) -> Result<(), String> {
        let Some((text, span)) = cell.trimmed() else {
            return Ok(());
        };
        let list = digest::parse_all(text);
        if let Some(unknown) = list.unknown.first() {
            return Err(unknown.to_string());
        }
        if let Some(algorithm) = list.ambiguous.first() {
            return Err(format!(
                "there are several values for {algorithm}, of which any may match"
            ));
        }
        for (digest, range) in list.digests {
            let place = span
                .as_ref()
                .map(|span| span.start)
                .map(|at| at + range.start as u64..at + range.end as u64);
            self.promise.digests.push((digest, place));
        }
        Ok(())
    }

    fn item(mut self, location: &Location) -> Result<ListItem, Notice> {
        // A column counts more than the same key in `extra`.
        for (key, value) in self.extra.iter() {
            if self.document.get(key).is_none() {
                self.document.insert(key, value.clone());
            }
        }
        let mut item = ListItem::of_uri(location.clone(), self.url)?;
        item.metadata = self.metadata;
        item = item.with_record(self.document)?;
        for (key, span) in self.spans {
            if matches!(key, "content-type" | "status" | "redirects-to") {
                item.set_span(key, span);
            }
        }
        Ok(item.promising(&self.promise))
    }
}

fn parse_object(text: &str) -> Result<Mapping, &'static str> {
    match serde_json::from_str(text) {
        Ok(Json::Object(object)) => json::from_json(&object),
        _ => Err("the cell is not a JSON object"),
    }
}

/// Writes a table row by row.
#[derive(Debug)]
pub struct Writer<W: Write>(csv::Writer<W>);

impl<W: Write> Writer<W> {
    /// Starts a table with the row of column names.
    pub fn new(output: W) -> io::Result<Self> {
        let mut writer = csv::WriterBuilder::new().from_writer(output);
        let columns = ["url"]
            .into_iter()
            .chain(COLUMNS)
            .chain(["extra", "metadata"]);
        writer.write_record(columns)?;
        Ok(Self(writer))
    }

    /// Writes the row of a record.
    pub fn write(&mut self, domain_record: &DomainRecord<'_>) -> io::Result<()> {
        let mut rest = domain_record.record.to_mapping();
        let mut row = vec![domain_record.url().to_owned()];
        let same =
            urldb_canon::identify(&row[0]).is_ok_and(|it| it.path == domain_record.record.path);
        if domain_record.is_held() || same {
            rest.remove("_path");
        }
        row.extend(COLUMNS.map(|column| take(&mut rest, column).unwrap_or_default()));
        row.push(cell(json::to_json(&rest), false));
        let metadata = domain_record.stated_metadata(domain_record.scheme());
        let metadata = metadata.map(|metadata| json::to_json(&metadata.to_mapping()));
        row.push(metadata.map_or_else(String::new, |metadata| cell(metadata, true)));
        Ok(self.0.write_record(row)?)
    }

    /// Flushes the output.
    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn cell(object: Map<String, Json>, even_empty: bool) -> String {
    if object.is_empty() && !even_empty {
        return String::new();
    }
    json::ascii(&Json::Object(object))
}

/// Removes the value of a column from `rest`, if the reader gets the same value from the text.
fn take(rest: &mut Mapping, column: &str) -> Option<String> {
    let text = match (column, rest.get(column)?) {
        ("content-length", Value::Int(length)) => length.to_string(),
        ("content-sha256", Value::Text(text)) => {
            let same = |digest: &Digest| digest.hex() == text;
            digest::parse(text, Some(Algorithm::Sha256))
                .ok()
                .filter(same)?
                .hex()
                .to_owned()
        }
        ("categories", Value::List(items)) => {
            let plain =
                |text: &&str| !text.is_empty() && text.trim() == *text && !text.contains(SEPARATOR);
            items
                .iter()
                .map(|item| item.as_text().filter(plain))
                .collect::<Option<Vec<&str>>>()
                .filter(|texts| !texts.is_empty())?
                .join(&SEPARATOR.to_string())
        }
        ("content-length" | "content-sha256" | "categories", _) => return None,
        (_, value) => value
            .as_text()
            .filter(|text| !text.trim().is_empty())?
            .to_owned(),
    };
    rest.remove(column);
    Some(text)
}
