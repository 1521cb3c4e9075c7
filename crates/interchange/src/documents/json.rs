//! Documents in JSON: notebooks and CSL-JSON.

use super::bibtex::{begins_doi, doi, each};
use super::collector::Collector;
use super::{MAX_MARKDOWN, markdown};
use crate::json_text::{JsonText, Value};
use crate::model::ReadError;
use crate::scheme::is_http;

/// Reads the `URL` and the `DOI` of each reference.
pub(super) fn read_csl(text: &str, collector: &mut Collector<'_, '_>) -> Result<(), ReadError> {
    read(text, None, collector, &mut |reference, collector| {
        for (name, value) in reference.members() {
            let line = value.line();
            match (&*name, value.text()) {
                ("DOI", Some(text)) => each(&text, begins_doi, &doi, collector, line)?,
                ("URL", Some(text)) => {
                    let url_of = |url: &str| Some(url.to_owned());
                    each(&text, is_http, &url_of, collector, line)?;
                }
                _ => {}
            }
        }
        Ok(())
    })
}

/// Reads the Markdown cells of a notebook.
pub(super) fn read_notebook(
    text: &str,
    collector: &mut Collector<'_, '_>,
) -> Result<(), ReadError> {
    read(text, Some("cells"), collector, &mut |cell, collector| {
        let [kind, source] = cell.fields(["cell_type", "source"]);
        let is_text = kind.is_some_and(|kind| kind.is("markdown"));
        let Some(source) = source.filter(|_| is_text) else {
            return Ok(());
        };
        let Some((text, starts)) = pieces(source) else {
            let why = "the cell has no text, or too much";
            return collector.events.refuse(source.line(), "bad-cell", why);
        };
        for (offset, url) in markdown::references(&text) {
            let index = starts.partition_point(|(start, _)| *start <= offset);
            let found = starts.get(index.saturating_sub(1));
            collector.take(&url, found.map_or(source.line(), |(_, line)| *line))?;
        }
        Ok(())
    })
}

/// The text of a `source`, which is one or a list of texts, and the offset and the line of each of them.
fn pieces(source: Value<'_>) -> Option<(String, Vec<(usize, u64)>)> {
    if source.length() > MAX_MARKDOWN {
        return None;
    }
    let (mut text, mut starts) = (String::new(), vec![]);
    for piece in source.items() {
        starts.push((text.len(), piece.line()));
        text.push_str(&piece.text()?);
    }
    Some((text, starts))
}

/// Passes each object of the list that is the document, or that is the value of `key` of the document.
fn read<'c, 's>(
    text: &str,
    key: Option<&str>,
    collector: &mut Collector<'c, 's>,
    take: &mut dyn FnMut(Value<'_>, &mut Collector<'c, 's>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let json = JsonText::of_file(text);
    let document = match json.value() {
        Ok(document) => document,
        Err(error) => {
            let why = format!("the document is no valid JSON: {error}");
            let line = error.line().max(1) as u64;
            return collector.events.refuse(line, "bad-json", &why);
        }
    };
    let list = match key {
        None => Some(document),
        Some(_) if !document.is_object() => None,
        Some(key) => match document.get(key) {
            None => return Ok(()),
            list => list,
        },
    };
    let Some(list) = list.filter(|list| list.is_list()) else {
        let why = "the document has no list of objects";
        return collector.events.refuse(document.line(), "bad-json", why);
    };
    for entry in list.items() {
        if !entry.is_object() {
            let why = "an object was expected";
            return collector.events.refuse(entry.line(), "bad-json", why);
        }
        take(entry, collector)?;
    }
    Ok(())
}
