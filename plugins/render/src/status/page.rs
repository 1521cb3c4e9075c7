//! The status for a terminal: of the whole database, of one host, of filtered URLs.

use jiff::Timestamp;
use urldb_protocol::{
    Counts, Finding, HostOverview, IncidentOverview, Mistake, NoticeKind, Overview, RunSummary,
    State, UrlCondition, UrlOverview,
};
use urldb_text::{sanitize, variant_suffix};

use super::remarks::remarks;
use crate::compose::{Lookup, open_groups, selection, warning_titles};
use crate::layout::{columns, padded};
use crate::message::{Class, Headline, Tone};
use crate::numbers::{age, count, counted, day, headline, moment, number, share, with_spaces};
use crate::page::{BOLD, DIM, Page, paint, style};
use crate::shell::command_line;
use crate::site::{held_uris, impaired_sentence};
use crate::text::{Text, shown_host};

/// Most incidents, mistakes, warnings, hosts or URLs as promised, unless all are wanted.
const MOST: usize = 30;

/// Most selections of later runs that are named.
const MOST_SELECTIONS: usize = 3;

/// Lines about an overview.
pub(super) struct StatusPage<'a> {
    pub(super) overview: &'a Overview,
    pub(super) lookup: Lookup<'a>,
    pub(super) page: Page,
}

impl StatusPage<'_> {
    pub(super) fn all(&mut self) {
        let overview = self.overview;
        self.headline(
            &overview.counts,
            overview.last_run.as_ref().map(|run| run.at),
        );
        self.remarks();
        let incidents: Vec<_> = overview.open.iter().collect();
        let mistakes: Vec<_> = overview.mistakes.iter().collect();
        let warnings: Vec<_> = overview.warnings.iter().collect();
        let notices: Vec<_> = overview.notices.iter().collect();
        if !self.page.options.quiet || overview.counts.affected() > 0 {
            self.news(&incidents, &mistakes, (&notices, &warnings));
        }
        if self.page.options.quiet {
            return;
        }
        self.hosts();
        self.last_runs();
        if let Some(held) = held_uris(&overview.held) {
            self.page.gap();
            self.page.wrapped(&Text::from(held), 0);
        }
        if overview.counts.unconfirmed > 0 || !overview.open.is_empty() {
            self.page
                .push("To see one host: urldb status HOST. Its history: urldb log HOST.");
        }
    }

    pub(super) fn host(&mut self, host: &HostOverview, urls: &[UrlOverview]) {
        let incidents: Vec<_> = self
            .overview
            .open
            .iter()
            .filter(|it| host.incidents.contains(&it.incident.id))
            .collect();
        let mistakes: Vec<_> = self
            .overview
            .mistakes
            .iter()
            .filter(|mistake| mistake.file == host.file)
            .collect();
        let warnings: Vec<_> = self
            .overview
            .warnings
            .iter()
            .filter(|finding| finding.file == host.file)
            .collect();
        let notices: Vec<_> = self
            .overview
            .notices
            .iter()
            .filter(|it| it.domain == host.host)
            .collect();
        self.headline(&host.counts, host.checked);
        self.news(&incidents, &mistakes, (&notices, &warnings));
        let (kept, others): (Vec<_>, Vec<_>) = urls
            .iter()
            .partition(|url| url.condition == UrlCondition::Kept);
        let size = self.page.most(MOST.saturating_sub(others.len()));
        let more = kept.len().saturating_sub(size) as u64;
        let rows: Vec<_> = others
            .into_iter()
            .chain(kept.into_iter().take(size))
            .collect();
        let name = shown_host(&host.host);
        self.url_rows(&rows, &format!("://{name}"));
        self.page
            .more(0, more, &format!("{} more as promised", number(more)));
        self.page.gap();
        let checked = match (host.checked, host.all_checked) {
            (None, _) => "Never checked.".to_owned(),
            (Some(last), Some(all)) if all == last => format!("Last checked: {}.", self.ago(last)),
            (Some(last), Some(all)) => {
                format!(
                    "Last checked: {}, every URL since {}.",
                    self.ago(last),
                    moment(all)
                )
            }
            (Some(last), None) => format!("Last checked: {}, but not every URL.", self.ago(last)),
        };
        self.page.wrapped(&Text::from(checked), 0);
        if let Some(log) = command_line(&["urldb", "log", &name]) {
            self.page.push(format!("Its history: {log}"));
        }
    }

    pub(super) fn filtered(&mut self, filter: &str, urls: &[UrlOverview]) {
        let all = self.overview.counts.urls;
        let found = urls.len() as u64;
        let rows: Vec<&UrlOverview> = urls.iter().collect();
        let is_bad = urls
            .iter()
            .any(|url| url.condition == UrlCondition::Affected);
        let tone = match found {
            0 => Tone::Good,
            _ if is_bad => Tone::Bad,
            _ => Tone::Warn,
        };
        let text = format!("{} {filter}", share(found, all, "URL"));
        self.page.headline(&Headline { tone, text });
        self.url_rows(&rows, "");
    }

    /// `URLs: 20 broken, 1,227 ok; as of 2026-11-04 04:17 UTC`
    fn headline(&mut self, counts: &Counts, as_of: Option<Timestamp>) {
        let as_of = match as_of {
            Some(at) => format!("; as of {}", moment(at)),
            None if counts.urls > 0 => "; never checked: `urldb run` checks them".to_owned(),
            None => String::new(),
        };
        let text = headline(counts) + &as_of;
        let tone = Tone::of(counts);
        self.page.headline(&Headline { tone, text });
    }

    fn remarks(&mut self) {
        let remarks: Vec<String> = self
            .overview
            .impaired
            .as_ref()
            .map(impaired_sentence)
            .into_iter()
            .chain(remarks(self.overview))
            .collect();
        if remarks.is_empty() {
            return;
        }
        self.page.gap();
        for remark in remarks {
            self.page.wrapped(&Text::from(remark), 0);
        }
        if !self.overview.waiting.is_empty() {
            self.page
                .command("to see why messages wait", &["urldb", "notify", "list"]);
        }
    }

    /// Open incidents, mistakes and warnings, each on a line with its first fact below.
    fn news(
        &mut self,
        incidents: &[&IncidentOverview],
        mistakes: &[&Mistake],
        (notices, warnings): (&[&IncidentOverview], &[&Finding]),
    ) {
        if incidents.is_empty() && mistakes.is_empty() && warnings.is_empty() {
            return;
        }
        self.page.gap();
        self.groups(incidents, "incident");
        let most = self.page.most(MOST);
        for mistake in mistakes.iter().take(most) {
            self.title(Class::Mistake, &Text::new().outside(&mistake.message));
            let place = Text::new().path(&format!("{}:{}", mistake.file, mistake.line));
            self.page
                .push(format!("  {} {}", paint(DIM, "-->"), place.plain()));
        }
        self.more(mistakes.len().saturating_sub(most), "mistake");
        // The list of mistakes has those of notices.
        let is_mistake =
            |it: &&&IncidentOverview| it.incident.notice_of(NoticeKind::Mistake).is_some();
        let dangers = notices.iter().filter(|it| !is_mistake(it)).copied();
        self.groups(&dangers.collect::<Vec<_>>(), "warning");
        let is_notice = |it: &&&Finding| it.code == NoticeKind::CertificateEnds.as_str();
        let others = warnings.iter().filter(|it| !is_notice(it)).copied();
        let titles = warning_titles(&others.collect::<Vec<_>>(), &self.lookup);
        let more = titles.len().saturating_sub(most);
        for title in titles.into_iter().take(most) {
            self.title(Class::Warning, &title);
        }
        self.more(more, "warning");
    }

    /// Open incidents or notices, each with its age below.
    fn groups(&mut self, incidents: &[&IncidentOverview], noun: &str) {
        let incidents: Vec<_> = incidents.iter().map(|it| &it.incident).collect();
        let groups = open_groups(&incidents, &self.lookup);
        let most = self.page.most(MOST);
        let more = groups.len().saturating_sub(most);
        for group in groups.into_iter().take(most) {
            self.title(group.class, &group.title);
            let mut since = Text::from("since ").own(moment(group.since));
            let age = age(group.since, self.overview.now);
            if age.ends_with("day") || age.ends_with("days") {
                since = since.own(format!(" ({age})"));
            }
            if group.is_muted {
                since = since.own(", muted");
            }
            self.page.wrapped(&since, 2);
        }
        self.more(more, noun);
    }

    fn title(&mut self, class: Class, title: &Text) {
        let word = class.as_str();
        let mut lines = self.page.wrap(title, columns(word) + 2, 2).into_iter();
        let first = paint(BOLD, &lines.next().unwrap_or_default());
        self.page
            .push(format!("{}: {first}", paint(style(class.tone()), word)));
        for line in lines {
            self.page.push(format!("  {}", paint(BOLD, &line)));
        }
    }

    fn more(&mut self, more: usize, noun: &str) {
        let text = format!("{} more", counted(more as u64, noun));
        self.page.more(0, more as u64, &text);
    }

    fn hosts(&mut self) {
        let hosts = &self.overview.hosts;
        if hosts.is_empty() {
            return;
        }
        // Affected hosts are never left out; the order is that of names.
        let is_fine = |host: &HostOverview| host.counts.affected() == 0;
        let affected = hosts.iter().filter(|host| !is_fine(host)).count();
        let mut size = self.page.most(MOST).saturating_sub(affected);
        let shown: Vec<&HostOverview> = hosts
            .iter()
            .filter(|host| {
                let is_shown = !is_fine(host) || size > 0;
                size = size.saturating_sub(usize::from(is_fine(host)));
                is_shown
            })
            .collect();
        let names: Vec<String> = shown.iter().map(|host| shown_host(&host.host)).collect();
        let width = |of: &dyn Fn(&HostOverview) -> usize, least: usize| {
            shown.iter().map(|host| of(host)).fold(least, usize::max)
        };
        let name = names.iter().map(|name| columns(name)).fold(4, usize::max);
        let urls = width(&|host| number(host.counts.urls).len(), 5);
        let broken = width(&|host| number(host.counts.affected()).len(), 6);
        self.page.gap();
        let header = format!(
            "{:name$}  {:>urls$}  {:>broken$}  last compared in full",
            "host", "URLs", "broken"
        );
        self.page.push(paint(DIM, &header));
        for (host, host_name) in shown.iter().zip(&names) {
            let affected = match host.counts.affected() {
                0 => format!("{:>broken$}", "-"),
                affected => paint(style(Tone::Bad), &format!("{:>broken$}", number(affected))),
            };
            let line = format!(
                "{}  {:>urls$}  {affected}  {}",
                padded(host_name, name),
                number(host.counts.urls),
                with_spaces(&compared(host))
            );
            self.page.push(line);
        }
        let more = (hosts.len() - shown.len()) as u64;
        let text = format!("{} without broken URLs", counted(more, "more host"));
        self.page.more(0, more, &text);
    }

    /// When the whole database was checked last, and what was checked since.
    fn last_runs(&mut self) {
        let overview = self.overview;
        if overview.last_run.is_none() {
            return;
        }
        let mut text = match &overview.last_complete {
            Some(run) => Text::from(format!("Last run over everything: {}.", self.ago(run.at))),
            None => Text::from("No run over everything yet."),
        };
        let later = &overview.since_complete;
        let skipped = later.len().saturating_sub(MOST_SELECTIONS);
        for (index, run) in later.iter().skip(skipped).enumerate() {
            let same_day = overview
                .last_complete
                .as_ref()
                .is_some_and(|complete| day(complete.at) == day(run.at));
            let at = if same_day {
                run.at.strftime("%H:%M\u{a0}UTC").to_string()
            } else {
                moment(run.at)
            };
            let begin = if index == 0 { " Since then: " } else { "; " };
            let part = run.selection.as_deref().map_or_else(Text::new, selection);
            text = text.own(begin).and(part).own(format!(" at {at}, "));
            text = text.own(of_run(run));
        }
        if !later.is_empty() {
            text = text.own(".");
        }
        if overview.open.is_empty()
            && let Some(last) = overview.closed.iter().find(|it| !it.incident.is_notice())
        {
            text = text.own(format!(" Last incident: {}.", day(last.incident.since)));
        }
        self.page.gap();
        self.page.wrapped(&text, 0);
    }

    fn url_rows(&mut self, urls: &[&UrlOverview], prefix: &str) {
        if urls.is_empty() {
            return;
        }
        let states: Vec<String> = urls.iter().map(|url| state(url)).collect();
        let width = states
            .iter()
            .map(|state| columns(state))
            .fold(5, usize::max);
        self.page.gap();
        let header = format!(
            "{:width$}  {:10}  {:20}  URL",
            "state", "since", "last compared"
        );
        self.page.push(paint(DIM, &header));
        for (url, state) in urls.iter().zip(&states) {
            let since = url
                .pending_since
                .or(url.since)
                .map_or_else(String::new, day);
            let verified = match (url.is_static(), url.verified) {
                (false, _) => "-".to_owned(),
                (true, None) => "never".to_owned(),
                (true, Some(verified)) => with_spaces(&moment(verified)),
            };
            let state = format!("{state:width$}");
            let state = match url.condition {
                UrlCondition::Kept => state,
                UrlCondition::Affected => paint(style(Tone::Bad), &state),
                _ => paint(style(Tone::Warn), &state),
            };
            let shown = match url.url.split_once(prefix) {
                Some((_, rest)) if !prefix.is_empty() && url.url.starts_with("http://") => rest,
                _ => &url.url,
            };
            let variant = variant_suffix(url.variant.as_deref());
            let shown = Text::new().code(shown).own(sanitize(&variant)).plain();
            self.page
                .push(format!("{state}  {since:10}  {verified:20}  {shown}"));
        }
    }

    /// `2026-11-22 04:17 UTC, 5 h ago`.
    pub(super) fn ago(&self, time: Timestamp) -> String {
        format!(
            "{}, {}\u{a0}ago",
            moment(time),
            age(time, self.overview.now)
        )
    }
}

/// When the static URLs of a host were compared last: `2026-11-24 04:17 UTC (all but 2)`.
fn compared(host: &HostOverview) -> String {
    if host.files.all == 0 {
        return "never (no bytes promised)".to_owned();
    }
    match (host.verified, host.verified_without) {
        (None, _) => "never".to_owned(),
        (Some(at), 0) => moment(at),
        (Some(at), others) => format!("{} (all but {})", moment(at), number(others)),
    }
}

/// `180 URLs, all as promised`.
fn of_run(run: &RunSummary) -> String {
    let others = run.due.saturating_sub(run.ok);
    let due = count(run.due, "URL");
    match others {
        0 => format!("{due}, all as promised"),
        others => format!("{due}, {} not as promised", number(others)),
    }
}

fn state(url: &UrlOverview) -> String {
    match (url.condition, url.state, url.pending) {
        (_, None, _) => "not checked".to_owned(),
        (UrlCondition::Unconfirmed, _, Some(pending)) => format!("{pending}?"),
        (UrlCondition::Affected, Some(State::Ok), _) => "not tried".to_owned(),
        (_, Some(state), _) => state.to_string(),
    }
}
