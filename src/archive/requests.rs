//! Tells apart requests that share a key of the index.
//!
//! A key has the request in lower case and only its first 4,096 characters, and leaves out what is no
//! good JSON. So the request of a capture is read from its own record, and compared with the request
//! that is asked for.

use anyhow::Context;
use serde_json::Value;
use urldb_warc::capture::{MAX_DISTANCE, RecordNames, other_request};
use urldb_warc::http::{MAX_REQUEST_BODY, StoredRequest};
use urldb_warc::{CdxjLine, Record, RecordType};

use super::files::OpenedFile;
use super::keys::key_of;
use super::{Catalogue, IndexedCapture, date};

impl Catalogue {
    /// Keeps the captures that answer exactly this request; all of them for a GET.
    ///
    /// # Errors
    /// When a capture has no request in the archive, or when a file is damaged or missing.
    pub(super) fn retain_answers(
        &self,
        captures: &mut Vec<IndexedCapture>,
        asked: Option<&StoredRequest>,
    ) -> anyhow::Result<()> {
        let Some(asked) = asked.filter(|asked| key_of("", Some(asked)) != key_of("", None)) else {
            return Ok(());
        };
        let mut answers = Vec::with_capacity(captures.len());
        for capture in captures.drain(..) {
            let stored = self.request_of(&capture.line)?.with_context(|| {
                format!(
                    "the archive does not have the request of the capture of {} of {}, so urldb cannot tell \
                     whether it answers this {}",
                    date::shown(&capture.line.timestamp),
                    capture.line.url,
                    asked.method
                )
            })?;
            if stored.is(asked) {
                answers.push(capture);
            }
        }
        *captures = answers;
        Ok(())
    }

    /// The request of a capture. It stands near the capture, in most archives after it.
    fn request_of(&self, line: &CdxjLine) -> anyhow::Result<Option<WholeRequest>> {
        let path = self.file_of(line);
        let place = || format!("cannot use {}", path.display());
        let mut reader = self.files.reader_at(&line.filename, line.extent.offset)?;
        let Some(record) = reader.next_record().with_context(place)? else {
            return Ok(None);
        };
        let response = RecordNames::of(record.header());
        record.finish().with_context(place)?;
        for _ in 0..MAX_DISTANCE {
            let Some(record) = reader.next_record().with_context(place)? else {
                break;
            };
            if let Some(request) = request_in(record, &response).with_context(place)? {
                return Ok(Some(request));
            }
        }
        let mut reader = self.files.reader_at(&line.filename, 0)?;
        let request = other_request(&mut reader, line.extent.offset).with_context(place)?;
        Ok(request.map(|request| WholeRequest {
            is_cut: request.body.len() >= MAX_REQUEST_BODY,
            request,
        }))
    }
}

/// The request in a record, if it is a request and belongs to this response.
fn request_in(
    mut record: Record<'_, OpenedFile>,
    response: &RecordNames,
) -> anyhow::Result<Option<WholeRequest>> {
    let is_request = record.record_type() == Some(RecordType::Request);
    if !is_request || !RecordNames::of(record.header()).are_related(response) {
        record.finish()?;
        return Ok(None);
    }
    let read = StoredRequest::read_with_rest(&mut record).map_err(|error| record.fault(error))?;
    record.finish()?;
    Ok(read.map(|(request, is_cut)| WholeRequest { request, is_cut }))
}

/// A request as archived.
struct WholeRequest {
    request: StoredRequest,
    /// Whether its body may be longer than a [`StoredRequest`] has.
    is_cut: bool,
}

impl WholeRequest {
    /// Whether the request is the one that is asked for: the same method, media type and body. JSON
    /// and forms may be written in other words.
    fn is(&self, asked: &StoredRequest) -> bool {
        let stored = &self.request;
        let (kind, asked_kind) = (essence(&stored.content_type), essence(&asked.content_type));
        stored.method == asked.method
            && !self.is_cut
            && (asked_kind.is_empty() || kind == asked_kind)
            && (stored.body == asked.body || means_the_same(&kind, &stored.body, &asked.body))
    }
}

/// The media type without parameters, in lower case.
fn essence(content_type: &str) -> String {
    content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}

/// Whether two bodies of this media type have the same content.
fn means_the_same(kind: &str, one: &[u8], other: &[u8]) -> bool {
    match kind {
        "application/x-www-form-urlencoded" => {
            let pairs = |body| {
                let mut pairs: Vec<_> = url::form_urlencoded::parse(body).into_owned().collect();
                pairs.sort();
                pairs
            };
            let are_text = std::str::from_utf8(one).is_ok() && std::str::from_utf8(other).is_ok();
            are_text && pairs(one) == pairs(other)
        }
        "application/json" | "text/plain" => {
            let parsed = |body| serde_json::from_slice::<Value>(body).ok();
            parsed(one)
                .zip(parsed(other))
                .is_some_and(|(one, other)| is_same_json(&one, &other))
        }
        _ => false,
    }
}

/// Whether two JSON values are the same; 1.0 is 1.
fn is_same_json(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let are_integers = !one.is_f64() && !other.is_f64();
            one == other || !are_integers && one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| is_same_json(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_in_other = |(name, one)| {
                other
                    .get(name)
                    .is_some_and(|other| is_same_json(one, other))
            };
            one.len() == other.len() && one.iter().all(is_in_other)
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "application/x-www-form-urlencoded";

    fn is_same(content_type: &str, one: &str, other: &str) -> bool {
        let request = |body: &str| StoredRequest {
            method: "POST".to_owned(),
            content_type: content_type.to_owned(),
            body: body.as_bytes().to_owned(),
        };
        let stored = WholeRequest {
            request: request(one),
            is_cut: false,
        };
        stored.is(&request(other))
    }

    #[test]
    fn the_same_in_other_words_is_the_same() {
        for (content_type, one, other) in [
            (
                "application/json",
                r#"{"a": [1, "x"]}"#,
                r#"{"a":[1.0,"x"]}"#,
            ),
            (
                "application/json; charset=utf-8",
                r#"{"a":1,"b":2}"#,
                r#"{"b":2,"a":1}"#,
            ),
            (FORM, "a=b&c=d+e", "c=d%20e&a=b"),
            ("a/b", "x", "x"),
        ] {
            assert!(is_same(content_type, one, other), "{one} {other}");
        }
    }

    #[test]
    fn what_only_the_index_calls_the_same_is_another() {
        let long = "x".repeat(5000);
        for (content_type, one, other) in [
            ("application/json", r#"{"a":"X"}"#, r#"{"a":"x"}"#),
            ("application/json", "no JSON", "none either"),
            ("application/json", "9007199254740993", "9007199254740992"),
            ("application/json", "[1,2]", "[2,1]"),
            (FORM, "q=A", "q=a"),
            (FORM, "a=1", "a=1&a=1"),
            ("a/b", &(long.clone() + "y"), &(long.clone() + "z")),
        ] {
            assert!(!is_same(content_type, one, other), "{one} {other}");
        }
    }

    #[test]
    fn method_type_and_length_count() {
        let request = |method: &str, content_type: &str| StoredRequest {
            method: method.to_owned(),
            content_type: content_type.to_owned(),
            body: b"1".to_vec(),
        };
        let stored = |is_cut| WholeRequest {
            request: request("POST", "text/plain"),
            is_cut,
        };
        assert!(stored(false).is(&request("POST", "Text/Plain;x=y")));
        assert!(stored(false).is(&request("POST", "")));
        assert!(!stored(false).is(&request("PUT", "text/plain")));
        assert!(!stored(false).is(&request("POST", "application/json")));
        assert!(!stored(true).is(&request("POST", "text/plain")));
    }
}
