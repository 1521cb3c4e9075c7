//! The job summary of a run.

use std::fmt::Write as _;

use super::blocks::{block_parts, line_of};
use super::size_limits::fitted;
use super::syntax::{code, inline, link};
use crate::message::{Block, KeptPromise, Message};
use crate::numbers::{bytes, number, with_spaces};
use crate::text::Text;

/// Largest job summary, in bytes; GitHub takes 1 MiB of all steps.
pub const LARGEST_SUMMARY: usize = 900_000;

/// Most URLs that are as promised in a summary.
const MOST_KEPT: usize = 100;

/// The job summary of a run.
pub fn markdown(message: &Message) -> String {
    markdown_within(message, LARGEST_SUMMARY)
}

/// The same in at most `limit` bytes.
pub(crate) fn markdown_within(message: &Message, limit: usize) -> String {
    fitted(limit, |size| {
        let most_kept = size.urls.min(MOST_KEPT);
        summary(&size.cut(message), most_kept)
    })
}

fn summary(message: &Message, most_kept: usize) -> String {
    let headline = Text::from(message.headline.text.as_str());
    let mut parts = vec![format!("## {}", inline(&headline))];
    for block in message.stuck.iter().chain(&message.blocks) {
        parts.push(block_title(block));
        parts.extend(block_parts(block));
    }
    for list in [&message.more, &message.also_open].into_iter().flatten() {
        let items = list.items.iter().map(|item| format!("- {}", inline(item)));
        parts.push(format!("**{}:**", inline(&list.heading)));
        parts.push(items.collect::<Vec<_>>().join("\n"));
    }
    parts.extend(kept_list(&message.kept, most_kept));
    parts.push(inline(&message.coverage));
    if let Some(notified) = notified(message) {
        parts.push(notified);
    }
    parts.extend(message.remark.as_ref().map(inline));
    parts.join("\n\n") + "\n"
}

fn block_title(block: &Block) -> String {
    format!("### {}: {}", block.class.as_str(), inline(&block.title()))
}

/// `Notified: mail to 2 recipients; issue #38 opened. [Incident a986cfd9](…)`
fn notified(message: &Message) -> Option<String> {
    let mut text = String::new();
    if let Some(notified) = &message.notified {
        text = format!("Notified: {}.", inline(notified));
        text = text.replace("nobody: nothing", "nobody, nothing");
    }
    let stuck: Vec<String> = message
        .stuck
        .iter()
        .map(|block| inline(&block.subject))
        .filter(|name| !name.is_empty())
        .collect();
    if !stuck.is_empty() {
        let _ = write!(text, " Not notified: {}.", stuck.join(", "));
    }
    if let Some(site) = &message.site {
        let _ = write!(text, " {}", link(&site.short_label, &site.url));
    }
    (!text.is_empty()).then(|| text.trim_start().to_owned())
}

/// The URLs of a pull request that are as promised.
fn kept_list(kept: &[KeptPromise], most: usize) -> Vec<String> {
    let shown = kept.len().min(most);
    let mut rows: Vec<String> = kept[..shown]
        .iter()
        .map(|promise| {
            let length = promise
                .length
                .map(|length| format!(": {}", with_spaces(&bytes(length))));
            let place = line_of(&promise.place);
            format!(
                "- {}{}{place}",
                code(&promise.url),
                length.unwrap_or_default()
            )
        })
        .collect();
    let more = kept.len() - shown;
    if more > 0 {
        rows.push(format!("- and {} more", number(more as u64)));
    }
    if rows.is_empty() {
        return rows;
    }
    vec!["As promised:".to_owned(), rows.join("\n")]
}
