//! Records of lists and other items in a temporary folder, in place of the database of the project.

use std::collections::BTreeMap;

use tempfile::TempDir;
use urldb_files::RootFile;
use urldb_interchange::ListItem;
use urldb_protocol::Mistake;
use urldb_verdict::ChangedRecords;

use super::aside::with_empty_database;
use super::mistakes::checked_lists;
use super::past::at_revision;
use super::records::{RecordPlace, record_places};
use crate::config::{Config, ListSource};
use crate::database::edit::Edit;
use crate::limits;
use crate::run::CheckedLists;
use crate::stop::Stop;
use crate::sync::{NewRecords, Plan, StatedItems, follow_checked, past_items};

/// Most entries that are named if a list has no URL.
const MOST_NAMED: usize = 20;

/// Records of lists and other targets in a temporary folder.
pub(crate) struct ListDatabase {
    pub(crate) lists: CheckedLists,
    /// The records that a commit has not, or has otherwise; `None` if nothing is compared.
    pub(crate) changed: Option<ChangedRecords>,
    /// Sentences about entries that were left out of the lists.
    pub(crate) notes: Vec<String>,
    /// Removed at the end.
    _folder: TempDir,
}

impl ListDatabase {
    /// Makes records of items and of the lists of sources, and compares those of the lists with those at a commit. From
    /// now on, `config` has these records in place of its database.
    ///
    /// # Errors
    /// When a list cannot be read, or nothing is left to check.
    pub(crate) fn new(
        items: &[ListItem],
        sources: BTreeMap<String, ListSource>,
        since: Option<&str>,
        config: &mut Config,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let (apart, folder) = with_empty_database(config)?;
        let past = since
            .filter(|_| !sources.is_empty())
            .map(|revision| {
                Past::read(&apart, revision, stop, |known| {
                    sources
                        .iter()
                        .map(|(name, source)| {
                            let same = known.values().find(|it| it.path == source.path);
                            (name.clone(), same.unwrap_or(source).clone())
                        })
                        .collect()
                })
            })
            .transpose()?;
        *config = Config { sources, ..apart };
        Self::follow(folder, past.as_ref(), (items, vec![]), config, stop)
    }

    /// Makes records of the lists of all sources, beside copies of the domain files, and compares the lists with those
    /// of a commit: a change of a list need not be synced to be checked. `changed` has the records that people changed.
    ///
    /// # Errors
    /// When a list or a domain file cannot be read, or a domain file has a mistake. Then `config` is as before.
    pub(crate) fn of_sources(
        since: &str,
        changed: ChangedRecords,
        config: &mut Config,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let past = Past::read(config, since, stop, |sources| sources)?;
        let records = record_places(config)?;
        let (apart, folder) = with_empty_database(config)?;
        for path in config.open_database()?.files() {
            let name = path.file_name().unwrap_or_default();
            let bytes = RootFile::at(path, "the database").read(limits::DOMAIN_FILE)?;
            apart.database_root().file(name).replace(&bytes)?;
        }
        let mut followed = Self::follow(folder, Some(&past), (&[], records), &apart, stop)?;
        *config = apart;
        if let Some(of_lists) = &mut followed.changed {
            of_lists.add_all(changed);
        }
        Ok(followed)
    }

    /// Follows the lists in a database of copies of `records`, and adds items.
    fn follow(
        folder: TempDir,
        past: Option<&Past>,
        (items, records): (&[ListItem], Vec<RecordPlace>),
        config: &Config,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let mut edit = Edit::begin(folder.path())?;
        let stated = past.map(|past| &past.items);
        let plan = follow_checked(config, stated, items, &mut edit, stop)?;
        edit.commit()?;
        let notes = notes(&plan)?;
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
            notes,
            _folder: folder,
        })
    }
}

/// Sentences about what was left out of the lists.
///
/// # Errors
/// When nothing is left to check.
fn notes(plan: &Plan) -> anyhow::Result<Vec<String>> {
    let mut notes: Vec<String> = plan.left_out_text().into_iter().collect();
    if !plan.without_urls.is_empty() {
        let note = format!("no URL to check is in {}", plan.without_urls.join(", "));
        let is_nothing = plan.files.is_empty() && plan.refused.count + plan.mistakes.count == 0;
        let named = plan
            .left_out_lines
            .first
            .iter()
            .take(MOST_NAMED)
            .fold(note.clone(), |text, line| format!("{text}\n  {line}"));
        anyhow::ensure!(!is_nothing, named);
        notes.push(note);
    }
    Ok(notes)
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
    changed.are_new = !new.has_known;
    for (host, identity) in &new.records {
        changed.add_record(host, identity.clone());
    }
    changed
}
