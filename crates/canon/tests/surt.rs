//! SURT keys: the shared vectors, a table of cases, and the properties that an index needs.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;
use urldb_canon::{Canonicalizer, SurtOptions, surt, surt_with};

/// Vectors on which tools disagree. The key is that of surt, which pywb uses to look URLs up.
const SETTLED: [(&str, &str, &str); 5] = [
    (
        "http://example.com/script?type=a+b+%26+c&grape=wine",
        "com,example)/script?+c&grape=wine&type=a+b+",
        "surt's own authors want `%26` kept, but 0.3.1 decodes it, and so does every index made with it",
    ),
    (
        "",
        "-",
        "a CDXJ line needs a first field, so an empty key would break the line",
    ),
    (
        "dns:archive.org",
        "dns:archive.org",
        "a dns record must not share a key with a page of the host",
    ),
    ("dns:alexa.com", "dns:alexa.com", "as above"),
    (
        "http://example.org/a/././b/../c/../../../../..",
        "org,example)/..",
        "surt keeps `..` above the root",
    ),
];

fn options(value: &Value) -> SurtOptions {
    let mut options = SurtOptions::default();
    for (name, value) in value.as_object().expect("options are an object") {
        match name.as_str() {
            "with_scheme" => options.with_scheme = value.as_bool().expect(name),
            "trailing_comma" => options.trailing_comma = value.as_bool().expect(name),
            "reverse_ipaddr" => options.reverse_ipaddr = value.as_bool().expect(name),
            "host_massage" => options.host_massage = value.as_bool().expect(name),
            "canonicalizer" => {
                assert_eq!(value, "identity");
                options.canonicalizer = Canonicalizer::Identity;
            }
            other => panic!("unknown option {other}"),
        }
    }
    options
}

#[test]
fn follows_the_shared_vectors() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/surt.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: no shared vectors at {}", path.display());
        return;
    };
    let vectors: Vec<Value> = serde_json::from_str(&text).expect("vectors are JSON");
    let mut disagreements = 0;
    for vector in &vectors {
        // One vector has no URL.
        let input = vector["input"].as_str().unwrap_or_default();
        let expected = if vector["surt_py_agrees"] == Value::Bool(false) {
            disagreements += 1;
            SETTLED
                .iter()
                .find(|(url, ..)| *url == input)
                .expect("a settled disagreement")
                .1
        } else {
            vector["expected"].as_str().expect("expected")
        };
        assert_eq!(
            surt_with(input, options(&vector["options"])),
            expected,
            "{vector}"
        );
    }
    assert_eq!(disagreements, SETTLED.len());
}

#[test]
fn settled_disagreements_follow_surt() {
    for (url, key, why) in SETTLED {
        assert_eq!(surt(url), key, "{why}");
    }
}

/// URL, key, reason.
const KEYS: &[(&str, &str, &str)] = &[
    (
        "http://Example.com",
        "com,example)/",
        "a missing path is the root",
    ),
    (
        "https://www2.example.com:443/A/",
        "com,example)/a",
        "www, default port, case, slash",
    ),
    (
        "http://example.com:443/",
        "com,example:443)/",
        "the other scheme's port stays",
    ),
    (
        "http://user:secret@example.com/",
        "com,example)/",
        "user information is never kept",
    ),
    (
        "http://example.com/a?",
        "com,example)/a",
        "an empty query goes",
    ),
    (
        "http://example.com/a#b?",
        "com,example)/a",
        "the fragment goes, whatever it ends in",
    ),
    (
        "http://example.com/?b&a=2&a",
        "com,example)/?a&a=2&b",
        "sorted; a name before its values",
    ),
    (
        "http://example.com/%252541",
        "com,example)/a",
        "unescaped until nothing is left",
    ),
    (
        "http://example.com/%%34%31",
        "com,example)/a",
        "an escape may be built of escapes",
    ),
    (
        "http://example.com/100%",
        "com,example)/100%25",
        "a lone % is escaped",
    ),
    (
        "http://example.com/a//b///",
        "com,example)/a/b",
        "empty segments go",
    ),
    (
        "http://example.com/é",
        "com,example)/%c3%a9",
        "path escapes end in lower case",
    ),
    (
        "http://bücher.example/",
        "example,xn--bcher-kva)/",
        "Punycode",
    ),
    (
        "http://straße.example/",
        "example,strasse)/",
        "IDNA 2003, as surt",
    ),
    (
        "http://2130706433/",
        "1,0,0,127)/",
        "a lone number is an address",
    ),
    ("http://0177.1/", "1,0,0,127)/", "octal, short form"),
    ("http://1.2.3.256/", "256,3,2,1)/", "no address, so a name"),
    ("example.com/x", "com,example)/x", "http is assumed"),
    (
        "http://https://example.com/",
        "com,example)/",
        "protocols that were pasted twice",
    ),
    (
        "http:////example.com/x",
        "com,example)/x",
        "too many slashes",
    ),
    ("urn:X-Y:Z", "urn:x-y:z", "no host: the path is free-form"),
    ("   ", "-", "surt raises here; a line needs a key"),
    (
        "http://example.com:port/",
        "http://example.com:port/",
        "surt raises: the URL is the key",
    ),
    (
        "http://example.com:99999/ a",
        "http://example.com:99999/%20a",
        "and never has a space",
    ),
];

#[test]
fn keys_of_our_own_table() {
    for (url, key, why) in KEYS {
        assert_eq!(surt(url), *key, "{url}: {why}");
    }
}

#[test]
fn session_ids_are_dropped() {
    let session = "0123456789abcdefghijklemopqrstuv";
    for name in ["jsessionid", "PHPSESSID", "sid"] {
        let url = format!("http://example.com/?b=1&{name}={session}&a=2");
        assert_eq!(surt(&url), "com,example)/?a=2&b=1");
    }
    let cases = [
        (
            "?a=1&ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX",
            "?&a=1",
        ),
        ("?cfid=1&cftoken=2&a", "?a"),
        ("?cfid=&cftoken=2", "?cfid=&cftoken=2"),
        ("(S(abcdefghijklmnopqrstuvwx))/p.aspx", "p.aspx"),
        ("(abcdefghijklmnopqrstuvwx)/p.aspx?q", "p.aspx?q"),
        (
            "(abcdefghijklmnopqrstuvwx)/p.html",
            "(abcdefghijklmnopqrstuvwx)/p.html",
        ),
        (
            "(abcdefghijklmnopqrstuvwx)/.aspx",
            "(abcdefghijklmnopqrstuvwx)/.aspx",
        ),
    ];
    for (rest, key) in cases {
        assert_eq!(
            surt(&format!("http://example.com/{rest}")),
            format!("com,example)/{key}")
        );
    }
}

#[test]
fn hostile_input_takes_linear_time() {
    let bombs = [
        format!("http://a/{}41", "%25".repeat(100_000)),
        format!("http://a/?{}", "cfid=".repeat(200_000)),
        format!("http://a/{}", "(abcdefghijklmnopqrstuvwx)/".repeat(40_000)),
        format!("http://{}", ".".repeat(1_000_000)),
    ];
    let start = std::time::Instant::now();
    for bomb in &bombs {
        assert!(!surt(bomb).is_empty());
    }
    assert!(
        start.elapsed().as_secs() < 20,
        "quadratic code would take minutes"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn never_panics_and_is_one_field(url in any::<String>()) {
        prop_assert!(!surt(&url).is_empty());
        for canonicalizer in [Canonicalizer::InternetArchive, Canonicalizer::Identity] {
            let all = SurtOptions { with_scheme: true, trailing_comma: true, reverse_ipaddr: false,
                host_massage: false, canonicalizer };
            surt_with(&url, all);
        }
        if !url.starts_with("filedesc") {
            prop_assert!(surt(&url).bytes().all(|b| b.is_ascii_graphic()), "{}", surt(&url));
        }
    }

    #[test]
    fn parts_of_urls_never_panic(url in "(https?:/{0,3})?[wa.1@:%\\[\\]]{0,12}(/|\\?|#)?[ -~é]{0,20}") {
        prop_assert!(surt(&url).bytes().all(|b| b.is_ascii_graphic()));
    }

    /// The key does not depend on details that the key omits.
    #[test]
    fn equal_but_for_case_and_escapes(path in "[a-zA-Z0-9/._-]{0,20}") {
        let escaped: String = path.bytes()
            .map(|b| if b == b'/' { "/".to_owned() } else { format!("%{b:02x}") })
            .collect();
        let key = surt(&format!("http://example.com/{path}"));
        prop_assert_eq!(&surt(&format!("http://example.com/{escaped}")), &key);
        let upper = format!("HTTPS://WWW.EXAMPLE.COM/{}", path.to_uppercase());
        prop_assert_eq!(&surt(&upper), &key);
    }
}
