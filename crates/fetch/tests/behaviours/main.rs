//! The verdicts about everything that servers do. A socket on the loopback interface plays each
//! behaviour. Each behaviour is fetched and judged three times, as `urldb check` would.
//!
//! `behaviour` defines a behaviour, `harness` plays the behaviours, `table` writes the table in
//! docs/behaviours.md. The other modules are the behaviours, by subject.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

mod behaviour;
mod certificates;
mod coding;
mod conditional;
mod connection;
mod contents;
mod framing;
mod harness;
mod heads;
mod methods;
mod redirects;
mod status;
#[path = "../../../../tests/support/mod.rs"]
mod support;
mod table;
mod tls;
mod trap;
mod waiting;
mod weak;

use std::collections::BTreeSet;

use behaviour::Behaviour;
use harness::Harness;

/// How often every behaviour is played.
const RUNS: usize = 3;

/// Every behaviour, by subject.
fn subjects() -> Vec<(&'static str, Vec<Behaviour>)> {
    vec![
        ("Framing", framing::behaviours()),
        ("Heads", heads::behaviours()),
        ("Statuses", status::behaviours()),
        ("Conditional requests", conditional::behaviours()),
        ("`Retry-After`", waiting::behaviours()),
        ("Connections", connection::behaviours()),
        ("Content codings", coding::behaviours()),
        ("Redirects", redirects::behaviours()),
        ("Contents", contents::behaviours()),
        ("TLS", tls::behaviours()),
        ("Records that promise no bytes", weak::behaviours()),
        ("Methods", methods::behaviours()),
    ]
}

#[test]
fn every_behaviour_is_judged_as_the_table_says_each_time() {
    let behaviours: Vec<Behaviour> = subjects().into_iter().flat_map(|(_, all)| all).collect();
    let (harness, mut wrong) = (Harness::new(), Vec::new());
    for run in 1..=RUNS {
        for (behaviour, outcome) in behaviours.iter().zip(harness.play(&behaviours)) {
            let complaint = behaviour.complaint(&outcome);
            let lies = [
                behaviour
                    .truth
                    .is_false_alarm(outcome.state)
                    .then(|| "false changed".to_owned()),
                behaviour
                    .truth
                    .is_false_ok(outcome.state)
                    .then(|| "false ok".to_owned()),
            ];
            for problem in lies.into_iter().flatten().chain(complaint) {
                wrong.push(format!("run {run}, {}: {problem}", behaviour.name));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_behaviour_has_a_name_of_its_own() {
    let all = subjects();
    let names: Vec<&str> = all
        .iter()
        .flat_map(|(_, all)| all)
        .map(|b| b.name)
        .collect();
    assert!(names.len() >= 80, "only {}", names.len());
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
}
