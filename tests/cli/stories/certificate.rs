//! A certificate that ends, and is renewed: the notice, and the incident that it becomes.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tempfile::NamedTempFile;

use super::{HOST, Story, day};
use crate::site::Site;

/// The authority of all certificates, and the one that the server shows at present.
struct Certificates {
    issuer: Issuer<'static, KeyPair>,
    file: NamedTempFile,
    shown: Arc<Shown>,
}

/// The certificates that a server shows to one connection after the other.
#[derive(Debug, Default)]
struct Shown {
    certified: Mutex<Vec<Arc<CertifiedKey>>>,
    connections: std::sync::atomic::AtomicUsize,
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let certified = self.certified.lock().unwrap();
        let number = self
            .connections
            .fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        certified.get(number % certified.len()).cloned()
    }
}

/// The days between which a certificate is valid, at 04:00 UTC: year, month, day.
type Date = (i32, u8, u8);

const OLD: (Date, Date) = ((2026, 8, 22), (2026, 11, 20));
const NEW: (Date, Date) = ((2026, 11, 20), (2027, 2, 18));

impl Certificates {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "Example CA R3");
        let certificate = params.self_signed(&key).unwrap();
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(certificate.pem().as_bytes()).unwrap();
        Self {
            issuer: Issuer::new(params, key),
            file,
            shown: Arc::default(),
        }
    }

    /// Shows these certificates from now on, in turns.
    fn show(&self, validities: &[(Date, Date)]) {
        let provider = rustls::crypto::ring::default_provider();
        let certified = validities.iter().map(|(from, to)| {
            let at = |(year, month, day): Date| {
                date_time_ymd(year, month, day) + Duration::from_hours(4)
            };
            let mut params = CertificateParams::new(vec![HOST.to_owned()]).unwrap();
            (params.not_before, params.not_after) = (at(*from), at(*to));
            let key = KeyPair::generate().unwrap();
            let certificate = params.signed_by(&key, &self.issuer).unwrap();
            let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
            let chain = vec![certificate.der().clone()];
            Arc::new(CertifiedKey::from_der(chain, key, &provider).unwrap())
        });
        *self.shown.certified.lock().unwrap() = certified.collect();
    }

    fn server(&self) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&self.shown) as Arc<dyn ResolvesServerCert>)
    }
}

/// A host with so many files over https, whose certificate ends on 20 November.
fn story(files: usize) -> (Story, Certificates) {
    let certificates = Certificates::new();
    certificates.show(&[OLD]);
    let paths: Vec<String> = (1..=files)
        .map(|number| format!("/{number:02}.iso"))
        .collect();
    let pages: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "data")).collect();
    let site = Site::over(Some(certificates.server()));
    for (path, text) in &pages {
        site.serve(path, crate::support::Reply::ok(text).close());
    }
    let file = certificates.file.path().display();
    let network = format!("ca-file = \"{file}\"\n");
    let mut story = Story::of(site, &pages, &network);
    let file = story.sandbox.read(super::FILE);
    let file = file.replacen("---\n", "---\nhttp: false\nhttps: true\n", 1);
    story.sandbox.write(super::FILE, file);
    story.with_chat();
    (story, certificates)
}

/// A certificate that is valid beside the old one.
const BESIDE: (Date, Date) = ((2026, 11, 1), (2027, 1, 30));

fn runs(story: &mut Story, days: &[u8], code: i32) {
    for number in days {
        story.run(&day(*number), code);
    }
}

#[test]
fn a_notice_becomes_an_incident_in_one_thread() {
    let (mut story, certificates) = story(20);
    // Less than 14, 3 and 1 days are left on the 6th, 17th and 19th.
    runs(&mut story, &[5, 6, 7, 16, 17, 18, 19], 0);
    runs(&mut story, &[20], 1);
    certificates.show(&[NEW]);
    runs(&mut story, &[21, 22], 0);
    assert_eq!(story.sandbox.files("status/incidents", ".yaml").len(), 1);
    story.show("certificate");
}

#[test]
fn a_renewal_before_the_end_closes_the_notice() {
    let (mut story, certificates) = story(3);
    runs(&mut story, &[5, 6, 17], 0);
    story.command("2026-11-17T09:00:00Z", &["status"], 0);
    certificates.show(&[NEW]);
    runs(&mut story, &[20], 0);
    story.command("2026-11-20T09:00:00Z", &["status"], 0);
    story.show("certificate_renewed");
}

#[test]
fn a_url_of_another_incident_stays_there_when_the_certificate_ends() {
    let (mut story, certificates) = story(8);
    runs(&mut story, &[5], 0);
    story.serve("/01.iso", None);
    runs(&mut story, &[10, 19, 20], 1);
    certificates.show(&[NEW]);
    runs(&mut story, &[21], 1);
    story.show("certificate_and_another_incident");
}

/// The host shows the old certificate and the new one in turns: the renewal is told twice at most.
#[test]
fn a_certificate_that_comes_back_is_told_once_more() {
    let (mut story, certificates) = story(2);
    runs(&mut story, &[5, 6], 0);
    for (number, shown) in (7..=19).zip([[BESIDE], [OLD]].iter().cycle()) {
        certificates.show(shown);
        runs(&mut story, &[number], 0);
    }
    certificates.show(&[BESIDE]);
    runs(&mut story, &[20, 21], 0);
    // It is back on the 8th, and has less than 3 days left when it is seen on the 18th.
    let expected = ["warning", "solved", "warning", "warning", "solved"];
    assert_eq!(story.words_of_mails(), expected, "{}", story.text);
}
