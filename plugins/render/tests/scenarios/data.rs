//! The reports of the scenarios, with invented data.

use std::collections::BTreeMap;

use jiff::{Timestamp, ToSpan};
use urldb_protocol::{
    AffectedUrl, Because, CertificateDates, Contents, Counts, Coverage, Envelope, Evidence,
    Finding, Incident, MemberChange, MemberDifference, Mistake, Observed, PROTOCOL, Phase,
    Promised, RunInfo, Severity, Shown, State, Summary, TextDifference,
};

pub(crate) fn at(text: &str) -> Timestamp {
    format!("{}:00Z", text.replace(' ', "T")).parse().unwrap()
}

pub(crate) fn shown(text: &str) -> Shown {
    Shown::new(text, Shown::LONGEST)
}

/// A report of the database with 1,247 URLs in which nothing is wrong.
pub(crate) fn report(run: &str, started: &str, seconds: u64) -> Envelope {
    let started = at(started);
    let finished = started + i64::try_from(seconds).unwrap().seconds();
    Envelope {
        protocol: PROTOCOL,
        message: None,
        run: RunInfo {
            id: run.to_owned(),
            started,
            finished,
            version: "0.1.0".to_owned(),
            repository: "sky-urls".to_owned(),
            project: "sky-urls".to_owned(),
            project_url: Some("https://github.com/example/sky-urls".to_owned()),
            site_url: Some("https://sky.example.org/status".to_owned()),
            commit: Some("3f2c1ab".to_owned()),
            selection: None,
            interrupted: false,
            test: false,
        },
        incidents: Vec::new(),
        explanations: Vec::new(),
        findings: Vec::new(),
        mistakes: Vec::new(),
        fixed: Vec::new(),
        tells: None,
        delay: None,
        next_reminder: None,
        week: None,
        archived: Vec::new(),
        summary: Summary {
            states: BTreeMap::from([(State::Ok, 1_247)]),
            coverage: Coverage {
                due: 1_247,
                checked: 1_247,
                static_due: 1_180,
                static_verified: 1_180,
                bytes: 2_310_000_000,
                milliseconds: seconds * 1_000,
                ..Coverage::default()
            },
            counts: Counts::default().of_all(1_247),
            audience: None,
        },
    }
}

pub(crate) fn url(url: &str, file: &str, line: usize) -> AffectedUrl {
    AffectedUrl {
        file: format!("urldb/{file}"),
        line,
        ..AffectedUrl::of(url)
    }
}

pub(crate) fn incident(id: &str, phase: Phase, host: &str, state: State, since: &str) -> Incident {
    Incident {
        id: id.to_owned(),
        ..Incident::group(phase, host.to_owned(), state, at(since))
    }
}

/// Closes an incident: all its URLs leave it in one run.
pub(crate) fn close(incident: &mut Incident, because: Because, run: Timestamp) {
    incident.phase = Phase::Closed;
    incident.closed = Some(run);
    for url in &mut incident.urls {
        url.left = Some(because);
        url.since = Some(incident.since);
        url.until = Some(run);
    }
}

/// Adds an incident, and a finding for each of its URLs that was asked.
pub(crate) fn add(envelope: &mut Envelope, incident: Incident, reason: Option<&str>) {
    let is_open = incident.phase != Phase::Closed;
    let is_seen = |url: &&AffectedUrl| !url.not_tried && url.left.is_none();
    let is_bad = |url: &&AffectedUrl| url.seen != Some(State::Ok);
    let urls = incident
        .urls
        .iter()
        .filter(|url| is_open && is_seen(url) && is_bad(url));
    for url in urls {
        envelope.findings.push(Finding {
            code: incident.state.to_string(),
            severity: Severity::Error,
            url: url.url.clone(),
            variant: None,
            file: url.file.clone(),
            line: url.line,
            uses: urldb_protocol::UrlUses::default(),
            sentence: None,
            message: Shown::default(),
            state: incident.state,
            reason: reason.or(incident.reason.as_deref()).map(str::to_owned),
            expected: None,
            observed: None,
            not_archived: None,
            copies: None,
            attempts: usize::try_from(incident.evidence.requests).unwrap(),
            since: None,
            pending: incident.phase == Phase::Unconfirmed,
            new: false,
            muted: false,
            categories: Vec::new(),
        });
    }
    envelope.incidents.push(incident);
}

pub(crate) fn all_good() -> Envelope {
    report("20261116T041702Z-00000000", "2026-11-16 04:17", 48)
}

pub(crate) fn appended_rows() -> Envelope {
    let mut envelope = report("20261117T041703Z-5de248cc", "2026-11-17 04:17", 50);
    envelope.summary.counts.broken = 1;
    envelope.summary.coverage.static_verified = 1_179;
    envelope.archived = vec!["archive/urldb-20261117041703-00000-runner.warc.gz".to_owned()];
    let address = "https://data.example.org/tables/stars.csv";
    let mut changed = incident(
        "a986cfd9",
        Phase::Opened,
        "data.example.org",
        State::Changed,
        "2026-11-17 04:17",
    );
    changed.host_urls = 300;
    changed.last_good = Some(at("2026-11-16 04:17"));
    changed.urls = vec![url(address, "data.example.org.yaml", 118)];
    let lines = [
        "+HD 9986,1.6231,12.0757,6.77,G5V",
        "+HD 10086,1.6461,5.7425,6.60,G5IV",
        "+HD 10145,1.6689,66.9071,7.70,G5V",
        "+HD 10180,1.6317,-60.5115,7.33,G1V",
        "+HD 10307,1.6971,42.6139,4.96,G1V",
        "+HD 10360,1.6633,-56.1963,5.96,K2V",
    ];
    changed.evidence = Evidence {
        url: address.to_owned(),
        promised: content(48_120, "59b49341821f000000000000", None),
        observed: served(48_319, "c3d945962746000000000000", "text/csv"),
        requests: 2,
        agreeing: 2,
        tried: 1,
        first_difference: Some(48_120),
        text: Some(TextDifference {
            added: 6,
            removed: 0,
            appended_after: Some(1_203),
            lines: lines.map(shown).to_vec(),
        }),
        ..Evidence::default()
    };
    add(&mut envelope, changed, Some("length"));
    envelope
}

/// An archive that the forge made anew: most files are as before.
pub(crate) fn repacked() -> Envelope {
    let mut envelope = report("20261117T041703Z-5de248cc", "2026-11-17 04:17", 50);
    envelope.summary.counts.broken = 1;
    envelope.archived = vec!["archive/urldb-20261117041703-00000-runner.warc.gz".to_owned()];
    let address = "https://forge.example.org/tools/archive/v1.4.tar.gz";
    let mut changed = incident(
        "0c1f27aa",
        Phase::Opened,
        "forge.example.org",
        State::Changed,
        "2026-11-17 04:17",
    );
    changed.host_urls = 12;
    changed.last_good = Some(at("2026-11-16 04:17"));
    changed.urls = vec![url(address, "forge.example.org.yaml", 9)];
    let lines = [" case $host in", "-*-aix*) exit 1;;", "+*-aix*) exit 77;;"];
    let member = |name: &str, change, text| MemberDifference {
        name: shown(name),
        change,
        text,
    };
    let text = TextDifference {
        added: 1,
        removed: 1,
        appended_after: None,
        lines: lines.map(shown).to_vec(),
    };
    changed.evidence = Evidence {
        url: address.to_owned(),
        promised: content(48_120, "59b49341821f000000000000", None),
        observed: served(48_319, "c3d945962746000000000000", "application/gzip"),
        requests: 2,
        agreeing: 2,
        tried: 1,
        first_difference: Some(4),
        contents: Some(Contents {
            files: 132,
            single: false,
            differing: 2,
            folders: 0,
            members: vec![
                member("tools-1.4/configure", MemberChange::Changed, Some(text)),
                member("tools-1.4/NEWS.old", MemberChange::Removed, None),
            ],
        }),
        ..Evidence::default()
    };
    add(&mut envelope, changed, Some("digest"));
    envelope
}

fn content(length: u64, sha256: &str, content_type: Option<&str>) -> Promised {
    Promised {
        length: Some(length),
        sha256: Some(sha256.to_owned()),
        content_type: content_type.map(str::to_owned),
        ..Promised::default()
    }
}

fn served(length: u64, sha256: &str, content_type: &str) -> Observed {
    Observed {
        status: Some(200),
        length: Some(length),
        sha256: Some(sha256.to_owned()),
        content_type: Some(shown(content_type)),
        address: Some("203.0.113.10".to_owned()),
        ..Observed::default()
    }
}

/// What `check` finds: no memory, no archive.
pub(crate) fn checked(mut envelope: Envelope) -> Envelope {
    for incident in &mut envelope.incidents {
        incident.id = String::new();
        incident.phase = Phase::Opened;
        incident.last_good = None;
        incident.since = envelope.run.started;
    }
    envelope.archived.clear();
    envelope
}

/// The 100 URLs of a host that has been silent since 2026-11-18.
fn silent_host(phase: Phase) -> Incident {
    let id = if phase == Phase::Unconfirmed {
        ""
    } else {
        "edf77159"
    };
    let mut silent = incident(
        id,
        phase,
        "mirror.example.net",
        State::Unreachable,
        "2026-11-18 04:17",
    );
    silent.reason = Some("timeout".to_owned());
    silent.host_urls = 100;
    silent.last_good = Some(at("2026-11-17 04:17"));
    silent.opened_by.push_str("20261119T041702Z-91c0aa17");
    silent.opened = Some(at("2026-11-19 04:17"));
    silent.urls = (0..100)
        .map(|number| AffectedUrl {
            not_tried: number >= 4,
            ..url(
                &match number {
                    0 => "https://mirror.example.net/release-7/".to_owned(),
                    _ => format!("https://mirror.example.net/release-7/{number:02}.iso"),
                },
                "mirror.example.net.yaml",
                3 + 4 * number,
            )
        })
        .collect();
    silent.evidence = Evidence {
        url: silent.urls[0].url.clone(),
        detail: shown("no connection to 203.0.113.20 port 443 within 10 s"),
        requests: 3,
        agreeing: 3,
        tried: 4,
        ..Evidence::default()
    };
    silent
}

/// A run while that host is silent.
fn without_mirror(run: &str, started: &str) -> Envelope {
    let mut envelope = report(run, started, 192);
    envelope.summary.coverage.checked = 1_151;
    envelope.summary.coverage.static_verified = 1_080;
    envelope.summary.coverage.bytes = 2_090_000_000;
    envelope
}

pub(crate) fn silent_host_first_run() -> Envelope {
    let mut envelope = without_mirror("20261118T041702Z-00000000", "2026-11-18 04:17");
    envelope.summary.counts.unconfirmed = 100;
    add(&mut envelope, silent_host(Phase::Unconfirmed), None);
    envelope
}

pub(crate) fn silent_host_confirmed() -> Envelope {
    let mut envelope = without_mirror("20261119T041702Z-91c0aa17", "2026-11-19 04:17");
    envelope.summary.counts.broken = 100;
    let mut silent = silent_host(Phase::Opened);
    silent.runs = 2;
    add(&mut envelope, silent, None);
    envelope
}

pub(crate) fn silent_host_later(day: &str, runs: u32) -> Envelope {
    let run = format!("{}T041702Z-d2c6f05b", day.replace('-', ""));
    let mut envelope = without_mirror(&run, &format!("{day} 04:17"));
    envelope.summary.counts.broken = 100;
    let mut silent = silent_host(Phase::Unchanged);
    silent.runs = runs;
    let thread = BTreeMap::from([("message-id".to_owned(), shown("x"))]);
    silent.threads.insert("maintainers".to_owned(), thread);
    add(&mut envelope, silent, None);
    envelope
}

/// The end of that incident, in the run of `envelope`.
fn mirror_answers(envelope: &mut Envelope) {
    let mut silent = silent_host(Phase::Closed);
    close(&mut silent, Because::Recovered, envelope.run.started);
    silent.evidence = Evidence {
        promised: content(700, "00", None),
        ..Evidence::default()
    };
    add(envelope, silent, None);
}

pub(crate) fn silent_host_recovery() -> Envelope {
    let mut envelope = report("20261124T041702Z-0b7733de", "2026-11-24 04:17", 48);
    mirror_answers(&mut envelope);
    envelope
}

pub(crate) fn redirect_rule() -> Envelope {
    let mut envelope = report("20261120T041701Z-c21e5f08", "2026-11-20 04:17", 54);
    envelope.summary.counts.broken = 40;
    envelope.summary.coverage.static_verified = 1_140;
    envelope.summary.coverage.bytes = 2_300_000_000;
    envelope.archived = vec!["archive/urldb-20261120041701-00000-runner.warc.gz".to_owned()];
    let redirected = redirected(Phase::Opened);
    add(&mut envelope, redirected, None);
    envelope
}

const MANUAL: [&str; 12] = [
    "",
    "api.html",
    "api/errors.html",
    "api/objects.html",
    "api/query.html",
    "api/tables.html",
    "changes.html",
    "install.html",
    "install/debian.html",
    "install/macos.html",
    "install/source.html",
    "intro.html",
];

fn redirected(phase: Phase) -> Incident {
    let mut redirected = incident(
        "52b63752",
        phase,
        "docs.example.org",
        State::Changed,
        "2026-11-20 04:17",
    );
    redirected.redirect = Some(shown("https://docs.example.org/"));
    redirected.host_urls = 120;
    redirected.last_good = Some(at("2026-11-19 04:17"));
    let pages = MANUAL.map(str::to_owned).into_iter();
    let chapters = (1..=28).map(|number| format!("tutorial/{number:02}.html"));
    redirected.urls = pages
        .chain(chapters)
        .enumerate()
        .map(|(index, page)| {
            let page = format!("https://docs.example.org/manual/v1/{page}");
            url(&page, "docs.example.org.yaml", 11 + 4 * index)
        })
        .collect();
    redirected.evidence = Evidence {
        url: redirected.urls[0].url.clone(),
        promised: content(9_000, "00", None),
        observed: Observed {
            redirect_status: Some(302),
            redirect: Some(shown("https://docs.example.org/")),
            final_url: Some(shown("https://docs.example.org/")),
            ..served(2_755, "11", "text/html")
        },
        requests: 2,
        agreeing: 2,
        tried: 40,
        ..Evidence::default()
    };
    redirected
}

pub(crate) fn redirect_rule_grown() -> Envelope {
    let mut envelope = report("20261121T041701Z-77d0b2a4", "2026-11-21 04:17", 55);
    envelope.summary.counts.broken = 46;
    envelope.summary.coverage.static_verified = 1_134;
    envelope.summary.coverage.bytes = 2_300_000_000;
    let mut grown = redirected(Phase::Changed);
    for url in &mut grown.urls {
        url.since = Some(grown.since);
        url.last_good = grown.last_good;
    }
    let since = Some(envelope.run.started);
    let last_good = Some(at("2026-11-20 04:17"));
    let pages = [
        "",
        "api.html",
        "changes.html",
        "install.html",
        "intro.html",
        "tutorial/01.html",
    ];
    grown
        .urls
        .extend(pages.iter().enumerate().map(|(index, page)| AffectedUrl {
            new: true,
            since,
            last_good,
            ..url(
                &format!("https://docs.example.org/manual/v2/{page}"),
                "docs.example.org.yaml",
                301 + 4 * index,
            )
        }));
    add(&mut envelope, grown, None);
    envelope
}

pub(crate) fn certificate() -> Envelope {
    let mut envelope = report("20261122T041702Z-4a11fe90", "2026-11-22 04:17", 41);
    envelope.summary.counts.broken = 300;
    envelope.summary.coverage.static_verified = 880;
    envelope.summary.coverage.bytes = 1_620_000_000;
    let mut expired = incident(
        "b5967b5a",
        Phase::Opened,
        "data.example.org",
        State::Unreachable,
        "2026-11-21 04:17",
    );
    expired.reason = Some("tls-expired".to_owned());
    expired.host_urls = 300;
    expired.runs = 2;
    expired.last_good = Some(at("2026-11-20 04:17"));
    expired.urls = (0..300)
        .map(|number| {
            let address = format!("https://data.example.org/{number}.fits");
            url(&address, "data.example.org.yaml", 3 + 4 * number)
        })
        .collect();
    expired.evidence = Evidence {
        url: expired.urls[0].url.clone(),
        observed: Observed {
            address: Some("203.0.113.10".to_owned()),
            ..Observed::default()
        },
        requests: 3,
        agreeing: 3,
        tried: 300,
        certificate: Some(CertificateDates {
            not_before: at("2026-08-22 23:59"),
            not_after: at("2026-11-20 23:59"),
            issuer: shown("Example CA R3"),
            authority: None,
        }),
        ..Evidence::default()
    };
    add(&mut envelope, expired, None);
    envelope
}

/// `urls` URLs of each of three hosts answer 404.
pub(crate) fn three_hosts(urls: usize) -> Envelope {
    const IDS: [&str; 3] = ["34c64c1a", "4705be12", "54a83399"];
    let mut envelope = report("20261122T041701Z-e0915b3c", "2026-11-22 04:17", 362);
    let all = 3 * urls as u64;
    envelope.run.project = String::from("tile-urls");
    envelope.run.project_url = Some("https://github.com/example/tile-urls".to_owned());
    envelope.run.site_url = Some("https://tiles.example.org/status".to_owned());
    envelope.summary.counts.urls = all;
    envelope.summary.counts.broken = all;
    envelope.summary.coverage = Coverage {
        due: all,
        checked: all,
        static_due: all,
        milliseconds: 362_000,
        ..Coverage::default()
    };
    for (number, id) in IDS.iter().enumerate() {
        let host = format!("host{number:02}.example.org");
        let mut gone = incident(id, Phase::Opened, &host, State::Gone, "2026-11-22 04:17");
        gone.host_urls = urls as u64;
        gone.last_good = Some(at("2026-11-21 04:17"));
        gone.urls = (0..urls)
            .map(|index| {
                let page = if index == 0 {
                    String::new()
                } else {
                    format!("{index}.png")
                };
                let address = format!("https://{host}/{page}");
                url(&address, &format!("{host}.yaml"), 3 + 4 * index)
            })
            .collect();
        gone.evidence = Evidence {
            url: gone.urls[0].url.clone(),
            observed: Observed {
                status: Some(404),
                address: Some("203.0.113.40".to_owned()),
                ..Observed::default()
            },
            requests: 3,
            agreeing: 3,
            tried: urls as u64,
            ..Evidence::default()
        };
        add(&mut envelope, gone, None);
    }
    envelope
}

pub(crate) fn mixed() -> Envelope {
    let mut envelope = report("20261124T041702Z-0b7733de", "2026-11-24 04:17", 52);
    envelope.summary.counts.broken = 4;
    envelope.summary.coverage.checked = 1_246;
    envelope.summary.coverage.static_verified = 1_175;
    envelope.summary.coverage.bytes = 2_300_000_000;
    envelope.archived = vec!["archive/urldb-20261124041702-00000-runner.warc.gz".to_owned()];
    add(&mut envelope, images_gone(), None);

    let paper = "https://archive.example.com/papers/42.pdf";
    let mut changed = incident(
        "5a6ed57c",
        Phase::Opened,
        "archive.example.com",
        State::Changed,
        "2026-11-24 04:17",
    );
    changed.host_urls = 412;
    changed.last_good = Some(at("2026-11-23 04:17"));
    changed.urls = vec![url(paper, "archive.example.com.yaml", 166)];
    changed.evidence = Evidence {
        url: paper.to_owned(),
        promised: content(1_204_331, "e8c2881c900c00", Some("application/pdf")),
        observed: served(1_204_331, "942963ec97e300", "application/pdf"),
        requests: 2,
        agreeing: 2,
        tried: 1,
        first_difference: Some(1_024),
        last_modified: Some(shown("Mon, 23 Nov 2026 22:40:00 GMT")),
        ..Evidence::default()
    };
    add(&mut envelope, changed, Some("digest"));
    mirror_answers(&mut envelope);

    envelope.mistakes = vec![Mistake {
        code: "bad-digest".to_owned(),
        file: "urldb/archive.example.com.yaml".to_owned(),
        line: 14,
        column: 1,
        message: shown("content-sha256 has 63 hexadecimal digits instead of 64"),
        help: None,
        text: shown("content-sha256: 0f"),
        new: true,
    }];
    // The incident of the URL tells this, so no message tells the warning.
    envelope.findings.push(Finding {
        attempts: 1,
        new: true,
        ..Finding::warning(
            "flapping",
            "https://tiles.example.org/0/0/0.png",
            ("urldb/tiles.example.org.yaml", 3),
            "failed in 3 of the last 10 runs",
        )
    });
    envelope
}

pub(crate) fn images_gone() -> Incident {
    let mut gone = incident(
        "987e7add",
        Phase::Opened,
        "docs.example.org",
        State::Gone,
        "2026-11-24 04:17",
    );
    gone.host_urls = 120;
    gone.last_good = Some(at("2026-11-23 04:17"));
    gone.urls = [("chart.svg", 203), ("logo.svg", 207), ("map.png", 211)]
        .map(|(name, line)| {
            let address = format!("https://docs.example.org/img/{name}");
            url(&address, "docs.example.org.yaml", line)
        })
        .to_vec();
    gone.evidence = Evidence {
        url: gone.urls[0].url.clone(),
        observed: Observed {
            status: Some(404),
            ..Observed::default()
        },
        requests: 3,
        agreeing: 3,
        tried: 3,
        ..Evidence::default()
    };
    gone
}

pub(crate) fn own_network() -> Envelope {
    let mut envelope = report("20261125T041702Z-00000000", "2026-11-25 04:17", 31);
    envelope.summary.counts.unknown = 1_247;
    envelope.summary.coverage.checked = 0;
    envelope.summary.coverage.static_verified = 0;
    envelope.summary.coverage.bytes = 0;
    let hosts = [
        ("archive.example.com", 412),
        ("data.example.org", 300),
        ("docs.example.org", 120),
        ("mirror.example.net", 100),
        ("tiles.example.org", 275),
        ("www.example.edu", 40),
    ];
    for (host, urls) in hosts {
        let mut unknown = incident(
            "",
            Phase::Unknown,
            host,
            State::Inconclusive,
            "2026-11-25 04:17",
        );
        unknown.reason = Some("own-network".to_owned());
        unknown.host_urls = urls as u64;
        unknown.urls = (0..urls)
            .map(|number| {
                let page = if number == 0 {
                    String::new()
                } else {
                    format!("{number}.bin")
                };
                url(
                    &format!("https://{host}/{page}"),
                    &format!("{host}.yaml"),
                    3 + number,
                )
            })
            .collect();
        unknown.evidence.detail =
            shown("no host name could be resolved: the resolver did not answer within 5 s");
        add(&mut envelope, unknown, None);
    }
    envelope
}

pub(crate) fn partial_run() -> Envelope {
    let mut envelope = report("20261122T094101Z-63aa0e1f", "2026-11-22 09:41", 9);
    envelope.run.selection = Some("-c core".to_owned());
    envelope.summary.counts.broken = 100;
    envelope.summary.coverage = Coverage {
        due: 180,
        checked: 180,
        static_due: 180,
        static_verified: 180,
        not_selected: 1_067,
        bytes: 214_000_000,
        milliseconds: 9_000,
        ..Coverage::default()
    };
    let address = "https://data.example.org/core/catalog.json";
    let mut fixed = incident(
        "157ca0cb",
        Phase::Closed,
        "data.example.org",
        State::ServerError,
        "2026-11-22 06:41",
    );
    fixed.host_urls = 300;
    fixed.urls = vec![url(address, "data.example.org.yaml", 22)];
    close(&mut fixed, Because::Recovered, envelope.run.started);
    fixed.evidence = Evidence {
        url: address.to_owned(),
        promised: content(31_377, "77af778b51ab00", None),
        observed: Observed {
            status: Some(503),
            ..Observed::default()
        },
        ..Evidence::default()
    };
    envelope.incidents.push(fixed);
    let mut silent = silent_host(Phase::Unchanged);
    silent.evidence.tried = 0;
    for url in &mut silent.urls {
        url.not_tried = false;
    }
    envelope.incidents.push(silent);
    envelope
}

pub(crate) fn mail_refused() -> Envelope {
    let mut envelope = report("20261124T041702Z-1f07a2c4", "2026-11-24 04:17", 49);
    envelope.summary.counts.broken = 3;
    envelope.summary.coverage.static_verified = 1_177;
    add(&mut envelope, images_gone(), None);
    envelope
}
