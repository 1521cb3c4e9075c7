//! CSV with named columns (RFC 4180).
//!
//! A column has the name of a key of the record. `url` is the URL, and `category` means `categories`.
//! `extra` and `metadata` hold, as JSON, the keys that have no column.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use urldb_format::{Mapping, Metadata, Value};

use crate::input::LimitedReader;
use crate::json;
use crate::model::{DomainRecord, ListItem, Location, Notice, ReadError, Sink};

/// The columns that the writer writes between `url` and `extra`.
const COLUMNS: [&str; 6] = [
    "content-length",
    "content-sha256",
    "content-type",
    "categories",
    "name",
    "description",
];

/// Further columns that the reader accepts; their values are a text or a number.
const ALSO: [&str; 4] = ["method", "status", "redirects-to", "request-body"];

/// Names that other programs use for columns.
const ALIASES: [(&str, &str); 8] = [
    ("uri", "url"),
    ("loc", "url"),
    ("length", "content-length"),
    ("size", "content-length"),
    ("sha256", "content-sha256"),
    ("type", "content-type"),
    ("category", "categories"),
    ("title", "name"),
];

/// The separator between the categories of a record.
const SEPARATOR: char = ';';

/// The size limit of a row, in bytes: a quote that is never closed would extend to the end of file.
const MAX_ROW: u64 = 1 << 24;

/// Reads a table whose first row names the columns. `names` maps further names of columns to keys.
///
/// # Errors
/// [`ReadError::Malformed`] if no column is `url`, a row is too long, or `input` fails.
pub fn read(
    input: impl BufRead,
    file: &Arc<str>,
    names: &BTreeMap<String, String>,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    // Rows end in LF only: with CRLF the csv crate would count a line too late.
    let mut rows = csv::ReaderBuilder::new()
        .flexible(true)
        .terminator(csv::Terminator::Any(b'\n'))
        .from_reader(LimitedReader::new(input, MAX_ROW));
    let head = rows
        .headers()
        .map_err(|error| malformed(&error, file))?
        .clone();
    let columns: Vec<Option<String>> = head.iter().map(|name| column(name, names)).collect();
    if !columns.iter().flatten().any(|column| column == "url") {
        let message =
            "the first row names no column `url`; --column url=NAME says which it is".to_owned();
        return Err(ReadError::Malformed {
            location: Location::line(file, 1),
            message,
        });
    }
    for (name, _) in head
        .iter()
        .zip(&columns)
        .filter(|(_, column)| column.is_none())
    {
        let message =
            format!("the column {name:?} is not taken; --column KEY=NAME says what it holds");
        sink(Notice::left_out(Location::line(file, 1), "unknown-column", message).into())?;
    }
    let mut row = csv::StringRecord::new();
    while rows
        .read_record(&mut row)
        .map_err(|error| malformed(&error, file))?
    {
        let location = Location::line(file, row.position().map_or(0, csv::Position::line));
        if row.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        let last = row.len().saturating_sub(1);
        let cells = row.iter().enumerate().map(|(index, cell)| {
            let ends_row = index == last;
            cell.strip_suffix('\r').filter(|_| ends_row).unwrap_or(cell)
        });
        let cells = columns.iter().zip(cells);
        let cells = cells.filter_map(|(column, cell)| Some((column.as_deref()?, cell)));
        sink(parse(cells, &location).into())?;
        rows.get_mut().reset();
    }
    Ok(())
}

fn malformed(error: &csv::Error, file: &Arc<str>) -> ReadError {
    ReadError::Malformed {
        location: Location::line(file, error.position().map_or(1, csv::Position::line)),
        message: error.to_string(),
    }
}

fn column(name: &str, names: &BTreeMap<String, String>) -> Option<String> {
    let name = name.trim().trim_start_matches('\u{feff}');
    let lower = name.to_ascii_lowercase();
    let alias = ALIASES
        .iter()
        .find(|(alias, _)| *alias == lower)
        .map(|(_, key)| (*key).to_owned());
    let key = names.get(name).cloned().or(alias).unwrap_or(lower);
    is_column(&key).then_some(key)
}

/// Whether a column can have this name.
pub fn is_column(key: &str) -> bool {
    COLUMNS.contains(&key) || ALSO.contains(&key) || ["url", "extra", "metadata"].contains(&key)
}

fn parse<'a>(
    cells: impl Iterator<Item = (&'a str, &'a str)>,
    location: &Location,
) -> Result<ListItem, Notice> {
    let refused = |why: &str| Notice::refused(location.clone(), "bad-cell", why);
    let (mut url, mut document, mut metadata) = ("", Mapping::new(), None);
    for (column, cell) in cells.filter(|(_, cell)| !cell.is_empty()) {
        match column {
            "url" => url = cell,
            "extra" => parse_object(cell)
                .map_err(refused)?
                .into_iter()
                .for_each(|(key, value)| {
                    document.insert(key, value);
                }),
            "metadata" => {
                metadata = Some(Metadata::from_mapping(parse_object(cell).map_err(refused)?));
            }
            "categories" => {
                let categories = cell
                    .split(SEPARATOR)
                    .map(str::trim)
                    .filter(|text| !text.is_empty());
                document.insert(
                    "categories",
                    Value::List(categories.map(Value::from).collect()),
                );
            }
            "content-length" | "status" => {
                let number = cell.parse::<u64>();
                let number =
                    number.map_err(|_| refused(&format!("{column} is not a number: {cell}")))?;
                document.insert(column, number);
            }
            "content-sha256" => {
                document.insert(
                    column,
                    digest(cell)
                        .ok_or_else(|| refused("the SHA-256 is not of 64 hexadecimal digits"))?,
                );
            }
            _ => drop(document.insert(column, cell)),
        }
    }
    let mut item = ListItem::new(location.clone(), url)?;
    item.metadata = metadata;
    item.with_record(document)
}

/// Converts a SHA-256 in hexadecimal digits of either case to the form of the database.
pub(crate) fn digest(text: &str) -> Option<String> {
    let digest = text.to_ascii_lowercase();
    urldb_format::is_sha256(&digest).then_some(digest)
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
        if same {
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
        ("content-sha256", Value::Text(text)) => digest(text).filter(|same| same == text)?,
        ("categories", Value::List(items)) => {
            let plain =
                |text: &&str| !text.is_empty() && text.trim() == *text && !text.contains(SEPARATOR);
            let texts = items.iter().map(|item| item.as_text().filter(plain));
            texts
                .collect::<Option<Vec<&str>>>()
                .filter(|texts| !texts.is_empty())?
                .join(&SEPARATOR.to_string())
        }
        ("content-length" | "content-sha256" | "categories", _) => return None,
        (_, value) => value.as_text().filter(|text| !text.is_empty())?.to_owned(),
    };
    rest.remove(column);
    Some(text)
}
