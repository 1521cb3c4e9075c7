//! Searching, ordering and grouping of `urldb list`, as the SSD3 URI-Catalogue specification has it:
//! what it lets implementations do, and no more. It forbids ordering and grouping by URI (3.1) and by
//! DESCRIPTION (3.5), and advises against searching by URI (3.1).

use std::str::FromStr;

use clap::ValueEnum;
use jiff::civil::DateTime;
use urldb_format::{Record, Value};
use urldb_interchange::ssd3::{number, parse_date};

/// The search in a catalogue: conditions, order and groups.
#[derive(Debug, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "Searching")]
pub(crate) struct SearchArgs {
    /// Only records with all these words in name, description or category
    #[arg(long, value_name = "WORDS")]
    search: Option<String>,
    /// Only records of this language or its varieties: `en` includes `en-gb`
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,
    /// Only records of this media type; `text/*` is any text type
    #[arg(long = "type", value_name = "TYPE")]
    media_type: Option<String>,
    /// Only records with this rating: `3`, `3..`, `..2` or `2..4`
    #[arg(long, value_name = "RATING")]
    rating: Option<RatingRange>,
    /// Sort by this key, the best rating first; records without it come last
    #[arg(long, value_name = "KEY")]
    sort: Option<SortField>,
    /// Group under headings by this key
    #[arg(long, value_name = "KEY")]
    group: Option<GroupField>,
}

/// The least and the greatest rating.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RatingRange {
    least: u8,
    most: u8,
}

impl FromStr for RatingRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (least, most) = text.split_once("..").unwrap_or((text, text));
        let parse = |text: &str, default| match text {
            "" => Some(default),
            text => text.parse().ok().filter(|rating| (1..=5).contains(rating)),
        };
        match (parse(least, 1), parse(most, 5)) {
            (Some(least), Some(most)) if !text.is_empty() && least <= most => {
                Ok(Self { least, most })
            }
            _ => Err(
                "a RATING is an integer from 1 to 5 (SSD3 3.6): write 3, 3.., ..2 or 2..4"
                    .to_owned(),
            ),
        }
    }
}

/// A field to order records by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SortField {
    Name,
    Date,
    Rating,
    Id,
}

/// A field to group records by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GroupField {
    Category,
    Language,
    Type,
    Rating,
    Name,
    Date,
}

/// The position of a record in the order: by group, by the field, then by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    group: (bool, String),
    is_missing: bool,
    key: SortKey,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum SortKey {
    Text(String),
    Date(Option<DateTime>),
    /// The distance from the best rating.
    Rating(u8),
    Id(usize, String),
}

impl Rank {
    /// The heading that the record goes under.
    pub(crate) fn heading(&self) -> Option<&str> {
        let (is_missing, heading) = &self.group;
        (!is_missing).then_some(heading)
    }
}

impl SearchArgs {
    /// Whether an option was given. Then the order is that of a catalogue, never that of
    /// the database, which is by path.
    pub(crate) fn is_asked_for(&self) -> bool {
        *self != Self::default()
    }

    /// Whether records are listed under headings.
    pub(crate) fn is_grouped(&self) -> bool {
        self.group.is_some()
    }

    /// Whether a record meets the conditions.
    pub(crate) fn wants(&self, record: &Record) -> bool {
        let by_words = self.search.as_deref().is_none_or(|words| {
            let text = searched(record);
            words
                .split_whitespace()
                .all(|word| text.contains(&word.to_lowercase()))
        });
        let by_language = self.language.as_deref().is_none_or(|wanted| {
            catalogued(record, "language").is_some_and(|language| is_variety(language, wanted))
        });
        let by_type = self.media_type.as_deref().is_none_or(|wanted| {
            media_type(record).is_some_and(|found| is_of_type(&found, wanted))
        });
        let by_rating = self.rating.is_none_or(|wanted| {
            rating(record).is_some_and(|rating| (wanted.least..=wanted.most).contains(&rating))
        });
        by_words && by_language && by_type && by_rating
    }

    /// The position of the record in the order.
    pub(crate) fn rank(&self, record: &Record) -> Rank {
        let name = record.name.clone().unwrap_or_default();
        let date = || catalogued(record, "date").and_then(parse_date);
        let (is_missing, key) = match self.sort.unwrap_or(SortField::Name) {
            SortField::Name => (record.name.is_none(), SortKey::Text(name.to_lowercase())),
            SortField::Date => (date().is_none(), SortKey::Date(date())),
            SortField::Rating => (
                rating(record).is_none(),
                SortKey::Rating(5 - rating(record).unwrap_or_default()),
            ),
            SortField::Id => {
                let id = catalogued(record, "id")
                    .and_then(number)
                    .unwrap_or_default();
                (id.is_empty(), SortKey::Id(id.len(), id.to_owned()))
            }
        };
        let heading = self.group.and_then(|group| heading(record, group));
        Rank {
            group: (heading.is_none(), heading.unwrap_or_default()),
            is_missing,
            key,
            name,
        }
    }
}

fn heading(record: &Record, group: GroupField) -> Option<String> {
    match group {
        GroupField::Category => category(record),
        GroupField::Language => catalogued(record, "language").map(str::to_lowercase),
        GroupField::Type => media_type(record),
        GroupField::Rating => rating(record).map(|rating| rating.to_string()),
        GroupField::Name => record.name.clone(),
        GroupField::Date => Some(
            catalogued(record, "date")
                .and_then(parse_date)?
                .date()
                .to_string(),
        ),
    }
}

/// Text of the record's place in a catalogue.
fn catalogued<'a>(record: &'a Record, key: &str) -> Option<&'a str> {
    record.catalogue.as_ref()?.get(key).and_then(Value::as_text)
}

/// The category of the catalogue, or the categories of the record.
fn category(record: &Record) -> Option<String> {
    let own = || (!record.categories.is_empty()).then(|| record.categories.join(", "));
    catalogued(record, "category")
        .map(str::to_owned)
        .or_else(own)
}

/// The type of the catalogue, or the one that is promised, without parameters.
fn media_type(record: &Record) -> Option<String> {
    let essence = catalogued(record, "type")
        .or(record.content_type.as_deref())?
        .split(';')
        .next()?
        .trim()
        .to_ascii_lowercase();
    essence.contains('/').then_some(essence)
}

fn rating(record: &Record) -> Option<u8> {
    let rating = catalogued(record, "rating")?.parse().ok()?;
    (1..=5).contains(&rating).then_some(rating)
}

fn searched(record: &Record) -> String {
    let category = category(record);
    let parts: Vec<&str> = [&record.name, &record.description, &category]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    parts.join("\n").to_lowercase()
}

/// RFC 3066, 2.5: the range is the tag, or the tag goes on with a hyphen.
fn is_variety(language: &str, range: &str) -> bool {
    let (language, range) = (language.to_ascii_lowercase(), range.to_ascii_lowercase());
    language
        .strip_prefix(&range)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn is_of_type(found: &str, wanted: &str) -> bool {
    let wanted = wanted.to_ascii_lowercase();
    match wanted.strip_suffix("/*") {
        Some(kind) => found.split('/').next() == Some(kind),
        None => found == wanted,
    }
}
