//! Every request has a key, which is not much longer than the request.
//!
//! The input is the content type, a line end, and the body.
#![no_main]

use libfuzzer_sys::fuzz_target;
use urldb_canon::{Compat, Request};

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|&byte| byte == b'\n');
    let (content_type, body) = input.split_at(end.unwrap_or(0));
    let content_type = String::from_utf8_lossy(content_type);
    for compat in [Compat::Spec, Compat::Pywb] {
        let request = Request {
            method: "POST",
            content_type: &content_type,
            body: body.get(1..).unwrap_or_default(),
        };
        let url = request.append_to("http://a.test/", compat);
        assert!(url.starts_with("http://a.test/?__wb_method=POST"));
        assert!(url.len() <= 100 + 7 * body.len() || url.len() <= 1 << 22);
    }
});
