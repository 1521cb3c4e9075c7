//! The notice `certificate-ends`, an incident about a host whose URLs are still as promised.
//!
//! It opens when a run sees that the certificate of a host ends soon. Once the
//! certificate has ended, the URLs of the host join it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use urldb_protocol::{CertificateDates, EventKind, Notice, NoticeKind, Reason, State};

use super::cause::Cause;
use super::edit::RunEdit;
use super::event::IncidentLog;
use super::notices::add;
use super::state::IncidentState;
use crate::certificates::HostCertificates;

impl IncidentState {
    /// The notice, while it holds.
    pub fn open_notice(&self) -> Option<&Notice> {
        self.notice.as_ref().filter(|_| self.is_noticed)
    }
}

/// The hours of which people were told, for each certificate.
pub fn sent_hours(log: &IncidentLog) -> BTreeMap<&CertificateDates, u64> {
    let mut delivered = BTreeMap::new();
    let mut last = None;
    for event in &log.events {
        if let Some(notice) = event
            .notice
            .as_ref()
            .filter(|_| event.event != EventKind::Renewed)
        {
            last = notice.certificate.as_ref();
            if let (Some(dates), Some(hours)) = (last, notice.within_hours) {
                let known = delivered.entry(dates).or_insert(hours);
                *known = hours.min(*known);
            }
        }
        let has_ended = event.cause.as_ref().is_some_and(is_expired);
        if let Some(dates) = last.filter(|_| has_ended && event.event.joins()) {
            delivered.insert(dates, 0);
        }
    }
    delivered
}

/// Whether the cause is a certificate that has ended.
pub(super) fn is_expired(cause: &Cause) -> bool {
    cause.state == State::Unreachable
        && cause.reason.as_deref() == Some(Reason::TlsExpired.as_str())
}

/// Opens, repeats and ends notices by what the run has seen. Notes the notices whose certificate has ended.
pub(super) fn look(edit: &mut RunEdit<'_>) {
    for seen in edit.run.certificates.seen {
        match edit.open_notice(NoticeKind::CertificateEnds, &seen.host) {
            Some(index) => follow(edit, index, seen),
            None if seen.is_muted() => {}
            None => begin(edit, seen),
        }
    }
}

fn begin(edit: &mut RunEdit<'_>, seen: &HostCertificates) {
    let facts = edit.run.certificates;
    let Some((dates, hours)) = seen.ending(edit.run.started, facts.warning) else {
        return;
    };
    let is_same = |log: &IncidentLog| sent_hours(log).contains_key(dates);
    let former = edit.logs.iter().position(|known| {
        let is_closed = known.state.closed.is_some() && known.state.merged_into.is_none();
        known.log.host == seen.host && is_closed && is_same(&known.log)
    });
    let cause = Cause::new(State::Ok, Some(NoticeKind::CertificateEnds.as_str()));
    let index = former.unwrap_or_else(|| edit.open(&seen.host, &cause));
    let kind = match former {
        Some(_) => EventKind::Reopened,
        None => EventKind::Opened,
    };
    let notice = notice(edit, seen, dates, hours);
    add(edit, index, kind, notice);
}

fn follow(edit: &mut RunEdit<'_>, index: usize, seen: &HostCertificates) {
    let known = &edit.logs[index];
    let delivered = sent_hours(&known.log);
    if let Some(dates) = seen
        .ended
        .iter()
        .find(|dates| delivered.contains_key(dates))
    {
        edit.ended.insert(seen.host.clone(), (index, dates.clone()));
        return;
    }
    if let Some((dates, hours)) = seen.ending(edit.run.started, edit.run.certificates.warning) {
        let is_news = delivered
            .get(dates)
            .is_none_or(|delivered| hours < *delivered);
        if is_news && !seen.is_muted() {
            let notice = notice(edit, seen, dates, hours);
            add(edit, index, EventKind::Noticed, notice);
        }
        return;
    }
    let is_known = seen.valid.keys().any(|dates| delivered.contains_key(dates));
    let first = seen.valid.keys().min_by_key(|dates| dates.not_after);
    let Some(first) = first.filter(|_| !is_known && seen.ended.is_empty()) else {
        return;
    };
    if may_come_back(&known.log, edit.run.started) {
        return;
    }
    let renewed = known.state.notice.clone().map(|notice| Notice {
        renewed: Some(first.clone()),
        ..notice
    });
    add(edit, index, EventKind::Renewed, renewed.unwrap_or_default());
}

/// Whether a server may still show the certificate: people were told of its replacement before, and it came back.
/// They hear of a second replacement only after its end.
fn may_come_back(log: &IncidentLog, now: Timestamp) -> bool {
    let dates = log
        .events
        .iter()
        .filter(|event| event.event == EventKind::Reopened)
        .find_map(|event| event.notice.as_ref()?.certificate.as_ref());
    dates.is_some_and(|dates| now <= dates.not_after)
}

/// Lets a notice say that its certificate has ended, unless URLs joined that say so.
pub(super) fn end(edit: &mut RunEdit<'_>) {
    let ended = std::mem::take(&mut edit.ended);
    for (host, (index, dates)) in ended {
        let known = &edit.logs[index];
        let delivered = sent_hours(&known.log).get(&dates).copied();
        let last = known.state.notice.clone().unwrap_or_default();
        let mut seen = edit.run.certificates.seen.iter();
        let is_muted = seen.any(|seen| seen.host == host && seen.is_muted());
        if delivered != Some(0) && !is_muted {
            let ended = Notice {
                certificate: Some(dates),
                within_hours: Some(0),
                ..last
            };
            add(edit, index, EventKind::Noticed, ended);
        }
    }
}

fn notice(
    edit: &RunEdit<'_>,
    seen: &HostCertificates,
    dates: &CertificateDates,
    hours: u64,
) -> Notice {
    let is_complete = edit.run.certificates.is_complete;
    Notice {
        kind: NoticeKind::CertificateEnds,
        file: seen.file.clone(),
        categories: seen.categories.iter().cloned().collect(),
        endangered: is_complete.then_some(seen.urls),
        certificate: Some(dates.clone()),
        within_hours: Some(hours),
        address: seen
            .valid
            .get(dates)
            .filter(|address| !address.is_empty())
            .cloned(),
        ..Notice::default()
    }
}
