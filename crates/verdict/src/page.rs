//! Pages that stand in for the content: block pages without a rule, soft 404s, login pages.
//!
//! No text marks such a page. But it is HTML where the promise or the URL names another type, or its
//! status says that it is not the content.

use url::Url;

use crate::job::Promise;
use crate::media_type::media_types;
use crate::observation::{Hop, Observation};

/// The endings of paths that servers use for HTML pages.
const PAGE_ENDINGS: [&str; 16] = [
    "asp", "aspx", "cfm", "cgi", "do", "htm", "html", "jsp", "mvc", "php", "php3", "phtml", "pl",
    "py", "shtml", "xhtml",
];

/// Longest ending of a path that names a type, in bytes.
const LONGEST_ENDING: usize = 8;

/// The trait that makes the last response doubtful as evidence of a change, for people: words that follow
/// "answers with".
pub(super) fn doubt(promise: &Promise, seen: &Observation) -> Option<String> {
    let (first, last) = (seen.first()?, seen.last()?);
    if last.status == 202 {
        return Some("202, which promises an answer for later".to_owned());
    }
    let other = other_type(promise, &first.url)?;
    is_html(last).then(|| format!("an HTML page in place of {other}"))
}

/// Why a status says that its response is not the content, for people.
pub(super) fn no_content(last: &Hop) -> Option<String> {
    let why = match last.status {
        202 => "the content may come later",
        203 => "a proxy has changed the content",
        204 | 205 => "there is no content",
        300 => "it is a list of choices",
        _ if last.sent.method == "HEAD" => "an answer to HEAD has no content",
        _ => return None,
    };
    Some(format!(
        "answers {}, which cannot be promised: {why}",
        last.status
    ))
}

/// Words of a title that demand cookies, beside "cookie".
const DEMANDS_IN_TITLE: [&str; 6] = [
    "absent",
    "disabled",
    "enable",
    "need",
    "not support",
    "require",
];

/// Words of a short page that demand cookies. The banner of an honest page asks to accept them.
const DEMANDS: [&str; 12] = [
    "cookies and javascript",
    "cookies are disabled",
    "cookies are required",
    "cookies must be",
    "cookies need to be",
    "cookies to be enabled",
    "does not accept cookies",
    "enable cookies",
    "javascript and cookies",
    "please accept cookies",
    "requires cookies",
    "turn on cookies",
];

/// Whether the last response is a good HTML page that says no more than that it needs cookies: in its title, or, if
/// it is shorter than what is kept of each page, in its text.
pub(super) fn demands_cookies(seen: &Observation) -> bool {
    let is_page = |last: &Hop| (200..300).contains(&last.status) && is_html(last);
    if !seen.last().is_some_and(is_page) {
        return false;
    }
    let text = String::from_utf8_lossy(&seen.start).to_ascii_lowercase();
    let title = text
        .split_once("<title")
        .map(|(_, rest)| rest)
        .and_then(|rest| rest.split("</title").next());
    let title = title.filter(|title| title.contains("cookie"));
    let kept = u64::try_from(seen.start.len()).unwrap_or(u64::MAX);
    let is_short = seen.body.as_ref().is_some_and(|body| body.length <= kept);
    title.is_some_and(|title| DEMANDS_IN_TITLE.iter().any(|word| title.contains(word)))
        || is_short && DEMANDS.iter().any(|words| text.contains(words))
}

/// The type other than HTML that the record promises, or that the URL ends in.
fn other_type(promise: &Promise, url: &str) -> Option<String> {
    match &promise.content_type {
        Some(promised) if promise.redirect_status.is_none() => {
            (!is_html_type(promised)).then(|| promised.clone())
        }
        _ => ending(url).map(|ending| format!("a file that ends in .{ending}")),
    }
}

/// The ending of a URL's path, in lower case, unless pages have it.
fn ending(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let (_, name) = url.path().rsplit_once('/')?;
    let (_, ending) = name.rsplit_once('.')?;
    let ending = ending.to_ascii_lowercase();
    let is_ending = (1..=LONGEST_ENDING).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic());
    (is_ending && !PAGE_ENDINGS.contains(&ending.as_str())).then_some(ending)
}

fn is_html(last: &Hop) -> bool {
    media_types(last).iter().any(|value| is_html_type(value))
}

fn is_html_type(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    ["text/html", "application/xhtml+xml"]
        .iter()
        .any(|html| essence.eq_ignore_ascii_case(html))
}

#[cfg(test)]
mod tests {
    use super::ending;

    #[test]
    fn endings_of_pages_and_numbers_name_no_other_type() {
        for (url, expected) in [
            ("http://a.test/data.CSV?x=y.html", Some("csv")),
            ("http://a.test/a.b/data.tar.gz", Some("gz")),
            ("http://a.test/m51.7z", Some("7z")),
            ("http://a.test/index.html", None),
            ("http://a.test/index.PHP", None),
            ("http://a.test/v1.2", None),
            ("http://a.test/a.csv/", None),
            ("http://a.test/file", None),
            ("http://a.test/file.", None),
            ("http://a.test/a.sentence of it", None),
            ("http://a.test", None),
        ] {
            assert_eq!(ending(url).as_deref(), expected, "{url}");
        }
    }
}
