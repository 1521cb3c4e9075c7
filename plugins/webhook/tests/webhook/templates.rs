//! The templates for chats, and templates of users.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};
use urldb_protocol::DeliveryOutcome::Delivered;
use urldb_protocol::{Envelope, Shown};
use urldb_webhook::{Error, Template, WebhookNotifier};

use crate::limits::{SERVICES, bodies};
use crate::report::{HOSTILE, at, built_in, deliver, envelope, settings};
use crate::support::{Reply, Server};

fn render(name: &str, envelope: &Envelope) -> Value {
    let mut settings = settings("https://chat.example.org/");
    settings.template = Some(built_in(name));
    let body = WebhookNotifier::new(settings)
        .unwrap()
        .try_bodies(envelope)
        .unwrap();
    serde_json::from_slice(&body[0]).unwrap()
}

fn own(source: &str) -> Result<Vec<u8>, Error> {
    let mut settings = settings("https://chat.example.org/");
    settings.template = Some(Template {
        name: "webhook-mine.json".to_owned(),
        source: source.to_owned(),
        variables: BTreeMap::new(),
    });
    let mut bodies = WebhookNotifier::new(settings)?.try_bodies(&envelope("h", 1))?;
    Ok(bodies.remove(0))
}

#[test]
fn every_chat_gets_its_message() {
    let mut shown = String::new();
    for name in SERVICES {
        let body = bodies(name, &envelope("host", 25)).remove(0);
        writeln!(
            shown,
            "{name}: {}",
            serde_json::to_string_pretty(&body).unwrap()
        )
        .unwrap();
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_rendered_body_is_posted() {
    let server = Server::new(|_| Reply::ok("ok"));
    let mut settings = at(&server);
    settings.template = Some(built_in("webhook-ntfy.json"));
    assert_eq!(deliver(settings, &envelope("h", 1)).outcome, Delivered);
    let body: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
    assert_eq!(body["topic"], "sky");
}

fn keys(value: &Value) -> Vec<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

fn hostile() -> Envelope {
    let mut hostile = envelope(HOSTILE, 30);
    HOSTILE.clone_into(&mut hostile.run.project);
    HOSTILE.clone_into(&mut hostile.run.repository);
    for (number, incident) in hostile.incidents.iter_mut().enumerate() {
        // Another cause each, so that each has a block of its own.
        let target = format!("https://t{number}.example.org/{HOSTILE}");
        incident.redirect = Some(Shown::new(&target, Shown::LONGEST));
    }
    hostile
}

#[test]
fn hostile_texts_stay_in_their_place_in_slack() {
    let body = render("webhook-slack.json", &hostile());
    assert_eq!(keys(&body), ["text", "blocks"]);
    assert_eq!(body["blocks"].as_array().unwrap().len(), 3);
    assert!(!body["text"].as_str().unwrap().contains('<'), "{body}");
    let footer = body["blocks"][2]["elements"][0]["text"].as_str().unwrap();
    // The only markup is our own link.
    assert_eq!(footer.matches('<').count(), 1, "{footer}");
    assert!(
        footer.contains(", <https://sky.example.org/status"),
        "{footer}"
    );
    let section = &body["blocks"][1]["text"];
    assert_eq!(section["type"], "plain_text");
    let length = section["text"].as_str().unwrap().chars().count();
    assert!(length > 100 && length <= 3_000, "{length}");
    assert_sanitized(&body);
}

#[test]
fn hostile_texts_stay_in_their_place_in_mattermost() {
    let body = render("webhook-mattermost.json", &hostile());
    assert_eq!(keys(&body), ["text"]);
    let text = body["text"].as_str().unwrap();
    assert!(text.chars().count() <= 16_383);
    for line in text.lines() {
        let outside = outside_code(line);
        assert!(
            !outside.contains('@') && !outside.contains("javascript"),
            "{line}"
        );
    }
    assert_sanitized(&body);
}

#[test]
fn hostile_texts_stay_in_their_place_in_ntfy() {
    let body = render("webhook-ntfy.json", &hostile());
    assert_eq!(
        keys(&body),
        ["topic", "title", "message", "click", "priority", "tags"]
    );
    assert!(
        body.to_string().len() <= 4_096,
        "{}",
        body.to_string().len()
    );
    assert_sanitized(&body);
}

fn assert_sanitized(body: &Value) {
    let text = body.to_string();
    assert!(
        !text.contains("20261122T041700Z-abc"),
        "no text is a template: {text}"
    );
    assert!(
        !text.contains("\\u001b") && !text.contains('\u{202e}'),
        "{text}"
    );
}

/// A line without its code spans, whose fences have any length.
fn outside_code(line: &str) -> String {
    let mut outside = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        outside.push_str(&rest[..start]);
        let ticks = rest[start..]
            .bytes()
            .take_while(|byte| *byte == b'`')
            .count();
        let inside = &rest[start + ticks..];
        let mut at = 0;
        let end = loop {
            let next = at + inside[at..].find('`').expect("the span ends");
            let run = inside[next..]
                .bytes()
                .take_while(|byte| *byte == b'`')
                .count();
            if run == ticks {
                break next;
            }
            at = next + run;
        };
        rest = &inside[end + ticks..];
    }
    outside + rest
}

#[test]
fn a_template_of_the_user_makes_any_json() {
    let source = "{\"id\": {{ run.id }}, \"hosts\": [{% for incident in incidents %}{{ incident.host }}\
                  {% if not loop.last %}, {% endif %}{% endfor %}]}";
    let body: Value = serde_json::from_slice(&own(source).unwrap()).unwrap();
    assert_eq!(
        body,
        json!({ "id": "20261122T041700Z-abc", "hosts": ["h0.example.org"] })
    );
}

#[test]
fn a_bad_template_is_an_error_with_its_place() {
    for (source, begin) in [
        ("{\n{% for %}\n}", "template webhook-mine.json, line 2: "),
        (
            "{\n \"a\": {{ nothing }}\n}",
            "template webhook-mine.json, line 2: ",
        ),
        (
            "{\"a\": }",
            "the template webhook-mine.json makes no valid JSON: ",
        ),
    ] {
        let error = own(source).unwrap_err().to_string();
        assert!(error.starts_with(begin), "{error}");
    }
    let endless = "{% for a in range(10000) %}{% for b in range(10000) %}{% endfor %}{% endfor %}1";
    assert!(own(endless).is_err(), "a template that runs for too long");
}
