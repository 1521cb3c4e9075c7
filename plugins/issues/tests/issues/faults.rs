//! Servers that refuse, limit, break off and lose answers.

use std::time::{Duration, Instant};

use urldb_issues::{IssuesNotifier, Service};
use urldb_protocol::DeliveryOutcome::{Delivered, Failed, Retry};
use urldb_protocol::{Delivery, Phase, Scope};

use crate::fake::{Fake, Trick, error};
use crate::report::{deliver, incident, notifier, report, settings, tell, then};
use crate::support::Reply;

/// Delivers one new incident.
fn open(fake: &Fake) -> Delivery {
    let incidents = vec![incident("docs.example.org", Phase::Opened, 2)];
    let mut deliveries = deliver(notifier(fake), &report("run1", &incidents));
    assert_eq!(deliveries.len(), 1);
    deliveries.remove(0)
}

#[test]
fn a_lost_answer_doubles_no_issue() {
    for trick in [Trick::LoseAnswer, Trick::GatewayTimeout] {
        for fake in Fake::all() {
            fake.trick("POST", "/issues", trick.clone());
            let delivery = open(&fake);
            // The issue is there, and has been found.
            assert_eq!(delivery.outcome, Delivered, "{delivery:?}");
            assert_eq!(delivery.remember[0].value, "1");
            assert_eq!(fake.issues().len(), 1);
        }
    }
}

#[test]
fn a_lost_answer_is_no_reason_to_give_up() {
    for fake in Fake::all() {
        // The issue is not in the list yet: the next run finds it.
        fake.trick("POST", "/issues", Trick::LoseAnswer);
        fake.trick("GET", "/issues?", Trick::Reply(Reply::ok("[]")));
        fake.trick("GET", "/issues?", Trick::Reply(Reply::ok("[]")));
        fake.trick("GET", "/issues?", Trick::Reply(Reply::ok("[]")));
        fake.trick("GET", "/issues?", Trick::Reply(Reply::ok("[]")));
        let delivery = open(&fake);
        assert_eq!((delivery.outcome, delivery.scope), (Retry, Scope::Notifier));
        assert_eq!(open(&fake).outcome, Delivered);
        assert_eq!(fake.issues().len(), 1);
    }
}

#[test]
fn a_lost_answer_doubles_no_comment() {
    for fake in Fake::all() {
        let mut opened = incident("docs.example.org", Phase::Opened, 2);
        tell(&fake, "run1", &mut opened);
        let closed = report("run2", &[then(&opened, Phase::Closed, 2)]);
        let part = if fake.service == Service::GitLab {
            "/notes"
        } else {
            "/comments"
        };
        fake.trick("POST", part, Trick::LoseAnswer);
        assert_eq!(deliver(notifier(&fake), &closed)[0].outcome, Retry);
        let method = if fake.service == Service::GitLab {
            "PUT"
        } else {
            "PATCH"
        };
        fake.trick(method, "/issues/1", Trick::LoseAnswer);
        assert_eq!(deliver(notifier(&fake), &closed)[0].outcome, Retry);
        assert_eq!(deliver(notifier(&fake), &closed)[0].outcome, Delivered);
        let issue = fake.issue();
        assert_eq!(issue.comments.len(), 1);
        assert!(!issue.open);
    }
}

#[test]
fn a_short_rate_limit_is_waited_for() {
    for fake in Fake::all() {
        for status in ["403 Forbidden", "429 Too Many Requests"] {
            fake.trick(
                "POST",
                "/issues",
                Trick::Reply(Reply::new(status, &["Retry-After: 1"], "{}")),
            );
        }
        let began = Instant::now();
        assert_eq!(open(&fake).outcome, Delivered);
        assert!(began.elapsed() >= Duration::from_secs(2));
        assert_eq!(fake.issues().len(), 1);
    }
}

#[test]
fn a_long_rate_limit_is_left_to_the_next_run() {
    let date = "Date: Sun, 22 Nov 2026 04:17:00 GMT";
    let used_up = [
        "X-RateLimit-Remaining: 0",
        "X-RateLimit-Reset: 1795321620",
        date,
    ];
    for (reply, seconds) in [
        (
            Reply::new("429 Too Many Requests", &["Retry-After: 600"], "{}"),
            600,
        ),
        (
            Reply::new("403 Forbidden", &["Retry-After: 600"], "{}"),
            600,
        ),
        (
            Reply::new(
                "403 Forbidden",
                &["Retry-After: Sun, 22 Nov 2026 04:18:00 GMT", date],
                "{}",
            ),
            60,
        ),
        (Reply::new("403 Forbidden", &used_up, "{}"), 601),
        (Reply::new("429 Too Many Requests", &[], "no JSON"), 60),
        (
            error("403 Forbidden", "You have exceeded a secondary rate limit"),
            60,
        ),
    ] {
        let fake = Fake::new(Service::GitHub);
        fake.trick("POST", "/issues", Trick::Reply(reply));
        let incidents =
            ["a.example.org", "b.example.org"].map(|host| incident(host, Phase::Opened, 1));
        let deliveries = deliver(notifier(&fake), &report("run1", &incidents));
        // Nothing else is tried: services count that as abuse.
        assert_eq!(deliveries.len(), 1);
        assert_eq!(
            (deliveries[0].outcome, deliveries[0].scope),
            (Retry, Scope::Notifier)
        );
        let wait = format!("asks for a wait of {seconds} seconds");
        assert!(
            deliveries[0].message.contains(&wait),
            "{}",
            deliveries[0].message
        );
        assert_eq!(fake.count("POST"), 1);
    }
}

#[test]
fn a_missing_right_is_for_a_person_to_mend() {
    for (method, part, reply, advice) in [
        (
            "GET",
            "/user",
            error("401 Unauthorized", "Bad credentials"),
            "TRACKER_TOKEN",
        ),
        (
            "GET",
            "/issues",
            error(
                "403 Forbidden",
                "Resource not accessible by personal access token",
            ),
            "needs",
        ),
        (
            "GET",
            "/issues",
            error("404 Not Found", "Not Found"),
            "check `repository`",
        ),
        (
            "GET",
            "/issues",
            error("410 Gone", "Issues are disabled for this repo"),
            "switch issues on",
        ),
    ] {
        for fake in Fake::all() {
            fake.trick(method, part, Trick::Reply(reply.clone()));
            let delivery = open(&fake);
            assert_eq!(
                (delivery.outcome, delivery.scope),
                (Failed, Scope::Notifier),
                "{delivery:?}"
            );
            assert!(delivery.message.contains(advice), "{}", delivery.message);
            assert!(fake.issues().is_empty());
        }
    }
    // The list may be read, but nothing written, with labels or without.
    let fake = Fake::new(Service::GitHub);
    for _ in 0..2 {
        fake.trick(
            "POST",
            "/issues",
            Trick::Reply(error("403 Forbidden", "Resource not accessible")),
        );
    }
    let delivery = open(&fake);
    assert_eq!(
        (delivery.outcome, delivery.scope),
        (Failed, Scope::Notifier)
    );
    assert!(
        delivery.message.contains("`issues: write`"),
        "{}",
        delivery.message
    );
}

#[test]
fn a_request_that_is_refused_holds_nothing_else_up() {
    let fake = Fake::new(Service::Forgejo);
    for _ in 0..2 {
        fake.trick(
            "POST",
            "/issues",
            Trick::Reply(error("422 Unprocessable", "no such thing")),
        );
    }
    let incidents = ["a.example.org", "b.example.org"].map(|host| incident(host, Phase::Opened, 1));
    let deliveries = deliver(notifier(&fake), &report("run1", &incidents));
    let outcomes: Vec<_> = deliveries.iter().map(|delivery| delivery.outcome).collect();
    assert_eq!(outcomes, [Failed, Delivered]);
    assert!(deliveries[0].message.contains("no such thing"));
}

#[test]
fn a_server_with_a_fault_is_tried_again() {
    for fake in Fake::all() {
        for _ in 0..2 {
            fake.trick(
                "GET",
                "/user",
                Trick::Reply(Reply::new("502 Bad Gateway", &[], "<html>")),
            );
        }
        let incidents =
            ["a", "b", "c"].map(|host| incident(&format!("{host}.example.org"), Phase::Opened, 1));
        let deliveries = deliver(notifier(&fake), &report("run1", &incidents));
        // The second fault in a row ends the attempt.
        let outcomes: Vec<_> = deliveries
            .iter()
            .map(|delivery| (delivery.outcome, delivery.scope))
            .collect();
        assert_eq!(
            outcomes,
            [(Retry, Scope::Delivery), (Retry, Scope::Notifier)]
        );
    }
}

#[test]
fn garbage_is_no_answer() {
    for body in [
        "",
        "[",
        "{\"id\":",
        "<html>",
        "[{\"number\":\"x\"}]",
        "null",
        "[null]",
    ] {
        for fake in Fake::all() {
            fake.trick("GET", "/issues", Trick::Reply(Reply::ok(body)));
            let delivery = open(&fake);
            assert_eq!(delivery.outcome, Retry, "{body}: {delivery:?}");
            assert!(fake.issues().is_empty());
        }
    }
}

#[test]
fn a_server_that_hangs_costs_one_time_limit() {
    let fake = Fake::new(Service::GitHub);
    fake.trick("GET", "/user", Trick::Reply(Reply::default().hang()));
    let mut settings = settings(&fake);
    settings.http.timeout = Duration::from_millis(300);
    let incidents = ["a.example.org", "b.example.org"].map(|host| incident(host, Phase::Opened, 1));
    let notifier = IssuesNotifier::new(settings).unwrap();
    let deliveries = deliver(&notifier, &report("run1", &incidents));
    assert_eq!(deliveries.len(), 1);
    assert_eq!(
        (deliveries[0].outcome, deliveries[0].scope),
        (Retry, Scope::Notifier)
    );
    assert_eq!(fake.requests().len(), 1);
}

#[test]
fn no_connection_is_tried_again() {
    let mut settings = settings(&Fake::new(Service::GitHub));
    // The fake is gone by now.
    settings.api_url = "http://127.0.0.1:9".to_owned();
    let notifier = IssuesNotifier::new(settings).unwrap();
    let incidents = vec![incident("docs.example.org", Phase::Opened, 2)];
    let deliveries = deliver(&notifier, &report("run1", &incidents));
    assert_eq!(
        (deliveries[0].outcome, deliveries[0].scope),
        (Retry, Scope::Notifier)
    );
}

#[test]
fn a_renamed_repository_is_followed_but_never_to_another_server() {
    let fake = Fake::new(Service::GitHub);
    let target = format!("Location: {}/repos/example/sky-urls/issues", fake.api_url());
    fake.trick(
        "POST",
        "/issues",
        Trick::Reply(Reply::new("307 Temporary Redirect", &[&target], "")),
    );
    assert_eq!(open(&fake).outcome, Delivered);
    assert_eq!(fake.issues().len(), 1);

    let fake = Fake::new(Service::GitHub);
    let elsewhere = Reply::redirect(301, "http://localhost:1/repos/example/sky-urls/issues");
    fake.trick("GET", "/issues", Trick::Reply(elsewhere));
    let delivery = open(&fake);
    assert_eq!(delivery.outcome, Failed);
    assert!(
        delivery.message.contains("another server"),
        "{}",
        delivery.message
    );

    // Nor does a list lead elsewhere.
    let fake = Fake::new(Service::GitHub);
    let next = "Link: <http://localhost:1/issues?page=2>; rel=\"next\"";
    fake.trick(
        "GET",
        "/issues",
        Trick::Reply(Reply::new("200 OK", &[next], "[]")),
    );
    assert_eq!(open(&fake).outcome, Failed);
    assert!(fake.issues().is_empty());
}

#[test]
fn the_token_is_never_shown() {
    let fake = Fake::new(Service::GitHub);
    fake.trick(
        "GET",
        "/user",
        Trick::Reply(error(
            "400 Bad Request",
            "no token-of-urldb here\n::error::x",
        )),
    );
    let delivery = open(&fake);
    assert_eq!(delivery.outcome, Failed);
    assert!(
        !format!("{delivery:?}").contains("token-of-urldb"),
        "{delivery:?}"
    );
    assert!(!delivery.message.contains('\n'));
    assert!(!format!("{:?}", settings(&fake)).contains("token-of-urldb"));
}

#[test]
fn writes_keep_their_distance() {
    let fake = Fake::new(Service::GitHub);
    let mut settings = settings(&fake);
    settings.write_interval = Duration::from_millis(200);
    let incidents =
        ["a", "b", "c"].map(|host| incident(&format!("{host}.example.org"), Phase::Opened, 1));
    deliver(
        &IssuesNotifier::new(settings).unwrap(),
        &report("run1", &incidents),
    );
    let writes: Vec<_> = fake
        .requests()
        .into_iter()
        .filter(|request| request.method == "POST")
        .collect();
    assert_eq!(writes.len(), 3);
    let gap = writes[2].at - writes[0].at;
    assert!(gap >= Duration::from_millis(390), "{gap:?}");
}
