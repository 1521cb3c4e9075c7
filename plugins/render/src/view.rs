//! What a template is given: the envelope, and the lists that people want to read.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use urldb_protocol::{Change, Envelope, Finding, FixedMistake, Mistake, Severity, State};

use crate::text::one_line;
use crate::words;

/// The data of a template. Every text in it is one harmless line.
#[derive(Debug, Clone, Serialize)]
pub struct View {
    /// The whole envelope: `protocol`, `run`, `findings`, `mistakes`, `mended`, `changes`,
    /// `summary`.
    #[serde(flatten)]
    envelope: Value,
    /// How many URLs are how.
    pub totals: Totals,
    /// News: URLs whose promise held, and is broken now.
    pub new_broken: Part,
    /// News: URLs whose promise holds again.
    pub recovered: Part,
    /// News: URLs that went from one bad state to another, or that can no longer be judged.
    pub moved: Part,
    /// Broken, and no news.
    pub still_broken: Part,
    /// Broken for the first time; the next run will tell.
    pub pending: Part,
    /// Everything broken: what `new_broken`, `moved`, `still_broken` and `pending` are made of.
    pub broken: Part,
    /// URLs of which nothing can be said.
    pub unsure: Part,
    /// Promises that hold, with something worth knowing.
    pub warnings: Part,
    /// What is wrong in domain files.
    pub misread: Mistakes<Mistake>,
    /// News: what was wrong in domain files, and is no longer.
    pub reread: Mistakes<FixedMistake>,
}

/// How many URLs are how.
#[derive(Debug, Clone, Serialize)]
pub struct Totals {
    /// All URLs.
    pub urls: u64,
    /// Those whose promise holds.
    pub kept: u64,
    /// Those whose promise is broken, confirmed or not.
    pub broken: u64,
    /// Those that could not be judged.
    pub unsure: u64,
}

/// Mistakes in domain files.
#[derive(Debug, Clone, Serialize)]
pub struct Mistakes<Row> {
    /// How many there are, shown or not.
    pub total: usize,
    /// How many of them are news, shown or not.
    pub new: usize,
    /// Those that are shown, news first.
    pub rows: Vec<Row>,
    /// How many are not shown.
    pub more: usize,
}

/// One list of URLs, grouped by what is the matter with them.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Part {
    /// How many URLs there are, shown or not.
    pub total: usize,
    /// The groups, in the order of the envelope.
    pub groups: Vec<Group>,
}

/// URLs with the same thing the matter.
#[derive(Debug, Clone, Serialize)]
pub struct Group {
    /// The code of the findings: a state or a warning.
    pub code: String,
    /// A heading, such as `Unreachable`.
    pub title: String,
    /// What exactly, such as `the name does not resolve`.
    pub cause: Option<String>,
    /// How many URLs there are, shown or not.
    pub total: usize,
    /// The URLs that are shown.
    pub rows: Vec<Row>,
    /// How many are not shown.
    pub more: usize,
}

/// One URL.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The URL.
    pub url: String,
    /// The URL again where it may become a link: it is http or https and nothing
    /// in it had to be replaced.
    pub link: Option<String>,
    /// The domain file.
    pub file: String,
    /// The line of the record.
    pub line: usize,
    /// The state of the URL.
    pub state: State,
    /// One sentence.
    pub message: String,
    /// What was promised.
    pub expected: Option<String>,
    /// What was seen instead.
    pub observed: Option<String>,
    /// Since when.
    pub since: Option<Timestamp>,
    /// News only: the state before.
    pub from: Option<State>,
    /// News only: since when it had been so.
    pub from_since: Option<Timestamp>,
    /// Whether this is news of this run.
    pub new: bool,
    /// Whether another run has to confirm it.
    pub pending: bool,
    #[serde(skip)]
    warning: bool,
    #[serde(skip)]
    heading: Heading,
}

/// What the rows of a group have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Heading {
    code: String,
    reason: Option<String>,
}

impl View {
    /// Looks at `envelope`, showing at most `limit` URLs in each list.
    pub fn new(envelope: &Envelope, limit: usize) -> Self {
        let changes: HashMap<_, _> = envelope
            .changes
            .iter()
            .map(|c| (key_of_change(c), c))
            .collect();
        let findings: HashMap<_, _> = envelope
            .findings
            .iter()
            .filter(|f| !is_warning(f))
            .map(|f| (key_of_finding(f), f))
            .collect();
        let news = |wanted: fn(&Change) -> bool| {
            let wanted = envelope.changes.iter().filter(|c| wanted(c));
            let rows = wanted.map(|c| Row::of_change(c, findings.get(&key_of_change(c)).copied()));
            Part::new(rows, limit)
        };
        let now = |wanted: &dyn Fn(&Row) -> bool| {
            let rows = envelope.findings.iter().map(|finding| {
                let new = changes.contains_key(&key_of_finding(finding));
                Row::of_finding(finding, new)
            });
            Part::new(rows.filter(|row| wanted(row)), limit)
        };
        let broken = |row: &Row| row.state.is_broken() && !row.warning;
        Self {
            totals: Totals::new(envelope),
            new_broken: news(|c| c.to.is_broken() && !c.from.is_broken()),
            recovered: news(|c| c.to == State::Ok),
            moved: news(|c| c.to != State::Ok && (c.from.is_broken() || !c.to.is_broken())),
            still_broken: now(&|row| broken(row) && !row.new && !row.pending),
            pending: now(&|row| broken(row) && row.pending),
            broken: now(&broken),
            unsure: now(&|row| row.state.is_unsure() && !row.warning),
            warnings: now(&|row| row.warning),
            misread: misread(&envelope.mistakes, limit),
            reread: reread(&envelope.mended, limit),
            envelope: harmless(serde_json::to_value(envelope).unwrap_or_default()),
        }
    }
}

impl Totals {
    fn new(envelope: &Envelope) -> Self {
        let count = |wanted: fn(State) -> bool| {
            let states = envelope.summary.states.iter();
            states
                .filter(|(state, _)| wanted(**state))
                .map(|(_, count)| count)
                .sum()
        };
        Self {
            urls: count(|_| true),
            kept: count(|state| state == State::Ok),
            broken: count(State::is_broken),
            unsure: count(State::is_unsure),
        }
    }
}

fn misread(mistakes: &[Mistake], limit: usize) -> Mistakes<Mistake> {
    let (new, known): (Vec<_>, Vec<_>) = mistakes.iter().partition(|mistake| mistake.new);
    let total = mistakes.len();
    Mistakes {
        total,
        new: new.len(),
        rows: new
            .into_iter()
            .chain(known)
            .take(limit)
            .map(shown)
            .collect(),
        more: total.saturating_sub(limit),
    }
}

fn reread(mended: &[FixedMistake], limit: usize) -> Mistakes<FixedMistake> {
    let rows = mended.iter().take(limit).map(|mended| FixedMistake {
        code: one_line(&mended.code),
        file: one_line(&mended.file),
        text: one_line(&mended.text),
    });
    Mistakes {
        total: mended.len(),
        new: mended.len(),
        rows: rows.collect(),
        more: mended.len().saturating_sub(limit),
    }
}

fn shown(mistake: &Mistake) -> Mistake {
    Mistake {
        code: one_line(&mistake.code),
        file: one_line(&mistake.file),
        line: mistake.line,
        column: mistake.column,
        message: one_line(&mistake.message),
        help: mistake.help.as_deref().map(one_line),
        text: one_line(&mistake.text),
        new: mistake.new,
    }
}

impl Part {
    fn new(rows: impl Iterator<Item = Row>, limit: usize) -> Self {
        let mut part = Self::default();
        let mut index_of: HashMap<Heading, usize> = HashMap::new();
        for row in rows {
            let index = *index_of.entry(row.heading.clone()).or_insert_with(|| {
                part.groups.push(Group::new(&row));
                part.groups.len() - 1
            });
            let group = &mut part.groups[index];
            group.total += 1;
            if part.total < limit {
                group.rows.push(row);
            } else {
                group.more += 1;
            }
            part.total += 1;
        }
        part
    }
}

impl Group {
    fn new(row: &Row) -> Self {
        let Heading { code, reason } = &row.heading;
        let title = match code.parse() {
            Ok(state) => words::title(state).to_owned(),
            Err(_) => words::sentence(&one_line(code)),
        };
        Self {
            code: one_line(code),
            title,
            cause: reason
                .as_deref()
                .map(|reason| one_line(words::cause(reason))),
            total: 0,
            rows: Vec::new(),
            more: 0,
        }
    }
}

impl Row {
    fn of_finding(finding: &Finding, new: bool) -> Self {
        let url = one_line(&finding.url);
        Self {
            link: link(&url, &finding.url),
            url,
            file: one_line(&finding.file),
            line: finding.line,
            state: finding.state,
            message: one_line(&finding.message),
            expected: finding.expected.as_deref().map(one_line),
            observed: finding.observed.as_deref().map(one_line),
            since: finding.since,
            from: None,
            from_since: None,
            new,
            pending: finding.pending,
            warning: is_warning(finding),
            heading: Heading {
                code: finding.code.clone(),
                reason: finding.reason.clone(),
            },
        }
    }

    fn of_change(change: &Change, finding: Option<&Finding>) -> Self {
        let url = one_line(&change.url);
        Self {
            link: link(&url, &change.url),
            url,
            file: one_line(&change.file),
            line: change.line,
            state: change.to,
            message: one_line(&change.message),
            expected: finding.and_then(|f| f.expected.as_deref()).map(one_line),
            observed: finding.and_then(|f| f.observed.as_deref()).map(one_line),
            since: Some(change.since),
            from: Some(change.from),
            from_since: change.from_since,
            new: true,
            pending: false,
            warning: false,
            heading: Heading {
                code: change.to.to_string(),
                reason: finding.and_then(|f| f.reason.clone()),
            },
        }
    }
}

/// `javascript:` and its like must never be clicked, nor anything that only looks
/// like the URL it was.
fn link(harmless: &str, url: &str) -> Option<String> {
    let web = url.starts_with("http://") || url.starts_with("https://");
    (web && harmless == url).then(|| url.to_owned())
}

/// A warning's code is its own; that of anything worse is its state, unless it is an error.
fn is_warning(finding: &Finding) -> bool {
    finding.severity == Severity::Warning && finding.code != finding.state.as_str()
}

fn key_of_change(change: &Change) -> (&str, &str, usize) {
    (&change.url, &change.file, change.line)
}

fn key_of_finding(finding: &Finding) -> (&str, &str, usize) {
    (&finding.url, &finding.file, finding.line)
}

/// The same data with every text made harmless.
fn harmless(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(one_line(&text)),
        Value::Array(items) => items.into_iter().map(harmless).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, field)| (name, harmless(field)))
            .collect(),
        other => other,
    }
}
