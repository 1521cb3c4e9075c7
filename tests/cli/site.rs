//! A web site that the test rewrites while the program watches it.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

use crate::support::{Reply, Request, Server};

/// The domain file of `example.test`.
pub(crate) const FILE: &str = "urldb/example.test.yaml";

/// `example.test`, where each path answers what it was last told to, and 404 otherwise.
pub(crate) struct Site {
    server: Server,
    pages: Arc<Mutex<BTreeMap<String, Reply>>>,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::over(None)
    }

    /// Over TLS, if there are settings for it.
    pub(crate) fn over(tls: Option<rustls::ServerConfig>) -> Self {
        let pages = Arc::new(Mutex::new(BTreeMap::new()));
        let known = Arc::clone(&pages);
        let answer = move |request: &Request| {
            let pages = known.lock().unwrap();
            pages.get(&request.target).cloned().unwrap_or_else(missing)
        };
        Self {
            server: match tls {
                Some(tls) => Server::tls(tls, answer),
                None => Server::new(answer),
            },
            pages,
        }
    }

    /// With these texts.
    pub(crate) fn with(pages: &[(&str, &str)]) -> Self {
        let site = Self::new();
        for (path, text) in pages {
            site.serve(path, Reply::ok(text));
        }
        site
    }

    pub(crate) fn serve(&self, path: &str, reply: Reply) {
        self.pages.lock().unwrap().insert(path.to_owned(), reply);
    }

    pub(crate) fn remove(&self, path: &str) {
        self.pages.lock().unwrap().remove(path);
    }

    /// What it was asked, in order.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.server.requests()
    }

    /// The value of `--map` by which a host is found here.
    pub(crate) fn map(&self, host: &str) -> String {
        format!("{host}={}", self.server.address())
    }

    /// `[network]` with this site as `example.test`.
    pub(crate) fn network(&self) -> String {
        self.network_of(&["example.test"])
    }

    /// `[network]` with this site as these hosts.
    pub(crate) fn network_of(&self, hosts: &[impl AsRef<str>]) -> String {
        network(self.server.address(), hosts)
    }
}

/// `[network]` with one server as these hosts.
pub(crate) fn network(address: SocketAddr, hosts: &[impl AsRef<str>]) -> String {
    let hosts = hosts.iter().map(AsRef::as_ref);
    let map: Vec<String> = hosts.map(|host| format!("{host}={address}")).collect();
    format!("[network]\nmap = {map:?}\n")
}

/// An address where nobody listens any more.
pub(crate) fn closed_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn missing() -> Reply {
    Reply::new("404 Not Found", &[], "nothing here")
}

pub(crate) fn sha256(text: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(text);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// A domain file with a static record for each path and text; in the order given.
pub(crate) fn promises(records: &[(&str, &str)]) -> String {
    let mut text = "---\n".to_owned();
    for (path, body) in records {
        text.push_str(&promise(path, body));
    }
    text
}

/// One document: this text at this path.
pub(crate) fn promise(path: &str, body: &str) -> String {
    format!(
        "---\n_path: {path}\ncontent-length: {}\ncontent-sha256: {}\n",
        body.len(),
        sha256(body)
    )
}
