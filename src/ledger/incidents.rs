//! The incidents: a file each in `incidents/`, kept after the incident has closed.
//!
//! A file has the shape of a ledger file: metadata, then a document for each URL. The metadata has the
//! fields of [`Incident`] that later runs need, in kebab case. What a run can find out again is not
//! compared: a run that changes nothing about an incident does not rewrite its file.

use std::collections::BTreeMap;
use std::io::Read;

use anyhow::Context;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value as Json};
use urldb_files::{Root, RootFile};
use urldb_format::{Mapping, Schema, Value, read_documents, write_documents};
use urldb_protocol::{AffectedUrl, Evidence, Incident, Phase, Shown};

use crate::limits;

/// The folder in the ledger's folder.
const FOLDER: &str = "incidents";

/// Most bytes of the evidence in a file.
const MOST_EVIDENCE: usize = 4096;

/// Most characters of a text in the evidence that servers choose.
const MOST_TEXT: usize = 500;

/// The first key of a closed incident, since keys are sorted.
const CLOSED: &[u8] = b"---\nclosed: ";

/// Fields that later runs find out again.
const VOLATILE: [&str; 5] = ["added", "id", "new", "phase", "runs"];

/// Keys whose values are numbers, and keys whose values are booleans; at any depth.
const INTEGERS: [&str; 14] = [
    "added",
    "agreeing",
    "appended-after",
    "first-difference",
    "host-urls",
    "left",
    "length",
    "line",
    "redirect-status",
    "removed",
    "requests",
    "runs",
    "status",
    "tried",
];
const BOOLEANS: [&str; 3] = ["muted", "not-tried", "silent"];

/// The key below which names are not ours.
const THREADS: &str = "threads";

/// The incidents of a ledger that are open.
#[derive(Debug)]
pub struct Incidents {
    folder: Root,
    open: Vec<Incident>,
}

impl Incidents {
    /// The folder of the incidents in the folder of a ledger.
    pub fn folder(ledger: &Root) -> Root {
        ledger.folder(FOLDER)
    }

    /// Reads the open incidents in the ledger's folder.
    ///
    /// # Errors
    /// When a file cannot be read, or has another form than this program writes: an unreadable incident
    /// is not absent.
    pub fn load(ledger: &Root) -> anyhow::Result<Self> {
        let folder = Self::folder(ledger);
        let mut open = vec![];
        for file in files(&folder)? {
            let Some(id) = id_of(&file) else { continue };
            let incident = read_if_open(&file, id);
            open.extend(incident.with_context(|| format!("cannot use {file}"))?);
        }
        open.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(Self { folder, open })
    }

    /// The open incidents, by id.
    pub fn open(&self) -> &[Incident] {
        &self.open
    }

    /// Whether there is an incident with this id, open or closed.
    pub fn is_taken(&self, id: &str) -> bool {
        file_of(&self.folder, id).kind().is_some()
    }

    /// Writes the incidents that have changed, each atomically. Groups without an id are not written.
    pub fn save(&self, incidents: &[Incident]) -> anyhow::Result<()> {
        let changed = incidents.iter().filter(|incident| {
            let known = self.open.iter().find(|known| known.id == incident.id);
            !incident.id.is_empty() && known.is_none_or(|known| differ(known, incident))
        });
        changed
            .into_iter()
            .try_for_each(|incident| write(&self.folder, incident))
    }
}

/// Lets an incident remember values for a notifier, such as the number of its issue. An incident
/// without a file, which somebody removed, remembers nothing.
///
/// # Errors
/// When `id` is no id, or the file cannot be read or written.
pub fn remember(
    ledger: &Root,
    id: &str,
    notifier: &str,
    values: impl IntoIterator<Item = (String, Shown)>,
) -> anyhow::Result<()> {
    let folder = Incidents::folder(ledger);
    let Some(mut incident) = find(&folder, id)? else {
        return Ok(());
    };
    let known = incident.threads.clone();
    let thread = incident.threads.entry(notifier.to_owned()).or_default();
    thread.extend(values);
    if incident.threads == known {
        return Ok(());
    }
    write(&folder, &incident)
}

/// All incidents, open and closed, by id.
///
/// # Errors
/// As [`Incidents::load`].
pub fn all(ledger: &Root) -> anyhow::Result<Vec<Incident>> {
    let mut incidents = vec![];
    for file in files(&Incidents::folder(ledger))? {
        let Some(id) = id_of(&file) else { continue };
        let incident = read(&file, id);
        let mut incident = incident.with_context(|| format!("cannot use {file}"))?;
        if incident.closed.is_some() {
            incident.phase = Phase::Closed;
        }
        incidents.push(incident);
    }
    incidents.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(incidents)
}

/// The memory of each notifier about an incident; empty if the incident has no file.
///
/// # Errors
/// As [`remember`].
pub fn threads(
    ledger: &Root,
    id: &str,
) -> anyhow::Result<BTreeMap<String, BTreeMap<String, Shown>>> {
    let incident = find(&Incidents::folder(ledger), id)?;
    Ok(incident.map_or_else(BTreeMap::new, |incident| incident.threads))
}

/// The incident with this id, if it has a file.
fn find(folder: &Root, id: &str) -> anyhow::Result<Option<Incident>> {
    anyhow::ensure!(is_id(id), "{id:?} is no id of an incident");
    let file = file_of(folder, id);
    if file.kind().is_none() {
        return Ok(None);
    }
    let incident = read(&file, id);
    incident
        .map(Some)
        .with_context(|| format!("cannot use {file}"))
}

fn files(folder: &Root) -> anyhow::Result<Vec<RootFile>> {
    let files = folder.files();
    files.with_context(|| format!("cannot read {}", folder.path().display()))
}

fn file_of(folder: &Root, id: &str) -> RootFile {
    folder.file(format!("{id}.yaml"))
}

fn id_of(file: &RootFile) -> Option<&str> {
    let id = file.name().to_str()?.strip_suffix(".yaml")?;
    is_id(id).then_some(id)
}

fn is_id(id: &str) -> bool {
    id.len() == 8
        && id
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The incident, if it is open. The beginning of the file is enough to know that it is not.
fn read_if_open(file: &RootFile, id: &str) -> anyhow::Result<Option<Incident>> {
    let mut start = [0; CLOSED.len()];
    let has_start = file.open()?.read_exact(&mut start).is_ok();
    if has_start && start == CLOSED {
        return Ok(None);
    }
    let incident = read(file, id)?;
    Ok(incident.closed.is_none().then_some(incident))
}

fn read(file: &RootFile, id: &str) -> anyhow::Result<Incident> {
    parse(id, &file.read_to_string(limits::INCIDENT)?)
}

fn write(folder: &Root, incident: &Incident) -> anyhow::Result<()> {
    let file = file_of(folder, &incident.id);
    let written = file.replace(to_text(incident)?.as_bytes());
    written.with_context(|| format!("cannot write {file}"))
}

/// Whether the file of an incident says something else now.
fn differ(known: &Incident, now: &Incident) -> bool {
    let stored = |incident: &Incident| Incident {
        phase: Phase::Unchanged,
        added: 0,
        runs: 0,
        host_urls: 0,
        urls: vec![],
        evidence: Evidence {
            tried: 0,
            ..incident.evidence.clone()
        },
        ..incident.clone()
    };
    let url = |url: &AffectedUrl| (url.url.clone(), url.request.clone(), url.muted);
    let urls = |incident: &Incident| {
        let mut urls: Vec<_> = stored_urls(incident).map(url).collect();
        urls.sort();
        urls
    };
    stored(known) != stored(now) || urls(known) != urls(now)
}

/// The URLs that the file has: those that are affected, or were affected last.
fn stored_urls(incident: &Incident) -> impl Iterator<Item = &AffectedUrl> {
    let is_closed = incident.closed.is_some();
    let urls = incident.urls.iter();
    urls.filter(move |url| is_closed || !url.left)
}

fn to_text(incident: &Incident) -> anyhow::Result<String> {
    let metadata = Incident {
        urls: vec![],
        evidence: bounded(&incident.evidence)?,
        ..incident.clone()
    };
    let url = |url: &AffectedUrl| {
        to_mapping(&AffectedUrl {
            left: false,
            ..url.clone()
        })
    };
    let urls = stored_urls(incident).map(url);
    let documents: anyhow::Result<Vec<Mapping>> =
        std::iter::once(to_mapping(&metadata)).chain(urls).collect();
    Ok(write_documents(&documents?))
}

/// The evidence, cut to [`MOST_EVIDENCE`]: lines of the difference go first, then long texts.
fn bounded(evidence: &Evidence) -> anyhow::Result<Evidence> {
    let mut evidence = evidence.clone();
    let is_short = |evidence: &Evidence| {
        let text = write_documents(&[to_mapping(evidence)?]);
        anyhow::Ok(text.len() <= MOST_EVIDENCE)
    };
    while !is_short(&evidence)? {
        let lines = evidence.text.as_mut().map(|text| &mut text.lines);
        if lines.and_then(Vec::pop).is_some() {
            continue;
        }
        let Evidence {
            detail,
            observed,
            last_modified,
            ..
        } = &mut evidence;
        let texts = [
            Some(detail),
            observed.final_url.as_mut(),
            observed.redirect.as_mut(),
            observed.content_type.as_mut(),
            last_modified.as_mut(),
        ];
        for text in texts.into_iter().flatten() {
            *text = Shown::new(text, MOST_TEXT);
        }
        // A long promise or URL is the user's own, and all of it is needed.
        break;
    }
    Ok(evidence)
}

fn to_mapping(value: &impl Serialize) -> anyhow::Result<Mapping> {
    let json = serde_json::to_value(value)?;
    let Json::Object(fields) = json else {
        anyhow::bail!("it is no mapping");
    };
    let fields = fields.into_iter();
    Ok(to_yaml(
        fields.filter(|(key, _)| !VOLATILE.contains(&key.as_str())),
        true,
    ))
}

/// `is_ours`: names are fields, which a file has in kebab case. Empty values are left out.
fn to_yaml(fields: impl Iterator<Item = (String, Json)>, is_ours: bool) -> Mapping {
    let mut mapping = Mapping::new();
    for (key, value) in fields {
        let key = if is_ours { key.replace('_', "-") } else { key };
        let value = match value {
            Json::Null => continue,
            Json::Object(fields) if fields.is_empty() => continue,
            Json::Array(items) if items.is_empty() => continue,
            Json::String(text) if text.is_empty() => continue,
            Json::Object(fields) => {
                Value::Map(to_yaml(fields.into_iter(), is_ours && key != THREADS))
            }
            Json::Array(items) => {
                let texts = items.iter().filter_map(Json::as_str);
                Value::List(texts.map(Value::from).collect())
            }
            Json::String(text) => Value::Text(text),
            Json::Bool(flag) => Value::Bool(flag),
            Json::Number(number) => Value::Int(number.as_u64().unwrap_or_default()),
        };
        mapping.insert(key, value);
    }
    mapping
}

fn parse(id: &str, text: &str) -> anyhow::Result<Incident> {
    let (documents, findings) = read_documents(text, &Schema::TEXT);
    if let Some(finding) = findings.first() {
        anyhow::bail!("line {}: {}", finding.line, finding.message);
    }
    let (metadata, urls) = documents.split_first().context("it is empty")?;
    let mut fields = to_json(&metadata.mapping, true);
    fields.insert("id".to_owned(), id.into());
    fields.insert("phase".to_owned(), serde_json::to_value(Phase::Unchanged)?);
    fields.insert("urls".to_owned(), Json::Array(vec![]));
    fields
        .entry("host_urls")
        .or_insert_with(|| Json::Number(0.into()));
    let mut incident: Incident = from_json(fields)?;
    let urls = urls.iter().map(|document| {
        from_json::<AffectedUrl>(to_json(&document.mapping, true))
            .with_context(|| format!("line {}", document.start_line))
    });
    incident.urls = urls.collect::<anyhow::Result<_>>()?;
    anyhow::ensure!(is_key(&incident.key), "`key` is not 16 hexadecimal digits");
    Ok(incident)
}

fn is_key(key: &str) -> bool {
    key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn from_json<T: DeserializeOwned>(fields: Map<String, Json>) -> anyhow::Result<T> {
    Ok(serde_json::from_value(Json::Object(fields))?)
}

fn to_json(mapping: &Mapping, is_ours: bool) -> Map<String, Json> {
    let fields = mapping.iter().map(|(key, value)| {
        let is_number = is_ours && INTEGERS.contains(&key);
        let is_flag = is_ours && BOOLEANS.contains(&key);
        let value = match value {
            Value::Map(fields) => Json::Object(to_json(fields, is_ours && key != THREADS)),
            Value::List(items) => {
                let texts = items.iter().filter_map(Value::as_text);
                texts.map(Json::from).collect()
            }
            Value::Text(text) | Value::Plain(text) if is_number => {
                let number: Option<u64> = text.parse().ok();
                number.map_or(Json::Null, |number| Json::Number(Number::from(number)))
            }
            Value::Text(text) | Value::Plain(text) if is_flag => Json::Bool(text == "true"),
            Value::Text(text) | Value::Plain(text) => Json::from(text.as_str()),
            Value::Int(number) => Json::from(*number),
            Value::Bool(flag) => Json::Bool(*flag),
        };
        let key = if is_ours {
            key.replace('-', "_")
        } else {
            key.to_owned()
        };
        (key, value)
    });
    fields.collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;
    use urldb_protocol::{ClosedBecause, Observed, Promised, State, TextDifference};

    use super::*;

    fn shown(text: &str) -> Shown {
        Shown::new(text, Shown::LONGEST)
    }

    fn incident() -> Incident {
        let time = |seconds: i64| Timestamp::from_second(1_763_000_000 + seconds).unwrap();
        Incident {
            id: "0a1b2c3d".to_owned(),
            key: "0123456789abcdef".to_owned(),
            phase: Phase::Unchanged,
            host: "a.example".to_owned(),
            state: State::Changed,
            reason: None,
            redirect: Some(shown("http://a.example/")),
            since: time(0),
            opened_by: "20251113T021320Z-00000000".to_owned(),
            opened: Some(time(1)),
            closed: None,
            closed_because: None,
            merged_into: None,
            last_good: Some(time(-86400)),
            runs: 0,
            host_urls: 3,
            urls: vec![
                AffectedUrl {
                    url: "http://a.example/1".to_owned(),
                    file: "urldb/a.example.yaml".to_owned(),
                    line: 2,
                    request: None,
                    categories: vec![],
                    new: false,
                    not_tried: false,
                    muted: true,
                    left: false,
                },
                AffectedUrl {
                    url: "http://a.example/2".to_owned(),
                    file: "urldb/a.example.yaml".to_owned(),
                    line: 5,
                    request: Some("__wb_method=POST&a=b".to_owned()),
                    categories: vec![],
                    new: false,
                    not_tried: true,
                    muted: false,
                    left: false,
                },
            ],
            added: 0,
            left: 1,
            evidence: Evidence {
                url: "http://a.example/1".to_owned(),
                promised: Promised {
                    length: Some(3),
                    sha256: Some("1".repeat(64)),
                    ..Promised::default()
                },
                observed: Observed {
                    status: Some(200),
                    final_url: Some(shown("http://a.example/")),
                    ..Observed::default()
                },
                detail: shown("404"),
                requests: 2,
                agreeing: 2,
                tried: 1,
                first_difference: Some(0),
                text: Some(TextDifference {
                    added: 1,
                    removed: 0,
                    appended_after: Some(7),
                    lines: vec![shown("+5"), shown(" yes")],
                }),
                ..Evidence::default()
            },
            threads: BTreeMap::from([(
                "mail_1".to_owned(),
                BTreeMap::from([("message-id".to_owned(), shown("<1.2@example.org>"))]),
            )]),
            reminder: false,
            silent: true,
        }
    }

    #[test]
    fn a_file_has_everything_that_later_runs_need() {
        let incident = incident();
        let text = to_text(&incident).unwrap();
        insta::assert_snapshot!(text);
        assert_eq!(parse(&incident.id, &text).unwrap(), incident);
    }

    #[test]
    fn a_closed_incident_begins_so_that_it_is_not_read() {
        let mut incident = incident();
        incident.closed = Some(incident.since);
        incident.closed_because = Some(ClosedBecause::Recovered);
        incident.urls[0].left = true;
        let text = to_text(&incident).unwrap();
        assert!(text.as_bytes().starts_with(CLOSED), "{text}");
        assert_eq!(parse(&incident.id, &text).unwrap().urls.len(), 2);
    }

    #[test]
    fn what_a_run_finds_out_again_is_no_change() {
        let known = incident();
        let mut now = known.clone();
        now.runs = 9;
        now.evidence.tried = 2;
        now.urls[0].line = 77;
        now.urls[1].not_tried = false;
        now.urls.reverse();
        assert!(!differ(&known, &now));
        now.urls[0].muted = true;
        assert!(differ(&known, &now));
        let mut left = known.clone();
        left.urls[0].left = true;
        assert!(differ(&known, &left));
    }

    #[test]
    fn evidence_is_cut() {
        let mut incident = incident();
        incident.evidence.detail = shown(&"x".repeat(9000));
        incident.evidence.text = Some(TextDifference {
            lines: vec![shown(&"+".repeat(900)); 20],
            ..TextDifference::default()
        });
        let evidence = bounded(&incident.evidence).unwrap();
        let text = write_documents(&[to_mapping(&evidence).unwrap()]);
        assert!(text.len() <= MOST_EVIDENCE, "{} bytes", text.len());
    }

    #[test]
    fn a_file_in_another_form_is_an_error() {
        let good = to_text(&incident()).unwrap();
        for bad in [
            String::new(),
            "---\n".to_owned(),
            good.replace("state: changed", "state: bad"),
            good.replace("state: changed", "state:\n- changed"),
            good.replace("key: 0123456789abcdef", "key: ../../x"),
            good.replace("line: 2", "line: two"),
            good.replace("since:", "<<<<<<< since:"),
        ] {
            assert!(parse("0a1b2c3d", &bad).is_err(), "{bad}");
        }
    }

    /// Texts with everything that YAML or a converter of names could trip over.
    fn some_text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z_:#' \"\\\\-]{1,12}",
            "\\PC{1,20}",
            Just("true".to_owned()),
            Just("0123".to_owned()),
            Just("a\u{85}b\tc\u{2028}".to_owned()),
            Just("null".to_owned()),
        ]
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read_again(
            texts in proptest::collection::vec(some_text(), 9),
            number in any::<u64>(),
            flag in any::<bool>(),
        ) {
            let mut incident = incident();
            incident.host.clone_from(&texts[0]);
            incident.reason = Some(texts[1].clone());
            incident.redirect = flag.then(|| shown(&texts[2]));
            incident.urls[0].url.clone_from(&texts[3]);
            incident.urls[0].request = flag.then(|| texts[4].clone());
            incident.evidence.detail = shown(&texts[5]);
            incident.evidence.observed.content_type = Some(shown(&texts[6]));
            incident.evidence.observed.length = Some(number);
            incident.silent = flag;
            let thread = BTreeMap::from([(texts[7].clone(), shown(&texts[8]))]);
            incident.threads = BTreeMap::from([(texts[8].clone(), thread)]);
            let text = to_text(&incident).unwrap();
            prop_assert_eq!(parse(&incident.id, &text).unwrap(), incident);
        }

        #[test]
        fn a_damaged_file_is_no_panic(at in any::<proptest::sample::Index>(), new in "\\PC{0,3}") {
            let mut text = to_text(&incident()).unwrap();
            let at = at.index(text.len());
            prop_assume!(text.is_char_boundary(at));
            text.replace_range(at..=at, &new);
            let _ = parse("0a1b2c3d", &text);
        }
    }
}
