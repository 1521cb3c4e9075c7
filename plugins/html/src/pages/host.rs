//! The pages of one host: its promises and its URLs.

use jiff::Timestamp;
use minijinja::HtmlEscape;
use serde::Serialize;
use urldb_protocol::{DayLevel, HostOverview, UrlOverview};
use urldb_render::numbers::{headline, number};
use urldb_render::{Mark, one_line, shown_host};

use super::incidents::{IncidentRow, latest_first};
use super::url_words::{path_parts, state_of};

use super::values::{Figure, Time, last_verified, promise_figures};
use super::{Frame, PageLink, Views, last_days, page_links};
use crate::file_names::{host_page, url_page};
use crate::source::ListedUrl;
use crate::strip::chart;

/// Most closed incidents on the page of a host.
const MOST_CLOSED: usize = 12;

#[derive(Debug, Serialize)]
pub(crate) struct HostPage {
    pub(crate) frame: Frame,
    host: String,
    headline: String,
    checked: Option<Time>,
    all_checked: Option<Time>,
    figures: Vec<Figure>,
    incidents: Vec<IncidentRow>,
    closed: Vec<IncidentRow>,
    /// The end of the certificate that the host showed last.
    certificate: Option<Time>,
    chart: String,
    urls: Vec<UrlRow>,
    total: String,
    pages: Vec<PageLink>,
    file: String,
    file_link: Option<String>,
}

#[derive(Debug, Serialize)]
struct UrlRow {
    class: &'static str,
    /// Escaped for HTML, and so is `name`.
    folder: String,
    name: String,
    state: String,
    since: String,
    bytes: String,
    sha256: String,
    verified: String,
    /// The page of the URL, relative to that of the host.
    page: Option<String>,
}

impl Views<'_> {
    /// One page of a host: `urls` are its rows, and whether each has a page; `page` counts from 1.
    pub(crate) fn host_page(
        &self,
        host: &HostOverview,
        urls: &[(ListedUrl, bool)],
        (page, pages): (usize, usize),
    ) -> HostPage {
        let headline = headline(&host.counts);
        let days = last_days(&host.days);
        let is_good = |level| matches!(level, DayLevel::Kept | DayLevel::Doubt);
        let good = days.iter().filter(|day| is_good(day.level)).count();
        let known = days.iter().filter(|day| day.level != DayLevel::Blank);
        let verified = last_verified(std::iter::once(host), self.overview.now);
        let notices = self.overview.notices.iter();
        let open = self
            .overview
            .open
            .iter()
            .filter(|it| host.incidents.contains(&it.incident.id))
            .chain(notices.filter(|it| it.domain == host.host));
        let closed = self.overview.closed.iter();
        let closed = latest_first(closed.filter(|it| it.domain == host.host));
        let title = format!("{}: {headline}", shown_host(&host.host));
        let mut frame = self.frame(&title, Mark::of(&host.counts), "../", "overview");
        // A run that does not check the host leaves its page as it is.
        frame.run = host.checked.map(|checked| Time::moment(checked).iso);
        HostPage {
            frame,
            host: shown_host(&host.host),
            headline,
            checked: host.checked.map(Time::moment),
            all_checked: host
                .all_checked
                .filter(|all| Some(*all) != host.checked)
                .map(Time::moment),
            figures: promise_figures(
                &host.counts,
                (&host.files, verified),
                (good, known.count()),
                false,
            ),
            incidents: latest_first(open)
                .into_iter()
                .map(|it| self.incident_row(it))
                .collect(),
            closed: closed
                .into_iter()
                .take(MOST_CLOSED)
                .map(|it| self.incident_row(it))
                .collect(),
            certificate: host
                .certificate
                .as_ref()
                .map(|dates| Time::day(dates.not_after)),
            chart: chart(days),
            urls: urls
                .iter()
                .map(|(listed, has_page)| url_row(listed, *has_page))
                .collect(),
            total: number(host.counts.urls),
            pages: page_links(pages, page, |number| host_page(&host.host, number)),
            file_link: self.file_link(&host.file, None),
            file: one_line(&host.file),
        }
    }
}

/// A path as HTML. A slash in plain sight is as safe as its escape, and five bytes shorter.
fn escaped(path: &str) -> String {
    HtmlEscape(path).to_string().replace("&#x2f;", "/")
}

/// About the number of bytes of a URL in the table of its host.
pub(crate) fn row_size(url: &UrlOverview) -> usize {
    const ALL_BUT_PATH: usize = 233;
    let (folder, name) = path_parts(url);
    ALL_BUT_PATH + escaped(&folder).len() + escaped(&name).len()
}

fn url_row(listed: &ListedUrl, has_page: bool) -> UrlRow {
    let url = &listed.url;
    let (class, state) = state_of(url);
    let (folder, name) = path_parts(url);
    let day = |time: Option<Timestamp>| {
        time.map_or_else(String::new, |time| time.strftime("%Y-%m-%d").to_string())
    };
    UrlRow {
        class,
        folder: escaped(&folder),
        name: escaped(&name),
        state,
        since: day(url.since),
        bytes: url.promised.length.map_or_else(String::new, number),
        sha256: url.promised.sha256.clone().unwrap_or_default(),
        verified: day(url.verified),
        page: has_page.then(|| url_page(&url.url, url.request.as_deref(), url.variant.as_deref())),
    }
}
