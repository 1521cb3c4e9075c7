//! Every output with a limit keeps it, whatever a report holds, and is whole: no tag, no escape and no
//! code block is cut.

use proptest::prelude::*;
use proptest::sample::select;
use urldb_protocol::{
    AffectedUrl, Because, Contents, Delay, Envelope, Evidence, Incident, MemberChange,
    MemberDifference, Mistake, Observed, Phase, Promised, State, TextDifference,
};
use urldb_render::{
    Deliveries, LARGEST_BODY, LARGEST_PART, LARGEST_SUMMARY, LONGEST_SUBJECT, MailBody, Renderer,
    Scope, comment, compose, mail_body, markdown, shared_issue, subject,
};

use crate::data::{self, shown};

/// Longest markers of one incident in the body of an issue.
const MARKER: usize = 170;

fn mail(envelope: &Envelope, scope: Scope<'_>) -> MailBody {
    let template = include_str!("../../../../templates/email.html");
    let renderer = Renderer::new([("email.html", template.to_owned())]).unwrap();
    let subject = subject(envelope, scope);
    mail_body(
        envelope,
        scope,
        "maintainers",
        &subject,
        &renderer,
        "email.html",
    )
    .unwrap()
}

/// Asserts that all tags are closed, and that `<` and `&` only begin tags and escapes.
fn assert_whole(html: &str) {
    let mut open = Vec::new();
    for (index, piece) in html.split('<').enumerate() {
        let text = if index == 0 {
            piece
        } else {
            let (tag, text) = piece.split_once('>').expect("a tag ends");
            let name = tag.split([' ', '>']).next().unwrap();
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name)),
                None if ["!doctype", "meta", "br", "wbr"].contains(&name) => {}
                None => open.push(name),
            }
            text
        };
        for escape in text.split('&').skip(1) {
            let (name, _) = escape.split_once(';').expect("an escape ends");
            assert!(
                ["amp", "lt", "gt", "quot", "#x27", "#x2f"].contains(&name),
                "&{name};"
            );
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[track_caller]
fn assert_mail(mail: &MailBody) {
    let sizes = (mail.text.len(), mail.html.len());
    assert!(
        sizes.0 <= LARGEST_PART && sizes.1 <= LARGEST_PART,
        "{sizes:?}"
    );
    assert!(mail.html.matches("<h2 ").count() <= 20);
    assert_whole(&mail.html);
}

#[track_caller]
fn assert_markdown(text: &str, limit: usize) {
    assert!(text.len() <= limit, "{} of {limit}", text.len());
    let (mut fence, mut folds) = ("", 0);
    for line in text.lines() {
        let begin = &line[..line.len() - line.trim_start_matches('`').len()];
        if line == fence {
            fence = "";
        } else if fence.is_empty() {
            fence = if begin.len() >= 3 { begin } else { "" };
            folds += i32::from(line.starts_with("<details>"));
            folds -= i32::from(line.starts_with("</details>"));
        }
    }
    assert_eq!((fence, folds), ("", 0), "all parts end");
}

/// The report about so many hosts that answer 404, each for a path of its own.
fn hosts_gone(number: usize) -> Envelope {
    let mut envelope = data::report("20261124T041702Z-a1b2c3d4", "2026-11-24 04:17", 52);
    for index in 0..number {
        let (host, since) = (format!("host{index:04}.example.org"), "2026-11-24 04:17");
        let id = format!("{index:08x}");
        let mut incident = data::incident(&id, Phase::Opened, &host, State::Gone, since);
        let url = format!("https://{host}/tables/of/stars.csv");
        incident.urls = vec![data::url(&url, &format!("{host}.yaml"), 7)];
        incident.host_urls = 4;
        incident.evidence.observed.status = Some(404 + u16::try_from(index % 500).unwrap());
        envelope.incidents.push(incident);
    }
    envelope
}

#[test]
fn a_mail_shows_twenty_incidents_in_full_and_names_or_counts_the_rest() {
    let several = mail(&hosts_gone(30), Scope::News);
    assert_mail(&several);
    assert_eq!(several.html.matches("<h2 ").count(), 20);
    let line = "\nAlso in this report:\n  broken: https://host0020.example.org/tables/of/stars.csv answers";
    assert!(several.text.contains(line), "{}", several.text);

    for number in [300, 3_000] {
        let envelope = hosts_gone(number);
        let many = mail(&envelope, Scope::News);
        assert_mail(&many);
        assert!(many.text.contains("  and "), "{}", many.text);
        // The same incidents as those of other mails.
        let mut known = envelope.clone();
        for incident in &mut known.incidents[1..] {
            incident.phase = Phase::Unchanged;
        }
        let ids = [known.incidents[0].id.as_str()];
        assert_mail(&mail(&known, Scope::Changes(&ids)));
        assert_mail(&mail(&known, Scope::Run));
        let ids: Vec<&str> = envelope.incidents.iter().map(|it| it.id.as_str()).collect();
        assert_mail(&mail(&envelope, Scope::Reminder(&ids)));
    }
}

#[test]
fn a_long_subject_keeps_the_project() {
    let mut envelope = hosts_gone(1);
    let path = "https://host0000.example.org/".to_owned() + &"long/".repeat(30);
    envelope.incidents[0].urls[0].url = path;
    let long = subject(&envelope, Scope::News);
    assert_eq!(long.chars().count(), LONGEST_SUBJECT);
    assert!(
        long.starts_with("broken: host0000.example.org/long/") && long.ends_with("… [sky-urls]"),
        "{long}"
    );
    envelope.run.project = "x".repeat(100);
    let longer = subject(&envelope, Scope::News);
    assert!(
        longer.ends_with("x…]") && longer.chars().count() == LONGEST_SUBJECT,
        "{longer}"
    );
    envelope.run.project = String::new();
    assert!(subject(&envelope, Scope::News).ends_with('…'));
}

#[test]
fn backticks_are_no_text_of_a_html_mail() {
    let mut envelope = hosts_gone(1);
    envelope.mistakes.push(Mistake {
        code: "unknown-key".to_owned(),
        file: "urldb/a.example.org.yaml".to_owned(),
        line: 3,
        message: shown("unknown key `stauts`; did you mean `status`?"),
        help: None,
        text: shown("stauts: `"),
        column: 1,
        new: true,
    });
    let ids = ["00000000"];
    let reminder = mail(&envelope, Scope::Reminder(&ids));
    assert!(
        reminder
            .html
            .contains("category \u{201c}deprecated\u{201d}."),
        "{}",
        reminder.html
    );
    assert!(reminder.text.contains("`deprecated`"), "{}", reminder.text);
    let news = mail(&envelope, Scope::News);
    let words = "unknown key \u{201c}stauts\u{201d}; did you mean \u{201c}status\u{201d}?";
    assert!(news.html.contains(words), "{}", news.html);
    // The line of the file stays as it is.
    assert!(news.html.contains(">stauts: `<"), "{}", news.html);
}

/// A text that is hostile to each format, of up to so many characters.
fn text(longest: usize) -> impl Strategy<Value = String> {
    let word = select(vec![
        "a",
        "/",
        "<b>",
        "&amp;",
        "\"",
        "'",
        "`",
        "```",
        "\u{1f600}",
        "|",
        "%20",
        " ",
        "\n",
        "</p>",
        "example.org",
        "@all",
        "- [ ] ",
        "<details>",
    ]);
    (word, 1..=longest).prop_map(|(word, length)| word.repeat(length / word.len() + 1))
}

fn word(longest: usize) -> impl Strategy<Value = String> {
    prop_oneof![4 => text(30), 1 => text(longest)]
}

const LEFT: [Option<Because>; 5] = [
    None,
    None,
    Some(Because::Recovered),
    Some(Because::Accepted),
    Some(Because::Removed),
];

prop_compose! {
    fn any_url(host: String)(
        path in word(20_000), new in any::<bool>(), left in select(LEFT.to_vec()), muted in any::<bool>(),
        flapping in any::<bool>(),
    ) -> AffectedUrl {
        let url = format!("https://{host}/{path}");
        AffectedUrl { new, left, muted, flapping, ..data::url(&url, &format!("{host}.yaml"), 7) }
    }
}

prop_compose! {
    fn any_evidence()(
        detail in word(5_000), content_type in word(3_000), redirect in proptest::option::of(word(9_000)),
        issuer in word(100), lines in prop::collection::vec(word(3_000), 0..30), status in 200_u16..600,
        length in proptest::option::of(any::<u64>()),
    ) -> Evidence {
        Evidence {
            promised: Promised {
                length: Some(12),
                sha256: Some("0f".repeat(32)),
                content_type: Some(issuer),
                ..Promised::default()
            },
            observed: Observed {
                status: Some(status),
                content_type: Some(shown(&content_type)),
                redirect: redirect.as_deref().map(shown),
                length,
                ..Observed::default()
            },
            detail: shown(&detail),
            requests: 3,
            agreeing: 2,
            contents: (lines.len() % 3 == 2).then(|| contents(&lines)),
            text: (lines.len() % 3 == 1).then(|| text_difference(&lines)),
            ..Evidence::default()
        }
    }
}

fn text_difference(lines: &[String]) -> TextDifference {
    TextDifference {
        added: 3,
        removed: 1,
        appended_after: None,
        lines: lines.iter().map(|line| shown(line)).collect(),
    }
}

fn contents(lines: &[String]) -> Contents {
    let members = lines.iter().take(10).enumerate();
    Contents {
        files: 132,
        single: false,
        differing: 29,
        folders: 0,
        members: members
            .map(|(index, line)| MemberDifference {
                name: shown(line),
                change: MemberChange::Changed,
                text: (index < 2).then(|| text_difference(lines)),
            })
            .collect(),
    }
}

fn any_incident() -> impl Strategy<Value = Incident> {
    let host = prop_oneof![3 => select(vec!["a.example.org".to_owned()]), 2 => "[a-z]{1,9}\\.test", 1 => text(300)];
    host.prop_flat_map(|host| {
        let urls = prop_oneof![4 => 0_usize..4, 1 => 0_usize..60];
        let urls =
            urls.prop_flat_map(move |size| prop::collection::vec(any_url(host.clone()), size));
        let state = select(vec![
            State::Gone,
            State::Changed,
            State::Redirected,
            State::Unreachable,
            State::Truncated,
            State::Blocked,
            State::Inconclusive,
            State::ServerError,
        ]);
        let phase = select(vec![
            Phase::Opened,
            Phase::Opened,
            Phase::Opened,
            Phase::Changed,
            Phase::Changed,
            Phase::Changed,
            Phase::Changed,
            Phase::Changed,
            Phase::Unchanged,
            Phase::Closed,
            Phase::Unconfirmed,
            Phase::Unknown,
        ]);
        (urls, state, phase, any_evidence(), word(3_000))
    })
    .prop_map(|(urls, state, phase, evidence, redirect)| {
        let host = urls.first().map_or("none.test", |url| &url.url);
        let host = host
            .trim_start_matches("https://")
            .split('/')
            .next()
            .unwrap()
            .to_owned();
        Incident {
            redirect: (state == State::Changed).then(|| shown(&redirect)),
            urls,
            evidence,
            reminder: true,
            ..data::incident("", phase, &host, state, "2026-11-20 04:17")
        }
    })
}

prop_compose! {
    /// A report whose incidents come several times, so that there are many.
    fn any_envelope()(
        incidents in prop::collection::vec(any_incident(), 0..12),
        times in prop_oneof![4 => 1_usize..4, 1 => 1_usize..80],
        mistakes in prop::collection::vec((word(3_000), word(3_000)), 0..8),
        project in word(3_000), selection in proptest::option::of(word(5_000)),
        reason in proptest::option::of(word(3_000)),
    ) -> Envelope {
        let mut envelope = data::report("20261124T041702Z-a1b2c3d4", "2026-11-24 04:17", 52);
        for incident in std::iter::repeat_n(&incidents, times).flatten() {
            let id = format!("{:08x}", envelope.incidents.len());
            let mut incident = incident.clone();
            // Every other one is alone in its block.
            incident.evidence.observed.status =
                incident.evidence.observed.status.map(|status| status + u16::from(id.ends_with('1')));
            envelope.incidents.push(Incident { key: id.repeat(8), id, ..incident });
        }
        envelope.mistakes = mistakes
            .into_iter()
            .map(|(message, text)| Mistake {
                code: "unknown-key".to_owned(),
                file: "urldb/a.yaml".to_owned(),
                line: 3,
                column: 1,
                message: shown(&message),
                help: Some(shown(&text)),
                text: shown(&text),
                new: true,
            })
            .collect();
        envelope.delay = reason.map(|reason| Delay {
            reason: shown(&reason),
            first_tried: envelope.run.started,
            last_tried: envelope.run.started,
            now: envelope.run.finished,
        });
        (envelope.run.project, envelope.run.selection) = (project, selection);
        envelope
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_output_keeps_its_limit_and_is_whole(envelope in any_envelope()) {
        let ids: Vec<&str> = envelope.incidents.iter().map(|it| it.id.as_str()).collect();
        let some = &ids[..ids.len() / 2];
        for scope in [Scope::News, Scope::Run, Scope::Changes(some), Scope::Reminder(&ids)] {
            assert_mail(&mail(&envelope, scope));
        }
        let message = compose(&envelope, Scope::Run, &Deliveries::default());
        assert_markdown(&markdown(&message), LARGEST_SUMMARY);
        let open: Vec<&Incident> = envelope.incidents.iter().take(200).collect();
        for part in [&open[..], &open[..open.len().min(1)]] {
            if part.is_empty() {
                continue;
            }
            let issue = shared_issue(&envelope, part, part.len());
            assert_markdown(&issue.body, LARGEST_BODY - part.len() * MARKER);
            let rows = issue.body.lines().filter(|line| line.starts_with("- ")).count();
            prop_assert!(part.len() == 1 || rows >= part.len(), "{}", issue.body);
            prop_assert!(issue.title.chars().count() <= 200);
        }
        for incident in &envelope.incidents {
            if let Some(comment) = comment(&envelope, incident) {
                assert_markdown(&comment, LARGEST_BODY);
            }
        }
    }
}
