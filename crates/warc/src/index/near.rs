//! Brings requests and their answers together.
//!
//! What was sent with a request that is no GET belongs to the key of the answer. The two records
//! stand near each other and are linked by `WARC-Concurrent-To`, in whichever direction; so a capture
//! waits until a few more records have gone by.

use std::collections::VecDeque;

use crate::header::Header;
use crate::http::StoredRequest;
use crate::id::strip_brackets;

/// How many records may stand between a request and its answer.
const NEAR: usize = 16;

/// The last few records of a file; `T` is what is known of a capture among them.
pub(crate) struct Near<T>(VecDeque<Seen<T>>);

/// What is remembered of a record while others that belong to it may follow.
struct Seen<T> {
    id: String,
    concurrent_to: Vec<String>,
    capture: Option<T>,
    request: Option<StoredRequest>,
}

impl<T> Default for Near<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Near<T> {
    /// Adds the next record, as what it is: a capture, a request, or neither. `ask` is called for
    /// each capture whose request is no GET. What need not wait any longer is handed out.
    pub(crate) fn add(
        &mut self,
        header: &Header,
        capture: Option<T>,
        request: Option<StoredRequest>,
        ask: impl Fn(&mut T, &StoredRequest),
    ) -> Option<T> {
        let mut new = Seen {
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
                    ask(capture, request);
                }
            }
        }
        self.0.push_back(new);
        if self.0.len() <= NEAR {
            return None;
        }
        self.0.pop_front()?.capture
    }

    /// At the end of the file: the captures that still wait.
    pub(crate) fn rest(&mut self) -> impl Iterator<Item = T> + use<T> {
        let rest = std::mem::take(&mut self.0);
        rest.into_iter().filter_map(|seen| seen.capture)
    }
}

impl<T> Seen<T> {
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
