//! The page of one URL: its own last check, its own evidence, promise, captures and history.

use std::cmp::Reverse;
use std::collections::HashSet;

use jiff::Timestamp;
use jiff::civil::Date;

use serde::Serialize;
use urldb_protocol::{
    Because, CaptureInfo, Chapter, EventKind, OriginInfo, State, UrlCondition, UrlDetails,
    UrlOverview,
};
use urldb_render::numbers::number;
use urldb_render::{
    AskedUrl, Command, Mark, day_in_words, not_archived, one_line, shown_host, status_text,
    stored_words, uses_text,
};

use super::chapters::BoxRow;
use super::commands::{
    archive_command, archive_line, digest_command, headers_command, promised_bytes, shown_algorithm,
};
use super::incidents::IncidentRow;
use super::url_words::{Stretch, headline, path_parts, result, state_in_words, state_of};
use super::values::{Figure, Time, bytes, date};
use super::{Frame, Views};
use crate::file_names::host_page;

/// The date of the last check on pages of kept URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckDates {
    /// Each run renews the page.
    Exact,
    /// The page has the week, so that a quiet run leaves it as it is.
    Weekly,
}

#[derive(Debug, Serialize)]
pub(crate) struct UrlPage {
    pub(crate) frame: Frame,
    host: String,
    host_page: String,
    name: String,
    url: String,
    headline: String,
    /// The start of the last run that checked the URL; absent on a page that is not renewed each day.
    checked: Option<Time>,
    /// The first day of the week of that run, on a page that is not renewed each day.
    checked_week: Option<Time>,
    /// The result of the last check in one sentence; empty if the headline has it.
    result: String,
    verified_since: Option<Time>,
    verified: Option<Time>,
    is_static: bool,
    figures: Vec<Figure>,
    incidents: Vec<IncidentRow>,
    evidence: Option<BoxRow>,
    evidence_at: Option<Time>,
    /// The URL is affected, and its incident has evidence of others only.
    lacks_evidence: bool,
    promise: Vec<FactRow>,
    place: String,
    place_link: Option<String>,
    /// The lines of lists that use the URL.
    used: Option<String>,
    commands: Vec<Command>,
    stretches: Vec<StretchRow>,
    captures: Vec<CaptureRow>,
    more_captures: u64,
    list: Option<String>,
}

/// A fact about the promise.
#[derive(Debug, Serialize)]
struct FactRow {
    name: &'static str,
    value: String,
    is_digest: bool,
}

#[derive(Debug, Serialize)]
struct StretchRow {
    class: &'static str,
    from: String,
    until: String,
    state: String,
}

#[derive(Debug, Serialize)]
struct CaptureRow {
    date: String,
    status: String,
    digest: String,
    file: String,
    offset: String,
    record: String,
}

impl Views<'_> {
    /// The page of a URL.
    pub(crate) fn url_page(
        &self,
        url: &UrlOverview,
        details: &UrlDetails,
        dates: CheckDates,
    ) -> UrlPage {
        let stretches = stretches(url, &details.chapters);
        let headline = headline(url, details, &stretches);
        let (class, _) = state_of(url);
        let mark = match class {
            "b" => Mark::Broken,
            "o" => Mark::Unknown,
            _ => Mark::Kept,
        };
        let (_, name) = path_parts(url);
        let title = format!("{name}: {}", headline.trim_end_matches('.'));
        // Above many pages, that of a kept URL is renewed once a week.
        let is_weekly = dates == CheckDates::Weekly && url.condition == UrlCondition::Kept;
        let checked = url.checked.filter(|_| !is_weekly).map(Time::moment);
        let mut frame = self.frame(&title, mark, "../../", "overview");
        frame.mark = class;
        frame.run = checked.as_ref().map(|checked| checked.iso.clone());
        let incidents = self.incidents_of(details);
        let plain = url.request.is_none().then(|| AskedUrl::from(url));
        let verified_since = url
            .verified_since
            .filter(|_| url.condition == UrlCondition::Kept);
        UrlPage {
            frame,
            host: shown_host(&url.host),
            host_page: host_page(&url.host, 1),
            name,
            url: one_line(&url.url),
            headline,
            checked,
            checked_week: url.checked.filter(|_| is_weekly).map(week),
            result: result(url),
            verified_since: verified_since.map(Time::day),
            verified: url.verified.map(Time::day),
            is_static: url.is_static(),
            figures: figures(url, details, is_weekly),
            evidence: self.own_evidence(details),
            evidence_at: details
                .evidence
                .as_ref()
                .map(|it| Time::moment(it.chapter.at)),
            lacks_evidence: url.condition == UrlCondition::Affected && details.evidence.is_none(),
            incidents,
            promise: promise(url, &details.origins),
            place: one_line(&format!("{}, line {}", url.file, url.line)),
            used: uses_text(&url.uses).map(|text| text.plain()),
            place_link: self.file_link(&url.file, Some(url.line)),
            commands: plain.map_or_else(Vec::new, |plain| commands(url, plain, details)),
            stretches: rows(&stretches),
            captures: details.captures.iter().map(capture_row).collect(),
            more_captures: details.more_captures,
            list: plain.and_then(|plain| archive_line("list", plain, &[])),
        }
    }

    /// The latest evidence of the URL itself.
    fn own_evidence(&self, details: &UrlDetails) -> Option<BoxRow> {
        let known = details.evidence.as_deref()?;
        let incident = &self.incident(&known.incident)?.incident;
        let (chapter, evidence) = (&known.chapter, &known.evidence);
        Some(self.evidence(incident, chapter, evidence, &HashSet::new()))
    }

    /// The incidents of a URL, the latest first.
    fn incidents_of(&self, details: &UrlDetails) -> Vec<IncidentRow> {
        let mut known: Vec<_> = details
            .incidents
            .iter()
            .filter_map(|id| self.incident(id))
            .collect();
        known.sort_by_key(|it| it.incident.order());
        known.sort_by_key(|it| Reverse((it.incident.closed.is_none(), it.incident.since)));
        known.into_iter().map(|it| self.incident_row(it)).collect()
    }
}

/// The first day of the week of a time.
fn week(time: Timestamp) -> Time {
    let day = date(time);
    let days = i64::from(day.weekday().to_monday_zero_offset());
    let monday: Date = day.checked_sub(jiff::Span::new().days(days)).unwrap_or(day);
    let monday = monday.to_zoned(jiff::tz::TimeZone::UTC);
    Time::day(monday.map_or(time, |monday| monday.timestamp()))
}

fn figures(url: &UrlOverview, details: &UrlDetails, is_weekly: bool) -> Vec<Figure> {
    let mut figures = vec![];
    let dates = [
        ("Last check", url.checked.filter(|_| !is_weekly)),
        ("Last verified", url.verified.filter(|_| !is_weekly)),
    ];
    for (name, time) in dates {
        if let Some(time) = time {
            figures.push(Figure::new(name, day_in_words(time), ""));
        } else if name == "Last verified" && url.is_static() && !is_weekly {
            figures.push(Figure::new(name, "never", "byte for byte"));
        }
    }
    let rest = url.known_since.map_or_else(String::new, |since| {
        format!("since {}", day_in_words(since))
    });
    let incidents = details.incidents.len() as u64;
    figures.push(Figure::new("Incidents", number(incidents), rest));
    let contents: HashSet<&String> = details
        .captures
        .iter()
        .map(|capture| &capture.digest)
        .collect();
    let rest = match contents.len() {
        0 => "in the archive".to_owned(),
        1 => "in full, of one content".to_owned(),
        contents => format!("in full, of {} contents", number(contents as u64)),
    };
    let captures = details.captures.len() as u64 + details.more_captures;
    figures.push(Figure::new("Captures", number(captures), rest));
    figures
}

/// The facts that the record promises, those that urldb knows of them, and who answered.
fn promise(url: &UrlOverview, origins: &[OriginInfo]) -> Vec<FactRow> {
    let promised = &url.promised;
    let fact = |name, value: Option<String>, is_digest| {
        value.map(|value| FactRow {
            name,
            value,
            is_digest,
        })
    };
    let text = |text: &Option<String>| text.as_deref().map(one_line);
    let categories = (!url.categories.is_empty()).then(|| one_line(&url.categories.join(", ")));
    let archived = match (url.is_static(), url.is_archived) {
        (false, _) => None,
        (true, true) => {
            let stored = url.stored.as_ref().map(stored_words);
            let stored = stored.map_or_else(String::new, |stored| format!(", {stored}"));
            Some(format!("yes: the archive has the promised bytes{stored}"))
        }
        (true, false) if url.capture.is_none() => Some(not_archived(url)),
        (true, false) => Some("no".to_owned()),
    };
    let digest = |name| {
        promised
            .all_digests()
            .into_iter()
            .find(|(known, _)| *known == name)
            .map(|(_, hex)| one_line(hex))
    };
    let facts = [
        fact("SHA-256", text(&promised.sha256), true),
        fact("SHA-512", digest("sha512"), true),
        fact("SHA-384", digest("sha384"), true),
        fact("SHA-1", digest("sha1"), true),
        fact("MD5", digest("md5"), true),
        fact("Length", promised.length.map(bytes), false),
        fact("Type", text(&promised.content_type), false),
        fact("Status", promised.status.map(status_text), false),
        fact("Redirect", text(&promised.redirects_to), false),
        fact("Request", text(&url.request), false),
        fact("Categories", categories, false),
        fact("In the archive", archived, false),
        fact("First seen", url.known_since.map(day_in_words), false),
    ];
    let origins = origins.iter().map(|origin| FactRow {
        name: if origin.uri.as_str().starts_with("tls:") {
            "Certificate"
        } else {
            "Addresses"
        },
        value: format!("{} (since {})", origin.text, day_in_words(origin.since)),
        is_digest: false,
    });
    facts.into_iter().flatten().chain(origins).collect()
}

fn commands(url: &UrlOverview, plain: AskedUrl<'_>, details: &UrlDetails) -> Vec<Command> {
    let mut rows = vec![];
    if let Some(algorithm) = shown_algorithm(&url.promised) {
        let purpose = "Check the promise yourself";
        rows.extend(digest_command(purpose, plain, algorithm));
    } else {
        rows.extend(headers_command("See the answer yourself", plain));
    }
    let promised = url
        .promised
        .sha256
        .as_ref()
        .map(|hex| format!("sha256:{hex}"));
    let mut digests = details.captures.iter().map(|capture| &capture.digest);
    if digests.any(|digest| Some(digest) == promised.as_ref()) {
        rows.extend(promised_bytes(
            "Take the promised bytes out of the archive",
            plain,
            &url.promised,
        ));
    } else if !details.captures.is_empty() {
        rows.extend(archive_command(
            "Take the bytes out of the archive",
            "get",
            plain,
            &[],
        ));
    }
    rows
}

/// The states of a URL, oldest first: those of its incidents, or else the present one.
fn stretches(url: &UrlOverview, chapters: &[Chapter]) -> Vec<Stretch> {
    let of = |state| (class_of(state), state_in_words(state));
    let mut all: Vec<Stretch> = vec![];
    if let (Some(from), []) = (url.known_since, chapters) {
        let (class, state) = of(url.state.unwrap_or(State::Inconclusive));
        all.push(Stretch { from, class, state });
    }
    for chapter in chapters {
        let (class, state) = match (chapter.event, chapter.because, chapter.state) {
            (EventKind::Flapping, ..) => ("w", "flapping".to_owned()),
            (EventKind::Steady, ..) => ("b", "broken".to_owned()),
            (_, Some(Because::Removed), _) => ("o", "no record".to_owned()),
            (_, Some(_), _) => of(State::Ok),
            (_, None, Some(state)) => of(state),
            (_, None, None) => continue,
        };
        all.push(Stretch {
            from: chapter.at,
            class,
            state,
        });
    }
    let now = match (url.condition, url.state) {
        (UrlCondition::Unconfirmed, _) => url
            .pending_since
            .zip(url.pending)
            .map(|(from, state)| (from, "w", format!("in doubt ({})", state_in_words(state)))),
        (UrlCondition::Affected, Some(State::Ok)) => {
            url.since.map(|from| (from, "b", "not tried".to_owned()))
        }
        _ => None,
    };
    all.extend(now.map(|(from, class, state)| Stretch { from, class, state }));
    all.sort_by_key(|stretch| stretch.from);
    // The later of two at one time counts, and a state that goes on is one stretch.
    let mut joined: Vec<Stretch> = vec![];
    for stretch in all {
        match joined.last_mut() {
            Some(last) if last.from == stretch.from => *last = stretch,
            Some(last) if last.state == stretch.state => {}
            _ => joined.push(stretch),
        }
    }
    joined
}

fn class_of(state: State) -> &'static str {
    match state {
        State::Ok => "k",
        state if state.is_broken() => "b",
        _ => "o",
    }
}

/// The latest first.
fn rows(stretches: &[Stretch]) -> Vec<StretchRow> {
    let day = |stretch: &Stretch| stretch.from.strftime("%Y-%m-%d").to_string();
    let ends: Vec<String> = stretches
        .iter()
        .skip(1)
        .map(day)
        .chain([String::new()])
        .collect();
    stretches
        .iter()
        .zip(ends)
        .rev()
        .map(|(stretch, until)| StretchRow {
            class: stretch.class,
            from: day(stretch),
            until,
            state: stretch.state.clone(),
        })
        .collect()
}

fn capture_row(capture: &CaptureInfo) -> CaptureRow {
    // `2026-11-22T05:09:18Z`
    let date = capture.date.get(..16).unwrap_or(&capture.date);
    let digest = &capture.digest;
    CaptureRow {
        date: one_line(&date.replace('T', " ")),
        status: capture
            .status
            .map_or_else(String::new, |status| status.to_string()),
        digest: one_line(digest.strip_prefix("sha256:").unwrap_or(digest)),
        file: one_line(&capture.file),
        offset: capture
            .offset
            .map_or_else(String::new, |offset| offset.to_string()),
        record: capture.record.as_deref().map(one_line).unwrap_or_default(),
    }
}
