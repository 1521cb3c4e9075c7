//! Any answers of a store are a list of its objects or an error with a sentence, after a bounded number of
//! requests. No name of the list leaves the folder of the archive.
#![no_main]

mod support;

use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use support::Server;
use urldb_store::{Budgets, Credentials, Environment, Location, Store, StoreOptions};

/// Pages of a list of a store whose manifest names nothing.
const MOST_REQUESTS: usize = 100;

static STORE: LazyLock<(Server, Store)> = LazyLock::new(|| {
    let server = Server::start();
    let Ok(Location::Bucket(location)) = "s3://bucket/archive".parse() else {
        panic!("no location");
    };
    let options = StoreOptions {
        location,
        endpoint: Some(format!("http://{}", server.address)),
        region: None,
        environment: Environment {
            credentials: Credentials::None,
            endpoint: None,
            region: None,
            allow_http: false,
        },
        http: urldb_http::Options {
            authorities: None,
            proxy: None,
            timeout: Duration::from_secs(5),
            user_agent: "urldb/fuzz".to_owned(),
        },
        budgets: Budgets::default(),
    };
    (server, Store::open(&options).expect("a store"))
});

fuzz_target!(|bytes: &[u8]| {
    let (server, store) = &*STORE;
    let pages: [&[u8]; 4] = support::parts(bytes);
    let pages = pages.into_iter().filter(|page| !page.is_empty());
    // Another status would be tried again, with a wait between.
    let head = |length| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n"
        )
    };
    let answers = pages.map(|page| [head(page.len()).as_bytes(), page].concat());
    let answers: Vec<Vec<u8>> = answers.collect();
    if answers.is_empty() {
        return;
    }
    server.set(answers);
    let listed = store.list(0);
    let requests = server.requests();
    assert!(
        (1..=MOST_REQUESTS).contains(&requests),
        "{requests} requests"
    );
    match listed {
        Ok(objects) => assert_eq!(objects.length("manifest.json"), None),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains(|char: char| char.is_control()), "{text:?}");
        }
    }
});
