//! Points in time as people name captures by: a date, with or without a time, in UTC.

use std::fmt;
use std::str::FromStr;

/// A year, or a month, a day or a time in one: the end of it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment(String);

/// The text names no point in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a date in UTC, such as 2026-11-20, 2026-11-20T06:00:00Z or 20261120060000"
)]
pub struct InvalidMoment {
    text: String,
}

impl Moment {
    /// Whether a capture with this timestamp (`YYYYMMDDhhmmss`) was made by then.
    pub fn has_come(&self, timestamp: &str) -> bool {
        let common = timestamp.len().min(self.0.len());
        timestamp.get(..common) <= self.0.get(..common)
    }
}

impl FromStr for Moment {
    type Err = InvalidMoment;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let separators = ['-', ':', 'T', 'Z', ' '];
        let digits: String = text.chars().filter(|c| !separators.contains(c)).collect();
        let number = |from: usize| {
            digits
                .get(from..from + 2)
                .and_then(|part| part.parse().ok())
        };
        let within = |from, least: u8, most| {
            number(from).is_none_or(|number: u8| (least..=most).contains(&number))
        };
        let is_good = digits.bytes().all(|byte| byte.is_ascii_digit())
            && matches!(digits.len(), 4 | 6 | 8 | 10 | 12 | 14)
            && within(4, 1, 12)
            && within(6, 1, 31)
            && within(8, 0, 23)
            && within(10, 0, 59)
            && within(12, 0, 60);
        if is_good {
            Ok(Self(digits))
        } else {
            Err(InvalidMoment {
                text: text.to_owned(),
            })
        }
    }
}

impl fmt::Display for Moment {
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
    fn the_end_of_what_is_named_counts() {
        let has_come =
            |moment: &str, timestamp| moment.parse::<Moment>().unwrap().has_come(timestamp);
        assert!(has_come("2026", "20261231235959"));
        assert!(!has_come("2026", "20270101000000"));
        assert!(has_come("2026-11-20", "20261120235959"));
        assert!(!has_come("2026-11-20", "20261121000000"));
        assert!(has_come("2026-11-20T06:00", "20261120060059"));
        assert!(has_come("2026-11-20T06:00:00Z", "20261120060000"));
        assert!(!has_come("20261120060000", "20261120060001"));
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "x",
            "202",
            "2026-1",
            "2026-13",
            "2026-11-32",
            "2026-11-20T24",
            "20-11-2026",
            "2026-11-20T06:00:00+02:00",
            "2026/11/20",
            "202611200600000",
            "२०२६",
        ] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }

    #[test]
    fn timestamps_are_shown_as_dates() {
        assert_eq!(shown("20261120060102"), "2026-11-20T06:01:02Z");
        assert_eq!(shown("20261120"), "2026-11-20");
        assert_eq!(shown("2026"), "2026");
    }
}
