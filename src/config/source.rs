//! `[source.NAME]` of urldb.toml: the lists that the database follows.

use std::path::{Component, Path};

use clap::ValueEnum;
use urldb_interchange::table::Columns;
use urldb_text::nearest;

use super::list_format::{Format, is_column, parse_base};
use super::section::Section;

/// Most characters of the name of a source.
const MOST_NAME: usize = 40;

/// One `[source.NAME]`: the files of a list, and how to read them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListSource {
    /// The format of the files.
    pub format: Format,
    /// The files: paths below the root of the repository, with `*`, `?` and `**`.
    pub path: Vec<String>,
    /// The URL of the folder with the files that the list names.
    pub base: Option<String>,
    /// Categories that the records get.
    pub categories: Vec<String>,
    /// URLs that are left out: patterns with `*`, which matches no `/`, and `**`.
    pub exclude: Vec<String>,
    /// The fate of a record whose item is gone.
    pub on_gone: OnGone,
    /// The keys that the columns of a table hold.
    pub columns: Columns,
    /// Names of files that a server sends for their folder too, such as `index.html`.
    pub index: Vec<String>,
}

/// The fate of a record when no list has it any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnGone {
    /// The record is removed.
    Remove,
    /// The record stays, and belongs to people.
    Keep,
}

pub(super) fn source(name: &str, section: &Section<'_>) -> Option<ListSource> {
    if !is_name(name) {
        section.problem(format!(
            "the name of a source has only lower-case letters, digits and hyphens, and at most {MOST_NAME} characters"
        ));
    }
    let format = section.checked("format", format_of);
    section.need("format", ", such as format = \"sums\"");
    let path = section.checked_list("path", path_of).unwrap_or_default();
    section.need("path", ", such as path = [\"data/SHA256SUMS\"]");
    let columns = columns_of(section);
    let texts = |key| section.list(key, "a list of texts").unwrap_or_default();
    let gone = [("remove", OnGone::Remove), ("keep", OnGone::Keep)];
    let source = ListSource {
        format: format.unwrap_or(Format::List),
        path,
        base: section.checked("base", parse_base),
        categories: texts("category"),
        exclude: section.checked_list("exclude", pattern).unwrap_or_default(),
        on_gone: section.choice("on-gone", &gone).unwrap_or(OnGone::Remove),
        columns,
        index: texts("index"),
    };
    format.map(|_| source)
}

/// The columns of a table: their names by key, or their keys in order.
fn columns_of(section: &Section<'_>) -> Columns {
    const KEY: &str = "columns";
    if !section.has_table(KEY) {
        return section.checked(KEY, Columns::in_order).unwrap_or_default();
    }
    let names = section.texts_by_name(KEY).unwrap_or_default();
    for key in names.keys().filter(|key| !is_column(key)) {
        section.wrong(KEY, format!("{key} is nothing that a column can hold"));
    }
    Columns::named(names.into_iter().map(|(key, name)| (name, key)).collect())
}

/// Whether a source, a notifier or the type of a plugin can have the name: a part of file names and of ids of messages.
pub(crate) fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    (1..=MOST_NAME).contains(&name.len()) && name.bytes().all(is_part)
}

/// The format of this name.
///
/// # Errors
/// When there is none; the message suggests a similar one.
pub(crate) fn format_of(name: &str) -> Result<Format, String> {
    let names: Vec<String> = Format::value_variants()
        .iter()
        .filter_map(ValueEnum::to_possible_value)
        .map(|value| value.get_name().to_owned())
        .collect();
    Format::from_str(name, false).map_err(|_| {
        match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("no reader is called \"{name}\"; did you mean \"{near}\"?"),
            None => format!(
                "no reader is called \"{name}\"; there are {}",
                names.join(", ")
            ),
        }
    })
}

/// A path below the root of the repository.
fn path_of(path: &str) -> Result<String, String> {
    let is_below = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.is_empty() || !Path::new(path).components().all(is_below) {
        return Err(format!(
            "\"{path}\" is no path below the folder of urldb.toml"
        ));
    }
    // The root has no name within itself.
    match path.trim_start_matches("./") {
        "." => Ok(String::new()),
        path => pattern(path),
    }
}

fn pattern(text: &str) -> Result<String, String> {
    globset::Glob::new(text).map_err(|error| error.kind().to_string())?;
    Ok(text.to_owned())
}
