//! The data of a template: the envelope, and lists of URLs made from it.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use urldb_protocol::{Change, Envelope, Finding, FixedMistake, Mistake, Severity, State};

use crate::text::one_line;
use crate::words;

/// The data of a template. Every text in a view is one sanitized line.
#[derive(Debug, Clone, Serialize)]
pub struct View {
    /// The whole envelope, with the names of its JSON: `protocol`, `run`, `findings`, `mistakes`,
    /// `mended`, `changes`, `summary`.
    #[serde(flatten)]
    envelope: Value,
    /// URL counts by outcome.
    pub totals: UrlCounts,
    /// News: URLs whose promise was kept before and is broken now.
    pub new_broken: UrlList,
    /// News: URLs whose promise is kept again.
    pub recovered: UrlList,
    /// News: URLs that changed from one bad state to another, or that can no longer be judged.
    pub moved: UrlList,
    /// Broken URLs that are not news.
    pub still_broken: UrlList,
    /// Broken URLs that another run must confirm.
    pub pending: UrlList,
    /// All broken URLs: those of `new_broken`, `moved`, `still_broken` and `pending`.
    pub broken: UrlList,
    /// URLs that could not be judged.
    pub unsure: UrlList,
    /// Kept promises with a warning.
    pub warnings: UrlList,
    /// Mistakes in domain files. Templates know them as `misread`.
    #[serde(rename = "misread")]
    pub mistakes: MistakeList<Mistake>,
    /// News: mistakes in domain files that are corrected now. Templates know them as `reread`.
    #[serde(rename = "reread")]
    pub fixed: MistakeList<FixedMistake>,
}

/// URL counts by outcome.
#[derive(Debug, Clone, Serialize)]
pub struct UrlCounts {
    /// All URLs.
    pub urls: u64,
    /// URLs whose promise is kept.
    pub kept: u64,
    /// URLs whose promise is broken, confirmed or not.
    pub broken: u64,
    /// URLs that could not be judged.
    pub unsure: u64,
}

/// A list of mistakes in domain files.
#[derive(Debug, Clone, Serialize)]
pub struct MistakeList<T> {
    /// How many mistakes there are, shown or not.
    pub total: usize,
    /// How many mistakes are news, shown or not.
    pub new: usize,
    /// The mistakes that are shown, news first.
    pub rows: Vec<T>,
    /// How many are not shown.
    pub more: usize,
}

/// A list of URLs, grouped by state and reason.
#[derive(Debug, Clone, Default, Serialize)]
pub struct UrlList {
    /// How many URLs there are, shown or not.
    pub total: usize,
    /// The groups, in the order of the envelope.
    pub groups: Vec<UrlGroup>,
}

/// URLs with the same state and reason.
#[derive(Debug, Clone, Serialize)]
pub struct UrlGroup {
    /// The code of the findings: a state or a warning.
    pub code: String,
    /// The heading, such as `Unreachable`.
    pub title: String,
    /// The reason in words, such as `the name does not resolve`.
    pub cause: Option<String>,
    /// How many URLs there are, shown or not.
    pub total: usize,
    /// The URLs that are shown.
    pub rows: Vec<UrlRow>,
    /// How many are not shown.
    pub more: usize,
}

/// One URL in a list.
#[derive(Debug, Clone, Serialize)]
pub struct UrlRow {
    /// The URL.
    pub url: String,
    /// The URL, if a link to it is safe: its scheme is http or https, and sanitizing changed
    /// nothing.
    pub link: Option<String>,
    /// The domain file.
    pub file: String,
    /// The line of the record.
    pub line: usize,
    /// The state of the URL.
    pub state: State,
    /// One sentence.
    pub message: String,
    /// The promise.
    pub expected: Option<String>,
    /// What the server sent instead.
    pub observed: Option<String>,
    /// Why the archive does not have the whole of it.
    pub not_archived: Option<String>,
    /// When the URL entered the state.
    pub since: Option<Timestamp>,
    /// News only: the state before.
    pub from: Option<State>,
    /// News only: when the URL entered the state before.
    pub from_since: Option<Timestamp>,
    /// Whether the state is news of this run.
    pub new: bool,
    /// Whether another run must confirm the state.
    pub pending: bool,
    #[serde(skip)]
    warning: bool,
    #[serde(skip)]
    key: GroupKey,
}

/// What all URLs of a group have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct GroupKey {
    code: String,
    reason: Option<String>,
}

impl View {
    /// Builds the view of `envelope`, with at most `limit` URLs in each list.
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
            let rows =
                wanted.map(|c| UrlRow::of_change(c, findings.get(&key_of_change(c)).copied()));
            UrlList::new(rows, limit)
        };
        let now = |wanted: &dyn Fn(&UrlRow) -> bool| {
            let rows = envelope.findings.iter().map(|finding| {
                let new = changes.contains_key(&key_of_finding(finding));
                UrlRow::of_finding(finding, new)
            });
            UrlList::new(rows.filter(|row| wanted(row)), limit)
        };
        let broken = |row: &UrlRow| row.state.is_broken() && !row.warning;
        Self {
            totals: UrlCounts::new(envelope),
            new_broken: news(|c| c.to.is_broken() && !c.from.is_broken()),
            recovered: news(|c| c.to == State::Ok),
            moved: news(|c| c.to != State::Ok && (c.from.is_broken() || !c.to.is_broken())),
            still_broken: now(&|row| broken(row) && !row.new && !row.pending),
            pending: now(&|row| broken(row) && row.pending),
            broken: now(&broken),
            unsure: now(&|row| row.state.is_unsure() && !row.warning),
            warnings: now(&|row| row.warning),
            mistakes: list_mistakes(&envelope.mistakes, limit),
            fixed: list_fixed(&envelope.fixed, limit),
            envelope: harmless(serde_json::to_value(envelope).unwrap_or_default()),
        }
    }
}

impl UrlCounts {
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

fn list_mistakes(mistakes: &[Mistake], limit: usize) -> MistakeList<Mistake> {
    let (new, known): (Vec<_>, Vec<_>) = mistakes.iter().partition(|mistake| mistake.new);
    let total = mistakes.len();
    MistakeList {
        total,
        new: new.len(),
        rows: new
            .into_iter()
            .chain(known)
            .take(limit)
            .map(sanitized)
            .collect(),
        more: total.saturating_sub(limit),
    }
}

fn list_fixed(fixed: &[FixedMistake], limit: usize) -> MistakeList<FixedMistake> {
    let rows = fixed.iter().take(limit).map(|mistake| FixedMistake {
        code: one_line(&mistake.code),
        file: one_line(&mistake.file),
        text: one_line(&mistake.text),
    });
    MistakeList {
        total: fixed.len(),
        new: fixed.len(),
        rows: rows.collect(),
        more: fixed.len().saturating_sub(limit),
    }
}

fn sanitized(mistake: &Mistake) -> Mistake {
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

impl UrlList {
    fn new(rows: impl Iterator<Item = UrlRow>, limit: usize) -> Self {
        let mut list = Self::default();
        let mut index_of: HashMap<GroupKey, usize> = HashMap::new();
        for row in rows {
            let index = *index_of.entry(row.key.clone()).or_insert_with(|| {
                list.groups.push(UrlGroup::new(&row));
                list.groups.len() - 1
            });
            let group = &mut list.groups[index];
            group.total += 1;
            if list.total < limit {
                group.rows.push(row);
            } else {
                group.more += 1;
            }
            list.total += 1;
        }
        list
    }
}

impl UrlGroup {
    fn new(row: &UrlRow) -> Self {
        let GroupKey { code, reason } = &row.key;
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

impl UrlRow {
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
            not_archived: finding.not_archived.as_deref().map(one_line),
            since: finding.since,
            from: None,
            from_since: None,
            new,
            pending: finding.pending,
            warning: is_warning(finding),
            key: GroupKey {
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
            not_archived: finding
                .and_then(|f| f.not_archived.as_deref())
                .map(one_line),
            since: Some(change.since),
            from: Some(change.from),
            from_since: change.from_since,
            new: true,
            pending: false,
            warning: false,
            key: GroupKey {
                code: change.to.to_string(),
                reason: finding.and_then(|f| f.reason.clone()),
            },
        }
    }
}

/// The URL if a link to it is safe. A link with another scheme (`javascript:`) could run code, and
/// a sanitized URL is no longer the URL of the record.
fn link(harmless: &str, url: &str) -> Option<String> {
    let web = url.starts_with("http://") || url.starts_with("https://");
    (web && harmless == url).then(|| url.to_owned())
}

/// Whether the finding is a warning about a kept promise: its code is then not the name of a state.
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
