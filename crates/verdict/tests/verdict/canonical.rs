//! The URL that a page calls its canonical one, compared with the official one.

use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;
use urldb_canon::{RequestUrl, Scheme};
use urldb_verdict::{Beginning, Hop, Observation, PAGE, Sent};
use urldb_verdict::{CanonicalMismatch, Warning, canonical_mismatch};
use urldb_verdict::{Job, Promise};

const URL: &str = "http://example.test/dir/page?a=1";

/// The record of a page with an official URL.
fn job() -> Job {
    let promise = Promise {
        canonical: Some(URL.into()),
        ..Promise::default()
    };
    Job {
        url: RequestUrl::new(Scheme::Http, "example.test", "/dir/page?a=1").unwrap(),
        ..crate::job(&promise, "/dir/page?a=1")
    }
}

/// An answer with this status and these headers and page, from this URL.
fn answer(url: &str, status: u16, headers: &[(&str, &[u8])], page: &[u8]) -> Observation {
    let hop = Hop {
        url: url.into(),
        at: Timestamp::UNIX_EPOCH,
        address: None,
        certificate: None,
        sent: Sent::default(),
        beginning: Beginning::default(),
        version: "HTTP/1.1".into(),
        protocols: vec!["http/1.1"],
        authority: None,
        origin: urldb_verdict::Origin::default(),
        status,
        reason_phrase: String::new(),
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.to_vec()))
            .collect(),
    };
    Observation {
        started: Timestamp::UNIX_EPOCH,
        elapsed: Duration::ZERO,
        hops: vec![hop],
        body: None,
        start: vec![],
        page: Some(page.to_vec()),
        failure: None,
    }
}

fn warning(headers: &[&str], page: &str) -> Option<Warning> {
    let headers: Vec<_> = headers
        .iter()
        .map(|value| ("link", value.as_bytes()))
        .collect();
    let seen = answer(URL, 200, &headers, page.as_bytes());
    canonical_mismatch(&job(), &seen).map(|canonical_mismatch| canonical_mismatch.warning)
}

fn is_missing(page: &str) -> bool {
    warning(&[], page) == Some(Warning::CanonicalMissing)
}

#[test]
fn the_page_may_name_it_in_many_spellings() {
    for page in [
        "<link rel=canonical href='http://example.test/dir/page?a=1'>",
        "<!doctype html><html><head><title>x</title><LINK REL='Canonical' HREF='/dir/page?a=1'/>",
        "<link href=page?a=1 rel='alternate CANONICAL'>",
        "<link rel=canonical href='?a=1#part'>",
        "<link rel=canonical href='https://EXAMPLE.test:443/dir/%70age?a=1'>",
        "<link rel=canonical href='http&#58;//example.test/dir/page?a&#x3d;1'>",
        "<base href=/dir/><link rel=canonical href='page?a=1'>",
        "<link rel=canonical href='page?a=1'><base href=/dir/><base href=/other/>",
        "<script>'<link rel=canonical href=/other>'</script><link rel=canonical href='?a=1'>",
        "<!-- <link rel=canonical href=/other> --><link rel=canonical href=' ?a=1 '>",
        "<head></head><link rel=canonical href='?a=1'>",
        "<link rel=canonical href='?a=1'><body><link rel=canonical href=/other>",
        "<link rel=canonical href='?a=1'><link rel=canonical href='page?a=1'>",
    ] {
        assert_eq!(warning(&[], page), None, "{page}");
    }
}

#[test]
fn what_is_no_canonical_link_counts_for_nothing() {
    for page in [
        "",
        "<p>no head at all",
        "<link rel=canonical>",
        "<link rel=canonical href=''>",
        "<link rel=canonical-ish href='?a=1'>",
        "<a rel=canonical href='?a=1'>",
        "<head><p>text</p><link rel=canonical href='?a=1'></head>",
        "<body><link rel=canonical href='?a=1'>",
        "<link rel=canonical href='?a=1'",
        "<title><link rel=canonical href='?a=1'></title>",
    ] {
        assert!(is_missing(page), "{page}");
    }
}

#[test]
fn a_header_may_name_it() {
    for header in [
        "<http://example.test/dir/page?a=1>; rel=\"canonical\"",
        "<?a=1>;rel=canonical",
        "</style.css>; rel=preload; as=style, <page?a=1> ; title=\"a, b; <c> \\\" d\" ; REL=\"next Canonical\"",
    ] {
        assert_eq!(warning(&[header], ""), None, "{header}");
    }
    assert_eq!(
        warning(&["</x>; rel=next", "<?a=1>; rel=canonical"], ""),
        None
    );
    for header in [
        "<?a=1>; rel=next",
        "<?a=1>; rel=\"next\"; rel=\"canonical\"",
        "<?a=1>; rel=canonical; anchor=\"#part\"",
        "<?a=1; rel=canonical",
        "?a=1; rel=canonical",
    ] {
        assert_eq!(
            warning(&[header], ""),
            Some(Warning::CanonicalMissing),
            "{header}"
        );
    }
}

#[test]
fn another_url_differs_wherever_it_is_named() {
    let right = "<link rel=canonical href='?a=1'>";
    for other in [
        "/dir/page",
        "?a=2",
        "//www.example.test/dir/page?a=1",
        "http://[",
        "mailto:x",
    ] {
        let page = format!("{right}<link rel=canonical href='{other}'>");
        assert_eq!(
            warning(&[], &page),
            Some(Warning::CanonicalDiffers),
            "{page}"
        );
        let header = format!("<{other}>; rel=canonical");
        assert_eq!(
            warning(&[&header], right),
            Some(Warning::CanonicalDiffers),
            "{header}"
        );
    }
    let seen = answer(URL, 200, &[], b"<link rel=canonical href=/other>");
    let CanonicalMismatch { message, .. } = canonical_mismatch(&job(), &seen).unwrap();
    assert_eq!(
        message,
        "the page names http://example.test/other as canonical; \
         its official URL is http://example.test/dir/page?a=1"
    );
    let long = format!(
        "<link rel=canonical href='http://[\u{9b}{}'>",
        "x".repeat(9999)
    );
    let CanonicalMismatch { message, .. } =
        canonical_mismatch(&job(), &answer(URL, 200, &[], long.as_bytes())).unwrap();
    assert!(
        message.len() < 400 && !message.contains('\u{9b}'),
        "{message}"
    );
}

#[test]
fn only_a_good_page_of_the_url_itself_is_looked_at() {
    let look = |seen: Observation| {
        canonical_mismatch(&job(), &seen).map(|canonical_mismatch| canonical_mismatch.warning)
    };
    let missing = Some(Warning::CanonicalMissing);
    assert_eq!(look(answer(URL, 200, &[], b"x")), missing);
    assert_eq!(
        look(answer("https://example.test/dir/page?a=1", 200, &[], b"x")),
        missing
    );
    assert_eq!(
        look(answer("http://example.test/elsewhere", 200, &[], b"x")),
        None
    );
    assert_eq!(look(answer(URL, 404, &[], b"x")), None);
    assert_eq!(
        look(answer(URL, 200, &[("content-encoding", b"gzip")], b"x")),
        None
    );
    assert_eq!(
        look(answer(URL, 200, &[("content-encoding", b"identity")], b"x")),
        missing
    );
    let mut other = answer(URL, 200, &[], b"x");
    other.page = None;
    assert_eq!(look(other), None, "not HTML, or it broke off");
    let mut unasked = job();
    unasked.promise.canonical = None;
    assert_eq!(
        canonical_mismatch(&unasked, &answer(URL, 200, &[], b"x")),
        None
    );
    // The page of another spelling is that of the official URL.
    let mut spelling = job();
    spelling.promise.canonical = Some("http://example.test/official".into());
    let page = b"<link rel=canonical href='/official'>";
    assert_eq!(
        canonical_mismatch(&spelling, &answer(URL, 200, &[], page)),
        None
    );
    assert_eq!(
        canonical_mismatch(
            &spelling,
            &answer("http://example.test/official", 200, &[], page)
        ),
        None
    );
}

#[test]
fn a_page_that_is_too_long_is_not_said_to_lack_it_anywhere() {
    let page = vec![b' '; PAGE];
    let CanonicalMismatch { message, .. } =
        canonical_mismatch(&job(), &answer(URL, 200, &[], &page)).unwrap();
    assert!(message.contains("in its first 256 KiB"), "{message}");
}

proptest! {
    #[test]
    fn nothing_panics(header in ".{0,60}", page in ".{0,200}", junk in any::<Vec<u8>>()) {
        let headers = [("link", header.as_bytes()), ("link", junk.as_slice())];
        let _ = canonical_mismatch(&job(), &answer(URL, 200, &headers, page.as_bytes()));
        let _ = canonical_mismatch(&job(), &answer(URL, 200, &[], &junk));
    }

    #[test]
    fn what_looks_like_links_never_panics(
        header in "[<>;=,\"\\\\ a-z]{0,40}rel=canonical[<>;=,\"\\\\ ]{0,10}",
        page in "(<link|<base|<body|<script|</|>| rel=canonical| href=|'|\"|/|#|\\?){0,30}",
    ) {
        let headers = [("link", header.as_bytes())];
        let _ = canonical_mismatch(&job(), &answer(URL, 200, &headers, page.as_bytes()));
    }

    #[test]
    fn what_is_named_by_itself_is_never_another(path in "/[ -~]{0,30}") {
        // As the network writes it.
        let Ok(identity) = urldb_canon::identify(&format!("http://example.test{path}")) else {
            return Ok(());
        };
        let mut own = job();
        own.url = RequestUrl::new(identity.scheme, &identity.host, &identity.path).unwrap();
        own.promise.canonical = Some(identity.to_string().into());
        let page = format!("<link rel=canonical href=\"{}\">", identity.path.replace('&', "&amp;"));
        // Two slashes would begin a host.
        prop_assume!(!identity.path.starts_with("//"));
        prop_assert_eq!(canonical_mismatch(&own, &answer(own.url.as_str(), 200, &[], page.as_bytes())), None);
    }
}
