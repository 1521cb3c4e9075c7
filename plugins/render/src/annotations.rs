//! Annotations of GitHub Actions: workflow commands that mark lines of domain files.

use urldb_text::sanitize;

use crate::compose::without_scheme;
use crate::message::{Block, Class, Message};
use crate::numbers::{count, with_spaces};
use crate::text::{Text, capitalized};
use crate::uses::USED;

/// A step shows no more annotations than these.
const MOST: usize = 10;

struct Annotation {
    level: &'static str,
    place: Option<(String, usize)>,
    title: String,
    text: String,
    /// For the annotation that stands for several: the host or the URL.
    name: String,
}

/// The annotations of a message, one workflow command a line. If there are more than ten, the tenth
/// names the rest.
pub fn annotations(message: &Message) -> String {
    let mut all: Vec<Annotation> = Vec::new();
    all.extend(message.stuck.iter().map(of_stuck));
    for block in &message.blocks {
        match block.class {
            Class::Unknown if message.is_offline => all.push(Annotation {
                text: block.note.as_ref().map(Text::plain).unwrap_or_default(),
                ..of_block(block)
            }),
            Class::Recovered
            | Class::Solved
            | Class::Closed
            | Class::Unconfirmed
            | Class::Unknown => {}
            _ if is_in_list(block) => all.extend(of_urls(block)),
            _ => all.push(of_block(block)),
        }
    }
    if all.len() > MOST {
        let rest = all.split_off(MOST - 1);
        all.push(of_rest(&rest));
    }
    all.iter().map(command).collect()
}

fn level(class: Class) -> &'static str {
    match class {
        Class::Error | Class::Broken | Class::Mistake => "error",
        _ => "warning",
    }
}

fn of_stuck(block: &Block) -> Annotation {
    Annotation {
        title: block.short.plain(),
        ..of_block(block)
    }
}

fn of_block(block: &Block) -> Annotation {
    let place = block
        .urls
        .as_ref()
        .and_then(|urls| urls.rows.first())
        .map(|row| &row.place)
        .or(block.place.as_ref());
    Annotation {
        level: level(block.class),
        place: place.map(|place| (place.file.clone(), place.line.unwrap_or(1))),
        title: without_scheme(&block.title().plain()).to_owned(),
        text: with_uses(block) + &with_command(block, &block.brief, block.brief_command),
        name: block.subject.plain(),
    }
}

/// The other lines that use the URL.
fn with_uses(block: &Block) -> String {
    block
        .facts
        .iter()
        .find(|fact| fact.name == USED)
        .map_or_else(String::new, |fact| format!("Used {}. ", fact.text.plain()))
}

/// `brief`, and the command that helps most.
fn with_command(block: &Block, brief: &Text, command: Option<usize>) -> String {
    let brief = brief.plain();
    let Some(command) = command.and_then(|index| block.commands.get(index)) else {
        return brief;
    };
    let purpose = capitalized(&command.purpose);
    let gap = if brief.is_empty() { "" } else { " " };
    format!("{brief}{gap}{purpose}: {}", command.line)
}

/// Whether lists use the URLs of the block: each has a line of its own.
fn is_in_list(block: &Block) -> bool {
    block
        .urls
        .iter()
        .flat_map(|urls| &urls.rows)
        .map(|row| &row.place)
        .any(|place| place.is_list)
}

fn of_urls(block: &Block) -> Vec<Annotation> {
    block
        .urls
        .iter()
        .flat_map(|urls| &urls.rows)
        .map(|row| {
            let of_block = of_block(block);
            // Without a command: that of the block may be about its first URL.
            let text = with_uses(block) + &block.brief.plain();
            let url = format!("{}{}", block.host, row.shown);
            Annotation {
                place: Some((row.place.file.clone(), row.place.line.unwrap_or(1))),
                text: format!("{url}. {text}"),
                name: url,
                ..of_block
            }
        })
        .collect()
}

/// The annotation that stands for all that found no room.
fn of_rest(rest: &[Annotation]) -> Annotation {
    let names: Vec<&str> = rest
        .iter()
        .map(|annotation| match annotation.name.as_str() {
            "" => annotation.title.as_str(),
            name => name,
        })
        .collect();
    let is_error = rest.iter().any(|annotation| annotation.level == "error");
    Annotation {
        level: if is_error { "error" } else { "warning" },
        place: rest.iter().find_map(|annotation| annotation.place.clone()),
        title: with_spaces(&count(rest.len() as u64, "more finding")) + " of this run",
        text: format!("{}.", names.join(", ")),
        name: String::new(),
    }
}

fn command(annotation: &Annotation) -> String {
    let Annotation {
        level,
        place,
        title,
        text,
        ..
    } = annotation;
    let title = property(title);
    let text = data(text);
    match place {
        Some((file, line)) => {
            let file = property(file);
            format!("::{level} file={file},line={line},title={title}::{text}\n")
        }
        None => format!("::{level} title={title}::{text}\n"),
    }
}

/// Text of a workflow command: sanitized, so that it cannot end one command and begin another, and
/// with the escape that a command takes off again.
fn data(text: &str) -> String {
    sanitize(text).replace('%', "%25")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_within_its_command() {
        assert_eq!(data("a\r\n::error::x%"), "a\u{fffd}\u{fffd}::error::x%25");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
    }
}
