//! The site as files: what it has, what it must never contain, and what a second build rewrites.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;
use urldb_files::Root;
use urldb_html::{
    Asset, ListedUrl, SiteBuilder, SiteChanges, SiteError, SiteSource, SiteTemplates, TEMPLATES,
};
use urldb_protocol::{
    Ack, AffectedUrl, Because, CaptureInfo, CertificateDates, Chapter, ChapterDetails, Contents,
    Counts, Day, DayCount, DayLevel, DeliveredIncident, EventKind, Evidence, FileCounts, Finding,
    HostOverview, ImpairedRun, Incident, IncidentEvents, IncidentOverview, MemberChange,
    MemberDifference, Notice, Observed, OriginInfo, Overview, Phase, ProjectInfo, Promised,
    RunCounts, RunSummary, Shown, State, TextDifference, UrlCondition, UrlDetails, UrlOverview,
    UrlUses,
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

fn url(host: &str, path: &str, condition: UrlCondition) -> UrlOverview {
    let is_kept = condition == UrlCondition::Kept;
    UrlOverview {
        url: format!("http://{host}{path}"),
        host: host.to_owned(),
        file: format!("urldb/{host}.yaml"),
        line: 2,
        uses: UrlUses::default(),
        path: path.to_owned(),
        request: None,
        variant: None,
        categories: vec![],
        promised: Promised {
            length: Some(35_674),
            sha256: Some("45".repeat(32)),
            ..Promised::default()
        },
        condition,
        state: Some(if is_kept { State::Ok } else { State::Changed }),
        reason: None,
        since: Some(at("2026-11-21T05:00:00Z")),
        pending: None,
        pending_since: None,
        known_since: Some(at("2026-01-01T05:00:00Z")),
        checked: Some(at("2026-11-22T05:14:51Z")),
        verified: Some(at("2026-11-20T05:14:51Z")),
        verified_since: is_kept.then(|| at("2026-01-01T05:00:00Z")),
        capture: None,
        is_archived: true,
        lost: None,
        stored: None,
        incident: (!is_kept).then(|| "bd7dbe2e".to_owned()),
        failures: None,
        flapping: false,
        muted: false,
    }
}

fn incident(host: &str, detail: &str) -> Incident {
    Incident {
        id: "bd7dbe2e".to_owned(),
        opened: Some(at("2026-11-21T05:08:51Z")),
        last_good: Some(at("2026-11-20T05:08:00Z")),
        runs: 2,
        host_urls: 2,
        urls: vec![AffectedUrl {
            file: format!("urldb/{host}.yaml"),
            line: 7,
            ..AffectedUrl::of(&format!("http://{host}/b?a=1&b='2'"))
        }],
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
                content_type: Some(shown(detail)),
                ..Observed::default()
            },
            detail: shown(detail),
            requests: 3,
            agreeing: 3,
            first_difference: Some(35_674),
            text: Some(TextDifference {
                added: 1,
                lines: vec![shown(" a"), shown(&format!("+{detail}"))],
                ..TextDifference::default()
            }),
            ..Evidence::default()
        },
        ..Incident::group(
            Phase::Unchanged,
            host.to_owned(),
            State::Changed,
            at("2026-11-21T05:08:51Z"),
        )
    }
}

fn counts(urls: u64, broken: u64) -> Counts {
    let counts = Counts {
        broken,
        ..Counts::default()
    };
    counts.of_all(urls)
}

fn host(name: &str, urls: u64, affected: u64) -> HostOverview {
    let first: Date = "2025-11-23".parse().unwrap();
    let days = first.series(jiff::Span::new().days(1)).take(365);
    HostOverview {
        host: name.to_owned(),
        file: format!("urldb/{name}.yaml"),
        counts: counts(urls, affected),
        in_incidents: affected,
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
        all_verified: Some(at("2026-11-20T05:14:51Z")),
        known_since: Some(at("2025-01-01T00:00:00Z")),
        certificate: None,
        incidents: if affected > 0 {
            vec!["bd7dbe2e".to_owned()]
        } else {
            vec![]
        },
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
        impaired: None,
        last_complete: None,
        since_complete: vec![],
        counts: counts(3, 1),
        files: FileCounts {
            all: 3,
            verified: 2,
            archived: 3,
            ages: [2, 1, 0, 0, 0],
        },
        deprecated: 1,
        held: BTreeMap::new(),
        notices: vec![],
        open: vec![IncidentOverview {
            incident: Incident {
                chapters: vec![opened(text)],
                ..incident(bad, text)
            },
            domain: bad.to_owned(),
            reason: None,
            delivered: DeliveredIncident::Whole,
            copies: None,
        }],
        closed: vec![],
        mistakes: vec![],
        warnings: vec![Finding::warning(
            "flapping",
            format!("http://www.example.org/{text}"),
            ("urldb/www.example.org.yaml", 2),
            text,
        )],
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
        future_run: None,
        used: BTreeMap::new(),
        waiting: vec![],
        archive_faults: vec![],
    }
}

/// URLs under a path, with histories in which texts from outside are `text`.
struct Source<'a> {
    path: &'a str,
    text: &'a str,
    events: IncidentEvents,
}

/// The events of a URL that flapped, and is broken since.
fn flapped(text: &str) -> Vec<Chapter> {
    let at = |time, event| chapter(time, event, None).chapter;
    vec![
        opened(text),
        at("2026-11-21T06:08:51Z", EventKind::Flapping),
        at("2026-11-22T05:08:51Z", EventKind::Steady),
    ]
}

/// The first event of the incident.
fn opened(text: &str) -> Chapter {
    Chapter {
        reason: Some(text.to_owned()),
        ..chapter("2026-11-21T05:08:51Z", EventKind::Opened, None).chapter
    }
}

/// Three chapters, in which texts from outside are `text`.
fn events(text: &str) -> IncidentEvents {
    let mut of_text = incident("data.example.org", text);
    of_text.evidence.observed.address = Some(text.to_owned());
    let chapter = |time: &str, event| ChapterDetails {
        chapter: Chapter {
            notice: None,
            ack: Some(Ack {
                until: at("2026-12-02T00:00:00Z"),
                because: text.to_owned(),
                by: text.to_owned(),
            }),
            run: format!("20261121T050851Z-{text}"),
            at: at(time),
            event,
            state: Some(State::Changed),
            reason: Some(text.to_owned()),
            redirect: Some(shown(text)),
            because: None,
            new: false,
            urls: 1,
            affected: 1,
            evidence: None,
        },
        evidence: vec![of_text.evidence.clone()],
    };
    let kinds = [
        EventKind::Opened,
        EventKind::Became,
        EventKind::Acked,
        EventKind::Merged,
    ];
    IncidentEvents {
        chapters: kinds
            .map(|kind| chapter("2026-11-21T05:08:51Z", kind))
            .to_vec(),
        left: vec![],
    }
}

impl SiteSource for Source<'_> {
    type Error = SiteError;

    fn commit_of(&self, _: &str) -> Option<String> {
        Some("0b9f3aa5d1f0c27c19e4d41f9e0a8c07a5e29be4".to_owned())
    }

    fn urls(&self, host: &HostOverview) -> Result<Vec<ListedUrl>, SiteError> {
        let count = usize::try_from(host.counts.urls).unwrap();
        let listed = |index: usize| {
            let condition = if index == 0 && host.counts.affected() > 0 {
                UrlCondition::Affected
            } else {
                UrlCondition::Kept
            };
            let url = url(&host.host, &format!("{}{index}", self.path), condition);
            ListedUrl {
                url,
                had_incident: condition == UrlCondition::Affected,
            }
        };
        Ok((0..count).map(listed).collect())
    }

    fn urls_with_incident(&self) -> usize {
        1
    }

    fn incident_events(&self, _: &IncidentOverview) -> Result<IncidentEvents, SiteError> {
        Ok(self.events.clone())
    }

    fn details(&self, url: &UrlOverview) -> Result<UrlDetails, SiteError> {
        let is_affected = url.condition == UrlCondition::Affected;
        Ok(UrlDetails {
            origins: vec![OriginInfo {
                uri: Shown::new("tls:example.org:443", Shown::LONGEST),
                text: Shown::new(self.text, Shown::LONGEST),
                since: "2026-11-21T05:09:18Z".parse().unwrap(),
            }],
            chapters: if is_affected {
                flapped(self.text)
            } else {
                vec![]
            },
            incidents: is_affected
                .then(|| "bd7dbe2e".to_owned())
                .into_iter()
                .collect(),
            captures: vec![CaptureInfo {
                date: format!("2026-11-21T05:09:18Z{}", self.text),
                record: Some(self.text.to_owned()),
                file: self.text.to_owned(),
                offset: Some(4_118_306),
                digest: format!("sha256:{}", self.text),
                is_revisit: false,
                status: Some(200),
            }],
            more_captures: 0,
            evidence: None,
        })
    }
}

fn build(folder: &Path, overview: &Overview, path: &str) -> SiteChanges {
    build_with(folder, overview, &plain(path))
}

/// A source of harmless texts.
fn plain(path: &str) -> Source<'_> {
    Source {
        path,
        text: "plain",
        events: IncidentEvents::default(),
    }
}

fn build_with(folder: &Path, overview: &Overview, source: &Source<'_>) -> SiteChanges {
    let site = templates();
    let builder = SiteBuilder::new(&site, &Root::new(folder, "the site")).unwrap();
    builder.build(overview, source).unwrap()
}

/// The page of a URL, relative to the folder.
fn url_pages(folder: &Path) -> Vec<String> {
    let names = files(folder).into_keys();
    names.filter(|name| name.starts_with("urls/")).collect()
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
    let names = files.keys().map(String::as_str);
    let names: Vec<&str> = names.filter(|name| !name.starts_with("urls/")).collect();
    assert_eq!(
        names,
        [
            ".nojekyll",
            "badge.json",
            "badge.svg",
            "hosts/data.example.org.atom",
            "hosts/data.example.org.html",
            "hosts/data.example.org.svg",
            "hosts/index.html",
            "hosts/www.example.org.html",
            "hosts/www.example.org.svg",
            "incidents.atom",
            "incidents/bd7dbe2e.html",
            "incidents/index.html",
            "index.html",
            "manifest.json",
            "run.js",
            "site.css",
            "status.json",
        ]
    );
    assert_eq!(url_pages(folder.path()).len(), 3);
    let page = &files["index.html"];
    assert!(page.contains(">URLs: 1 broken, 2 ok</h1>"), "{page}");
    assert!(page.contains("href=\"incidents/bd7dbe2e.html\""), "{page}");
    assert!(
        page.contains("href=\"hosts/www.example.org.html\""),
        "{page}"
    );
    assert!(page.contains("No run took place on 12 days.</p>"), "{page}");
    let incident = &files["incidents/bd7dbe2e.html"];
    // A shell reads the URL of a command as it is.
    assert!(incident.contains("urldb accept &#x27;http:&#x2f;&#x2f;data.example.org&#x2f;b?a=1&amp;b=&#x27;\\&#x27;&#x27;2&#x27;\\&#x27;&#x27;&#x27;"), "{incident}");
    assert!(files["badge.svg"].contains("URLs: 1 broken, 2 ok · 22 Nov"));
    let site = "https:&#x2f;&#x2f;sky.example.org&#x2f;";
    for (feed, own, page) in [
        (
            "incidents.atom",
            "incidents.atom",
            "incidents&#x2f;index.html",
        ),
        (
            "hosts/data.example.org.atom",
            "hosts&#x2f;data.example.org.atom",
            "hosts&#x2f;data.example.org.html",
        ),
    ] {
        let feed = &files[feed];
        assert!(
            feed.contains(&format!("<link rel=\"self\" href=\"{site}{own}\"/>")),
            "{feed}"
        );
        assert!(
            feed.contains(&format!("<link rel=\"alternate\" href=\"{site}{page}\"/>")),
            "{feed}"
        );
        let dates = |element: &str| feed.matches(&format!("<{element}>")).count();
        let entries = feed.matches("<entry>").count();
        assert_eq!(
            (dates("published"), dates("updated")),
            (entries, entries + 1)
        );
        assert!(!feed.contains("<updated>1970"), "{feed}");
    }
    assert!(
        files["incidents.atom"].contains("https://sky.example.org/incidents/bd7dbe2e.html")
            || files["incidents.atom"].contains("https:&#x2f;&#x2f;sky.example.org")
    );
}

#[test]
fn lists_say_the_cause_of_an_incident_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut gone = overview("");
    let incident = &mut gone.open[0].incident;
    incident.state = State::Gone;
    incident.evidence.detail = shown("answers 404 Not Found");
    incident.evidence.observed.status = Some(404);
    build(folder.path(), &gone, "/b");
    for (page, end) in [("index.html", "</li>"), ("incidents/index.html", "</tr>")] {
        let text = fs::read_to_string(folder.path().join(page)).unwrap();
        let (_, rest) = text.split_once("bd7dbe2e.html").unwrap();
        let (row, _) = rest.split_once(end).unwrap();
        assert_eq!(row.matches("answers 404 Not Found").count(), 1, "{row}");
        assert!(
            !row.contains("<p></p>") && !row.contains("<small></small>"),
            "{row}"
        );
    }
}

#[test]
fn one_of_a_kind_is_counted_in_the_singular() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    overview.hosts.truncate(1);
    overview.days.drain(..overview.days.len() - 1);
    overview.last_complete = overview.last_run.clone();
    overview.last_complete.as_mut().unwrap().due = 1;
    build(folder.path(), &overview, "/p/");
    let page = &files(folder.path())["index.html"];
    for text in [
        "<th scope=\"row\">1 host</th>",
        "Every promise was kept on 1 of 1 day.</p>",
        "; 1 URL was due, 2 as promised</dd>",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

#[test]
fn every_page_has_the_policy_and_nothing_that_it_forbids() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("/{EVIL}/");
    let source = Source {
        path: &path,
        text: EVIL,
        events: events(EVIL),
    };
    build_with(folder.path(), &overview(EVIL), &source);
    assert_eq!(url_pages(folder.path()).len(), 3);
    for (name, text) in files(folder.path()) {
        let extension = Path::new(&name).extension().and_then(OsStr::to_str);
        if extension == Some("html") {
            assert!(
                text.contains("default-src 'none'; style-src 'self'; script-src 'self'"),
                "{name}"
            );
            // Those of the site: one, or two on pages that do not know the last run.
            let own = text.matches("site.js\" defer></script>").count()
                + text.matches("run.js\" defer></script>").count();
            assert!((1..=2).contains(&own), "{name}: {text}");
            assert_eq!(text.matches("<script").count(), own, "{name}: {text}");
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

    // A run that finds everything as before leaves the pages of closed incidents as they are, and those of
    // hosts and URLs that it did not check.
    let pages = |folder: &Path| {
        let mut all = files(folder);
        let is_closed = |name: &str| name == "incidents/0c105ed0.html";
        all.retain(|name, _| name.starts_with("urls/") || is_closed(name));
        all
    };
    let mut closed = overview.open[0].clone();
    closed.incident.id = "0c105ed0".to_owned();
    closed.incident.closed = Some(at("2026-11-22T05:08:51Z"));
    overview.closed.push(closed);
    build(folder.path(), &overview, "/p/");
    let (before, last_run) = (pages(folder.path()), overview.last_run.clone());
    assert!(before.contains_key("incidents/0c105ed0.html"));
    overview.last_run.as_mut().unwrap().at = at("2026-11-23T05:14:51Z");
    assert!(build(folder.path(), &overview, "/p/").written > 0);
    assert_eq!(pages(folder.path()), before);
    // Nor does a check of the host touch the closed incident.
    overview.hosts[0].checked = Some(at("2026-11-23T05:14:51Z"));
    build(folder.path(), &overview, "/p/");
    assert_eq!(pages(folder.path()), before);
    overview.hosts[0].checked = Some(at("2026-11-22T05:14:51Z"));
    overview.last_run = last_run;
    build(folder.path(), &overview, "/p/");

    // Another time of the build alone changes nothing.
    overview.now = at("2026-11-22T09:20:00Z");
    assert_eq!(build(folder.path(), &overview, "/p/").written, 0);

    // A host that is gone leaves no page.
    overview.hosts.pop();
    let fewer = build(folder.path(), &overview, "/p/");
    assert_eq!(fewer.removed, 3);
    assert!(!folder.path().join("hosts/www.example.org.html").exists());
}

#[test]
fn a_large_host_has_several_pages_within_300_kb() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    overview.hosts = vec![host("data.example.org", 1_001, 0)];
    build(folder.path(), &overview, "/dr3/spectra/spec-0272-51644-");
    let files = files(folder.path());
    let page = &files["hosts/data.example.org.html"];
    assert!(page.len() <= 300_000, "{} bytes", page.len());
    assert!(page.contains("href=\"data.example.org~2.html\""));
    assert_eq!(page.matches("<tr class=").count(), 1_000);
    assert!(files.contains_key("hosts/data.example.org~2.html"));
    assert_eq!(
        files["hosts/data.example.org~2.html"]
            .matches("<tr class=")
            .count(),
        1
    );

    // Long paths fill a page sooner.
    let long = format!("/{}/", "<&/x>".repeat(40));
    let folder = tempfile::tempdir().unwrap();
    overview.hosts = vec![host("data.example.org", 1_000, 0)];
    build(folder.path(), &overview, &long);
    let pages = host_pages(folder.path());
    assert!(pages.len() > 2);
    for (name, text) in pages {
        assert!(text.len() <= 300_000, "{name}: {} bytes", text.len());
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    /// Labels that look like the extensions and the page numbers of the site.
    #[test]
    fn each_host_has_files_of_its_own(names in proptest::collection::hash_set(
        "((a|\\.html|html|json|~2|\\.|~|B|ü)\\.?){1,4}", 2..12,
    )) {
        let likes = names.iter().flat_map(|name| {
            ["html", "atom", "svg"].map(|label| name.replace("html", label))
        });
        let names: std::collections::BTreeSet<String> = likes.collect();
        let folder = tempfile::tempdir().unwrap();
        let mut overview = overview("plain");
        overview.hosts = names.iter().map(|name| host(name, 1, 1)).collect();
        let like = overview.open[0].clone();
        let incident = |(number, name): (usize, &String)| {
            let mut incident = like.clone();
            incident.domain.clone_from(name);
            incident.incident.id = format!("{number:08x}");
            incident
        };
        overview.open = names.iter().enumerate().map(incident).collect();
        overview.closed.clear();
        build(folder.path(), &overview, "/p/");
        let files = host_pages(folder.path());
        // A page, a badge and a feed; and the list of all.
        proptest::prop_assert_eq!(files.len(), 3 * names.len() + 1, "{:?}", files.keys());
        let list = &files["hosts/index.html"];
        for name in &names {
            let card = format!(">{}</a>", minijinja::HtmlEscape(name));
            let cards = list.lines().filter(|line| line.starts_with("<li data-host>") && line.contains(&card));
            proptest::prop_assert_eq!(cards.count(), 1, "{}: {}", name, list);
        }
    }
}

/// The pages of hosts.
fn host_pages(folder: &Path) -> BTreeMap<String, String> {
    let mut pages = files(folder);
    pages.retain(|name, _| name.starts_with("hosts/"));
    pages
}

#[test]
fn an_empty_database_has_a_site_too() {
    let folder = tempfile::tempdir().unwrap();
    let empty = Overview {
        last_run: None,
        counts: Counts::default(),
        open: vec![],
        notices: vec![],
        warnings: vec![],
        hosts: vec![],
        days: vec![],
        ..overview("plain")
    };
    build(folder.path(), &empty, "/");
    let page = fs::read_to_string(folder.path().join("index.html")).unwrap();
    assert!(page.contains(">URLs: 0 ok</h1>"), "{page}");
    let badge = fs::read_to_string(folder.path().join("badge.svg")).unwrap();
    assert!(badge.contains("not checked yet"), "{badge}");
}

#[test]
fn the_page_of_a_url_has_its_promise_and_history() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), &overview("plain"), "/p/");
    let files = files(folder.path());
    let page = |path: &str| {
        let mut pages = files.iter().filter(|(name, _)| name.starts_with("urls/"));
        let url = path.replace('/', "&#x2f;");
        let found = pages.find(|(_, text)| text.contains(&format!("{url}</code>")));
        found.unwrap()
    };
    let (name, kept) = page("data.example.org/p/1");
    for text in [
        ">The promised 35,674 bytes since 21 November 2026.</h1>",
        "This URL was last checked on <time datetime=\"2026-11-22T05:14:51Z\" data-rel>",
        "Verified byte for byte in each run since <time datetime=\"2026-01-01\">",
        ">urldb&#x2f;data.example.org.yaml, line 2</a>",
        "blob&#x2f;0b9f3aa5d1f0c27c19e4d41f9e0a8c07a5e29be4&#x2f;urldb&#x2f;data.example.org.yaml#L2",
        "curl -sSL http:&#x2f;&#x2f;data.example.org&#x2f;p&#x2f;1 | sha256sum",
        "<td>2026-11-21 05:09</td><td>200</td>",
    ] {
        assert!(kept.contains(text), "{text}: {kept}");
    }
    let host = &files["hosts/data.example.org.html"];
    assert!(host.contains(&format!("href=\"../{name}\"")), "{host}");
    let (_, changed) = page("data.example.org/p/0");
    assert!(
        changed.contains("<td>2026-11-21</td><td><span class=\"g b\"></span>changed</td>"),
        "{changed}"
    );
    assert!(changed.contains("incidents/bd7dbe2e.html"), "{changed}");
    let now = "<td>2026-11-22</td><td><span class=\"g b\"></span>broken</td>";
    assert!(changed.contains(now), "{changed}");
}

#[test]
fn many_hosts_have_pages_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    // The affected hosts, which come first, and a hundred others; 250 at most.
    for (kept, rows, more) in [(599, 101, 499), (200, 250, 350)] {
        overview.hosts = (0..600)
            .map(|number| {
                let name = format!("h{number:03}.example.org");
                host(&name, 1, u64::from(number >= kept))
            })
            .collect();
        build(folder.path(), &overview, "/p/");
        let files = files(folder.path());
        let index = &files["index.html"];
        assert_eq!(
            index.matches("href=\"hosts/").count(),
            rows + 4,
            "a warning, the list of all hosts, and the rows"
        );
        let list = format!("And {more} more: <a href=\"hosts/index.html\">");
        assert!(index.contains(&list), "{index}");
        assert!(index.len() <= 300_000, "{} bytes", index.len());
        let page = format!("h{kept:03}.example.org.html");
        assert!(index.contains(&format!("href=\"hosts/{page}\"")));
        let list = &files["hosts/index.html"];
        assert!(list.contains(&format!("href=\"{page}\"")));
        assert_eq!(list.matches("<li data-host>").count(), 600);
        assert!(list.len() <= 300_000, "{} bytes", list.len());
        assert!(!files.contains_key("hosts/names.js"));
    }
}

#[test]
fn the_list_of_hosts_has_letters() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    let names = ["192.0.2.1", "a.example", "b.example", "index", "ü.example"];
    overview.hosts = names.map(|name| host(name, 1, 0)).to_vec();
    // Few hosts need none.
    build(folder.path(), &overview, "/p/");
    let few = &files(folder.path())["hosts/index.html"];
    assert_eq!(few.matches("<li data-host>").count(), 5, "{few}");
    assert!(!few.contains("<h3") && !few.contains("First letters"));
    let more = (0..40).map(|number| host(&format!("m{number:02}.example"), 1, 0));
    overview.hosts.splice(4..4, more);
    build(folder.path(), &overview, "/p/");
    let files = files(folder.path());
    let letters: Vec<String> = files["hosts/index.html"]
        .lines()
        .filter(|line| line.contains("class=\"letter\"") || line.starts_with("<li data-host>"))
        .map(text_of)
        .filter(|text| !text.starts_with('m') || text.len() == 1)
        .collect();
    let expected = [
        "a",
        "a.example 1 ok",
        "b",
        "b.example 1 ok",
        "i",
        "index 1 ok",
        "m",
        "0–9",
        "192.0.2.1 1 ok",
        "others",
        "ü.example 1 ok",
    ];
    assert_eq!(letters, expected);
    let list = &files["hosts/index.html"];
    assert!(
        list.contains("<li><a href=\"#digits\">0–9</a></li>"),
        "{list}"
    );
    // A host that is named like the list has a page of its own.
    assert!(text_of(list).contains("All hosts 45"), "{list}");
    let is_of_index = |page: &&String| page.contains("<p class=\"kicker\">index</p>");
    assert_eq!(files.values().filter(is_of_index).count(), 1);
    // The page has the names of all hosts itself.
    assert!(!list.contains("names.js"), "{list}");
}

#[test]
fn the_search_over_many_hosts_has_each_host_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    // Of the second letter, more than a page can name.
    let name = |number: usize| match number {
        0..100 => format!("a{number:04}.example.org"),
        100..1_650 => format!("h{number:04}.example.org"),
        1_650..1_700 => format!("{number}.example.org"),
        _ => format!("ü{number}<b>\"&.example.org"),
    };
    overview.hosts = (0..1_710)
        .map(|number| host(&name(number), 1, u64::from(number == 7)))
        .collect();
    build(folder.path(), &overview, "/p/");
    let files = files(folder.path());
    let lists: BTreeMap<_, _> = files
        .iter()
        .filter(|(name, _)| name.starts_with("hosts/index"))
        .map(|(name, text)| (name.as_str(), text.matches("<li data-host>").count()))
        .collect();
    let expected = [
        ("hosts/index.html", 0),
        ("hosts/index~a.html", 100),
        ("hosts/index~digits.html", 50),
        ("hosts/index~h.html", 1_500),
        ("hosts/index~h~2.html", 50),
        ("hosts/index~others.html", 10),
    ];
    assert_eq!(lists, BTreeMap::from(expected));
    for name in lists.keys() {
        let page = &files[*name];
        assert!(page.len() <= 300_000, "{name}: {} bytes", page.len());
        assert!(page.contains("data-names=\"names.js\""), "{name}");
        assert!(!page.contains("<b>"), "{name}");
    }
    let index = text_of(&files["hosts/index.html"]);
    assert!(
        index.contains("a 100 hosts, 1 with broken promises"),
        "{index}"
    );
    assert!(
        files["hosts/index~h.html"]
            .contains("<a href=\"index~h~2.html\">from h1600.example.org</a>")
    );
    // The names, as the script of the search reads them: each page exists.
    let script = &files["hosts/names.js"];
    let names = script
        .strip_prefix("\"use strict\";\nself.urldbHosts = ")
        .unwrap();
    let names: Vec<serde_json::Value> =
        serde_json::from_str(names.trim_end_matches(";\n")).unwrap();
    let names = names.iter().map(|entry| match entry.as_str() {
        Some(name) => (name.to_owned(), format!("{name}.html")),
        None => (
            entry[0].as_str().unwrap().to_owned(),
            entry[1].as_str().unwrap().to_owned(),
        ),
    });
    let names: Vec<_> = names.collect();
    let all: std::collections::BTreeSet<_> = names.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!((names.len(), all.len()), (1_710, 1_710));
    assert!(all.contains("ü1705<b>\"&.example.org"));
    for (name, page) in &names {
        let page = &files[&format!("hosts/{page}")];
        assert!(
            text_of(page).contains(&minijinja::HtmlEscape(name).to_string()),
            "{name}"
        );
    }
}

#[test]
fn templates_are_rendered_once_before_a_site_is_built() {
    assert!(templates().check().is_ok());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../templates");
    for broken in TEMPLATES {
        let sources = TEMPLATES.map(|name| {
            let source = fs::read_to_string(root.join(name)).unwrap();
            if name == broken {
                // Templates that extend another print only what is in a block.
                let is_in_block = source.starts_with("{% extends");
                let end = source.rfind("{% endblock %}").filter(|_| is_in_block);
                let at = end.unwrap_or(source.len());
                format!("{}{{{{ no_such_name }}}}{}", &source[..at], &source[at..])
            } else {
                source
            }
        });
        let error = SiteTemplates::new(sources, vec![]).unwrap().check();
        let error = error.unwrap_err().to_string();
        let begin = format!("template {broken}, line ");
        assert!(error.starts_with(&begin), "{broken}: {error}");
    }
}

/// A chapter of one URL.
fn chapter(time: &str, event: EventKind, because: Option<Because>) -> ChapterDetails {
    let is_cause = matches!(event, EventKind::Opened | EventKind::Became);
    let mut evidence = incident("data.example.org", "").evidence;
    evidence.detail = shown("");
    let state = match event {
        EventKind::Became => State::Gone,
        _ => State::Changed,
    };
    if event == EventKind::Became {
        evidence.observed = Observed {
            status: Some(404),
            ..Observed::default()
        };
        evidence.text = None;
        evidence.first_difference = None;
    }
    ChapterDetails {
        chapter: Chapter {
            ack: None,
            notice: None,
            run: format!("{}-0123abcd", time.replace(['-', ':'], "")),
            at: at(time),
            event,
            state: is_cause.then_some(state),
            reason: None,
            redirect: None,
            because,
            new: false,
            urls: 1,
            affected: 1,
            evidence: is_cause.then(|| evidence.clone()),
        },
        evidence: is_cause.then_some(evidence).into_iter().collect(),
    }
}

/// The text of a page without tags, in which spaces are one space.
fn text_of(page: &str) -> String {
    let tags = page.split('<').filter_map(|part| part.split_once('>'));
    let text: String = tags.map(|(_, text)| text).collect::<Vec<_>>().join(" ");
    let text = text.replace("&#x2f;", "/").replace('\u{a0}', " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_run_without_results_leaves_nothing_known() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("x");
    overview.impaired = Some(ImpairedRun {
        at: at("2026-11-23T05:02:11Z"),
        due: 1_174,
        results: 0,
    });
    // A later run over this host alone has seen it.
    overview.hosts[1].checked = Some(at("2026-11-23T07:00:00Z"));
    build(folder.path(), &overview, "/a");
    let files = files(folder.path());
    let page = &files["index.html"];
    assert!(page.contains("<html lang=\"en\" data-run=\"2026-11-23T05:02:11Z\""));
    let text = text_of(page);
    for sentence in [
        "None of 1,174 URLs could be checked on 23 November.",
        "The last results before are of 22 November 2026 .",
        "Kept not known before: 2 of 3 promises",
        "As of 22 November; not checked since.",
        "23 Nov None of 1,174 URLs could be checked.",
    ] {
        assert!(text.contains(sentence), "{sentence}\n{text}");
    }
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.contains("data-host>"))
        .collect();
    assert_eq!(rows.len(), 2);
    for row in &rows {
        let is_impaired = !row.contains(&format!(">{}</a>", overview.hosts[1].host));
        assert_eq!(row.contains("class=\"o\""), is_impaired, "{row}");
        assert_eq!(row.contains(">not known</td>"), is_impaired, "{row}");
    }
    assert!(files["badge.svg"].contains("URLs: not known · 23 Nov"));
    assert!(
        files["hosts/index.html"].contains("None of 1,174 URLs could be checked on 23 November")
    );

    overview.impaired.as_mut().unwrap().results = 312;
    build(folder.path(), &overview, "/a");
    let text = text_of(&self::files(folder.path())["index.html"]);
    assert!(text.contains("Only 312 of 1,174 URLs could be checked on 23 November."));
    assert!(!text.contains("not checked since"));
}

#[test]
fn a_closed_incident_has_its_history() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    let mut it = overview.open.remove(0);
    it.incident.closed = Some(at("2026-11-22T05:08:51Z"));
    it.incident.phase = Phase::Closed;
    it.incident.state = State::Gone;
    it.incident.urls[0].left = Some(Because::Accepted);
    it.incident.evidence = Evidence::default();
    overview.closed.push(it);
    let chapters = [
        chapter("2026-11-20T05:08:51Z", EventKind::Opened, None),
        chapter("2026-11-21T05:08:51Z", EventKind::Became, None),
        chapter(
            "2026-11-22T05:08:51Z",
            EventKind::Shrunk,
            Some(Because::Accepted),
        ),
        chapter("2026-11-22T05:08:51Z", EventKind::Closed, None),
    ];
    let events = IncidentEvents {
        chapters: chapters.to_vec(),
        left: vec![(Because::Accepted, 1)],
    };
    let source = Source {
        path: "/b",
        text: "plain",
        events,
    };
    build_with(folder.path(), &overview, &source);
    let page = &files(folder.path())["incidents/bd7dbe2e.html"];
    let text = text_of(page);
    for sentence in [
        "closed: http://data.example.org/",
        "1 broken: grew by 364 bytes",
        "1 broken: answers 404 Not Found",
        "1 accepted, ",
        "= 0 recovered + 1 accepted",
        "promised 35,674 bytes, SHA-256 454545454545",
        "3 of 3 requests got this answer",
    ] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
    for word in ["Closed:", "recovered again", "What to do"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    assert_eq!(page.matches("<article class=\"ev\">").count(), 2);
}

/// A chapter after which so many URLs are affected.
fn counted(time: &str, event: EventKind, (urls, affected): (u64, u64)) -> ChapterDetails {
    let because = (event == EventKind::Shrunk).then_some(Because::Recovered);
    let mut details = chapter(time, event, because);
    details.chapter.urls = urls;
    details.chapter.affected = affected;
    if event == EventKind::Grown {
        details.chapter.state = Some(State::Changed);
    }
    details
}

#[test]
fn growth_in_several_runs_has_a_bar_for_each_run() {
    let folder = tempfile::tempdir().unwrap();
    let time = |day: u64| format!("2026-11-{day}T05:08:51Z");
    let mut chapters = vec![counted(&time(15), EventKind::Opened, (4, 4))];
    let grown = (1..8).map(|run| counted(&time(15 + run), EventKind::Grown, (4, 4 * run + 4)));
    chapters.extend(grown);
    let source = Source {
        events: IncidentEvents {
            chapters,
            left: vec![],
        },
        ..plain("/p/")
    };
    build_with(folder.path(), &overview("plain"), &source);
    let page = &files(folder.path())["incidents/bd7dbe2e.html"];
    let text = text_of(page);
    assert!(text.contains("4 more, 32 broken"), "{text}");
    assert_eq!(page.matches("<div class=\"ch\">").count(), 8);
    let bars = "aria-label=\"Broken URLs: 4 on 15 Nov, 8 on 16 Nov, 12 on 17 Nov, 16 on 18 Nov, 20 on 19 Nov, 24 on 20 Nov, 28 on 21 Nov, 32 on 22 Nov.\"";
    assert!(page.contains(bars), "{page}");
}

#[test]
fn a_changed_archive_is_told_by_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let page = |name: &str, differing| {
        let mut overview = overview("plain");
        let member = MemberDifference {
            name: shown(name),
            change: MemberChange::Changed,
            text: None,
        };
        let evidence = &mut overview.open[0].incident.evidence;
        evidence.text = None;
        evidence.contents = Some(Contents {
            files: 132,
            differing,
            members: vec![member; usize::try_from(differing).unwrap()],
            ..Contents::default()
        });
        build(folder.path(), &overview, "/p/");
        let pages = files(folder.path());
        pages["incidents/bd7dbe2e.html"].clone()
    };
    let incident = text_of(&page("", 0));
    let sentence = "contents repacked: the 132 files in it are the same";
    assert!(incident.contains(sentence), "{incident}");
    let html = page(EVIL, 1);
    assert!(
        text_of(&html).contains("1 of 132 files differs: x"),
        "{html}"
    );
    assert!(
        !html.contains("<script>") && !html.contains("<img"),
        "{html}"
    );
}

#[test]
fn an_incident_has_commands_for_each_of_its_states() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    let incident = &mut overview.open[0].incident;
    let url = |path: &str, state| AffectedUrl {
        file: "urldb/data.example.org.yaml".to_owned(),
        state,
        since: Some(at("2026-11-21T05:08:51Z")),
        ..AffectedUrl::of(&format!("http://data.example.org/{path}"))
    };
    incident.host_urls = 9;
    incident.urls = vec![
        url("t/new", None),
        url("t/gone", Some(State::Gone)),
        url("t/gone2", Some(State::Gone)),
    ];
    incident.evidence.url = incident.urls[0].url.clone();
    let page = |overview: &Overview| {
        build(folder.path(), overview, "/p/");
        text_of(&files(folder.path())["incidents/bd7dbe2e.html"])
    };
    let text = page(&overview);
    for command in [
        "To accept the new files: urldb accept --all -d data.example.org --path-prefix /t/",
        "To check them again: urldb check -d data.example.org --path-prefix /t/",
        "To stop reminders until then: urldb ack bd7dbe2e --until 2026-12-06 --because ",
        "Changed, broken first on 21 November 2026 1 http://data.example.org/ t/ new ",
        "Gone, broken first on 21 November 2026 2 http://data.example.org/ t/ gone ",
    ] {
        assert!(text.contains(command), "{command}: {text}");
    }
    assert_eq!(
        text.matches("/t/gone2").count(),
        0,
        "an example is enough: {text}"
    );
    // The answers of a flapping URL may differ.
    overview.open[0].incident.urls.truncate(1);
    overview.open[0].incident.reason = Some("unstable".to_owned());
    overview.open[0].reason = overview.open[0].incident.reason.clone();
    let text = page(&overview);
    let command = "To compare several answers: for i in 1 2 3 4 5 6; do curl -sSL http://data.example.org/t/new | cksum; done";
    assert!(text.contains(command), "{text}");
    assert!(text.contains("To check it again: urldb check http://data.example.org/t/new"));
}

#[test]
fn an_acknowledged_incident_says_when_reminders_begin_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    overview.open[0].incident.ack = Some(Ack {
        until: at("2026-12-02T00:00:00Z"),
        because: "the disk moves".to_owned(),
        by: "ada".to_owned(),
    });
    let page = |overview: &Overview| {
        build(folder.path(), overview, "/p/");
        text_of(&files(folder.path())["incidents/bd7dbe2e.html"])
    };
    overview.open[0].incident.urls[0].acked = true;
    let text = page(&overview);
    let sentence = "Acknowledged by ada until 2 December 2026: “the disk moves”. The next reminder comes with the first run from 2 December 2026 on. New URLs and other causes are still news.";
    assert!(text.contains(sentence), "{text}");
    let urls = &mut overview.open[0].incident.urls;
    urls.push(AffectedUrl::of("http://data.example.org/later"));
    let text = page(&overview);
    let sentence = "One URL joined later, so reminders of it come before 2 December 2026 too.";
    assert!(text.contains(sentence), "{text}");
    // A muted URL is in no reminder.
    overview.open[0].incident.urls[1].muted = true;
    assert!(page(&overview).contains("The next reminder comes"));
    overview.open[0].incident.urls[0].muted = true;
    let text = page(&overview);
    assert!(text.contains("Acknowledged by ada"), "{text}");
    assert!(!text.contains("reminder"), "{text}");
}

#[test]
fn a_closed_incident_says_which_part_ended_when() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    let mut it = overview.open.remove(0);
    let closed = "2026-11-06T05:10:01Z";
    it.incident.closed = Some(at(closed));
    it.incident.phase = Phase::Closed;
    it.incident.urls = (0..40)
        .map(|number| AffectedUrl {
            left: Some(Because::Recovered),
            until: Some(at(closed)),
            ..AffectedUrl::of(&format!("http://data.example.org/{number}"))
        })
        .collect();
    overview.closed.push(it);
    let chapters = vec![
        counted("2026-11-02T05:10:03Z", EventKind::Opened, (40, 40)),
        counted("2026-11-04T05:10:01Z", EventKind::Shrunk, (20, 20)),
        counted(closed, EventKind::Shrunk, (20, 0)),
        counted(closed, EventKind::Closed, (0, 0)),
    ];
    let build = |chapters: &[ChapterDetails]| {
        let source = Source {
            events: IncidentEvents {
                chapters: chapters.to_vec(),
                left: vec![(Because::Recovered, 40)],
            },
            ..plain("/p/")
        };
        build_with(folder.path(), &overview, &source);
        text_of(&files(folder.path())["incidents/bd7dbe2e.html"])
    };
    let text = build(&chapters);
    for sentence in [
        "recovered: data.example.org (40 URLs)",
        "20 recovered, 20 broken",
        "20 recovered, 0 broken",
        "As promised again on 6 November 2026 40 http://data.example.org/ 0 ",
        "Since then If one of these URLs breaks",
    ] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
    assert!(!text.contains("urldb ack"), "{text}");
}

#[test]
fn an_incident_has_one_row_however_often_it_changed() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    let mut later = overview.open[0].clone();
    later.incident.id = "0a7e0a7e".to_owned();
    later.incident.since = at("2026-11-22T05:00:00Z");
    later.incident.urls[0].flapping = true;
    overview.counts.flapping = 1;
    overview.counts = overview.counts.of_all(3);
    overview.hosts[0].counts = overview.counts.of_all(2);
    overview.open.push(later);
    build_with(
        folder.path(),
        &overview,
        &Source {
            path: "/p/",
            text: "plain",
            events: IncidentEvents::default(),
        },
    );
    let files = files(folder.path());
    let index = &files["index.html"];
    let text = text_of(index);
    for part in [
        "URLs: 1 broken, 1 flapping, 1 ok",
        "Two incidents are open.",
        "1 of 3 promises",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (_, list) = index.split_once("<ol class=\"thirty\">").unwrap();
    let (list, _) = list.split_once("</ol>").unwrap();
    assert_eq!(list.matches("bd7dbe2e.html").count(), 1, "{list}");
    // The latest date that is shown comes first.
    let all = &files["incidents/index.html"];
    assert!(
        all.find("0a7e0a7e.html") < all.find("bd7dbe2e.html"),
        "{all}"
    );
    let (_, open) = index.split_once("<ol class=\"inc\">").unwrap();
    assert!(
        open.find("0a7e0a7e.html") < open.find("bd7dbe2e.html"),
        "{open}"
    );
    assert!(open.contains("<p class=\"num w\">"), "{open}");
}

#[test]
fn the_pages_of_many_kept_urls_have_the_week_of_their_last_check() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    overview.files.all = 5_001;
    build(folder.path(), &overview, "/p/");
    let pages: Vec<String> = files(folder.path())
        .into_iter()
        .filter(|(name, _)| name.starts_with("urls/"))
        .map(|(_, text)| text)
        .collect();
    let week = "Last checked in the week from <time datetime=\"2026-11-16\">";
    assert_eq!(pages.iter().filter(|page| page.contains(week)).count(), 2);
    // A broken URL has its own last check on any site.
    let exact = "last checked on <time datetime=\"2026-11-22T05:14:51Z\"";
    assert_eq!(pages.iter().filter(|page| page.contains(exact)).count(), 1);
    assert!(
        pages
            .iter()
            .all(|page| !page.contains("has the date of the last check"))
    );
}

#[test]
fn feeds_say_the_sentences_of_pages_without_muted_urls() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    let it = overview.open[0].clone();
    // One incident whose URLs are muted, one with another URL that is not, and one that is closed.
    let mut muted = it.clone();
    muted.incident.id = "0aaaaaaa".to_owned();
    muted.delivered = DeliveredIncident::Nothing;
    let mut part = it.clone();
    part.incident.id = "0bbbbbbb".to_owned();
    part.delivered = DeliveredIncident::Part(Box::new(part.incident.clone()));
    part.incident.urls.push(AffectedUrl {
        muted: true,
        ..AffectedUrl::of("http://data.example.org/secret")
    });
    let mut closed = it;
    closed.incident.id = "0ccccccc".to_owned();
    closed.incident.closed = Some(at("2026-11-22T05:08:51Z"));
    closed.incident.opened = Some(at("2026-11-20T05:08:51Z"));
    closed.incident.urls[0].left = Some(Because::Recovered);
    closed.incident.chapters = [
        ("2026-11-20T05:08:51Z", EventKind::Opened, None),
        ("2026-11-21T05:08:51Z", EventKind::Acked, None),
        (
            "2026-11-22T05:08:51Z",
            EventKind::Shrunk,
            Some(Because::Recovered),
        ),
        ("2026-11-22T05:08:51Z", EventKind::Closed, None),
    ]
    .map(|(time, kind, because)| chapter(time, kind, because).chapter)
    .to_vec();
    closed.incident.chapters[1].ack = Some(Ack {
        until: at("2026-12-02T00:00:00Z"),
        because: "the disk moves".to_owned(),
        by: "ada".to_owned(),
    });
    overview.open = vec![muted, part];
    overview.closed = vec![closed];
    build(folder.path(), &overview, "/p/");
    let feed = &files(folder.path())["incidents.atom"];
    assert!(!feed.contains("0aaaaaaa"), "{feed}");
    assert_eq!(feed.matches("<entry>").count(), 2);
    let entry = |id: &str| {
        let entries = feed.split("<entry>").skip(1);
        let mut entries = entries.filter(|entry| entry.contains(&format!(":{id}</id>")));
        entries.next().unwrap().replace("&#x2f;", "/")
    };
    let part = entry("0bbbbbbb");
    assert!(
        !part.contains("2 of") && part.contains(" grew by 364"),
        "{part}"
    );
    let closed = entry("0ccccccc");
    for text in [
        "<title>recovered: http://data.example.org/b?a=1",
        "<published>2026-11-20T05:08:51Z</published>",
        "<updated>2026-11-22T05:08:51Z</updated>",
        "acknowledged by ada until 2026-12-02: the disk moves. 20 November 2026: 1 broken: grew by 364 bytes.</summary>",
    ] {
        assert!(closed.contains(text), "{text}: {closed}");
    }
    assert!(
        !feed.contains("Open:") && !feed.contains("Closed:"),
        "{feed}"
    );
    let page = &files(folder.path())["incidents/0bbbbbbb.html"];
    assert!(page.contains("1 of them muted"), "{page}");
}

#[test]
fn each_page_links_to_the_feed() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), &overview("plain"), "/p/");
    let files = files(folder.path());
    assert!(files["index.html"].contains("id=\"subscribe\""));
    for (name, page) in files.iter().filter(|(_, text)| text.contains("<!doctype")) {
        let depth = name.matches('/').count();
        let link = format!(
            "<a class=\"sub\" href=\"{}index.html#subscribe\">",
            "..&#x2f;".repeat(depth)
        );
        assert!(page.contains(&link), "{name}: {page}");
    }
}

fn shown(text: &str) -> Shown {
    Shown::new(text, Shown::LONGEST)
}

/// A notice is a warning and no incident: it has a page with chapters, and no URL is broken.
#[test]
fn a_notice_is_counted_apart_and_has_a_page_without_urls() {
    let folder = tempfile::tempdir().unwrap();
    let mut overview = overview("plain");
    let mut it = overview.open.remove(0);
    let dates = CertificateDates {
        not_before: at("2026-08-22T04:00:00Z"),
        not_after: at("2026-11-25T04:00:00Z"),
        issuer: shown("Example CA R3"),
        authority: None,
    };
    let notice = |hours: u64| Notice {
        file: "urldb/data.example.org.yaml".to_owned(),
        endangered: Some(2),
        certificate: Some(dates.clone()),
        within_hours: Some(hours),
        ..Notice::default()
    };
    it.incident.urls.clear();
    it.incident.state = State::Ok;
    it.incident.evidence = Evidence::default();
    it.incident.notice = Some(notice(72));
    overview.notices.push(it);
    overview.counts = counts(3, 0);
    let event = |time: &str, event, hours| {
        let mut details = chapter(time, event, None);
        details.chapter.notice = Some(notice(hours));
        details.chapter.state = None;
        details.evidence.clear();
        details
    };
    let chapters = vec![
        event("2026-11-12T05:08:51Z", EventKind::Opened, 336),
        event("2026-11-22T05:08:51Z", EventKind::Noticed, 72),
    ];
    let source = Source {
        path: "/b",
        text: "plain",
        events: IncidentEvents {
            chapters,
            left: vec![],
        },
    };
    build_with(folder.path(), &overview, &source);
    let files = files(folder.path());
    let index = text_of(&files["index.html"]);
    let title = "data.example.org has a certificate that ends 2026-11-25 (2 of 2 URLs)";
    assert!(index.contains("URLs: 3 ok"), "{index}");
    assert!(index.contains(&format!("Warnings {title}")), "{index}");
    assert!(!index.contains("incident is open"), "{index}");
    let page = &files["incidents/bd7dbe2e.html"];
    let text = text_of(page);
    for sentence in [
        title,
        "less than 14 days left",
        "less than 3 days left",
        "25 November 2026 issued by Example CA R3",
        "urldb check -d data.example.org",
    ] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
    assert!(
        !page.contains("id=\"urls\"") && !text.contains("roken"),
        "{text}"
    );
}
