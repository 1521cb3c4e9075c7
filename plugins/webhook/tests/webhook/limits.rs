//! Every payload is below the limit of its service, keeps the headline and the link, and no text in it is markup
//! or calls anybody.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;
use urldb_protocol::{Because, Envelope, Evidence, Incident, Phase, Shown, State};
use urldb_render::{
    Each, LARGEST_BODY, LARGEST_PART, Part, Renderer, Scope, WordsWriter, comment, mail_body,
    shared_issue, subject,
};
use urldb_webhook::WebhookNotifier;

use crate::report::{built_in, envelope, settings};

pub(crate) const SERVICES: [&str; 8] = [
    "slack",
    "mattermost",
    "ntfy",
    "discord",
    "teams",
    "telegram",
    "google-chat",
    "pagerduty",
];

pub(crate) fn bodies(service: &str, envelope: &Envelope) -> Vec<Value> {
    let mut settings = settings("https://chat.example.org/");
    settings.template = Some(built_in(&format!("webhook-{service}.json")));
    if service == "pagerduty" {
        settings.each = Each::EveryIncident;
    }
    let notifier = WebhookNotifier::new(settings).unwrap();
    let bodies = notifier.try_bodies(envelope).unwrap().into_iter();
    bodies
        .map(|body| serde_json::from_slice(&body).unwrap())
        .collect()
}

fn utf16(text: &str) -> usize {
    text.encode_utf16().count()
}

fn text_at<'a>(body: &'a Value, pointer: &str) -> &'a str {
    let text = body.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("{pointer} in {body:#}"))
}

/// Each text of a value, with the name of its key.
fn texts<'a>(value: &'a Value, key: &'a str, found: &mut Vec<(&'a str, &'a str)>) {
    match value {
        Value::String(text) => found.push((key, text)),
        Value::Array(items) => items.iter().for_each(|item| texts(item, key, found)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, item)| texts(item, key, found)),
        _ => {}
    }
}

fn keys(value: &Value) -> Vec<&str> {
    let fields = value.as_object().unwrap();
    fields.keys().map(String::as_str).collect()
}

/// The lines without our own link, which is the last one.
fn without_link<'a>(text: &'a str, link: &str) -> Vec<&'a str> {
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines.pop().unwrap();
    assert!(last.contains(link), "{last}");
    lines
}

const SITE: &str = "https://sky.example.org/status/";

pub(crate) fn assert_payload(service: &str, body: &Value) {
    let all = body.to_string();
    let title = if service == "google-chat" { "<b>" } else { "" };
    assert!(
        all.contains(&format!("{title}URLs: ")),
        "the headline: {all}"
    );
    assert!(all.contains(SITE), "the link: {all}");
    match service {
        "slack" => {
            assert!(utf16(text_at(body, "/blocks/0/text/text")) <= 150);
            assert!(utf16(text_at(body, "/blocks/1/text/text")) <= 3_000);
            assert!(!text_at(body, "/text").contains('<'));
            let footer = text_at(body, "/blocks/2/elements/0/text");
            assert_eq!(footer.matches('<').count(), 1, "{footer}");
        }
        "mattermost" => assert!(utf16(text_at(body, "/text")) <= 4_000),
        "ntfy" => assert!(all.len() <= 4_096, "{}", all.len()),
        "discord" => {
            assert_eq!(keys(body), ["content", "allowed_mentions", "flags"]);
            assert_eq!(body["allowed_mentions"].to_string(), "{\"parse\":[]}");
            let content = text_at(body, "/content");
            assert!(utf16(content) <= 2_000, "{}", utf16(content));
            for line in without_link(content, SITE) {
                let pieces: Vec<&str> = line.split('`').collect();
                assert_eq!(pieces.len() % 2, 1, "each span ends: {line}");
                let outside: String = pieces.iter().step_by(2).copied().collect();
                let is_markup = |char| "<@[]_~|\\".contains(char);
                assert!(!outside.contains(is_markup), "{line}");
            }
        }
        "teams" => {
            assert!(all.len() <= 28_000, "{}", all.len());
            assert!(
                !all.contains("\"msteams\":") && !all.contains("\"entities\":"),
                "{all}"
            );
            let content = &body["attachments"][0]["content"];
            for block in content["body"].as_array().unwrap() {
                assert_eq!(
                    (keys(block), &block["type"]),
                    (vec!["type", "inlines"], &"RichTextBlock".into())
                );
                assert_eq!(block["inlines"][0]["type"], "TextRun");
            }
            assert_eq!(content["actions"].as_array().unwrap().len(), 1);
        }
        "telegram" => {
            assert_eq!(keys(body), ["chat_id", "text", "link_preview_options"]);
            let text = text_at(body, "/text");
            assert!(utf16(text) <= 4_096, "{}", utf16(text));
            for line in without_link(text, SITE) {
                assert!(!line.contains('@'), "{line}");
            }
        }
        "google-chat" => {
            assert!(all.len() <= 32_000, "{}", all.len());
            assert_eq!(keys(body), ["fallbackText", "cardsV2"]);
            let mut found = Vec::new();
            texts(&body["cardsV2"], "", &mut found);
            for (key, text) in found.into_iter().filter(|(key, _)| *key == "text") {
                let bare = text
                    .strip_prefix("<b>")
                    .and_then(|it| it.strip_suffix("</b>"));
                assert!(!bare.unwrap_or(text).contains(['<', '>']), "{key}: {text}");
            }
        }
        "pagerduty" => {
            assert!(utf16(text_at(body, "/payload/summary")) <= 1_024);
            assert!(utf16(text_at(body, "/dedup_key")) <= 255);
            assert!(["trigger", "resolve"].contains(&text_at(body, "/event_action")));
            assert!(["error", "warning", "info"].contains(&text_at(body, "/payload/severity")));
            assert!(all.len() <= 512_000, "{}", all.len());
        }
        other => panic!("no limit is known for {other}"),
    }
    // Line ends are our own.
    let mut found = Vec::new();
    texts(body, "", &mut found);
    for (_, text) in found {
        let is_hostile = |char: char| char != '\n' && char.is_control() || char == '\u{202e}';
        assert!(!text.contains(is_hostile), "{text:?}");
    }
}

/// Pieces of texts that mean something to a service, or are long.
fn hostile() -> impl Strategy<Value = String> {
    let long = "a".repeat(400);
    let pieces = [
        "@all",
        "@everyone",
        "<@123>",
        "<!channel>",
        "<users/all>",
        "<at>x</at>",
        "[x](https://evil.example)",
        "https://evil.example/",
        "`",
        "```",
        "**",
        "_",
        "~",
        "|",
        "||",
        "#",
        "\n",
        "\r\n> ",
        "\u{1b}[31m",
        "\u{202e}",
        "\"}, {\"a\": \"",
        "{{ run.id }}",
        "{% for %}",
        "&lt;",
        "<b>",
        "</b>",
        "\\",
        "\u{1d54f}",
        "\u{1f600}",
        "é",
        " ",
        "stars.csv",
        ":tada:",
        "$(id)",
        &long,
    ];
    let pieces: Vec<String> = pieces.map(str::to_owned).to_vec();
    prop::collection::vec(select(pieces), 0..12).prop_map(|pieces| pieces.concat())
}

fn phase() -> impl Strategy<Value = Phase> {
    select(vec![
        Phase::Opened,
        Phase::Opened,
        Phase::Changed,
        Phase::Changed,
        Phase::Closed,
    ])
}

fn state() -> impl Strategy<Value = State> {
    select(vec![
        State::Gone,
        State::Changed,
        State::Redirected,
        State::Unreachable,
    ])
}

fn report() -> impl Strategy<Value = Envelope> {
    let incident = (hostile(), hostile(), hostile(), phase(), state());
    let incidents = prop::collection::vec(incident, 1..12);
    (incidents, hostile(), hostile()).prop_map(|(incidents, project, path)| {
        let mut report = envelope("host", incidents.len());
        project.clone_into(&mut report.run.project);
        project.clone_into(&mut report.run.repository);
        let long = path.chars().filter(char::is_ascii_alphanumeric).take(700);
        let site = format!(
            "https://sky.example.org/status/{}",
            long.collect::<String>()
        );
        report.run.site_url = Some(site);
        report.run.project_url = Some("https://github.com/example/sky".to_owned());
        report.run.commit = Some("3f2c1ab".to_owned());
        for (incident, (host, path, target, phase, state)) in
            report.incidents.iter_mut().zip(incidents)
        {
            let url = format!("https://{host}/{path}");
            incident.host = host;
            incident.phase = phase;
            incident.state = state;
            incident.redirect =
                (state == State::Redirected).then(|| Shown::new(&target, Shown::LONGEST));
            incident.urls[0].url.clone_from(&url);
            incident.urls[0].file = format!("urldb/{path}.yaml");
            if phase == Phase::Closed {
                incident.urls[0].left = Some(Because::Recovered);
                incident.closed = Some(report.run.started);
            }
            incident.evidence = Evidence {
                url,
                detail: Shown::new(&target, Shown::LONGEST),
                ..Evidence::default()
            };
            incident.evidence.observed.content_type = Some(Shown::new(&target, Shown::LONGEST));
        }
        report
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_text_leaves_its_place_and_no_payload_is_too_large(report in report()) {
        for service in SERVICES {
            for body in bodies(service, &report) {
                assert_payload(service, &body);
            }
        }
    }
}

#[test]
fn last_causes_give_way_to_the_limit_and_are_counted() {
    let mut report = envelope("host", 7);
    report.run.site_url = Some(format!(
        "https://sky.example.org/status/{}",
        "s".repeat(700)
    ));
    for (number, incident) in (400..).zip(&mut report.incidents) {
        // Another cause each, and lines of the greatest length.
        incident.evidence.observed.status = Some(number);
        incident.urls[0].url = format!("https://{}/{}", incident.host, "x".repeat(400));
    }
    let content = bodies("discord", &report).remove(0);
    let content = text_at(&content, "/content").to_owned();
    assert!(content.starts_with("**URLs: "), "{content}");
    let shown = content.matches("\n- `broken: ").count();
    assert!((1..5).contains(&shown), "{content}");
    assert!(
        content.contains(&format!("\n- and {} more\n", 7 - shown)),
        "{content}"
    );
    assert!(content.ends_with("sss/>"), "{content}");
    // A larger limit has room for five.
    let teams = bodies("teams", &report).remove(0).to_string();
    assert_eq!(teams.matches("broken: ").count(), 5);
    assert!(teams.contains("and 2 more"));
}

#[test]
fn pagerduty_opens_and_resolves_one_alert_for_each_incident() {
    let mut report = envelope("host", 40);
    for incident in &mut report.incidents[20..] {
        incident.phase = Phase::Closed;
        incident.closed = Some(report.run.started);
        incident.urls[0].left = Some(Because::Recovered);
    }
    let events = bodies("pagerduty", &report);
    assert_eq!(events.len(), 40);
    for (number, event) in events.iter().enumerate() {
        let action = if number < 20 { "trigger" } else { "resolve" };
        let severity = if number < 20 { "error" } else { "info" };
        assert_eq!(event["event_action"], action);
        assert_eq!(event["dedup_key"], format!("{number:016x}"));
        assert_eq!(event["payload"]["severity"], severity);
        assert_eq!(
            event["payload"]["source"],
            format!("host{number}.example.org")
        );
        assert_eq!(event["routing_key"], "key");
    }
}

/// 400 hosts at once, with one cause or with 400.
fn many_hosts(has_one_cause: bool) -> Envelope {
    let mut report = envelope("a-host-with-a-rather-long-name-", 400);
    report.run.project_url = Some("https://github.com/example/sky".to_owned());
    report.run.commit = Some("3f2c1ab0c4b0d2a96a0b0f5cf6a7c4b0f8f0e6d1".to_owned());
    for (number, incident) in (400..).zip(&mut report.incidents) {
        let status = if has_one_cause { 404 } else { number };
        let url = format!(
            "https://{}/catalogue/{}.csv",
            incident.host,
            "x".repeat(200)
        );
        incident.urls[0].url.clone_from(&url);
        incident.urls[0].file = format!("urldb/{}.yaml", incident.host);
        incident.evidence.url = url;
        incident.evidence.observed.status = Some(status);
        incident.last_good = Some(report.run.started);
    }
    report
}

#[test]
fn four_hundred_hosts_at_once_fit_into_every_channel() {
    let html = include_str!("../../../../templates/email.html");
    let renderer = Renderer::new([("email.html", html.to_owned())]).unwrap();
    for has_one_cause in [true, false] {
        let report = many_hosts(has_one_cause);
        // Mail.
        let subject = subject(&report, Scope::News);
        assert!(subject.chars().count() <= 78, "{subject}");
        let mail = mail_body(
            &report,
            Scope::News,
            "mail",
            &subject,
            &renderer,
            "email.html",
        )
        .unwrap();
        assert!(mail.text.len() <= LARGEST_PART && mail.html.len() <= LARGEST_PART);
        assert!(mail.text.starts_with("URLs: "));
        // Issues: one that all share, as more than five begin at once.
        let incidents: Vec<&Incident> = report.incidents.iter().take(200).collect();
        let issue = shared_issue(&report, &incidents, incidents.len());
        assert!(issue.title.chars().count() <= 200, "{}", issue.title);
        assert!(issue.body.len() <= LARGEST_BODY, "{}", issue.body.len());
        for incident in incidents {
            let line = format!("- `{}`, since ", incident.host);
            assert!(issue.body.contains(&line), "{line}: {}", issue.body);
        }
        let mut grown = report.incidents[0].clone();
        grown.phase = Phase::Changed;
        let comment = comment(&report, &grown).unwrap();
        assert!(comment.len() <= LARGEST_BODY);
        // The words of the envelope.
        let writer = WordsWriter::new("room", html.to_owned()).unwrap();
        let words = *writer
            .write(&report, &Part::Run)
            .unwrap()
            .envelope
            .message
            .unwrap();
        assert!(words.text.len() <= LARGEST_PART && words.html.len() <= LARGEST_PART);
        assert!(words.markdown.len() <= LARGEST_BODY);
        assert!(words.headline.chars().count() <= 300 && words.subject.chars().count() <= 78);
        assert!(words.lines.len() <= 6 && words.commands.len() <= 20 && words.links.len() <= 6);
        assert!(words.lines.iter().all(|line| line.chars().count() <= 300));
        let size = serde_json::to_vec(&words).unwrap().len();
        assert!(size <= 300_000, "{size}");
        // Each service.
        for service in SERVICES
            .into_iter()
            .filter(|service| *service != "pagerduty")
        {
            let [body] = &bodies(service, &report)[..] else {
                panic!("{service}: one message");
            };
            assert_payload(service, body);
        }
    }
}
