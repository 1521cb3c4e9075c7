//! The lists of docs/behaviours.md.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::behaviour::{ANSWER, BYTES, Behaviour, DIGEST, Expected, Truth};
use crate::{RUNS, subjects};
use urldb_protocol::State;

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
         False `changed`: {}. False `ok`: {}. {} that are `ok` without a warning are not in the lists.\n",
        count(|_| true),
        count(|one| one.truth == Truth::Kept),
        count(|one| matches!(one.truth, Truth::Broken(_))),
        count(|one| one.truth == Truth::Unknown),
        count(|one| one.truth.is_false_alarm(one.expected.state)),
        count(|one| one.truth.is_false_ok(one.expected.state)),
        count(|one| !is_odd(one)),
    );
    for (subject, behaviours) in subjects {
        let _ = write!(
            text,
            "\n## {subject}\n\n| verdict | the server |\n|---|---|\n"
        );
        for (verdict, mut servers) in rows(&behaviours) {
            servers.dedup();
            let others = servers.split_off(servers.len().min(1)).len();
            servers.extend((others > 0).then(|| format!("{others} more")));
            let _ = writeln!(text, "| {verdict} | {} |", servers.join("; "));
        }
    }
    text.push('\n');
    text
}

/// Whether the verdict says more than `ok`.
fn is_odd(behaviour: &Behaviour) -> bool {
    behaviour.expected.state != State::Ok || behaviour.expected.warning.is_some()
}

/// The servers of each verdict, without those that are simply `ok`.
fn rows(behaviours: &[Behaviour]) -> BTreeMap<String, Vec<String>> {
    let mut rows = BTreeMap::<_, Vec<String>>::new();
    for behaviour in behaviours.iter().filter(|one| is_odd(one)) {
        let servers = rows.entry(verdict(&behaviour.expected)).or_default();
        servers.push(server(behaviour));
    }
    rows
}

/// The behaviour of the server, with the promise where that is another one than usual.
fn server(behaviour: &Behaviour) -> String {
    let Behaviour { does, record, .. } = behaviour;
    if *record == BYTES || record.contains("method: POST") {
        (*does).to_owned()
    } else {
        format!("{does} ({})", promise(record))
    }
}

fn promise(keys: &str) -> String {
    match keys {
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
        text.push_str(", doubtful");
    }
    text
}
