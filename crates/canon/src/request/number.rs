//! JSON numbers as JavaScript and Python write them.

use std::fmt::Write as _;

/// The most digits of an integer that Python converts.
const PYTHON_DIGITS: usize = 4300;

/// The number `literal` as `toString` of JavaScript writes it.
pub(super) fn javascript(literal: &str) -> String {
    let number: f64 = literal.parse().unwrap_or(f64::NAN);
    ryu_js::Buffer::new().format(number).to_owned()
}

/// The number `literal` as pywb writes it: whole numbers with all digits, others as in Python.
/// `None` where Python raises an exception.
pub(super) fn pywb(literal: &str) -> Option<String> {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let text = if digits == "0" { digits } else { literal };
        return (digits.len() <= PYTHON_DIGITS).then(|| text.to_owned());
    }
    let number: f64 = literal.parse().ok()?;
    if number.is_nan() {
        return Some("nan".to_owned());
    }
    if number.is_infinite() {
        return None;
    }
    if number == 0.0 {
        return Some("0".to_owned());
    }
    if number.fract() == 0.0 {
        return Some(format!("{number:.0}"));
    }
    if number.abs() >= 1e-4 {
        // Of two shortest texts that are equally close, both languages choose the even one; Rust does not.
        return Some(ryu_js::Buffer::new().format(number).to_owned());
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once("e-")?;
    let mut text = format!("{mantissa}e-");
    // Writing to a string does not fail.
    let _ = write!(text, "{exponent:0>2}");
    Some(text)
}
