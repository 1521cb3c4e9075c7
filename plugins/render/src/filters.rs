//! Template filters for numbers, times and URLs.

use std::fmt::{self, Write};

use jiff::Timestamp;
use minijinja::value::Value;
use minijinja::{Environment, Error, ErrorKind, HtmlEscape, escape_formatter};

use crate::compose::without_scheme;
use crate::markdown;
use crate::numbers;
use crate::text;

/// Adds the filters. templates/email.html describes them for people who write templates.
pub(crate) fn add_to(environment: &mut Environment<'static>) {
    environment.add_filter("number", numbers::number);
    environment.add_filter("plural", plural);
    environment.add_filter("bytes", |bytes: u64| {
        numbers::with_spaces(&numbers::size(bytes))
    });
    environment.add_filter("duration", |milliseconds: u64| {
        numbers::with_spaces(&numbers::elapsed(milliseconds))
    });
    environment.add_filter("moment", |text: &str| timestamp(text, "%Y-%m-%d %H:%M UTC"));
    environment.add_filter("day", |text: &str| timestamp(text, "%Y-%m-%d"));
    environment.add_filter("breakable", |text: &str| {
        Value::from_safe_string(breakable(text))
    });
    environment.add_filter("command", |line: &str| {
        Value::from_safe_string(command(line))
    });
    environment.add_filter("code", markdown::code);
    environment.add_filter("bare", |url: &str| bare(url).to_owned());
    environment.add_filter("inert", markdown::inert);
    environment.add_filter("shorten", |long: &str, limit: usize| {
        text::shorten(long, limit)
    });
    environment.add_filter("utf16", |text: &str| text.encode_utf16().count());
    environment.add_filter("fitting", fitting);
}

/// The first lines that fit into `limit`, each with a separator of `extra`. `unit` is the unit in which the
/// service counts: `utf16` (code units, which are at least as many as characters), `bytes`, or `json` (bytes of
/// the text in JSON).
fn fitting(
    lines: Vec<String>,
    limit: usize,
    unit: &str,
    extra: usize,
) -> Result<Vec<String>, Error> {
    let measure = match unit {
        "utf16" => |line: &str| line.encode_utf16().count(),
        "bytes" => str::len,
        "json" => |line: &str| serde_json::Value::from(line).to_string().len(),
        _ => {
            let text = format!("unknown unit {unit:?}; known are utf16, bytes, json");
            return Err(Error::new(ErrorKind::InvalidOperation, text));
        }
    };
    let mut size = limit;
    let fits = |line: &String| {
        let rest = size.checked_sub(measure(line).saturating_add(extra));
        size = rest.unwrap_or_default();
        rest.is_some()
    };
    Ok(lines.into_iter().take_while(fits).collect())
}

/// Deepest nesting of loops and macros while a template is rendered; a call of a macro counts as four.
const DEEPEST: usize = 64;

/// Bounds what a template keeps in memory.
///
/// - minijinja's filters whose result can be far larger than what they are given: `replace` and `join`
///   are bounded, and the filters that take a width or a count are left out.
/// - minijinja has no limit for `~` and `+`. Without `namespace`, no value goes from one turn of a loop
///   to the next, so that no loop can double a text again and again. A macro that calls itself can,
///   as often as [`DEEPEST`] allows.
/// - What a macro or a `set` block prints is no output yet, so that the formatter counts it.
pub(crate) fn bound(environment: &mut Environment<'static>, limit: usize) {
    environment.remove_global("namespace");
    environment.set_recursion_limit(DEEPEST);
    environment.set_formatter(move |out, state, value| {
        let mut length = Length { counted: 0, limit };
        // A value that fails in other ways fails again below.
        let _ = write!(length, "{value}");
        let printed = state
            .get_temp(PRINTED)
            .and_then(|value| value.as_usize())
            .unwrap_or_default()
            .saturating_add(length.counted);
        within(printed, limit)?;
        state.set_temp(PRINTED, Value::from(printed));
        escape_formatter(out, state, value)
    });
    environment.add_filter("replace", move |text: &str, from: &str, to: &str| {
        let added = text.matches(from).count().saturating_mul(to.len());
        within(text.len().saturating_add(added), limit)?;
        Ok::<_, Error>(text.replace(from, to))
    });
    environment.add_filter(
        "join",
        move |items: Value, separator: Option<&str>| -> Result<String, Error> {
            let mut joined = String::new();
            for (index, item) in items.try_iter()?.enumerate() {
                if index > 0 {
                    joined.push_str(separator.unwrap_or_default());
                }
                match item.as_str() {
                    Some(text) => joined.push_str(text),
                    None => joined.push_str(&item.to_string()),
                }
                within(joined.len(), limit)?;
            }
            Ok(joined)
        },
    );
    for name in ["indent", "format", "batch", "slice"] {
        environment.remove_filter(name);
    }
}

/// The name of the number of bytes that a rendering has printed so far.
const PRINTED: &str = "printed";

/// Counts the bytes of a text, which is written no further than to the limit.
struct Length {
    counted: usize,
    limit: usize,
}

impl fmt::Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.counted = self.counted.saturating_add(text.len());
        if self.counted > self.limit {
            return Err(fmt::Error);
        }
        Ok(())
    }
}

fn within(length: usize, limit: usize) -> Result<(), Error> {
    if length <= limit {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidOperation, too_large(limit)))
}

/// The message about a text beyond the limit, in bytes.
pub(crate) fn too_large(limit: usize) -> String {
    format!("the text would have more than {} MiB", limit >> 20)
}

/// The text as HTML, in which a line may end after every slash of a URL or path.
fn breakable(text: &str) -> String {
    let escaped = HtmlEscape(text).to_string();
    // A slash in plain sight is as safe as its escape.
    let escaped = escaped.replace("&#x2f;", "/");
    let (scheme, rest) = match escaped.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), escaped.as_str()),
    };
    let (first, rest) = match rest.strip_prefix('/') {
        Some(rest) => ("/", rest),
        None => ("", rest),
    };
    let (rest, last) = match rest.strip_suffix('/') {
        Some(rest) => (rest, "/"),
        None => (rest, ""),
    };
    let broken = rest.replace('/', "/<wbr>");
    format!("{scheme}{first}{broken}{last}")
}

/// A command line as HTML: a line may end between words, and within a URL.
fn command(line: &str) -> String {
    line.split(' ')
        .map(|word| {
            if word.contains("://") {
                breakable(word)
            } else {
                format!(
                    "<span style=\"white-space:nowrap\">{}</span>",
                    HtmlEscape(word)
                )
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// `1|plural("URL")` → `1 URL`, `2|plural("URL")` → `2 URLs`. A second argument gives an irregular
/// plural.
fn plural(count: u64, one: &str, many: Option<&str>) -> String {
    match many {
        Some(many) if count != 1 => format!("{} {many}", numbers::number(count)),
        _ => numbers::counted(count, one),
    }
}

fn timestamp(text: &str, format: &str) -> Result<String, Error> {
    let timestamp: Timestamp = text.parse().map_err(|error| {
        Error::new(
            ErrorKind::InvalidOperation,
            format!("not a timestamp: {text:?}"),
        )
        .with_source(error)
    })?;
    Ok(timestamp.strftime(format).to_string())
}

/// A URL without scheme and final slash: `https://example.org/a` → `example.org/a`.
fn bare(url: &str) -> &str {
    without_scheme(url).trim_end_matches('/')
}
