//! Charts of days, as inline SVG with a sentence for those who do not see it.
//!
//! The text has numbers, dates and our own words only, so that a template may print it as it is.

use std::fmt::Write;

use jiff::civil::Date;
use urldb_protocol::{Day, DayCount, DayLevel};
use urldb_render::numbers::counted;

/// Most ranges of days that a sentence names.
const MOST_RANGES: usize = 5;

/// Columns of one day in a strip.
const STRIP: usize = 3;

/// A strip of days: one path for each level.
pub(crate) fn strip(days: &[Day]) -> String {
    let mut paths = String::new();
    for (class, y, level) in [
        ("k", "20.5", DayLevel::Kept),
        ("d", "18.5", DayLevel::Doubt),
        ("p", "16.5", DayLevel::Part),
        ("b", "13.5", DayLevel::All),
        ("n", "23", DayLevel::NoRun),
    ] {
        let mut path = String::new();
        for (from, length) in runs(days, |day| day.level == level) {
            let _ = write!(path, "M{} {y}h{}", STRIP * from, STRIP * length - 1);
        }
        if !path.is_empty() {
            let _ = write!(paths, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }
    let width = STRIP * days.len();
    let label = sentence(days);
    format!(
        "<svg class=\"strip\" viewBox=\"0 0 {width} 24\" role=\"img\" aria-label=\"{label}\">{paths}</svg>"
    )
}

/// The same days in the full width, with the names of months.
pub(crate) fn chart(days: &[Day]) -> String {
    const HEIGHT: u64 = 48;
    const DAY: usize = 8;
    let mut paths = String::new();
    for (class, y, level) in [
        ("k", 42, DayLevel::Kept),
        ("d", 39, DayLevel::Doubt),
        ("p", 33, DayLevel::Part),
        ("b", 24, DayLevel::All),
        ("n", 47, DayLevel::NoRun),
    ] {
        let mut path = String::new();
        for (from, length) in runs(days, |day| day.level == level) {
            let _ = write!(path, "M{} {y}h{}", DAY * from, DAY * length - DAY / 2);
        }
        if !path.is_empty() {
            let _ = write!(
                paths,
                "<path class=\"{class} s\" stroke-dasharray=\"4 4\" d=\"{path}\"/>"
            );
        }
    }
    let width = DAY * days.len();
    let label = sentence(days);
    let dates: Vec<Date> = days.iter().map(|day| day.date).collect();
    let months = months(&dates, HEIGHT, |_| true);
    format!(
        "<svg class=\"chart\" height=\"70\" role=\"img\" aria-label=\"{label}\"><svg height=\"{HEIGHT}\" \
         viewBox=\"0 0 {width} {HEIGHT}\" preserveAspectRatio=\"none\">{paths}</svg>{months}</svg>"
    )
}

/// The year of the whole database: the height of a bar is the share of affected promises, on a
/// square-root scale.
pub(crate) fn year(days: &[DayCount]) -> String {
    const HEIGHT: u64 = 60;
    let width = 2 * days.len();
    let (mut kept, mut bad, mut none) = (String::new(), String::new(), String::new());
    let bars: Vec<Option<(&str, u64)>> = days
        .iter()
        .map(|day| match day {
            DayCount { promised: 0, .. } => None,
            DayCount { has_run: false, .. } => Some(("n", 2)),
            DayCount { affected: 0, .. } => Some(("k", 4)),
            day => Some(("b", height(day, HEIGHT))),
        })
        .collect();
    let mut begin = 0;
    for same in bars.chunk_by(|one, next| one == next) {
        if let Some((class, height)) = same[0] {
            let path = match class {
                "k" => &mut kept,
                "n" => &mut none,
                _ => &mut bad,
            };
            let (x, width) = (2 * begin, 2 * same.len());
            let _ = write!(path, "M{x} {HEIGHT}v-{height}h{width}v{height}z");
        }
        begin += same.len();
    }
    let paths: String = [("k", kept), ("n", none), ("b", bad)]
        .iter()
        .filter(|(_, path)| !path.is_empty())
        .map(|(class, path)| format!("<path class=\"{class}\" d=\"{path}\"/>"))
        .collect::<Vec<_>>()
        .concat();
    let dates: Vec<Date> = days.iter().map(|day| day.date).collect();
    let months = months(&dates, HEIGHT, |month| month % 3 == 1);
    let label = year_sentence(days);
    format!(
        "<svg class=\"chart\" height=\"82\" role=\"img\" aria-label=\"{label}\"><svg height=\"{HEIGHT}\" \
         viewBox=\"0 0 {width} {HEIGHT}\" preserveAspectRatio=\"none\">{paths}</svg>{months}</svg>"
    )
}

/// The height of a bar in a chart of this height: at least 6, so that one affected promise is seen.
fn height(day: &DayCount, all: u64) -> u64 {
    let (part, whole) = (day.affected.min(day.promised), day.promised.max(1));
    let square = u128::from(part) * u128::from(all) * u128::from(all) / u128::from(whole);
    u64::try_from(square.isqrt()).unwrap_or(all).clamp(6, all)
}

/// A tick and a name for each month below a chart of this height; on a narrow screen, names of the months
/// that have room there.
fn months(dates: &[Date], height: u64, has_room: impl Fn(i8) -> bool) -> String {
    let mut text = String::new();
    let first = dates.iter().enumerate().filter(|(_, date)| date.day() == 1);
    for (index, date) in first {
        // In hundredths of a percent.
        let at = 10_000 * index / dates.len().max(1);
        let x = format!("{}.{:02}%", at / 100, at % 100);
        let class = if has_room(date.month()) {
            ""
        } else {
            " class=\"m\""
        };
        // There is no room for a name at the end.
        let name = match (date.month(), at) {
            (_, 9_700..) => String::new(),
            (1, ..8_000) => date.strftime("%b %Y").to_string(),
            _ => date.strftime("%b").to_string(),
        };
        let (to, below) = (height + 5, height + 18);
        let _ = write!(
            text,
            "<line x1=\"{x}\" x2=\"{x}\" y1=\"{height}\" y2=\"{to}\"/><text x=\"{x}\" y=\"{below}\"{class}>{name}</text>"
        );
    }
    text
}

/// `25 August to 22 November 2026: kept on 80 days; affected 14 Nov to 22 Nov; no run on 1 day.`
pub(crate) fn sentence(days: &[Day]) -> String {
    let (Some(first), Some(last)) = (days.first(), days.last()) else {
        return "No day is known.".to_owned();
    };
    let count = |level: DayLevel| days.iter().filter(|day| day.level == level).count();
    let kept = count(DayLevel::Kept) + count(DayLevel::Doubt);
    let is_bad = |day: &Day| matches!(day.level, DayLevel::Part | DayLevel::All);
    let affected = runs(days, is_bad);
    let mut parts = vec![];
    let with_run = days.len() - count(DayLevel::NoRun) - count(DayLevel::Blank);
    parts.push(match (kept, with_run) {
        (_, 0) => "no run on any day".to_owned(),
        (kept, with_run) if kept == with_run => format!("kept on all {} with a run", days_of(kept)),
        (kept, _) => format!("kept on {}", days_of(kept)),
    });
    if !affected.is_empty() {
        let ranges: Vec<String> = affected
            .iter()
            .take(MOST_RANGES)
            .map(|(from, length)| {
                let (from, to) = (days[*from].date, days[from + length - 1].date);
                let begin = from.strftime("%-d %b").to_string();
                if from == to {
                    begin
                } else {
                    format!("{begin} to {}", to.strftime("%-d %b"))
                }
            })
            .collect();
        let more = affected.len().saturating_sub(MOST_RANGES);
        let more = match more {
            0 => String::new(),
            1 => " and one other time".to_owned(),
            more => format!(" and {more} other times"),
        };
        parts.push(format!("affected {}{more}", ranges.join(", ")));
    }
    if with_run > 0 && count(DayLevel::NoRun) > 0 {
        parts.push(format!("no run on {}", days_of(count(DayLevel::NoRun))));
    }
    if count(DayLevel::Doubt) > 0 {
        parts.push(format!("in doubt on {}", days_of(count(DayLevel::Doubt))));
    }
    if count(DayLevel::Blank) > 0 {
        parts.push(format!(
            "nothing known of {}",
            days_of(count(DayLevel::Blank))
        ));
    }
    format!("{}: {}.", span(first.date, last.date), parts.join("; "))
}

fn year_sentence(days: &[DayCount]) -> String {
    let (Some(first), Some(last)) = (days.first(), days.last()) else {
        return "No day is known.".to_owned();
    };
    let (good, none) = good_days(days);
    let mut text = format!(
        "{}: every promise was kept on {}",
        span(first.date, last.date),
        days_of(good)
    );
    if none > 0 {
        let _ = write!(text, "; no run on {}", days_of(none));
    }
    text + ". The table of incidents has the rest."
}

/// Number of days with a run on which no promise was affected, and of days without a run.
pub(crate) fn good_days(days: &[DayCount]) -> (usize, usize) {
    let known = || days.iter().filter(|day| day.promised > 0);
    let good = known()
        .filter(|day| day.has_run && day.affected == 0)
        .count();
    (good, known().filter(|day| !day.has_run).count())
}

fn span(first: Date, last: Date) -> String {
    let begin = if first.year() == last.year() {
        first.strftime("%-d %B")
    } else {
        first.strftime("%-d %B %Y")
    };
    format!("{begin} to {}", last.strftime("%-d %B %Y"))
}

fn days_of(number: usize) -> String {
    counted(number as u64, "day")
}

/// First index and length of each run of days that fulfil a condition.
fn runs(days: &[Day], is: impl Fn(&Day) -> bool) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = vec![];
    for (index, day) in days.iter().enumerate() {
        match runs.last_mut() {
            _ if !is(day) => {}
            Some((from, length)) if *from + *length == index => *length += 1,
            _ => runs.push((index, 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(levels: &str) -> Vec<Day> {
        let first: Date = "2026-11-01".parse().unwrap();
        let levels = levels.chars().enumerate();
        levels
            .map(|(index, level)| Day {
                date: first
                    .checked_add(jiff::Span::new().days(i64::try_from(index).unwrap()))
                    .unwrap(),
                level: match level {
                    'k' => DayLevel::Kept,
                    'd' => DayLevel::Doubt,
                    'p' => DayLevel::Part,
                    'b' => DayLevel::All,
                    'n' => DayLevel::NoRun,
                    _ => DayLevel::Blank,
                },
                affected: 0,
            })
            .collect()
    }

    #[test]
    fn names_of_months_have_room() {
        let dates = |first: &str| -> Vec<Date> {
            let first: Date = first.parse().unwrap();
            first.series(jiff::Span::new().days(1)).take(365).collect()
        };
        let names = |first| {
            let months = months(&dates(first), 60, |month| month % 3 == 1);
            let names = months.split("<text ").skip(1);
            let names = names.map(|text| {
                let (place, name) = text.split_once('>').unwrap();
                let name = name.split('<').next().unwrap();
                format!(
                    "{name}{}",
                    if place.contains("class=\"m\"") {
                        "*"
                    } else {
                        ""
                    }
                )
            });
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            names("2025-11-23"),
            "Dec* Jan 2026 Feb* Mar* Apr May* Jun* Jul Aug* Sep* Oct Nov*"
        );
        // January is near the end, and March at the very end.
        assert_eq!(
            names("2025-03-06"),
            "Apr May* Jun* Jul Aug* Sep* Oct Nov* Dec* Jan Feb* *"
        );
    }

    #[test]
    fn a_strip_has_a_path_for_each_level_and_says_the_same_in_words() {
        let svg = strip(&days("  kkpbbknd"));
        assert_eq!(
            svg,
            "<svg class=\"strip\" viewBox=\"0 0 30 24\" role=\"img\" aria-label=\"1 November to 10 November \
             2026: kept on 4 days; affected 5 Nov to 7 Nov; no run on 1 day; in doubt on 1 day; nothing \
             known of 2 days.\"><path class=\"k\" d=\"M6 20.5h5M21 20.5h2\"/><path class=\"d\" d=\"M27 \
             18.5h2\"/><path class=\"p\" d=\"M12 16.5h2\"/><path class=\"b\" d=\"M15 13.5h5\"/><path \
             class=\"n\" d=\"M24 23h2\"/></svg>"
        );
        let svg = chart(&days("  kkpbbknd"));
        for text in [
            "<path class=\"k s\" stroke-dasharray=\"4 4\" d=\"M16 42h12M56 42h4\"/>",
            "<path class=\"b s\" stroke-dasharray=\"4 4\" d=\"M40 24h12\"/>",
            "<text x=\"0.00%\" y=\"66\">Nov</text>",
        ] {
            assert!(svg.contains(text), "{svg}");
        }
        assert_eq!(
            sentence(&days("kkk")),
            "1 November to 3 November 2026: kept on all 3 days with a run."
        );
        assert_eq!(
            sentence(&days("nn")),
            "1 November to 2 November 2026: no run on any day."
        );
    }
}
