//! The block about a week, and the incidents of the week in brief.

use urldb_protocol::{WaitingMessages, Week};

use super::blocks;
use super::causes::IncidentView;
use super::notices::notice_title;
use super::report::Report;
use crate::message::{Block, Class, Fact};
use crate::numbers::{count, moment, number, ratio};
use crate::sentences::readers_coverage;
use crate::text::Text;

/// The facts of an incident that are told in brief.
const BRIEF: [&str; 5] = ["ack", "since", "now", "breaks", "ended"];

impl Report<'_> {
    /// The week, and its incidents in brief.
    pub(super) fn week_blocks(&self) -> Vec<Block> {
        let all = [&self.open, &self.closed].into_iter();
        let groups = all.flat_map(|incidents| IncidentView::all(incidents, self.envelope));
        let block = |view| brief(blocks::incident(&view, self.envelope, self.scope));
        self.week().into_iter().chain(groups.map(block)).collect()
    }

    /// The block about the week as a whole.
    fn week(&self) -> Option<Block> {
        let week = self.envelope.week.as_deref()?;
        let until = self.envelope.run.started;
        let number = (self.open.len() + self.closed.len()) as u64;
        let with = match number {
            0 => "without an incident".to_owned(),
            number => format!("with {}", count(number, "incident")),
        };
        let sentence = format!("{} to {} {with}", moment(week.from), moment(until));
        let mut block = Block::new(Class::Week, Text::new(), Text::from(sentence));
        block.facts = [
            Some(Fact::new("runs", runs(week))),
            self.verified().map(|text| Fact::new("verified", text)),
            self.soon().map(|text| Fact::new("soon", text)),
            unsent(&week.waiting).map(|text| Fact::new("waiting", text)),
        ]
        .into_iter()
        .flatten()
        .collect();
        Some(block)
    }

    fn verified(&self) -> Option<Text> {
        let coverage = readers_coverage(&self.envelope.summary);
        let of = ratio(coverage.static_verified, coverage.static_due);
        let text = format!("{of} static URLs byte for byte in the last run");
        (coverage.static_due > 0).then(|| Text::from(text))
    }

    /// The certificates that end soon.
    fn soon(&self) -> Option<Text> {
        let (first, others) = self.noticed.split_first()?;
        let more = match others.len() as u64 {
            0 => String::new(),
            more => format!(", and {} more", number(more)),
        };
        Some(notice_title(first).own(more))
    }
}

fn runs(week: &Week) -> Text {
    Text::from(format!("{} complete", ratio(week.complete, week.runs)))
}

/// The notifiers whose messages wait.
fn unsent(waiting: &[WaitingMessages]) -> Option<Text> {
    let mut text = Text::new();
    for (index, waiting) in waiting.iter().enumerate() {
        text = text.own(if index == 0 { "" } else { "; " });
        text = text.outside(&waiting.notifier).own(": ");
        text = text.own(count(waiting.messages, "message"));
        if let Some(since) = waiting.since {
            text = text.own(format!(" since {}", moment(since)));
        }
    }
    (!text.is_empty()).then_some(text)
}

/// The incident without evidence and advice: other messages have told it.
fn brief(mut block: Block) -> Block {
    block.facts.retain(|fact| BRIEF.contains(&fact.name));
    block.note = None;
    block.urls = None;
    block.commands.clear();
    block.brief_command = None;
    block
}
