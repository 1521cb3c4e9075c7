//! What several targets need.
#![allow(dead_code, reason = "each target uses a part")]

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use jiff::Timestamp;

/// A line of an input that ends one of its parts.
const END: &[u8] = b"\n=====\n";

/// The parts of an input, with empty ones to make so many.
pub fn parts<const N: usize>(mut input: &[u8]) -> [&[u8]; N] {
    let mut parts = [&b""[..]; N];
    let last = N - 1;
    for part in &mut parts[..last] {
        let Some(end) = input.windows(END.len()).position(|it| it == END) else {
            *part = input;
            return parts;
        };
        // The line end belongs to the part.
        *part = &input[..=end];
        input = &input[end + END.len()..];
    }
    parts[last] = input;
    parts
}

/// The present of all targets.
pub fn now() -> Timestamp {
    "2026-11-23T04:17:00Z".parse().expect("a time")
}

/// Writes a file and the folders above it.
pub fn write(path: &Path, bytes: &[u8]) {
    let folder = path.parent().expect("a folder");
    std::fs::create_dir_all(folder).expect("made");
    std::fs::write(path, bytes).expect("written");
}

/// A server on this machine that gives one answer after the other, whatever it is asked for, and begins
/// anew after the last one. It closes each connection after its answer.
pub struct Server {
    pub address: SocketAddr,
    state: Arc<Mutex<Answers>>,
}

#[derive(Default)]
struct Answers {
    answers: Vec<Vec<u8>>,
    requests: usize,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(Mutex::new(Answers::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client may end the connection early.
                let _ = answer(stream, &shared);
            }
        });
        Self { address, state }
    }

    /// The answers from now on: whole ones, with their heads.
    pub fn set(&self, answers: Vec<Vec<u8>>) {
        *lock(&self.state) = Answers {
            answers,
            requests: 0,
        };
    }

    /// The number of requests since then.
    pub fn requests(&self) -> usize {
        lock(&self.state).requests
    }
}

fn lock(state: &Mutex<Answers>) -> MutexGuard<'_, Answers> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(stream: TcpStream, state: &Mutex<Answers>) -> std::io::Result<()> {
    let mut input = BufReader::new(stream);
    let mut line = String::new();
    let mut length = 0;
    while input.read_line(&mut line)? > 2 {
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
        line.clear();
    }
    // A connection that is closed with unread bytes is reset, and the answer may be lost.
    std::io::copy(
        &mut std::io::Read::take(&mut input, length),
        &mut std::io::sink(),
    )?;
    let bytes = {
        let mut state = lock(state);
        let number = state.requests;
        state.requests += 1;
        let count = state.answers.len().max(1);
        state
            .answers
            .get(number % count)
            .cloned()
            .unwrap_or_default()
    };
    input.get_mut().write_all(&bytes)
}
