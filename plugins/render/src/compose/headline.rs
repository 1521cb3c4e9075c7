//! The first line: does the reader have to act? Then the totals of the reader's URLs.

use urldb_protocol::{Because, Envelope, EventKind, Incident, Mistake, NoticeKind, Phase, Reason};

use super::causes::Group;
use super::links::selection;
use super::report::Report;
use super::scope::Scope;
use super::stuck::Deliveries;
use super::titles::comes_and_goes;
use super::{blind, mistakes, notices};
use crate::message::{Headline, Tone};
use crate::numbers::{count, number, share_with};
use crate::sentences::possessor;
use crate::text::Text;

impl Report<'_> {
    pub(super) fn headline(&self, deliveries: &Deliveries) -> Headline {
        let mut headline = self.unmarked(deliveries);
        if self.envelope.run.test {
            headline.call = format!("{TEST_MARK}{}", headline.call);
        }
        headline
    }

    fn unmarked(&self, deliveries: &Deliveries) -> Headline {
        let mut phrases = deliveries.urgent(self.envelope.run.started);
        let errors = deliveries.errors.len() as u64;
        if errors > 0 {
            phrases.push(format!("the run had {}", count(errors, "error")));
        }
        let rest = self.without_stuck();
        if phrases.is_empty() {
            return rest;
        }
        let text = listed(&phrases);
        let text = match rest.call.as_str() {
            ACTION_NEEDED => text.own("; ").and(rest.text),
            _ => text,
        };
        Headline::new(Tone::Bad, ACTION_NEEDED, text)
    }

    fn without_stuck(&self) -> Headline {
        match self.scope {
            Scope::Check => self.checked(),
            Scope::PullRequest { only_adds, .. } => self.checked_of_pull_request(only_adds),
            Scope::Reminder(_) => {
                let text = format!("{}, {}", self.reminder(), self.broken());
                Headline::new(Tone::Bad, "Reminder", text)
            }
            Scope::Week => self.of_week(),
            Scope::Run | Scope::News | Scope::Changes(_) | Scope::Issue(_) => self.ran(),
        }
    }

    fn ran(&self) -> Headline {
        let news = self.news();
        let is_unsteady = self.news.iter().any(|incident| incident.comes_and_goes());
        if !news.is_empty() || is_unsteady {
            let comma = if news.is_empty() { "" } else { ", " };
            let is_danger = self.news.is_empty() && self.new_mistakes() == 0;
            let broken = || Text::from(self.broken());
            let rest = if is_danger { self.kept() } else { broken() };
            let text = listed(&news).own(comma).and(rest);
            return Headline::new(Tone::Bad, ACTION_NEEDED, text);
        }
        if let Some(good) = self.shrunk() {
            return good;
        }
        if self.closed.is_empty() && !self.solved.is_empty() {
            return self.notices_solved();
        }
        // An incident that has shrunk is open.
        let open = (self.open.len() + self.news.len()) as u64;
        let is_mail = matches!(self.scope, Scope::Changes(_));
        let mistakes = self.envelope.mistakes.len() as u64;
        match (self.closed.len() as u64, open) {
            (0, 0) if mistakes > 0 => {
                let verb = if mistakes == 1 { "is" } else { "are" };
                let mistakes = mistakes_in_files(mistakes, self.envelope);
                let text = format!("{mistakes} {verb} still there, {}", self.broken());
                Headline::new(Tone::Bad, "No news", text)
            }
            (0, 0) => self.nothing_new(),
            (0, _) if self.open.iter().all(|incident| incident.comes_and_goes()) => {
                Headline::new(Tone::Bad, "No news", self.broken())
            }
            (0, _) => {
                let verb = if open == 1 { "is" } else { "are" };
                let is_acked = |incident: &&Incident| incident.affected().all(|url| url.acked);
                let state = if self.open.iter().all(is_acked) {
                    "acknowledged"
                } else {
                    "still open"
                };
                let text = format!("{} {verb} {state}, {}", incidents(open), self.broken());
                Headline::new(Tone::Bad, "No news", text)
            }
            (closed, 0) if self.unsure().is_none() => self.all_closed(closed),
            (_, _) if !is_mail && self.envelope.run.selection.is_some() && !self.was_seen() => {
                self.all_good("All good again")
            }
            (closed, open) => {
                let solved = match (is_mail, closed) {
                    (true, 1) => "this incident is solved".to_owned(),
                    (true, _) => "these incidents are solved".to_owned(),
                    (false, 1) => "1 incident is solved".to_owned(),
                    (false, closed) => format!("{} are solved", incidents(closed)),
                };
                let others = match open {
                    0 => self.unsure().unwrap_or_default(),
                    1 => format!("1 other is open, {}", self.broken()),
                    open => format!("{} others are open, {}", number(open), self.broken()),
                };
                Headline::new(Tone::Good, "Good news", format!("{solved}. {others}"))
            }
        }
    }

    /// The headline if notices are closed, and no incident is.
    fn notices_solved(&self) -> Headline {
        let is_all = self.open.is_empty() && self.unsure().is_none();
        notices::solved(&self.solved, is_all, self.kept())
    }

    /// All URLs are as promised, or some are broken.
    pub(super) fn kept(&self) -> Text {
        if self.is_any_affected() {
            return Text::from(self.broken());
        }
        self.all_good("").text
    }

    /// The headline if incidents are closed, and no other is open.
    fn all_closed(&self, closed: u64) -> Headline {
        let closed = incidents(closed);
        if self.closed.iter().all(|incident| incident.unheard) {
            let all = self.all_good("All good");
            let began = format!(". {closed} began and ended while no message could be sent");
            return Headline::new(all.tone, &all.call, all.text.own(began));
        }
        if self.has_recovered() {
            return self.all_good("All good again");
        }
        let is = if self.closed.len() == 1 { "is" } else { "are" };
        let all = self.all_good("All good");
        let text = Text::from(format!("{closed} {is} closed, ")).and(all.text);
        Headline::new(all.tone, &all.call, text)
    }

    /// The reason of a reminder.
    fn reminder(&self) -> String {
        let ended = |incident: &&&Incident| {
            let mut chapters = incident.chapters.iter();
            chapters.any(|chapter| chapter.new && chapter.event == EventKind::AckEnded)
        };
        match self.news.iter().filter(ended).count() {
            0 => {}
            1 => return "1 acknowledgement has ended".to_owned(),
            several => return format!("{several} acknowledgements have ended"),
        }
        let open = incidents(self.news.len() as u64);
        let verb = if self.news.len() == 1 { "is" } else { "are" };
        format!("{open} {verb} still open")
    }

    /// The headline if URLs have left open incidents, and no incident is closed.
    fn shrunk(&self) -> Option<Headline> {
        let shrunk = || {
            let news = self.news.iter();
            news.filter(|incident| incident.phase == Phase::Shrunk)
        };
        let removed: u64 = shrunk().map(|it| it.left_because(Because::Removed)).sum();
        let left: u64 = shrunk()
            .map(|it| it.urls.len() as u64 - it.affected().count() as u64)
            .sum();
        let is = |urls: u64| if urls == 1 { "is" } else { "are" };
        (left > 0 && self.closed.is_empty()).then(|| {
            let good = left - removed;
            let mut phrases = vec![];
            if good > 0 {
                let good_urls = count(good, "URL");
                phrases.push(format!("{good_urls} {} as promised again", is(good)));
            }
            if removed > 0 {
                let removed_urls = count(removed, "URL");
                phrases.push(format!(
                    "{removed_urls} {} no longer in the database",
                    is(removed)
                ));
            }
            let text = format!("{}, {}", phrases.join(", "), self.still_broken());
            Headline::new(Tone::Good, "Good news", text)
        })
    }

    /// The headline of a run without incidents.
    pub(super) fn nothing_new(&self) -> Headline {
        if let Some(no_result) = self.no_result() {
            return no_result;
        }
        if let Some(failed) = self.failed_first().filter(|_| !self.is_cut_short()) {
            return Headline::new(Tone::Warn, "Nothing to do yet", failed);
        }
        self.all_good(if self.envelope.fixed.is_empty() {
            "All good"
        } else {
            "All good again"
        })
    }

    /// The headline of a run during which this machine had no network.
    fn no_result(&self) -> Option<Headline> {
        let own = Reason::OwnNetwork.as_str();
        let is_own = |incident: &&&Incident| incident.reason.as_deref() == Some(own);
        let mut hosts: Vec<&str> = self
            .unknown
            .iter()
            .filter(is_own)
            .map(|incident| incident.host.as_str())
            .collect();
        hosts.sort_unstable();
        hosts.dedup();
        let hosts = hosts.len() as u64;
        // A portal answers in the name of every host.
        let has_answer = |incident: &&Incident| incident.evidence.observed.status.is_some();
        let is_portal = self
            .unknown
            .iter()
            .copied()
            .any(|incident| has_answer(&incident));
        (hosts > 0).then(|| {
            let hosts = count(hosts, "host");
            let what = if is_portal {
                format!("{hosts} answer with one page")
            } else {
                format!("none of {hosts} answered")
            };
            let text = format!("{what}, so the fault is probably in the network of this machine");
            Headline::new(Tone::Warn, "No result", text)
        })
    }

    /// Whether somebody ended the run before it had all results.
    fn is_cut_short(&self) -> bool {
        self.envelope.run.interrupted && self.without_result() > 0
    }

    /// The headline of a run that saw nothing wrong, unless URLs got no result.
    fn all_good(&self, call: &str) -> Headline {
        if self.is_cut_short() {
            return Headline::new(Tone::Warn, "Interrupted", self.missing_results());
        }
        if let Some((incident, notice)) = self.blind() {
            return Headline::new(Tone::Warn, "No result", blind::unseen(incident, notice));
        }
        if let Some(unsure) = self.unsure() {
            return Headline::new(Tone::Warn, "Nothing to do yet", unsure);
        }
        // A mail tells the state of all promises, and the terminal what this run has seen.
        let arguments = self.envelope.run.selection.as_ref();
        match arguments.filter(|_| !matches!(self.scope, Scope::Changes(_))) {
            Some(arguments) => {
                let call = format!("All good in {}", selection(arguments).plain());
                let due = self.envelope.summary.readers_coverage().due;
                let text = as_promised(due, &self.possessor());
                Headline::new(Tone::Good, &call, text)
            }
            None if self.is_any_affected() => self.untold(),
            None => Headline::new(Tone::Good, call, as_promised(self.all(), &self.possessor())),
        }
    }

    /// The headline if the URLs that are broken belong to no incident that the reader is told of: they are muted,
    /// or not broken for long.
    fn untold(&self) -> Headline {
        let closed = self.closed.len() as u64;
        if !self.has_recovered() {
            return Headline::new(Tone::Good, "No news", self.broken());
        }
        let is = if closed == 1 { "is" } else { "are" };
        let text = format!("{} {is} solved. {}", incidents(closed), self.broken());
        Headline::new(Tone::Good, "Good news", text)
    }

    /// Whether a URL of the reader is broken, or comes and goes.
    fn is_any_affected(&self) -> bool {
        self.envelope.summary.readers_counts().affected() > 0
    }

    /// Follows a number of URLs of the reader.
    pub(super) fn possessor(&self) -> String {
        possessor(&self.envelope.summary)
    }

    /// Number of affected URLs of the incidents.
    pub(super) fn urls_of(&self, incidents: &[&Incident]) -> u64 {
        let incidents = incidents.iter();
        incidents
            .map(|incident| Group::one(incident, self.envelope).urls_now())
            .sum()
    }

    /// The news, in phrases.
    fn news(&self) -> Vec<String> {
        let mut phrases = Vec::new();
        phrases.extend(notices::phrases(&self.notices, &self.news));
        let in_phase = |phase| {
            let news = self.news.iter().copied();
            let news = news.filter(|incident| !notices::has_just_ended(incident));
            // The totals name what comes and goes.
            let news = news.filter(|incident| !incident.comes_and_goes());
            news.filter(move |incident| incident.phase == phase)
        };
        let opened = in_phase(Phase::Opened).count() as u64;
        if opened > 0 {
            phrases.push(count(opened, "new incident"));
        }
        let others = [
            (Phase::Reopened, "is open again", "are open again"),
            (Phase::Became, "has another cause", "have another cause"),
            (
                Phase::Steady,
                "no longer comes and goes",
                "no longer come and go",
            ),
        ];
        for (phase, one, several) in others {
            match in_phase(phase).count() as u64 {
                0 => {}
                1 => phrases.push(format!("{} {one}", incidents(1))),
                number => phrases.push(format!("{} {several}", incidents(number))),
            }
        }
        let grown: Vec<_> = in_phase(Phase::Grown).collect();
        if !grown.is_empty() {
            let urls: u64 = grown.iter().map(|incident| incident.added).sum();
            let has = if grown.len() == 1 { "has" } else { "have" };
            let grown = incidents(grown.len() as u64);
            phrases.push(format!("{grown} {has} grown by {}", count(urls, "URL")));
        }
        match self.new_mistakes() {
            0 => {}
            mistakes => phrases.push(self.mistakes_in_files(mistakes)),
        }
        phrases
    }

    /// `2 mistakes in domain files`; `1 new mistake in a domain file` where others are known.
    fn mistakes_in_files(&self, mistakes: u64) -> String {
        let is_known = |it: &&Incident| {
            it.phase == Phase::Became && it.notice_of(NoticeKind::Mistake).is_some()
        };
        let text = mistakes_in_files(mistakes, self.envelope);
        if self.notices.iter().any(is_known) {
            return text.replacen("\u{a0}mistake", "\u{a0}new mistake", 1);
        }
        text
    }

    /// Number of mistakes that are news: those of notices, and those that no notice is about.
    fn new_mistakes(&self) -> u64 {
        let files = self.envelope.files_with_notice();
        let others = self.envelope.mistakes.iter();
        let others = others.filter(|it| it.new && !files.contains(it.file.as_str()));
        let others = others.filter(|_| self.tells_everything()).count() as u64;
        let notices = self.notices.iter();
        let notices = notices.filter_map(|it| it.notice_of(NoticeKind::Mistake));
        notices.map(mistakes::new_ones).sum::<u64>() + others
    }

    /// Number of URLs of the reader.
    pub(super) fn all(&self) -> u64 {
        let summary = &self.envelope.summary;
        match summary.readers_counts().urls {
            // A check counts only the URLs that were due.
            0 => summary.readers_coverage().due,
            urls => urls,
        }
    }

    /// `40 of 1,247 URLs are broken`, with those that are muted.
    fn broken(&self) -> String {
        self.are("broken")
    }

    /// The same of URLs that were broken before: `20 of 1,247 URLs are still broken`.
    fn still_broken(&self) -> String {
        self.are("still broken")
    }

    fn are(&self, broken: &str) -> String {
        let counts = self.envelope.summary.readers_counts();
        let possessor = self.possessor();
        let (unsteady, affected) = (counts.flapping, counts.broken + counts.muted);
        if unsteady > 0 && affected == 0 {
            let rest = self.all().saturating_sub(unsteady);
            let goes = comes_and_goes(unsteady);
            let urls = format!("{}{possessor}", count(unsteady, "URL"));
            return match rest {
                0 => format!("{urls} {goes}"),
                1 => format!("{urls} {goes}, the other URL is as promised"),
                _ => format!(
                    "{urls} {goes}, the other {} are as promised",
                    count(rest, "URL")
                ),
            };
        }
        let broken = broken_share(affected, self.all(), &possessor, broken, counts.muted);
        match unsteady {
            0 => broken,
            _ => format!(
                "{broken}, {} {}",
                number(unsteady),
                comes_and_goes(unsteady)
            ),
        }
    }

    /// Whether a run saw a URL of the closed incidents as promised again.
    fn has_recovered(&self) -> bool {
        let mut ends = self.closed.iter().filter_map(|incident| incident.end());
        ends.any(|end| matches!(end, Because::Recovered | Because::Steady))
    }
}

pub(super) const ACTION_NEEDED: &str = "Action needed";

/// The begin of all headlines and subjects of `urldb notify test`.
pub(super) const TEST_MARK: &str = "[test] ";

pub(super) fn incidents(number: u64) -> String {
    count(number, "incident")
}

/// Such a number of mistakes; in lists, if all mistakes of the envelope are.
pub(super) fn mistakes_in_files(number: u64, envelope: &Envelope) -> String {
    let are_of_lists = envelope.mistakes.iter().all(Mistake::is_of_list);
    let (one, many) = if are_of_lists && !envelope.mistakes.is_empty() {
        ("about a list", "about lists")
    } else {
        ("in a domain file", "in domain files")
    };
    match number {
        1 => format!("1\u{a0}mistake {one}"),
        _ => format!("{} {many}", count(number, "mistake")),
    }
}

/// `all 6 URLs are as promised`. `possessor` follows the noun: ` of example.org`.
fn as_promised(urls: u64, possessor: &str) -> String {
    match urls {
        0 => "there is nothing to check".to_owned(),
        1 => format!("the URL{possessor} is as promised"),
        _ => format!("all {}{possessor} are as promised", count(urls, "URL")),
    }
}

/// `40 of 1,247 URLs are broken (2 muted)`. `possessor` is that of [`share_of`], `broken` the last word.
fn broken_share(affected: u64, all: u64, possessor: &str, broken: &str, muted: u64) -> String {
    let share = share_with(affected, all, "URL", possessor, ["is", "are"]);
    match muted {
        0 => format!("{share} {broken}"),
        muted => format!("{share} {broken} ({} muted)", number(muted)),
    }
}

/// `a, b and c`.
fn listed(phrases: &[String]) -> Text {
    match phrases {
        [] => Text::new(),
        [only] => Text::from(only.as_str()),
        [first @ .., last] => Text::from(format!("{} and {last}", first.join(", "))),
    }
}
