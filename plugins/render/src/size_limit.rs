//! Cuts a message so that its rendering fits where the message goes.

use crate::message::{Block, Message, OpenIncidents, SourceLink};
use crate::numbers::number;
use crate::text::{Text, shorten};

/// The size that a message may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SizeLimit {
    /// Whether differences are shown.
    pub(crate) diffs: bool,
    /// Most URLs of a block.
    pub(crate) urls: usize,
    /// Most URLs of a block with more than [`Self::urls`] whose URLs have a common prefix.
    pub(crate) urls_with_prefix: usize,
    /// Most blocks in full.
    pub(crate) blocks: usize,
    /// Most lines of the list of other blocks, and of the list of other incidents.
    pub(crate) lines: usize,
    /// Longest text from outside, in characters. A longer text ends in `…`; a command that is twice as
    /// long is left out.
    pub(crate) longest: usize,
}

impl SizeLimit {
    /// The limits that a renderer tries one after the other: this one; without differences; five blocks with ten URLs each;
    /// titles, with which every message is small.
    pub(crate) fn and_smaller(self) -> [Self; 4] {
        let no_diffs = Self {
            diffs: false,
            ..self
        };
        let few = Self {
            urls: self.urls.min(10),
            blocks: 5,
            lines: 50,
            longest: 500,
            ..no_diffs
        };
        let titles = Self {
            blocks: 0,
            lines: 20,
            longest: 200,
            ..few
        };
        [self, no_diffs, few, titles]
    }

    /// The part of the message within the limit.
    pub(crate) fn cut(&self, message: &Message) -> Message {
        let mut message = message.clone();
        let mut rest = message
            .stuck
            .split_off(self.blocks.min(message.stuck.len()));
        rest.extend(
            message
                .blocks
                .split_off(self.blocks.min(message.blocks.len())),
        );
        let items = rest.iter().map(|block| {
            let class = format!("{}: ", block.class.as_str());
            Text::from(class).and(block.title())
        });
        message.more = (!rest.is_empty()).then(|| OpenIncidents {
            heading: Text::from("Also in this report"),
            items: items.collect(),
        });
        for list in [&mut message.more, &mut message.also_open]
            .into_iter()
            .flatten()
        {
            self.cut_list(&mut list.items);
        }
        for block in message.stuck.iter_mut().chain(&mut message.blocks) {
            self.cut_block(block);
        }
        message.each_text(|text| *text = text.shortened(self.longest));
        for kept in &mut message.kept {
            kept.url = shorten(&kept.url, self.longest);
            self.cut_place(&mut kept.place);
        }
        message
    }

    fn cut_list(&self, items: &mut Vec<Text>) {
        let more = items.len().saturating_sub(self.lines);
        if more > 0 {
            items.truncate(self.lines);
            items.push(Text::from(format!("and {} more", number(more as u64))));
        }
    }

    fn cut_block(&self, block: &mut Block) {
        if !self.diffs {
            block.facts.iter_mut().for_each(|fact| fact.diff.clear());
        }
        for line in block.facts.iter_mut().flat_map(|fact| &mut fact.diff) {
            *line = shorten(line, self.longest);
        }
        block.urls.take_if(|_| self.urls == 0);
        if let Some(urls) = &mut block.urls {
            let most = if urls.has_prefix && urls.rows.len() > self.urls {
                self.urls.min(self.urls_with_prefix)
            } else {
                self.urls
            };
            urls.rows.truncate(most);
            for row in &mut urls.rows {
                row.shown = shorten(&row.shown, self.longest);
                self.cut_place(&mut row.place);
            }
        }
        block
            .place
            .iter_mut()
            .for_each(|place| self.cut_place(place));
        let longest = self.longest.saturating_mul(2);
        block
            .commands
            .retain(|command| command.line.len() <= longest);
    }

    fn cut_place(&self, place: &mut SourceLink) {
        place.file = shorten(&place.file, self.longest);
        place.link.take_if(|link| link.len() > self.longest);
    }
}
