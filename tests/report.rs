//! What a run's verdicts become in its report.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use urldb::ledger::{Archived, JobRecord};
use urldb::report::Report;
use urldb_canon::{RequestUrl, Scheme};
use urldb_protocol::{Envelope, RunInfo, Severity};
use urldb_verdict::{
    Beginning, BodyUse, Certificate, Hop, HostCertificates, Job, JobKey, JudgedJob, Observation,
    Promise, Request, Sent, SkippedRecords, Verdict, classify,
};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn job(url: &str, line: usize) -> Job {
    let (host, path) = url
        .strip_prefix("https://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let path = format!("/{path}");
    Job {
        url: RequestUrl::new(Scheme::Https, host, &path).unwrap(),
        key: JobKey {
            domain: host.into(),
            path,
            request: None,
            variant: None,
            alias: None,
            scheme: Scheme::Https,
        },
        file: format!("urldb/{host}.yaml").into(),
        line,
        uses: None,
        categories: [].into(),
        promise: Promise::default(),
        request: Arc::new(Request {
            method: "GET".into(),
            headers: vec![],
            body: None,
            within: None,
        }),
        body: BodyUse::Skip,
        muted: false,
        validators: None,
    }
}

/// A response over TLS whose certificate is good for so many more hours.
fn hop(url: &str, status: u16, hours: i64) -> Hop {
    Hop {
        url: url.into(),
        at: NOW,
        address: None,
        sent: Sent::default(),
        beginning: Beginning::default(),
        version: "HTTP/1.1".into(),
        protocols: vec![],
        origin: urldb_verdict::Origin::default(),
        status,
        reason_phrase: String::new(),
        headers: vec![],
        certificate: Some(Certificate {
            subject: String::new(),
            issuer: "CN=Our Authority".into(),
            not_before: NOW - (90 * 24).hours(),
            not_after: NOW + hours.hours(),
            is_authority: false,
        }),
        authority: None,
    }
}

/// The report on these jobs, in this order, each with the hops of its only observation.
fn report(seen: Vec<(Job, Vec<Hop>)>) -> Envelope {
    let mut report = Report::new(false, &SkippedRecords::default(), vec![]);
    let mut certificates = HostCertificates::default();
    for (job, hops) in seen {
        let observation = Observation {
            started: NOW,
            elapsed: Duration::ZERO,
            hops,
            body: None,
            start: vec![],
            page: None,
            failure: None,
        };
        let verdict = Verdict {
            classification: classify(&job.promise, &observation, &[]),
            observation: 0,
            sure: true,
            attempts: vec![],
            explanation: None,
        };
        let record = JobRecord {
            judged: JudgedJob {
                job,
                observations: vec![observation],
                verdict,
            },
            at: NOW,
            archived: Archived::default(),
        };
        certificates.add(&record.judged);
        report.add(&record, None);
    }
    report.warn_of_certificates(&[certificates], NOW, Duration::from_hours(14 * 24));
    let run = RunInfo {
        id: "1".into(),
        started: NOW,
        finished: NOW,
        version: "0".into(),
        repository: "r".into(),
        project: "r".into(),
        project_url: None,
        site_url: None,
        commit: None,
        selection: None,
        interrupted: false,
        test: false,
    };
    report.finish(run).0
}

/// Code, URL and message of each finding.
fn findings(seen: Vec<(Job, Vec<Hop>)>) -> Vec<String> {
    let findings = report(seen).findings.into_iter();
    findings
        .map(|finding| format!("{} {}: {}", finding.code, finding.url, finding.message))
        .collect()
}

#[test]
fn a_certificate_near_its_end_is_one_warning_for_a_host() {
    let one = |path: &str, line: usize, hours: i64| {
        let url = format!("https://a.example/{path}");
        (job(&url, line), vec![hop(&url, 200, hours)])
    };
    let all = vec![one("c", 9, 50), one("a", 3, 50), one("b", 6, 50)];
    let expected = [
        "certificate-ends https://a.example/a: the certificate of a.example ends at \
         1970-01-03T02:00:00Z; its issuer is Our Authority",
    ];
    assert_eq!(findings(all), expected);
    assert!(findings(vec![one("a", 3, 14 * 24)]).is_empty());
    assert_eq!(findings(vec![one("a", 3, 14 * 24 - 1)]).len(), 1);
}

#[test]
fn a_warning_of_a_certificate_stands_beside_the_state_and_is_about_the_host_that_was_asked() {
    let url = "https://a.example/a";
    let hops = vec![hop(url, 302, 25), hop("https://b.example:8443/x", 404, 20)];
    let mut promised = job(url, 3);
    promised.promise.length = Some(3);
    let envelope = report(vec![(promised, hops)]);
    let findings: Vec<_> = envelope
        .findings
        .iter()
        .map(|finding| (&*finding.code, finding.severity))
        .collect();
    assert_eq!(
        findings,
        [
            ("gone", Severity::Error),
            ("certificate-ends", Severity::Warning)
        ]
    );
    let message = &envelope.findings[1].message;
    assert!(message.starts_with("the certificate of a.example ends at 1970-01-02T01:00:00Z"));
}
