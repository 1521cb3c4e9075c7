//! One field of a cron expression: its text, and the numbers that it means.
//!
//! The syntax is that of crontab(5): a list of `*`, `*/step`, `n`, `n-m` and
//! `n-m/step`, where months and weekdays may go by their English names of
//! three letters.

use std::collections::BTreeSet;

/// One kind of field: its name, its numbers and their names.
#[derive(Debug)]
pub(super) struct FieldKind {
    pub(super) name: &'static str,
    min: u32,
    /// The largest number.
    max: u32,
    /// Names of the numbers from `min` on.
    names: &'static [&'static str],
}

/// The six kinds of fields, in the order of an expression.
pub(super) static FIELD_KINDS: [FieldKind; 6] = [
    FieldKind::numbers("second", 0, 59),
    FieldKind::numbers("minute", 0, 59),
    FieldKind::numbers("hour", 0, 23),
    FieldKind::numbers("day of month", 1, 31),
    FieldKind {
        name: "month",
        min: 1,
        max: 12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    FieldKind {
        name: "day of week",
        min: 0,
        max: SUNDAY_AGAIN,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

/// The second number of Sunday: crontab(5) lets a week begin and end with it.
pub(super) const SUNDAY_AGAIN: u32 = 7;

/// A field that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {text:?}: {problem}; allowed are {allowed}, lists, ranges and steps")]
pub struct FieldError {
    /// The name of the field.
    pub field: &'static str,
    /// The text of the field.
    pub text: String,
    /// The mistake in the text.
    pub problem: String,
    /// The numbers and names that the field allows.
    pub allowed: String,
}

#[derive(Debug, Clone)]
pub(super) struct Field {
    /// Whether the text begins with `*`, which crontab(5) calls unrestricted.
    pub(super) star: bool,
    /// The numbers as written: a Sunday may be 0 or 7.
    pub(super) values: BTreeSet<u32>,
}

impl FieldKind {
    const fn numbers(name: &'static str, min: u32, max: u32) -> Self {
        Self {
            name,
            min,
            max,
            names: &[],
        }
    }

    /// Reads a field of this kind.
    pub(super) fn parse(&self, text: &str) -> Result<Field, FieldError> {
        let mut values = BTreeSet::new();
        for item in text.split(',') {
            let (first, last, step) = self.item(item).map_err(|problem| FieldError {
                field: self.name,
                text: text.to_owned(),
                problem,
                allowed: self.allowed(),
            })?;
            values.extend((first..=last).step_by(step));
        }
        Ok(Field {
            star: text.starts_with('*'),
            values,
        })
    }

    /// One item of the list, as first, last and step.
    fn item(&self, item: &str) -> Result<(u32, u32, usize), String> {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (item, None),
        };
        let (first, last) = if range == "*" {
            (self.min, self.max)
        } else if let Some((first, last)) = range.split_once('-') {
            let first = self.number(first)?;
            (first, self.end(first, last)?)
        } else {
            let only = self.number(range)?;
            if step.is_some() {
                let max = self.max;
                return Err(format!(
                    "a step needs a range to go through, such as {only}-{max}/{}",
                    step.unwrap_or_default()
                ));
            }
            (only, only)
        };
        if first > last {
            return Err(format!("the range {range:?} runs backwards"));
        }
        let step = match step {
            Some(step) => self::step(step)?,
            None => 1,
        };
        Ok((first, last, step))
    }

    /// The end of a range; `fri-sun` ends with the Sunday after.
    fn end(&self, first: u32, text: &str) -> Result<u32, String> {
        let last = self.number(text)?;
        let by_name = text.starts_with(|c: char| c.is_ascii_alphabetic());
        if by_name && last == 0 && first > 0 {
            return Ok(SUNDAY_AGAIN);
        }
        Ok(last)
    }

    fn number(&self, text: &str) -> Result<u32, String> {
        if let Some(index) = self.names.iter().position(|n| n.eq_ignore_ascii_case(text)) {
            return Ok(self.min + u32::try_from(index).unwrap_or_default());
        }
        match digits(text) {
            Some(number) if (self.min..=self.max).contains(&number) => Ok(number),
            Some(number) => Err(format!("{number} is out of range")),
            None if text.is_empty() => Err("a number is missing".to_owned()),
            None => Err(format!("{text:?} is not understood")),
        }
    }

    fn allowed(&self) -> String {
        let Self { min, max, .. } = self;
        match self.names {
            [first, .., last] => format!("{min}-{max} or {first}-{last}"),
            _ => format!("{min}-{max}"),
        }
    }
}

fn step(text: &str) -> Result<usize, String> {
    digits(text)
        .and_then(|step| usize::try_from(step).ok())
        .filter(|&step| step > 0)
        .ok_or_else(|| format!("the step {text:?} is not a number from 1 on"))
}

/// Reads a number without a sign. A number too large for `u32` becomes the largest, which no field allows.
fn digits(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u32::MAX))
}
