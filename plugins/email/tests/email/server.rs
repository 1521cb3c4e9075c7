//! A mail server for one connection, which answers what it is told to.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

/// One answer per command; an empty one is never given.
pub(crate) struct Answers {
    pub(crate) greeting: &'static str,
    pub(crate) ehlo: &'static str,
    pub(crate) auth: &'static str,
    pub(crate) mail: &'static str,
    pub(crate) rcpt: &'static str,
    pub(crate) end: &'static str,
}

impl Default for Answers {
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

impl Answers {
    /// The words of the answer that is not positive.
    pub(crate) fn not_positive(&self) -> &'static str {
        let answers = [
            self.greeting,
            self.ehlo,
            self.auth,
            self.mail,
            self.rcpt,
            self.end,
        ];
        let answer = answers.into_iter().find(|a| a.starts_with(['4', '5']));
        &answer.expect("a negative answer")[4..]
    }
}

/// What a client said.
#[derive(Default)]
pub(crate) struct Received {
    pub(crate) commands: Vec<String>,
    /// The message, with the dots taken out that SMTP puts in.
    pub(crate) message: Vec<u8>,
}

pub(crate) struct Server {
    pub(crate) port: u16,
    thread: JoinHandle<Received>,
}

impl Server {
    pub(crate) fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut received = Received::default();
            // An error is the client's going away.
            let _ = converse(&stream, &answers, &mut received);
            received
        });
        Self { port, thread }
    }

    /// Waits for the end of the connection.
    pub(crate) fn received(self) -> Received {
        self.thread.join().unwrap()
    }
}

fn converse(stream: &TcpStream, answers: &Answers, received: &mut Received) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream);
    let answer = |text: &str| match text {
        "" => Ok(()),
        text => write!(&mut &*stream, "{text}\r\n"),
    };
    answer(answers.greeting)?;
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let command = line.trim_end().to_owned();
        let word = command.split(' ').next().unwrap_or_default().to_owned();
        received.commands.push(command);
        match word.as_str() {
            "EHLO" => answer(answers.ehlo)?,
            "AUTH" => answer(answers.auth)?,
            "MAIL" => answer(answers.mail)?,
            "RCPT" => answer(answers.rcpt)?,
            "DATA" => {
                answer("354 go on")?;
                received.message = message(&mut lines)?;
                answer(answers.end)?;
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
