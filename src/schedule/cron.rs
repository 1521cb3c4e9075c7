//! Cron expressions, as crontab(5) defines them.
//!
//! The `cron` crate finds dates, but differs from crontab(5): it wants seconds,
//! counts weekdays from 1, demands that day of month *and* day of week fit, and
//! loses or doubles firings when clocks change. [`Cron`] therefore reads the
//! fields itself and passes plain lists of numbers to the crate, for a wall
//! clock that never changes. The difference between that wall clock and real
//! time is computed here, with jiff. Wall-clock seconds are `i64`, counted from
//! 1970 as the wall clock shows it.

use std::fmt;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::field::{FIELD_KINDS, Field, FieldError, SUNDAY_AGAIN};

/// A cron expression in a time zone.
#[derive(Debug, Clone)]
pub struct Cron {
    expression: String,
    zone_name: String,
    zone: TimeZone,
    /// The earliest counts: two schedules when day of month or day of week suffices, one otherwise.
    either: Vec<cron::Schedule>,
    /// Whether the schedule fires by elapsed time (`*` hours) rather than at set hours of the day.
    elapsed: bool,
}

/// Why an expression is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// There are too few fields, or too many.
    #[error(
        "the cron expression {expression:?} has {count} field{}, where five are wanted \
         (minute, hour, day of month, month, day of week), or six with seconds in front",
        if *count == 1 { "" } else { "s" }
    )]
    Count {
        /// The expression.
        expression: String,
        /// The number of fields.
        count: usize,
    },
    /// One field cannot be read.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// An unknown word with `@`.
    #[error(
        "{0:?} is not a time; known are @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually"
    )]
    Word(String),
    /// A date that never comes, such as 31 February.
    #[error("the cron expression {0:?} never fires: no month that it names has such a day")]
    Never(String),
    /// No such time zone.
    #[error("unknown time zone {name:?}; {hint}")]
    Zone {
        /// The given name.
        name: String,
        /// The expression to write instead.
        hint: String,
    },
    /// The `cron` crate rejected the translated expression.
    #[error("the cron expression {expression:?} cannot be scheduled: {problem}")]
    Engine {
        /// The expression.
        expression: String,
        /// The crate's message.
        problem: String,
    },
}

impl Cron {
    /// Reads an expression of five fields as in crontab(5), of six with seconds in front, or
    /// one of the words `@hourly` to `@yearly`. `timezone` is an IANA name such as
    /// `Europe/Berlin` or `UTC`.
    pub fn parse(expression: &str, timezone: &str) -> Result<Self, CronError> {
        let zone = zone(timezone)?;
        let fields = fields(expression)?;
        let [.., hour, day, _, weekday] = &fields;
        let either = if day.star || weekday.star {
            vec![engine(expression, &fields)?]
        } else {
            vec![
                engine(expression, &without(&fields, WEEKDAY)?)?,
                engine(expression, &without(&fields, DAY)?)?,
            ]
        };
        let cron = Self {
            expression: expression.to_owned(),
            zone_name: timezone.to_owned(),
            zone,
            elapsed: hour.star,
            either,
        };
        // Weekdays of 29 February repeat every 28 years; 2000 to 2100 has them all.
        match cron.wall_after(YEAR_2000) {
            Some(_) => Ok(cron),
            None => Err(CronError::Never(expression.to_owned())),
        }
    }

    /// The first firing later than `now`; nothing after the year 2100.
    ///
    /// Where clocks are set forward, firings that the wall clock leaves out happen once, right
    /// after the change. Where they are set back, firings in the repeated time happen in its
    /// first pass only. Neither holds when the hours begin with `*`: those firings go by elapsed
    /// time, so they keep their distance whatever the wall clock does.
    pub fn next_after(&self, now: Timestamp) -> Option<Timestamp> {
        let mut offset = self.offset(now);
        let mut begin = now.as_second();
        let mut wall = self.latest_wall_time(now).max(begin + offset);
        let mut changes = self.zone.following(now);
        // One iteration for each period in which the offset stays the same.
        loop {
            let at = (self.wall_after(wall)? - offset).max(begin);
            let change = changes
                .next()
                .filter(|change| change.timestamp().as_second() <= at);
            let Some(change) = change else {
                return Timestamp::from_second(at).ok();
            };
            let old_offset = offset;
            begin = change.timestamp().as_second();
            offset = i64::from(change.offset().seconds());
            wall = begin + if self.elapsed { offset } else { old_offset } - 1;
        }
    }

    /// The latest wall-clock time that set hours have passed by `now`: later than the wall clock
    /// shows while it repeats an hour. `i64::MIN` where no hour repeats.
    fn latest_wall_time(&self, now: Timestamp) -> i64 {
        let change = now
            .checked_add(SignedDuration::from_nanos(1))
            .map(|now| self.zone.preceding(now).next());
        match change {
            Ok(Some(change)) if !self.elapsed => {
                let before = change.timestamp() - SignedDuration::from_secs(1);
                before.as_second() + self.offset(before)
            }
            _ => i64::MIN,
        }
    }

    fn offset(&self, at: Timestamp) -> i64 {
        i64::from(self.zone.to_offset(at).seconds())
    }

    /// The first firing later than `wall`, both in wall-clock seconds. Only here chrono is used, for
    /// the `cron` crate.
    fn wall_after(&self, wall: i64) -> Option<i64> {
        let after = chrono::DateTime::from_timestamp(wall.max(0), 0)?;
        self.either
            .iter()
            .filter_map(|schedule| schedule.after(&after).next())
            .map(|found| found.timestamp())
            .min()
    }
}

/// The expression and its time zone.
impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.expression, self.zone_name)
    }
}

/// 2000-01-01, less a second.
const YEAR_2000: i64 = 946_684_799;

/// Positions among the six fields.
const DAY: usize = 3;
const WEEKDAY: usize = 5;

fn fields(expression: &str) -> Result<[Field; 6], CronError> {
    let trimmed = expression.trim();
    let written = if trimmed.starts_with('@') {
        word(trimmed)?
    } else {
        trimmed
    };
    let mut texts: Vec<&str> = written.split_ascii_whitespace().collect();
    if texts.len() == 5 {
        texts.insert(0, "0");
    }
    let Ok(texts) = <[&str; 6]>::try_from(texts.as_slice()) else {
        return Err(CronError::Count {
            expression: expression.to_owned(),
            count: texts.len(),
        });
    };
    let [second, minute, hour, day, month, weekday] = &FIELD_KINDS;
    Ok([
        second.parse(texts[0])?,
        minute.parse(texts[1])?,
        hour.parse(texts[2])?,
        day.parse(texts[3])?,
        month.parse(texts[4])?,
        weekday.parse(texts[5])?,
    ])
}

/// The expression that crontab(5) gives for a word.
fn word(word: &str) -> Result<&'static str, CronError> {
    Ok(match word {
        "@hourly" => "0 * * * *",
        "@daily" | "@midnight" => "0 0 * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 1 *",
        other => return Err(CronError::Word(other.to_owned())),
    })
}

/// The fields, with one of them unrestricted.
fn without(fields: &[Field; 6], index: usize) -> Result<[Field; 6], CronError> {
    let mut fields = fields.clone();
    fields[index] = FIELD_KINDS[index].parse("*")?;
    Ok(fields)
}

/// The crate's schedule of times at which all fields fit.
fn engine(expression: &str, fields: &[Field; 6]) -> Result<cron::Schedule, CronError> {
    let mut text: Vec<String> = fields.iter().map(|field| list(&field.values)).collect();
    // Here Sunday is 0 and 7 and Friday is 5; in the crate Sunday is 1 and Friday is 6.
    let weekdays = &fields[WEEKDAY].values;
    text[WEEKDAY] = list(weekdays.iter().map(|day| day % SUNDAY_AGAIN + 1));
    text.join(" ")
        .parse()
        .map_err(|error: cron::error::Error| CronError::Engine {
            expression: expression.to_owned(),
            problem: error.to_string(),
        })
}

fn list<T: ToString>(numbers: impl IntoIterator<Item = T>) -> String {
    let numbers: Vec<String> = numbers.into_iter().map(|n| n.to_string()).collect();
    numbers.join(",")
}

fn zone(name: &str) -> Result<TimeZone, CronError> {
    jiff::tz::db().get(name).map_err(|_| CronError::Zone {
        name: name.to_owned(),
        hint: zone_hint(name),
    })
}

/// Suggests the name that was probably meant; the city alone suffices.
fn zone_hint(name: &str) -> String {
    let known: Vec<String> = jiff::tz::db()
        .available()
        .map(|known| known.as_str().to_owned())
        .collect();
    if known.is_empty() {
        return "this machine has no time zone database; install tzdata or use UTC".to_owned();
    }
    let cities = || known.iter().filter_map(|known| known.rsplit('/').next());
    let zone_of = |city: &str| {
        let mut known = known.iter();
        known.find(|known| known.rsplit('/').next() == Some(city))
    };
    let near = urldb_text::nearest(name, &known)
        .or_else(|| urldb_text::nearest(name, cities()).and_then(zone_of));
    match near {
        None => "give an IANA name such as Europe/Berlin or UTC".to_owned(),
        Some(near) => format!("did you mean {near}?"),
    }
}
