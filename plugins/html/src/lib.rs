//! Renders the report of every run as one self-contained web page.
//!
//! The page is `index.html` in a folder; it needs no other file and no script,
//! and its Content-Security-Policy forbids both. A reader sees the page of the
//! last run or of this one, never half of one.
#![forbid(unsafe_code)]

use std::fs;
use std::io;
use std::path::PathBuf;

use urldb_protocol::{Answer, Delivery, Envelope, Interest, Notifier};
pub use urldb_render::Error;
use urldb_render::{Renderer, View};

const TEMPLATE: &str = "report.html";
/// How many URLs each list shows; a browser is slow with more.
const MOST_ROWS: usize = 2_000;

/// Where the page goes.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder of `index.html`; made where it is missing.
    pub path: PathBuf,
}

/// The web page notifier.
#[derive(Debug)]
pub struct HtmlReport {
    page: PathBuf,
    renderer: Renderer,
}

impl HtmlReport {
    /// Reads the minijinja source of the page. Writes nothing yet.
    pub fn new(settings: Settings, template: String) -> Result<Self, Error> {
        let Settings { path: mut page } = settings;
        page.push("index.html");
        let renderer = Renderer::new([(TEMPLATE, template)])?;
        Ok(Self { page, renderer })
    }

    fn publish(&self, envelope: &Envelope) -> Answer {
        let page = match self
            .renderer
            .render(TEMPLATE, &View::new(envelope, MOST_ROWS))
        {
            Ok(page) => page,
            Err(error) => return Answer::failed(error.to_string()),
        };
        match self.write(&page) {
            Ok(()) => Answer::delivered(format!("written to {}", self.page.display())),
            Err(error) => Answer::retry(format!("cannot write {}: {error}", self.page.display())),
        }
    }
}

impl HtmlReport {
    fn write(&self, page: &str) -> io::Result<()> {
        if let Some(folder) = self.page.parent() {
            fs::create_dir_all(folder)?;
        }
        urldb_files::write_atomically(&self.page, page.as_bytes())
    }
}

impl Notifier for HtmlReport {
    fn interest(&self) -> Interest {
        Interest::EveryRun
    }

    fn deliver<'a>(&'a self, envelope: &'a Envelope) -> Delivery<'a> {
        Box::pin(async move { self.publish(envelope) })
    }
}
