//! Blocks: title, evidence, URLs and commands of incidents, and of messages that could not be sent.

use urldb_protocol::{AffectedUrl, Envelope, Incident, NoticeKind, Phase, Reason, State};
use urldb_text::sanitize;

use super::causes::{ALIAS_DIFFERS, IncidentView};
use super::changed::changed_in_brief;
use super::commands::{commands, is_tls};
use super::facts::facts;
use super::lookup::Lookup;
use super::notices::is_end;
use super::scope::Scope;
use super::urls::{path_of, prefix, without_scheme};
use crate::history::end_of;
use crate::message::{Block, Class, SourceLink, UrlList, UrlRow};
use crate::numbers::{bytes, count, moment, number, share, with_spaces};
use crate::sentences::{Cause, Subject, is_unsettled, status_line};
use crate::text::{Text, shown_host};
use crate::uses::used_in_row;

/// The block of an incident.
pub(super) fn incident(view: &IncidentView<'_>, envelope: &Lookup<'_>, scope: Scope<'_>) -> Block {
    let cause = view.cause();
    let class = class(view);
    let (commands, brief_command) = commands(view, envelope, scope);
    let wrong_address = wrong_address(view, envelope, scope);
    Block {
        code: (!matches!(class, Class::Recovered | Class::Closed | Class::Flapping)).then(|| {
            match view.domain() {
                Some(_) => ALIAS_DIFFERS.to_owned(),
                None => cause.state.to_string(),
            }
        }),
        known: view.phase() == Phase::Unchanged && !scope.is_check(),
        short: short(view, &cause),
        host: shown_host(&view.incident.host),
        ids: Some(view.incident.id.clone())
            .filter(|id| !id.is_empty())
            .into_iter()
            .collect(),
        urls_total: view.urls_now(),
        place: place(view, envelope),
        facts: facts(view, envelope, scope),
        note: note(view, scope, envelope),
        urls: urls(view, envelope),
        commands,
        brief: match &wrong_address {
            Some(place) if place.is_list => {
                brief(view, &cause).own(" If the address is wrong, correct it in this line.")
            }
            Some(_) => brief(view, &cause).own(format!(
                " If the address is wrong, correct _path in this line. {UPLOAD_FIRST}"
            )),
            None => brief(view, &cause),
        },
        brief_command: brief_command.filter(|_| wrong_address.is_none()),
        ..Block::new(class, subject(view, &cause), sentence(view, &cause))
    }
}

/// The block of all hosts that our own network did not let a run reach.
pub(super) fn own_network(
    incidents: &[&Incident],
    envelope: &Lookup<'_>,
    scope: Scope<'_>,
) -> Option<Block> {
    let view = IncidentView::new(incidents.first()?, envelope);
    let block = incident(&view, envelope, scope);
    let hosts = incidents.len() as u64;
    if hosts == 1 {
        return Some(block);
    }
    let urls = incidents.iter().map(|it| it.urls.len() as u64).sum();
    let all = incidents.iter().map(|it| it.host_urls).sum();
    let share = with_spaces(&share(urls, all, "URL"));
    let sentence = view.cause().sentence().own(format!(" ({share})"));
    let subject = Text::from(with_spaces(&count(hosts, "host")));
    Some(Block {
        short: subject.clone().own(" ").and(sentence.clone()),
        subject,
        sentence,
        urls_total: urls,
        urls: None,
        place: None,
        ..block
    })
}

/// Subject and sentence of an incident, for lists of open incidents.
pub(super) fn title(view: &IncidentView<'_>) -> Text {
    let cause = view.cause();
    let (subject, sentence) = (subject(view, &cause), sentence(view, &cause));
    if sentence.is_empty() {
        return subject;
    }
    subject.own(" ").and(sentence)
}

pub(super) fn class(view: &IncidentView<'_>) -> Class {
    match view.phase() {
        Phase::Closed => end_of(view.incident).0,
        Phase::Unconfirmed => Class::Unconfirmed,
        Phase::Unknown => Class::Unknown,
        _ if view.incident.state.is_unsure() => Class::Unknown,
        _ if view.incident.is_flapping() => Class::Flapping,
        _ => Class::Broken,
    }
}

pub(super) fn subject(view: &IncidentView<'_>, cause: &Cause<'_>) -> Text {
    match cause.subject {
        Subject::Url => match view.urls().next() {
            Some(url) => with_variant(Text::new().code(&url.url), url),
            None => Text::new().host(&view.incident.host),
        },
        Subject::Host => Text::new().host(&view.incident.host),
    }
}

fn sentence(view: &IncidentView<'_>, cause: &Cause<'_>) -> Text {
    let sentence = match view.phase() {
        Phase::Closed => {
            return match end_of(view.incident).1.as_str() {
                "" => Text::new(),
                numbers => Text::from(format!("({numbers})")),
            };
        }
        _ if view.incident.is_flapping() => Text::new(),
        _ => cause.sentence(),
    };
    if cause.subject == Subject::Url || cause.counts_urls() {
        return sentence;
    }
    let share = share(view.urls_of_title(), view.host_urls(), "URL");
    let begin = if sentence.is_empty() { "(" } else { " (" };
    sentence
        .own(begin)
        .own(share.replace('\u{a0}', " "))
        .own(")")
}

/// Adds the variant of a URL to a text that ends in the URL.
fn with_variant(text: Text, url: &AffectedUrl) -> Text {
    if url.variant.is_none() {
        return text;
    }
    text.own(sanitize(&url.variant_suffix()))
}

/// The title for subjects: without scheme, and with the number of affected URLs only.
fn short(view: &IncidentView<'_>, cause: &Cause<'_>) -> Text {
    let subject = match cause.subject {
        Subject::Url => {
            let first = view.urls().next();
            let url = first.map_or(view.incident.host.as_str(), |url| &url.url);
            let text = Text::new().code(without_scheme(url));
            match first {
                Some(url) => with_variant(text, url),
                None => text,
            }
        }
        Subject::Host => subject(view, cause),
    };
    if cause.counts_urls() {
        let urls = count(view.urls_of_title(), "URL");
        return subject.own(format!(" redirects {urls} to its home page"));
    }
    if view.phase() == Phase::Closed || view.incident.is_flapping() {
        let sentence = sentence(view, cause);
        let space = if sentence.is_empty() { "" } else { " " };
        return subject.own(space).and(sentence);
    }
    let text = subject.own(" ").and(cause.sentence());
    match cause.subject {
        Subject::Url => text,
        Subject::Host => text.own(format!(" ({})", count(view.urls_of_title(), "URL"))),
    }
}

fn place(view: &IncidentView<'_>, envelope: &Lookup<'_>) -> Option<SourceLink> {
    let is_one = view.cause().subject == Subject::Url;
    let url = view.urls().next()?;
    (view.phase() != Phase::Closed).then(|| envelope.place(url, is_one))
}

fn note(view: &IncidentView<'_>, scope: Scope<'_>, envelope: &Lookup<'_>) -> Option<Text> {
    let cause = view.cause();
    let is_one = cause.subject == Subject::Url;
    if matches!(scope, Scope::Reminder(_)) {
        return Some(Text::from(if is_one {
            "If the URL is gone for good: remove its record, or give it the category `deprecated`."
        } else {
            "If the host is gone for good: remove its file, or give its records the category \
             `deprecated`."
        }));
    }
    let place = wrong_address(view, envelope, scope);
    if let (Some(place), Phase::Opened) = (place, view.phase()) {
        let line = place.line.unwrap_or(1);
        return Some(if place.is_list {
            Text::from(format!(
                "If the address is wrong, correct it in line {line}."
            ))
        } else {
            Text::from("If the address is wrong, correct ")
                .code("_path")
                .own(format!(" in line {line}. {UPLOAD_FIRST}"))
        });
    }
    let note = match (view.phase(), view.reason()) {
        (Phase::Closed, _) => return None,
        (Phase::Unconfirmed, _) if !scope.is_check() => {
            "The next run confirms this or clears it. Until then nobody is notified."
        }
        (Phase::Unknown, Some(Reason::OwnNetwork)) if has_notice(envelope) => {
            "Probably the network of this machine failed. No URL counts as broken because of this run."
        }
        (Phase::Unknown, Some(Reason::OwnNetwork)) => {
            "Probably the network of this machine failed. No URL counts as broken because of this run, and nobody is \
             notified."
        }
        (_, Some(Reason::TlsExpired)) if is_end(view.incident) => return None,
        (_, Some(Reason::TlsExpired)) => {
            "Nothing is read over a connection with an expired certificate, so no bytes were compared."
        }
        (_, Some(reason)) if is_tls(reason) => {
            "Nothing is read over such a connection, so no bytes were compared."
        }
        _ if cause.redirect.is_some() && !is_one => {
            "Probably one redirect rule of the server catches them all."
        }
        _ => return None,
    };
    Some(Text::from(note))
}

/// Whether the message says that our own network impairs runs.
fn has_notice(envelope: &Envelope) -> bool {
    envelope.incidents.iter().any(|it| {
        it.notice_of(NoticeKind::Impaired).is_some() && it.host.is_empty() && it.is_open()
    })
}

const UPLOAD_FIRST: &str = "If the file is missing on the server, upload it first.";

/// The line of the list or the record, if a pull request promises a URL that does not exist.
fn wrong_address(
    view: &IncidentView<'_>,
    envelope: &Lookup<'_>,
    scope: Scope<'_>,
) -> Option<SourceLink> {
    let is_new = matches!(scope, Scope::PullRequest { .. });
    let is_gone = view.incident.state == State::Gone
        && view.reason() != Some(Reason::Parked)
        && view.cause().subject == Subject::Url;
    let url = view.urls().next().filter(|_| is_new && is_gone)?;
    Some(envelope.place(url, true))
}

/// The affected URLs, unless all URLs of the host are affected.
fn urls(view: &IncidentView<'_>, envelope: &Lookup<'_>) -> Option<UrlList> {
    let is_one = view.cause().subject == Subject::Url;
    let is_host_wide = view.urls_now() >= view.host_urls();
    if is_one || view.phase() == Phase::Closed {
        return None;
    }
    let listed: Vec<&AffectedUrl> = view.urls().collect();
    // The lists that use the URLs of a host are not known from its name.
    let is_in_list = listed.iter().any(|url| envelope.uses(url).is_some());
    if listed.is_empty() || (is_host_wide && !is_in_list) {
        return None;
    }
    let row = |url: &&AffectedUrl| UrlRow {
        shown: sanitize(&(path_of(&url.url) + &url.variant_suffix())).into_owned(),
        place: envelope.place(url, true),
        used: envelope.uses(url).and_then(used_in_row),
    };
    Some(UrlList {
        has_prefix: prefix(listed.iter().copied()).is_some(),
        total: listed.len() as u64,
        rows: listed.iter().map(row).collect(),
    })
}

/// The evidence in one or two sentences.
fn brief(view: &IncidentView<'_>, cause: &Cause<'_>) -> Text {
    let evidence = &view.incident.evidence;
    let observed = &evidence.observed;
    let since = Text::from(", since ").own(moment(view.incident.since));
    if view.phase() == Phase::Closed {
        return Text::new();
    }
    if let (Some(target), Some(status)) = (cause.redirect, observed.redirect_status) {
        let text = status_line(status).own(" to ").code(target);
        let text = match (observed.length, &observed.content_type) {
            (Some(length), Some(content_type)) => text
                .own(format!(", which serves {} of ", bytes(length)))
                .outside(content_type.split(';').next().unwrap_or_default()),
            _ => text,
        };
        let text = text.own(".");
        let below = prefix(view.urls()).filter(|_| cause.subject == Subject::Host);
        return match below {
            Some(prefix) => {
                let all = number(view.urls_now());
                text.own(format!(" All {all} are below "))
                    .path(&prefix)
                    .own(".")
            }
            None => text,
        };
    }
    match (view.incident.state, cause.subject) {
        (State::Changed, _) if view.reason().is_some_and(is_unsettled) => {
            Text::from(Text::new().outside(&evidence.detail).capitalized()).own(".")
        }
        (State::Changed, Subject::Url) => changed_in_brief(evidence),
        (State::Unreachable, _) => match (view.reason(), &evidence.certificate) {
            (Some(Reason::TlsExpired), Some(dates)) => Text::from("It expired on ")
                .own(moment(dates.not_after))
                .own(". Renew it."),
            _ if evidence.detail.is_empty() => Text::from("Broken").and(since).own("."),
            _ => Text::from(Text::new().outside(&evidence.detail).capitalized())
                .and(since)
                .own("."),
        },
        (_, Subject::Host) if view.urls_now() < view.host_urls() => paths_in_brief(view),
        _ if evidence.requests > 1 => {
            let times = count(evidence.requests.into(), "time");
            let who = match cause.subject {
                Subject::Url => "It",
                Subject::Host => "Every URL",
            };
            Text::from(format!("{who} was tried {times}."))
        }
        _ => Text::from("Broken").and(since).own("."),
    }
}

/// Fewer paths than these are named in full.
const PATHS_IN_BRIEF: usize = 5;

fn paths_in_brief(view: &IncidentView<'_>) -> Text {
    let mut text = Text::new();
    for (index, url) in view.urls().take(PATHS_IN_BRIEF).enumerate() {
        text = text
            .own(if index == 0 { "" } else { ", " })
            .path(&path_of(&url.url));
        text = with_variant(text, url);
    }
    let more = view.urls_now().saturating_sub(PATHS_IN_BRIEF as u64);
    match more {
        0 => text.own("."),
        _ => text.own(format!(" and {} more.", number(more))),
    }
}
