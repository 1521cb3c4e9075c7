//! The results of deliveries: messages that wait, and errors.

use jiff::{SignedDuration, Timestamp};

use crate::message::{Block, Class, Command, Fact};
use crate::numbers::{age, count, day, moment, number};
use crate::text::{Text, one_line};

/// Most recipients in one line.
const MOST_RECIPIENTS: usize = 5;

/// After this time, a notifier is said to be failing.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The results of the deliveries of a run, for [`Scope::Run`](super::Scope::Run).
#[derive(Debug, Clone, Default)]
pub struct Deliveries {
    /// Deliveries that were made, one phrase for each notifier: `mail to 2 recipients`.
    pub delivered: Vec<Text>,
    /// Messages that could not be sent, one element for each notifier.
    pub stuck: Vec<StuckMessages>,
    /// Other errors of the run and of its notifiers, each without a full stop.
    pub errors: Vec<String>,
}

/// Messages that one notifier could not send.
#[derive(Debug, Clone, Default)]
pub struct StuckMessages {
    /// The notifier's name in urldb.toml.
    pub notifier: String,
    /// The type of the notifier for people: `mail`.
    pub kind: String,
    /// The cause, as an end of a sentence: `smtp.example.org refused the login`; empty before the first
    /// try.
    pub cause: String,
    /// The words of the server; empty if there are none.
    pub reply: String,
    /// Number of incidents of which the recipients have not heard.
    pub incidents: u64,
    /// Number of tries.
    pub tries: u32,
    /// When the first run began that could not deliver.
    pub since: Option<Timestamp>,
    /// The recipients that still get them, each once.
    pub recipients: Vec<String>,
    /// The recipients who have got them already, each once.
    pub reached: Vec<String>,
    /// Advice for people, in a sentence without a full stop; empty if there is none.
    pub advice: String,
    /// The condition of the next try.
    pub next: NextTry,
    /// Whether a person must act: the run exits with 2.
    pub is_urgent: bool,
}

/// The condition of the next try of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum NextTry {
    /// The next run.
    #[default]
    EveryRun,
    /// A change of the notifier's section in urldb.toml.
    Change,
    /// A person: urldb.toml has no section for these messages.
    Section,
}

impl StuckMessages {
    /// Whether some recipients have got a message.
    const fn is_partial(&self) -> bool {
        !self.reached.is_empty()
    }

    /// The first run that could not deliver, if that was a day ago.
    fn failing_since(&self, now: Timestamp) -> Option<Timestamp> {
        let since = self.since?;
        (now.duration_since(since) >= DAY).then_some(since)
    }
}

/// A block for each error, and for each notifier with messages that wait.
pub fn stuck_blocks(deliveries: &Deliveries, now: Timestamp) -> Vec<Block> {
    let errors = deliveries.errors.iter().map(|error| of_error(error));
    let stuck = deliveries.stuck.iter();
    errors
        .chain(stuck.map(|stuck| of_messages(stuck, now)))
        .collect()
}

fn of_error(error: &str) -> Block {
    let sentence = Text::new().outside(error);
    Block {
        short: Text::from("urldb could not do all its work"),
        brief: sentence.clone().own("."),
        ..Block::new(Class::Error, Text::new(), sentence)
    }
}

fn of_messages(stuck: &StuckMessages, now: Timestamp) -> Block {
    let StuckMessages { notifier, kind, .. } = stuck;
    let subject = match kind.as_str() {
        "" => Text::new().outside(notifier),
        kind => Text::new()
            .outside(kind)
            .own(" (")
            .outside(notifier)
            .own(")"),
    };
    let since = stuck.failing_since(now).map(day);
    let what = match (stuck.is_partial(), &since) {
        (true, _) => {
            let reached = stuck.reached.len();
            let all = count((reached + stuck.recipients.len()) as u64, "recipient");
            let others = listed(&stuck.recipients).plain();
            format!("was sent to {reached} of {all}, not to {others}")
        }
        (false, None) => "was not sent".to_owned(),
        (false, Some(since)) => format!("has not been sent since {since}"),
    };
    let cause = match &stuck.next {
        NextTry::Section => format!("urldb.toml has no [notify.{notifier}]"),
        NextTry::EveryRun | NextTry::Change => stuck.cause.clone(),
    };
    let (sentence, cause) = match cause.as_str() {
        "" => (Text::from(format!("{what} yet")), format!("{what} yet")),
        _ => (Text::from(format!("{what}: ")).outside(&cause), cause),
    };
    let class = if stuck.is_urgent {
        Class::Error
    } else {
        Class::Warning
    };
    Block {
        short: Text::from("1 message could not be sent"),
        facts: facts(stuck, now),
        note: Some(note(stuck)).filter(|note| !note.is_empty()),
        commands: commands(stuck),
        brief: brief(stuck, &cause),
        brief_command: Some(0),
        ..Block::new(class, subject, sentence)
    }
}

fn facts(stuck: &StuckMessages, now: Timestamp) -> Vec<Fact> {
    let mut facts = Vec::new();
    if !stuck.reply.is_empty() {
        facts.push(Fact::new("server", Text::new().outside(&stuck.reply)));
    }
    facts.extend(failing(stuck, now));
    if stuck.incidents > 0 {
        let undelivered = count(stuck.incidents, "incident");
        facts.push(Fact::new("waiting", Text::from(undelivered)));
    }
    if !stuck.recipients.is_empty() && !stuck.is_partial() {
        facts.push(Fact::new("for", listed(&stuck.recipients)));
    }
    if stuck.is_partial() {
        facts.push(Fact::new("delivered", listed(&stuck.reached)));
    }
    facts
}

/// Notifier, cause, reply of the server, and the fate of the messages, in one or two sentences.
fn brief(stuck: &StuckMessages, cause: &str) -> Text {
    let StuckMessages {
        notifier,
        kind,
        reply,
        ..
    } = stuck;
    let brief = Text::new()
        .outside(kind)
        .own(if kind.is_empty() { "" } else { " " })
        .outside(notifier)
        .own(": ")
        .outside(cause);
    let brief = match reply.as_str() {
        "" => brief.own("."),
        reply => brief.own(": ").outside(reply).own("."),
    };
    match stuck.next {
        NextTry::EveryRun => brief.own(" Every run tries again."),
        NextTry::Change | NextTry::Section => brief,
    }
}

/// `since 2026-11-24 04:17 UTC (1 day), tried 2 times`.
fn failing(stuck: &StuckMessages, now: Timestamp) -> Option<Fact> {
    let since = stuck.since?;
    let mut text = Text::from(format!("since {}", moment(since)));
    if now.duration_since(since).as_hours() >= 1 {
        text = text.own(format!(" ({})", age(since, now)));
    }
    if stuck.tries > 1 {
        text = text.own(format!(", tried {}", count(stuck.tries.into(), "time")));
    }
    Some(Fact::new("failing", text))
}

/// The next try, and advice for people.
fn note(stuck: &StuckMessages) -> Text {
    let note = match &stuck.next {
        NextTry::EveryRun => Text::from("Every run tries again."),
        NextTry::Change => Text::from("The next try follows a change of [notify.")
            .outside(&stuck.notifier)
            .own("], or `urldb notify retry`."),
        NextTry::Section => Text::new(),
    };
    if stuck.advice.is_empty() {
        return note;
    }
    // The words are those of the notifier, not of its server.
    let advice = Text::from(one_line(&stuck.advice)).capitalized();
    note.own(" ").own(advice).own(".")
}

fn commands(stuck: &StuckMessages) -> Vec<Command> {
    let notifier = &stuck.notifier;
    let commands = if stuck.next == NextTry::Section {
        let skip = ["urldb", "notify", "skip", notifier];
        vec![Command::new("to discard it", &skip)]
    } else {
        let test = ["urldb", "notify", "test", notifier];
        let retry = ["urldb", "notify", "retry", notifier];
        vec![
            Command::new("to test the settings", &test),
            Command::new("to send it now", &retry),
        ]
    };
    commands.into_iter().flatten().collect()
}

/// The first recipients, and the number of the others.
fn listed(recipients: &[String]) -> Text {
    let shown = &recipients[..recipients.len().min(MOST_RECIPIENTS)];
    let mut text = Text::new();
    for (index, recipient) in shown.iter().enumerate() {
        text = text
            .own(if index == 0 { "" } else { ", " })
            .outside(recipient);
    }
    match recipients.len() - shown.len() {
        0 => text,
        more => text.own(format!(" and {} more", number(more as u64))),
    }
}
