//! The site as files: what it has, what it must never contain, and what a second build rewrites.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;
use urldb_html::{Asset, SiteBuilder, SiteChanges, SiteError, SiteTemplates, TEMPLATES};
use urldb_protocol::{
    AffectedUrl, Day, DayCount, DayLevel, Evidence, FileCounts, Finding, HostOverview, Incident,
    IncidentOverview, Observed, Overview, Phase, ProjectInfo, Promised, RunCounts, RunSummary,
    Severity, Standing, State, TextDifference, Totals, UrlOverview,
};

/// Markup, a script and an attribute, for every text from outside.
const EVIL: &str = "x\"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\u{202e}";

fn templates() -> SiteTemplates {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../templates");
    let sources = TEMPLATES.map(|name| fs::read_to_string(root.join(name)).unwrap());
    let asset = Asset {
        name: "site.css",
        content: b"a{}",
    };
    SiteTemplates::new(sources, vec![asset]).unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn url(host: &str, path: &str, standing: Standing) -> UrlOverview {
    let is_kept = standing == Standing::Kept;
    UrlOverview {
        url: format!("http://{host}{path}"),
        host: host.to_owned(),
        file: format!("urldb/{host}.yaml"),
        line: 2,
        path: path.to_owned(),
        request: None,
        categories: vec![],
        promised: Promised {
            length: Some(35_674),
            sha256: Some("45".repeat(32)),
            ..Promised::default()
        },
        standing,
        state: Some(if is_kept { State::Ok } else { State::Changed }),
        reason: None,
        since: Some(at("2026-11-21T05:00:00Z")),
        pending: None,
        pending_since: None,
        known_since: Some(at("2026-01-01T05:00:00Z")),
        checked: Some(at("2026-11-22T05:14:51Z")),
        verified: Some(at("2026-11-20T05:14:51Z")),
        capture: None,
        is_archived: true,
        incident: (!is_kept).then(|| "bd7dbe2e".to_owned()),
        failures: None,
        muted: false,
    }
}

fn incident(host: &str, detail: &str) -> Incident {
    Incident {
        id: "bd7dbe2e".to_owned(),
        key: String::new(),
        phase: Phase::Unchanged,
        host: host.to_owned(),
        state: State::Changed,
        reason: None,
        redirect: None,
        since: at("2026-11-21T05:08:51Z"),
        opened_by: String::new(),
        opened: Some(at("2026-11-21T05:08:51Z")),
        closed: None,
        closed_because: None,
        merged_into: None,
        last_good: Some(at("2026-11-20T05:08:00Z")),
        runs: 2,
        host_urls: 2,
        urls: vec![AffectedUrl {
            url: format!("http://{host}/b?a=1&b='2'"),
            file: format!("urldb/{host}.yaml"),
            line: 7,
            request: None,
            categories: vec![],
            new: false,
            not_tried: false,
            muted: false,
            left: false,
        }],
        added: 0,
        left: 0,
        evidence: Evidence {
            url: format!("http://{host}/b?a=1&b='2'"),
            promised: Promised {
                length: Some(35_674),
                sha256: Some("45".repeat(32)),
                ..Promised::default()
            },
            observed: Observed {
                length: Some(36_038),
                sha256: Some("54".repeat(32)),
                content_type: Some(detail.to_owned()),
                ..Observed::default()
            },
            detail: detail.to_owned(),
            requests: 3,
            agreeing: 3,
            first_difference: Some(35_674),
            text: Some(TextDifference {
                added: 1,
                lines: vec![" a".to_owned(), format!("+{detail}")],
                ..TextDifference::default()
            }),
            ..Evidence::default()
        },
        threads: BTreeMap::new(),
        reminder: false,
        silent: false,
    }
}

fn host(name: &str, urls: u64, affected: u64) -> HostOverview {
    let first: Date = "2025-11-23".parse().unwrap();
    let days = first.series(jiff::Span::new().days(1)).take(365);
    HostOverview {
        host: name.to_owned(),
        file: format!("urldb/{name}.yaml"),
        urls,
        kept: urls - affected,
        affected,
        in_incidents: affected,
        broken: affected,
        muted: 0,
        unconfirmed: 0,
        unknown: 0,
        files: FileCounts {
            all: urls,
            verified: urls - affected,
            archived: urls,
            ages: [urls, 0, 0, 0, 0],
        },
        checked: Some(at("2026-11-22T05:14:51Z")),
        all_checked: Some(at("2026-11-22T05:14:51Z")),
        verified: Some(at("2026-11-22T05:14:51Z")),
        verified_without: 0,
        known_since: Some(at("2025-01-01T00:00:00Z")),
        certificate: None,
        incidents: if affected > 0 {
            vec!["bd7dbe2e".to_owned()]
        } else {
            vec![]
        },
        mistakes: 0,
        days: days
            .map(|date| Day {
                date,
                level: DayLevel::Kept,
                affected: 0,
            })
            .collect(),
    }
}

/// Two hosts, one of them with an open incident; texts from outside are `text`.
fn overview(text: &str) -> Overview {
    let bad = "data.example.org";
    let days = host(bad, 1, 0).days;
    Overview {
        project: ProjectInfo {
            name: format!("Sky {text}"),
            url: Some("https://github.com/example/sky".to_owned()),
            site_url: Some("https://sky.example.org".to_owned()),
            commit: Some("3f2c1ab".to_owned()),
        },
        version: "0.1.0".to_owned(),
        now: at("2026-11-22T06:20:00Z"),
        last_run: Some(RunSummary {
            id: "r".to_owned(),
            at: at("2026-11-22T05:14:51Z"),
            selection: None,
            due: 3,
            ok: 2,
            inconclusive: 0,
        }),
        last_complete: None,
        since_complete: vec![],
        totals: Totals {
            urls: 3,
            broken: 1,
            affected: 1,
            ..Totals::default()
        },
        files: FileCounts {
            all: 3,
            verified: 2,
            archived: 3,
            ages: [2, 1, 0, 0, 0],
        },
        deprecated: 1,
        open: vec![IncidentOverview {
            incident: incident(bad, text),
            domain: bad.to_owned(),
            reason: None,
            steps: vec![],
        }],
        closed: vec![],
        mistakes: vec![],
        warnings: vec![Finding {
            code: "intermittent".to_owned(),
            severity: Severity::Warning,
            url: format!("http://www.example.org/{text}"),
            file: "urldb/www.example.org.yaml".to_owned(),
            line: 2,
            categories: vec![],
            message: text.to_owned(),
            state: State::Ok,
            reason: None,
            expected: None,
            observed: None,
            not_archived: None,
            attempts: 0,
            since: None,
            pending: false,
            new: false,
            muted: false,
        }],
        hosts: vec![host(bad, 2, 1), host("www.example.org", 1, 0)],
        days: days
            .iter()
            .map(|day| DayCount {
                date: day.date,
                promised: 3,
                affected: u64::from(day.date.day() == 3),
                has_run: day.date.day() != 9,
            })
            .collect(),
        runs: RunCounts::default(),
        stale_after: 72,
    }
}

fn build(folder: &Path, overview: &Overview, path: &str) -> SiteChanges {
    let site = templates();
    let builder = SiteBuilder::new(&site, folder).unwrap();
    let urls = |host: &HostOverview| {
        let count = usize::try_from(host.urls).unwrap();
        let url = |index: usize| {
            let standing = if index == 0 && host.affected > 0 {
                Standing::Affected
            } else {
                Standing::Kept
            };
            url(&host.host, &format!("{path}{index}"), standing)
        };
        Ok::<_, SiteError>((0..count).map(url).collect())
    };
    builder.build(overview, urls).unwrap()
}

/// All files of the site but the manifest, by path.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path
                    .strip_prefix(folder)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                files.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

#[test]
fn the_site_has_a_page_for_each_host_and_incident() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), &overview("plain"), "/p/");
    let files = files(folder.path());
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            ".nojekyll",
            "badge.json",
            "badge.svg",
            "hosts/data.example.org.atom",
            "hosts/data.example.org.html",
            "hosts/data.example.org.svg",
            "hosts/www.example.org.html",
            "hosts/www.example.org.svg",
            "incidents.atom",
            "incidents/bd7dbe2e.html",
            "incidents/index.html",
            "index.html",
            "manifest.json",
            "site.css",
            "status.json",
        ]
    );
    let page = &files["index.html"];
    assert!(
        page.contains(">One incident affects 1 of 3 promises.</h1>"),
        "{page}"
    );
    assert!(page.contains("href=\"incidents/bd7dbe2e.html\""), "{page}");
    assert!(
        page.contains("href=\"hosts/www.example.org.html\""),
        "{page}"
    );
    let incident = &files["incidents/bd7dbe2e.html"];
    // A shell reads the URL of a command as it is.
    assert!(incident.contains("curl -sSIL &#x27;http:&#x2f;&#x2f;data.example.org&#x2f;b?a=1&amp;b=&#x27;\\&#x27;&#x27;2&#x27;\\&#x27;&#x27;&#x27;"), "{incident}");
    assert!(files["badge.svg"].contains("promises: 2 of 3 kept · 22 Nov"));
    assert!(
        files["incidents.atom"].contains("https://sky.example.org/incidents/bd7dbe2e.html")
            || files["incidents.atom"].contains("https:&#x2f;&#x2f;sky.example.org")
    );
}

#[test]
fn every_page_has_the_policy_and_nothing_that_it_forbids() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), &overview(EVIL), &format!("/{EVIL}/"));
    for (name, text) in files(folder.path()) {
        let extension = Path::new(&name).extension().and_then(OsStr::to_str);
        if extension == Some("html") {
            assert!(
                text.contains("default-src 'none'; style-src 'self'; script-src 'self'"),
                "{name}"
            );
            assert_eq!(text.matches("<script").count(), 1, "{name}: {text}");
            for forbidden in ["<img", " style=", "<style", "javascript:"] {
                assert!(!text.contains(forbidden), "{name}: {forbidden}: {text}");
            }
            assert!(!text.contains(" onerror=alert(1)>"), "{name}");
            for link in text
                .split("href=\"")
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap())
            {
                let is_relative = !link.contains(':') && !link.starts_with('/');
                let is_known =
                    link.starts_with("https:&#x2f;&#x2f;github.com&#x2f;example&#x2f;sky");
                assert!(is_relative || is_known, "{name}: {link}");
            }
        }
        if matches!(extension, Some("svg" | "atom")) {
            assert!(!text.contains("<script"), "{name}: {text}");
        }
    }
}

#[test]
fn a_second_build_writes_only_what_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    build(folder.path(), &overview, "/p/");
    let again = build(folder.path(), &overview, "/p/");
    assert_eq!((again.written, again.removed), (0, 0));

    // Another time of the build alone changes nothing.
    overview.now = at("2026-11-22T09:20:00Z");
    assert_eq!(build(folder.path(), &overview, "/p/").written, 0);

    // A host that is gone leaves no page.
    overview.hosts.pop();
    let fewer = build(folder.path(), &overview, "/p/");
    assert_eq!(fewer.removed, 2);
    assert!(!folder.path().join("hosts/www.example.org.html").exists());
}

#[test]
fn a_large_host_has_several_pages_within_300_kb() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    overview.hosts = vec![host("data.example.org", 2_500, 0)];
    build(folder.path(), &overview, "/dr3/spectra/spec-0272-51644-");
    let files = files(folder.path());
    let page = &files["hosts/data.example.org.html"];
    assert!(page.len() <= 300_000, "{} bytes", page.len());
    assert!(page.contains("href=\"data.example.org~3.html\""));
    assert!(files.contains_key("hosts/data.example.org~3.html"));
    assert_eq!(
        files["hosts/data.example.org~2.html"]
            .matches("<tr class=")
            .count(),
        1_000
    );
}

#[test]
fn an_empty_database_has_a_site_too() {
    let folder = tempfile::tempdir().unwrap();
    let empty = Overview {
        last_run: None,
        totals: Totals::default(),
        open: vec![],
        warnings: vec![],
        hosts: vec![],
        days: vec![],
        ..overview("plain")
    };
    build(folder.path(), &empty, "/");
    let page = fs::read_to_string(folder.path().join("index.html")).unwrap();
    assert!(page.contains(">No promises yet.</h1>"), "{page}");
    let badge = fs::read_to_string(folder.path().join("badge.svg")).unwrap();
    assert!(badge.contains("not checked yet"), "{badge}");
}
