//! One incident and its issue, from the opening to the recovery.

use urldb_issues::Service;
use urldb_protocol::{Because, Delivery, Notifier, Phase};

use crate::fake::{Fake, USER};
use crate::report::{deliver, incident, notifier, report, tell, tell_all, then};

/// Deep in the list, with what must not be taken for the issue around it.
fn crowd(fake: &Fake, marker: &str) {
    let number = fake.add("stranger", &format!("{marker}\nI am urldb"));
    assert_eq!(number, 1);
    for _ in 0..5 {
        fake.add(USER, "another matter");
    }
    fake.add("stranger", "a pull request");
    fake.state().issues.last_mut().unwrap().pull_request = fake.service != Service::GitLab;
}

#[test]
fn an_incident_opens_comments_on_and_closes_its_issue() {
    for fake in Fake::all() {
        let mut opened = incident("docs.example.org", Phase::Opened, 2);
        let marker = format!("<!-- urldb:incident {} key:{} -->", opened.id, opened.key);
        crowd(&fake, &marker);
        let delivery = tell(&fake, "run1", &mut opened);
        assert_eq!(
            delivery.message,
            "opened https://fake.test/example/sky-urls/issues/8"
        );
        assert_eq!(opened.threads["tracker"]["issue"], "8");
        let issue = fake.issues().last().unwrap().clone();
        assert_eq!(issue.body.lines().next(), Some(marker.as_str()));
        assert!(issue.open && issue.comments.is_empty());
        assert_eq!(issue.labels, ["urldb"]);
        assert!(issue.body.contains("`/2`"));

        // Growth is news: a comment, and a new body.
        let mut grown = then(&opened, Phase::Changed, 3);
        tell(&fake, "run2", &mut grown);
        let issue = fake.issues().last().unwrap().clone();
        assert_eq!(issue.comments.len(), 1);
        assert!(
            issue.comments[0].contains("3 of 50 URLs"),
            "{}",
            issue.comments[0]
        );
        assert!(issue.open && issue.body.contains("`/3`"));

        // News that is held back: only the body changes.
        let mut shrunk = then(&opened, Phase::Changed, 1);
        shrunk.quiet = true;
        tell(&fake, "run3", &mut shrunk);
        let issue = fake.issues().last().unwrap().clone();
        assert_eq!(issue.comments.len(), 1);
        assert!(issue.open && !issue.body.contains("`/2`"));

        // Recovery: a comment, and the end.
        let mut closed = then(&opened, Phase::Closed, 1);
        let delivery = tell(&fake, "run4", &mut closed);
        assert_eq!(
            delivery.message,
            "closed https://fake.test/example/sky-urls/issues/8"
        );
        let issue = fake.issues().last().unwrap().clone();
        assert_eq!(issue.comments.len(), 2);
        assert!(!issue.open);
        assert!(
            issue.body.starts_with("<!-- urldb:closed "),
            "{}",
            issue.body
        );
        assert!(
            fake.issues()[..7]
                .iter()
                .all(|issue| issue.open && issue.comments.is_empty())
        );
    }
}

#[test]
fn a_reopened_incident_reopens_its_issue() {
    for fake in Fake::all() {
        let mut opened = incident("docs.example.org", Phase::Opened, 1);
        tell(&fake, "run1", &mut opened);
        tell(&fake, "run2", &mut then(&opened, Phase::Closed, 1));
        assert!(!fake.issue().open);
        let mut again = then(&opened, Phase::Opened, 1);
        let delivery = tell(&fake, "run3", &mut again);
        let page = "https://fake.test/example/sky-urls/issues/1";
        assert_eq!(delivery.message, format!("reopened {page}"));
        let issue = fake.issue();
        assert!(issue.open && issue.body.starts_with("<!-- urldb:incident "));
        let comment = issue.comments.last().unwrap();
        assert!(
            comment.contains("**broken: `https://docs.example.org/1` answers 404"),
            "{comment}"
        );
        // The same delivery again has no effect.
        tell(&fake, "run3", &mut again);
        assert_eq!(fake.issue().comments.len(), 2);
        tell(&fake, "run4", &mut then(&opened, Phase::Closed, 1));
        assert!(!fake.issue().open);
    }
}

#[test]
fn a_flapping_incident_reopens_its_issue() {
    for fake in Fake::all() {
        for phase in [Phase::Opened, Phase::Changed] {
            fake.state().issues.clear();
            let mut opened = incident("docs.example.org", Phase::Opened, 1);
            tell(&fake, "run1", &mut opened);
            tell(&fake, "run2", &mut then(&opened, Phase::Closed, 1));
            let mut unsteady = then(&opened, phase, 1);
            unsteady.urls[0].flapping = true;
            tell(&fake, "run3", &mut unsteady);
            let issue = fake.issue();
            assert!(issue.open);
            let comment = issue.comments.last().unwrap();
            assert!(comment.contains("**flapping: "), "{comment}");
        }
    }
}

#[test]
fn another_cause_is_a_comment() {
    for fake in Fake::all() {
        let mut opened = incident("docs.example.org", Phase::Opened, 1);
        tell(&fake, "run1", &mut opened);
        // A person has closed the issue: news opens it again.
        fake.state().issues[0].open = false;
        tell(&fake, "run2", &mut then(&opened, Phase::Changed, 1));
        let issue = fake.issue();
        let comment = issue.comments.last().unwrap();
        assert!(comment.contains("**broken: "), "{comment}");
        assert!(issue.open);
    }
}

#[test]
fn the_issue_of_a_removed_record_is_not_planned() {
    let fake = Fake::new(Service::GitHub);
    for (because, reason) in [
        (Because::Removed, "not_planned"),
        (Because::Accepted, "completed"),
        (Because::Recovered, "completed"),
    ] {
        fake.state().issues.clear();
        let mut opened = incident("docs.example.org", Phase::Opened, 1);
        tell(&fake, "run1", &mut opened);
        let mut closed = then(&opened, Phase::Closed, 1);
        closed.urls[0].left = Some(because);
        tell(&fake, "run2", &mut closed);
        let issue = fake.issue();
        assert_eq!((issue.open, issue.reason.as_str()), (false, reason));
    }
}

/// Two branches told of the same URLs, and were merged.
#[test]
fn the_issue_of_a_merged_incident_is_not_solved() {
    for has_own_issue in [false, true] {
        for fake in Fake::all() {
            let mut first = incident("docs.example.org", Phase::Opened, 2);
            tell(&fake, "run1", &mut first);
            let mut second = then(&first, Phase::Opened, 2);
            second.id = "00000002".to_owned();
            if has_own_issue {
                second.key = "00000002".repeat(2);
                second.threads.clear();
            }
            tell(&fake, "run2", &mut second);
            assert_eq!(fake.issues().len(), if has_own_issue { 2 } else { 1 });
            let mut merged = then(&second, Phase::Closed, 0);
            merged.merged_into = Some(first.id.clone());
            tell_all(
                &fake,
                "run3",
                &mut [then(&first, Phase::Unchanged, 2), merged],
            );
            let issues = fake.issues();
            assert!(issues[0].open, "{:#?}", issues[0]);
            for issue in &issues {
                let mut texts = issue.comments.iter().chain([&issue.body]);
                assert!(!texts.any(|it| it.contains("recovered")), "{issue:#?}");
            }
            if let Some(second) = issues.get(1) {
                assert!(!second.open);
                // Only GitHub has reasons.
                assert_ne!(second.reason, "completed");
                assert!(
                    second.body.contains(&format!("incident `{}`", first.id)),
                    "{}",
                    second.body
                );
            }
        }
    }
}

#[test]
fn a_repeated_delivery_changes_nothing() {
    for fake in Fake::all() {
        let mut opened = incident("docs.example.org", Phase::Opened, 2);
        for _ in 0..2 {
            // The number was not remembered: the process ended too early.
            tell(&fake, "run1", &mut opened.clone());
        }
        assert_eq!(fake.issues().len(), 1);
        tell(&fake, "run1", &mut opened);
        for phase in [Phase::Changed, Phase::Closed] {
            for _ in 0..2 {
                tell(&fake, &format!("{phase:?}"), &mut then(&opened, phase, 3));
            }
        }
        let issue = fake.issue();
        assert_eq!(issue.comments.len(), 2, "{:#?}", issue.comments);
        assert!(!issue.open);
    }
}

#[test]
fn an_issue_is_found_without_its_number() {
    for fake in Fake::all() {
        let mut opened = incident("docs.example.org", Phase::Opened, 2);
        tell(&fake, "run1", &mut opened);
        opened.threads.clear();
        tell(&fake, "run2", &mut then(&opened, Phase::Closed, 2));
        assert!(!fake.issue().open);
    }
}

#[test]
fn an_issue_is_found_after_the_ledger_was_lost() {
    for fake in Fake::all() {
        let first = incident("docs.example.org", Phase::Opened, 2);
        tell(&fake, "run1", &mut first.clone());
        // Another run opens the same incident anew: another id, the same key.
        let mut again = then(&first, Phase::Opened, 3);
        again.id = "00000000".to_owned();
        let delivery = tell(&fake, "run9", &mut again);
        assert_eq!(
            delivery.message,
            "found again https://fake.test/example/sky-urls/issues/1"
        );
        let issue = fake.issue();
        assert!(issue.comments.is_empty());
        assert!(
            issue.body.starts_with("<!-- urldb:incident 00000000 "),
            "{}",
            issue.body
        );
        assert!(issue.body.contains("`/3`"));
        tell(&fake, "run10", &mut then(&again, Phase::Closed, 3));
        assert!(!fake.issue().open);
    }
}

#[test]
fn the_issue_of_another_open_incident_with_the_same_key_is_left_alone() {
    for fake in Fake::all() {
        let mut first = incident("docs.example.org", Phase::Opened, 2);
        tell(&fake, "run1", &mut first);
        let known = then(&first, Phase::Unchanged, 2);
        let mut second = incident("docs.example.org", Phase::Opened, 1);
        second.id = "00000000".to_owned();
        deliver(notifier(&fake), &report("run2", &[second, known]));
        assert_eq!(fake.issues().len(), 2);
        assert!(fake.issues()[0].body.contains(&first.id));
    }
}

#[test]
fn a_closed_issue_with_the_same_key_stays_closed() {
    for fake in Fake::all() {
        let mut first = incident("docs.example.org", Phase::Opened, 2);
        tell(&fake, "run1", &mut first);
        tell(&fake, "run2", &mut then(&first, Phase::Closed, 2));
        let mut second = incident("docs.example.org", Phase::Opened, 1);
        second.id = "00000000".to_owned();
        tell(&fake, "run3", &mut second);
        let issues = fake.issues();
        assert_eq!(
            issues.iter().map(|issue| issue.open).collect::<Vec<_>>(),
            [false, true]
        );
    }
}

#[test]
fn a_person_may_close_or_delete_an_issue() {
    for fake in Fake::all() {
        let mut opened = incident("docs.example.org", Phase::Opened, 2);
        tell(&fake, "run1", &mut opened);
        fake.state().issues[0].open = false;
        // News opens it again.
        tell(&fake, "run2", &mut then(&opened, Phase::Changed, 3));
        let issue = fake.issue();
        assert!(issue.open && issue.comments.len() == 1);

        // Growth of a deleted issue is a new issue, its recovery is no news.
        fake.state().issues.clear();
        let delivery = tell(&fake, "run3", &mut then(&opened, Phase::Closed, 3));
        assert_eq!(delivery.message, "there is no issue to change");
        assert!(fake.issues().is_empty());
        tell(&fake, "run3", &mut then(&opened, Phase::Changed, 4));
        assert!(fake.issue().open);
    }
}

#[test]
fn the_number_of_an_issue_elsewhere_is_not_trusted() {
    for fake in Fake::all() {
        // The issues were moved: under this number is something else now.
        fake.add(USER, "another matter");
        let mut grown = incident("docs.example.org", Phase::Changed, 2);
        grown
            .threads
            .entry("tracker".to_owned())
            .or_default()
            .insert("issue".to_owned(), Delivery::text("1"));
        tell(&fake, "run2", &mut grown);
        assert_eq!(grown.threads["tracker"]["issue"], "2");
        assert!(fake.issues()[0].comments.is_empty());
    }
}

#[test]
fn an_incident_without_news_has_no_issue() {
    let fake = Fake::new(Service::GitHub);
    let known = incident("docs.example.org", Phase::Opened, 2);
    let quiet = [Phase::Unchanged, Phase::Unconfirmed, Phase::Unknown];
    let mut all: Vec<_> = quiet.map(|phase| then(&known, phase, 2)).into();
    let mut held_back = then(&known, Phase::Changed, 2);
    held_back.quiet = true;
    all.push(held_back);
    let mut group = incident("docs.example.org", Phase::Unknown, 2);
    group.id = String::new();
    all.push(group);
    let notifier = notifier(&fake);
    assert!(notifier.deliveries(&report("run1", &all)).is_empty());
}

#[test]
fn the_token_of_an_app_has_a_user_too() {
    let fake = Fake::new(Service::GitHub);
    fake.state().app = true;
    fake.state()
        .add("urldb-bot[bot]", "title", "another matter", vec![]);
    let mut opened = incident("docs.example.org", Phase::Opened, 2);
    tell(&fake, "run1", &mut opened);
    let list = fake
        .requests()
        .into_iter()
        .find(|request| request.target.contains("/issues?"))
        .unwrap();
    assert!(
        list.target.contains("creator=urldb-bot%5Bbot%5D"),
        "{}",
        list.target
    );
    for number in [0, 1] {
        fake.state().issues[number].author = "urldb-bot[bot]".to_owned();
    }
    tell(&fake, "run2", &mut then(&opened, Phase::Closed, 2));
    assert!(!fake.issues()[1].open);
}

#[test]
fn an_issue_matters_more_than_its_labels() {
    let fake = Fake::new(Service::GitHub);
    fake.state().no_labels = true;
    tell(
        &fake,
        "run1",
        &mut incident("docs.example.org", Phase::Opened, 2),
    );
    assert!(fake.issue().labels.is_empty());
}

#[test]
fn the_destination_names_the_repository() {
    let fake = Fake::new(Service::Forgejo);
    assert_eq!(
        notifier(&fake).destination(),
        "issues of example/sky-urls at 127.0.0.1"
    );
}

#[test]
fn a_reminder_is_a_comment() {
    for fake in Fake::all() {
        let mut opened = incident("docs.example.org", Phase::Opened, 2);
        tell(&fake, "run1", &mut opened);
        let mut reminded = then(&opened, Phase::Unchanged, 2);
        reminded.reminder = true;
        for _ in 0..2 {
            tell(&fake, "run8", &mut reminded.clone());
        }
        let issue = fake.issue();
        assert!(issue.open);
        assert_eq!(issue.comments.len(), 1);
        assert!(
            issue.comments[0].contains("Reminder"),
            "{}",
            issue.comments[0]
        );
    }
}

/// Two incidents of one host can have one cause in words, and so can two issues of many incidents.
#[test]
fn no_two_open_issues_have_one_title() {
    for number in [2, 201] {
        for fake in Fake::all() {
            let incidents: Vec<_> = (0..number)
                .map(|index| {
                    let mut incident = incident("docs.example.org", Phase::Opened, 2);
                    incident.id = format!("{index:08x}");
                    incident.key = incident.id.repeat(2);
                    incident
                })
                .collect();
            deliver(notifier(&fake), &report("run1", &incidents));
            let issues = fake.issues();
            let titles: Vec<&str> = issues.iter().map(|issue| issue.title.as_str()).collect();
            let [first, second] = titles.as_slice() else {
                panic!("{titles:?}");
            };
            assert_ne!(first, second);
            let id = if number == 2 { "00000001" } else { "000000c8" };
            assert!(
                second.ends_with(&format!(" ({id})")) || number > 2,
                "{titles:?}"
            );
        }
    }
}

#[test]
fn a_test_is_marked_and_kept_as_any_other_issue() {
    for fake in Fake::all() {
        let opened = incident("docs.example.org", Phase::Opened, 1);
        let mut run = report("run1", std::slice::from_ref(&opened));
        run.run.test = true;
        deliver(notifier(&fake), &run);
        let issue = fake.issue();
        assert!(
            issue.open && issue.title.starts_with("[test] "),
            "{}",
            issue.title
        );
        assert!(
            issue.body.contains("nothing has happened"),
            "{}",
            issue.body
        );
        let mut run = report("run2", &[then(&opened, Phase::Closed, 1)]);
        run.run.test = true;
        deliver(notifier(&fake), &run);
        assert!(!fake.issue().open);
    }
}
