//! Notices: hosts whose promises are kept and in danger, and faults of the watching itself.

use urldb_protocol::{
    CertificateDates, Chapter, Envelope, EventKind, Incident, Notice, NoticeKind, Phase, Reason,
};

use super::facts::ip_and_port;
use super::links::source_link;
use super::scope::Scope;
use super::{blind, host_notice, lost_evidence, mistakes, slow_round, unsupported};
use crate::message::{Block, Fact};
use crate::numbers::{count, day, hours, moment};
use crate::text::Text;

/// The blocks of a notice: of mistakes in a file one each, of all else one.
pub(super) fn blocks(incident: &Incident, envelope: &Envelope, scope: Scope<'_>) -> Vec<Block> {
    let Some(notice) = &incident.notice else {
        return vec![];
    };
    match notice.kind {
        NoticeKind::CertificateEnds => vec![of_certificate(incident, notice, envelope)],
        NoticeKind::Blind => vec![blind::block(incident, notice)],
        NoticeKind::NeedsHttp2 | NoticeKind::UnsupportedTls => {
            vec![unsupported::block(incident, notice)]
        }
        NoticeKind::SlowRound => vec![slow_round::block(incident, notice)],
        NoticeKind::EvidenceLost => vec![lost_evidence::block(incident, notice)],
        NoticeKind::Mistake => mistakes::blocks(incident, notice, (envelope, scope)),
    }
}

fn of_certificate(incident: &Incident, notice: &Notice, envelope: &Envelope) -> Block {
    let is_closed = incident.phase == Phase::Closed;
    Block {
        short: short(incident, notice),
        place: (!is_closed).then(|| source_link(envelope, &notice.file, None)),
        facts: facts(incident, notice, envelope),
        brief: brief(notice, is_closed),
        ..host_notice::block(incident, notice, sentence(incident, notice))
    }
}

/// The title of a notice that holds, for a list: `mirror.example.net has a certificate that ends in less than
/// 14 days (100 of 100 URLs)`.
pub(crate) fn notice_title(incident: &Incident) -> Text {
    let subject = Text::new().code(&incident.host).own(" ");
    match &incident.notice {
        Some(notice) => match notice.kind {
            NoticeKind::CertificateEnds => subject.and(sentence(incident, notice)),
            NoticeKind::Blind => blind::sentence(incident, notice),
            NoticeKind::NeedsHttp2 | NoticeKind::UnsupportedTls => {
                subject.and(unsupported::sentence(incident, notice))
            }
            NoticeKind::SlowRound => subject.and(slow_round::sentence(incident, notice)),
            NoticeKind::EvidenceLost => subject.and(lost_evidence::sentence(incident, notice)),
            NoticeKind::Mistake => {
                let subject = Text::new().code(&notice.file).own(" ");
                subject.and(mistakes::sentence(incident, notice))
            }
        },
        None => subject,
    }
}

fn sentence(incident: &Incident, notice: &Notice) -> Text {
    if incident.phase == Phase::Closed {
        return Text::from(match notice.renewed {
            Some(_) => "has a new certificate",
            None => "has no URL over https any more",
        });
    }
    let article = if is_of_authority(notice) { "an" } else { "a" };
    let ends = format!("has {article} {} that ", noun(notice));
    let ends = Text::from(ends).own(ending(notice));
    host_notice::with_urls(ends, incident, notice)
}

fn is_of_authority(notice: &Notice) -> bool {
    let certificate = notice.certificate.as_ref();
    certificate.is_some_and(|it| it.authority.is_some())
}

/// The certificate of the host, or of an authority that the host's depends on.
fn noun(notice: &Notice) -> &'static str {
    if is_of_authority(notice) {
        "intermediate certificate"
    } else {
        "certificate"
    }
}

/// `ends in less than 14 days`, or `has ended`.
fn ending(notice: &Notice) -> String {
    match notice.within_hours {
        Some(0) => "has ended".to_owned(),
        Some(left) => format!("ends in less than {}", hours(left)),
        None => "ends soon".to_owned(),
    }
}

/// `mirror.example.net: certificate ends on 2026-11-20`
fn short(incident: &Incident, notice: &Notice) -> Text {
    let host = Text::new().code(&incident.host).own(": ").own(noun(notice));
    match (&notice.certificate, notice.has_ended()) {
        (Some(dates), false) => host.own(format!(" ends on {}", day(dates.not_after))),
        (Some(dates), true) => host.own(format!(" ended on {}", day(dates.not_after))),
        (None, _) => host.own(" ends soon"),
    }
}

fn facts(incident: &Incident, notice: &Notice, envelope: &Envelope) -> Vec<Fact> {
    if incident.phase == Phase::Closed {
        return renewal(notice).into_iter().collect();
    }
    let mut facts = vec![];
    if let Some(dates) = &notice.certificate {
        let name = if notice.has_ended() { "ended" } else { "ends" };
        facts.push(Fact::new(name, Text::from(moment(dates.not_after))));
        if let Some(authority) = &dates.authority {
            facts.push(Fact::new("held by", Text::new().outside(authority)));
        }
        if !dates.issuer.is_empty() {
            facts.push(Fact::new("issued by", Text::new().outside(&dates.issuer)));
        }
    }
    facts.push(seen(incident, notice, envelope));
    facts
}

/// The address that showed the certificate, and the run that saw it.
fn seen(incident: &Incident, notice: &Notice, envelope: &Envelope) -> Fact {
    let text = match notice.address.as_deref().map(ip_and_port) {
        Some((address, Some(port))) => {
            let text = Text::from("at ").outside(&address);
            text.own(format!(" port\u{a0}{port}, "))
        }
        Some((address, None)) => Text::from("at ").outside(&address).own(", "),
        None => Text::new(),
    };
    let run = events(incident).next_back();
    let is_own = run.is_none_or(|chapter| chapter.run == envelope.run.id);
    Fact::new(
        "seen",
        match run {
            Some(chapter) if !is_own => text.own(format!("in the run of {}", moment(chapter.at))),
            _ => text.own("in this run"),
        },
    )
}

/// The events that say how much time is left.
fn events(incident: &Incident) -> impl DoubleEndedIterator<Item = &Chapter> {
    let chapters = incident.chapters.iter();
    chapters.filter(|it| it.notice.is_some() && it.event != EventKind::Renewed)
}

/// The certificate that has taken the place of the one that ended, or was to end.
pub(super) fn renewal(notice: &Notice) -> Option<Fact> {
    notice
        .renewed
        .as_ref()
        .map(|dates| Fact::new("ends", validity(dates)))
}

fn validity(dates: &CertificateDates) -> Text {
    let text = Text::from(moment(dates.not_after));
    match dates.issuer.as_str() {
        "" => text,
        issuer => text.own("; issued by ").outside(issuer),
    }
}

/// When people were warned for the first time, of an incident that began as a notice.
pub(super) fn warned(incident: &Incident) -> Option<Fact> {
    let first = events(incident).find(|it| it.notice.as_ref().is_some_and(|it| !it.has_ended()))?;
    let text = format!("as promised, with warnings since {}", day(first.at));
    Some(Fact::new("before", Text::from(text)))
}

/// The URLs of the host that other incidents affect.
pub(super) fn elsewhere(incident: &Incident, envelope: &Envelope) -> Option<Fact> {
    let others = envelope.incidents.iter();
    let others = others.filter(|it| it.host == incident.host && it.id != incident.id);
    let others = others.filter(|it| it.is_open() && it.affected().next().is_some());
    let parts: Vec<String> = others
        .map(|it| {
            let urls = it.affected().count() as u64;
            let is = if urls == 1 { "is" } else { "are" };
            format!("{} {is} in incident {}", count(urls, "URL"), it.id)
        })
        .collect();
    (!parts.is_empty()).then(|| Fact::new("elsewhere", Text::from(parts.join(", "))))
}

/// Whether the incident is the end of a certificate of which people were warned.
pub(super) fn is_end(incident: &Incident) -> bool {
    let reason = incident.reason.as_deref();
    incident.notice.is_some()
        && !incident.is_notice()
        && reason == Some(Reason::TlsExpired.as_str())
}

fn brief(notice: &Notice, is_closed: bool) -> Text {
    match (&notice.certificate, is_closed) {
        (Some(dates), false) => Text::from(format!(
            "It {} on {}. {}",
            if notice.has_ended() { "ended" } else { "ends" },
            moment(dates.not_after),
            if is_of_authority(notice) {
                "Let the server send a newer chain."
            } else {
                "Renew it."
            }
        )),
        _ => Text::new(),
    }
}

/// The event of a notice in the history of an issue; absent for another event.
pub(crate) fn notice_event(incident: &Incident, chapter: &Chapter) -> Option<Text> {
    if incident.notice.is_some() && chapter.event.joins() && chapter.urls > 0 {
        let is_first = chapter.affected == chapter.urls && is_expired(chapter);
        let urls = count(chapter.urls, "URL");
        if is_first {
            return Some(Text::from(format!("expired, {urls} broken")));
        }
    }
    let notice = chapter.notice.as_ref()?;
    match notice.kind {
        NoticeKind::CertificateEnds => {}
        NoticeKind::Blind => return Some(blind::event(chapter, notice)),
        NoticeKind::Mistake => return Some(mistakes::event(notice)),
        NoticeKind::NeedsHttp2 | NoticeKind::UnsupportedTls => {
            return Some(unsupported::need(notice));
        }
        NoticeKind::SlowRound => return Some(Text::from(slow_round::refuses(notice))),
        NoticeKind::EvidenceLost => return Some(lost_evidence::event(chapter, notice)),
    }
    Some(Text::from(match (chapter.event, notice.within_hours) {
        (EventKind::Renewed, _) => "renewed".to_owned(),
        (_, Some(0)) => "ended".to_owned(),
        (_, Some(left)) => format!("less than {} left", hours(left)),
        (_, None) => "ends soon".to_owned(),
    }))
}

fn is_expired(chapter: &Chapter) -> bool {
    chapter.reason.as_deref() == Some(Reason::TlsExpired.as_str())
}
