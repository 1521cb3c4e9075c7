//! The tunnel that a proxy makes to a server: `CONNECT` (RFC 9110, 9.3.6).

use std::io;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{StatusCode, Uri};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use urldb_verdict::{Failure, FailureKind};

use crate::proxy_error;

/// Longest head of an answer, in bytes.
const LONGEST_HEAD: usize = 256 << 10;

/// Asks the proxy at the other end of a connection for a tunnel to a server. Afterwards the connection belongs to the
/// server.
pub(crate) async fn open(
    proxy: &mut TcpStream,
    server: &Uri,
    authorization: Option<&HeaderValue>,
) -> Result<(), Failure> {
    let host = server.host().unwrap_or_default();
    let port = server.port_u16().unwrap_or(443);
    let authorization = authorization
        .and_then(|it| it.to_str().ok())
        .map(|it| format!("Proxy-Authorization: {it}\r\n"))
        .unwrap_or_default();
    let request =
        format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{authorization}\r\n");
    let lost = |error: io::Error| refused(&error.to_string());
    proxy.write_all(request.as_bytes()).await.map_err(lost)?;
    loop {
        let head = read_head(proxy).await.map_err(lost)?;
        let head = String::from_utf8_lossy(&head);
        let (status, line) = status_of(&head).ok_or_else(|| refused("its answer is not HTTP"))?;
        return match status.as_u16() {
            // An interim answer. A switch of protocols is none.
            100..=199 if status != StatusCode::SWITCHING_PROTOCOLS => continue,
            200..=299 => Ok(()),
            407 => Err(refused("it rejects the user name or the password (407)")),
            _ => Err(match proxy_error::reported(status, &headers_of(&head)) {
                Some(reported) => Failure {
                    detail: format!("{} ({line})", reported.detail),
                    ..reported
                },
                None => refused(&format!("it answers {line}")),
            }),
        };
    }
}

fn refused(cause: &str) -> Failure {
    Failure {
        kind: FailureKind::Connect,
        detail: format!("the proxy cannot connect to the server: {cause}"),
        certificate: None,
    }
}

/// Reads the head of an answer, and no byte beyond: what follows is the server's.
async fn read_head(proxy: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut buffer = [0; 2048];
    while head.len() <= LONGEST_HEAD {
        let peeked = proxy.peek(&mut buffer).await?;
        if peeked == 0 {
            return Err(io::Error::other("it closes the connection"));
        }
        let before = head.len();
        head.extend_from_slice(&buffer[..peeked]);
        let end = end_of_head(&head, before);
        head.truncate(end.unwrap_or(head.len()));
        proxy.read_exact(&mut buffer[..head.len() - before]).await?;
        if end.is_some() {
            return Ok(head);
        }
    }
    let limit = LONGEST_HEAD >> 10;
    let cause = format!("the head of its answer exceeds {limit} KiB");
    Err(io::Error::other(cause))
}

/// The length of a head that ends with an empty line; its first bytes until `known` have none. Lines may end with LF alone
/// (RFC 9112, 2.2).
fn end_of_head(head: &[u8], known: usize) -> Option<usize> {
    (known..head.len())
        .filter(|&at| head[at] == b'\n')
        .find(|&at| {
            head[..at]
                .strip_suffix(b"\r")
                .unwrap_or(&head[..at])
                .ends_with(b"\n")
        })
        .map(|at| at + 1)
}

/// The status of an answer, and its text: `403 Forbidden`.
fn status_of(head: &str) -> Option<(StatusCode, &str)> {
    let line = head.lines().next()?;
    let (version, status) = line.split_once(' ')?;
    let status = status.trim();
    let code = status.split(' ').next()?.parse().ok()?;
    version.starts_with("HTTP/1.").then_some((code, status))
}

fn headers_of(head: &str) -> HeaderMap {
    head.lines()
        .skip(1)
        .filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            let name: HeaderName = name.parse().ok()?;
            Some((name, HeaderValue::from_str(value.trim()).ok()?))
        })
        .collect()
}
