//! Subjects of mails and titles of issues.

use urldb_protocol::Envelope;

use super::headline::TEST_MARK;
use super::report::compose;
use super::scope::Scope;
use super::stuck::Deliveries;
use crate::message::{Block, Class, Message};
use crate::text::{one_line, shorten};

/// Longest subject without `Re: `, in characters.
pub const LONGEST_SUBJECT: usize = 70;

/// Longest name of a project in a subject, in characters.
const LONGEST_PROJECT: usize = 30;

/// Longest title of an issue, in characters; GitHub and GitLab take about 256.
const LONGEST_TITLE: usize = 200;

/// The subject of the opening message of a thread, which all messages of the thread repeat:
/// `docs.example.org redirects 40 URLs to its home page [sky-urls]`.
pub fn subject(envelope: &Envelope, scope: Scope<'_>) -> String {
    let message = compose(envelope, scope, &Deliveries::default());
    with_project(
        &marked(&message, envelope.run.test),
        end(&message),
        &envelope.run.project,
    )
}

/// The end of the subject of a first mail that tells of the end only.
fn end(message: &Message) -> &'static str {
    let all = |class: Class| {
        let mut blocks = message.blocks.iter();
        blocks.all(|block| block.class == class && !block.ids.is_empty())
    };
    match message.blocks.as_slice() {
        [] => "",
        _ if all(Class::Recovered) => ", solved",
        _ if all(Class::Closed) => ", closed",
        _ => "",
    }
}

/// The title of an issue.
pub(crate) fn title(message: &Message, is_test: bool) -> String {
    shorten(&marked(message, is_test), LONGEST_TITLE)
}

/// The topic of a message, with the mark of a test.
fn marked(message: &Message, is_test: bool) -> String {
    let mark = if is_test { TEST_MARK } else { "" };
    match message.blocks.as_slice() {
        // The headline has the mark.
        [] => message.headline.text.clone(),
        [block, ..] if block.class == Class::Week => message.headline.text.clone(),
        _ => format!("{mark}{}", cause(message)),
    }
}

/// The cause, cut where that is necessary, its end, and the name of the project.
fn with_project(cause: &str, end: &str, project: &str) -> String {
    let project = match shorten(&one_line(project), LONGEST_PROJECT) {
        project if project.is_empty() => project,
        project => format!(" [{project}]"),
    };
    let room = LONGEST_SUBJECT - project.chars().count() - end.len();
    shorten(cause, room) + end + &project
}

/// The topic of a message, in one phrase.
fn cause(message: &Message) -> String {
    let of = |class: Class| {
        message
            .blocks
            .iter()
            .filter(move |block| block.class == class)
    };
    let is_open = |block: &&Block| match block.class {
        Class::Broken => true,
        Class::Unknown => !block.ids.is_empty(),
        _ => false,
    };
    let incidents: Vec<&Block> = message.blocks.iter().filter(is_open).collect();
    let notices: Vec<&Block> = of(Class::Warning)
        .filter(|block| !block.ids.is_empty())
        .collect();
    let told = if incidents.is_empty() {
        notices
    } else {
        incidents
    };
    match told.as_slice() {
        [] => {}
        [only] => return only.short.plain(),
        several => {
            let number: usize = several.iter().map(|block| block.hosts.len().max(1)).sum();
            let mut hosts: Vec<String> = several
                .iter()
                .flat_map(|block| block.host_names())
                .collect();
            hosts.dedup();
            let what = match several[0].class {
                Class::Warning => "warnings",
                _ => "incidents",
            };
            return format!("{number} {what}: {}", hosts.join(", "));
        }
    }
    let mistakes: Vec<&Block> = of(Class::Mistake).collect();
    if let Some(text) = of_mistakes(&mistakes) {
        return text;
    }
    match message.blocks.as_slice() {
        [] => String::new(),
        [only] => only.short.plain(),
        [first, rest @ ..] => format!("{} and {} more", first.short.plain(), rest.len()),
    }
}

/// The mistakes of a message, if it has any: those of one file name it.
fn of_mistakes(mistakes: &[&Block]) -> Option<String> {
    if let [only] = mistakes {
        return Some(only.short.plain());
    }
    let files = mistakes
        .iter()
        .map(|block| block.place.as_ref().map(|it| &it.file));
    let mut files: Vec<_> = files.collect();
    files.dedup();
    let number = mistakes.len();
    match files.as_slice() {
        [] => None,
        [Some(file)] => Some(format!("{number} mistakes in {file}")),
        _ => Some(format!("{number} mistakes in domain files")),
    }
}
