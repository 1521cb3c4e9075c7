//! Reports, and their deliveries.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use urldb_http::{Budget, Options};
use urldb_issues::{IssuesNotifier, Settings, Token};
use urldb_protocol::{Because, Delivery, DeliveryOutcome, Envelope, Incident, Notifier, Phase};

use crate::fake::Fake;

pub(crate) fn settings(fake: &Fake) -> Settings {
    Settings {
        name: "tracker".to_owned(),
        service: fake.service,
        repository: "example/sky-urls".to_owned(),
        api_url: fake.api_url(),
        allow_http: false,
        token: Token {
            variable: "TRACKER_TOKEN".to_owned(),
            value: "token-of-urldb".to_owned(),
        },
        labels: vec!["urldb".to_owned()],
        http: Options {
            authorities: None,
            proxy: None,
            timeout: Duration::from_secs(20),
            user_agent: "urldb/test".to_owned(),
        },
        budget: Budget {
            requests: 40,
            bytes: 16 << 20,
            seconds: 120,
        },
        write_interval: Duration::ZERO,
        patience: Duration::from_secs(3),
        settling: Duration::from_millis(100),
    }
}

pub(crate) fn notifier(fake: &Fake) -> &IssuesNotifier {
    fake.notifier
        .get_or_init(|| IssuesNotifier::new(settings(fake)).unwrap())
}

/// An incident of so many URLs. Its id and its key follow from the host.
pub(crate) fn incident(host: &str, phase: Phase, urls: usize) -> Incident {
    let id = format!(
        "{:08x}",
        host.bytes()
            .fold(1_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte))
    );
    let urls: Vec<_> = (1..=urls)
        .map(|number| {
            json!({
                "url": format!("https://{host}/{number}"), "file": format!("urldb/{host}.yaml"), "line": number,
                "left": (phase == Phase::Closed).then_some(Because::Recovered),
            })
        })
        .collect();
    let mut value = json!({
        "id": id, "key": format!("{id}{id}"), "phase": phase, "host": host, "state": "gone",
        "since": "2026-11-22T04:17:10Z", "opened_by": "20261122T041700Z-a", "host_urls": 50, "urls": urls,
    });
    if phase == Phase::Closed {
        value["closed"] = json!("2026-11-24T04:18:00Z");
    }
    serde_json::from_value(value).unwrap()
}

/// The incident as the next run sees it.
pub(crate) fn then(incident: &Incident, phase: Phase, urls: usize) -> Incident {
    let mut next = self::incident(&incident.host, phase, urls);
    next.id.clone_from(&incident.id);
    next.key.clone_from(&incident.key);
    next.threads.clone_from(&incident.threads);
    next
}

pub(crate) fn report(run: &str, incidents: &[Incident]) -> Envelope {
    let run = json!({
        "id": run, "started": "2026-11-22T04:17:00Z", "finished": "2026-11-22T04:18:00Z",
        "version": "0.1.0", "repository": "sky-urls", "project": "sky-urls",
    });
    let coverage = json!({
        "due": 50, "checked": 50, "static_due": 0, "static_verified": 0, "not_modified": 0, "deprecated": 0, "not_selected": 0, "bytes": 0, "milliseconds": 5,
    });
    let mut envelope: Value = json!({
        "protocol": 2, "run": run, "findings": [], "mistakes": [], "fixed": [], "archived": [],
        "summary": { "states": { "ok": 50 }, "coverage": coverage, "counts": {"urls": 50, "ok": 50, "broken": 0, "flapping": 0, "unconfirmed": 0, "unknown": 0, "muted": 0, "new": 0, "recovered": 0, "warnings": 0, "mistakes": 0} },
    });
    envelope["incidents"] = json!(incidents);
    serde_json::from_value(envelope).unwrap()
}

/// Delivers all deliveries of a report.
pub(crate) fn deliver(notifier: &IssuesNotifier, envelope: &Envelope) -> Vec<Delivery> {
    let pending: Vec<_> = notifier
        .deliveries(envelope)
        .into_iter()
        .map(|planned| planned.id)
        .collect();
    let reported = Mutex::new(Vec::new());
    let report = |delivery: Delivery| reported.lock().unwrap().push(delivery);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(notifier.deliver(envelope, &pending, &report));
    reported.into_inner().unwrap()
}

/// Delivers a report of one incident, which must work, and remembers what the notifier wants.
pub(crate) fn tell(fake: &Fake, run: &str, incident: &mut Incident) -> Delivery {
    let mut all = vec![incident.clone()];
    let mut deliveries = tell_all(fake, run, &mut all);
    *incident = all.remove(0);
    assert_eq!(deliveries.len(), 1, "{deliveries:#?}");
    deliveries.remove(0)
}

/// Delivers a report, which must work, and remembers what the notifier wants.
pub(crate) fn tell_all(fake: &Fake, run: &str, incidents: &mut [Incident]) -> Vec<Delivery> {
    let deliveries = deliver(notifier(fake), &report(run, incidents));
    for delivery in &deliveries {
        assert_eq!(
            delivery.outcome,
            DeliveryOutcome::Delivered,
            "{delivery:#?}"
        );
        for fact in &delivery.remember {
            let incident = incidents
                .iter_mut()
                .find(|incident| incident.id == fact.incident)
                .unwrap();
            let thread: &mut BTreeMap<_, _> =
                incident.threads.entry("tracker".to_owned()).or_default();
            thread.insert(fact.key.clone(), fact.value.clone());
        }
    }
    deliveries
}
