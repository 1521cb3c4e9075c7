//! Shared by the tests: the templates and the example envelope of urldb.

use std::fs;
use std::path::Path;

use urldb_email::{Settings, Templates, Transport};
use urldb_protocol::Envelope;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap()
}

pub(crate) fn envelope() -> Envelope {
    serde_json::from_str(&read("docs/envelope.example.json")).unwrap()
}

pub(crate) fn templates() -> Templates {
    Templates {
        subject: read("templates/email-subject.txt"),
        text: read("templates/email.txt"),
        html: read("templates/email.html"),
    }
}

pub(crate) fn settings(transport: Transport) -> Settings {
    Settings {
        from: "urldb <urldb@watch.example.org>".to_owned(),
        to: vec![
            "Ada <ada@example.org>".to_owned(),
            "bob@example.net".to_owned(),
        ],
        transport,
    }
}
