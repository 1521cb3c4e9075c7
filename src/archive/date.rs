//! Dates that select captures: a year or more precise, in UTC.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;

/// A year, a month, a day or a time; its end counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialDate(String);

/// The text is not a date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a date in UTC, such as 2026-11, 2026-11-20, 2026-11-20T06:00:00Z or 20261120060000"
)]
pub struct InvalidDate {
    text: String,
}

impl PartialDate {
    /// Whether a timestamp (`YYYYMMDDhhmmss`) is not later than the end of this date.
    pub fn ends_after(&self, timestamp: &str) -> bool {
        let common = timestamp.len().min(self.0.len());
        timestamp.get(..common) <= self.0.get(..common)
    }
}

impl FromStr for PartialDate {
    type Err = InvalidDate;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        digits(text)
            .filter(|digits| is_on_the_calendar(digits))
            .map(Self)
            .ok_or_else(|| InvalidDate {
                text: text.to_owned(),
            })
    }
}

/// The digits of a date with an optional time, written with or without separators. Drops fractions of
/// a second, as an index does.
fn digits(text: &str) -> Option<String> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (year, mut rest) = text.split_at_checked(4)?;
    let mut digits = year.to_owned();
    for separators in [&['-'][..], &['-'], &['T', 't', ' '], &[':'], &[':']] {
        if rest.is_empty() {
            break;
        }
        let (part, after) = rest
            .strip_prefix(separators)
            .unwrap_or(rest)
            .split_at_checked(2)?;
        digits.push_str(part);
        rest = after;
    }
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = rest.strip_prefix('.').filter(|part| !part.is_empty());
    let is_good = is_number(&digits) && (rest.is_empty() || fraction.is_some_and(is_number));
    is_good.then_some(digits)
}

fn is_on_the_calendar(digits: &str) -> bool {
    let number = |from| digits.get(from..from + 2)?.parse::<i8>().ok();
    let within = |from, most| number(from).is_none_or(|number| number <= most);
    let year = digits.get(..4).and_then(|year| year.parse().ok());
    let day = |year| Date::new(year, number(4).unwrap_or(1), number(6).unwrap_or(1));
    // A leap second is the 60th.
    year.is_some_and(|year| day(year).is_ok()) && within(8, 23) && within(10, 59) && within(12, 60)
}

impl fmt::Display for PartialDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.0))
    }
}

/// A timestamp, or the beginning of one, for people: `2026-11-20T06:00:00Z`.
pub fn shown(timestamp: &str) -> String {
    let mut text = String::with_capacity(20);
    for (at, digit) in timestamp.char_indices() {
        match at {
            4 | 6 => text.push('-'),
            8 => text.push('T'),
            10 | 12 => text.push(':'),
            _ => {}
        }
        text.push(digit);
    }
    if timestamp.len() > 8 {
        text.push('Z');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_date_counts() {
        let ends_after =
            |date: &str, timestamp| date.parse::<PartialDate>().unwrap().ends_after(timestamp);
        assert!(ends_after("2026", "20261231235959"));
        assert!(!ends_after("2026", "20270101000000"));
        assert!(ends_after("2026-11-20", "20261120235959"));
        assert!(!ends_after("2026-11-20", "20261121000000"));
        assert!(ends_after("2026-11-20T06:00", "20261120060059"));
        assert!(ends_after("2026-11-20T06:00:00Z", "20261120060000"));
        assert!(!ends_after("20261120060000", "20261120060001"));
        assert!(ends_after("2026-11-20 06:00:00.5", "20261120060000"));
        assert!(!ends_after("2026-11-20T06:00:00.5Z", "20261120060001"));
        assert!(ends_after("2026-11-20t06:00:00z", "20261120060000"));
        assert!(!ends_after("2026-11-20t06:00:00z", "20261120060001"));
        assert!(ends_after("2028-02-29", "20280229000000"));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "x",
            "202",
            "2026-1",
            "2026-1-1",
            "2026-13",
            "2026-00",
            "2026-02-29",
            "2026--11",
            "20-2611",
            "2026-11-20T06:00:00.",
            "2026-11-20T06.5",
            "2026-11-20T06:00:00.5.5",
            "2026-",
            "Z",
            "+026",
            "2026-11-20T-1",
            "2026-11-32",
            "2026-11-20T24",
            "20-11-2026",
            "2026-11-20T06:00:00+02:00",
            "2026/11/20",
            "202611200600000",
            "२०२६",
        ] {
            assert!(text.parse::<PartialDate>().is_err(), "{text}");
        }
    }

    #[test]
    fn timestamps_are_shown_as_dates() {
        assert_eq!(shown("20261120060102"), "2026-11-20T06:01:02Z");
        assert_eq!(shown("20261120"), "2026-11-20");
        assert_eq!(shown("2026"), "2026");
    }
}
