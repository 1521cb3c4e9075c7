//! A scripted HTTP server on the loopback interface, for tests of anything that fetches.
//!
//! The server sends exactly the bytes that a test gives, correct or not, and records the requests.
//! The server listens on a free port. Tests reach the server with a host mapping.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary includes it and uses a part"
)]

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How often a blocked connection checks whether the test is over.
const TICK: Duration = Duration::from_millis(20);

/// One request as the server received it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The request target.
    pub target: String,
    /// The headers, with their names as sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The number of the connection, from 0 in order of arrival.
    pub connection: usize,
    /// When the request arrived.
    pub at: Instant,
}

impl Request {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(value)
    }
}

/// The reply to a request: bytes and pauses, then perhaps the end of the connection.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    steps: Vec<ReplyStep>,
    end: Option<ConnectionEnd>,
}

/// How a connection ends after a reply.
#[derive(Debug, Clone, Copy)]
enum ConnectionEnd {
    /// TCP close. TLS sends no `close_notify`.
    Close,
    /// TCP close. TLS sends `close_notify` first.
    Notice,
    /// TCP reset, which loses all data in transit.
    Reset,
}

#[derive(Debug, Clone)]
enum ReplyStep {
    Bytes(Vec<u8>),
    Pause(Duration),
    /// The bytes again and again, with a pause after each time, until the client is gone.
    Endless(Vec<u8>, Duration),
}

impl Reply {
    /// A proper response with these extra header lines (`Name: value`).
    pub fn new(status: &str, headers: &[&str], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
        for header in headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        Self::raw([head.as_bytes(), b"\r\n", body].concat())
    }

    /// 200 with this body.
    pub fn ok(body: impl AsRef<[u8]>) -> Self {
        Self::new("200 OK", &[], body)
    }

    /// A redirect.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::new(
            &format!("{status} Moved"),
            &[&format!("Location: {location}")],
            "elsewhere",
        )
    }

    /// Only these bytes, without status line and headers of its own.
    pub fn raw(bytes: impl AsRef<[u8]>) -> Self {
        Self::default().then(bytes)
    }

    /// Adds bytes.
    pub fn then(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.steps.push(ReplyStep::Bytes(bytes.as_ref().to_vec()));
        self
    }

    /// Adds a pause.
    pub fn pause(mut self, time: Duration) -> Self {
        self.steps.push(ReplyStep::Pause(time));
        self
    }

    /// Adds bytes without end, with a pause after each time.
    pub fn endless(mut self, bytes: impl AsRef<[u8]>, pause: Duration) -> Self {
        let bytes = bytes.as_ref().to_vec();
        self.steps.push(ReplyStep::Endless(bytes, pause));
        self
    }

    /// Adds a pause until the test is over.
    pub fn hang(self) -> Self {
        self.pause(Duration::from_hours(1))
    }

    /// Closes the connection after the reply.
    pub fn close(mut self) -> Self {
        self.end = Some(ConnectionEnd::Close);
        self
    }

    /// Closes the connection after the reply. TLS sends `close_notify` first.
    pub fn close_with_notice(mut self) -> Self {
        self.end = Some(ConnectionEnd::Notice);
        self
    }

    /// Resets the connection after the reply.
    pub fn reset(mut self) -> Self {
        self.end = Some(ConnectionEnd::Reset);
        self
    }
}

/// A running server. Dropping the server stops it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<ServerState>,
}

#[derive(Debug, Default)]
struct ServerState {
    over: AtomicBool,
    connections: AtomicUsize,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
    requests: Mutex<Vec<Request>>,
}

trait Stream: Read + Write {
    fn socket(&self) -> &TcpStream;

    /// Sends `close_notify`, if the stream is TLS.
    fn give_notice(&mut self) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }

    fn give_notice(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for rustls::StreamOwned<rustls::ServerConnection, TcpStream> {
    fn socket(&self) -> &TcpStream {
        &self.sock
    }

    fn give_notice(&mut self) -> io::Result<()> {
        self.conn.send_close_notify();
        self.flush()
    }
}

impl Server {
    /// A server that replies by this script.
    pub fn new(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::start("127.0.0.1:0", None, script)
    }

    /// A server at another loopback address.
    pub fn at(address: &str, script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(address, None, script)
    }

    /// A server that speaks TLS.
    pub fn tls(
        config: rustls::ServerConfig,
        script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start("127.0.0.1:0", Some(Arc::new(config)), script)
    }

    fn start(
        address: &str,
        tls: Option<Arc<rustls::ServerConfig>>,
        script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        let shared = Arc::new(ServerState::default());
        let (script, accepting) = (Arc::new(script), Arc::clone(&shared));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let number = accepting.connections.fetch_add(1, Ordering::SeqCst);
                let (shared, script, tls) =
                    (Arc::clone(&accepting), Arc::clone(&script), tls.clone());
                // An error here is the client hanging up, which tests do on purpose.
                thread::spawn(move || {
                    open(stream, tls).and_then(|mut s| shared.serve(&mut *s, number, &*script))
                });
            }
        });
        Self { address, shared }
    }

    /// The socket address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The received requests, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared
            .requests
            .lock()
            .expect("no panic under the lock")
            .clone()
    }

    /// How many connections the server accepted.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// The largest number of requests in progress at one time.
    pub fn most_under_way(&self) -> usize {
        self.shared.most_under_way.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes the listener.
        let _ = TcpStream::connect(self.address);
    }
}

fn open(stream: TcpStream, tls: Option<Arc<rustls::ServerConfig>>) -> io::Result<Box<dyn Stream>> {
    stream.set_read_timeout(Some(TICK))?;
    stream.set_nodelay(true)?;
    Ok(match tls {
        None => Box::new(stream),
        Some(config) => {
            let session = rustls::ServerConnection::new(config).map_err(io::Error::other)?;
            Box::new(rustls::StreamOwned::new(session, stream))
        }
    })
}

impl ServerState {
    fn serve(
        &self,
        stream: &mut dyn Stream,
        number: usize,
        script: &dyn Fn(&Request) -> Reply,
    ) -> io::Result<()> {
        let mut buffer = Vec::new();
        while let Some(request) = self.read(stream, &mut buffer, number)? {
            self.requests
                .lock()
                .expect("no panic under the lock")
                .push(request.clone());
            let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_under_way.fetch_max(under_way, Ordering::SeqCst);
            let mut reply = script(&request);
            let last = reply.steps.pop();
            let written = self.write(stream, &reply.steps);
            // Before the last bytes: a client that has them may send its next request at once.
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            written.and_then(|()| self.write(stream, last.as_slice()))?;
            match reply.end {
                None => {}
                Some(ConnectionEnd::Close) => break,
                Some(ConnectionEnd::Notice) => return stream.give_notice(),
                Some(ConnectionEnd::Reset) => {
                    return socket2::SockRef::from(stream.socket())
                        .set_linger(Some(Duration::ZERO));
                }
            }
        }
        Ok(())
    }

    fn write(&self, stream: &mut dyn Stream, steps: &[ReplyStep]) -> io::Result<()> {
        for step in steps {
            match step {
                ReplyStep::Bytes(bytes) => stream.write_all(bytes).and_then(|()| stream.flush())?,
                ReplyStep::Pause(time) => self.pause(*time)?,
                ReplyStep::Endless(bytes, pause) => loop {
                    stream.write_all(bytes).and_then(|()| stream.flush())?;
                    self.pause(*pause)?;
                },
            }
        }
        Ok(())
    }

    fn pause(&self, time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            if self.over.load(Ordering::SeqCst) {
                return Err(ErrorKind::Interrupted.into());
            }
            thread::sleep(left.min(TICK));
        }
        Ok(())
    }

    /// The next request, or `None` after the client has closed the connection.
    fn read(
        &self,
        stream: &mut dyn Stream,
        buffer: &mut Vec<u8>,
        connection: usize,
    ) -> io::Result<Option<Request>> {
        let end = loop {
            if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if !self.fill(stream, buffer)? {
                return Ok(None);
            }
        };
        let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
        buffer.drain(..end);
        let mut lines = head.lines();
        let mut words = lines
            .next()
            .unwrap_or_default()
            .split(' ')
            .map(str::to_owned);
        let mut request = Request {
            method: words.next().unwrap_or_default(),
            target: words.next().unwrap_or_default(),
            headers: lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            body: Vec::new(),
            connection,
            at: Instant::now(),
        };
        let length = request
            .header("content-length")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        while buffer.len() < length {
            if !self.fill(stream, buffer)? {
                return Ok(None);
            }
        }
        request.body = buffer.drain(..length).collect();
        Ok(Some(request))
    }

    fn fill(&self, stream: &mut dyn Stream, buffer: &mut Vec<u8>) -> io::Result<bool> {
        let mut chunk = [0; 4096];
        loop {
            match stream.read(&mut chunk) {
                Ok(read) => {
                    buffer.extend_from_slice(&chunk[..read]);
                    return Ok(read > 0);
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    if self.over.load(Ordering::SeqCst) {
                        return Ok(false);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
}
