//! The records of the database, one after another.

use std::sync::Arc;

use urldb_format::{Linter, Metadata, Record, RecordIdentity, fold};
use urldb_interchange::{ListItem, Location};
use urldb_text::Finding;
use urldb_verdict::{ChangedRecords, NamedRecord, Selection};

use crate::config::Config;

/// Adds items for records of the database, at the lines of their domain files: those that are `named`, and all of
/// `hosts`.
///
/// # Errors
/// As [`each_record`].
pub(crate) fn add_records(
    items: &mut Vec<ListItem>,
    named: &[NamedRecord],
    hosts: &[String],
    changed: Option<ChangedRecords>,
    config: &Config,
) -> anyhow::Result<()> {
    let selection = Selection {
        changed,
        ..Selection::default()
    };
    let is_whole = |host: &str| hosts.iter().any(|it| it == host);
    let wants = |host: &str| is_whole(host) || named.iter().any(|named| named.domain == host);
    each_record(config, wants, |host, (file, line), metadata, record| {
        let mut asked: Vec<&str> = named
            .iter()
            .filter(|it| it.domain == **host && it.path == record.path)
            .map(|it| it.alias.as_deref().unwrap_or(host))
            .collect();
        let is_named = !asked.is_empty();
        if is_whole(host) && !asked.contains(&&**host) {
            asked.push(host);
        }
        if !selection.wants_record(host, record) {
            return;
        }
        let scheme = metadata.scheme_of(record).as_str();
        for host in asked {
            let url = format!("{scheme}://{host}{}", record.path);
            let Ok(mut item) = ListItem::new(Location::line(file, line as u64), &url) else {
                continue;
            };
            item.record = record.clone();
            item.metadata = Some(metadata.clone());
            // A deprecated record is asked if it is named.
            let categories = &mut item.record.categories;
            categories.retain(|it| !is_named || it != "deprecated");
            items.push(item);
        }
    })
}

/// A host, a record, and its file and line.
pub(super) type RecordPlace = (Arc<str>, RecordIdentity, (Arc<str>, usize));

/// The places of all records.
///
/// # Errors
/// As [`each_record`].
pub(super) fn record_places(config: &Config) -> anyhow::Result<Vec<RecordPlace>> {
    let mut places = vec![];
    each_record(
        config,
        |_| true,
        |host, (file, line), metadata, record| {
            let identity = metadata.identity_of(record);
            places.push((Arc::clone(host), identity, (Arc::clone(file), line)));
        },
    )?;
    Ok(places)
}

/// Hands out the records of hosts, with the host, the place in the domain file, and the metadata of the file.
///
/// # Errors
/// When a domain file has a mistake, whose line a copy would not have.
fn each_record(
    config: &Config,
    wants: impl Fn(&str) -> bool,
    mut take: impl FnMut(&Arc<str>, (&Arc<str>, usize), &Metadata, &Record),
) -> anyhow::Result<()> {
    if !urldb_files::is_there(config.database_root().path()) {
        return Ok(());
    }
    for path in config.open_database()?.files() {
        let host: Arc<str> = urldb_format::host_of(path).into();
        if !wants(&host) {
            continue;
        }
        let name: Arc<str> = config.relative_name(path).into();
        let linter = || (Linter::of_values(path, &config.lint.keys), None, None);
        let (_, _, mistake) = fold(path, linter, |(linter, metadata, mistake), document| {
            if let Some(of_file) = document.metadata() {
                *metadata = Some(of_file.clone());
            }
            let first = linter
                .see(document)
                .into_iter()
                .into_iter()
                .find(Finding::is_error);
            *mistake = mistake.take().or(first);
            let entry = document.to_entry();
            if let (Some(metadata), Some(entry)) = (metadata, entry) {
                take(&host, (&name, entry.line()), metadata, entry.record());
            }
        });
        if let Some(Finding { line, message, .. }) = mistake {
            anyhow::bail!("{name}:{line}: {message}");
        }
    }
    Ok(())
}
