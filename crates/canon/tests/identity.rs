//! Identities of URLs: the shared vectors, a table of cases, and the fixpoint properties.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use proptest::prelude::*;
use serde_json::Value;
use url::Url;
use urldb_canon::{PathError, RequestUrl, Scheme, UrlError, check_path, identify};

/// The canonical URL, or the code of the error.
fn outcome(input: &str) -> Result<String, &'static str> {
    identify(input)
        .map(|identity| identity.to_string())
        .map_err(|error| error.code())
}

#[test]
fn follows_the_vectors() {
    let vectors: Value =
        serde_json::from_str(include_str!("add-url.json")).expect("vectors are JSON");
    for vector in vectors["vectors"].as_array().expect("a list") {
        let input = vector["input"].as_str().expect("input");
        let result = identify(input).map(|mut identity| {
            // The only vector that needs a domain file: it lists this host among its cnames.
            if identity.host == "www.example.com" {
                identity.host = "example.com".to_owned();
            }
            (identity.host, identity.path)
        });
        if let Some(code) = vector["error"].as_str() {
            assert_eq!(result.map_err(|e| e.code()), Err(code), "{vector}");
        } else {
            let text = |key: &str| vector[key].as_str().expect(key).to_owned();
            assert_eq!(result, Ok((text("domain"), text("path"))), "{vector}");
        }
    }
}

/// Input, canonical URL, reason.
const CANONICAL: &[(&str, &str, &str)] = &[
    (
        "  http://example.com/a \n",
        "http://example.com/a",
        "white space around a pasted URL",
    ),
    (
        "http://example.com?a",
        "http://example.com/?a",
        "a query without a path",
    ),
    (
        "http://example.com#f",
        "http://example.com/",
        "a fragment without a path",
    ),
    (
        "http://example.com/?#f",
        "http://example.com/",
        "an empty query before a fragment",
    ),
    (
        "http://example.com/a??",
        "http://example.com/a??",
        "the query is `?`, which is not empty",
    ),
    (
        "http://example.com:/",
        "http://example.com/",
        "an empty port is the default port",
    ),
    ("https://a.test:08080/", "https://a.test:8080/", "padded"),
    (
        "http://a.test:0080/",
        "http://a.test/",
        "the default, padded",
    ),
    (
        "http://example.com/#:\\%",
        "http://example.com/",
        "a fragment is dropped unread",
    ),
    (
        "http://example.com//a//../b",
        "http://example.com//a/b",
        "`..` takes the empty segment",
    ),
    (
        "http://example.com/..",
        "http://example.com/",
        "nothing is above the root",
    ),
    (
        "http://example.com/a/..",
        "http://example.com/",
        "a dot segment names a directory",
    ),
    (
        "http://example.com/a/.",
        "http://example.com/a/",
        "as above",
    ),
    (
        "http://example.com/a/%2E.%2fb",
        "http://example.com/a/..%2Fb",
        "an escaped slash does not separate",
    ),
    (
        "http://example.com/...",
        "http://example.com/...",
        "three dots are a name",
    ),
    (
        "http://example.com/?a=../b",
        "http://example.com/?a=../b",
        "dots in a query are data",
    ),
    (
        "http://example.com/%2541",
        "http://example.com/%2541",
        "decoded once, never twice",
    ),
    (
        "http://example.com/%00%0a",
        "http://example.com/%00%0A",
        "escaped controls are harmless",
    ),
    (
        "http://example.com/é?ü",
        "http://example.com/%C3%A9?%C3%BC",
        "UTF-8",
    ),
    (
        "http://example.com/'?'",
        "http://example.com/'?%27",
        "`url` escapes it in queries only",
    ),
    (
        "http://example.com/{}?{}",
        "http://example.com/%7B%7D?%7B%7D",
        "`url` escapes it in paths only",
    ),
    (
        "http://example.com/|^`\"<>",
        "http://example.com/%7C%5E%60%22%3C%3E",
        "in no URL of RFC 3986",
    ),
    (
        "http://example.com/?a[]=1&b",
        "http://example.com/?a[]=1&b",
        "reserved, and common",
    ),
    (
        "http://example.com/a?b=http://c/@d",
        "http://example.com/a?b=http://c/@d",
        "a URL within a URL",
    ),
    (
        "http://example.com/A%41",
        "http://example.com/AA",
        "case is kept",
    ),
    (
        "http://BÜCHER.example。/",
        "http://xn--bcher-kva.example/",
        "a trailing dot may be ideographic",
    ),
    (
        "http://straße.example/",
        "http://xn--strae-oqa.example/",
        "as browsers, not IDNA 2003",
    ),
    (
        "http://under_score.example/",
        "http://under_score.example/",
        "common in practice",
    ),
    (
        "http://localhost/",
        "http://localhost/",
        "monitored through --map",
    ),
    ("http://127.0.0.1/", "http://127.0.0.1/", "as above"),
    (
        "http://1.example/",
        "http://1.example/",
        "only the last label makes an address",
    ),
];

#[test]
fn canonical_spellings() {
    for (input, expected, why) in CANONICAL {
        assert_eq!(outcome(input).as_deref(), Ok(*expected), "{input}: {why}");
    }
}

#[test]
fn refusals() {
    let label = "a".repeat(64);
    let long = format!("http://{label}.example/");
    let longer = format!("http://{}example/", "abc.".repeat(64));
    let cases = [
        ("", "not-absolute", ""),
        ("example.com/x", "not-absolute", ""),
        (
            "example.com:80/x",
            "not-absolute",
            "a host with a port, not a scheme",
        ),
        ("localhost:8080", "not-absolute", "as above"),
        ("/x", "not-absolute", ""),
        (
            "http:example.com",
            "not-absolute",
            "browsers repair it, others do not",
        ),
        ("http:/example.com", "not-absolute", "as above"),
        ("ftp://example.com/", "scheme", ""),
        ("mailto:a@example.com", "scheme", ""),
        ("doi:10.1000/182", "scheme", "no host with a port"),
        ("tel:5551234", "scheme", "no port has this number"),
        ("http://example.com:0/", "port", ""),
        ("http://example.com:443/", "port", "the other scheme's"),
        ("https://example.com:80/", "port", "as above"),
        (
            "http://example.com:+80/",
            "port",
            "not a number, though Rust parses it",
        ),
        ("http://example.com:x/", "port", ""),
        ("http:///x", "host", "empty"),
        ("http://./", "host", "empty"),
        ("http://example.com../", "host", "only one trailing dot"),
        ("http://.example.com/", "host", ""),
        ("http://[::1]/", "host", "no file name on some systems"),
        ("http://2130706433/", "host", "decimal"),
        ("http://0x7f.1/", "host", "hexadecimal"),
        ("http://0X7F000001/", "host", "hexadecimal, in upper case"),
        ("http://a.0x/", "host", "an address to WHATWG parsers"),
        ("http://017700000001/", "host", "octal"),
        ("http://127.0.0.01/", "host", "octal in one part"),
        ("http://127.1/", "host", "short"),
        ("http://1.2.3.256/", "host", "out of range"),
        ("http://ex%61mple.com/", "host", ""),
        ("http://exa mple.com/", "host", ""),
        ("http://a,b.example/", "host", ""),
        (
            "http://-rf.example/",
            "host",
            "its file would look like an option",
        ),
        ("http://xn--a.example/", "host", "not Punycode"),
        (&long, "host", "a label of 64"),
        (&longer, "host", "more than 253"),
        ("http://u@example.com/", "userinfo", ""),
        ("http://@example.com/", "userinfo", ""),
        (
            "http://example.com\\@evil.example/",
            "backslash",
            "two programs see two hosts",
        ),
        ("http://example.com/a\\b", "backslash", ""),
        ("http://example.com/a\nb", "control-character", ""),
        ("http://example.com/\u{7f}", "control-character", ""),
        (
            "http://example.com/\u{85}",
            "control-character",
            "a line break to YAML",
        ),
        (
            "http://example.com/#\u{0}",
            "control-character",
            "in a fragment too: it was not typed",
        ),
        ("http://example.com/%", "bad-percent-encoding", ""),
        ("http://example.com/%4", "bad-percent-encoding", ""),
        (
            "http://example.com/%é0",
            "bad-percent-encoding",
            "cut at a character, not a byte",
        ),
        (
            "http://example.com/?%+1",
            "bad-percent-encoding",
            "in queries too",
        ),
    ];
    for (input, code, why) in cases {
        assert_eq!(outcome(input), Err(code), "{input}: {why}");
    }
}

#[test]
fn messages_say_what_to_do() {
    let cases = [
        (
            "example.com/x",
            "`example.com/x` is not an absolute URL: did you mean `http://example.com/x`?",
        ),
        (
            "//example.com/x",
            "`//example.com/x` is not an absolute URL: did you mean `http://example.com/x`?",
        ),
        (
            "https:/example.com",
            "`https:/example.com` is not an absolute URL: did you mean `https://example.com`?",
        ),
        (
            "/x",
            "`/x` is not an absolute URL: it must start with http:// or https:// and a host",
        ),
        (
            "ftp://example.com/",
            "scheme `ftp` is not supported: only http and https URLs can be watched",
        ),
        (
            "http://example.com:443/",
            "port `443` cannot be watched: write a number from 1 to 65535, but not 80 or 443",
        ),
        (
            "http://a..b/",
            "host `a..b` has an empty label: remove the extra dot",
        ),
        (
            "http://u:p@example.com/",
            "`http://***@example.com/` carries a user name or password: remove everything up to the `@`, the database is public",
        ),
        (
            "http://a/b\\c",
            "`http://a/b\\c` has a backslash: write `/` for a separator, or `%5C` if a backslash is meant",
        ),
        (
            "http://a/\tb",
            "control character U+0009 at character 10: remove it, or write it as a percent escape",
        ),
        (
            "http://a/100%",
            "`%` is not a percent escape: write `%25` if a percent sign is meant",
        ),
    ];
    for (input, message) in cases {
        assert_eq!(identify(input).expect_err(input).to_string(), message);
    }
}

#[test]
fn paths_are_checked() {
    for path in ["/", "/a?b=2&a=1", "/a//b/", "/%2F", "/?a[]=%27"] {
        assert_eq!(check_path(path), Ok(()), "{path}");
    }
    let cases = [
        ("", "/", "does not start with a slash"),
        ("a", "/a", "does not start with a slash"),
        ("?a", "/?a", "does not start with a slash"),
        (
            "http://example.com/a#b",
            "/a",
            "does not start with a slash",
        ),
        (" /a", "/a", "has white space around it"),
        ("/a#b", "/a", "has a fragment, which is never sent"),
        ("/a?", "/a", "is spelled differently in a canonical URL"),
        (
            "/a/%2e%2E/b",
            "/b",
            "is spelled differently in a canonical URL",
        ),
        ("/%7ea", "/~a", "is spelled differently in a canonical URL"),
        (
            "/a b",
            "/a%20b",
            "is spelled differently in a canonical URL",
        ),
    ];
    for (path, better, why) in cases {
        let Err(PathError::NotCanonical {
            suggestion,
            problem,
            ..
        }) = check_path(path)
        else {
            panic!("{path} should not be canonical");
        };
        assert_eq!((suggestion.as_str(), problem), (better, why), "{path}");
    }
    assert_eq!(
        check_path("/%7ea").expect_err("spelling").to_string(),
        "path `/%7ea` is spelled differently in a canonical URL: write `/~a`"
    );
    for (path, code) in [
        ("/%", "bad-percent-encoding"),
        ("/\\", "backslash"),
        ("/a\nb", "control-character"),
    ] {
        assert_eq!(check_path(path).expect_err(path).code(), code);
    }
}

/// Any text, but mostly text that looks like a URL.
fn urlish() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "(https?://)?[a-zA-Z0-9.@:ü_\\[-]{0,12}[/?#]?[ -~éß]{0,24}",
        "https?://[a-zA-Z0-9ü]{1,6}(\\.[a-z0-9x]{1,5}){0,3}(/(\\.|\\.\\.|%2[eEfF]|[!-~&&[^%#\\\\]]{0,4})){0,6}(\\?[!-~&&[^%#\\\\]]{0,8})?",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn identity_is_a_fixpoint(input in urlish()) {
        if let Ok(identity) = identify(&input) {
            prop_assert_eq!(identify(&identity.to_string()), Ok(identity.clone()));
            prop_assert_eq!(check_path(&identity.path), Ok(()));
            let sent = Url::parse(&identity.to_string()).expect("url reads what we write");
            prop_assert_eq!(sent.as_str(), identity.to_string());
        }
    }

    /// Whatever stands in a domain file: the request goes to the host that the file is named after.
    #[test]
    fn no_path_changes_the_host_of_a_request(
        host in "[a-c]{1,3}(\\.test)?|[a-cA-C@:/?#\\\\.\\[\\]%-]{0,6}",
        path in "/{0,2}[ -~\t\n]{0,12}|\\PC{0,6}",
        port in any::<u16>(),
    ) {
        let url = RequestUrl::new(Scheme::Http, &host, &path);
        prop_assert!(url.is_none() || path.starts_with('/'));
        if let Some(url) = url {
            prop_assert_eq!(url.host(), &*host);
            let sent = Url::parse(url.as_str()).expect("url reads what we write");
            prop_assert_eq!((sent.host_str(), sent.port()), (Some(&*host), None));
            prop_assert!(sent.username().is_empty() && sent.password().is_none());
            let port = port | 1024;
            let at_port = RequestUrl::new(Scheme::Http, &format!("{host}+{port}"), &path).unwrap();
            prop_assert_eq!(at_port.host(), &*host);
            let sent = Url::parse(at_port.as_str()).expect("url reads what we write");
            prop_assert_eq!((sent.host_str(), sent.port()), (Some(&*host), Some(port)));
        }
    }

    #[test]
    fn a_suggestion_can_be_followed(input in urlish()) {
        if let Err(UrlError::NotAbsolute { suggestion: Some(url), .. }) = identify(&input) {
            prop_assert!(identify(&url).is_ok(), "{}", url);
        }
        if let Err(PathError::NotCanonical { suggestion, .. }) = check_path(&input) {
            prop_assert_eq!(check_path(&suggestion), Ok(()));
        }
    }

    /// Also where an unescaped character in the password ends the authority. (Where the result is a
    /// valid URL, as in `http://user:#SECRET@a/`, there is no message.)
    #[test]
    fn no_message_shows_a_password(
        scheme in "(https?://|ftp://|//|)",
        secret in "[a-z]{0,3}[/?#%\\\\:@.]?SECRET[/?#%\\\\:@.]?[a-z]{0,3}",
        rest in "[a-z]{1,5}(:[0-9]{0,3})?/[a-z%]{0,4}",
    ) {
        if let Err(error) = identify(&format!("{scheme}user:{secret}@{rest}")) {
            prop_assert!(!error.to_string().contains("SECRET"), "{}", error);
            prop_assert!(!format!("{error:?}").contains("SECRET"), "{:?}", error);
        }
    }
}
