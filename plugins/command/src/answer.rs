//! Reads what a plugin wrote.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::Value;
use urldb_protocol::{Delivery, DeliveryOutcome, Envelope, Remembered, Shown};

use crate::process::{Ended, How};

/// Most facts that a plugin may remember about one incident.
const MOST_FACTS: usize = 10;

/// Most characters of the name of a fact.
const LONGEST_KEY: usize = 40;

/// Most characters of the value of a fact.
const LONGEST_VALUE: usize = 500;

/// The exit code of a temporary failure: `EX_TEMPFAIL` of sysexits(3).
const TEMPORARY: i32 = 75;

/// The answer of a plugin. Other fields are for later protocols.
#[derive(Debug, Deserialize)]
struct Answer {
    outcome: DeliveryOutcome,
    #[serde(default)]
    message: String,
    /// An array of [`Remembered`]. Whatever it is, the outcome counts.
    #[serde(default)]
    remember: Value,
}

/// The result of a delivery by a plugin. The plugin's own words about a fault are for the terminal alone:
/// they may have a secret in them, and the message is stored.
pub(crate) fn delivery(id: &str, plugin: &str, thread: &Thread<'_>, ended: Ended) -> Delivery {
    let complaint = last_line(&ended.complaint).or_else(|| last_line(&ended.output));
    let delivery = judged(id, plugin, thread, ended);
    let is_fault = delivery.outcome != DeliveryOutcome::Delivered;
    Delivery {
        aside: complaint.filter(|_| is_fault),
        ..delivery
    }
}

fn judged(id: &str, plugin: &str, thread: &Thread<'_>, ended: Ended) -> Delivery {
    let status = match ended.how {
        How::NotStarted(error) => {
            return Delivery::failed(id, format!("cannot start {plugin}: {error}"));
        }
        How::TimedOut(limit) => {
            return Delivery::retry(id, format!("{plugin} did not end within {limit:?}"));
        }
        How::Flooded(limit) => {
            return Delivery::failed(id, format!("{plugin} wrote more than {limit}"));
        }
        How::Exited(status) => status,
    };
    match (answer(&ended.output), status.code()) {
        // A plugin that says "delivered" and fails afterwards has delivered: another try would double
        // the message.
        (Some(answer), Some(_)) => {
            let delivery = of_answer(id, plugin, &answer);
            with_facts(delivery, answer.remember, thread)
        }
        // A signal can come from outside, such as from a system without memory.
        (_, None) => Delivery::retry(id, format!("{plugin} was killed ({status})")),
        (None, Some(TEMPORARY)) => Delivery::retry(
            id,
            format!("{plugin} ended with exit code {TEMPORARY} (try again later)"),
        ),
        (None, Some(0)) => Delivery::failed(
            id,
            format!(
                "{plugin} did not answer {{\"outcome\": \"delivered\"}} in JSON, nor \"retry\" or \"failed\""
            ),
        ),
        (None, Some(code)) => Delivery::failed(id, format!("{plugin} ended with exit code {code}")),
    }
}

fn of_answer(id: &str, plugin: &str, answer: &Answer) -> Delivery {
    let message = one_line(&answer.message);
    let message = match (message.is_empty(), answer.outcome) {
        (false, _) => message,
        (true, DeliveryOutcome::Delivered) => Delivery::text(plugin),
        (true, _) => Delivery::text(format!("{plugin} did not deliver, and gave no reason")),
    };
    match answer.outcome {
        DeliveryOutcome::Delivered => Delivery::delivered(id, message),
        DeliveryOutcome::Retry => Delivery::retry(id, message),
        DeliveryOutcome::Failed => Delivery::failed(id, message),
    }
}

/// The report that a plugin answers, and the name of its notifier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thread<'a> {
    pub(crate) envelope: &'a Envelope,
    pub(crate) name: &'a str,
}

impl Thread<'_> {
    /// The keys that the notifier remembers about an incident of the report; `None` if there is no such
    /// incident.
    fn known(&self, id: &str) -> Option<BTreeSet<String>> {
        let incidents = &self.envelope.incidents;
        let known = incidents
            .iter()
            .find(|incident| incident.id == id)?
            .threads
            .get(self.name)
            .into_iter()
            .flatten();
        Some(known.map(|(key, _)| key.clone()).collect())
    }
}

/// The delivery with the facts that the plugin wants to remember. The message says how many of them are
/// none, or are too many.
fn with_facts(mut delivery: Delivery, remember: Value, thread: &Thread<'_>) -> Delivery {
    let facts = match remember {
        Value::Null => return delivery,
        Value::Array(facts) => facts,
        other => vec![other],
    };
    let total = facts.len();
    let mut known: HashMap<String, Option<BTreeSet<String>>> = HashMap::new();
    let facts = facts.into_iter().filter_map(|fact| {
        let raw = fact.get("value")?.as_str()?.to_owned();
        let fact: Remembered = serde_json::from_value(fact).ok()?;
        let keys = known
            .entry(fact.incident.clone())
            .or_insert_with_key(|id| thread.known(id))
            .as_mut()
            .filter(|_| is_fact(&fact, &raw))?;
        let has_room = keys.contains(&fact.key) || keys.len() < MOST_FACTS;
        has_room.then(|| {
            keys.insert(fact.key.clone());
            fact
        })
    });
    delivery.remember = facts.collect();
    delivery.remember.sort();
    let ignored = total - delivery.remember.len();
    if ignored > 0 {
        let message = &delivery.message;
        delivery.message = Delivery::text(format!(
            "{message} (ignored {ignored} of {total} facts in `remember`: an incident takes \
             {MOST_FACTS} short ones)"
        ));
    }
    delivery
}

/// Whether the fact is one short line under a short, plain name.
fn is_fact(fact: &Remembered, raw: &str) -> bool {
    let Remembered { key, value, .. } = fact;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_short = value.chars().count() <= LONGEST_VALUE;
    (1..=LONGEST_KEY).contains(&key.len())
        && key.bytes().all(is_plain)
        && is_short
        && *value == *raw
        && !raw.contains('\t')
}

/// The answer: the whole output, or its last line, since programs that a plugin calls may write
/// before it.
fn answer(output: &[u8]) -> Option<Answer> {
    let last = output
        .trim_ascii_end()
        .rsplit(|byte| *byte == b'\n')
        .next()?;
    [output, last]
        .into_iter()
        .find_map(|text| serde_json::from_slice(text).ok())
}

/// The last line with text, as one harmless line.
fn last_line(bytes: &[u8]) -> Option<Shown> {
    String::from_utf8_lossy(bytes)
        .lines()
        .map(one_line)
        .rfind(|line| !line.is_empty())
}

fn one_line(text: &str) -> Shown {
    let words: Vec<_> = text.split_whitespace().collect();
    Delivery::text(words.join(" "))
}
