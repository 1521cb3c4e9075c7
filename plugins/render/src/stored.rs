//! The words about the copies of an archived file.

use urldb_protocol::{StoredCopies, UrlOverview};

use crate::numbers::{count, day, number};
use crate::text::one_line;

/// `lost since 2026-11-23`, or `not archived yet`, of a URL without a capture.
pub fn not_archived(url: &UrlOverview) -> String {
    match url.lost {
        Some(lost) => format!("lost since {}", day(lost)),
        None => "not archived yet".to_owned(),
    }
}

/// `in 2 of 2 places, read since 2026-08-06`, or `in 1 of 2 places: PLACE lacks it`.
pub fn stored_words(stored: &StoredCopies) -> String {
    let StoredCopies {
        copies,
        places,
        lacking,
        read_since,
    } = stored;
    let copies = format!("in {} of {}", number(*copies), count(*places, "place"));
    match (lacking, read_since) {
        (Some(place), _) => format!("{copies}: {} lacks it", one_line(place)),
        (None, Some(day)) => format!("{copies}, read since {}", one_line(day)),
        (None, None) => format!("{copies}, not read yet"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_the_place_that_lacks_a_file_or_the_oldest_reading() {
        let words = |copies, lacking: Option<&str>, read_since: Option<&str>| {
            let stored = StoredCopies {
                copies,
                places: 2,
                lacking: lacking.map(str::to_owned),
                read_since: read_since.map(str::to_owned),
            };
            stored_words(&stored).replace('\u{a0}', " ")
        };
        let since = Some("2026-08-06");
        assert_eq!(
            words(2, None, since),
            "in 2 of 2 places, read since 2026-08-06"
        );
        assert_eq!(words(2, None, None), "in 2 of 2 places, not read yet");
        assert_eq!(
            words(1, Some("s3://b/x"), None),
            "in 1 of 2 places: s3://b/x lacks it"
        );
    }
}
