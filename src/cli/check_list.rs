//! The targets of `urldb check`: URLs, hosts, files and folders.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::slice;

use urldb_canon::is_uri;
use urldb_files::Root;
use urldb_interchange::{ListItem, Location};
use urldb_protocol::State;
use urldb_render::numbers::{bytes, with_spaces};
use urldb_text::sanitize;
use urldb_verdict::{ChangedRecords, NamedRecord};

use super::Context;
use super::args::{SelectArgs, find_known, resolve_domains, similar_host};
use super::print::style;
use super::sync::ListArg;
use crate::config::{Format, ListSource, format_of};
use crate::run::Outcome;
use crate::stop::Stop;
use crate::sync::{COMMAND_LINE, common_folder};
use crate::targets::{ListDatabase, add_records};

/// The targets by kind.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// Records of the database that URLs name.
    pub(super) records: Vec<NamedRecord>,
    /// Hosts of the database, by the names of their files.
    pub(super) hosts: Vec<String>,
    /// URLs without a record.
    pub(super) urls: Vec<ListItem>,
    /// Files and folders.
    pub(super) lists: Vec<ListArg>,
}

impl Targets {
    /// Tells the kinds of targets apart. A file or folder that is there, or that is named with its format, is a list.
    ///
    /// # Errors
    /// For a text that is none of the kinds; the message suggests a similar one.
    pub(super) fn of(
        texts: &[String],
        base: Option<&str>,
        context: &Context,
    ) -> anyhow::Result<Self> {
        let has_database = urldb_files::is_there(&context.database());
        let mut targets = Self::default();
        let (mut urls, mut numbers) = (vec![], vec![]);
        for (number, text) in (1..).zip(texts) {
            let list = ListArg::new(text, base);
            if list.is_there(context)? {
                targets.lists.push(list);
            } else if has_database
                && !text.contains('/')
                && let Ok(hosts) = resolve_domains(&context.config, slice::from_ref(text))
            {
                targets.hosts.extend(hosts);
            } else if text.contains("://") || is_uri(text) {
                urls.push(text.clone());
                numbers.push(number);
            } else {
                return Err(not_found(text, context));
            }
        }
        anyhow::ensure!(
            base.is_none() || !targets.lists.is_empty(),
            "--base says where the files of a list are served: name a file or a folder"
        );
        let mut known = match urls.len() {
            1.. if has_database => find_known(context, &urls)?.into_iter(),
            _ => vec![].into_iter(),
        };
        for (url, number) in urls.iter().zip(numbers) {
            match known.next() {
                Some(Ok(record)) => targets.records.push(record),
                unknown => {
                    if let Some(Err(note)) = unknown
                        && !context.quiet
                    {
                        style::print_note(&note);
                    }
                    targets.urls.push(unpromised(url, number)?);
                }
            }
        }
        Ok(targets)
    }

    /// Whether no selection of the database has exactly the targets.
    pub(super) fn is_apart(&self, select: &SelectArgs) -> bool {
        let is_mixed = !self.records.is_empty() || !select.domains.is_empty();
        !self.urls.is_empty() || !self.lists.is_empty() || is_mixed && !self.hosts.is_empty()
    }

    /// The targets in a database of their own, from now on that of `context`.
    pub(super) fn database(
        self,
        since: Option<&str>,
        changed: Option<ChangedRecords>,
        context: &mut Context,
        stop: &Stop,
    ) -> anyhow::Result<ListDatabase> {
        let mut items = self.urls;
        let config = &context.config;
        add_records(&mut items, &self.records, &self.hosts, changed, config)?;
        let sources = sources_of(&self.lists, context)?;
        ListDatabase::new(&items, sources, since, &mut context.config, stop)
    }
}

/// The lists of all sources beside the changed records, if lists can have changed too.
pub(super) fn changed_lists(
    since: Option<&str>,
    changed: Option<&ChangedRecords>,
    context: &mut Context,
    stop: &Stop,
) -> anyhow::Result<Option<ListDatabase>> {
    let (Some(since), Some(records)) = (since, changed) else {
        return Ok(None);
    };
    if context.config.sources.is_empty() {
        return Ok(None);
    }
    match ListDatabase::of_sources(since, records.clone(), &mut context.config, stop) {
        Err(error) if !stop.is_set() => {
            let error = error.context("the lists are not compared");
            style::print_warning(format!("{error:#}"));
            Ok(None)
        }
        lists => lists.map(Some),
    }
}

/// The sources that lists are, by unique names. The lists need not be in the repository.
fn sources_of(
    lists: &[ListArg],
    context: &mut Context,
) -> anyhow::Result<BTreeMap<String, ListSource>> {
    let paths: anyhow::Result<Vec<PathBuf>> = lists.iter().map(|list| list.path(context)).collect();
    let paths = paths?;
    let root = &mut context.config.root;
    if !paths.iter().all(|path| path.starts_with(&*root)) {
        let folders = paths.iter().map(|path| path.parent().unwrap_or(path));
        *root = common_folder(folders.map(Path::to_owned));
    }
    let mut sources = BTreeMap::new();
    for list in lists {
        let (mut name, source) = list.source(context)?;
        while sources.contains_key(&name) {
            name.push_str("-2");
        }
        sources.insert(name, source);
    }
    Ok(sources)
}

/// An item for a URL without a record, the argument of this number.
fn unpromised(url: &str, number: u64) -> anyhow::Result<ListItem> {
    let location = Location::line(&COMMAND_LINE.into(), number);
    ListItem::new(location, url).map_err(|refused| {
        let format = url
            .split_once(':')
            .filter(|(_, path)| urldb_files::is_there(Path::new(path)))
            .and_then(|(name, _)| format_of(name).err());
        anyhow::anyhow!(format.unwrap_or_else(|| refused.message.into()))
    })
}

/// The error about a text that is no target.
fn not_found(text: &str, context: &Context) -> anyhow::Error {
    let path = context.directory.join(text);
    let folder = path.parent().unwrap_or(&context.directory);
    let files = Root::new(folder, "the folder of a list")
        .files()
        .unwrap_or_default()
        .into_iter()
        .map(|file| file.name().to_string_lossy().into_owned());
    let database = context.config.open_database();
    let hosts = database
        .iter()
        .flat_map(urldb_format::Database::all_files)
        .map(urldb_format::host_of);
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    let mut parts = text.split(['/', ':']);
    let has_dot = |part: &str| part.trim_start_matches('.').contains('.');
    let is_host = parts.next().is_some_and(has_dot) && Format::of_name(Path::new(text)).is_none();
    let help = match similar_host(&wanted, hosts.chain(files)) {
        Some(near) => format!(
            "did you mean {}?",
            Path::new(text).with_file_name(near).display()
        ),
        None if is_host => format!("a URL has a scheme: https://{text}"),
        None => "name a URL, a host of the database, a file or a folder".to_owned(),
    };
    anyhow::anyhow!("there is no file, no folder and no host {text}; {help}")
}

/// Writes the answers of good URLs that promise no bytes.
pub(super) fn write_answers(out: &mut impl Write, outcome: &Outcome) -> anyhow::Result<()> {
    let results = outcome.results.iter().flatten();
    for result in results.filter(|it| it.file == COMMAND_LINE && it.state == State::Ok) {
        let (url, seen) = (sanitize(&result.url), &result.observed);
        let status = seen.status.unwrap_or_default();
        let length = with_spaces(&bytes(seen.length.unwrap_or_default()));
        match &seen.sha256 {
            Some(sha256) => writeln!(
                out,
                "{url} answers {status} with {length}\n  sha256    {sha256}"
            )?,
            None => writeln!(
                out,
                "{url} answers {status}, but only {length} of its body could be read"
            )?,
        }
        if let Some(end) = &seen.final_url {
            writeln!(out, "  from      {}", sanitize(end))?;
        }
    }
    Ok(())
}
