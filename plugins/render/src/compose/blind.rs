//! The notice that runs get no results: probably the network of this machine fails.

use urldb_protocol::{Chapter, EventKind, Incident, Notice, Phase};

use crate::message::{Block, Class, Command, Fact};
use crate::numbers::{age, count, moment, share};
use crate::text::Text;

/// The subject of a mail, and the phrase of a headline.
pub(super) const FAILS: &str = "the network of this machine probably fails";

/// The phrase of its end.
pub(super) const WORKS: &str = "the network of this machine works again";

pub(super) fn block(incident: &Incident, notice: &Notice) -> Block {
    let is_closed = incident.phase == Phase::Closed;
    let class = if is_closed {
        Class::Solved
    } else {
        Class::Warning
    };
    let commands = [
        Command::new("to test the network", &["urldb", "doctor"]),
        Command::new("to run again", &["urldb", "run"]),
    ];
    let commands = commands.into_iter().flatten().filter(|_| !is_closed);
    let rest = "Nothing new is known of these URLs until a run has results again.";
    let rest = Some(Text::from(rest)).filter(|_| !is_closed);
    Block {
        code: (!is_closed).then(|| notice.kind.as_str().to_owned()),
        known: incident.phase == Phase::Unchanged,
        short: Text::from(if is_closed { WORKS } else { FAILS }),
        ids: vec![incident.id.clone()],
        facts: facts(incident, notice),
        brief: rest.clone().unwrap_or_default(),
        note: rest,
        commands: commands.collect(),
        ..Block::new(class, Text::new(), sentence(incident, notice))
    }
}

/// `2 runs in a row got no result for most URLs, probably because of the network of this machine`
pub(super) fn sentence(incident: &Incident, notice: &Notice) -> Text {
    if incident.phase == Phase::Closed {
        return Text::from(WORKS);
    }
    Text::from(format!(
        "{}, probably because of the network of this machine",
        without_result(notice)
    ))
}

fn without_result(notice: &Notice) -> String {
    match notice.runs.unwrap_or_default() {
        0 | 1 => "a run got no result for most URLs".to_owned(),
        runs => format!(
            "{} in a row got no result for most URLs",
            count(runs, "run")
        ),
    }
}

fn facts(incident: &Incident, notice: &Notice) -> Vec<Fact> {
    let since = notice.since.unwrap_or(incident.since);
    if incident.phase == Phase::Closed {
        let from = moment(since);
        let blind = match incident.closed {
            Some(to) => format!(
                "from the run of {from} until that of {} ({})",
                moment(to),
                age(since, to)
            ),
            None => format!("from the run of {from}"),
        };
        return vec![Fact::new("blind", Text::from(blind))];
    }
    let urls = notice.endangered.unwrap_or_default();
    let urls = share(urls, incident.host_urls.max(urls), "URL");
    let last = last_opening(incident).map_or(since, |chapter| chapter.at);
    let seen = format!("{urls} got no result in the run of {}", moment(last));
    vec![
        Fact::new("seen", Text::from(seen)),
        Fact::new("since", Text::from(moment(since))),
    ]
}

/// The event that says how many URLs got no result.
fn last_opening(incident: &Incident) -> Option<&Chapter> {
    let mut chapters = incident.chapters.iter().rev();
    chapters.find(|it| it.event.joins() && it.notice.is_some())
}

/// The event in the history of an issue.
pub(super) fn event(chapter: &Chapter, notice: &Notice) -> Text {
    match chapter.event {
        EventKind::Closed => Text::from("results again"),
        _ => Text::from(without_result(notice)),
    }
}
