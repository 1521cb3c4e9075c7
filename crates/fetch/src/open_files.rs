//! The system's limit of open files, and what it leaves for connections.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};

/// Files that a process should be able to open; enough for the most connections and all other files.
const WANTED: usize = 4096;

/// Most open connections: each takes memory.
const MAX_CONNECTIONS: usize = 512;

/// Most sources of jobs that are read at the same time.
const MAX_SOURCES: usize = 64;

/// Open connections for three requests under way: theirs, and an idle one of a host that waits for its
/// interval.
const CONNECTIONS_OF_THREE_REQUESTS: usize = 4;

/// The most that a run may have under way at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capacity {
    /// Most requests that take time, over all hosts.
    pub(crate) concurrency: usize,
    /// Most connections, idle ones and those of waiting requests included.
    pub(crate) connections: usize,
    /// Most sources of jobs that are read at the same time. Each may hold an open file.
    pub(crate) sources: usize,
}

impl Capacity {
    /// The capacity of this process, for the `concurrency` of the configuration, if that has one. The
    /// limit of open files is raised as far as the system allows it without further rights.
    pub(crate) fn new(concurrency: Option<usize>) -> Self {
        Self::of(concurrency, raised_limit())
    }

    /// A quarter of the files is left to all else: domain files, which get half of it, archives, lookups.
    fn of(concurrency: Option<usize>, files: usize) -> Self {
        let connections = (files.saturating_sub(files / 4))
            .saturating_sub(SPARE)
            .clamp(1, MAX_CONNECTIONS);
        let default = connections * 3 / CONNECTIONS_OF_THREE_REQUESTS;
        let concurrency = concurrency.unwrap_or(default).max(1);
        Self {
            concurrency,
            connections: connections.max(concurrency),
            sources: (files / 8).clamp(1, MAX_SOURCES),
        }
    }
}

/// Files that a process has open before its first request.
const SPARE: usize = 16;

/// The number of files that this process may open, after an attempt to make that enough.
#[cfg(unix)]
fn raised_limit() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let wanted = WANTED as u64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let known = current.unwrap_or(u64::MAX);
    let raised = maximum.unwrap_or(u64::MAX).min(wanted);
    let is_raised = known < raised && {
        let limit = Rlimit {
            current: Some(raised),
            maximum,
        };
        setrlimit(Resource::Nofile, limit).is_ok()
    };
    let files = if is_raised { raised } else { known };
    usize::try_from(files).unwrap_or(usize::MAX)
}

/// Windows has no such limit.
#[cfg(not(unix))]
fn raised_limit() -> usize {
    usize::MAX
}

/// ENFILE and EMFILE of Unix, WSAEMFILE of Windows; the standard library has no names for these codes.
const TOO_MANY_FILES: [i32; 3] = [23, 24, 10024];

/// Advice on how to raise the limit.
pub(crate) const ADVICE: &str =
    "this process has too many open files: raise its limit (ulimit -n), or lower `concurrency`";

/// Whether the system refused a file or a socket because too many are open.
pub(crate) fn is_too_many(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    code.is_some_and(|code| TOO_MANY_FILES.contains(&code))
}

/// Checks that this many more files can be opened. Libraries that read certificate authorities or
/// resolve names do not say that they could open no file.
///
/// # Errors
/// The limit is reached: [`is_too_many`] holds.
pub(crate) fn ensure_spare(count: usize) -> io::Result<()> {
    // Sockets that send nothing: they need no file that exists everywhere.
    match (0..count)
        .map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<io::Result<Vec<_>>>()
    {
        Err(error) if is_too_many(&error) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_process_bound_what_is_under_way() {
        let of = |configured, files| {
            let Capacity {
                concurrency,
                connections,
                sources,
            } = Capacity::of(configured, files);
            (concurrency, connections, sources)
        };
        assert_eq!(of(None, usize::MAX), (384, 512, 64));
        assert_eq!(of(None, 512), (276, 368, 64));
        assert_eq!(of(None, 24), (1, 2, 3));
        assert_eq!(of(None, 0), (1, 1, 1));
        // A configured number holds, however few files there are.
        assert_eq!(of(Some(32), 24), (32, 32, 3));
        assert_eq!(of(Some(2000), usize::MAX), (2000, 2000, 64));
    }
}
