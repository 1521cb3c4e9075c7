//! Guards the SMTP library against the mail server.
//!
//! lettre 0.11.23 reads a line of any length before lettre looks at the length, and panics on a
//! blank line in the answer to EHLO (RUSTSEC-2026-0562). lettre fails on replies without a text, which is optional
//! (RFC 5321, section 4.2), after the server has taken a mail too; and knows keywords of EHLO in upper case only (section
//! 2.4). [`GuardedStream`] stands between the connection and lettre, behind TLS, and hands over one line at a time, in the
//! form that lettre reads.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Longest line of a mail server, in bytes. RFC 5321, section 4.5.3.1.5, allows 512.
const LONGEST_LINE: usize = 1_000;

/// Most bytes that a mail server may send in one conversation, TLS excluded.
const LARGEST_CONVERSATION: usize = 1 << 20;

/// Most lines of one reply: lettre reads a reply again from its start for each of its lines.
const MOST_LINES: usize = 100;

/// Most replies that a log keeps.
const MOST_REPLIES: usize = 20;

/// Bytes taken from the connection at once.
const CHUNK: usize = 4 << 10;

/// The text of a line that has none, for lettre. No keyword of EHLO has this name.
const NO_TEXT: &str = "OK";

/// A greeting for lettre, which expects one behind STARTTLS; RFC 3207 has none there.
const NO_GREETING: &[u8] = b"220 TLS\r\n";

/// A connection whose incoming data is bounded. Clones are the same connection, so that the
/// connection can be taken back from lettre for STARTTLS.
pub(crate) struct GuardedStream<S>(Arc<Mutex<Guard<S>>>);

/// The replies of a server in one session: of each reply the last line, and of many replies the last
/// ones. Clones are the same log.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReplyLog(Arc<Mutex<VecDeque<String>>>);

impl ReplyLog {
    fn add(&self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        // `250-` begins a line that others follow.
        if line.as_bytes().get(3) == Some(&b'-') {
            return;
        }
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_back(line.trim_end().to_owned());
        if lines.len() > MOST_REPLIES {
            lines.pop_front();
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .collect()
    }
}

struct Guard<S> {
    connection: S,
    peer: SocketAddr,
    log: ReplyLog,
    /// Received bytes after the last complete line.
    received: Vec<u8>,
    /// A complete line, from the position on.
    line: (Vec<u8>, usize),
    /// All bytes received so far.
    total: usize,
    /// Lines received since the last command.
    lines: usize,
    /// Whether the last command was EHLO.
    is_hello: bool,
}

impl<S> GuardedStream<S> {
    pub(crate) fn new(connection: S, peer: SocketAddr, log: &ReplyLog) -> Self {
        Self::with_line(connection, peer, log, &[])
    }

    /// A connection on which the greeting has already passed.
    pub(crate) fn after_greeting(connection: S, peer: SocketAddr, log: &ReplyLog) -> Self {
        Self::with_line(connection, peer, log, NO_GREETING)
    }

    fn with_line(connection: S, peer: SocketAddr, log: &ReplyLog, line: &[u8]) -> Self {
        Self(Arc::new(Mutex::new(Guard {
            connection,
            peer,
            log: log.clone(),
            received: Vec::new(),
            line: (line.to_vec(), 0),
            total: 0,
            lines: 0,
            is_hello: false,
        })))
    }

    pub(crate) fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// The connection, once every clone is gone. Fails if the server has sent more than what was
    /// read: an attacker may have put text in front of the TLS handshake.
    pub(crate) fn into_connection(self) -> io::Result<S> {
        let guard = Arc::into_inner(self.0)
            .ok_or_else(|| io::Error::other("still in use"))?
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if guard.received.is_empty() && guard.line.0.len() == guard.line.1 {
            Ok(guard.connection)
        } else {
            Err(bad_data("it sent text between STARTTLS and TLS"))
        }
    }

    fn with<T>(&self, use_guard: impl FnOnce(&mut Guard<S>) -> T) -> T {
        use_guard(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<S: AsyncRead + Unpin> Guard<S> {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let (line, position) = &mut self.line;
            if *position < line.len() {
                let length = out.remaining().min(line.len() - *position);
                out.put_slice(&line[*position..*position + length]);
                *position += length;
                return Poll::Ready(Ok(()));
            }
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                self.lines += 1;
                if self.lines > MOST_LINES {
                    let what = format!("it sent a reply of more than {MOST_LINES} lines");
                    return Poll::Ready(Err(bad_data(what)));
                }
                if line.len() > LONGEST_LINE {
                    return Poll::Ready(Err(too_long()));
                }
                self.log.add(&line);
                self.line = (plain_line(&line, self.is_hello), 0);
                continue;
            }
            if self.received.len() > LONGEST_LINE {
                return Poll::Ready(Err(too_long()));
            }
            let mut bytes = [0; CHUNK];
            let mut chunk = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.connection).poll_read(context, &mut chunk))?;
            let chunk = chunk.filled();
            if chunk.is_empty() {
                // The server closed the connection.
                return Poll::Ready(Ok(()));
            }
            self.total += chunk.len();
            if self.total > LARGEST_CONVERSATION {
                let limit = LARGEST_CONVERSATION >> 20;
                return Poll::Ready(Err(bad_data(format!("it sent more than {limit} MiB"))));
            }
            self.received.extend_from_slice(chunk);
        }
    }
}

/// A line of a reply in the form that lettre reads: the code, `-` or a space, and a text without blanks at its end. Keywords
/// of EHLO become upper case, and `AUTH=PLAIN`, the form before RFC 2554, becomes `AUTH PLAIN`. Another line stays.
fn plain_line(line: &[u8], is_hello: bool) -> Vec<u8> {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end();
    let Some((code, rest)) = line.split_at_checked(3) else {
        return format!("{line}\r\n").into_bytes();
    };
    if !code.bytes().all(|byte| byte.is_ascii_digit()) {
        return format!("{line}\r\n").into_bytes();
    }
    let (mark, text) = match rest.strip_prefix('-') {
        Some(text) => ('-', text),
        None => (' ', rest),
    };
    let mut text = text.trim().to_owned();
    if is_hello && code.starts_with('2') {
        text.make_ascii_uppercase();
        if let Some(mechanisms) = text.strip_prefix("AUTH=") {
            text = format!("AUTH {mechanisms}");
        }
    }
    if text.is_empty() {
        NO_TEXT.clone_into(&mut text);
    }
    format!("{code}{mark}{text}\r\n").into_bytes()
}

fn too_long() -> io::Error {
    bad_data(format!("it sent a line of more than {LONGEST_LINE} bytes"))
}

fn bad_data(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

impl<S: AsyncRead + Unpin> AsyncRead for GuardedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.with(|guard| guard.poll_read(context, out))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for GuardedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.with(|guard| {
            // The rest of a command that is written in parts is no other command.
            let is_rest = guard.is_hello && guard.lines == 0;
            guard.is_hello = is_rest || bytes.starts_with(b"EHLO");
            guard.lines = 0;
            Pin::new(&mut guard.connection).poll_write(context, bytes)
        })
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|guard| Pin::new(&mut guard.connection).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|guard| Pin::new(&mut guard.connection).poll_shutdown(context))
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> AsyncTokioStream for GuardedStream<S> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.with(|guard| guard.peer))
    }
}

impl<S> fmt::Debug for GuardedStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedStream").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_code_and_has_a_text() {
        for (line, kept) in [
            ("250-SIZE 100\r\n", "250-SIZE 100\r\n"),
            ("250-   \r\n", "250-OK\r\n"),
            ("250-\u{a0}\u{2003}\n", "250-OK\r\n"),
            ("250 Help \t\n", "250 Help\r\n"),
            ("250\r\n", "250 OK\r\n"),
            ("250 \r\n", "250 OK\r\n"),
            ("250\tfine\n", "250 fine\r\n"),
            ("\n", "\r\n"),
            ("25\r\n", "25\r\n"),
            ("€€\n", "€€\r\n"),
            ("2€\n", "2€\r\n"),
        ] {
            let got = plain_line(line.as_bytes(), false);
            assert_eq!(String::from_utf8_lossy(&got), kept, "{line:?}");
        }
    }

    #[test]
    fn keywords_of_ehlo_are_upper_case() {
        for (line, kept) in [
            ("250-auth Plain login\r\n", "250-AUTH PLAIN LOGIN\r\n"),
            ("250 starttls\r\n", "250 STARTTLS\r\n"),
            ("250-AUTH=PLAIN LOGIN\r\n", "250-AUTH PLAIN LOGIN\r\n"),
            ("250 auth=\r\n", "250 AUTH \r\n"),
            ("250-\r\n", "250-OK\r\n"),
            ("451 later\r\n", "451 later\r\n"),
        ] {
            let got = plain_line(line.as_bytes(), true);
            assert_eq!(String::from_utf8_lossy(&got), kept, "{line:?}");
        }
    }
}
