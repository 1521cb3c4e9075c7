//! A mail server for one connection, with scripted replies.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

/// The reply to each command. The server sends no reply for an empty text.
pub(crate) struct SmtpReplies {
    pub(crate) greeting: &'static str,
    pub(crate) ehlo: &'static str,
    pub(crate) auth: &'static str,
    pub(crate) mail: &'static str,
    pub(crate) rcpt: &'static str,
    pub(crate) end: &'static str,
}

impl Default for SmtpReplies {
    fn default() -> Self {
        Self {
            greeting: "220 mail.example.org ready",
            ehlo: "250 mail.example.org",
            auth: "235 welcome",
            mail: "250 fine",
            rcpt: "250 fine",
            end: "250 taken",
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
            self.end,
        ];
        let answer = replies.into_iter().find(|a| a.starts_with(['4', '5']));
        &answer.expect("a negative answer")[4..]
    }
}

/// What a client sent.
#[derive(Default)]
pub(crate) struct SmtpSession {
    pub(crate) commands: Vec<String>,
    /// The message, after removal of the dots that SMTP adds.
    pub(crate) message: Vec<u8>,
}

pub(crate) struct Server {
    pub(crate) port: u16,
    thread: JoinHandle<SmtpSession>,
}

impl Server {
    pub(crate) fn start(replies: SmtpReplies) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut received = SmtpSession::default();
            // An error means that the client closed the connection.
            let _ = converse(&stream, &replies, &mut received);
            received
        });
        Self { port, thread }
    }

    /// Waits for the end of the connection.
    pub(crate) fn received(self) -> SmtpSession {
        self.thread.join().unwrap()
    }
}

fn converse(
    stream: &TcpStream,
    replies: &SmtpReplies,
    received: &mut SmtpSession,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream);
    let answer = |text: &str| match text {
        "" => Ok(()),
        text => write!(&mut &*stream, "{text}\r\n"),
    };
    answer(replies.greeting)?;
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let command = line.trim_end().to_owned();
        let word = command.split(' ').next().unwrap_or_default().to_owned();
        received.commands.push(command);
        match word.as_str() {
            "EHLO" => answer(replies.ehlo)?,
            "AUTH" => answer(replies.auth)?,
            "MAIL" => answer(replies.mail)?,
            "RCPT" => answer(replies.rcpt)?,
            "DATA" => {
                answer("354 go on")?;
                received.message = message(&mut lines)?;
                answer(replies.end)?;
            }
            "QUIT" => return answer("221 bye"),
            _ => answer("500 what?")?,
        }
    }
}

fn message(lines: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut message = Vec::new();
    loop {
        let mut line = Vec::new();
        let length = lines.read_until(b'\n', &mut line)?;
        if length == 0 || line == b".\r\n" {
            return Ok(message);
        }
        message.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
    }
}
