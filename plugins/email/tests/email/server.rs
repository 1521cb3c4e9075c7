//! A mail server with scripted replies.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// Long enough for two busy cores; reached only by a test that fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// What the server closes the connection for, instead of a reply.
pub(crate) const CLOSE: &str = "close";

/// The reply to each command. The server sends no reply for an empty text, and closes the connection
/// for [`CLOSE`].
#[derive(Clone, Copy)]
pub(crate) struct SmtpReplies {
    pub(crate) greeting: &'static str,
    pub(crate) ehlo: &'static str,
    pub(crate) auth: &'static str,
    /// The replies to the lines of a login behind the command.
    pub(crate) lines: &'static [&'static str],
    pub(crate) mail: &'static str,
    pub(crate) rcpt: &'static str,
    /// The reply to `RCPT TO:<bob@…>`, if it differs.
    pub(crate) bob: Option<&'static str>,
    pub(crate) data: &'static str,
    pub(crate) end: &'static str,
    pub(crate) quit: &'static str,
}

impl Default for SmtpReplies {
    fn default() -> Self {
        Self {
            greeting: "220 mail.example.org ready",
            ehlo: "250 mail.example.org",
            auth: "235 welcome",
            lines: &[],
            mail: "250 fine",
            rcpt: "250 fine",
            bob: None,
            data: "354 go on",
            end: "250 taken",
            quit: "221 bye",
        }
    }
}

impl SmtpReplies {
    /// The text of the negative reply, without its code.
    pub(crate) fn not_positive(&self) -> &'static str {
        let replies = [
            self.greeting,
            self.ehlo,
            self.auth,
            self.mail,
            self.rcpt,
            self.data,
            self.end,
        ];
        let answer = replies.into_iter().find(|a| a.starts_with(['4', '5']));
        &answer.expect("a negative answer")[4..]
    }
}

/// What a client sent on one connection.
#[derive(Debug, Default)]
pub(crate) struct SmtpSession {
    pub(crate) commands: Vec<String>,
    /// The last message, after removal of the dots that SMTP adds.
    pub(crate) message: Vec<u8>,
    /// The messages that the server accepted, with their recipients.
    pub(crate) accepted: Vec<(Vec<String>, Vec<u8>)>,
}

/// A server that runs until the end of the test.
pub(crate) struct Server {
    pub(crate) port: u16,
    sessions: Receiver<SmtpSession>,
}

impl Server {
    pub(crate) fn start(replies: SmtpReplies) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self::serve(listener, replies, Ok)
    }

    /// Serves connections after `wrap`, such as TLS.
    pub(crate) fn serve<S: Read + Write>(
        listener: TcpListener,
        replies: SmtpReplies,
        wrap: impl Fn(TcpStream) -> std::io::Result<S> + Send + 'static,
    ) -> Self {
        let port = listener.local_addr().unwrap().port();
        let (sender, sessions): (Sender<SmtpSession>, _) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let handle = stream.try_clone().unwrap();
                let mut session = SmtpSession::default();
                // An error means that the client closed the connection.
                if let Ok(stream) = wrap(stream) {
                    let _ = converse(stream, &handle, &replies, &mut session);
                }
                let _ = handle.shutdown(Shutdown::Both);
                if sender.send(session).is_err() {
                    return;
                }
            }
        });
        Self { port, sessions }
    }

    /// Waits for the end of the next connection.
    pub(crate) fn received(&self) -> SmtpSession {
        self.sessions.recv_timeout(PATIENCE).expect("a connection")
    }

    /// Whether there was no further connection.
    pub(crate) fn is_left_alone(&self) -> bool {
        self.sessions.try_recv().is_err()
    }
}

fn converse<S: Read + Write>(
    stream: S,
    handle: &TcpStream,
    replies: &SmtpReplies,
    session: &mut SmtpSession,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    answer(&mut stream, handle, replies.greeting)?;
    let mut recipients = vec![];
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let command = line.trim_end().to_owned();
        let word = command.split(' ').next().unwrap_or_default().to_owned();
        session.commands.push(command.clone());
        let reply = match word.as_str() {
            "EHLO" => replies.ehlo,
            "AUTH" => {
                let (last, prompts) = replies.lines.split_last().unwrap_or((&replies.auth, &[]));
                for prompt in [replies.auth]
                    .iter()
                    .chain(prompts)
                    .take(replies.lines.len())
                {
                    answer(&mut stream, handle, prompt)?;
                    let mut line = String::new();
                    stream.read_line(&mut line)?;
                    session.commands.push(line.trim_end().to_owned());
                }
                last
            }
            "MAIL" => {
                recipients.clear();
                replies.mail
            }
            "RCPT" => {
                let bob = replies.bob.filter(|_| command.contains("<bob@"));
                let reply = bob.unwrap_or(replies.rcpt);
                if reply.starts_with('2') {
                    recipients.push(command.replace("RCPT TO:", ""));
                }
                reply
            }
            "DATA" => {
                answer(&mut stream, handle, replies.data)?;
                if !replies.data.starts_with('3') {
                    continue;
                }
                session.message = message(&mut stream)?;
                if replies.end.starts_with('2') {
                    let taken = (std::mem::take(&mut recipients), session.message.clone());
                    session.accepted.push(taken);
                }
                replies.end
            }
            "RSET" => "250 fine",
            "QUIT" => {
                answer(&mut stream, handle, replies.quit)?;
                if replies.quit.is_empty() {
                    continue;
                }
                return Ok(());
            }
            _ => "500 what?",
        };
        answer(&mut stream, handle, reply)?;
    }
}

fn answer<S: Read + Write>(
    stream: &mut BufReader<S>,
    handle: &TcpStream,
    text: &str,
) -> std::io::Result<()> {
    match text {
        "" => Ok(()),
        CLOSE => handle.shutdown(Shutdown::Both),
        text => {
            write!(stream.get_mut(), "{text}\r\n")?;
            stream.get_mut().flush()
        }
    }
}

fn message(lines: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut message = Vec::new();
    loop {
        let mut line = Vec::new();
        let length = lines.read_until(b'\n', &mut line)?;
        if length == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if line == b".\r\n" {
            return Ok(message);
        }
        message.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
    }
}
