//! `urldb explain`.

use insta::assert_snapshot;
use urldb_protocol::{Reason, State};
use urldb_text::Code;
use urldb_verdict::Warning;

use crate::sandbox::Sandbox;

#[test]
fn a_code_is_explained_as_on_its_page() {
    let sandbox = Sandbox::empty();
    let gone = sandbox.ok("explain gone").out;
    assert_snapshot!(gone);
    assert_eq!(sandbox.ok("explain broken[gone]").out, gone);
    assert_snapshot!(sandbox.ok("explain conflict-marker").out);
}

#[test]
fn all_codes_are_listed_and_a_misspelled_one_gets_a_suggestion() {
    let sandbox = Sandbox::empty();
    let listed = sandbox.ok("explain").out;
    let listed: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .collect();
    let codes = Code::ALL.iter().map(|code| code.as_str());
    let states = State::ALL.iter().map(|state| state.as_str());
    let reasons = Reason::ALL.map(Reason::as_str).into_iter();
    let warnings = Warning::ALL.iter().map(|warning| warning.as_str());
    let mut known = 0;
    for code in codes.chain(states).chain(reasons).chain(warnings) {
        assert!(
            listed.contains(&code) || code == "bad-configuration",
            "{code}"
        );
        known += 1;
    }
    assert!(known > 60);
    sandbox
        .exits(2, "explain conflict-markers")
        .complains(&["no finding has the code", "did you mean conflict-marker?"]);
    sandbox
        .exits(2, &["explain", "zzzzzzzzzzzz\u{1b}[31m"])
        .complains("`urldb explain` lists all codes");
}
