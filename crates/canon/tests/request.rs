//! Requests as query parameters: a table of cases, the vectors of each program, and hostile input.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::path::Path;

use proptest::prelude::*;
use urldb_canon::{Compat, Request, surt};

const ALL: [Compat; 2] = [Compat::Spec, Compat::Pywb];

fn post<'a>(content_type: &'a str, body: &'a [u8]) -> Request<'a> {
    Request {
        method: "POST",
        content_type,
        body,
    }
}

/// The parameters after the method, in the two readings.
fn parameters(content_type: &str, body: &str) -> [String; 2] {
    ALL.map(|compat| {
        let query = post(content_type, body.as_bytes()).query(compat);
        let query = query.expect("a POST has a query");
        query
            .strip_prefix("__wb_method=POST")
            .expect("the method")
            .to_owned()
    })
}

#[test]
fn a_get_has_no_query() {
    let get = Request {
        method: "GET",
        content_type: "text/plain",
        body: b"a",
    };
    for compat in ALL {
        assert_eq!(get.query(compat), None);
        assert_eq!(
            get.append_to("http://a.test/#b", compat),
            "http://a.test/#b"
        );
    }
}

#[test]
fn the_query_joins_the_one_of_the_url_and_stands_before_the_fragment() {
    let append = |url| post("", b"").append_to(url, Compat::Spec);
    assert_eq!(append("http://a.test/"), "http://a.test/?__wb_method=POST");
    assert_eq!(
        append("http://a.test/?"),
        "http://a.test/?&__wb_method=POST"
    );
    assert_eq!(
        append("http://a.test/?b&"),
        "http://a.test/?b&&__wb_method=POST"
    );
    assert_eq!(
        append("http://a.test/#?b"),
        "http://a.test/?__wb_method=POST#?b"
    );
    let pywb = post("", b"").append_to("http://a.test/#b", Compat::Pywb);
    assert_eq!(pywb, "http://a.test/#b?__wb_method=POST");
}

#[test]
fn json_members_become_parameters() {
    let [spec, pywb] = parameters(
        "application/json",
        r#"{"a": ["x y", true, null, {"a": 1e21, "b": 1e-7, "": ""}], "a b&c": 44.0}"#,
    );
    assert_eq!(
        spec,
        "&a=x+y&a.2_=true&a.3_=null&a.4_=1e+21&b=1e-7&=&a+b%26c=44"
    );
    assert_eq!(
        pywb,
        "&a=x+y&a.2_=true&a.3_=null&a.4_=1000000000000000000000&b=1e-07&a+b%26c=44"
    );
}

#[test]
fn members_of_one_name_stay_apart_only_by_the_specification() {
    let [spec, pywb] = parameters("application/json", r#"{"b":0,"a":1,"2":3,"a":{"c":4}}"#);
    assert_eq!(spec, "&b=0&a=1&2=3&c=4");
    assert_eq!(pywb, "&b=0&c=4&2=3");
    let [spec, _] = parameters("application/json", r#"{"a.2_":9,"x":{"a":1},"y":{"a":2}}"#);
    assert_eq!(spec, "&a.2_=9&a=1&a.2_=2");
    let [spec, pywb] = parameters("application/json", r#"[5, ["x"]]"#);
    assert_eq!((spec.as_str(), pywb.as_str()), ("&=5&.2_=x", ""));
}

#[test]
fn numbers_are_written_as_each_language_writes_them() {
    for (literal, javascript, python) in [
        ("-0", "0", "0"),
        ("-0.0", "0", "0"),
        ("35.70", "35.7", "35.7"),
        (
            "2136904463754101.25",
            "2136904463754101.2",
            "2136904463754101.2",
        ),
        ("-1.5E-7", "-1.5e-7", "-1.5e-07"),
        ("0.0001", "0.0001", "0.0001"),
        ("0.00001", "0.00001", "1e-05"),
        ("9007199254740993", "9007199254740992", "9007199254740993"),
        ("1e300", "1e+300", &format!("{:.0}", 1e300)),
        (
            "123456789012345680000",
            "123456789012345680000",
            "123456789012345680000",
        ),
        ("5e-324", "5e-324", "5e-324"),
    ] {
        let [spec, pywb] = parameters("application/json", &format!("{{\"a\":{literal}}}"));
        assert_eq!(spec, format!("&a={javascript}"), "{literal}");
        assert_eq!(pywb, format!("&a={python}"), "{literal}");
    }
    let [spec, pywb] = parameters("application/json", "{\"a\":1e999}");
    assert_eq!([spec, pywb], ["&a=Infinity", ""]);
}

#[test]
fn what_is_no_json_is_binary_by_the_specification() {
    for body in [
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "01",
        "1.",
        "+1",
        "\"\t\"",
        "\"\\x\"",
        "\"\\ud800\"",
        "nul",
        "1 2",
    ] {
        let [spec, pywb] = parameters("application/json", body);
        assert!(spec.starts_with("&__wb_post_data="), "{body}");
        assert_eq!(pywb, "", "{body}");
        let [_, pywb] = parameters("text/plain", body);
        assert!(pywb.starts_with("&__wb_post_data="), "{body}");
    }
    let [spec, pywb] = parameters("text/plain", r#"{"a":"\ud83d\ude00\u00e9\n\/"}"#);
    assert_eq!(spec, "&a=%F0%9F%98%80%C3%A9%0A%2F");
    assert_eq!(pywb, spec);
}

#[test]
fn forms_are_one_value_by_the_specification_and_a_query_in_practice() {
    let form = "application/x-www-form-urlencoded; charset=utf-8";
    let [spec, pywb] = parameters(form, "a=1+2&b=%C3%A9%26&c=é");
    assert_eq!(
        spec,
        "&__wb_post_data=a%3D1%2B2%26b%3D%C3%A9%26%26c%3D%C3%A9"
    );
    assert_eq!(pywb, "&a=1 2&b=é&&c=é");
    let [spec, pywb] = parameters(form, "a=%ac");
    assert_eq!([spec, pywb], ["&__wb_post_data=a%3D%AC", "&a=\u{fffd}"]);
    let invalid = post(form, b"\xff");
    let queries = ALL.map(|compat| invalid.query(compat).unwrap_or_default());
    assert_eq!(
        queries,
        [
            "__wb_method=POST&__wb_post_data=/w==",
            "__wb_method=POST&__wb_post_data=/w==",
        ]
    );
}

#[test]
fn media_types_are_read_loosely_by_the_specification_and_to_the_letter_in_practice() {
    let [spec, pywb] = parameters("Application/JSON ; x=y", "{\"a\":1}");
    assert_eq!(spec, "&a=1");
    assert!(pywb.starts_with("&__wb_post_data="));
    let [spec, pywb] = parameters("application/json-patch+json", "{\"a\":1}");
    assert!(spec.starts_with("&__wb_post_data="));
    assert_eq!(pywb, "&a=1");
    let [spec, pywb] = parameters("application/x-amf", "ab");
    assert_eq!([&spec, &pywb], ["&__wb_post_data=YWI="; 2]);
}

const PARTS: &str = "preamble\r\n\
    --X\r\nContent-Disposition: form-data; name=\"a; \\\"b\\\"\"\r\n\r\n1\r\n2\r\n\
    --X\r\ncontent-disposition: form-data;\r\n filename=\"f\"; name=c\r\n\
    Content-Type: text/plain\r\n\r\n--X\u{ff}\r\n\
    --X  \r\nContent-Disposition: form-data; name=\"d\"\r\n\r\nv\r\n--X--\r\nepilogue";

#[test]
fn multipart_forms_are_their_fields() {
    let [spec, pywb] = parameters("multipart/form-data; boundary=\"X\"", PARTS);
    assert_eq!(spec, "&a%3B+%22b%22=1%0D%0A2&c=--X%C3%BF&d=v");
    assert_eq!(pywb, spec);
}

#[test]
fn a_multipart_that_is_no_form_is_binary_by_the_specification() {
    let multipart = "multipart/form-data; boundary=X";
    let field = "Content-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n";
    for (body, pywb_has) in [
        (format!("--X\r\n{field}"), "&a=1"),
        ("nothing".to_owned(), ""),
        ("--X\r\n\r\n1\r\n--X--".to_owned(), "&None=1"),
        (format!("--X\r\n{field}--X\r\n"), "&a=1"),
    ] {
        let [spec, pywb] = parameters(multipart, &body);
        assert!(spec.starts_with("&__wb_post_data="), "{body}: {spec}");
        assert_eq!(pywb, pywb_has, "{body}");
    }
    for content_type in ["multipart/form-data", "multipart/form-data; boundary=\" \""] {
        let [spec, pywb] = parameters(content_type, field);
        assert!(spec.starts_with("&__wb_post_data="));
        assert_eq!(pywb, spec);
    }
}

#[test]
fn files_that_share_a_field_are_values_of_it() {
    let body = "--X\nContent-Disposition: form-data; name=f\nContent-Type: multipart/mixed; boundary=Y\n\n\
        --Y\nContent-Disposition: file; filename=\"a'\"\n\none\\\n--Y\nContent-Disposition: file\n\n\t\u{7f}\n--Y--\n\n--X--\n";
    let [spec, pywb] = parameters("multipart/form-data; boundary=X", body);
    assert_eq!(spec, "&f=one%5C&f=%09%7F");
    let decoded = pywb
        .replace('+', " ")
        .replace("%28", "(")
        .replace("%2C", ",")
        .replace("%29", ")");
    let decoded = decoded
        .replace("%27", "'")
        .replace("%22", "\"")
        .replace("%5C", "\\");
    assert_eq!(
        decoded,
        "&f=FieldStorage(None, \"a'\", b'one\\\\')&f=FieldStorage(None, None, '\\t\\x7f')"
    );
}

#[test]
fn other_methods_send_bodies_too() {
    let mut request = post("application/x-www-form-urlencoded", b"a=b");
    request.method = "PATCH";
    let queries = ALL.map(|compat| request.query(compat).unwrap_or_default());
    assert_eq!(
        queries,
        [
            "__wb_method=PATCH&__wb_post_data=a%3Db",
            "__wb_method=PATCH",
        ]
    );
}

#[test]
fn what_is_too_much_is_binary() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let many = format!("[{}1]", "1,".repeat(200_000));
    let long_name = format!("{{\"{}\":[{}1]}}", "n".repeat(100_000), "1,".repeat(50_000));
    for body in [deep, many, long_name] {
        let [spec, pywb] = parameters("application/json", &body);
        assert!(spec.starts_with("&__wb_post_data="));
        assert!(spec.len() < 2 * body.len());
        assert!(pywb.len() <= 4097);
    }
}

#[derive(Default)]
struct Tally {
    passed: [usize; 2],
    marked: usize,
    others: usize,
}

/// The reading of each source passes the vectors of that source.
#[test]
fn vectors_pass_for_the_source_they_belong_to() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/vectors/request-canonicalization.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: no {}", path.display());
        return;
    };
    let vectors: Vec<serde_json::Value> = serde_json::from_str(&text).expect("vectors are JSON");
    let mut tally = Tally::default();
    for vector in &vectors {
        let field = |name: &str| vector[name].as_str().unwrap_or_default();
        let compat = match field("source") {
            "seed-003" => Compat::Spec,
            source if source.contains("pywb") => Compat::Pywb,
            _ => {
                tally.others += 1;
                continue;
            }
        };
        // The example does not decode the form, and its key has another name than its form.
        if field("note").starts_with("NOT REPRODUCIBLE") {
            tally.marked += 1;
            continue;
        }
        let body = match field("body_encoding") {
            "base64" => base64(field("body")),
            _ => field("body").as_bytes().to_vec(),
        };
        let request = Request {
            method: field("method"),
            content_type: field("content_type"),
            body: &body,
        };
        let found = request.append_to(field("url"), compat);
        assert_eq!(found, field("expected"), "{vector:#}");
        tally.passed[compat as usize] += 1;
    }
    assert_eq!(tally.passed, [6, 49]);
    assert_eq!((tally.marked, tally.others), (1, 105));
}

fn base64(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    let engine = base64::prelude::BASE64_STANDARD;
    engine.decode(text).expect("vectors have good Base64")
}

fn content_type() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("application/json".to_owned()),
        Just("text/plain".to_owned()),
        Just("application/x-www-form-urlencoded".to_owned()),
        Just("multipart/form-data; boundary=X".to_owned()),
        "[ -~é]{0,20}",
    ]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        "([\\[\\]{}\":,a10.eE\\\\u-]|true|null|\"a\":|\\\\ud8){0,30}".prop_map(String::into_bytes),
        "(--X|\r\n|\n|name=\"a\"|Content-Disposition: form-data; |[a-z%+&=-]){0,30}"
            .prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn any_request_has_a_key(method in "[A-Za-zé]{0,6}", content_type in content_type(), body in body()) {
        for compat in ALL {
            let request = Request { method: &method, content_type: &content_type, body: &body };
            let url = request.append_to("http://a.test/?b", compat);
            prop_assert!(url.starts_with("http://a.test/?b"));
            prop_assert!(surt(&url).starts_with("test,a)/"));
            prop_assert!(url.len() <= 100 + 7 * body.len());
        }
    }

    /// `serde_json` accepts the same texts, except for numbers that are too large.
    #[test]
    fn json_is_what_serde_takes_for_it(body in "([\\[\\]{}\":, a10.eE\\\\nu-]|true|\"a\":|\"a\"){0,20}") {
        let theirs = serde_json::from_str::<serde_json::Value>(&body).is_ok();
        let request = post("application/json", body.as_bytes());
        let query = request.query(Compat::Spec).unwrap_or_default();
        prop_assume!(!body.is_empty());
        prop_assert_eq!(theirs, !query.contains("&__wb_post_data="), "{}", query);
    }
}
