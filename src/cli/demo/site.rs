//! A small HTTP/1.1 server on a loopback port, whose pages can be broken on purpose.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The longest request head that is read, in bytes.
const LONGEST_HEAD: u64 = 16 * 1024;
/// The longest that a connection is kept open for a client that says nothing.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a path is answered. A path that was given no answer does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// 200 with this body.
    Page(&'static str, Vec<u8>),
    /// The same head, but the connection is closed halfway through the body.
    HalfPage(&'static str, Vec<u8>),
    /// 302 to this location.
    Redirect(&'static str),
    /// Nothing, until the client gives up.
    Silence,
}

type Pages = Arc<Mutex<BTreeMap<&'static str, Answer>>>;

/// The server. It serves until the process ends.
#[derive(Debug)]
pub(super) struct Site {
    address: SocketAddr,
    pages: Pages,
}

impl Site {
    /// Begins to serve, no page yet.
    pub(super) fn open() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let pages = Pages::default();
        let shared = Arc::clone(&pages);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let pages = Arc::clone(&shared);
                // A client that goes away in the middle is its own affair.
                thread::spawn(move || converse(stream, &pages));
            }
        });
        Ok(Self { address, pages })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers `path`, which includes the query, in this way from now on.
    pub(super) fn set(&self, path: &'static str, answer: Answer) {
        lock(&self.pages).insert(path, answer);
    }

    /// Forgets `path`.
    pub(super) fn remove(&self, path: &str) {
        lock(&self.pages).remove(path);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers one request. The connection is closed after it, so each is independent of the others.
fn converse(stream: TcpStream, pages: &Pages) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let request_line = read_head(&mut reader)?;
    let mut words = request_line.split_ascii_whitespace();
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let answer = lock(pages).get(path).cloned();
    respond(stream, method == "HEAD", answer)
}

/// Reads up to the empty line, and returns the first.
fn read_head(reader: &mut impl BufRead) -> io::Result<String> {
    let mut head = reader.take(LONGEST_HEAD);
    let mut first = String::new();
    head.read_line(&mut first)?;
    let mut line = String::new();
    while head.read_line(&mut line)? > 2 {
        line.clear();
    }
    Ok(first)
}

fn respond(mut stream: TcpStream, head_only: bool, answer: Option<Answer>) -> io::Result<()> {
    let (status, header, body, sent) = match answer {
        Some(Answer::Page(content_type, body)) => {
            let sent = body.len();
            (
                "200 OK",
                format!("Content-Type: {content_type}"),
                body,
                sent,
            )
        }
        Some(Answer::HalfPage(content_type, body)) => {
            let sent = body.len() / 2;
            (
                "200 OK",
                format!("Content-Type: {content_type}"),
                body,
                sent,
            )
        }
        Some(Answer::Redirect(to)) => ("302 Found", format!("Location: {to}"), vec![], 0),
        Some(Answer::Silence) => return wait_for_the_end(&mut stream),
        None => {
            let body = b"There is no such page.\n".to_vec();
            let sent = body.len();
            (
                "404 Not Found",
                "Content-Type: text/plain".into(),
                body,
                sent,
            )
        }
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{header}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    if !head_only {
        stream.write_all(&body[..sent])?;
    }
    stream.flush()
}

fn wait_for_the_end(stream: &mut TcpStream) -> io::Result<()> {
    io::copy(stream, &mut io::sink()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that comes back until the connection is closed.
    fn ask(site: &Site, request: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(site.address())?;
        stream.set_read_timeout(Some(Duration::from_millis(300)))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    fn get(site: &Site, path: &str) -> String {
        ask(site, &format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).expect("the site answers")
    }

    #[test]
    fn pages_are_served_and_can_be_replaced_and_removed() {
        let site = Site::open().expect("a loopback port");
        site.set("/a?b", Answer::Page("text/plain", b"one".to_vec()));
        insta::assert_snapshot!(get(&site, "/a?b").replace('\r', ""), @r"
        HTTP/1.1 200 OK
        Content-Type: text/plain
        Content-Length: 3
        Connection: close

        one
        ");
        site.set("/a?b", Answer::Page("text/plain", b"two".to_vec()));
        assert!(get(&site, "/a?b").ends_with("\r\n\r\ntwo"));
        site.remove("/a?b");
        assert!(get(&site, "/a?b").starts_with("HTTP/1.1 404 Not Found\r\n"));
        assert!(get(&site, "/a").starts_with("HTTP/1.1 404 Not Found\r\n"));
    }

    #[test]
    fn half_a_page_announces_the_whole() {
        let site = Site::open().expect("a loopback port");
        site.set("/", Answer::HalfPage("text/plain", b"four".to_vec()));
        let answer = get(&site, "/");
        assert!(answer.contains("\r\nContent-Length: 4\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nfo"), "{answer}");
    }

    #[test]
    fn a_redirect_names_its_target() {
        let site = Site::open().expect("a loopback port");
        site.set("/", Answer::Redirect("/elsewhere"));
        let answer = get(&site, "/");
        assert!(
            answer.starts_with("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"),
            "{answer}"
        );
    }

    #[test]
    fn silence_lasts_until_the_client_gives_up() {
        let site = Site::open().expect("a loopback port");
        site.set("/", Answer::Silence);
        let error = ask(&site, "GET / HTTP/1.1\r\n\r\n").expect_err("there is no answer");
        assert!(
            matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
            ),
            "{error}"
        );
    }

    #[test]
    fn a_head_request_gets_no_body() {
        let site = Site::open().expect("a loopback port");
        site.set("/", Answer::Page("text/plain", b"body".to_vec()));
        let answer = ask(&site, "HEAD / HTTP/1.1\r\n\r\n").expect("the site answers");
        assert!(
            answer.ends_with("Content-Length: 4\r\nConnection: close\r\n\r\n"),
            "{answer}"
        );
    }

    #[test]
    fn nonsense_is_answered_and_does_no_harm() {
        let site = Site::open().expect("a loopback port");
        assert!(ask(&site, "\r\n\r\n").is_ok());
        assert!(get(&site, "/").starts_with("HTTP/1.1 404"));
    }
}
