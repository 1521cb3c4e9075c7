//! Tables with named columns: CSV (RFC 4180), and the same with tabs or semicolons.
//!
//! A column has the name of a key of the record. `url` is the URL, and `category` means `categories`.
//! `digest` is a digest in any spelling. `extra` and `metadata` hold, as JSON, the keys that have no column.

use std::io::{self, BufRead, Read as _, Write};
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use urldb_format::{Algorithm, Digest, Mapping, Metadata, Value};

use crate::digest;
use crate::json;
use crate::model::{DomainRecord, ListItem, Location, Notice, ReadError, Sink};

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
    let malformed = |line: u64, message: String| ReadError::Malformed {
        location: Location::line(file, line),
        message,
    };
    let mut row = Row::default();
    let keys = if let Some(keys) = columns.order() {
        keys
    } else {
        next(&mut rows, &mut row, file)?;
        columns.of_header(&row, &mut |name| {
            let message =
                format!("the column {name:?} is not taken; --column KEY=NAME says what it holds");
            Ok(sink(
                Notice::left_out(Location::line(file, row.line), "unknown-column", message).into(),
            )?)
        })?
    };
    if !keys.iter().flatten().any(|key| *key == "url") {
        let message =
            "the first row names no column `url`; --column url=NAME says which it is".to_owned();
        return Err(malformed(1, message));
    }
    while next(&mut rows, &mut row, file)? {
        let location = Location::line(file, row.line);
        if row.cells.iter().all(|cell| cell.text.trim().is_empty()) {
            continue;
        }
        let cells = keys.iter().zip(&row.cells);
        let cells = cells.filter_map(|(key, cell)| Some(((*key)?, cell)));
        sink(parse(cells, &location).into())?;
    }
    Ok(())
}

/// Reads the next row; false at the end.
fn next(rows: &mut Rows<impl BufRead>, row: &mut Row, file: &Arc<str>) -> Result<bool, ReadError> {
    let found = rows.next(row);
    found.map_err(|error| ReadError::Malformed {
        location: Location::line(file, row.line),
        message: error.to_string(),
    })
}

/// The values of a row that have a place in the file.
#[derive(Default)]
struct Placed<'a> {
    url: &'a str,
    digests: Vec<(Digest, Option<Range<u64>>)>,
    length: Option<(u64, Option<Range<u64>>)>,
    spans: Vec<(&'static str, Option<Range<u64>>)>,
}

fn parse<'a>(
    cells: impl Iterator<Item = (&'static str, &'a Cell)>,
    location: &Location,
) -> Result<ListItem, Notice> {
    let refused = |why: &str| Notice::refused(location.clone(), "bad-cell", why);
    let (mut placed, mut document, mut metadata) = (Placed::default(), Mapping::new(), None);
    let mut extra = Mapping::new();
    for (column, cell) in cells.filter(|(_, cell)| !cell.text.is_empty()) {
        let (text, span) = (cell.text.as_str(), cell.span());
        match column {
            "url" => placed.url = text,
            "extra" => extra = parse_object(text).map_err(refused)?,
            "metadata" => {
                metadata = Some(Metadata::from_mapping(parse_object(text).map_err(refused)?));
            }
            "categories" => {
                let categories = text
                    .split(SEPARATOR)
                    .map(str::trim)
                    .filter(|text| !text.is_empty());
                document.insert(column, Value::List(categories.map(Value::from).collect()));
            }
            "content-length" | "status" => {
                let Some((text, span)) = cell.trimmed() else {
                    continue;
                };
                let number = text.parse::<u64>();
                let number =
                    number.map_err(|_| refused(&format!("{column} is not a number: {text}")))?;
                if column == "status" {
                    document.insert(column, number);
                    placed.spans.push((column, span));
                } else {
                    placed.length = Some((number, span));
                }
            }
            "digest" => add_digests(cell, None, &mut placed).map_err(|why| refused(&why))?,
            _ => match Algorithm::of_key(column) {
                Some(algorithm) => {
                    add_digests(cell, Some(algorithm), &mut placed).map_err(|why| refused(&why))?;
                }
                None => {
                    document.insert(column, text);
                    placed.spans.push((column, span));
                }
            },
        }
    }
    // A column counts more than the same key in `extra`.
    for (key, value) in extra.iter() {
        if document.get(key).is_none() {
            document.insert(key, value.clone());
        }
    }
    let mut item = ListItem::new(location.clone(), placed.url)?;
    item.metadata = metadata;
    item = item.with_record(document)?;
    for (key, span) in placed.spans {
        if matches!(key, "content-type" | "status" | "redirects-to") {
            item.set_span(key, span);
        }
    }
    if let Some((length, span)) = placed.length {
        item.set_length(length, span);
    }
    for (digest, span) in placed.digests {
        item.set_digest(&digest, span);
    }
    Ok(item)
}

/// Adds the digests of a cell: one, or several in the spelling of subresource integrity.
fn add_digests(
    cell: &Cell,
    assumed: Option<Algorithm>,
    placed: &mut Placed<'_>,
) -> Result<(), String> {
    let Some((text, span)) = cell.trimmed() else {
        return Ok(());
    };
    let place = |range: Range<usize>| {
        let start = span.as_ref()?.start;
        Some(start + range.start as u64..start + range.end as u64)
    };
    if let Some(algorithm) = assumed {
        let digest = digest::parse(text, assumed)
            .map_err(|unknown| format!("{algorithm} of {}: {unknown}", placed.url))?;
        placed.digests.push((digest, place(0..text.len())));
        return Ok(());
    }
    let list = digest::parse_all(text);
    if let Some(unknown) = list.unknown.first() {
        return Err(unknown.to_string());
    }
    let digests = list.digests.into_iter();
    placed
        .digests
        .extend(digests.map(|(digest, range)| (digest, place(range))));
    Ok(())
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
        ("content-sha256", Value::Text(text)) => {
            let same = |digest: &Digest| digest.hex() == text;
            let digest = digest::parse(text, Some(Algorithm::Sha256)).ok();
            digest.filter(same)?.hex().to_owned()
        }
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
