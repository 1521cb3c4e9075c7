//! Tag resolution of plain scalars in YAML 1.1: the reason why some texts need quotes.
//!
//! `PyYAML` matches a plain scalar against patterns, and reads a scalar that matches as a number, a
//! boolean, null or a timestamp. The functions below are those patterns.

/// Whether `PyYAML` reads a plain scalar with this text as text.
pub(crate) fn reads_as_text(text: &str) -> bool {
    let Some(first) = text.bytes().next() else {
        return false;
    };
    match first {
        b'0'..=b'9' if !may_be_number(text) => true,
        b'0'..=b'9' | b'+' | b'-' | b'.' => {
            !is_integer(text) && !is_float(text) && !is_timestamp(text)
        }
        b'y' | b'Y' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' => parse_boolean(text).is_none(),
        b'n' | b'N' => parse_boolean(text).is_none() && !matches!(text, "null" | "Null" | "NULL"),
        b'~' | b'=' => text.len() > 1,
        b'<' => text != "<<",
        _ => true,
    }
}

/// Whether a plain scalar with this text is a number in the core schema of YAML 1.2: `1e3`, `0o7`, `08`.
pub(crate) fn is_number(text: &str) -> bool {
    if let Some(digits) = text.strip_prefix("0o") {
        return all(digits, |byte| matches!(byte, b'0'..=b'7'));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return all(digits, |byte| byte.is_ascii_hexdigit());
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let text = unsigned(text);
    if matches!(text, ".inf" | ".Inf" | ".INF") {
        return true;
    }
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(unsigned(exponent))),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    has_digits
        && whole.bytes().chain(fraction.bytes()).all(is_digit)
        && exponent.is_none_or(|exponent| all(exponent, is_digit))
}

/// The boolean of a text, in the spellings of YAML 1.1, which `PyYAML` reads.
pub(crate) fn parse_boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Whether a text that starts with a digit goes on after its first digits as a number or a timestamp
/// does. Most digests do not.
fn may_be_number(text: &str) -> bool {
    match text.bytes().find(|byte| !is_digit_or_underscore(*byte)) {
        None | Some(b':' | b'.' | b'-') => true,
        Some(byte) => text.starts_with('0') && matches!(byte, b'b' | b'x'),
    }
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['+', '-']).unwrap_or(text)
}

/// Whether `text` is not empty and `accept` holds for every byte.
fn all(text: &str, accept: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(accept)
}

fn starts_with_digit(text: &str) -> bool {
    text.bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_digit())
}

fn is_digit_or_underscore(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

/// `0b1`, `0x1f`, `017`, `1_000`, and base 60: `1:30`.
fn is_integer(text: &str) -> bool {
    let text = unsigned(text);
    if let Some(digits) = text.strip_prefix("0b") {
        return all(digits, |byte| matches!(byte, b'0' | b'1' | b'_'));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return all(digits, |byte| byte.is_ascii_hexdigit() || byte == b'_');
    }
    if let Some(digits) = text.strip_prefix('0') {
        return digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'7' | b'_'));
    }
    starts_with_digit(text) && is_sexagesimal(text, Base60Parts::Optional)
}

/// Whether [`is_sexagesimal`] requires a `:59` part.
#[derive(Clone, Copy, PartialEq)]
enum Base60Parts {
    Optional,
    Required,
}

/// Digits and underscores, then `:59` parts.
fn is_sexagesimal(text: &str, parts: Base60Parts) -> bool {
    let mut fields = text.split(':');
    let head = fields.next().unwrap_or_default();
    let has_parts = head.len() < text.len();
    all(head, is_digit_or_underscore)
        && (has_parts || parts == Base60Parts::Optional)
        && fields.all(|field| match field.as_bytes() {
            [ones] => ones.is_ascii_digit(),
            [tens, ones] => matches!(tens, b'0'..=b'5') && ones.is_ascii_digit(),
            _ => false,
        })
}

/// `1.5`, `1.5e+3`, `.5`, `1:30.5`, `.inf`, `.nan`; not `1e5`.
fn is_float(text: &str) -> bool {
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let signed = text.len() > unsigned(text).len();
    let text = unsigned(text);
    if matches!(text, ".inf" | ".Inf" | ".INF") {
        return true;
    }
    let Some((whole, rest)) = text.split_once('.') else {
        return false;
    };
    let (fraction, exponent) = split_exponent(rest);
    if whole.is_empty() {
        return !signed
            && exponent
            && starts_with_digit(fraction)
            && all(fraction, is_digit_or_underscore);
    }
    if !starts_with_digit(whole) {
        return false;
    }
    let no_exponent = fraction.len() == rest.len();
    fraction.bytes().all(is_digit_or_underscore)
        && ((exponent && whole.bytes().all(is_digit_or_underscore))
            || (no_exponent && is_sexagesimal(whole, Base60Parts::Required)))
}

/// The digits before an exponent, and whether the exponent, if any, is well formed: `e+3`.
fn split_exponent(text: &str) -> (&str, bool) {
    match text.find(['e', 'E']) {
        None => (text, true),
        Some(at) => {
            let exponent = &text[at + 1..];
            let digits = unsigned(exponent);
            (
                &text[..at],
                digits.len() < exponent.len() && all(digits, |byte| byte.is_ascii_digit()),
            )
        }
    }
}

/// Removes up to `max` digits from the front; `None` if there are fewer than `min`.
fn digits(text: &str, min: usize, max: usize) -> Option<&str> {
    let count = text
        .bytes()
        .take(max)
        .take_while(u8::is_ascii_digit)
        .count();
    (count >= min).then(|| &text[count..])
}

/// `2019-01-01`, `2019-1-1 1:02:03.5 +1:00`.
fn is_timestamp(text: &str) -> bool {
    is_date(text).is_some() || is_date_and_time(text).is_some()
}

fn is_date(text: &str) -> Option<()> {
    let text = digits(text, 4, 4)?.strip_prefix('-')?;
    let text = digits(text, 2, 2)?.strip_prefix('-')?;
    digits(text, 2, 2)?.is_empty().then_some(())
}

fn is_date_and_time(text: &str) -> Option<()> {
    let text = digits(text, 4, 4)?.strip_prefix('-')?;
    let text = digits(text, 1, 2)?.strip_prefix('-')?;
    let text = digits(text, 1, 2)?;
    let text = match text.strip_prefix(['T', 't']) {
        Some(time) => time,
        None => text
            .strip_prefix([' ', '\t'])?
            .trim_start_matches([' ', '\t']),
    };
    let text = digits(text, 1, 2)?.strip_prefix(':')?;
    let text = digits(text, 2, 2)?.strip_prefix(':')?;
    let text = digits(text, 2, 2)?;
    let text = match text.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|char: char| char.is_ascii_digit()),
        None => text,
    };
    (text.is_empty() || is_zone(text.trim_start_matches([' ', '\t']))).then_some(())
}

fn is_zone(text: &str) -> bool {
    if text == "Z" {
        return true;
    }
    let hours = unsigned(text);
    let Some(rest) = digits(hours, 1, 2) else {
        return false;
    };
    let minutes = rest.strip_prefix(':').map(|minutes| digits(minutes, 2, 2));
    hours.len() < text.len() && (rest.is_empty() || minutes == Some(Some("")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_no_number_at_first_sight_matches_no_pattern(
            text in "[0-9][0-9_:.+-]{0,9}[0-9_a-fxTtZ:.+ -]{0,12}|0[bx][0-9a-f_]{0,9}|[0-9a-f]{8}",
        ) {
            let is_text = !is_integer(&text) && !is_float(&text) && !is_timestamp(&text);
            prop_assert_eq!(reads_as_text(&text), is_text);
        }
    }
}
