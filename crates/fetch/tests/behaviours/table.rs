//! The lists of docs/behaviours.md.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::behaviour::{ANSWER, BYTES, Behaviour, DIGEST, Expected, Truth};
use crate::{RUNS, subjects};

const START: &str = "<!-- behaviours: written by crates/fetch/tests/behaviours -->\n";
const END: &str = "<!-- end of behaviours -->";

/// With `UPDATE_DOCS=1`, the test writes the table instead.
#[test]
fn the_table_of_behaviours_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/behaviours.md");
    let page = fs::read_to_string(&path).expect("docs/behaviours.md");
    let (before, rest) = page.split_once(START).expect("the mark before the table");
    let (_, after) = rest.split_once(END).expect("the mark after the table");
    let new = format!("{before}{START}{}{END}{after}", table());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, new).expect("docs/behaviours.md can be written");
    } else {
        assert!(
            page == new,
            "docs/behaviours.md is out of date: UPDATE_DOCS=1 cargo test -p urldb-fetch --test behaviours"
        );
    }
}

fn table() -> String {
    let subjects = subjects();
    let count = |is: fn(&Behaviour) -> bool| {
        let all = subjects.iter().flat_map(|(_, all)| all);
        all.filter(|behaviour| is(behaviour)).count()
    };
    let mut text = format!(
        "\n{} behaviours, each {RUNS} times: {} keep the promise, {} break it, and {} leave it unknown. \
         False `changed`: {}. False `ok`: {}.\n",
        count(|_| true),
        count(|one| one.truth == Truth::Kept),
        count(|one| matches!(one.truth, Truth::Broken(_))),
        count(|one| one.truth == Truth::Unknown),
        count(|one| one.truth.is_false_alarm(one.expected.state)),
        count(|one| one.truth.is_false_ok(one.expected.state)),
    );
    for (subject, behaviours) in subjects {
        let _ = write!(
            text,
            "\n## {subject}\n\n\
             | the server | record | promise | verdict | requests |\n|---|---|---|---|---|\n"
        );
        for behaviour in &behaviours {
            let _ = writeln!(text, "{}", row(behaviour));
        }
    }
    text.push('\n');
    text
}

fn row(behaviour: &Behaviour) -> String {
    let Behaviour {
        name,
        does,
        truth,
        expected,
        ..
    } = behaviour;
    format!(
        "| *{name}*: {does} | {} | {} | {} | {} |",
        record(behaviour),
        truth.as_str(),
        verdict(expected),
        expected.requests,
    )
}

/// A short form of the promise, and whether its content is known.
fn record(behaviour: &Behaviour) -> String {
    let promise = promise(behaviour.record);
    if behaviour.is_conditional {
        format!("{promise}, known")
    } else {
        promise
    }
}

fn promise(keys: &str) -> String {
    match keys {
        BYTES => "bytes".to_owned(),
        DIGEST => "digest".to_owned(),
        ANSWER => "an answer".to_owned(),
        _ => {
            let keys = keys
                .replace(BYTES, "bytes")
                .replace("\n- ", " ")
                .replace("\n  ", " ");
            keys.replace("{length}", "…")
                .replace("{sha256}", "…")
                .replace('\n', ", ")
        }
    }
}

fn verdict(expected: &Expected) -> String {
    let mut text = format!("`{}`", expected.state.as_str());
    if let Some(reason) = expected.reason {
        let _ = write!(text, " ({reason})");
    }
    if let Some(warning) = expected.warning {
        let _ = write!(text, ", warning `{}`", warning.as_str());
    }
    if let Some(wait) = expected.wait.as_ref().filter(|wait| *wait.start() > 0) {
        let _ = match (wait.start(), wait.end()) {
            (least, most) if least == most => write!(text, ", after {most} s"),
            (least, most) => write!(text, ", after {least} to {most} s"),
        };
    }
    if !expected.sure {
        text.push_str(", not believed at once");
    }
    text
}
