//! `urldb explain`.

use insta::assert_snapshot;
use urldb_protocol::{Reason, State};
use urldb_text::Code;
use urldb_verdict::Warning;

use crate::sandbox::Sandbox;

#[test]
fn a_code_is_explained_as_on_its_page() {
    let sandbox = Sandbox::empty();
    let gone = sandbox.urldb(&["explain", "gone"]).code(0).out;
    assert_snapshot!(gone);
    assert_eq!(
        sandbox.urldb(&["explain", "broken[gone]"]).code(0).out,
        gone
    );
    assert_snapshot!(sandbox.urldb(&["explain", "conflict-marker"]).code(0).out);
}

#[test]
fn all_codes_are_listed_and_a_misspelled_one_gets_a_suggestion() {
    let sandbox = Sandbox::empty();
    let listed = sandbox.urldb(&["explain"]).code(0).out;
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
        .urldb(&["explain", "conflict-markers"])
        .code(2)
        .complains(&["no finding has the code", "did you mean conflict-marker?"]);
    sandbox
        .urldb(&["explain", "zzzzzzzzzzzz\u{1b}[31m"])
        .code(2)
        .complains(&["`urldb explain` lists all codes"]);
}
