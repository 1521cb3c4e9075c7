//! The number of broken URLs after each run as bars, as inline SVG with a sentence for those who do not see it.

use std::fmt::Write;

use jiff::Timestamp;
use urldb_render::numbers::number;

/// Most bars: the last ones.
const MOST: usize = 30;

/// Most bars that all have a number.
const MOST_NUMBERS: usize = 15;

/// Dates below the bars, at most.
const DATES: usize = 8;

/// Height of the tallest bar, and of the line below all.
const HEIGHT: u64 = 96;
const FLOOR: u64 = 114;

/// The affected URLs after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bar {
    /// When the run began.
    pub(crate) at: Timestamp,
    /// Number of affected URLs after it.
    pub(crate) urls: u64,
    /// Number of those that joined with it.
    pub(crate) new: u64,
}

/// The chart; empty without two bars. All texts are numbers and dates.
pub(crate) fn bars(all: &[Bar]) -> String {
    let bars = &all[all.len().saturating_sub(MOST)..];
    let most = bars.iter().map(|bar| bar.urls).max().unwrap_or_default();
    if bars.len() < 2 || most == 0 {
        return String::new();
    }
    let mut svg = format!(
        "<svg class=\"grow\" height=\"136\" role=\"img\" aria-label=\"{}\">",
        sentence(bars)
    );
    let every = bars.len().div_ceil(DATES);
    let step = 100.0 / f64::from(u32::try_from(bars.len()).unwrap_or(u32::MAX));
    for (bar, index) in bars.iter().zip(0_u32..) {
        let (x, width) = (f64::from(index) * step, 0.72 * step);
        let middle = x + width / 2.0;
        let top = FLOOR - height(bar.urls, most);
        let old = height(bar.urls.saturating_sub(bar.new), most);
        let new = FLOOR - old - top;
        for (class, y, height) in [("old", FLOOR - old, old), ("new", top, new)] {
            if height > 0 {
                let _ = write!(
                    svg,
                    "<rect class=\"{class}\" x=\"{x:.2}%\" width=\"{width:.2}%\" y=\"{y}\" height=\"{height}\"/>"
                );
            }
        }
        let index = index as usize;
        if bars.len() <= MOST_NUMBERS || index + 1 == bars.len() {
            let _ = write!(
                svg,
                "<text x=\"{middle:.2}%\" y=\"{}\" class=\"v\">{}</text>",
                top - 4,
                number(bar.urls)
            );
        }
        if index.is_multiple_of(every) {
            let is_second = !(index / every).is_multiple_of(2);
            let _ = write!(
                svg,
                "<text x=\"{middle:.2}%\" y=\"130\" class=\"{}\">{}</text>",
                if is_second { "x m" } else { "x" },
                day(bar.at)
            );
        }
    }
    svg + "</svg>"
}

/// At least 2, so that one URL is seen.
fn height(urls: u64, most: u64) -> u64 {
    let scaled = u128::from(urls) * u128::from(HEIGHT) / u128::from(most.max(1));
    let scaled = u64::try_from(scaled).unwrap_or(HEIGHT);
    if urls == 0 { 0 } else { scaled.max(2) }
}

/// `Broken URLs: 4 on 15 Nov, 8 on 16 Nov.`
fn sentence(bars: &[Bar]) -> String {
    let of = |bar: &Bar| format!("{} on {}", number(bar.urls), day(bar.at));
    let all: Vec<String> = bars.iter().map(of).collect();
    format!("Broken URLs: {}.", all.join(", "))
}

fn day(at: Timestamp) -> String {
    at.strftime("%-d %b").to_string()
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use proptest::prelude::*;

    use super::*;

    /// The values of an attribute of the elements of a class.
    fn values(svg: &str, class: &str, name: &str) -> Vec<u64> {
        let elements = svg.split("<rect class=\"").skip(1);
        let own = elements.filter(|it| it.starts_with(&format!("{class}\"")));
        let value = |element: &str| {
            let (_, rest) = element.split_once(&format!(" {name}=\"")).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        own.map(value).collect()
    }

    proptest! {
        #[test]
        fn each_of_the_last_runs_has_its_bar(counts in prop::collection::vec((1_u64..500, 0_u64..500), 2..45)) {
            let at = |index: usize| {
                Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24) * i32::try_from(index).unwrap()
            };
            let all: Vec<Bar> = counts
                .iter()
                .enumerate()
                .map(|(index, (urls, new))| Bar { at: at(index), urls: *urls, new: *new.min(urls) })
                .collect();
            let svg = bars(&all);
            let last: Vec<&Bar> = all.iter().rev().take(MOST).rev().collect();
            let words: Vec<String> = last.iter().map(|bar| format!("{} on {}", number(bar.urls), day(bar.at))).collect();
            let label = format!("\"Broken URLs: {}.\"", words.join(", "));
            prop_assert!(svg.contains(&label));
            let most = last.iter().map(|bar| bar.urls).max().unwrap();
            let heights: u64 = last.iter().map(|bar| (bar.urls * HEIGHT / most).max(2)).sum();
            let drawn = [values(&svg, "old", "height"), values(&svg, "new", "height")].concat();
            prop_assert_eq!(drawn.iter().sum::<u64>(), heights);
            let tops = [values(&svg, "old", "y"), values(&svg, "new", "y")].concat();
            prop_assert!(tops.iter().all(|y| *y >= FLOOR - HEIGHT && *y < FLOOR));
            let all_old = last.iter().filter(|bar| bar.new < bar.urls).count();
            prop_assert_eq!(values(&svg, "old", "y").len(), all_old);
        }
    }
}
