//! "Did you mean …?"

/// The candidate that `typed` is probably a misspelling of: the one with the fewest wrong, missing,
/// superfluous or swapped characters. The first of several; `None` if all differ too much.
///
/// Case counts for nothing, and `_` and a space are taken for `-`. One mistake is allowed in up to
/// five characters; two in longer names, and one more for every twenty characters.
pub fn nearest<T: AsRef<str>>(typed: &str, candidates: impl IntoIterator<Item = T>) -> Option<T> {
    let mut folded_typed = None;
    let mut best: Option<(usize, T)> = None;
    for candidate in candidates {
        if is_far(typed, candidate.as_ref()) {
            continue;
        }
        let typed = folded_typed.get_or_insert_with(|| folded(typed));
        let length = typed.chars().count();
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
        let mistakes = strsim::osa_distance(typed, &name);
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

/// Whether two names certainly differ too much, without an allocation. Most names do, and a large file has
/// millions of them.
fn is_far(typed: &str, candidate: &str) -> bool {
    if !typed.is_ascii() || !candidate.is_ascii() {
        return false;
    }
    let [typed, candidate] = [typed, candidate].map(trimmed);
    let allowed = allowed(candidate.len());
    if typed.len().abs_diff(candidate.len()) > allowed {
        return true;
    }
    // A mistake takes away at most one letter, and adds at most one.
    let [typed, candidate] = [typed, candidate].map(letters);
    let most = (typed & !candidate)
        .count_ones()
        .max((candidate & !typed).count_ones());
    most as usize > allowed
}

/// The name without separators at its ends.
fn trimmed(name: &str) -> &[u8] {
    let mut name = name.as_bytes();
    while let [b'-' | b'_' | b' ', rest @ ..] | [rest @ .., b'-' | b'_' | b' '] = name {
        name = rest;
    }
    name
}

/// A bit for each ASCII letter and digit of a name, without case.
fn letters(name: &[u8]) -> u64 {
    name.iter()
        .fold(0, |bits, byte| bits | LETTER_BITS[usize::from(*byte)])
}

/// The bit of each ASCII letter and digit.
const LETTER_BITS: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte: u8 = 0;
    while byte < 128 {
        if let Some(digit) = (byte as char).to_digit(36) {
            table[byte as usize] = 1 << digit;
        }
        byte += 1;
    }
    table
};

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

    /// Names that differ from another name in a few characters are never called far.
    #[test]
    fn near_names_are_not_far() {
        let names = [
            "deprecated",
            "redirect-ok",
            "content-type-change-ok",
            "to",
            "a1",
        ];
        for name in names {
            let mut near = vec![name.to_uppercase(), name.replace('-', "_")];
            near.extend((0..name.len()).map(|at| [&name[..at], &name[at + 1..]].concat()));
            near.extend((0..=name.len()).map(|at| [&name[..at], "x", &name[at..]].concat()));
            near.extend((0..name.len()).map(|at| [&name[..at], "x", &name[at + 1..]].concat()));
            near.extend((1..name.len()).map(|at| {
                let (before, after) = (&name[..at - 1], &name[at + 1..]);
                [before, &name[at..=at], &name[at - 1..at], after].concat()
            }));
            for typed in near {
                let is_near = strsim::osa_distance(&folded(&typed), name) <= allowed(name.len());
                assert!(!is_near || !is_far(&typed, name), "{typed} {name}");
            }
        }
        assert!(is_far("documentation", "redirect-ok") && is_far("core", "deprecated"));
    }

    #[test]
    fn the_nearest_counts_and_of_equals_the_first() {
        assert_eq!(nearest("abcdeg", ["abcdxx", "abcdef"]), Some("abcdef"));
        assert_eq!(nearest("abcdxx", ["abcdef", "abcdeg"]), Some("abcdef"));
        assert_eq!(nearest("abcdef", ["abcdef", "abcdeg"]), Some("abcdef"));
    }
}
