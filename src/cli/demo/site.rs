//! The demo's web site: an HTTP/1.1 server on a loopback port, and pages that break on demand.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The host that the site plays; only urldb.toml knows the address.
pub(super) const HOST: &str = "demo.example";

/// Files whose very bytes are promised.
pub(super) const STATIC: [&str; 4] = [
    "http://demo.example/data/m31.fits",
    "http://demo.example/data/m51.csv",
    "http://demo.example/docs/licence.txt",
    "http://demo.example/docs/manual.txt",
];

/// Pages that only have to answer.
pub(super) const LIVE: [&str; 2] = ["http://demo.example/", "http://demo.example/search?q=m51"];

/// The changes of [`Site::break_pages`], for people.
pub(super) const BREAKAGES: [&str; 5] = [
    "/data/m51.csv has another digit in one place; its length is the same",
    "/docs/manual.txt is gone: 404",
    "/data/m31.fits breaks off halfway: truncated",
    "/id/m51 has moved: it leads to the front page now",
    "/search?q=m51 is slow: the request is taken, and nothing comes",
];

/// The longest request head that the server reads, in bytes.
const LONGEST_HEAD: u64 = 16 * 1024;
/// The longest that a silent client keeps its connection.
const TIMEOUT: Duration = Duration::from_secs(30);

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

pub(super) enum Response {
    /// 200 with this content type and body.
    Page(&'static str, Vec<u8>),
    /// The same head, but only half of the body.
    HalfPage(&'static str, Vec<u8>),
    /// 302 to this location.
    Redirect(&'static str),
    /// 404.
    NotFound,
    /// The server sends nothing, until the client gives up.
    Silence,
}

/// The server. It serves until the process ends.
#[derive(Debug)]
pub(super) struct Site {
    address: SocketAddr,
    is_broken: Arc<AtomicBool>,
}

impl Site {
    /// Starts the server on a free port.
    pub(super) fn open() -> io::Result<Self> {
        let is_broken = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&is_broken);
        let address = listen(move |path| response(path, shared.load(Ordering::SeqCst)))?;
        Ok(Self { address, is_broken })
    }

    /// The address that it listens on.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks five pages, from the next request on: [`BREAKAGES`].
    pub(super) fn break_pages(&self) {
        self.is_broken.store(true, Ordering::SeqCst);
    }
}

/// Answers requests on a free loopback port until the process ends, each by its path with the query.
pub(super) fn listen(
    respond: impl Fn(&str) -> Response + Send + Sync + 'static,
) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let respond = Arc::new(respond);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let respond = Arc::clone(&respond);
            // A client may go away in the middle of its request: nothing to do here.
            thread::spawn(move || serve(stream, &*respond));
        }
    });
    Ok(address)
}

fn response(path: &str, is_broken: bool) -> Response {
    match (path, is_broken) {
        ("/", _) => page("Demo", "Pictures of the sky."),
        ("/data/m31.fits", false) => Response::Page("image/fits", fits()),
        ("/data/m31.fits", true) => Response::HalfPage("image/fits", fits()),
        ("/data/m51.csv", false) => Response::Page("text/csv", csv("8.4")),
        ("/data/m51.csv", true) => Response::Page("text/csv", csv("8.9")),
        ("/docs/licence.txt", _) => Response::Page(TEXT, b"Do with it what you like.\n".into()),
        ("/docs/manual.txt", false) => Response::Page(TEXT, b"Look up. It is all there.\n".into()),
        ("/id/m51", false) => Response::Redirect("/objects/m51"),
        ("/id/m51", true) => Response::Redirect("/"),
        ("/objects/m51", _) => page("M 51", "A spiral."),
        ("/search?q=m51", false) => page("m51", "One result."),
        ("/search?q=m51", true) => Response::Silence,
        _ => Response::NotFound,
    }
}

fn page(title: &str, text: &str) -> Response {
    let html = format!("<!doctype html><title>{title}</title><p>{text}\n");
    Response::Page(HTML, html.into_bytes())
}

fn csv(magnitude: &str) -> Vec<u8> {
    format!("name,ra,dec,magnitude\nM 51,13:29:52.7,+47:11:43,{magnitude}\n").into_bytes()
}

/// An image of four pixels: a header and a data unit of 2880 bytes each, as FITS has them.
fn fits() -> Vec<u8> {
    let header = [
        "SIMPLE  =                    T",
        "BITPIX  =                    8",
        "NAXIS   =                    1",
        "NAXIS1  =                    4",
        "END",
    ]
    .map(|card| format!("{card:80}"))
    .concat();
    let mut bytes = format!("{header:2880}").into_bytes();
    bytes.extend([31, 13, 5, 1]);
    bytes.resize(2 * 2880, 0);
    bytes
}

/// Answers one request and closes the connection.
fn serve(stream: TcpStream, answer: impl Fn(&str) -> Response) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let request_line = read_head(&mut reader)?;
    let mut words = request_line.split_ascii_whitespace();
    let is_head = words.next() == Some("HEAD");
    let path = words.next().unwrap_or_default();
    respond(stream, is_head, answer(path))
}

/// Reads a request head and returns its first line.
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

fn respond(mut stream: TcpStream, is_head: bool, response: Response) -> io::Result<()> {
    let is_half = matches!(response, Response::HalfPage(..));
    let (status, field, body) = match response {
        Response::Page(kind, body) | Response::HalfPage(kind, body) => {
            ("200 OK", format!("Content-Type: {kind}"), body)
        }
        Response::Redirect(to) => ("302 Found", format!("Location: {to}"), vec![]),
        Response::NotFound => (
            "404 Not Found",
            format!("Content-Type: {TEXT}"),
            b"There is no such page.\n".to_vec(),
        ),
        Response::Silence => return io::copy(&mut stream, &mut io::sink()).map(drop),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{field}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    if !is_head {
        let sent = if is_half { length / 2 } else { length };
        stream.write_all(&body[..sent])?;
    }
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All bytes until the server closes the connection.
    fn ask(site: &Site, request: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(site.address())?;
        stream.set_read_timeout(Some(Duration::from_millis(300)))?;
        stream.write_all(request.as_bytes())?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response)
    }

    fn get(site: &Site, path: &str) -> String {
        ask(site, &format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).expect("the site answers")
    }

    #[test]
    fn pages_are_served_and_change_or_vanish_when_they_break() {
        let site = Site::open().expect("a loopback port");
        insta::assert_snapshot!(get(&site, "/docs/manual.txt").replace('\r', ""), @r"
        HTTP/1.1 200 OK
        Content-Type: text/plain; charset=utf-8
        Content-Length: 26
        Connection: close

        Look up. It is all there.
        ");
        assert!(get(&site, "/data/m51.csv").ends_with(",8.4\n"));
        assert!(get(&site, "/search?q=m51").starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(get(&site, "/search").starts_with("HTTP/1.1 404 Not Found\r\n"));
        site.break_pages();
        assert!(get(&site, "/data/m51.csv").ends_with(",8.9\n"));
        assert!(get(&site, "/docs/manual.txt").starts_with("HTTP/1.1 404 Not Found\r\n"));
    }

    #[test]
    fn half_a_page_announces_the_whole() {
        let site = Site::open().expect("a loopback port");
        let whole = get(&site, "/data/m31.fits");
        site.break_pages();
        let half = get(&site, "/data/m31.fits");
        assert!(half.contains("\r\nContent-Length: 5760\r\n"), "{half}");
        assert_eq!(whole.len() - half.len(), 2880);
        assert!(whole.starts_with(&half));
    }

    #[test]
    fn a_redirect_names_its_target() {
        let site = Site::open().expect("a loopback port");
        let target = "HTTP/1.1 302 Found\r\nLocation: /objects/m51\r\n";
        assert!(get(&site, "/id/m51").starts_with(target));
        site.break_pages();
        assert!(get(&site, "/id/m51").starts_with("HTTP/1.1 302 Found\r\nLocation: /\r\n"));
    }

    #[test]
    fn silence_lasts_until_the_client_gives_up() {
        let site = Site::open().expect("a loopback port");
        site.break_pages();
        let error = ask(&site, "GET /search?q=m51 HTTP/1.1\r\n\r\n").expect_err("no response");
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
        let response = ask(&site, "HEAD /docs/manual.txt HTTP/1.1\r\n\r\n");
        let response = response.expect("the site answers");
        assert!(
            response.ends_with("Content-Length: 26\r\nConnection: close\r\n\r\n"),
            "{response}"
        );
    }

    #[test]
    fn nonsense_gets_a_404_and_the_server_goes_on() {
        let site = Site::open().expect("a loopback port");
        assert!(ask(&site, "\r\n\r\n").is_ok());
        assert!(get(&site, "/nonsense").starts_with("HTTP/1.1 404"));
    }
}
