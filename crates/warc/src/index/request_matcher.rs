//! Matches requests with the captures of their responses.
//!
//! Method and body of a request other than GET are part of the key of its response. The two records
//! stand near each other, and either one may refer to the other by `WARC-Concurrent-To`. So a capture
//! is held back until some more records have been read.

use std::collections::VecDeque;

use crate::header::Header;
use crate::header::id::strip_brackets;
use crate::http::StoredRequest;

/// Limit of the number of records between a request and its response.
const MAX_DISTANCE: usize = 16;

/// The last few records of a file; `T` is what the caller knows of a capture among them.
pub(crate) struct RequestMatcher<T>(VecDeque<RecentRecord<T>>);

/// A record that a later one may belong to.
struct RecentRecord<T> {
    id: String,
    concurrent_to: Vec<String>,
    capture: Option<T>,
    request: Option<StoredRequest>,
}

impl<T> Default for RequestMatcher<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> RequestMatcher<T> {
    /// Adds the next record, with its capture or request if it has one. Calls `set_request` for each
    /// capture whose request is not a GET. Returns a capture that no later request can belong to.
    pub(crate) fn add(
        &mut self,
        header: &Header,
        capture: Option<T>,
        request: Option<StoredRequest>,
        set_request: impl Fn(&mut T, &StoredRequest),
    ) -> Option<T> {
        let mut new = RecentRecord {
            id: id(header),
            concurrent_to: concurrent_to(header),
            capture,
            request: request.filter(|request| !request.is_get()),
        };
        for old in &mut self.0 {
            if !old.belongs_to(&new) {
                continue;
            }
            for (capture, request) in [
                (&mut old.capture, &new.request),
                (&mut new.capture, &old.request),
            ] {
                if let (Some(capture), Some(request)) = (capture, request) {
                    set_request(capture, request);
                }
            }
        }
        self.0.push_back(new);
        if self.0.len() <= MAX_DISTANCE {
            return None;
        }
        self.0.pop_front()?.capture
    }

    /// Ends the file and returns the captures held back.
    pub(crate) fn end_file(&mut self) -> impl Iterator<Item = T> + use<T> {
        let rest = std::mem::take(&mut self.0);
        rest.into_iter().filter_map(|record| record.capture)
    }
}

impl<T> RecentRecord<T> {
    fn belongs_to(&self, other: &Self) -> bool {
        self.concurrent_to.contains(&other.id) || other.concurrent_to.contains(&self.id)
    }
}

fn id(header: &Header) -> String {
    let id = header.get("WARC-Record-ID").unwrap_or_default();
    strip_brackets(id).to_owned()
}

fn concurrent_to(header: &Header) -> Vec<String> {
    header
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("WARC-Concurrent-To"))
        .map(|(_, value)| strip_brackets(value).to_owned())
        .collect()
}
