//! Many incidents of one run share one issue.

use urldb_issues::Service;
use urldb_protocol::{Notifier, Phase};

use crate::fake::Fake;
use crate::report::{deliver, incident, notifier, report, tell_all, then};

fn hosts(count: usize, phase: Phase) -> Vec<urldb_protocol::Incident> {
    (0..count)
        .map(|number| incident(&format!("host{number:02}.example.org"), phase, 3))
        .collect()
}

#[test]
fn five_incidents_have_an_issue_each_and_six_share_one() {
    for (count, issues) in [(5, 5), (6, 1), (15, 1)] {
        for fake in Fake::all() {
            let mut incidents = hosts(count, Phase::Opened);
            tell_all(&fake, "run1", &mut incidents);
            assert_eq!(fake.issues().len(), issues, "{count}");
            assert!(
                incidents
                    .iter()
                    .all(|incident| incident.threads["tracker"].contains_key("issue"))
            );
        }
    }
}

#[test]
fn a_shared_issue_lists_its_incidents_and_closes_with_the_last() {
    for fake in Fake::all() {
        let mut incidents = hosts(7, Phase::Opened);
        tell_all(&fake, "run1", &mut incidents);
        let issue = fake.issue();
        assert_eq!(issue.body.matches("<!-- urldb:incident ").count(), 7);
        assert_eq!(issue.body.matches("\n- broken: ").count(), 7);

        // One host recovers, one grows, in one run: one comment.
        let mut next: Vec<_> = incidents
            .iter()
            .map(|incident| then(incident, Phase::Unchanged, 3))
            .collect();
        next[2] = then(&incidents[2], Phase::Closed, 3);
        next[4] = then(&incidents[4], Phase::Changed, 9);
        tell_all(&fake, "run2", &mut next);
        let issue = fake.issue();
        assert!(issue.open);
        assert_eq!(issue.comments.len(), 1);
        let over: Vec<_> = issue
            .body
            .lines()
            .filter(|line| line.starts_with("- recovered: "))
            .collect();
        assert_eq!(over.len(), 1);
        assert!(over[0].contains("host02.example.org"), "{over:?}");
        let body = issue.body.replace('\u{a0}', " ");
        let grown = body
            .lines()
            .find(|line| line.starts_with("- broken: `host04"));
        assert!(grown.unwrap().contains("9 of 50 URLs"), "{body}");
        assert!(body.contains(", and 5 more**"), "{body}");
        assert!(
            issue.body.contains("opened this issue for 7 incidents"),
            "{}",
            issue.body
        );
        let comment = &issue.comments[0];
        assert!(
            comment.contains("**recovered: `host02.example.org`"),
            "{comment}"
        );
        assert!(
            comment.contains("**broken: `host04.example.org` answers 404 or 410 (9 of 50 URLs)**"),
            "{comment}"
        );
        assert_eq!(issue.body.matches("<!-- urldb:closed ").count(), 1);

        // The list is that of the last report, whatever people have added to the body.
        let edited = issue.body.replacen("- broken: ", "- mine\n- broken: ", 1);
        fake.state().issues[0].body = edited;
        for (run, number) in [(3, 0), (4, 1), (5, 3)] {
            next.retain(|incident| incident.phase != Phase::Closed);
            for incident in &mut next {
                let phase = if incident.id == incidents[number].id {
                    Phase::Closed
                } else {
                    Phase::Unchanged
                };
                *incident = then(incident, phase, 3);
            }
            tell_all(&fake, &format!("run{run}"), &mut next);
            let issue = fake.issue();
            assert!(issue.open);
            let over = issue
                .body
                .lines()
                .find(|line| line.starts_with("- recovered: "));
            assert!(
                over.unwrap().contains(&incidents[number].host),
                "{}",
                issue.body
            );
            assert_eq!(issue.body.matches("\n- broken: ").count(), next.len() - 1);
        }
        // A report without the issue changes no body, and without remembered numbers, the issue is found.
        let mut last: Vec<_> = [4, 5, 6]
            .map(|number| then(&incidents[number], Phase::Closed, 3))
            .into();
        for incident in &mut last {
            incident.threads.clear();
        }
        tell_all(&fake, "run7", &mut last);
        let issue = fake.issue();
        assert!(!issue.open, "{}", issue.body);
        assert_eq!(issue.body.matches("\n- recovered: ").count(), 3);
        assert!(
            issue.body.contains("all its incidents are over"),
            "{}",
            issue.body
        );
    }
}

#[test]
fn a_shared_issue_is_found_again() {
    for fake in Fake::all() {
        let incidents = hosts(8, Phase::Opened);
        tell_all(&fake, "run1", &mut incidents.clone());
        // The delivery is repeated.
        tell_all(&fake, "run1", &mut incidents.clone());
        assert_eq!(fake.issues().len(), 1);
        // The ledger was lost: other ids, the same keys.
        let mut again = incidents.clone();
        for (number, incident) in again.iter_mut().enumerate() {
            incident.id = format!("{number:08}");
        }
        tell_all(&fake, "run9", &mut again);
        let issue = fake.issue();
        assert!(
            issue.body.starts_with("<!-- urldb:incident 00000000 key:"),
            "{}",
            issue.body
        );
        assert_eq!(issue.body.matches("\n- broken: ").count(), 8);
    }
}

#[test]
fn hundreds_of_incidents_fit_below_the_limit() {
    let fake = Fake::new(Service::GitLab);
    // The fake refuses bodies above the limit.
    let name = "a-rather-long-name-of-a-host-".repeat(3);
    let mut incidents: Vec<_> = (0..450)
        .map(|number| incident(&format!("{name}{number}.example.org"), Phase::Opened, 1))
        .collect();
    tell_all(&fake, "run1", &mut incidents);
    assert_eq!(fake.issues().len(), 3);
    let rows: usize = fake
        .issues()
        .iter()
        .map(|issue| issue.body.matches(", since ").count())
        .sum();
    assert_eq!(rows, 450);
}

#[test]
fn deliveries_have_the_same_ids_each_time() {
    let fake = Fake::new(Service::GitHub);
    let notifier = notifier(&fake);
    let mut incidents = hosts(7, Phase::Opened);
    incidents.push(incident("other.example.org", Phase::Closed, 1));
    let envelope = report("run1", &incidents);
    let planned = notifier.deliveries(&envelope);
    assert_eq!(planned.len(), 2);
    assert_eq!(planned, notifier.deliveries(&envelope));
    assert!(
        planned[0].about.contains(" answers 404 or 410")
            && planned[0].about.ends_with(", and 6 more"),
        "{}",
        planned[0].about
    );
    // Only what is pending is delivered.
    let pending = [planned[1].id.clone()];
    let reported = std::sync::Mutex::new(vec![]);
    let report = |delivery: urldb_protocol::Delivery| reported.lock().unwrap().push(delivery.id);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(notifier.deliver(&envelope, &pending, &report));
    assert_eq!(*reported.lock().unwrap(), pending);
    assert!(fake.issues().is_empty());
    deliver(notifier, &envelope);
    assert_eq!(fake.issues().len(), 1);
}
