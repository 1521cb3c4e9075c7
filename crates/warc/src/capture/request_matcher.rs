//! Matches requests with the captures of their responses.
//!
//! Method and body of a request other than GET are part of the key of its response. The two records
//! stand near each other, and either one may refer to the other by `WARC-Concurrent-To`. Without such a field, a request
//! belongs to a capture of its URL with the same date or a later one. If it may belong to several, all of them count as
//! its answers, so that no answer to another request is taken for one to GET. So a capture is held back until some more
//! records have been read.

use super::related::RelatedRecords;
use crate::cdxj::{CdxjLine, date_of};
use crate::header::{Header, RecordType, WarcDate};
use crate::http::StoredRequest;

/// The last few records of a file; `T` is what the caller knows of a capture among them.
pub struct RequestMatcher<T>(RelatedRecords<RecentRecord<T>>);

/// A record that a later one may belong to.
struct RecentRecord<T> {
    capture: Option<T>,
    request: Option<StoredRequest>,
    is_request: bool,
    /// A request or a capture without its counterpart, if the record names no other one.
    lone: Option<UrlAndTime>,
}

struct UrlAndTime {
    url: Option<String>,
    /// `YYYYMMDDhhmmss`, since some programs write a fraction of a second in one of two records only.
    timestamp: Option<String>,
}

impl<T> Default for RequestMatcher<T> {
    fn default() -> Self {
        Self(RelatedRecords::default())
    }
}

impl<T> RequestMatcher<T> {
    /// Adds the next record, with its capture or request if it has one. Calls `set_request` for each
    /// capture whose request is not a GET. Returns a capture that no later request can belong to.
    pub fn add(
        &mut self,
        header: &Header,
        capture: Option<T>,
        request: Option<StoredRequest>,
        set_request: impl Fn(&mut T, &StoredRequest),
    ) -> Option<T> {
        let new = RecentRecord::of(header, capture, request);
        let mut is_named = false;
        let passed = self.0.add(header, new, |old, new| {
            is_named = true;
            old.join(new, &set_request);
        });
        if !is_named {
            self.join_near(&set_request);
        }
        passed?.capture
    }

    /// Joins the last record with those that it may belong to by URL and date.
    fn join_near(&mut self, set_request: &impl Fn(&mut T, &StoredRequest)) {
        let Some((new, earlier)) = self.0.last() else {
            return;
        };
        let mut near: Vec<&mut RecentRecord<T>> = earlier.filter(|old| old.is_near(new)).collect();
        if near.iter().any(|old| old.has_time_of(new)) {
            near.retain(|old| old.has_time_of(new));
        }
        let is_certain = near.len() == 1;
        for old in near {
            if is_certain {
                old.join(new, set_request);
            } else {
                old.share(new, set_request);
            }
        }
    }

    /// Ends the file and returns the captures held back.
    pub fn end_file(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.0.end_file().filter_map(|record| record.capture)
    }
}

impl<T> RecentRecord<T> {
    fn of(header: &Header, capture: Option<T>, request: Option<StoredRequest>) -> Self {
        let names_none = header.get("WARC-Concurrent-To").is_none();
        let is_request = header.record_type() == Some(RecordType::Request);
        let is_lone = names_none && (is_request || capture.is_some());
        Self {
            capture,
            request: request.filter(|request| !request.is_get()),
            is_request,
            lone: is_lone.then(|| UrlAndTime {
                url: CdxjLine::url_of(header),
                timestamp: date_of(header).as_ref().map(WarcDate::to_timestamp14),
            }),
        }
    }

    /// Whether one is a request and the other may be its answer, by URL and date.
    fn is_near(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (&self.lone, &other.lone) else {
            return false;
        };
        let (request, capture) = if self.is_request {
            (one, two)
        } else {
            (two, one)
        };
        let is_in_order = request.timestamp <= capture.timestamp || capture.timestamp.is_none();
        self.is_request != other.is_request && one.url == two.url && is_in_order
    }

    fn has_time_of(&self, other: &Self) -> bool {
        let time = |it: &Self| it.lone.as_ref().map(|lone| lone.timestamp.clone());
        time(self) == time(other)
    }

    /// Notes that the records belong together.
    fn join(&mut self, other: &mut Self, set_request: &impl Fn(&mut T, &StoredRequest)) {
        if self.is_request != other.is_request {
            (self.lone, other.lone) = (None, None);
        }
        self.share(other, set_request);
    }

    /// Sets the request of a capture.
    fn share(&mut self, other: &mut Self, set_request: &impl Fn(&mut T, &StoredRequest)) {
        for (capture, request) in [
            (&mut self.capture, &other.request),
            (&mut other.capture, &self.request),
        ] {
            if let (Some(capture), Some(request)) = (capture, request) {
                set_request(capture, request);
            }
        }
    }
}
