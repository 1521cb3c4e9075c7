//! The state of all promises, of one host or of one URL: for a terminal, and as data for programs.

mod document;
mod page;
mod record;
mod remarks;
mod titles;

use urldb_protocol::{HostOverview, Overview, UrlOverview};

pub use document::{StatusDocument, StatusIncident, status_document};
pub use remarks::{remarks, wrong_clock};
pub use titles::Titles;
pub(crate) use titles::empty_envelope;

use crate::compose::Lookup;
use crate::page::{Page, TerminalOptions};
use page::StatusPage;

/// The part of the database that a status is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusScope<'a> {
    /// The whole database.
    All,
    /// The promises of one host.
    Host(&'a HostOverview),
    /// One record: its URLs, over each scheme.
    Record,
    /// The URLs that pass a filter. The text names the filter, after `3 of 1,247 URLs`.
    Filtered(&'a str),
}

/// The status as lines for a terminal. `urls` are the URLs that were asked for.
pub fn status(
    overview: &Overview,
    scope: StatusScope<'_>,
    urls: &[UrlOverview],
    options: TerminalOptions,
) -> String {
    let envelope = titles::envelope(overview);
    let mut page = StatusPage {
        overview,
        lookup: Lookup::new(&envelope),
        page: Page::new(options),
    };
    match scope {
        StatusScope::All => page.all(),
        StatusScope::Host(host) => page.host(host, urls),
        StatusScope::Record => page.record(urls),
        StatusScope::Filtered(filter) => page.filtered(filter, urls),
    }
    page.page.text()
}
