//! Renders the report of every run as one self-contained web page.
//!
//! The page is `index.html` in a folder. The page needs no other file and no script, and its
//! Content-Security-Policy forbids both. A reader sees the page of the last run or of this run,
//! never half a page.
#![forbid(unsafe_code)]

use std::fs;
use std::io;
use std::path::PathBuf;

use urldb_protocol::{DeliveryFuture, DeliveryReport, Envelope, Notifier, Trigger};
pub use urldb_render::Error;
use urldb_render::{Renderer, View};

const TEMPLATE: &str = "report.html";
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

    fn publish(&self, envelope: &Envelope) -> DeliveryReport {
        let page = match self
            .renderer
            .render(TEMPLATE, &View::new(envelope, MOST_ROWS))
        {
            Ok(page) => page,
            Err(error) => return DeliveryReport::failed(error.to_string()),
        };
        match self.write(&page) {
            Ok(()) => DeliveryReport::delivered(format!("written to {}", self.page.display())),
            Err(error) => {
                DeliveryReport::retry(format!("cannot write {}: {error}", self.page.display()))
            }
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
    fn trigger(&self) -> Trigger {
        Trigger::EveryRun
    }

    fn deliver<'a>(&'a self, envelope: &'a Envelope) -> DeliveryFuture<'a> {
        Box::pin(async move { self.publish(envelope) })
    }
}
