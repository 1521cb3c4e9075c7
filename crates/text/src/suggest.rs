//! "Did you mean …?"

/// The candidate that `typed` is probably a misspelling of: the one with the fewest wrong, missing,
/// superfluous or swapped characters. The first of several; `None` if all differ too much.
///
/// Case counts for nothing, and `_` and a space are taken for `-`. One mistake is allowed in up to
/// five characters; two in longer names, and one more for every twenty characters.
pub fn nearest<T: AsRef<str>>(typed: &str, candidates: impl IntoIterator<Item = T>) -> Option<T> {
    let typed = folded(typed);
    let length = typed.chars().count();
    let mut best: Option<(usize, T)> = None;
    for candidate in candidates {
        let name = folded(candidate.as_ref());
        let others = name.chars().count();
        let mut allowed = allowed(others);
        if let Some((known, _)) = &best {
            let Some(fewer) = known.checked_sub(1) else {
                break;
            };
            allowed = allowed.min(fewer);
        }
        // Comparing lengths first spares the work for most of many candidates.
        if length.abs_diff(others) > allowed {
            continue;
        }
        let mistakes = strsim::osa_distance(&typed, &name);
        if mistakes <= allowed {
            best = Some((mistakes, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn folded(name: &str) -> String {
    name.to_lowercase()
        .replace(['_', ' '], "-")
        .trim_matches('-')
        .to_owned()
}

/// The number of typing mistakes that a name of this length may have.
fn allowed(length: usize) -> usize {
    match length {
        0..=5 => 1,
        length => 2 + length / 20,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 5] = [
        "to",
        "cnames",
        "content-length",
        "content-sha256",
        "retries",
    ];

    #[test]
    fn finds_a_misspelled_name() {
        assert_eq!(nearest("Content_Length", KEYS), Some("content-length"));
        assert_eq!(nearest("contnet-lenght", KEYS), Some("content-length"));
        assert_eq!(nearest("cname", KEYS), Some("cnames"));
        assert_eq!(nearest("ot", KEYS), Some("to"));
    }

    #[test]
    fn finds_nothing_for_another_name() {
        assert_eq!(nearest("content-sha512", KEYS), None);
        assert_eq!(nearest("from", KEYS), None);
        assert_eq!(nearest("", KEYS), None);
        assert_eq!(nearest("a", Vec::<String>::new()), None);
    }

    #[test]
    fn the_nearest_counts_and_of_equals_the_first() {
        assert_eq!(nearest("abcdeg", ["abcdxx", "abcdef"]), Some("abcdef"));
        assert_eq!(nearest("abcdxx", ["abcdef", "abcdeg"]), Some("abcdef"));
        assert_eq!(nearest("abcdef", ["abcdef", "abcdeg"]), Some("abcdef"));
    }
}
