//! The client against servers that answer, hang, break off and redirect.
#![allow(clippy::disallowed_methods)]

#[path = "../../../tests/support/mod.rs"]
mod support;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use support::{Reply, Server};
use urldb_http::{Answer, Client, Error, Method, Options, Proxy, Request, SendError, Url};

fn options() -> Options {
    Options {
        authorities: None,
        proxy: None,
        timeout: Duration::from_secs(20),
        user_agent: "urldb/test".to_owned(),
    }
}

fn request(url: &str) -> Request {
    Request {
        method: Method::Post,
        url: Url::parse(url).unwrap(),
        headers: vec![("X-Token".to_owned(), "secret".to_owned())],
        body: Some(b"body".to_vec()),
        max_answer: 1_000,
    }
}

fn send(options: &Options, request: Request) -> Result<Answer, SendError> {
    send_by(&Client::new(options).unwrap(), request)
}

fn send_by(client: &Client, request: Request) -> Result<Answer, SendError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(client.send(request))
}

fn at(server: &Server) -> String {
    format!("http://{}/hook", server.address())
}

#[test]
fn a_request_goes_out_and_an_answer_comes_back() {
    let server = Server::new(|_| Reply::new("202 Accepted", &["X-Reply: yes"], "thanks"));
    let answer = send(&options(), request(&at(&server))).unwrap();
    assert_eq!(
        (answer.status, answer.body.as_slice()),
        (202, b"thanks".as_slice())
    );
    assert!(answer.is_success());
    assert_eq!(answer.header("x-reply"), Some("yes"));
    let got = &server.requests()[0];
    assert_eq!(
        (got.method.as_str(), got.target.as_str()),
        ("POST", "/hook")
    );
    assert_eq!(got.body, b"body");
    assert_eq!(got.header("x-token"), Some("secret"));
    assert_eq!(got.header("user-agent"), Some("urldb/test"));
}

#[test]
fn one_client_works_in_several_runtimes() {
    let server = Server::new(|_| Reply::ok("x"));
    let client = Client::new(&options()).unwrap();
    for _ in 0..2 {
        assert!(send_by(&client, request(&at(&server))).is_ok());
    }
}

#[test]
fn no_redirect_is_followed() {
    let server = Server::new(|_| Reply::redirect(307, "/other"));
    let answer = send(&options(), request(&at(&server))).unwrap();
    assert_eq!(
        (answer.status, answer.header("location")),
        (307, Some("/other"))
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn an_answer_is_read_up_to_the_limit() {
    let server = Server::new(|_| {
        let endless = Reply::raw("HTTP/1.1 200 OK\r\n\r\n");
        (0..100)
            .fold(endless, |reply, _| reply.then(vec![b'x'; 1 << 20]))
            .hang()
    });
    let began = Instant::now();
    let answer = send(&options(), request(&at(&server))).unwrap();
    assert_eq!(answer.body.len(), 1_000);
    assert!(began.elapsed() < Duration::from_secs(15));
}

#[test]
fn an_endless_head_is_no_answer() {
    let server = Server::new(|_| {
        Reply::raw("HTTP/1.1 200 OK\r\n")
            .then("X-A: b\r\n".repeat(100_000))
            .close()
    });
    let error = send(&options(), request(&at(&server))).unwrap_err();
    assert!(matches!(error, SendError::NoAnswer(_)), "{error:?}");
}

#[test]
fn a_hang_ends_with_the_time_limit() {
    let begun = Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx");
    for reply in [Reply::default().hang(), begun.hang()] {
        let server = Server::new(move |_| reply.clone());
        let options = Options {
            timeout: Duration::from_secs(2),
            ..options()
        };
        let error = send(&options, request(&at(&server))).unwrap_err();
        assert_eq!(
            error,
            SendError::NoAnswer("no answer within 2 seconds".to_owned())
        );
    }
}

#[test]
fn a_lost_answer_differs_from_no_connection() {
    let server = Server::new(|_| Reply::default().reset());
    let error = send(&options(), request(&at(&server))).unwrap_err();
    assert!(matches!(error, SendError::NoAnswer(_)), "{error:?}");
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = send(&options(), request(&format!("http://{closed}/secret-path"))).unwrap_err();
    let SendError::NotSent(message) = error else {
        panic!("{error:?}")
    };
    assert!(!message.contains("secret-path"), "{message}");
}

#[test]
fn a_header_that_http_forbids_is_refused() {
    let mut bad = request("http://127.0.0.1:9/");
    bad.headers = vec![("X-A".to_owned(), "1\r\nX-B: 2".to_owned())];
    assert!(matches!(
        send(&options(), bad),
        Err(SendError::BadRequest(_))
    ));
}

#[test]
fn a_private_authority_is_trusted_if_it_is_named() {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let server = Server::tls(config, |_| Reply::ok("x").close_with_notice());
    let url = format!("https://127.0.0.1:{}/", server.port());
    let error = send(&options(), request(&url)).unwrap_err();
    assert!(matches!(error, SendError::NotSent(_)), "{error:?}");
    let trusting = Options {
        authorities: Some(made.cert.pem().into_bytes()),
        ..options()
    };
    assert_eq!(send(&trusting, request(&url)).unwrap().body, b"x");
    let empty = Options {
        authorities: Some(b"no certificate".to_vec()),
        ..options()
    };
    assert!(matches!(Client::new(&empty), Err(Error::Trust(_))));
}

#[test]
fn a_proxy_serves_all_machines_but_this_one() {
    let proxy = Server::new(|_| Reply::ok("from the proxy"));
    let here = Server::new(|_| Reply::ok("from here"));
    let options = Options {
        proxy: Some(Proxy {
            address: format!("http://{}", proxy.address()),
            credentials: Some(("ada".to_owned(), "pass".to_owned())),
        }),
        ..options()
    };
    let answer = send(&options, request("http://chat.example.org/hook")).unwrap();
    assert_eq!(answer.body, b"from the proxy");
    let got = &proxy.requests()[0];
    assert_eq!(got.target, "http://chat.example.org/hook");
    assert_eq!(
        got.header("proxy-authorization"),
        Some("Basic YWRhOnBhc3M=")
    );
    assert_eq!(
        send(&options, request(&at(&here))).unwrap().body,
        b"from here"
    );
    let localhost = format!("http://localhost:{}/", here.port());
    assert_eq!(
        send(&options, request(&localhost)).unwrap().body,
        b"from here"
    );
    assert_eq!(proxy.requests().len(), 1);
    assert!(!format!("{options:?}").contains("\"pass\""));
}
