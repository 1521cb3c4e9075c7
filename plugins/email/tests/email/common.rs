//! Shared by the tests: the templates and the example envelope of urldb.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use urldb_email::{EmailNotifier, Settings, Templates, Transport};
use urldb_protocol::{Delivery, Envelope, Notifier};

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap()
}

pub(crate) fn envelope() -> Envelope {
    serde_json::from_str(&read("docs/envelope.example.json")).unwrap()
}

pub(crate) fn templates() -> Templates {
    Templates {
        html: read("templates/email.html"),
    }
}

pub(crate) fn settings(transport: Transport) -> Settings {
    Settings {
        name: "maintainers".to_owned(),
        from: "urldb <urldb@watch.example.org>".to_owned(),
        to: vec![
            "Ada <ada@example.org>".to_owned(),
            "bob@example.net".to_owned(),
        ],
        transport,
    }
}

/// Tries all deliveries, and returns the result of each.
pub(crate) async fn deliver(email: &EmailNotifier, envelope: &Envelope) -> Vec<Delivery> {
    let planned = email.deliveries(envelope).into_iter();
    let ids: Vec<String> = planned.map(|plan| plan.id).collect();
    deliver_to(email, envelope, &ids).await
}

/// Tries the deliveries with these ids.
pub(crate) async fn deliver_to(
    email: &EmailNotifier,
    envelope: &Envelope,
    ids: &[String],
) -> Vec<Delivery> {
    let results = Mutex::new(vec![]);
    let report = |delivery| results.lock().unwrap().push(delivery);
    email.deliver(envelope, ids, &report).await;
    results.into_inner().unwrap()
}
