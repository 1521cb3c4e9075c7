//! The commands on the page of an open incident.

use jiff::Timestamp;
use urldb_protocol::{AffectedUrl, Incident, IncidentOverview, Notice, NoticeKind, Reason, State};
use urldb_render::numbers::number;
use urldb_render::{
    AskedUrl, ack_command, algorithm, bytes_in_turn, check_command, command_line, curl_words,
    is_unsettled, one_line, url_path,
};

use super::commands::{
    CommandRow, command, digest_command, headers_command, promised_bytes, row, shown_algorithm,
};
use super::values::reason_of;

/// Most states of URLs that have commands of their own beside that of the evidence.
const MOST_OTHER_STATES: usize = 3;

/// Commands for an open incident: see the answer, get the promised bytes, accept the new ones, check again, stop reminders.
pub(super) fn commands(it: &IncidentOverview, checked: Option<Timestamp>) -> Vec<CommandRow> {
    let incident = &it.incident;
    if let Some(notice) = incident.notice.as_ref().filter(|_| incident.is_notice()) {
        return of_notice(notice, &it.domain).into_iter().collect();
    }
    let affected: Vec<&AffectedUrl> = incident.affected().collect();
    // The run may have stored evidence of other URLs only.
    let first = affected.iter().find(|url| incident.evidence.is_about(url));
    let Some(first) = first.or(affected.first()) else {
        return vec![];
    };
    let mut rows = of_url(incident, first, affected.len());
    let mut states = vec![state(incident, first)];
    for url in &affected {
        let state = state(incident, url);
        if states.len() <= MOST_OTHER_STATES && !states.contains(&state) {
            states.push(state);
            rows.extend(of_other_state(incident, url));
        }
    }
    let again = match affected.len() as u64 {
        1 => "Check it again".to_owned(),
        2 => "Check both again".to_owned(),
        some => format!("Check all {} again", number(some)),
    };
    rows.extend(check_command(incident, first).map(|line| row(&again, line)));
    let ack = checked.and_then(|checked| ack_command(incident, checked));
    rows.extend(ack.map(|line| row("Stop reminders until this date, with your reason", line)));
    rows
}

fn of_notice(notice: &Notice, domain: &str) -> Option<CommandRow> {
    match notice.kind {
        NoticeKind::CertificateEnds
        | NoticeKind::NeedsHttp2
        | NoticeKind::UnsupportedTls
        | NoticeKind::SlowRound => command("Check it again", &["urldb", "check", "-d", domain]),
        NoticeKind::EvidenceLost => command(
            "Once the lost file is back in a place of the archive",
            &["urldb", "archive", "repair"],
        ),
        NoticeKind::Blind => command("Test the network", &["urldb", "doctor"]),
        NoticeKind::Mistake => command("Check the file", &["urldb", "lint", &notice.file]),
    }
}

fn state(incident: &Incident, url: &AffectedUrl) -> State {
    url.state.unwrap_or(incident.state)
}

/// Commands for the URL of the evidence, which are an example if the incident has others.
fn of_url(incident: &Incident, affected: &AffectedUrl, urls: usize) -> Vec<CommandRow> {
    let (url, asked) = (affected.url.as_str(), AskedUrl::from(affected));
    // Without evidence of this URL, its promise is unknown.
    let evidence = Some(&incident.evidence).filter(|evidence| evidence.is_about(affected));
    let promised = evidence.map(|evidence| &evidence.promised);
    let of = match urls {
        1 => String::new(),
        _ => of_path(affected),
    };
    let is_changed = state(incident, affected) == State::Changed && incident.redirect.is_none();
    let reason = reason_of(incident).filter(|_| is_changed);
    let mut rows = vec![];
    if affected.request.is_some() {
        // Curl would ask otherwise.
    } else if affected.intermittent || reason == Some(Reason::Unstable) {
        rows.extend(bytes_in_turn(asked).map(|line| row("Compare several answers", line)));
    } else if let Some(name) = promised.and_then(shown_algorithm).filter(|_| is_changed) {
        let purpose = format!("See the {}{of} yourself", algorithm(name));
        rows.extend(digest_command(&purpose, asked, name));
        let first = evidence.and_then(|evidence| evidence.first_difference);
        rows.extend(first.and_then(|first| {
            let bytes = format!("+{}", first.saturating_add(1));
            let curl = command_line(&curl_words(&["-sSL"], asked))?;
            let line = format!("{curl} | tail -c {bytes} | head -c 400");
            Some(row("See the bytes from the first difference on", line))
        }));
    } else {
        rows.extend(headers_command(
            &format!("See the answer{of} yourself"),
            asked,
        ));
    }
    let archived = format!("Take the promised bytes{of} out of the archive");
    rows.extend(promised.and_then(|promised| promised_bytes(&archived, asked, promised)));
    let is_doubtful = evidence.is_some_and(|evidence| evidence.doubt.is_some());
    if is_changed && !is_doubtful && !reason.is_some_and(is_unsettled) {
        rows.extend(accept(&of, url));
    }
    rows
}

/// A command for the first URL in another state than that of the evidence.
fn of_other_state(incident: &Incident, affected: &AffectedUrl) -> Option<CommandRow> {
    let url = affected.url.as_str();
    let of = of_path(affected);
    match state(incident, affected) {
        State::Changed => accept(&of, url),
        _ if affected.request.is_some() => None,
        _ => headers_command(&format!("See the answer{of} yourself"), affected.into()),
    }
}

/// ` of /data/a.csv`: the path of a URL that is one of several, and its variant.
fn of_path(url: &AffectedUrl) -> String {
    let path = format!("{}{}", url_path(&url.url), url.variant_suffix());
    format!(" of {}", one_line(&path))
}

/// Accepts what a URL serves. `of` names the URL, if the incident has others.
fn accept(of: &str, url: &str) -> Option<CommandRow> {
    let purpose = format!("Make the new bytes{of} the promise, if they are meant");
    command(&purpose, &["urldb", "accept", url])
}
