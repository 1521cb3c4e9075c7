//! The system's limit of open files.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};

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
    let sockets = (0..count).map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)));
    match sockets.collect::<io::Result<Vec<_>>>() {
        Err(error) if is_too_many(&error) => Err(error),
        _ => Ok(()),
    }
}
