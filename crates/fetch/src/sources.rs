//! The sources of jobs, each of which is read only as the queue of its host gets short.
//!
//! A source is a lazy iterator, as a rule over the jobs of one domain file. So memory holds a window of
//! the jobs of each host and not all jobs, and a slow host does not keep the jobs of others from being
//! read.

use std::collections::VecDeque;
use std::iter::{Fuse, Peekable};

use urldb_verdict::Job;

use crate::queue::HostId;

pub(crate) struct Sources<S, J: Iterator> {
    /// Sources that have not begun.
    new: Fuse<S>,
    has_new: bool,
    /// Sources that have more jobs, in turn, each with the host of its last job.
    open: VecDeque<(Source<J>, HostId)>,
    /// Most of those.
    max_open: usize,
}

/// The jobs of one source that were not taken yet. The box keeps moves cheap: the source of a domain
/// file is large.
pub(crate) struct Source<J: Iterator>(Box<Peekable<J>>);

impl<S, J> Sources<S, J>
where
    S: Iterator<Item = J>,
    J: Iterator<Item = Job>,
{
    /// At most `max_open` sources have begun and not ended.
    pub(crate) fn new(sources: S, max_open: usize) -> Self {
        Self {
            new: sources.fuse(),
            has_new: true,
            open: VecDeque::new(),
            max_open,
        }
    }

    /// The next job, and its source, which the caller gives back through [`Self::put_back`]; an open source
    /// with the host of its last job. An open source is read if the queue of its host `is_short`; else a new source begins, if one `may_begin`.
    /// `None` if no source may be read now.
    pub(crate) fn next(
        &mut self,
        is_short: impl Fn(HostId) -> bool,
        may_begin: bool,
    ) -> Option<(Job, Source<J>, Option<HostId>)> {
        let short = self.open.iter().position(|(_, host)| is_short(*host));
        if let Some(index) = short {
            // The sources before come last: their queues are longer.
            self.open.rotate_left(index);
            let (mut source, host) = self.open.pop_front()?;
            return source.0.next().map(|job| (job, source, Some(host)));
        }
        while may_begin && self.has_new && self.open.len() < self.max_open {
            let Some(jobs) = self.new.next() else {
                self.has_new = false;
                break;
            };
            let mut source = Source(Box::new(jobs.peekable()));
            if let Some(job) = source.0.next() {
                return Some((job, source, None));
            }
        }
        None
    }

    /// Takes a source back whose last job went to `host`.
    pub(crate) fn put_back(&mut self, mut source: Source<J>, host: HostId) {
        if source.0.peek().is_some() {
            self.open.push_back((source, host));
        }
    }

    /// Whether the last job of an open source went to `host`, so that more may follow.
    pub(crate) fn is_open_at(&self, host: HostId) -> bool {
        self.open.iter().any(|(_, open)| *open == host)
    }

    /// Whether every job was taken.
    pub(crate) fn is_exhausted(&self) -> bool {
        !self.has_new && self.open.is_empty()
    }
}
