//! Searching, ordering and grouping of `urldb list`, as the SSD3 URI-Catalogue specification has it:
//! what it lets implementations do, and no more. It forbids ordering and grouping by URI (3.1) and by
//! DESCRIPTION (3.5), and advises against searching by URI (3.1).

use std::str::FromStr;

use jiff::civil::DateTime;
use urldb_format::{Record, Value};
use urldb_interchange::ssd3::{number, parse_date};

/// The search in a catalogue: conditions, order and groups.
#[derive(Debug, clap::Args)]
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
    /// Sort by `name`, `date`, `rating` (best first) or `id`; records without it come last
    #[arg(long, value_name = "KEY")]
    sort: Option<SortField>,
    /// Group under headings by `category`, `language`, `type`, `rating`, `name` or `date`
    #[arg(long, value_name = "KEY")]
    group: Option<GroupField>,
}

/// The least and the greatest rating.
#[derive(Debug, Clone, Copy)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SortField {
    Name,
    Date,
    Rating,
    Id,
}

impl FromStr for SortField {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "name" => Self::Name,
            "date" => Self::Date,
            "rating" => Self::Rating,
            "id" => Self::Id,
            other => return Err(refusal(other, "ordered", "name, date, rating or id")),
        })
    }
}

/// A field to group records by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupField {
    Category,
    Language,
    Type,
    Rating,
    Name,
    Date,
}

impl FromStr for GroupField {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "category" => Self::Category,
            "language" => Self::Language,
            "type" => Self::Type,
            "rating" => Self::Rating,
            "name" => Self::Name,
            "date" => Self::Date,
            other => {
                let allowed = "category, language, type, rating, name or date";
                return Err(refusal(other, "grouped", allowed));
            }
        })
    }
}

/// The reason why records cannot be ordered or grouped by a field.
fn refusal(key: &str, how: &str, allowed: &str) -> String {
    match key {
        "uri" | "url" => format!("records must not be {how} by URI (SSD3 3.1); use {allowed}"),
        "description" => {
            format!("records must not be {how} by DESCRIPTION (SSD3 3.5); use {allowed}")
        }
        "category" | "language" | "type" => {
            format!(
                "records may be grouped or searched by {key}, but not {how} (SSD3 3.4, 3.7, 3.8); use {allowed}"
            )
        }
        _ => format!("use {allowed}"),
    }
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
        self.search.is_some()
            || self.language.is_some()
            || self.media_type.is_some()
            || self.rating.is_some()
            || self.sort.is_some()
            || self.group.is_some()
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
    let text = catalogued(record, "type").or(record.content_type.as_deref())?;
    let essence = text.split(';').next()?.trim().to_ascii_lowercase();
    essence.contains('/').then_some(essence)
}

fn rating(record: &Record) -> Option<u8> {
    let rating = catalogued(record, "rating")?.parse().ok()?;
    (1..=5).contains(&rating).then_some(rating)
}

fn searched(record: &Record) -> String {
    let category = category(record);
    let parts = [&record.name, &record.description, &category];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
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
