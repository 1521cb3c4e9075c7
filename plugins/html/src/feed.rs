//! Atom feeds of incidents (RFC 4287).

use std::cmp::Reverse;
use std::fmt::Write;

use jiff::Timestamp;
use minijinja::HtmlEscape;
use urldb_protocol::{Incident, Overview};
use urldb_render::{one_line, shown_host};

/// Most incidents of a feed.
const MOST: usize = 50;

/// An incident as messages tell it, for a feed.
#[derive(Debug, Clone)]
pub(crate) struct FeedEntry<'a> {
    pub(crate) incident: &'a Incident,
    /// The host that its domain file is named after.
    pub(crate) domain: &'a str,
    pub(crate) title: String,
    /// The sentences of its last chapters, the latest first, each with its date.
    pub(crate) summary: String,
}

/// The feed of these incidents; of one host, or of all. `path` is the file of the feed
/// in the site's folder, `page` the page with the same content.
pub(crate) fn feed(
    overview: &Overview,
    host: Option<&str>,
    (path, page): (&str, &str),
    incidents: &[FeedEntry<'_>],
) -> String {
    let project = &overview.project;
    let title = match host {
        Some(host) => format!("Incidents of {}, {}", shown_host(host), project.name),
        None => format!("Incidents of {}", project.name),
    };
    let mut entries: Vec<_> = incidents.iter().collect();
    entries.sort_by_key(|it| it.incident.order());
    entries.sort_by_key(|it| Reverse(updated(it.incident)));
    let newest = entries.first().map(|it| updated(it.incident));
    // A feed without entries has the date of the run that saw nothing to tell.
    let newest = newest
        .or(overview.last_run.as_ref().map(|run| run.at))
        .unwrap_or(Timestamp::UNIX_EPOCH);
    let scope = host.map_or_else(String::new, |host| format!(":{host}"));
    let mut feed = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n",
    );
    let _ = writeln!(feed, "<title>{}</title>", HtmlEscape(&one_line(&title)));
    let id = format!("urn:urldb:{}{scope}", urn(&project.name));
    let _ = writeln!(feed, "<id>{}</id>", HtmlEscape(&id));
    let _ = writeln!(
        feed,
        "<updated>{newest}</updated>\n<author><name>urldb</name></author>"
    );
    if let Some(site) = &project.site_url {
        for (relation, link) in [("self", path), ("alternate", page)] {
            let link = format!("{site}/{link}");
            let link = HtmlEscape(&link);
            let _ = writeln!(feed, "<link rel=\"{relation}\" href=\"{link}\"/>");
        }
    }
    for it in entries.into_iter().take(MOST) {
        entry(&mut feed, &id, project.site_url.as_deref(), it);
    }
    feed + "</feed>\n"
}

/// Adds the entry of an incident. `feed_id` is the id of the feed.
fn entry(feed: &mut String, feed_id: &str, site_url: Option<&str>, it: &FeedEntry<'_>) {
    let incident = it.incident;
    let id = format!("{feed_id}:{}", incident.id);
    let published = incident.opened.unwrap_or(incident.since);
    let _ = writeln!(
        feed,
        "<entry>\n<title>{}</title>\n<id>{}</id>\n<published>{published}</published>\n<updated>{}</updated>",
        HtmlEscape(&it.title),
        HtmlEscape(&id),
        updated(incident)
    );
    if let Some(site) = site_url {
        let link = format!("{site}/incidents/{}.html", incident.id);
        let _ = writeln!(feed, "<link href=\"{}\"/>", HtmlEscape(&link));
    }
    let summary = HtmlEscape(&it.summary);
    let _ = writeln!(feed, "<summary>{summary}</summary>\n</entry>");
}

/// When the run of the last event began.
fn updated(incident: &Incident) -> Timestamp {
    let last = incident.chapters.iter().map(|chapter| chapter.at).max();
    [last, incident.closed, incident.opened]
        .into_iter()
        .flatten()
        .max()
        .unwrap_or(incident.since)
}

/// A name with the characters that a URN may have.
fn urn(name: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-._".contains(char);
    name.chars()
        .map(|char| if is_plain(char) { char } else { '-' })
        .collect()
}
