//! The first line about a check, which knows no incidents.

use super::headline::{ACTION_NEEDED, mistakes_in_files};
use super::report::Report;
use crate::message::{Headline, Tone};
use crate::numbers::{count, number, share_with};

impl Report<'_> {
    pub(super) fn checked(&self) -> Headline {
        let broken = self.urls_of(&self.news);
        let mistakes = self.envelope.mistakes.len() as u64;
        if broken == 0 && mistakes == 0 {
            return self.nothing_new();
        }
        let due = self.envelope.summary.coverage.due.max(broken);
        let text = share_with(broken, due, "URL", "", ["is", "are"]);
        let text = format!("{text} not as promised");
        let text = match (broken, mistakes) {
            (_, 0) => text,
            (0, _) => mistakes_in_files(mistakes, self.envelope),
            _ => format!("{text}, and {}", mistakes_in_files(mistakes, self.envelope)),
        };
        Headline::new(Tone::Bad, ACTION_NEEDED, text)
    }

    pub(super) fn checked_of_pull_request(&self, only_adds: bool) -> Headline {
        let verb = if only_adds { "adds" } else { "adds or changes" };
        let due = self.envelope.summary.coverage.due;
        let mistakes = self.envelope.mistakes.len() as u64;
        let broken = self.urls_of(&self.news);
        let unsure = self.urls_of(&self.unconfirmed) + self.without_result();
        let of_all = |urls: u64| match (urls, due) {
            (_, 1) => format!("the URL that this pull request {verb} is"),
            _ if urls >= due => format!(
                "all {} that this pull request {verb} are",
                count(due, "URL")
            ),
            (1, _) => format!(
                "1 of the {} that this pull request {verb} is",
                count(due, "URL")
            ),
            _ => {
                let due = count(due, "URL");
                format!(
                    "{} of the {due} that this pull request {verb} are",
                    number(urls)
                )
            }
        };
        match (broken, mistakes) {
            (0, 0) if due == 0 => Headline::new(
                Tone::Good,
                "All good",
                format!("this pull request {verb} no URL"),
            ),
            (0, 0) if unsure > 0 => {
                let text = format!("{} without a result", of_all(unsure));
                Headline::new(Tone::Warn, "Nothing is certain", text)
            }
            (0, 0) => Headline::new(
                Tone::Good,
                "All good",
                format!("{} as promised", of_all(due)),
            ),
            (0, _) => Headline::new(
                Tone::Bad,
                ACTION_NEEDED,
                mistakes_in_files(mistakes, self.envelope),
            ),
            (_, 0) => Headline::new(
                Tone::Bad,
                ACTION_NEEDED,
                format!("{} broken", of_all(broken)),
            ),
            _ => {
                let mistakes = mistakes_in_files(mistakes, self.envelope);
                let text = format!("{} broken, and {mistakes}", of_all(broken));
                Headline::new(Tone::Bad, ACTION_NEEDED, text)
            }
        }
    }
}
