//! Blocks: title, evidence, URLs and commands of incidents, and of messages that could not be sent.

use urldb_protocol::{AffectedUrl, Envelope, Incident, NoticeKind, Phase, Reason, State};
use urldb_text::sanitize;

use super::causes::{ALIAS_DIFFERS, Group};
use super::changed::changed_in_brief;
use super::commands::{commands, is_tls};
use super::facts::facts;
use super::lookup::Lookup;
use super::notices::is_end;
use super::scope::Scope;
use super::urls::{path_of, prefix, without_scheme};
use crate::history::end_of;
use crate::message::{Block, Class, HostRow, SourceLink, UrlList, UrlRow};
use crate::numbers::{bytes, count, moment, number, ratio, share};
use crate::sentences::{Cause, Subject, is_unsettled, status_line};
use crate::text::{Text, shown_host};
use crate::uses::used_in_row;

/// The block of incidents with one cause.
pub(super) fn incidents(group: &Group<'_>, envelope: &Lookup<'_>, scope: Scope<'_>) -> Block {
    let cause = group.cause();
    let class = class(group);
    let (commands, brief_command) = commands(group, envelope, scope);
    let wrong_address = wrong_address(group, envelope, scope);
    let ids = group.incidents.iter().map(|incident| incident.id.clone());
    Block {
        code: (!matches!(class, Class::Recovered | Class::Closed | Class::Flapping)).then(|| {
            match group.domain() {
                Some(_) => ALIAS_DIFFERS.to_owned(),
                None => cause.state.to_string(),
            }
        }),
        known: group.phase() == Phase::Unchanged && !scope.is_check(),
        short: short(group, &cause),
        host: shown_host(&group.first().host),
        ids: ids.filter(|id| !id.is_empty()).collect(),
        urls_total: group.urls_now(),
        place: place(group, envelope),
        hosts: hosts(group, envelope),
        facts: facts(group, envelope, scope),
        note: note(group, scope, envelope),
        urls: urls(group, envelope),
        commands,
        brief: match &wrong_address {
            Some(place) if place.is_list => {
                brief(group, &cause).own(" If the address is wrong, correct it in this line.")
            }
            Some(_) => brief(group, &cause).own(format!(
                " If the address is wrong, correct _path in this line. {UPLOAD_FIRST}"
            )),
            None => brief(group, &cause),
        },
        brief_command: brief_command.filter(|_| wrong_address.is_none()),
        ..Block::new(class, subject(group, &cause), sentence(group, &cause))
    }
}

/// Subject and sentence of a group, for lists of open incidents.
pub(super) fn title(group: &Group<'_>) -> Text {
    let cause = group.cause();
    let (subject, sentence) = (subject(group, &cause), sentence(group, &cause));
    if sentence.is_empty() {
        return subject;
    }
    subject.own(" ").and(sentence)
}

pub(super) fn class(group: &Group<'_>) -> Class {
    match group.phase() {
        Phase::Closed => ended(group).0,
        Phase::Unconfirmed => Class::Unconfirmed,
        Phase::Unknown => Class::Unknown,
        _ if group.first().state.is_unsure() => Class::Unknown,
        _ if group.is_flapping() => Class::Flapping,
        _ => Class::Broken,
    }
}

pub(super) fn subject(group: &Group<'_>, cause: &Cause<'_>) -> Text {
    match cause.subject {
        Subject::Hosts(hosts) => Text::from(count(hosts, "host")),
        Subject::Host => Text::new().host(&group.first().host),
        Subject::Url => match group.urls().next() {
            Some(url) => with_variant(Text::new().code(&url.url), url),
            None => Text::new().host(&group.first().host),
        },
    }
}

/// The end of a closed group, and its numbers.
fn ended(group: &Group<'_>) -> (Class, String) {
    end_of(group.incidents.iter().copied())
}

fn sentence(group: &Group<'_>, cause: &Cause<'_>) -> Text {
    let sentence = match group.phase() {
        Phase::Closed => {
            return match ended(group).1.as_str() {
                "" => Text::new(),
                numbers => Text::from(format!("({numbers})")),
            };
        }
        _ if group.is_flapping() => Text::new(),
        _ => cause.sentence(),
    };
    if cause.subject == Subject::Url || cause.counts_urls() {
        return sentence;
    }
    let share = share(group.urls_of_title(), group.host_urls(), "URL");
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
fn short(group: &Group<'_>, cause: &Cause<'_>) -> Text {
    let subject = match cause.subject {
        Subject::Url => {
            let first = group.urls().next();
            let url = first.map_or(group.first().host.as_str(), |url| &url.url);
            let text = Text::new().code(without_scheme(url));
            match first {
                Some(url) => with_variant(text, url),
                None => text,
            }
        }
        _ => subject(group, cause),
    };
    if cause.counts_urls() {
        let urls = count(group.urls_of_title(), "URL");
        let pages = match cause.subject {
            Subject::Hosts(_) => "redirect",
            _ => "redirects",
        };
        let target = match cause.subject {
            Subject::Hosts(_) => "to their home pages",
            _ => "to its home page",
        };
        return subject.own(format!(" {pages} {urls} {target}"));
    }
    if group.phase() == Phase::Closed || group.is_flapping() {
        let sentence = sentence(group, cause);
        let space = if sentence.is_empty() { "" } else { " " };
        return subject.own(space).and(sentence);
    }
    let text = subject.own(" ").and(cause.sentence());
    match cause.subject {
        Subject::Url => text,
        _ => text.own(format!(" ({})", count(group.urls_of_title(), "URL"))),
    }
}

fn place(group: &Group<'_>, envelope: &Lookup<'_>) -> Option<SourceLink> {
    let is_one = group.cause().subject == Subject::Url;
    let url = group.urls().next()?;
    if group.incidents.len() > 1 || group.phase() == Phase::Closed {
        return None;
    }
    Some(envelope.place(url, is_one))
}

fn hosts(group: &Group<'_>, envelope: &Lookup<'_>) -> Vec<HostRow> {
    let is_listed = group.incidents.len() > 1 && group.reason() != Some(Reason::OwnNetwork);
    if !is_listed {
        return Vec::new();
    }
    group
        .incidents
        .iter()
        .map(|incident| host_row(incident, envelope))
        .collect()
}

fn host_row(incident: &Incident, envelope: &Lookup<'_>) -> HostRow {
    let group = Group::one(incident, envelope);
    let first = incident.urls.first();
    HostRow {
        host: shown_host(&incident.host),
        sentence: sentence(
            &group,
            &Cause {
                subject: Subject::Host,
                ..group.cause()
            },
        ),
        urls: group.urls_now(),
        host_urls: group.host_urls(),
        share: Text::from(ratio(group.urls_of_title(), group.host_urls())),
        place: first.map(|url| envelope.place(url, false)),
        solved: incident.phase == Phase::Closed,
    }
}

/// The hosts of incidents that share an issue, those included whose incidents are closed.
pub(crate) fn checklist(incidents: &[&Incident], envelope: &Lookup<'_>) -> Vec<HostRow> {
    incidents
        .iter()
        .map(|incident| host_row(incident, envelope))
        .collect()
}

fn note(group: &Group<'_>, scope: Scope<'_>, envelope: &Lookup<'_>) -> Option<Text> {
    let cause = group.cause();
    let is_one = cause.subject == Subject::Url;
    if matches!(scope, Scope::Reminder(_)) {
        return Some(Text::from(if is_one {
            "If the URL is gone for good: remove its record, or give it the category `deprecated`."
        } else {
            "If the host is gone for good: remove its file, or give its records the category \
             `deprecated`."
        }));
    }
    let place = wrong_address(group, envelope, scope);
    if let (Some(place), Phase::Opened) = (place, group.phase()) {
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
    let note = match (group.phase(), group.reason()) {
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
        (_, Some(Reason::TlsExpired)) if is_end(group.first()) => return None,
        (_, Some(Reason::TlsExpired)) => {
            "Nothing is read over a connection with an expired certificate, so no bytes were compared."
        }
        (_, Some(reason)) if is_tls(reason) => {
            "Nothing is read over such a connection, so no bytes were compared."
        }
        _ if cause.redirect.is_some() && !is_one && group.incidents.len() == 1 => {
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
fn wrong_address(group: &Group<'_>, envelope: &Lookup<'_>, scope: Scope<'_>) -> Option<SourceLink> {
    let is_new = matches!(scope, Scope::PullRequest { .. });
    let is_gone = group.first().state == State::Gone
        && group.reason() != Some(Reason::Parked)
        && group.cause().subject == Subject::Url;
    let url = group.urls().next().filter(|_| is_new && is_gone)?;
    Some(envelope.place(url, true))
}

/// The affected URLs, unless all URLs of the host are affected.
fn urls(group: &Group<'_>, envelope: &Lookup<'_>) -> Option<UrlList> {
    let is_one = group.cause().subject == Subject::Url;
    let is_host_wide = group.urls_now() >= group.host_urls();
    if is_one || group.phase() == Phase::Closed {
        return None;
    }
    let listed: Vec<&AffectedUrl> = group.urls().collect();
    // The lists that use the URLs of a host are not known from its name.
    let is_in_list = listed.iter().any(|url| envelope.uses(url).is_some());
    if listed.is_empty() || (is_host_wide && !is_in_list) {
        return None;
    }
    let as_paths = group.incidents.len() == 1;
    let has_prefix = as_paths && prefix(listed.iter().copied()).is_some();
    let row = |url: &&AffectedUrl| UrlRow {
        shown: {
            let url_or_path = if as_paths {
                path_of(&url.url)
            } else {
                url.url.clone()
            };
            sanitize(&(url_or_path + &url.variant_suffix())).into_owned()
        },
        place: envelope.place(url, true),
        used: envelope.uses(url).and_then(used_in_row),
    };
    Some(UrlList {
        as_paths,
        has_prefix,
        total: listed.len() as u64,
        rows: listed.iter().map(row).collect(),
    })
}

/// The evidence in one or two sentences.
fn brief(group: &Group<'_>, cause: &Cause<'_>) -> Text {
    let evidence = &group.first().evidence;
    let observed = &evidence.observed;
    let since = Text::from(", since ").own(moment(group.since()));
    if group.phase() == Phase::Closed {
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
        let below = prefix(group.urls()).filter(|_| cause.subject == Subject::Host);
        return match below {
            Some(prefix) => {
                let all = number(group.urls_now());
                text.own(format!(" All {all} are below "))
                    .path(&prefix)
                    .own(".")
            }
            None => text,
        };
    }
    match (group.first().state, cause.subject) {
        (State::Changed, _) if group.reason().is_some_and(is_unsettled) => {
            Text::from(Text::new().outside(&evidence.detail).capitalized()).own(".")
        }
        (State::Changed, Subject::Url) => changed_in_brief(evidence),
        (State::Unreachable, _) => match (group.reason(), &evidence.certificate) {
            (Some(Reason::TlsExpired), Some(dates)) => Text::from("It expired on ")
                .own(moment(dates.not_after))
                .own(". Renew it."),
            _ if evidence.detail.is_empty() => Text::from("Broken").and(since).own("."),
            _ => Text::from(Text::new().outside(&evidence.detail).capitalized())
                .and(since)
                .own("."),
        },
        (_, Subject::Host) if group.urls_now() < group.host_urls() => paths_in_brief(group),
        _ if evidence.requests > 1 => {
            let times = count(evidence.requests.into(), "time");
            let who = match cause.subject {
                Subject::Url => "It",
                _ => "Every URL",
            };
            Text::from(format!("{who} was tried {times}."))
        }
        _ => Text::from("Broken").and(since).own("."),
    }
}

/// Fewer paths than these are named in full.
const PATHS_IN_BRIEF: usize = 5;

fn paths_in_brief(group: &Group<'_>) -> Text {
    let mut text = Text::new();
    for (index, url) in group.urls().take(PATHS_IN_BRIEF).enumerate() {
        text = text
            .own(if index == 0 { "" } else { ", " })
            .path(&path_of(&url.url));
        text = with_variant(text, url);
    }
    let more = group.urls_now().saturating_sub(PATHS_IN_BRIEF as u64);
    match more {
        0 => text.own("."),
        _ => text.own(format!(" and {} more.", number(more))),
    }
}
