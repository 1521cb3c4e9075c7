//! Subjects of mails and titles of issues.

use urldb_protocol::Envelope;

use super::headline::TEST_MARK;
use super::report::compose;
use super::scope::Scope;
use super::stuck::Deliveries;
use crate::message::{Class, Message};
use crate::text::{one_line, shorten};

/// Longest subject, in characters.
pub const LONGEST_SUBJECT: usize = 78;

/// Longest name of a project in a subject, in characters.
const LONGEST_PROJECT: usize = 30;

/// Longest title of an issue, in characters; GitHub and GitLab take about 256.
const LONGEST_TITLE: usize = 200;

/// The subject of a mail: `broken: docs.example.org answers 404 Not Found (20 of 120 URLs) [sky-urls]`.
pub fn subject(envelope: &Envelope, scope: Scope<'_>) -> String {
    let message = compose(envelope, scope, &Deliveries::default());
    let project = match shorten(&one_line(&envelope.run.project), LONGEST_PROJECT) {
        project if project.is_empty() => project,
        project => format!(" [{project}]"),
    };
    let is_reminder = matches!(scope, Scope::Reminder(_));
    let size = LONGEST_SUBJECT - project.chars().count();
    line(&message, is_reminder, envelope.run.test, size) + &project
}

/// The title of an issue.
pub(crate) fn title(message: &Message, is_test: bool) -> String {
    line(message, false, is_test, LONGEST_TITLE)
}

/// The title of the first card, and the number of the others: `broken: docs.example.org does not answer, and 2 more`.
/// `room` is the number of characters; of too long a line the title gets shorter.
fn line(message: &Message, is_reminder: bool, is_test: bool, size: usize) -> String {
    let [first, others @ ..] = message.blocks.as_slice() else {
        // The headline has the mark.
        return shorten(&message.headline.text, size);
    };
    if first.class == Class::Week {
        return shorten(&message.headline.text, size);
    }
    let mark = if is_test { TEST_MARK } else { "" };
    let word = if is_reminder {
        "reminder"
    } else {
        first.class.as_str()
    };
    let more = match others.len() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let start = format!("{mark}{word}: ");
    let title = shorten(&first.short.plain(), size - start.len() - more.len());
    format!("{start}{title}{more}")
}
