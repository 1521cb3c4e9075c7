//! The results of the last runs of one URL as a row of marks, as inline SVG with a sentence for those who do not see
//! it.

use std::fmt::Write;

use urldb_protocol::{Flapping, SeenResult};
use urldb_render::numbers::counted;

/// Width and height of a mark.
const SIZE: usize = 16;

/// The marks, the oldest at the left; empty without two runs.
pub(crate) fn marks(last: &Flapping) -> String {
    let runs = last.recent.len();
    if runs < 2 {
        return String::new();
    }
    let width = SIZE * runs;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {SIZE}\" width=\"{width}\" height=\"{SIZE}\" role=\"img\" aria-label=\"{}\">",
        sentence(&last.recent)
    );
    for (class, result) in [
        ("k", SeenResult::Kept),
        ("b", SeenResult::Broken),
        ("n", SeenResult::None),
    ] {
        let path: String = last
            .recent
            .iter()
            .enumerate()
            .filter(|(_, seen)| **seen == result)
            .map(|(at, _)| shape(result, SIZE * at))
            .collect();
        if !path.is_empty() {
            let _ = write!(svg, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }
    svg + "</svg>"
}

/// A tick, a cross or a dash, whose box begins at `x`.
fn shape(result: SeenResult, x: usize) -> String {
    match result {
        SeenResult::Kept => format!("M{x}.5 8.6m3 0l1.3-1.5 2.5 2.4 5-6 1.4 1.2-6.2 7.6z"),
        SeenResult::Broken => format!(
            "M{x}.5 5m3 0l1.6-1.6 2.9 2.9 2.9-2.9 1.6 1.6-2.9 2.9 2.9 2.9-1.6 1.6-2.9-2.9-2.9 2.9-1.6-1.6 2.9-2.9z"
        ),
        SeenResult::None => format!("M{x}.5 7.2m5 0h5v1.4h-5z"),
    }
}

/// `The last 4 runs, the oldest first: kept, broken 2 times, no result.`
fn sentence(results: &[SeenResult]) -> String {
    let word = |result| match result {
        SeenResult::Kept => "kept",
        SeenResult::Broken => "broken",
        SeenResult::None => "no result",
    };
    let groups: Vec<String> = results
        .chunk_by(|one, next| one == next)
        .map(|group| match group.len() {
            1 => word(group[0]).to_owned(),
            times => format!("{} {times} times", word(group[0])),
        })
        .collect();
    let runs = counted(results.len() as u64, "run");
    format!("The last {runs}, the oldest first: {}.", groups.join(", "))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn last(recent: Vec<SeenResult>) -> Flapping {
        Flapping {
            is_good: true,
            runs: 1,
            from: Timestamp::UNIX_EPOCH,
            recent,
        }
    }

    #[test]
    fn the_row_is_told_in_words_too() {
        use SeenResult::{Broken, Kept, None};
        assert_eq!(
            sentence(&[Kept, Broken, Broken, None]),
            "The last 4 runs, the oldest first: kept, broken 2 times, no result."
        );
        assert_eq!(marks(&last(vec![Kept])), "");
    }

    proptest! {
        #[test]
        fn each_run_has_the_mark_of_its_result(seen in prop::collection::vec(0_usize..3, 2..16)) {
            let all = [SeenResult::Kept, SeenResult::Broken, SeenResult::None];
            let results: Vec<SeenResult> = seen.iter().map(|index| all[*index]).collect();
            let svg = marks(&last(results.clone()));
            for (class, result) in ["k", "b", "n"].into_iter().zip(all) {
                let path = svg.split(&format!("<path class=\"{class}\" d=\"")).nth(1).unwrap_or_default();
                let path = path.split('"').next().unwrap_or_default();
                let begins: Vec<usize> = path
                    .split('M')
                    .skip(1)
                    .map(|shape| shape.split(".5 ").next().unwrap().parse::<usize>().unwrap() / SIZE)
                    .collect();
                let places = results.iter().enumerate().filter(|(_, seen)| **seen == result);
                let expected: Vec<usize> = places.map(|(at, _)| at).collect();
                prop_assert_eq!(begins, expected);
            }
        }
    }
}
