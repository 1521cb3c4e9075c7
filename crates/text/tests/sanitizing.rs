//! Nothing that comes out of the sanitizer can control what shows it.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use proptest::prelude::*;
use regex::Regex;
use urldb_text::{Secrets, Shown, has_unsafe, is_unsafe, sanitize, sanitize_lines};

/// What must never be shown, by the tables of another library.
const FORBIDDEN: &str = r"[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]";

/// Format characters with a glyph, and the others, which have none.
const VISIBLE: &str = r"^\p{Prepended_Concatenation_Mark}$";

#[test]
fn every_character_of_unicode_is_in_its_class() {
    let forbidden = Regex::new(FORBIDDEN).unwrap();
    let format = Regex::new(r"\p{Cf}").unwrap();
    let visible = Regex::new(VISIBLE).unwrap();
    for char in '\0'..=char::MAX {
        let text = char.to_string();
        let is_invisible = format.is_match(&text) && !visible.is_match(&text);
        let expected = forbidden.is_match(&text) || is_invisible;
        assert_eq!(is_unsafe(char), expected, "U+{:04X}", u32::from(char));
        assert_eq!(
            has_unsafe(&format!("a{char}")),
            expected,
            "U+{:04X}",
            u32::from(char)
        );
    }
}

#[test]
fn what_is_safe_stays() {
    let text = "grüße 漢字 العربية ½ € 😀 <b>&amp; `x` \u{fffd}";
    assert_eq!(sanitize(text), text);
    assert_eq!(sanitize_lines("a\nb"), "a\nb");
}

#[test]
fn what_is_unsafe_goes() {
    let hostile = "a\u{1b}[2Jb\r\nc\td\u{9b}e\u{202e}f\u{200b}g\u{2028}h\u{feff}i\u{e0041}j";
    assert_eq!(
        sanitize(hostile),
        "a\u{fffd}[2Jb\u{fffd}\u{fffd}c d\u{fffd}e\u{fffd}f\u{fffd}g\u{fffd}h\u{fffd}i\u{fffd}j"
    );
    assert_eq!(sanitize_lines("a\r\n\u{1b}b\tc"), "a\u{fffd}\n\u{fffd}b c");
}

/// Text with many characters that are forbidden.
fn hostile() -> impl Strategy<Value = String> {
    let char = prop_oneof![
        any::<char>(),
        proptest::char::ranges(std::borrow::Cow::Borrowed(&[
            '\0'..='\u{ff}',
            '\u{2000}'..='\u{2070}',
            '\u{fe00}'..='\u{ffff}',
            '\u{e0000}'..='\u{e0fff}',
        ])),
    ];
    proptest::collection::vec(char, 0..80).prop_map(String::from_iter)
}

#[test]
fn a_workflow_command_is_none_any_more() {
    for (text, safe) in [
        ("a ##[set-env name=A]b", "a ##\u{fffd}set-env name=A]b"),
        ("###[error]", "###\u{fffd}error]"),
        ("::error::x", "\u{fffd}:error::x"),
        (" \t::error file=a::x", "  \u{fffd}:error file=a::x"),
        ("see ::error::x", "see ::error::x"),
        ("::1", "::1"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
        ("## [x] #[y]", "## [x] #[y]"),
    ] {
        assert_eq!(sanitize(text), safe, "{text:?}");
    }
    assert_eq!(sanitize_lines("a\n::error::x"), "a\n\u{fffd}:error::x");
}

#[test]
fn a_shown_text_is_redacted_before_it_is_cut() {
    urldb_text::register_secret("sanitizing-rs-of-shown");
    for (text, most, shown) in [
        ("a sanitizing-rs-of-shown b", 100, "a [redacted] b"),
        ("a sanitizing-rs-of-shown b", 5, "a [re"),
        (
            "a\tb\u{1b}\n::error::c",
            100,
            "a\tb\u{fffd}\u{fffd}::error::c",
        ),
        ("\t::error::c", 100, "\t\u{fffd}:error::c"),
        ("gr\u{fc}\u{df}e", 4, "gr\u{fc}\u{df}"),
        ("", 0, ""),
    ] {
        assert_eq!(Shown::new(text, most), shown, "{text:?}");
    }
    let long = "x".repeat(Shown::LONGEST);
    assert_eq!(Shown::new(&format!("{long}y"), Shown::LONGEST), long);
}

proptest! {
    #[test]
    fn nothing_forbidden_comes_out(text in hostile()) {
        let forbidden = Regex::new(FORBIDDEN).unwrap();
        let safe = sanitize(&text);
        prop_assert!(!forbidden.is_match(&safe), "{safe:?}");
        prop_assert_eq!(safe.chars().count(), text.chars().count());
        let lines = sanitize_lines(&text);
        prop_assert!(!forbidden.is_match(&lines.replace('\n', "")), "{lines:?}");
        prop_assert_eq!(lines.matches('\n').count(), text.matches('\n').count());
    }

    #[test]
    fn a_second_time_changes_nothing(text in hostile()) {
        let safe = sanitize(&text);
        prop_assert_eq!(&sanitize(&safe), &safe);
        let lines = sanitize_lines(&text);
        prop_assert_eq!(&sanitize_lines(&lines), &lines);
    }

    #[test]
    fn no_text_holds_a_secret(
        (before, after) in (hostile(), hostile()),
        secrets in proptest::collection::vec("[a-c%&\\\\\"é\\PC]{1,9}", 0..4),
    ) {
        let text = secrets.iter().fold(before, |text, secret| text + secret) + &after;
        let redacted = Secrets::new(secrets.iter().map(String::as_str)).redact(&text).into_owned();
        for secret in secrets.iter().map(|it| it.trim()).filter(|it| it.len() >= 6) {
            prop_assert!(!redacted.contains(secret), "{redacted:?} has {secret:?}");
        }
    }

    #[test]
    fn safe_text_is_left_alone(text in "[ -~\u{a1}-\u{ac}\u{4e00}-\u{4eff}]{0,40}") {
        prop_assert_eq!(sanitize(&text), text.as_str());
    }
}

/// Stands for a secret that a test of this process registers: every other test goes on as before.
const SECRET: &str = "sanitizing-rs <never> & shown";

#[test]
fn registered_secrets_are_redacted_before_anything_else() {
    urldb_text::register_secret(SECRET);
    urldb_text::register_secret(SECRET);
    urldb_text::register_credentials("http://me:sanitizing-rs-password@proxy.test/");
    for (text, safe) in [
        (SECRET, "[redacted]"),
        (
            "\u{1b}sanitizing-rs\t<never>",
            "\u{fffd}[redacted] [redacted]",
        ),
        ("##sanitizing-rs-password", "##\u{fffd}redacted]"),
        ("sanitizing-rs+%3Cnever%3E+&amp; shown", "[redacted]"),
    ] {
        assert_eq!(sanitize(text), safe, "{text:?}");
        assert_eq!(sanitize(safe), safe);
    }
    assert_eq!(sanitize_lines("a\nsanitizing-rs\n"), "a\n[redacted]\n");
    let finding = urldb_text::Finding::new(urldb_text::Code::BadPath, 1, "x");
    let line = format!("{}sanitizing-rs", " ".repeat(70));
    let excerpt = finding.at_column(75).with_excerpt(&line, 2).excerpt;
    let lines = excerpt.unwrap().lines();
    assert_eq!(lines, ["[redacted]", "^^^^^^^^^^"]);
}
