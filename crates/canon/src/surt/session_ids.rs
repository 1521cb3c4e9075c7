//! Removal of session ids that servers put into URLs.
//!
//! Each function removes the last match of each known form, once, in the order of surt. surt uses
//! regular expressions that backtrack. This code takes linear time, since URLs can be hostile.

/// Removes `(S(24 letters or digits))/` and `(24 letters or digits)/` from the path of an `.aspx` page.
pub(super) fn without_path_session(path: Vec<u8>) -> Vec<u8> {
    [
        cookieless_groups as fn(&[u8]) -> Option<usize>,
        plain_session,
    ]
    .into_iter()
    .fold(path, without_segment)
}

fn without_segment(mut path: Vec<u8>, length_of: fn(&[u8]) -> Option<usize>) -> Vec<u8> {
    let page = before_aspx(&path);
    let found = (0..path.len())
        .rev()
        .filter(|&at| path[at] == b'/')
        .find_map(|slash| {
            let start = slash + 1;
            let end = start + length_of(&path[start..])?;
            page.get(end)
                .is_some_and(|&page| page)
                .then_some(start..end)
        });
    if let Some(range) = found {
        path.drain(range);
    }
    path
}

/// For each position, whether `[^?]+\.aspx` matches there.
fn before_aspx(path: &[u8]) -> Vec<bool> {
    let mut matches = vec![false; path.len()];
    // Whether `.aspx` comes before `?` in the text after the position.
    let mut ahead = false;
    for at in (0..path.len()).rev() {
        matches[at] = ahead && path[at] != b'?';
        if path[at] == b'?' {
            ahead = false;
        } else if starts_with_any_case(&path[at..], b".aspx") {
            ahead = true;
        }
    }
    matches
}

/// The length of `((` letter `(` 24 `)` … `)/` at the start of `path`.
fn cookieless_groups(path: &[u8]) -> Option<usize> {
    let mut rest = path.strip_prefix(b"(")?;
    let mut groups = 0;
    while let [letter, after @ ..] = rest
        && letter.is_ascii_alphabetic()
        && let Some(length) = parenthesized(after)
    {
        rest = &after[length..];
        groups += 1;
    }
    let rest = rest.strip_prefix(b")/").filter(|_| groups > 0)?;
    Some(path.len() - rest.len())
}

fn plain_session(path: &[u8]) -> Option<usize> {
    let length = parenthesized(path)?;
    (path.get(length) == Some(&b'/')).then_some(length + 1)
}

fn parenthesized(path: &[u8]) -> Option<usize> {
    let inner = path.get(1..25)?;
    let matches = path[0] == b'(' && path.get(25) == Some(&b')');
    (matches && inner.iter().all(u8::is_ascii_alphanumeric)).then_some(26)
}

/// Removes the session parameters of Java, PHP, ASP and `ColdFusion`, and `sid`.
pub(super) fn without_query_session(query: Vec<u8>) -> Vec<u8> {
    let id32 = |name: &'static [u8]| {
        move |at: &[u8]| {
            strip_any_case(at, name)?
                .get(..32)?
                .iter()
                .all(u8::is_ascii_alphanumeric)
                .then_some(name.len() + 32)
        }
    };
    let query = without_parameter(query, id32(b"jsessionid="));
    let query = without_parameter(query, id32(b"phpsessid="));
    let query = without_parameter(query, id32(b"sid="));
    let query = without_parameter(query, asp_session);
    without_coldfusion(query)
}

fn without_parameter(query: Vec<u8>, length_of: impl Fn(&[u8]) -> Option<usize>) -> Vec<u8> {
    let found = (0..query.len()).rev().find_map(|start| {
        let end = start + length_of(&query[start..])?;
        matches!(query.get(end), None | Some(b'&')).then_some(start..end)
    });
    remove_parameter(query, found)
}

/// Removes a parameter and the separator after it; the separator before it stays.
fn remove_parameter(mut query: Vec<u8>, found: Option<std::ops::Range<usize>>) -> Vec<u8> {
    if let Some(range) = found {
        let end = (range.end + 1).min(query.len());
        query.drain(range.start..end);
    }
    query
}

fn asp_session(at: &[u8]) -> Option<usize> {
    let rest = strip_any_case(at, b"aspsessionid")?;
    let id = rest.get(..33)?;
    let matches = id[8] == b'=' && id[..8].iter().chain(&id[9..]).all(u8::is_ascii_alphabetic);
    matches.then_some(at.len() - rest.len() + 33)
}

/// Removes `cfid=…&cftoken=…` where both values have text.
fn without_coldfusion(query: Vec<u8>) -> Vec<u8> {
    // The ends of the current parameter and of the next one.
    let (mut end, mut next_end) = (query.len(), query.len());
    let mut found = None;
    for start in (0..query.len()).rev() {
        if query[start] == b'&' {
            (end, next_end) = (start, end);
            continue;
        }
        let is_id =
            strip_any_case(&query[start..end], b"cfid=").is_some_and(|value| !value.is_empty());
        let token = query
            .get(end + 1..next_end)
            .and_then(|token| strip_any_case(token, b"cftoken="));
        if is_id && token.is_some_and(|value| !value.is_empty()) {
            found = Some(start..next_end);
            break;
        }
    }
    remove_parameter(query, found)
}

fn strip_any_case<'a>(bytes: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    starts_with_any_case(bytes, prefix).then(|| &bytes[prefix.len()..])
}

fn starts_with_any_case(bytes: &[u8], prefix: &[u8]) -> bool {
    bytes
        .get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}
