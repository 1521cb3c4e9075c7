//! Lists that are checked: `urldb check --list`, and `--changed-since` with lists that are not synced.

use std::collections::BTreeMap;
use std::sync::Arc;

use tempfile::TempDir;
use urldb_files::RootFile;
use urldb_format::{Linter, RecordIdentity, fold};
use urldb_interchange::Notice;
use urldb_protocol::{Mistake, Shown};
use urldb_text::{Finding, Severity};
use urldb_verdict::ChangedRecords;

use super::Context;
use super::print::style;
use super::sync::ListArg;
use crate::config::{Config, ListSource};
use crate::database::edit::Edit;
use crate::database::mistakes::mistakes;
use crate::limits;
use crate::run::CheckedLists;
use crate::stop::Stop;
use crate::sync::{
    FollowOptions, NewRecords, Plan, StatedItems, at_revision, follow_changes, follow_sources,
    past_items, with_empty_database,
};

/// Records of lists in a temporary folder.
pub(super) struct ListDatabase {
    pub(super) lists: CheckedLists,
    /// The records that a commit has not, or has otherwise; `None` if nothing is compared.
    pub(super) changed: Option<ChangedRecords>,
    /// Removed at the end.
    _folder: TempDir,
}

impl ListDatabase {
    /// Makes records of a list, and compares them with those of the list at a commit. From now on, `context` has these
    /// records in place of its database.
    pub(super) fn new(
        list: &ListArg,
        since: Option<&str>,
        context: &mut Context,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        // The list need not be in the repository.
        let path = list.path(context)?;
        if !path.starts_with(&context.config.root) {
            let folder = path.parent().unwrap_or(&path);
            folder.clone_into(&mut context.config.root);
        }
        let (name, source) = list.source(context)?;
        let (config, folder) = with_empty_database(&context.config)?;
        let past = since.map(|revision| {
            Past::read(&config, revision, stop, |sources| {
                let same = sources.into_values().find(|it| it.path == source.path);
                let past = same.unwrap_or_else(|| source.clone());
                [(name.clone(), past)].into()
            })
        });
        let past = past.transpose()?;
        context.config = Config {
            sources: [(name, source)].into(),
            ..config
        };
        Self::follow(folder, past.as_ref(), vec![], context, stop)
    }

    /// Makes records of the lists of all sources, beside copies of the domain files, and compares the lists with those of
    /// a commit: a change of a list need not be synced to be checked. `changed` has the records that people changed.
    ///
    /// # Errors
    /// When a list or a domain file cannot be read, or a domain file has a mistake. Then `context` is as before.
    pub(super) fn of_sources(
        since: &str,
        changed: ChangedRecords,
        context: &mut Context,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let past = Past::read(&context.config, since, stop, |sources| sources)?;
        let records = record_places(&context.config)?;
        let (config, folder) = with_empty_database(&context.config)?;
        for path in context.config.open_database()?.files() {
            let name = path.file_name().unwrap_or_default();
            let bytes = RootFile::at(path, "the database").read(limits::DOMAIN_FILE)?;
            config.database_root().file(name).replace(&bytes)?;
        }
        let before = std::mem::replace(&mut context.config, config);
        let followed = Self::follow(folder, Some(&past), records, context, stop);
        if followed.is_err() {
            context.config = before;
        }
        let mut followed = followed?;
        if let Some(of_lists) = &mut followed.changed {
            of_lists.add_all(changed);
        }
        Ok(followed)
    }

    /// Follows the lists in a database of copies.
    fn follow(
        folder: TempDir,
        past: Option<&Past>,
        records: Vec<RecordPlace>,
        context: &Context,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let mut edit = Edit::begin(folder.path())?;
        let config = &context.config;
        let plan = match past {
            Some(past) => follow_changes(config, &past.items, Some(&mut edit), stop),
            None => follow_sources(config, FollowOptions::default(), Some(&mut edit), stop),
        }?;
        edit.commit()?;
        let left_out: Vec<String> = plan
            .left_out
            .iter()
            .map(|(kind, number)| format!("{number} {kind}"))
            .collect();
        if !left_out.is_empty() && !context.quiet {
            style::print_note(&format!("left out: {}", left_out.join(", ")));
        }
        let changed = past.map(|past| changed(&plan.changes, &past.revision));
        let mut lists = checked_lists(plan);
        if let Some(past) = past {
            lists.mistakes.retain(|mistake| !past.has(mistake));
        }
        Ok(Self {
            lists: CheckedLists {
                locations: lists.locations.of_copies(records),
                ..lists
            },
            changed,
            _folder: folder,
        })
    }
}

/// A host, a record, and its file and line.
type RecordPlace = (Arc<str>, RecordIdentity, (Arc<str>, usize));

/// The places of all records.
///
/// # Errors
/// When a domain file has a mistake, whose line a copy would not have.
fn record_places(config: &Config) -> anyhow::Result<Vec<RecordPlace>> {
    let mut places = vec![];
    for path in config.open_database()?.files() {
        let host: Arc<str> = urldb_format::host_of(path).into();
        let name: Arc<str> = config.relative_name(path).into();
        let linter = || (Linter::of_values(path, &config.lint.keys), None, None);
        let (_, _, mistake) = fold(path, linter, |(linter, metadata, mistake), document| {
            if let Some(of_file) = document.metadata() {
                *metadata = Some(of_file.clone());
            }
            let found = linter.see(document).into_iter();
            let first = found.into_iter().find(Finding::is_error);
            *mistake = mistake.take().or(first);
            let entry = document.to_entry();
            if let (Some(metadata), Some(entry)) = (metadata, entry) {
                let identity = metadata.identity_of(entry.record());
                places.push((host.clone(), identity, (name.clone(), entry.line())));
            }
        });
        if let Some(Finding { line, message, .. }) = mistake {
            anyhow::bail!("{name}:{line}: {message}");
        }
    }
    Ok(places)
}

/// The lists of a commit.
struct Past {
    revision: String,
    items: StatedItems,
    mistakes: Vec<Mistake>,
}

impl Past {
    fn read(
        config: &Config,
        revision: &str,
        stop: &Stop,
        choose: impl FnOnce(BTreeMap<String, ListSource>) -> BTreeMap<String, ListSource>,
    ) -> anyhow::Result<Self> {
        let (config, _folder) = at_revision(config, revision, choose)?;
        let (items, plan) = past_items(&config, stop)?;
        Ok(Self {
            revision: revision.to_owned(),
            items,
            mistakes: checked_lists(plan).mistakes,
        })
    }

    /// Whether the commit has the mistake too.
    fn has(&self, mistake: &Mistake) -> bool {
        let kind = |it: &Mistake| (it.code.clone(), it.file.clone(), it.message.clone());
        self.mistakes.iter().any(|it| kind(it) == kind(mistake))
    }
}

fn changed(new: &NewRecords, revision: &str) -> ChangedRecords {
    let mut changed = ChangedRecords::since(revision);
    changed.are_new = new.are_new;
    for (host, identity) in &new.records {
        changed.add_record(host, identity.clone());
    }
    changed
}

/// The places and the mistakes of lists.
pub(super) fn checked_lists(plan: Plan) -> CheckedLists {
    let refused = plan.refused.first.iter().map(of_notice);
    let found = plan
        .mistakes
        .first
        .iter()
        .filter(|it| it.severity == Severity::Error);
    CheckedLists {
        mistakes: refused.chain(found.flat_map(of_finding)).collect(),
        locations: plan.into_locations(),
    }
}

/// The mistake in a report for a finding in a file.
pub(super) fn of_finding(finding: &Finding) -> Vec<Mistake> {
    let file = finding.file.as_deref().unwrap_or(std::path::Path::new(""));
    let name = file.to_string_lossy();
    mistakes("", finding.line, &name, std::slice::from_ref(finding))
}

/// A line of a list that cannot be read.
fn of_notice(notice: &Notice) -> Mistake {
    Mistake {
        code: notice.code.clone(),
        file: notice.location.file.to_string(),
        line: notice.location.line_number(),
        column: 1,
        message: Shown::new(&notice.message, Shown::LONGEST),
        help: None,
        text: Shown::default(),
        new: false,
    }
}
