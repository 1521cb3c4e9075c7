//! Renders the report of every run as one self-contained web page.
//!
//! The page is `index.html` in a folder. The page needs no other file and no script, and its
//! Content-Security-Policy forbids both. A reader sees the page of the last run or of this run,
//! never half a page.
#![forbid(unsafe_code)]

use std::fs;
use std::io;
use std::path::PathBuf;

use urldb_protocol::{
    Delivery, DeliveryFuture, Envelope, Notifier, PlannedDelivery, ReportDelivery,
};
pub use urldb_render::Error;
use urldb_render::{Renderer, View};

const TEMPLATE: &str = "report.html";
/// The id of the only delivery.
const PAGE: &str = "page";
/// Most URLs in one list. A browser is slow with more.
const MOST_ROWS: usize = 2_000;

/// The settings of the web page notifier.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder of `index.html`, created if missing.
    pub path: PathBuf,
}

/// The web page notifier.
#[derive(Debug)]
pub struct HtmlNotifier {
    page: PathBuf,
    renderer: Renderer,
}

impl HtmlNotifier {
    /// Parses `template`, the minijinja source of the page. Writes nothing.
    pub fn new(settings: Settings, template: String) -> Result<Self, Error> {
        let Settings { path: mut page } = settings;
        page.push("index.html");
        let renderer = Renderer::new([(TEMPLATE, template)])?;
        Ok(Self { page, renderer })
    }

    /// Renders the page of a report, to find mistakes in the template.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn check(&self, envelope: &Envelope) -> Result<(), Error> {
        let view = View::new(envelope, MOST_ROWS);
        self.renderer.render(TEMPLATE, &view).map(|_| ())
    }

    fn publish(&self, envelope: &Envelope) -> Delivery {
        let view = View::new(envelope, MOST_ROWS);
        let page = match self.renderer.render(TEMPLATE, &view) {
            Ok(page) => page,
            Err(error) => return Delivery::failed(PAGE, error.to_string()),
        };
        let path = self.page.display();
        match self.write(&page) {
            Ok(()) => Delivery::delivered(PAGE, format!("written to {path}")),
            Err(error) => Delivery::retry(PAGE, format!("cannot write {path}: {error}")),
        }
    }

    fn write(&self, page: &str) -> io::Result<()> {
        if let Some(folder) = self.page.parent() {
            fs::create_dir_all(folder)?;
        }
        urldb_files::write_atomically(&self.page, page.as_bytes())
    }
}

impl Notifier for HtmlNotifier {
    fn deliveries(&self, _: &Envelope) -> Vec<PlannedDelivery> {
        vec![PlannedDelivery {
            id: PAGE.to_owned(),
            about: "the page".to_owned(),
            to: self.destination(),
            remember: vec![],
        }]
    }

    fn deliver<'a>(
        &'a self,
        envelope: &'a Envelope,
        _: &'a [String],
        report: ReportDelivery<'a>,
    ) -> DeliveryFuture<'a> {
        Box::pin(async move { report(self.publish(envelope)) })
    }

    fn destination(&self) -> String {
        self.page.display().to_string()
    }

    fn replaces_earlier(&self) -> bool {
        true
    }
}
