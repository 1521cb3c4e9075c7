//! Notices: hosts whose promises are kept and in danger, and faults of the watching itself.

use urldb_protocol::{
    Because, CertificateDates, Chapter, Envelope, EventKind, Incident, Notice, NoticeKind, Phase,
    Reason,
};

use super::links::source_link;
use super::notice_events::{ending, reason};
use super::scope::Scope;
use super::urls::{domain_of, ip_and_port};
use super::{lost_evidence, mistakes};
use crate::history::history;
use crate::message::{Block, Class, Command, Fact};
use crate::numbers::{age, count, day, moment, number, share, with_spaces};
use crate::text::{Text, shown_host};

/// Most lost URLs or corrected mistakes that a message names.
const MOST_FACTS: usize = 5;

/// The blocks of a notice: of mistakes in a file one each, of all else one.
pub(super) fn blocks(incident: &Incident, envelope: &Envelope, scope: Scope<'_>) -> Vec<Block> {
    match &incident.notice {
        None => vec![],
        Some(notice) if notice.kind == NoticeKind::Mistake && incident.phase != Phase::Closed => {
            mistakes::blocks(incident, notice, (envelope, scope))
        }
        Some(notice) => vec![block(incident, notice, envelope)],
    }
}

fn block(incident: &Incident, notice: &Notice, envelope: &Envelope) -> Block {
    let is_open = incident.phase != Phase::Closed;
    let class = match notice.kind {
        _ if is_open => Class::Warning,
        NoticeKind::EvidenceLost if !lost_evidence::is_recovered(notice) => Class::Closed,
        NoticeKind::Mistake if is_removed(incident) => Class::Closed,
        _ => Class::Solved,
    };
    let (subject, sentence) = (subject(incident, notice), sentence(incident, notice));
    let note = advice(notice).filter(|_| is_open);
    let is_helped = is_open && !incident.id.is_empty();
    let commands: Vec<Command> = commands(incident, notice).filter(|_| is_helped).collect();
    Block {
        code: is_open.then(|| notice.kind.as_str().to_owned()),
        known: incident.phase == Phase::Unchanged,
        short: Block::new(class, subject.clone(), sentence.clone()).title(),
        host: shown_host(&incident.host),
        ids: Some(incident.id.clone())
            .filter(|id| !id.is_empty())
            .into_iter()
            .collect(),
        urls_total: notice.endangered.unwrap_or_default(),
        place: (is_open && !notice.file.is_empty())
            .then(|| source_link(envelope, &notice.file, None)),
        facts: facts(incident, notice)
            .into_iter()
            .chain(history(incident))
            .collect(),
        brief: note.clone().unwrap_or_default(),
        note,
        brief_command: (!commands.is_empty()).then_some(0),
        commands,
        ..Block::new(class, subject, with_urls(sentence, incident, notice))
    }
}

/// The title of a notice, for a list: `mirror.example.net has a certificate that ends 2026-11-20 (100 of 100 URLs)`.
pub(crate) fn notice_title(incident: &Incident) -> Text {
    match &incident.notice {
        Some(notice) => {
            let sentence = with_urls(sentence(incident, notice), incident, notice);
            Block::new(Class::Warning, subject(incident, notice), sentence).title()
        }
        None => Text::new().host(&incident.host),
    }
}

fn subject(incident: &Incident, notice: &Notice) -> Text {
    match notice.kind {
        NoticeKind::Impaired => Text::new(),
        NoticeKind::Mistake => Text::new().code(&notice.file),
        _ => Text::new().host(&incident.host),
    }
}

/// The sentence after the subject.
fn sentence(incident: &Incident, notice: &Notice) -> Text {
    if incident.phase == Phase::Closed {
        return end(incident, notice);
    }
    match notice.kind {
        NoticeKind::CertificateEnds => {
            let article = if is_of_authority(notice) {
                "an intermediate"
            } else {
                "a"
            };
            Text::from(format!("has {article} certificate that {}", ending(notice)))
        }
        NoticeKind::Impaired => match incident.host.as_str() {
            "" => Text::from("the run is impaired, probably by our own network"),
            host => Text::from("the run is impaired by ").host(host),
        },
        NoticeKind::UnsupportedTls => reason(notice),
        NoticeKind::EvidenceLost => Text::from(lost_evidence::SENTENCE),
        NoticeKind::Mistake => Text::from("has ").and(mistakes::number(notice)),
    }
}

/// The sentence with the URLs in danger, if their number is known and the notice holds: `(3 of 3 URLs)`.
fn with_urls(text: Text, incident: &Incident, notice: &Notice) -> Text {
    match notice
        .endangered
        .filter(|_| incident.phase != Phase::Closed)
    {
        Some(urls) => {
            let urls = share(urls, incident.host_urls.max(urls), "URL");
            text.own(format!(" ({})", with_spaces(&urls)))
        }
        None => text,
    }
}

/// The sentence at the end.
fn end(incident: &Incident, notice: &Notice) -> Text {
    let is_removed = is_removed(incident);
    Text::from(match notice.kind {
        NoticeKind::CertificateEnds if notice.renewed.is_some() => "has a new certificate",
        NoticeKind::UnsupportedTls if !is_removed => "accepts TLS as urldb supports it again",
        NoticeKind::CertificateEnds | NoticeKind::UnsupportedTls => {
            "has no URL over https any more"
        }
        NoticeKind::Impaired if incident.host.is_empty() => "the run is no longer impaired",
        NoticeKind::Impaired => {
            return Text::from("the run is no longer impaired by ").host(&incident.host);
        }
        NoticeKind::EvidenceLost => "no longer has promised bytes that the archive lacks",
        NoticeKind::Mistake if is_removed => "is no longer in the database",
        NoticeKind::Mistake => "is corrected",
    })
}

/// Whether the last event says that the host has no URL any more which the notice is about, or that the file is gone.
pub(super) fn is_removed(incident: &Incident) -> bool {
    incident
        .chapters
        .last()
        .is_some_and(|chapter| chapter.because == Some(Because::Removed))
}

/// Whether the certificate is not the host's own, but one that the host's depends on.
fn is_of_authority(notice: &Notice) -> bool {
    notice
        .certificate
        .as_ref()
        .is_some_and(|dates| dates.authority.is_some())
}

/// The explanation, and what to do.
fn advice(notice: &Notice) -> Option<Text> {
    let unknown = "Nothing new is known of these URLs until a run checks them.";
    Some(match notice.kind {
        NoticeKind::CertificateEnds if is_of_authority(notice) => {
            Text::from("Let the server send a newer chain.")
        }
        NoticeKind::CertificateEnds | NoticeKind::Mistake => return None,
        NoticeKind::Impaired => reason(notice).own(". ").own(unknown),
        NoticeKind::UnsupportedTls => Text::from(unknown),
        NoticeKind::EvidenceLost => Text::from(lost_evidence::ADVICE),
    })
}

fn commands(incident: &Incident, notice: &Notice) -> impl Iterator<Item = Command> {
    let check = match domain_of(&notice.file).unwrap_or(&incident.host) {
        _ if notice.kind == NoticeKind::EvidenceLost => None,
        "" => Command::new("to test the network", &["urldb", "doctor"]),
        domain => Command::new(
            "to check it again",
            &["urldb", "check", "-d", &shown_host(domain)],
        ),
    };
    let lost = Some(notice).filter(|notice| notice.kind == NoticeKind::EvidenceLost);
    check
        .into_iter()
        .chain(lost.into_iter().flat_map(lost_evidence::commands))
}

fn facts(incident: &Incident, notice: &Notice) -> Vec<Fact> {
    let is_closed = incident.phase == Phase::Closed;
    if notice.kind == NoticeKind::EvidenceLost {
        return few(lost_evidence::facts(notice, is_closed));
    }
    let mut facts = vec![];
    if is_closed {
        if !is_removed(incident) {
            facts = few(notice.fixed.iter().map(mistakes::fact));
        }
        facts.extend(renewal(notice));
        facts.extend(notice.since.zip(incident.closed).map(|(from, to)| {
            let [first, last] = [from, to].map(moment);
            let age = age(from, to);
            let span = format!("from the run of {first} until that of {last} ({age})");
            Fact::new("impaired", Text::from(span))
        }));
        return facts;
    }
    if let Some(dates) = &notice.certificate {
        let name = if notice.has_ended() { "ended" } else { "ends" };
        facts.push(Fact::new(name, validity(dates)));
        if let Some(authority) = &dates.authority {
            facts.push(Fact::new("held by", Text::new().outside(authority)));
        }
    }
    if let Some(since) = notice.since {
        let runs = match notice.runs.unwrap_or_default() {
            0 | 1 => String::new(),
            runs => format!(", {} in a row", count(runs, "run")),
        };
        facts.push(Fact::new("since", Text::from(moment(since) + &runs)));
    }
    facts.push(seen(incident, notice));
    facts
}

/// The first facts, at most as many as a message names, and the number of the others.
fn few(facts: impl Iterator<Item = Fact>) -> Vec<Fact> {
    let mut facts: Vec<Fact> = facts.collect();
    let more = facts.len().saturating_sub(MOST_FACTS);
    if more > 0 {
        facts.truncate(MOST_FACTS);
        let more = format!("{} more", number(more as u64));
        facts.push(Fact::new("and", Text::from(more)));
    }
    facts
}

/// The address that showed the certificate, and the run that saw it.
fn seen(incident: &Incident, notice: &Notice) -> Fact {
    let text = match notice.address.as_deref().map(ip_and_port) {
        Some((address, port)) => {
            let port = port.map_or_else(String::new, |port| format!(" port\u{a0}{port}"));
            Text::from("at ").outside(&address).own(port + ", ")
        }
        None => Text::new(),
    };
    let run = match events(incident).next_back() {
        Some(chapter) => format!("in the run of {}", moment(chapter.at)),
        None => "in this run".to_owned(),
    };
    Fact::new("seen", text.own(run))
}

/// The events that say what a run saw.
fn events(incident: &Incident) -> impl DoubleEndedIterator<Item = &Chapter> {
    incident
        .chapters
        .iter()
        .filter(|it| it.notice.is_some() && it.event != EventKind::Renewed)
}

/// The certificate that has taken the place of the one that ended, or was to end.
pub(super) fn renewal(notice: &Notice) -> Option<Fact> {
    let dates = notice.renewed.as_ref()?;
    Some(Fact::new("ends", validity(dates)))
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
    let parts: Vec<String> = envelope
        .incidents
        .iter()
        .filter(|it| it.host == incident.host && it.id != incident.id)
        .filter(|it| it.is_open() && it.affected().next().is_some())
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
