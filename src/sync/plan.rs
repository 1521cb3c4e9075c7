//! Follows all sources of a configuration: reads their lists, compares them with the database, and prepares the
//! domain files that change. All or nothing: if one list cannot be read, no file is written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use globset::GlobSet;
use urldb_canon::kind_of_held;
use urldb_canon::rules::SiteRules;
use urldb_files::Root;
use urldb_format::RecordIdentity;
use urldb_interchange::budget::Budget;
use urldb_interchange::{ListItem, Location, Notice, NoticeSeverity, ReadEvent};
use urldb_text::Code;

use super::change::FileChange;
use super::domain::{Domain, MergedDomain, domains};
use super::files::{MergeState, ensure_inside, files_of, is_output, root_of, top_of};
use super::follow::{FollowOptions, SourceRule, finding};
use super::formats::{self, ListFile, ReadOptions};
use super::groups::states;
use super::locations::COMMAND_LINE;
use super::merge::MergePolicy;
use super::outcome::{Outcome, SourceCounts};
use super::plan_result::Plan;
use super::read_item::{ReadItem, Watch};
use super::selected::{OtherPage, excluded, page_of};
use super::spool::{Items, Spool};
use super::stated::{ItemHashes, Past, StatedItems};
use crate::config::{Config, Format, ListSource, OnGone};
use crate::database::aliases::Aliases;
use crate::database::edit::Edit;
use crate::database::site_rules;
use crate::stop::{Interrupted, Stop};

/// Most records of a source that may be gone at once: a share of them, and a number.
const MOST_GONE_PERCENT: u64 = 20;
const MOST_GONE: u64 = 10;

/// Most items of all sources: as many as an import takes.
const MOST_ITEMS: u64 = 1_000_000;

/// Follows all sources: prepares the domain files that change in `edit`, if there is one.
///
/// # Errors
/// When a list or a domain file cannot be read, or has a merge conflict; and [`Interrupted`].
pub(crate) fn follow_sources(
    config: &Config,
    options: FollowOptions,
    edit: Option<&mut Edit>,
    stop: &Stop,
) -> anyhow::Result<Plan> {
    Ok(Reading::new(config, edit, stop)?.follow_all(options)?.plan)
}

/// As [`follow_sources`] with further `items`. Names records with items that are not in `past`, and lists without a URL.
pub(crate) fn follow_checked(
    config: &Config,
    past: Option<&StatedItems>,
    items: &[ListItem],
    edit: &mut Edit,
    stop: &Stop,
) -> anyhow::Result<Plan> {
    let mut reading = Reading::new(config, Some(edit), stop)?;
    reading.past = past.map_or(Past::Unknown, Past::Known);
    items.iter().try_for_each(|item| reading.spool.push(item))?;
    for (name, source) in &config.sources {
        if reading.read(name, source, None)? == 0 {
            reading.plan.without_urls.extend_from_slice(&source.path);
        }
    }
    reading.repeated_sources();
    let all = FollowOptions {
        force: true,
        ..FollowOptions::default()
    };
    Ok(reading.follow(all)?.plan)
}

/// The items of all sources, and the mistakes in them. A source that cannot be read has no items.
///
/// # Errors
/// When a temporary file cannot be written; and [`Interrupted`].
pub(crate) fn past_items(config: &Config, stop: &Stop) -> anyhow::Result<(StatedItems, Plan)> {
    let mut reading = Reading::new(config, None, stop)?;
    reading.past = Past::Now(StatedItems::default());
    for (name, source) in &config.sources {
        // A list that cannot be read then is new now.
        let _ = reading.read(name, source, None);
        reading.ensure_goes_on()?;
    }
    let followed = reading.follow(FollowOptions::default())?;
    match followed.past {
        Past::Now(items) => Ok((items, followed.plan)),
        _ => Ok((StatedItems::default(), followed.plan)),
    }
}

/// Passes the items of these sources to `watch`, as [`follow_sources`] takes them.
///
/// # Errors
/// When a list cannot be read, and those of `watch`; and [`Interrupted`].
pub(crate) fn read_items(
    config: &Config,
    names: &BTreeSet<&str>,
    stop: &Stop,
    watch: &mut Watch<'_>,
) -> anyhow::Result<()> {
    let mut reading = Reading::new(config, None, stop)?;
    let sources = config.sources.iter();
    for (name, source) in sources.filter(|(name, _)| names.contains(name.as_str())) {
        reading.read_some(name, source, Some(watch))?;
    }
    Ok(())
}

/// The lists as they are read.
struct Reading<'a> {
    config: &'a Config,
    root: Root,
    edit: Option<&'a mut Edit>,
    /// The work that is left for all lists.
    budget: Budget,
    stop: &'a Stop,
    rules: SiteRules,
    spool: Spool,
    state: MergeState,
    /// The names of the sources that read each file.
    readers: BTreeMap<PathBuf, Vec<&'a str>>,
    source_rules: BTreeMap<String, SourceRule>,
    plan: Plan,
    past: Past<'a>,
}

impl<'a> Reading<'a> {
    fn new(config: &'a Config, edit: Option<&'a mut Edit>, stop: &'a Stop) -> anyhow::Result<Self> {
        let database = config.database_root();
        // Without rules that have a mistake, many records would change.
        let rules = match edit {
            Some(_) => site_rules::load(config)?,
            None => site_rules::read(database.path())?.rules,
        };
        Ok(Self {
            config,
            root: root_of(config)?,
            edit,
            budget: Budget::default(),
            stop,
            rules,
            spool: Spool::new()?,
            state: MergeState::of(&config.root)?,
            readers: BTreeMap::new(),
            source_rules: BTreeMap::new(),
            plan: Plan::default(),
            past: Past::Unknown,
        })
    }

    fn ensure_goes_on(&self) -> Result<(), Interrupted> {
        Interrupted::unless_goes_on(self.stop, "the lists were not read to their end")
    }

    /// As [`Self::read`]; a list without a URL is an error.
    fn read_some(
        &mut self,
        name: &'a str,
        source: &'a ListSource,
        watch: Option<&mut Watch<'_>>,
    ) -> anyhow::Result<()> {
        let read = self.read(name, source, watch).and_then(|items| {
            anyhow::ensure!(items > 0, "no URL is in {}", source.path.join(", "));
            Ok(())
        });
        read.with_context(|| format!("[source.{name}]"))
    }

    /// Reads the files of a source. The items go to `watch`, or else to the spool. Returns their number.
    fn read(
        &mut self,
        name: &'a str,
        source: &'a ListSource,
        mut watch: Option<&mut Watch<'_>>,
    ) -> anyhow::Result<u64> {
        let root = self.root.clone();
        let found = files_of(&root, source, self.stop)?;
        self.plan.submodules.extend(found.submodules);
        let excluded = excluded(source)?;
        let top = top_of(&root, source);
        let budget = self.budget.clone();
        let options = ReadOptions {
            format: source.format,
            base: source.base.as_deref(),
            columns: &source.columns,
            index: &source.index,
            top: &top,
            root: Some(&root),
            budget: &budget,
            stop: self.stop,
        };
        let wrong = |plan: &Plan| plan.refused.count + plan.mistakes.count;
        let (mut items, wrong_before) = (0, wrong(&self.plan));
        let files = self.files(found.files, name, source.format)?;
        let read = formats::read_files(&options, &files, &mut |file, event| {
            self.ensure_goes_on()?;
            let Some(item) = self.take(event, name, source, &excluded) else {
                return Ok(());
            };
            items += 1;
            match &mut watch {
                Some(watch) => watch(&ReadItem {
                    source: name,
                    format: source.format,
                    path: &file.path,
                    item: &item,
                })?,
                None if self.spool.len() == MOST_ITEMS => {
                    let place = &item.location;
                    let message =
                        format!("{place}: the lists have more than {MOST_ITEMS} URLs together");
                    return Err(message.into());
                }
                None => self.spool.push(&item)?,
            }
            Ok(())
        });
        self.ensure_goes_on()?;
        read?;
        let rule = SourceRule {
            keeps: source.on_gone == OnGone::Keep,
            is_incomplete: wrong(&self.plan) > wrong_before,
            states: states(source.format),
        };
        self.source_rules.insert(name.to_owned(), rule);
        Ok(items)
    }

    /// The files of a source that can be read.
    fn files(
        &mut self,
        found: BTreeSet<PathBuf>,
        name: &'a str,
        format: Format,
    ) -> anyhow::Result<Vec<ListFile>> {
        let mut files = vec![];
        for file in found {
            self.ensure_goes_on()?;
            let path = self.root.path().join(&file);
            let shown: Arc<str> = self.config.relative_name(&path).into();
            // A promise of what urldb writes would never hold.
            if format == Format::Files && is_output(self.config, &path) {
                self.leave_out("of-urldb".to_owned(), 1);
                continue;
            }
            ensure_inside(&self.root, &file, format)
                .with_context(|| format!("cannot read {shown}"))?;
            let may_have_markers = format.may_have_markers();
            let checked = self.state.check(&path, &shown, may_have_markers, self.stop);
            self.ensure_goes_on()?;
            checked?;
            if format.is_edited_by_hand() {
                self.plan.locations.edited_by_hand(&shown);
            }
            self.readers.entry(file).or_default().push(name);
            self.plan.lists.insert(path.clone());
            files.push(ListFile { path, shown });
        }
        Ok(files)
    }

    /// The item of an event, unless it is left out.
    fn take(
        &mut self,
        event: ReadEvent,
        name: &str,
        source: &ListSource,
        excluded: &GlobSet,
    ) -> Option<ListItem> {
        let mut item = match event {
            ReadEvent::Item(item) => *item,
            ReadEvent::Notice(notice) => {
                self.note(notice);
                return None;
            }
        };
        if item.is_held() {
            // Sync holds no URIs.
            let kind = kind_of_held(&item.record.path);
            self.leave_out(kind.unwrap_or_default(), 1);
            return None;
        }
        let Some(url) = item.url() else {
            let message = "host and path make no URL";
            self.note(Notice::refused(item.location, "bad-path", message));
            return None;
        };
        if excluded.is_match(url.as_str()) {
            self.leave_out("excluded".to_owned(), 1);
            return None;
        }
        item.record.source = vec![name.to_owned()];
        item.record
            .categories
            .extend(source.categories.iter().cloned());
        match page_of(&self.rules, item, OtherPage::Refused) {
            Ok(item) => Some(item),
            Err(refused) => {
                self.plan.mistakes.push(finding(*refused));
                None
            }
        }
    }

    fn note(&mut self, notice: Notice) {
        // URLs that no record can hold are no mistakes of a list.
        let is_other = matches!(&*notice.code, "scheme" | "port");
        match notice.severity {
            NoticeSeverity::Remark => {}
            NoticeSeverity::Refused if !is_other => self.plan.refused.push(notice),
            _ => {
                self.leave_out(notice.code.clone(), notice.count);
                self.plan.left_out_lines.push(notice);
            }
        }
    }

    fn leave_out(&mut self, kind: String, entries: u64) {
        *self.plan.left_out.entry(kind).or_default() += entries;
    }

    /// Warns of files that two sources read.
    fn repeated_sources(&mut self) {
        for (file, names) in self.readers.iter().filter(|(_, names)| names.len() > 1) {
            let shown: Arc<str> = self
                .config
                .relative_name(&self.config.root.join(file))
                .into();
            let message = format!("{} both read {shown}", names.join(" and "));
            let code = Code::RepeatedSource.as_str();
            let notice = Notice::refused(Location::line(&shown, 1), code, message);
            self.plan.mistakes.push(finding(notice));
        }
    }

    /// Reads all sources, and compares them with the database.
    fn follow_all(mut self, options: FollowOptions) -> anyhow::Result<Self> {
        for (name, source) in &self.config.sources {
            self.read_some(name, source, None)?;
        }
        self.repeated_sources();
        self.follow(options)
    }

    /// Compares the items with the database, domain by domain.
    fn follow(mut self, options: FollowOptions) -> anyhow::Result<Self> {
        // The first list makes a database.
        let has_database = urldb_files::is_there(self.config.database_root().path());
        let database = has_database.then(|| self.config.open_database());
        let database = database.transpose()?;
        let files = database.iter().flat_map(urldb_format::Database::files);
        let aliases = Aliases::of_files(files.clone())?;
        let mut domains = domains(&self.spool, &aliases);
        for path in files {
            domains.entry(urldb_format::host_of(path)).or_default();
        }
        let mut of_sources: BTreeMap<String, SourceCounts> = BTreeMap::new();
        for (domain, hosts) in domains {
            self.ensure_goes_on()?;
            let items = self.spool.take(&hosts)?;
            for (name, counts) in self.follow_domain(&domain, items, options)? {
                let all = of_sources.entry(name).or_default();
                all.before += counts.before;
                all.removed += counts.removed;
            }
        }
        let is_much = |counts: &SourceCounts| {
            counts.removed > MOST_GONE && counts.removed * 100 > counts.before * MOST_GONE_PERCENT
        };
        if !options.force {
            let gone = of_sources.into_iter().filter(|(_, counts)| is_much(counts));
            self.plan.gone = gone.collect();
        }
        let mistakes = &mut self.plan.mistakes.first;
        mistakes.sort_by_cached_key(|it| (it.file.clone(), it.line, it.code));
        Ok(self)
    }

    fn follow_domain(
        &mut self,
        domain: &str,
        items: Items,
        options: FollowOptions,
    ) -> anyhow::Result<BTreeMap<String, SourceCounts>> {
        let policy = MergePolicy::Follow {
            rules: &self.source_rules,
            adopt: options.adopt,
        };
        self.ensure_goes_on()?;
        let file = Domain::open(self.config, domain, &items, policy)?;
        let mut places = Vec::with_capacity(items.len());
        for item in &items {
            self.ensure_goes_on()?;
            places.push(ItemPlace {
                identity: file.metadata.identity_of(&item.record),
                location: item.location.clone(),
                written: item.written.clone(),
                hashes: self.hashes(item),
            });
        }
        let merged = file.merge(items, policy)?;
        self.plan.name_changes(&merged, |identity| {
            let place = places.iter().find(|it| it.identity == *identity)?;
            Some(&place.location)
        });
        for place in places {
            self.ensure_goes_on()?;
            if !merged.changes.contradicted.contains(&place.identity) {
                self.locate(domain, place);
            }
        }
        self.apply(merged)
    }

    /// The hashes that are compared with the items of the other time.
    fn hashes(&self, item: &ListItem) -> Option<ItemHashes> {
        match &self.past {
            Past::Unknown => None,
            Past::Now(items) => Some(items.hashes_of(item)),
            Past::Known(items) => Some(items.hashes_of(item)),
        }
    }

    /// Keeps the place of an item, and its record if the item is new.
    fn locate(&mut self, domain: &str, place: ItemPlace) {
        let ItemPlace {
            identity,
            location,
            written,
            hashes,
        } = place;
        let Plan {
            locations, changes, ..
        } = &mut self.plan;
        let mut is_new = false;
        match (&mut self.past, hashes) {
            (Past::Now(items), Some(item)) => items.add(item),
            (Past::Known(past), Some(item)) => {
                // A URL that the command line names is wanted in any case.
                is_new = !past.has(item) || *location.file == *COMMAND_LINE;
                changes.has_known |= is_new && past.has_url(item);
            }
            _ => {}
        }
        locations.add(domain, &identity, &location, written, is_new);
        if is_new {
            changes.records.push((domain.to_owned(), identity));
        }
    }

    /// Prepares the domain file, and counts.
    fn apply(
        &mut self,
        mut merged: MergedDomain,
    ) -> anyhow::Result<BTreeMap<String, SourceCounts>> {
        let (plan, changes) = (&mut self.plan, &mut merged.changes);
        for contradiction in std::mem::take(&mut changes.contradictions) {
            plan.mistakes.push(finding(contradiction));
        }
        plan.unchanged += changes.unchanged;
        plan.agreeing += changes.agreeing;
        plan.with_own_promise += changes.with_own_promise;
        let of_sources = std::mem::take(&mut changes.of_sources);
        if merged.is_empty() {
            return Ok(of_sources);
        }
        let changes = &merged.changes;
        plan.files.push(FileChange {
            added: changes.count(Outcome::Added),
            updated: changes.count(Outcome::Updated),
            removed: changes.remove.len() as u64,
            path: merged.path.clone(),
        });
        if let Some(edit) = self.edit.as_deref_mut() {
            merged.prepare(edit)?;
        }
        Ok(of_sources)
    }
}

/// An item that was followed.
struct ItemPlace {
    identity: RecordIdentity,
    location: Location,
    written: Option<Box<str>>,
    hashes: Option<ItemHashes>,
}
