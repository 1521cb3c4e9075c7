//! The lines of a `.htaccess` file, and their words.

/// The length limit of a line, in bytes, with the lines that continue it.
const MAX_LINE: usize = 1 << 20;

/// A directive or the edge of a section.
pub(crate) struct Directive<'a> {
    /// The first of its lines, from 1.
    pub(crate) line: u64,
    /// The name in lower case; the edge of a section begins with `<`.
    pub(crate) name: String,
    /// The text after the name.
    pub(crate) arguments: &'a str,
}

/// Passes each directive to `take`, and each line that cannot be read, with the reason, to `refuse`.
pub(crate) fn read<T>(
    lines: impl IntoIterator<Item = Result<String, &'static str>>,
    state: &mut T,
    mut take: impl FnMut(&mut T, &Directive<'_>),
    mut refuse: impl FnMut(&mut T, u64, &str),
) {
    let (mut text, mut first) = (String::new(), None);
    for (number, line) in (1..).zip(lines) {
        let begin = *first.get_or_insert(number);
        let part = match &line {
            Ok(part) if text.len() + part.len() <= MAX_LINE => part,
            wrong => {
                let why = wrong
                    .as_ref()
                    .err()
                    .unwrap_or(&"the line is longer than a mebibyte");
                refuse(state, number, why);
                (text, first) = (String::new(), None);
                continue;
            }
        };
        let part = match number {
            1 => part.strip_prefix('\u{feff}').unwrap_or(part),
            _ => &**part,
        };
        // Apache joins lines before it looks for comments.
        if let Some(continued) = part.strip_suffix('\\') {
            text.push_str(continued);
            continue;
        }
        text.push_str(part);
        if let Some(directive) = directive(begin, &text) {
            take(state, &directive);
        }
        (text, first) = (String::new(), None);
    }
    let rest = first.and_then(|line| directive(line, &text));
    if let Some(directive) = rest {
        take(state, &directive);
    }
}

/// The directive of a line; `None` for an empty line or a comment.
fn directive(line: u64, text: &str) -> Option<Directive<'_>> {
    let text = text.trim_matches(is_space);
    if text.is_empty() || text.starts_with('#') {
        return None;
    }
    let (name, arguments) = text.split_once(is_space).unwrap_or((text, ""));
    Some(Directive {
        line,
        name: name.to_ascii_lowercase(),
        arguments: arguments.trim_start_matches(is_space),
    })
}

fn is_space(char: char) -> bool {
    char.is_ascii_whitespace()
}

/// At most three words as `mod_rewrite` reads them: quotes and escaped blanks keep words together, and backslashes
/// stay. The rest of the text has no effect.
pub(crate) fn raw_words(text: &str) -> Vec<&str> {
    let (mut words, mut left) = (vec![], text.trim_start_matches(is_space));
    while words.len() < 3 && !left.is_empty() {
        let quote = left
            .chars()
            .next()
            .filter(|char| matches!(char, '"' | '\''));
        let body = &left[usize::from(quote.is_some())..];
        let end = end_of_raw(body, quote);
        words.push(&body[..end]);
        left = body[end..].get(1..).unwrap_or_default();
        left = left.trim_start_matches(is_space);
    }
    words
}

fn end_of_raw(text: &str, quote: Option<char>) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        if Some(char) == quote || quote.is_none() && is_space(char) {
            return at;
        }
        if char == '\\' {
            chars.next_if(|(_, next)| is_space(*next));
        }
    }
    text.len()
}

/// The words of any other directive: a backslash escapes a backslash, and in quotes also the quote.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = vec![];
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|char| is_space(*char)).is_some() {}
        let Some(first) = chars.peek().copied() else {
            return words;
        };
        let quote = Some(first).filter(|char| matches!(char, '"' | '\''));
        if quote.is_some() {
            chars.next();
        }
        let mut word = String::new();
        while let Some(char) = chars.next() {
            if Some(char) == quote || quote.is_none() && is_space(char) {
                break;
            }
            let escaped = if char == '\\' {
                chars.next_if(|next| *next == '\\' || Some(*next) == quote)
            } else {
                None
            };
            word.push(escaped.unwrap_or(char));
        }
        words.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> Vec<(u64, String, String)> {
        let mut found = vec![];
        let take = |found: &mut Vec<_>, it: &Directive<'_>| {
            found.push((it.line, it.name.clone(), it.arguments.to_owned()));
        };
        let refuse = |found: &mut Vec<_>, line, why: &str| {
            found.push((line, "refused".to_owned(), why.to_owned()));
        };
        let lines = text.lines().map(|line| Ok(line.to_owned()));
        read(lines, &mut found, take, refuse);
        found
    }

    fn found(line: u64, name: &str, arguments: &str) -> (u64, String, String) {
        (line, name.to_owned(), arguments.to_owned())
    }

    #[test]
    fn a_backslash_at_the_end_continues_a_line_and_a_comment() {
        let text = "\u{feff}# a \\\nRewriteRule x y\n\n  REWRITERULE \\\r\n ^a$ \\\r\nhttp://b/ [L]\nRewriteEngine\ton\\";
        assert_eq!(
            read_all(text),
            [
                found(4, "rewriterule", "^a$ http://b/ [L]"),
                found(7, "rewriteengine", "on"),
            ]
        );
    }

    #[test]
    fn a_line_that_cannot_be_read_is_refused_alone() {
        let mut found = vec![];
        let lines = [Ok("a b".to_owned()), Err("why"), Ok("c".to_owned())];
        let take = |found: &mut Vec<_>, it: &Directive<'_>| found.push((it.line, it.name.clone()));
        let refuse = |found: &mut Vec<_>, line, why: &str| found.push((line, why.to_owned()));
        read(lines, &mut found, take, refuse);
        let wanted = [(1, "a"), (2, "why"), (3, "c")];
        assert_eq!(found, wanted.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn words_are_split_as_apache_splits_them() {
        assert_eq!(
            raw_words("^a\\ b$  \"http://c/ d\"\t[R=301,L] more"),
            ["^a\\ b$", "http://c/ d", "[R=301,L]"]
        );
        assert_eq!(raw_words("'^a b$' -"), ["^a b$", "-"]);
        assert_eq!(raw_words("\"a\\\"b\""), ["a\\", "b\""]);
        assert_eq!(
            words(r#"301 "/a \"b\"" '/c\\d' \e"#),
            ["301", "/a \"b\"", "/c\\d", "\\e"]
        );
        assert_eq!(words(" "), [""; 0]);
    }
}
