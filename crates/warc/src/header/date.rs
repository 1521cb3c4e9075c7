//! Dates of records (WARC/1.1 §5.4): RFC 3339 in UTC, with a fraction of up to nine digits. RFC 3339 §5.6
//! allows `t` and `z` in lower case.

use std::fmt;
use std::str::FromStr;

/// A date, stored as text: a revisit must repeat the date of its original character for character.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WarcDate(String);

/// The text is not a date.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a date in UTC, such as 2026-11-21T10:30:00Z")]
pub struct InvalidDate {
    /// The text.
    pub text: String,
}

impl WarcDate {
    /// The text of the date.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads a date, or the first moment of a year, month, day or minute. Only WARC/1.1 allows dates of
    /// reduced precision.
    pub(crate) fn first_moment_of(text: &str) -> Option<Self> {
        let stated = text.trim_end_matches(['Z', 'z']);
        let rest = "0000-01-01T00:00:00".get(stated.len()..);
        let padded = rest.map(|rest| format!("{stated}{rest}Z"));
        text.parse().ok().or_else(|| padded?.parse().ok())
    }

    /// The date without its fraction, which WARC/1.0 does not allow.
    #[must_use]
    pub fn to_seconds(&self) -> Self {
        let seconds = self.0.split(['.', 'Z', 'z']).next().unwrap_or_default();
        Self(format!("{seconds}Z"))
    }

    /// `YYYYMMDDhhmmss`, without a fraction: the timestamp of CDXJ lines and file names.
    pub fn to_timestamp14(&self) -> String {
        self.0
            .bytes()
            .filter(u8::is_ascii_digit)
            .take(14)
            .map(char::from)
            .collect()
    }
}

impl fmt::Display for WarcDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for WarcDate {
    type Err = InvalidDate;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if is_date(text.as_bytes()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidDate {
                text: text.to_owned(),
            })
        }
    }
}

/// Converts `YYYYMMDDhhmmss`, the dates of WARC 0.9 and ARC, to the form of later versions. `None` if
/// the text is not such a date.
pub(crate) fn timestamp_to_date(text: &str) -> Option<String> {
    let digits = text.len() == 14 && text.bytes().all(|b| b.is_ascii_digit());
    let part = |at: std::ops::Range<usize>| text.get(at).filter(|_| digits);
    let (year, month, day) = (part(0..4)?, part(4..6)?, part(6..8)?);
    let (hour, minute, second) = (part(8..10)?, part(10..12)?, part(12..14)?);
    let date = format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z");
    is_date(date.as_bytes()).then_some(date)
}

fn is_date(text: &[u8]) -> bool {
    let Some((date_time, rest)) = text.split_at_checked(19) else {
        return false;
    };
    let shape = date_time
        .iter()
        .zip(b"0000-00-00T00:00:00")
        .all(|(have, want)| match want {
            b'0' => have.is_ascii_digit(),
            _ => have.eq_ignore_ascii_case(want),
        });
    let fraction = match rest {
        b"Z" | b"z" => true,
        [b'.', digits @ .., b'Z' | b'z'] => {
            matches!(digits.len(), 1..=9) && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    };
    if !shape || !fraction {
        return false;
    }
    let number = |at: std::ops::Range<usize>| {
        date_time[at]
            .iter()
            .fold(0u32, |n, digit| n * 10 + u32::from(digit - b'0'))
    };
    let (year, month) = (number(0..4), number(5..7));
    (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&number(8..10))
        && number(11..13) < 24
        && number(14..16) < 60
        // 60 is a leap second.
        && number(17..19) <= 60
}

fn days_in(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_case_letters_are_those_of_rfc_3339() {
        for (text, timestamp) in [
            ("2020-01-01t00:00:00z", "20200101000000"),
            ("2020-01-01T01:02:03.5z", "20200101010203"),
        ] {
            let date: WarcDate = text.parse().unwrap();
            assert_eq!(date.to_timestamp14(), timestamp);
            assert!(date.to_seconds().as_str().parse::<WarcDate>().is_ok());
        }
        assert!("2020-01-01x00:00:00z".parse::<WarcDate>().is_err());
    }
}
