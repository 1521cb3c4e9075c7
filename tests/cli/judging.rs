//! Verdicts that need more than one URL, or what a page begins with.

use crate::sandbox::Sandbox;
use crate::site::{Site, promises};
use crate::support::Reply;

const FILE: &str = "urldb/example.test.yaml";

#[test]
fn a_parking_page_is_not_taken_for_the_site() {
    let site = Site::new();
    let page = "<html data-adblockkey=\"x\"><p>Buy me";
    let parked = Reply::new("200 OK", &["Content-Type: text/html; charset=utf-8"], page);
    site.serve("/plain", parked.clone());
    site.serve("/static", parked.clone());
    site.serve("/kept", parked);
    let sandbox = Sandbox::new(&site.network());
    let kept = promises(&[("/kept", page), ("/static", "the data")]);
    let plain = "---\n_path: /plain\n";
    let (first, second) = kept.split_once("---\n_path: /static").unwrap();
    sandbox.write(FILE, format!("{first}{plain}---\n_path: /static{second}"));
    sandbox.urldb(&["check"]).code(3).says(&[
        "blocked: http://example.test/plain",
        "blocked: http://example.test/static",
        "answers with a parking page",
        "1 ok, 2 blocked",
    ]);
}
