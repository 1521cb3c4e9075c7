//! The file of the checks: empty metadata, then a document for each place, sorted by place.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use anyhow::Context;
use jiff::Timestamp;
use jiff::civil::Date;
use urldb_files::{Root, RootFile};
use urldb_format::{Mapping, Schema, Value, read_documents, write_documents};

use crate::config::Config;
use crate::ledger::ARCHIVE_FILE;
use crate::limits;

/// Most names in each list of a document. Of a longer list, the other names are unknown.
pub const MOST_NAMES: usize = 100;

/// The name of the file in the folder of an archive without places.
pub(crate) const IN_ARCHIVE: &str = ".checked.yaml";

const SCHEMA: Schema = Schema {
    integers: &["files", "serial"],
    booleans: &[],
    is_known: |_| true,
};

/// The state of the rolling check of one place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlaceCheck {
    /// Number of files that the place should have.
    pub files: u64,
    /// The serial of the place's manifest; `None` for an archive without places, which has none.
    pub serial: Option<u64>,
    /// The day (UTC) on which the current round began: files with names up to `through` were read then or
    /// later. `None` if this is unknown.
    pub round: Option<Date>,
    /// The day on which the complete round before began: all other files were read then or later. `None`
    /// without such a round.
    pub round_before: Option<Date>,
    /// The last name when the round began. Files with later names came during the round.
    pub round_last: Option<String>,
    /// The last name that this round has read; `None` at its begin.
    pub through: Option<String>,
    /// The last run that listed the place completely.
    pub updated: Timestamp,
    /// Names that the place lacks, at most [`MOST_NAMES`].
    pub missing: BTreeSet<String>,
    /// Names with other bytes than the manifest says; as `missing`.
    pub damaged: BTreeSet<String>,
    /// Names that could not be read, so that no date holds for them; as `missing`.
    pub unread: BTreeSet<String>,
}

/// The checks of all places, by place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlaceChecks(pub BTreeMap<String, PlaceCheck>);

impl PlaceChecks {
    /// The checks of a repository's archive.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn of(config: &Config) -> anyhow::Result<Self> {
        let file = if config.archive.stores.is_empty() {
            Self::file_in_archive(&config.archive_root())
        } else {
            Self::file_in_ledger(&config.ledger_root())
        };
        Self::read(&file)
    }

    /// The file in the folder of a ledger, for an archive with places.
    pub fn file_in_ledger(ledger: &Root) -> RootFile {
        ledger.file(ARCHIVE_FILE)
    }

    /// The file in the folder of an archive without places.
    pub fn file_in_archive(archive: &Root) -> RootFile {
        archive.file(IN_ARCHIVE)
    }

    /// Reads a file, which need not exist.
    ///
    /// # Errors
    /// When the file cannot be read, or has another form than this program writes.
    pub fn read(file: &RootFile) -> anyhow::Result<Self> {
        let text = match file.read_to_string(limits::PLACE_CHECKS) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            text => text.with_context(|| format!("cannot read {file}"))?,
        };
        Self::parse(&text).with_context(|| format!("cannot use {file}"))
    }

    /// Replaces a file, unless it has these checks already.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, file: &RootFile) -> anyhow::Result<()> {
        let text = self.to_text();
        let known = file.read_to_string(limits::PLACE_CHECKS);
        if known.is_ok_and(|known| known == text) {
            return Ok(());
        }
        file.root()
            .make()
            .and_then(|()| file.replace(text.as_bytes()))
            .with_context(|| format!("cannot write {file}"))
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let (documents, findings) = read_documents(text, &SCHEMA);
        if let Some(finding) = findings.first() {
            anyhow::bail!("line {}: {}", finding.line, finding.message);
        }
        let mut checks = BTreeMap::new();
        for document in documents.iter().skip(1) {
            let at = || format!("line {}", document.start_line);
            let place = needed(&document.mapping, "place").with_context(at)?;
            let check = PlaceCheck::from_mapping(&document.mapping).with_context(at)?;
            let known = checks.insert(place, check);
            anyhow::ensure!(
                known.is_none(),
                "line {}: a second document of its `place`",
                document.start_line
            );
        }
        Ok(Self(checks))
    }

    fn to_text(&self) -> String {
        let documents = self.0.iter().map(|(place, check)| check.to_mapping(place));
        let all: Vec<Mapping> = std::iter::once(Mapping::new()).chain(documents).collect();
        write_documents(&all)
    }
}

/// Keeps the first [`MOST_NAMES`] of a list.
pub(super) fn shorten(names: &mut BTreeSet<String>) {
    while names.len() > MOST_NAMES {
        names.pop_last();
    }
}

impl PlaceCheck {
    /// Each list of names for which no date holds.
    pub(super) fn lists_mut(&mut self) -> [&mut BTreeSet<String>; 3] {
        [&mut self.missing, &mut self.damaged, &mut self.unread]
    }

    fn from_mapping(mapping: &Mapping) -> anyhow::Result<Self> {
        Ok(Self {
            files: int(mapping, "files")?.context("`files` is missing")?,
            serial: int(mapping, "serial")?,
            round: date(mapping, "round")?,
            round_before: date(mapping, "round-before")?,
            round_last: text(mapping, "round-last")?,
            through: text(mapping, "through")?,
            updated: {
                needed(mapping, "updated")?
                    .parse()
                    .context("`updated` is no time")?
            },
            missing: names(mapping, "missing")?,
            damaged: names(mapping, "damaged")?,
            unread: names(mapping, "unread")?,
        })
    }

    fn to_mapping(&self, place: &str) -> Mapping {
        let mut mapping = Mapping::new();
        mapping.insert("place", place);
        mapping.insert("files", self.files);
        mapping.insert("updated", self.updated.to_string());
        if let Some(serial) = self.serial {
            mapping.insert("serial", serial);
        }
        let texts = [
            ("round", self.round.map(|it| it.to_string())),
            ("round-before", self.round_before.map(|it| it.to_string())),
            ("round-last", self.round_last.clone()),
            ("through", self.through.clone()),
        ];
        mapping.extend(texts.into_iter().filter_map(|(key, text)| {
            let text = text?;
            Some((key.to_owned(), Value::Text(text)))
        }));
        let lists = [
            ("missing", &self.missing),
            ("damaged", &self.damaged),
            ("unread", &self.unread),
        ];
        for (key, list) in lists {
            if !list.is_empty() {
                let list = list.iter().take(MOST_NAMES).cloned();
                mapping.insert(key, Value::List(list.map(Value::Text).collect()));
            }
        }
        mapping
    }
}

fn needed(mapping: &Mapping, key: &str) -> anyhow::Result<String> {
    text(mapping, key)?.with_context(|| format!("`{key}` is missing"))
}

fn text(mapping: &Mapping, key: &str) -> anyhow::Result<Option<String>> {
    let value = mapping.get(key).map(|value| {
        value
            .as_text()
            .with_context(|| format!("`{key}` is {}, not text", value.kind()))
    });
    Ok(value.transpose()?.map(str::to_owned))
}

fn int(mapping: &Mapping, key: &str) -> anyhow::Result<Option<u64>> {
    mapping
        .get(key)
        .map(|value| {
            value
                .as_int()
                .with_context(|| format!("`{key}` is {}, not an integer", value.kind()))
        })
        .transpose()
}

fn date(mapping: &Mapping, key: &str) -> anyhow::Result<Option<Date>> {
    text(mapping, key)?
        .map(|text| text.parse())
        .transpose()
        .with_context(|| format!("`{key}` is no date"))
}

/// The names of a list: the first [`MOST_NAMES`].
fn names(mapping: &Mapping, key: &str) -> anyhow::Result<BTreeSet<String>> {
    let Some(value) = mapping.get(key) else {
        return Ok(BTreeSet::new());
    };
    let wrong = || format!("`{key}` is no list of names");
    let Value::List(items) = value else {
        anyhow::bail!(wrong());
    };
    let mut names = items
        .iter()
        .map(|item| item.as_text().map(str::to_owned))
        .collect::<Option<_>>()
        .with_context(wrong)?;
    shorten(&mut names);
    Ok(names)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use urldb_format::Versions;

    use super::*;

    /// The example of the documentation: keys are sorted, absent keys are left out.
    const TEXT: &str = "---\n---\nfiles: 365\nplace: s3://evidence-a/urldb\nround: '2026-11-14'\n\
        round-before: '2026-08-06'\nround-last: urldb-20261114060000-00000-vm.warc.gz\nserial: 412\n\
        through: urldb-20260322060000-00000-vm.warc.gz\nunread:\n- big.warc.gz\n\
        updated: '2026-11-23T06:00:09Z'\n";

    fn parse_error(text: &str) -> String {
        format!("{:#}", PlaceChecks::parse(text).unwrap_err())
    }

    #[test]
    fn the_text_is_canonical() {
        let checks = PlaceChecks::parse(TEXT).unwrap();
        let check = &checks.0["s3://evidence-a/urldb"];
        assert_eq!(check.round_before, Some("2026-08-06".parse().unwrap()));
        assert_eq!((check.files, check.serial), (365, Some(412)));
        assert_eq!(check.unread, BTreeSet::from(["big.warc.gz".to_owned()]));
        assert_eq!(checks.to_text(), TEXT);
    }

    #[test]
    fn an_unreadable_document_is_an_error_with_file_and_line() {
        for (from, to, error) in [
            (
                "files: 365",
                "files: many",
                "line 2: `files` is text, not an integer",
            ),
            ("files: 365\n", "", "line 2: `files` is missing"),
            ("'2026-11-14'", "'2026-02-30'", "line 2: `round` is no date"),
            ("06:00:09Z", "", "line 2: `updated` is no time"),
            (
                "unread:\n- big.warc.gz",
                "unread: big.warc.gz",
                "line 2: `unread` is no list of names",
            ),
            ("- big", "- [big", "line 11: "),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let message = parse_error(&TEXT.replace(from, to));
            assert!(message.starts_with(error), "{to}: {message}");
        }
        let twice = TEXT.to_owned() + TEXT.strip_prefix("---\n").unwrap();
        assert!(parse_error(&twice).starts_with("line 13: a second document"));

        let folder = tempfile::tempdir().unwrap();
        let file = PlaceChecks::file_in_ledger(&Root::new(folder.path(), "the ledger"));
        assert_eq!(PlaceChecks::read(&file).unwrap(), PlaceChecks::default());
        file.replace(TEXT.replace("365", "many").as_bytes())
            .unwrap();
        let error = format!("{:#}", PlaceChecks::read(&file).unwrap_err());
        assert!(
            error.contains("archive.yaml") && error.contains("line 2: `files`"),
            "{error}"
        );
    }

    fn any_date() -> impl Strategy<Value = Option<Date>> {
        let date = (1..13_i8, 1..29_i8).prop_map(|(month, day)| Date::constant(2026, month, day));
        prop::option::of(date)
    }

    fn any_names() -> impl Strategy<Value = BTreeSet<String>> {
        prop::collection::btree_set("[a-z0-9][ -~äß]{0,8}", 0..4)
    }

    prop_compose! {
        fn any_check()(
            files: u64,
            serial: Option<u64>,
            [round, round_before] in [any_date(), any_date()],
            [round_last, through] in [
                prop::option::of("[ -~]{1,9}"),
                prop::option::of("[ -~]{1,9}"),
            ],
            second in 0..4_i64,
            [missing, damaged, unread] in [any_names(), any_names(), any_names()],
        ) -> PlaceCheck {
            let updated = Timestamp::new(1_790_000_000 + second, 0).unwrap();
            PlaceCheck {
                files, serial, round, round_before, round_last, through, updated, missing, damaged, unread,
            }
        }
    }

    fn any_checks() -> impl Strategy<Value = PlaceChecks> {
        prop::collection::btree_map("file:///[a-c]", any_check(), 0..4).prop_map(PlaceChecks)
    }

    fn merged(base: &PlaceChecks, ours: &PlaceChecks, theirs: &PlaceChecks) -> PlaceChecks {
        let texts = [base, ours, theirs].map(PlaceChecks::to_text);
        let [base, ours, theirs] = texts.each_ref().map(|text| Some(text.as_bytes()));
        let versions = Versions { base, ours, theirs };
        let bytes = crate::ledger::merge(versions).unwrap().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let checks = PlaceChecks::parse(&text).unwrap();
        assert_eq!(checks.to_text(), text);
        checks
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(checks in any_checks()) {
            prop_assert_eq!(PlaceChecks::parse(&checks.to_text()).unwrap(), checks);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(---\n|[a-z-]{1,9}: |- |\\[|'|[0-9]|\n|[ -~]){0,60}") {
            if let Ok(checks) = PlaceChecks::parse(&text) {
                prop_assert_eq!(PlaceChecks::parse(&checks.to_text()).unwrap(), checks);
            }
        }

        #[test]
        fn a_merge_takes_the_later_update_of_each_place(
            base in any_checks(),
            ours in any_checks(),
            theirs in any_checks(),
        ) {
            let result = merged(&base, &ours, &theirs);
            prop_assert_eq!(&result, &merged(&base, &theirs, &ours));
            prop_assert_eq!(&merged(&base, &ours, &ours), &ours);
            prop_assert_eq!(&merged(&ours, &ours, &result), &result);
            for (place, check) in &result.0 {
                let versions = [&ours, &theirs].into_iter().filter_map(|side| side.0.get(place));
                let latest = versions.clone().map(|it| it.updated).max();
                let is_changed = |side: &PlaceChecks| side.0.get(place) != base.0.get(place);
                prop_assert!(versions.clone().any(|it| it == check));
                if is_changed(&ours) && is_changed(&theirs) {
                    prop_assert_eq!(Some(check.updated), latest);
                }
            }
            for place in ours.0.keys().filter(|place| theirs.0.contains_key(*place)) {
                prop_assert!(result.0.contains_key(place));
            }
        }
    }
}
