//! The syntax of Markdown: inert text, code, links.

use crate::numbers::with_spaces;
use crate::text::{Span, Text};

pub(super) fn inline(text: &Text) -> String {
    let span = |span: &Span| match span {
        Span::Own(text) => with_spaces(text),
        Span::Outside(text) | Span::Path(text) => inert(&with_spaces(text)),
        Span::Code(text) => code(text),
    };
    text.spans().iter().map(span).collect()
}

/// Text from outside: as it is where every character is harmless, else in a code span.
pub(crate) fn inert(text: &str) -> String {
    if is_inert(text) {
        text.to_owned()
    } else {
        code(text)
    }
}

/// Whether no service takes any part of the text for markup, a link, a mention or a reference.
fn is_inert(text: &str) -> bool {
    let is_harmless = |char: char| char.is_ascii_alphanumeric() || " /.,:;+-()%=".contains(char);
    let lower = text.to_ascii_lowercase();
    let no_emoji = text
        .split(':')
        .skip(1)
        .into_iter()
        .all(|after| after.is_empty() || after.starts_with(' '));
    text.chars().all(is_harmless)
        && no_emoji
        && !["www.", "gh-", "://", "mailto"]
            .iter()
            .any(|part| lower.contains(part))
        && text.trim() == text
}

/// A code span, whose fence is longer than any run of backticks in the text.
pub fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_run(text) + 1);
    let padding = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) {
        " "
    } else {
        ""
    };
    format!("{fence}{padding}{text}{padding}{fence}")
}

/// A code block, whose fence is longer than any run of backticks in the text.
pub fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    format!("{fence}{language}\n{text}\n{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|char| char != '`')
        .map(str::len)
        .max()
        .unwrap_or_default()
}

/// A link. The address comes from a parsed URL: only parentheses are left to escape.
pub(super) fn link(label: &str, url: &str) -> String {
    let url = url.replace('(', "%28").replace(')', "%29");
    format!("[{label}]({url})")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_harmless_text_stands_without_a_code_span() {
        for text in [
            "text/html",
            "/manual/v1/",
            "Example CA R3",
            "no route: gave up after 10 s",
        ] {
            assert_eq!(inert(text), text);
        }
        for text in [
            "a_b_",
            "*",
            "<b>",
            "[x](y)",
            "#12",
            "@team",
            "gh-12",
            "www.a.test",
            "x://y",
            "a|b",
            "&amp;",
            ":tada:",
            "~~x~~",
            "\\",
            "!",
            " x",
        ] {
            assert!(inert(text).starts_with('`'), "{text}");
        }
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`x`"), "`` `x` ``");
        assert_eq!(fenced("sh", "a\n````"), "`````sh\na\n````\n`````");
    }

    proptest! {
        #[test]
        fn no_text_ends_its_code_span(text in "[`a ]{1,12}") {
            let span = code(&text);
            let fence = span.bytes().take_while(|byte| *byte == b'`').count();
            let inner = &span[fence..span.len() - fence];
            prop_assert!(longest_run(inner) < fence, "{}", span);
            prop_assert!(!inner.starts_with('`') && !inner.ends_with('`'), "{}", span);
            prop_assert!(span.ends_with(&"`".repeat(fence)));
        }
    }
}
