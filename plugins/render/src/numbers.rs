//! Numbers, sizes, times and digests for people. Every output uses these functions.
//!
//! A number and its unit are joined by [`NO_BREAK`], so that no line ends between them. The renderers
//! print it as a space where they wrap lines themselves.

use jiff::Timestamp;
use urldb_protocol::Counts;

/// Joins words that stay on one line.
pub const NO_BREAK: char = '\u{a0}';

/// `16234` → `16,234`
pub fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `3 broken (1 new), 1 flapping, 1,228 ok`: numbers that add up to all URLs, without zeros.
pub fn shares(counts: &Counts) -> String {
    let terms = [
        (counts.broken, "broken"),
        (counts.flapping, "flapping"),
        (counts.unconfirmed, "unconfirmed"),
        (counts.unknown, "not checked"),
        (counts.muted, "muted"),
    ];
    let terms = terms.iter().filter(|(urls, _)| *urls > 0);
    let terms = terms.map(|(urls, word)| format!("{} {word}, ", number(*urls)));
    let shares = terms.collect::<String>() + &number(counts.ok) + " ok";
    match counts.new {
        0 => shares,
        new => shares.replacen(" broken", &format!(" broken ({} new)", number(new)), 1),
    }
}

/// The headline of a state or of a run: `URLs: 3 broken (1 new), 1 flapping, 2 unconfirmed, 12 not checked, 1 muted,
/// 1,228 ok; recovered: 1; warnings: 2; mistakes: 1`.
pub fn headline(counts: &Counts) -> String {
    headline_of("", counts)
}

/// [`headline`] of URLs with a `possessor`, such as ` of gaia`.
pub(crate) fn headline_of(possessor: &str, counts: &Counts) -> String {
    let others = [
        ("recovered", counts.recovered),
        ("warnings", counts.warnings),
        ("mistakes", counts.mistakes),
    ];
    let others = others.iter().filter(|(_, count)| *count > 0);
    let others = others.map(|(label, count)| format!("; {label}: {}", number(*count)));
    let others: String = others.collect();
    format!("URLs{possessor}: {}{others}", shares(counts))
}

/// `1 URL`, `2 URLs`: the plural has an `s`.
pub fn count(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{}{NO_BREAK}{noun}{ending}", number(count))
}

/// [`count`] with a plain space in place of [`NO_BREAK`].
pub fn counted(number: u64, noun: &str) -> String {
    with_spaces(&count(number, noun))
}

/// `3 of 1,247 URLs`; the noun stays in the singular for `1 of 1 URL` only.
pub fn share(part: u64, whole: u64, noun: &str) -> String {
    format!(
        "{}{NO_BREAK}of{NO_BREAK}{}",
        number(part),
        count(whole, noun)
    )
}

/// [`share`] with a `possessor` after the noun, such as ` of example.org`: `3 of the 40 URLs of example.org`, and
/// `the URL of example.org` for the only one. An empty possessor changes nothing.
pub fn share_of(part: u64, whole: u64, noun: &str, possessor: &str) -> String {
    match (part, whole) {
        _ if possessor.is_empty() => share(part, whole, noun),
        (1, 1) => format!("the {noun}{possessor}"),
        _ => format!(
            "{}{NO_BREAK}of the{NO_BREAK}{}{possessor}",
            number(part),
            count(whole, noun)
        ),
    }
}

/// A part of the whole as the subject of a sentence, with the verb in its number: `no URL is`, `1 of 1 URL
/// is`, `3 of 1,247 URLs are`, `all 6 URLs are`. `possessor` is that of [`share_of`].
pub fn share_with(
    part: u64,
    whole: u64,
    noun: &str,
    possessor: &str,
    [singular, plural]: [&str; 2],
) -> String {
    match part {
        0 => format!("no {noun}{possessor} {singular}"),
        _ if part == whole && whole > 1 => {
            format!("all {}{possessor} {plural}", count(whole, noun))
        }
        1 => format!("{} {singular}", share_of(1, whole, noun, possessor)),
        _ => format!("{} {plural}", share_of(part, whole, noun, possessor)),
    }
}

/// `3 of 1,247`.
pub fn ratio(part: u64, whole: u64) -> String {
    format!("{}{NO_BREAK}of{NO_BREAK}{}", number(part), number(whole))
}

/// An exact number of bytes: `48,120 bytes`.
pub fn bytes(bytes: u64) -> String {
    count(bytes, "byte")
}

/// About so many bytes, in powers of a thousand, with three digits: `2.31 GB`, `214 MB`, `96.4 kB`,
/// `512 B`. Rounded down: the text never claims more than was read.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1_000 {
        return format!("{bytes}{NO_BREAK}B");
    }
    // In hundredths of the unit.
    let mut hundredths = bytes / 10;
    let mut unit = 0;
    while hundredths >= 100_000 && unit + 1 < UNITS.len() {
        hundredths /= 1_000;
        unit += 1;
    }
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    let digits = match whole {
        0..10 => format!("{whole}.{rest:02}"),
        10..100 => format!("{whole}.{}", rest / 10),
        _ => whole.to_string(),
    };
    format!("{digits}{NO_BREAK}{}", UNITS[unit])
}

/// A span of milliseconds, as the two largest units: `48 s`, `3 min 12 s`, `2 h 5 min`, `0.4 s`.
pub fn elapsed(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    let text = match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) => format!("0.{} s", milliseconds / 100),
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{} h {m} min", number(h)),
    };
    text.replace(' ', "\u{a0}")
}

/// A duration in one unit: `40 min`, `3 h`, `1 day`, `6 days`. Runs of a daily schedule do not
/// begin at the same second, so days are rounded.
pub fn age(from: Timestamp, to: Timestamp) -> String {
    let minutes = to.as_second().saturating_sub(from.as_second()).max(0) / 60;
    let minutes = u64::try_from(minutes).unwrap_or_default();
    match minutes {
        0..60 => format!("{minutes}{NO_BREAK}min"),
        60..1_410 => format!("{}{NO_BREAK}h", (minutes + 30) / 60),
        _ => count((minutes + 720) / 1_440, "day"),
    }
}

/// So many hours, in days where that is exact: `14 days`, `36 hours`.
pub fn hours(hours: u64) -> String {
    if hours > 0 && hours.is_multiple_of(24) {
        count(hours / 24, "day")
    } else {
        count(hours, "hour")
    }
}

/// [`age`] with whole words, for running text: `3 hours`.
pub fn age_in_words(from: Timestamp, to: Timestamp) -> String {
    let age = age(from, to);
    match age.split_once(NO_BREAK) {
        Some((number, "min")) => count(number.parse().unwrap_or_default(), "minute"),
        Some((number, "h")) => count(number.parse().unwrap_or_default(), "hour"),
        _ => age,
    }
}

/// `2026-11-18 04:17 UTC`
pub fn moment(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d\u{a0}%H:%M\u{a0}UTC").to_string()
}

/// `2026-11-18`
pub fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

/// The first 12 digits of a digest.
pub fn digest(hex: &str) -> String {
    hex.chars().take(12).collect()
}

/// The text with plain spaces in place of [`NO_BREAK`].
pub fn with_spaces(text: &str) -> String {
    text.replace(NO_BREAK, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.replace(NO_BREAK, " ")
    }

    #[test]
    fn a_headline_names_what_is_not_zero() {
        let all = Counts {
            broken: 3,
            flapping: 1,
            unconfirmed: 2,
            unknown: 12,
            muted: 1,
            warnings: 2,
            mistakes: 1,
            new: 1,
            recovered: 1,
            ..Counts::default()
        };
        let text = "URLs of a: 3 broken (1 new), 1 flapping, 2 unconfirmed, 12 not checked, 1 muted, 1,228 ok; \
                    recovered: 1; warnings: 2; mistakes: 1";
        assert_eq!(headline_of(" of a", &all.of_all(1_247)), text);
        assert_eq!(headline(&Counts::default()), "URLs: 0 ok");
        assert_eq!((all.of_all(3).urls, all.of_all(3).ok), (19, 0));
    }

    #[test]
    fn numbers_have_commas_and_units() {
        assert_eq!(number(0), "0");
        assert_eq!(number(999), "999");
        assert_eq!(number(1_234_567), "1,234,567");
        assert_eq!(plain(&share(3, 1_247, "URL")), "3 of 1,247 URLs");
        assert_eq!(plain(&share(1, 1, "URL")), "1 of 1 URL");
        for (part, whole, text) in [
            (0, 0, "no URL of a.org is"),
            (0, 1, "no URL of a.org is"),
            (1, 1, "the URL of a.org is"),
            (1, 6, "1 of the 6 URLs of a.org is"),
            (3, 1_247, "3 of the 1,247 URLs of a.org are"),
            (6, 6, "all 6 URLs of a.org are"),
        ] {
            let sentence = share_with(part, whole, "URL", " of a.org", ["is", "are"]);
            assert_eq!(plain(&sentence), text);
        }
        let sentence = |part| plain(&share_with(part, 1, "URL", "", ["is", "are"]));
        assert_eq!([sentence(0), sentence(1)], ["no URL is", "1 of 1 URL is"]);
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.00 kB"),
            (96_499, "96.4 kB"),
            (214_999_999, "214 MB"),
            (2_319_999_999, "2.31 GB"),
            (999_999, "999 kB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(plain(&size(bytes)), text);
        }
    }

    #[test]
    fn times_have_one_or_two_units() {
        for (milliseconds, text) in [
            (0, "0.0 s"),
            (420, "0.4 s"),
            (9_900, "9 s"),
            (192_000, "3 min 12 s"),
            (7_500_000, "2 h 5 min"),
        ] {
            assert_eq!(plain(&elapsed(milliseconds)), text);
        }
        let from: Timestamp = "2026-11-18T04:17:02Z".parse().unwrap();
        for (to, text, words) in [
            ("2026-11-18T04:17:01Z", "0 min", "0 minutes"),
            ("2026-11-18T04:57:03Z", "40 min", "40 minutes"),
            ("2026-11-18T07:17:03Z", "3 h", "3 hours"),
            ("2026-11-19T04:16:50Z", "1 day", "1 day"),
            ("2026-11-24T04:17:00Z", "6 days", "6 days"),
        ] {
            let to = to.parse().unwrap();
            assert_eq!(plain(&age(from, to)), text);
            assert_eq!(plain(&age_in_words(from, to)), words);
        }
        assert_eq!(plain(&moment(from)), "2026-11-18 04:17 UTC");
    }
}
