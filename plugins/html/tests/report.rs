//! The text of the page, and what the page must never contain.

use std::fs;
use std::path::Path;

use std::sync::Mutex;
use urldb_html::{HtmlNotifier, Settings};
use urldb_protocol::{Change, Delivery, DeliveryOutcome, Envelope, Finding, Notifier, State};

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap()
}

fn envelope() -> Envelope {
    serde_json::from_str(&read("docs/envelope.example.json")).unwrap()
}

async fn deliver(notifier: &HtmlNotifier, envelope: &Envelope) -> Delivery {
    let results = Mutex::new(vec![]);
    let report = |delivery| results.lock().unwrap().push(delivery);
    let planned = notifier.deliveries(envelope).into_iter();
    let ids: Vec<String> = planned.map(|plan| plan.id).collect();
    notifier.deliver(envelope, &ids, &report).await;
    let mut results = results.into_inner().unwrap();
    assert_eq!(results.len(), 1);
    results.remove(0)
}

fn report_in(folder: &Path) -> HtmlNotifier {
    let settings = Settings {
        path: folder.to_owned(),
    };
    HtmlNotifier::new(settings, read("templates/report.html")).unwrap()
}

async fn page(envelope: &Envelope) -> String {
    let folder = tempfile::tempdir().unwrap();
    let report = deliver(&report_in(folder.path()), envelope).await;
    assert_eq!(
        report.outcome,
        DeliveryOutcome::Delivered,
        "{}",
        report.message
    );
    fs::read_to_string(folder.path().join("index.html")).unwrap()
}

/// What the page says, one line per block: without the head, the tags and the escapes.
fn words(page: &str) -> String {
    let body = page.split("<body>").nth(1).unwrap();
    let mut words = String::new();
    for piece in body.split('<') {
        words.push_str(piece.split_once('>').map_or(piece, |(_, text)| text));
    }
    for (escape, char) in [
        ("&#x2f;", "/"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&amp;", "&"),
    ] {
        words = words.replace(escape, char);
    }
    let lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn people_read_this() {
    insta::assert_snapshot!("words", words(&page(&envelope()).await));
}

#[tokio::test]
async fn the_headline_never_promises_too_much() {
    let mut envelope = envelope();
    envelope.findings.clear();
    envelope.changes.clear();
    let mistakes = std::mem::take(&mut envelope.mistakes);
    let mut headline = async |states: &[(State, u64)]| {
        envelope.summary.states = states.iter().copied().collect();
        let page = page(&envelope).await;
        let headline = page
            .split("<h1")
            .nth(1)
            .unwrap()
            .split("</h1>")
            .next()
            .unwrap();
        headline.split_once('>').unwrap().1.to_owned()
    };
    assert_eq!(
        headline(&[(State::Ok, 16_234)]).await,
        "All 16,234 promises kept"
    );
    assert_eq!(headline(&[(State::Ok, 1)]).await, "The one promise is kept");
    assert_eq!(headline(&[]).await, "Nothing was checked");
    assert_eq!(
        headline(&[(State::Ok, 1), (State::Blocked, 1)]).await,
        "Nothing known to be broken"
    );
    assert_eq!(
        headline(&[(State::Blocked, 1), (State::Gone, 1)]).await,
        "1 of 2 promises broken"
    );
    envelope.mistakes = mistakes;
    envelope.summary.states = [(State::Ok, 1)].into();
    let page = page(&envelope).await;
    assert!(page.contains(">Nothing known to be broken</h1>"), "{page}");
    assert!(
        page.contains(": 1 mistake in domain files</title>"),
        "{page}"
    );
}

#[tokio::test]
async fn data_is_neither_template_nor_markup() {
    let mut envelope = envelope();
    let hostile = "{{ 7*7 }}{% raw %}</style><script>alert(1)</script>\" onmouseover=\"x' <img src=x>\r\n\u{202e}";
    envelope.run.repository = hostile.to_owned();
    envelope.run.id = hostile.to_owned();
    for finding in &mut envelope.findings {
        finding.url = format!("javascript:alert(1)//{hostile}");
        finding.file = hostile.to_owned();
        finding.reason = Some(hostile.to_owned());
        finding.message = hostile.to_owned();
        finding.observed = Some(hostile.to_owned());
    }
    for mistake in &mut envelope.mistakes {
        mistake.file = hostile.to_owned();
        mistake.message = hostile.to_owned();
        mistake.help = Some(hostile.to_owned());
    }
    for fixed in &mut envelope.fixed {
        fixed.file = hostile.to_owned();
        fixed.code = hostile.to_owned();
        fixed.text = hostile.to_owned();
    }
    for change in &mut envelope.changes {
        change.url = format!("https://example.org/{hostile}");
        change.message = hostile.to_owned();
    }
    let page = page(&envelope).await;
    for markup in [
        "<script",
        "<img",
        "href=\"javascript",
        "onmouseover=\"",
        "\u{202e}",
    ] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert!(words(&page).contains("{{ 7*7 }}{% raw %}</style><script>alert(1)</script>"));
    assert_eq!(page.matches("</style>").count(), 1);
    assert!(!page.contains("<a "), "a URL with a line break is no link");
}

#[tokio::test]
async fn only_web_addresses_become_links() {
    let mut envelope = envelope();
    envelope.findings[0].url = "ftp://example.org/a".to_owned();
    envelope.findings[1].url = "https://example.org/a?b=c&d='\"".to_owned();
    let page = page(&envelope).await;
    assert!(page.contains("href=\"https:&#x2f;&#x2f;example.org&#x2f;a?b=c&amp;d=&#x27;&quot;\" rel=\"noreferrer noopener\""));
    assert!(page.contains("ftp:") && !page.contains("href=\"ftp"));
}

#[tokio::test]
async fn the_page_needs_nothing_but_itself() {
    let page = page(&envelope()).await;
    assert!(page.contains(
        "Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'"
    ));
    for outside in ["<script", "<link", "src=", "url(", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

/// Every list at its longest: the most that a rendering ever takes.
#[tokio::test]
async fn long_lists_are_cut_and_say_so() {
    let example = envelope();
    let mut envelope = envelope();
    for number in 0..3_000 {
        let url = format!("https://data.example.org/{number}");
        let findings = example.findings.iter().map(|finding| Finding {
            url: format!("{url}/{}", finding.code),
            ..finding.clone()
        });
        envelope.findings.extend(findings);
        envelope.mistakes.push(example.mistakes[0].clone());
        envelope.fixed.push(example.fixed[0].clone());
        let states = [
            (State::Ok, State::Gone),
            (State::Gone, State::Ok),
            (State::Gone, State::Changed),
        ];
        let changes = states.map(|(from, to)| Change {
            url: format!("{url}/{from}"),
            from,
            to,
            ..example.changes[0].clone()
        });
        envelope.changes.extend(changes);
    }
    let page = page(&envelope).await;
    let rows = page.matches("<li>").count();
    assert_eq!(rows, 8 * 2_000, "eight lists");
    assert!(words(&page).contains("and 1,001 more"));
}

#[tokio::test]
async fn every_run_replaces_the_page_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("to/be/made");
    let report = report_in(&path);
    assert!(report.replaces_earlier());
    for _ in 0..2 {
        assert_eq!(
            deliver(&report, &envelope()).await.outcome,
            DeliveryOutcome::Delivered
        );
    }
    assert_eq!(
        fs::read_dir(&path).unwrap().count(),
        1,
        "no temporary file is left"
    );
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let report = deliver(&report_in(&file), &envelope()).await;
    assert_eq!(report.outcome, DeliveryOutcome::Retry);
    assert!(report.message.contains("index.html"), "{}", report.message);
}

#[test]
fn a_template_that_cannot_be_read_says_where() {
    let settings = Settings { path: "www".into() };
    let error = HtmlNotifier::new(settings, "\n\n{% if %}".to_owned()).unwrap_err();
    assert_eq!((error.name.as_str(), error.line), ("report.html", 3));
}
