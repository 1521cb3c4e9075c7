//! The answer of a server.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use urldb_text::sanitize;

use crate::budget::Ended;

/// Most characters of a server's text in a message.
const LONGEST_EXCERPT: usize = 200;

/// An answer, whose body may be cut where the budget of the conversation ended.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    pub(crate) body: Vec<u8>,
    /// Why the body is cut.
    pub(crate) end: Option<Ended>,
    pub(crate) headers: Vec<(String, String)>,
}

impl Answer {
    /// Whether the status says that the server did what was asked (2xx).
    pub const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }

    /// Whether the same request may work later: 408, 425, 429, 5xx.
    pub const fn is_temporary(&self) -> bool {
        matches!(self.status, 408 | 425 | 429 | 500..=599)
    }

    /// The whole body.
    ///
    /// # Errors
    /// When the conversation ended within the body.
    pub fn body(&self) -> Result<&[u8], Ended> {
        self.end.map_or(Ok(&self.body), Err)
    }

    /// The first value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(known, _)| known == name)?;
        Some(value)
    }

    /// The wait that `Retry-After` asks for (RFC 9110, section 10.2.3). A date counts from the `Date`
    /// of the answer, so the result does not depend on a clock.
    pub fn retry_after(&self) -> Option<Duration> {
        let text = self.header("retry-after")?.trim();
        if let Ok(seconds) = text.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let until = rfc2822::parse(text).ok()?.timestamp();
        self.time_until(until)
    }

    /// The time from the `Date` of the answer to `until`; zero if that is over.
    pub fn time_until(&self, until: Timestamp) -> Option<Duration> {
        let now = rfc2822::parse(self.header("date")?).ok()?.timestamp();
        Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
    }

    /// The begin of the body as one harmless line, for a message. Empty if the body is empty.
    pub fn excerpt(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let words: Vec<_> = text.split_whitespace().collect();
        let line = words.join(" ");
        sanitize(&line).chars().take(LONGEST_EXCERPT).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(headers: &[(&str, &str)], body: &str) -> Answer {
        Answer {
            status: 429,
            body: body.into(),
            end: None,
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let date = ("date", "Sun, 22 Nov 2026 04:00:00 GMT");
        let wait = |value| answer(&[date, ("retry-after", value)], "").retry_after();
        assert_eq!(wait("120"), Some(Duration::from_mins(2)));
        let in_a_minute = "Sun, 22 Nov 2026 04:01:00 GMT";
        assert_eq!(wait(in_a_minute), Some(Duration::from_mins(1)));
        assert_eq!(wait("Sun, 22 Nov 2026 03:01:00 GMT"), Some(Duration::ZERO));
        assert_eq!(wait("soon"), None);
        assert_eq!(wait("-1"), None);
        let without_date = answer(&[("retry-after", in_a_minute)], "");
        assert_eq!(without_date.retry_after(), None);
    }

    #[test]
    fn an_excerpt_is_one_short_harmless_line() {
        let body = format!(" <h1>\u{1b}[2J\n no\tthanks {}", "x".repeat(1_000_000));
        let excerpt = answer(&[], &body).excerpt();
        assert!(
            excerpt.starts_with("<h1>\u{fffd}[2J no thanks x"),
            "{excerpt}"
        );
        assert_eq!(excerpt.chars().count(), LONGEST_EXCERPT);
    }
}
