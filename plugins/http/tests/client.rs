//! The client against servers that answer, hang, break off and redirect.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

#[path = "../../../tests/support/mod.rs"]
mod support;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use support::{Reply, Server};
use urldb_http::{
    Answer, Budget, Client, Ended, Error, Method, Options, Proxy, Request, SendError, Url,
};

/// More than any test needs, but for the bytes of an endless body.
const BUDGET: Budget = Budget {
    requests: 10,
    bytes: 1_000,
    seconds: 600,
};

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
    }
}

fn send(options: &Options, request: Request) -> Result<Answer, SendError> {
    send_by(&Client::new(options).unwrap(), request)
}

fn send_by(client: &Client, request: Request) -> Result<Answer, SendError> {
    block_on(client.converse(BUDGET).send(request))
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(work)
}

fn at(server: &Server) -> String {
    format!("http://{}/hook", server.address())
}

#[test]
fn a_request_goes_out_and_an_answer_comes_back() {
    let server = Server::new(|_| Reply::new("202 Accepted", &["X-Reply: yes"], "thanks"));
    let answer = send(&options(), request(&at(&server))).unwrap();
    assert_eq!(
        (answer.status, answer.body()),
        (202, Ok(b"thanks".as_slice()))
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

/// One conversation of three requests, which clones share.
fn three_answers(budget: Budget, reply: Reply) -> (Vec<Result<Answer, SendError>>, usize) {
    let server = Server::new(move |_| reply.clone());
    let conversation = Client::new(&options()).unwrap().converse(budget);
    let answers = block_on(async {
        let mut answers = vec![];
        for _ in 0..3 {
            answers.push(conversation.clone().send(request(&at(&server))).await);
        }
        answers
    });
    (answers, server.requests().len())
}

#[test]
fn a_conversation_ends_when_its_budget_is_spent() {
    let two_requests = Budget {
        requests: 2,
        ..BUDGET
    };
    let (answers, requests) = three_answers(two_requests, Reply::ok("x"));
    assert!(answers[1].is_ok());
    assert_eq!(requests, 2);
    let error = answers[2].as_ref().unwrap_err();
    assert_eq!(error.to_string(), "the conversation ended after 2 requests");

    // The first answer fits exactly, the second one is cut, and no third request is sent.
    let (answers, requests) = three_answers(BUDGET, Reply::ok("x".repeat(1_000)));
    assert_eq!(answers[0].as_ref().unwrap().body().unwrap().len(), 1_000);
    let cut = answers[1].as_ref().unwrap();
    assert_eq!((cut.status, cut.body()), (200, Err(Ended::Bytes(1_000))));
    assert_eq!(requests, 2);
    let error = answers[2].as_ref().unwrap_err();
    assert_eq!(error.to_string(), "the conversation ended after 1000 bytes");

    let one_second = Budget {
        seconds: 1,
        ..BUDGET
    };
    let (answers, requests) = three_answers(one_second, Reply::default().hang());
    assert_eq!(requests, 1);
    for answer in answers {
        assert_eq!(answer.unwrap_err(), SendError::Ended(Ended::Seconds(1)));
    }
}

#[test]
fn the_beginning_of_a_long_answer_is_kept() {
    let server = Server::new(|_| {
        Reply::raw("HTTP/1.1 400 Bad\r\n\r\nno ").endless("x".repeat(1 << 16), Duration::ZERO)
    });
    let answer = send(&options(), request(&at(&server))).unwrap();
    assert!(answer.excerpt().starts_with("no xxx"), "{answer:?}");
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
    assert_eq!(
        send(&trusting, request(&url)).unwrap().body().unwrap(),
        b"x"
    );
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
    assert_eq!(answer.body().unwrap(), b"from the proxy");
    let got = &proxy.requests()[0];
    assert_eq!(got.target, "http://chat.example.org/hook");
    assert_eq!(
        got.header("proxy-authorization"),
        Some("Basic YWRhOnBhc3M=")
    );
    assert_eq!(
        send(&options, request(&at(&here))).unwrap().body().unwrap(),
        b"from here"
    );
    let localhost = format!("http://localhost:{}/", here.port());
    assert_eq!(
        send(&options, request(&localhost)).unwrap().body().unwrap(),
        b"from here"
    );
    assert_eq!(proxy.requests().len(), 1);
    assert!(!format!("{options:?}").contains("\"pass\""));
}
