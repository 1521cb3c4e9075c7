//! Renders the overview, the state of all promises, as a static web site.
//!
//! The site shows what was promised, what holds, since when, and the evidence. It never shows one run
//! alone. Its pages load nothing from other hosts, and their Content-Security-Policy forbids it.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod badge;
mod bars;
mod feed;
mod file_names;
mod folder;
mod pages;
mod sample;
mod site;
mod source;
mod strip;

pub use folder::SiteChanges;
pub use site::{Asset, SiteBuilder, SiteTemplates, TEMPLATES};
pub use source::{ListedUrl, SiteError, SiteSource};
use urldb_files::Root;
use urldb_protocol::{
    Delivery, DeliveryFuture, Envelope, Notifier, PlannedDelivery, ReportDelivery,
};
pub use urldb_render::Error;

/// The id of the only delivery.
const SITE: &str = "site";

/// Builds the site from what the ledger knows after the run with this id. The error says what went wrong.
pub type BuildSite = Box<dyn Fn(&str) -> Result<SiteChanges, String> + Send + Sync>;

/// The web site notifier.
pub struct HtmlNotifier {
    folder: Root,
    build: BuildSite,
}

impl HtmlNotifier {
    /// The notifier that lets `build` renew the site in `folder` after each run.
    pub fn new(folder: Root, build: BuildSite) -> Self {
        Self { folder, build }
    }

    fn publish(&self, run: &str) -> Delivery {
        match (self.build)(run) {
            Ok(_) => Delivery::delivered(SITE, format!("written to {}", self.destination())),
            Err(error) => Delivery::retry(SITE, error),
        }
    }
}

impl Notifier for HtmlNotifier {
    fn deliveries(&self, _: &Envelope) -> Vec<PlannedDelivery> {
        vec![PlannedDelivery {
            id: SITE.to_owned(),
            about: "the site".to_owned(),
            to: self.destination(),
            incidents: vec![],
            remember: vec![],
        }]
    }

    fn deliver<'a>(
        &'a self,
        envelope: &'a Envelope,
        _: &'a [String],
        report: ReportDelivery<'a>,
    ) -> DeliveryFuture<'a> {
        Box::pin(async move { report(self.publish(&envelope.run.id)) })
    }

    fn destination(&self) -> String {
        self.folder.file("index.html").to_string()
    }

    fn replaces_earlier(&self) -> bool {
        true
    }
}
