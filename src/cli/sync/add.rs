//! The list that a command names, and its `[source.NAME]` in urldb.toml.

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum as _;
use urldb_interchange::table::Columns;

use crate::cli::Context;
use crate::config::{FILE_NAME, Format, ListSource, OnGone, is_source_name};

/// The list that a command names.
#[derive(Debug)]
pub(in crate::cli) struct ListArg {
    /// The format, if the argument names it: `[FORMAT:]PATH`.
    format: Option<Format>,
    path: PathBuf,
    /// The URL of the folder with the files that the list names.
    base: Option<String>,
}

impl ListArg {
    pub(in crate::cli) fn new(list: &str, base: Option<&str>) -> Self {
        let named = list.split_once(':').and_then(|(format, path)| {
            let format = Format::from_str(format, false).ok()?;
            Some((format, path))
        });
        let (format, path) = named.unzip();
        Self {
            format,
            path: path.unwrap_or(list).into(),
            base: base.map(str::to_owned),
        }
    }

    /// The source that the argument means: one of urldb.toml with this path, or a new one.
    pub(in crate::cli) fn source(&self, context: &Context) -> anyhow::Result<(String, ListSource)> {
        let format = self.format;
        let path = self.path(context)?;
        let name = path
            .strip_prefix(&context.config.root)
            .map_err(|_| {
                anyhow::anyhow!(
                    "{} is not below {}",
                    path.display(),
                    context.config.root.display()
                )
            })?
            .to_str()
            .context("the path of a list should be UTF-8")?
            .replace('\\', "/");
        // A source has patterns.
        let pattern = globset::escape(&name);
        let mut known = context.config.sources.iter();
        let is_it = |source: &ListSource| {
            *source.path == [pattern.clone()] && format.is_none_or(|it| it == source.format)
        };
        if let Some((known, source)) = known.find(|(_, source)| is_it(source)) {
            let base = self.base.clone().or_else(|| source.base.clone());
            return Ok((
                known.clone(),
                ListSource {
                    base,
                    ..source.clone()
                },
            ));
        }
        anyhow::ensure!(
            urldb_files::is_there(&path),
            "there is no {}",
            path.display()
        );
        let of_folder = urldb_files::is_folder(&path).then_some(Format::Links);
        let format = format.or(of_folder).or_else(|| Format::of_name(&path));
        let format = format
            .with_context(|| format!("{name}: no reader knows this file: write FORMAT:PATH"))?;
        anyhow::ensure!(
            self.base.is_some() || !format.needs_base(),
            "names in {name} are relative: add --base URL"
        );
        let source = ListSource {
            format,
            path: vec![pattern],
            base: self.base.clone(),
            categories: vec![],
            exclude: vec![],
            on_gone: OnGone::Remove,
            columns: Columns::default(),
            index: vec![],
        };
        Ok((name_of(&path), source))
    }

    /// Whether the argument can only be a list: it is there, or has a format.
    pub(in crate::cli) fn is_there(&self, context: &Context) -> anyhow::Result<bool> {
        Ok(self.format.is_some() || urldb_files::is_there(&self.path(context)?))
    }

    /// The absolute path of the list, without `..`.
    pub(in crate::cli) fn path(&self, context: &Context) -> anyhow::Result<PathBuf> {
        let mut clean = PathBuf::new();
        for part in std::path::absolute(context.directory.join(&self.path))?.components() {
            if part == Component::ParentDir {
                clean.pop();
            } else {
                clean.push(part);
            }
        }
        Ok(clean)
    }
}

/// A name for the source of a file.
fn name_of(path: &Path) -> String {
    let name = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .to_ascii_lowercase();
    let parts: Vec<&str> = name
        .split(|char: char| !char.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty())
        .collect();
    let name = parts.join("-");
    if is_source_name(&name) {
        name
    } else {
        "list".to_owned()
    }
}

/// Adds the list to the sources of `context`, and returns the lines that urldb.toml lacks.
///
/// # Errors
/// When the list has no reader, or the name is taken or is no name.
pub(super) fn add_source(
    list: &ListArg,
    name: Option<&str>,
    context: &mut Context,
) -> anyhow::Result<String> {
    let (known, source) = list.source(context)?;
    let name = name.map_or(known, str::to_owned);
    anyhow::ensure!(
        is_source_name(&name),
        "--name: a name has only lower-case letters, digits and hyphens, and at most 40 characters"
    );
    let sources = &mut context.config.sources;
    anyhow::ensure!(
        !sources.contains_key(&name),
        "{FILE_NAME} has a [source.{name}], which `urldb sync` follows; for another list, --name NAME gives another name"
    );
    let table = table(&name, &source);
    sources.insert(name, source);
    Ok(table)
}

/// Adds these lines at the end of urldb.toml.
pub(super) fn append(table: &str, context: &Context) -> anyhow::Result<()> {
    let file = context.config.root.join(FILE_NAME);
    let before = if urldb_files::is_there(&file) {
        urldb_files::read_to_string(&file, crate::limits::SETTINGS)?
    } else {
        String::new()
    };
    let gap = match &*before {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let text = format!("{before}{gap}{table}");
    urldb_files::write_atomically(&file, text.as_bytes())?;
    Ok(())
}

/// The source as urldb.toml has it.
fn table(name: &str, source: &ListSource) -> String {
    let format = source
        .format
        .to_possible_value()
        .map(|it| it.get_name().to_owned())
        .unwrap_or_default();
    // A JSON string is a TOML string.
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let paths: Vec<String> = source
        .path
        .iter()
        .map(|path| match &**path {
            "" => text("."),
            path => text(path),
        })
        .collect();
    let mut table = format!(
        "[source.{name}]\nformat = {}\npath = [{}]\n",
        text(&format),
        paths.join(", ")
    );
    if let Some(base) = &source.base {
        let _ = writeln!(table, "base = {}", text(base));
    }
    table
}
