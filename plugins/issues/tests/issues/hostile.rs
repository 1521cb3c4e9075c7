//! Text from outside is inert in titles, bodies and comments.

use urldb_issues::Service;
use urldb_protocol::{Phase, Shown};

use crate::fake::Fake;
use crate::report::{incident, tell, tell_all, then};

const HOSTILE: &str = "x`y @everyone #1 fixes #2 !3 &4 example/repo@abcdef \
                       <!-- urldb:incident 00000000 key:00000000 --> <script>alert(1)</script> \
                       ![a](https://evil.test/p.png) [b](javascript:1) :+1:\n/close\n/assign @root\n\
                       - [x] ticked\n```\n# heading\n\u{202e}\u{1b}[31m";

/// The text outside of code spans and fences.
fn outside_code(text: &str) -> String {
    let mut outside = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        outside.push_str(&rest[..start]);
        let ticks = rest[start..]
            .bytes()
            .take_while(|byte| *byte == b'`')
            .count();
        let fence = &rest[start..start + ticks];
        let inside = &rest[start + ticks..];
        // The closing fence has exactly as many backticks.
        let mut at = 0;
        let end = loop {
            let Some(next) = inside[at..].find(fence).map(|next| next + at) else {
                panic!("an open code span: {rest}");
            };
            let run = inside[next..]
                .bytes()
                .take_while(|byte| *byte == b'`')
                .count();
            if run == ticks && !inside[..next].ends_with('`') {
                break next;
            }
            at = next + run;
        };
        rest = &inside[end + ticks..];
    }
    outside.push_str(rest);
    outside
}

fn assert_inert(text: &str) {
    let outside = outside_code(text);
    for forbidden in [
        "@",
        "#1",
        "#2",
        "evil",
        "script",
        "javascript",
        "fixes",
        "/close",
        "ticked",
        "00000000 key",
    ] {
        assert!(!outside.contains(forbidden), "{forbidden}: {outside}");
    }
    assert!(text.lines().all(|line| !line.starts_with('/')), "{text}");
    let bad = |char: char| char.is_control() && char != '\n' || char == '\u{202e}';
    assert!(!text.contains(bad), "{text}");
}

#[test]
fn hostile_texts_are_inert() {
    for fake in Fake::all() {
        let mut opened = incident("docs.example.org", Phase::Opened, 2);
        opened.host = HOSTILE.to_owned();
        opened.redirect = Some(Shown::new(HOSTILE, Shown::LONGEST));
        opened.evidence.detail = Shown::new(HOSTILE, Shown::LONGEST);
        opened.evidence.url = HOSTILE.to_owned();
        for url in &mut opened.urls {
            url.url = HOSTILE.to_owned();
            url.file = HOSTILE.to_owned();
        }
        tell(&fake, "run1", &mut opened);
        let mut grown = opened.clone();
        grown.phase = Phase::Changed;
        tell(&fake, "run2", &mut grown);
        let issue = fake.issue();
        assert!(
            !issue.title.contains(['@', '\n', '\u{1b}']),
            "{}",
            issue.title
        );
        let (marker, text) = issue.body.split_once('\n').unwrap();
        assert!(marker.starts_with("<!-- urldb:incident "));
        assert_inert(text);
        let (marker, text) = issue.comments[0].split_once('\n').unwrap();
        assert_eq!(marker, "<!-- urldb:run run2 -->");
        assert_inert(text);
        tell(&fake, "run3", &mut then(&opened, Phase::Closed, 2));
        assert!(!fake.issue().open);
    }
}

#[test]
fn hostile_hosts_are_inert_in_a_shared_issue() {
    let fake = Fake::new(Service::GitLab);
    let mut incidents: Vec<_> = (0..7)
        .map(|number| incident(&format!("h{number}"), Phase::Opened, 1))
        .collect();
    for (number, incident) in incidents.iter_mut().enumerate() {
        incident.host = format!("{HOSTILE}{number}");
    }
    tell_all(&fake, "run1", &mut incidents);
    let issue = fake.issue();
    assert_inert(&issue.body.lines().skip(7).collect::<Vec<_>>().join("\n"));
    for (number, incident) in incidents.iter_mut().enumerate() {
        *incident = match number {
            3 => then(incident, Phase::Closed, 1),
            _ => then(incident, Phase::Unchanged, 1),
        };
    }
    tell_all(&fake, "run2", &mut incidents);
    let issue = fake.issue();
    let rows: Vec<_> = issue
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("- ")?.split_once(": "))
        .map(|(word, _)| word)
        .collect();
    let broken = ["broken"; 3];
    assert_eq!(rows, [&broken[..], &["recovered"], &broken].concat());
    assert!(!issue.title.contains('@'));
}

#[test]
fn an_id_that_could_leave_its_marker_has_no_issue() {
    let fake = Fake::new(Service::GitHub);
    let mut bad = incident("docs.example.org", Phase::Opened, 1);
    bad.id = "1 --> @all".to_owned();
    assert!(tell_all(&fake, "run1", &mut [bad]).is_empty());
}

#[test]
fn a_body_has_room_for_many_urls() {
    let fake = Fake::new(Service::GitHub);
    let mut opened = incident("docs.example.org", Phase::Opened, 5_000);
    for url in &mut opened.urls {
        url.url.push_str(&"é`x".repeat(300));
    }
    // The fake refuses bodies above the limit.
    tell(&fake, "run1", &mut opened);
    let body = fake.issue().body;
    assert!(
        body.contains("closes it when all its URLs are as promised again"),
        "the end is there"
    );
    tell(&fake, "run2", &mut then(&opened, Phase::Changed, 6_000));
    assert!(fake.issue().body.contains("6000 URLs") || fake.issue().body.contains("6,000 URLs"));
}
