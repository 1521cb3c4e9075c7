//! The text of an incident's file: the metadata, then a document for each event.

use std::collections::BTreeMap;

use anyhow::Context;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value as Json};
use urldb_format::{Mapping, Schema, Value, read_documents, write_documents};
use urldb_protocol::{Contents, Evidence, Shown};
use urldb_verdict::incident::{Event, IncidentLog, time_of};

use super::newest_card::NewestCard;

/// The form of the files. A file of another form is of a newer program.
const FORMAT: u64 = 2;

/// Most URLs of one document: an event with more has several.
const MOST_URLS: usize = 1000;

/// Most bytes of the evidence of one URL.
const MOST_EVIDENCE: usize = 4096;

/// Most characters of a text in the evidence that servers choose.
const MOST_TEXT: usize = 500;

/// Keys whose values are numbers, and keys whose values are booleans; at any depth.
const INTEGERS: [&str; 24] = [
    "added",
    "agreeing",
    "appended-after",
    "column",
    "count",
    "differing",
    "endangered",
    "files",
    "first-difference",
    "folders",
    "format",
    "host-urls",
    "length",
    "line",
    "of",
    "redirect-status",
    "removed",
    "requests",
    "runs",
    "status",
    "tried",
    "urls",
    "warnings",
    "within-hours",
];
const BOOLEANS: [&str; 3] = ["new", "single", "unconfirmed"];

/// Keys that a file leaves out if their values are empty: only these, since the reader of a file knows them as
/// empty. Of every other key, the type says when it is absent.
const OMITTED_IF_EMPTY: [&str; 4] = ["detail", "host", "observed", "promised"];

/// The key below which names are not ours.
const NOTIFIED: &str = "notified";

/// The file of an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentFile {
    /// The events.
    pub log: IncidentLog,
    /// The newest card that each notifier has delivered, by its name.
    pub notified: BTreeMap<String, NewestCard>,
}

#[derive(Serialize, Deserialize)]
struct Metadata {
    /// When the incident closed: the first key, by which a run knows that it need not read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    closed: Option<Timestamp>,
    format: u64,
    /// The host; absent in a notice that is about none.
    #[serde(default)]
    host: String,
    key: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    notified: BTreeMap<String, NewestCard>,
}

pub(super) fn to_text(file: &IncidentFile) -> anyhow::Result<String> {
    let IncidentLog {
        key, host, events, ..
    } = &file.log;
    let metadata = Metadata {
        closed: file.log.state().closed.as_deref().and_then(time_of),
        format: FORMAT,
        host: host.clone(),
        key: key.clone(),
        notified: file.notified.clone(),
    };
    let mut documents = vec![to_mapping(&metadata)?];
    for event in events {
        let evidence = event.evidence.iter().map(bounded);
        let mut event = Event {
            evidence: evidence.collect::<anyhow::Result<_>>()?,
            ..event.clone()
        };
        let urls = std::mem::take(&mut event.urls);
        let mut chunks = urls.chunks(MOST_URLS);
        event.urls = chunks.next().unwrap_or_default().to_vec();
        documents.push(to_mapping(&event)?);
        for chunk in chunks {
            event.evidence.clear();
            event.urls = chunk.to_vec();
            documents.push(to_mapping(&event)?);
        }
    }
    Ok(write_documents(&documents))
}

/// Reads the text of the file of the incident with this id.
///
/// # Errors
/// When the text has another form than this program writes.
pub fn parse(id: &str, text: &str) -> anyhow::Result<IncidentFile> {
    let (documents, findings) = read_documents(text, &Schema::TEXT);
    if let Some(finding) = findings.first() {
        anyhow::bail!("line {}: {}", finding.line, finding.message);
    }
    let (metadata, events) = documents.split_first().context("it is empty")?;
    let format = metadata.mapping.get("format").and_then(Value::as_text);
    anyhow::ensure!(
        format == Some(&FORMAT.to_string()),
        "it has the form {}, and this program reads {FORMAT}",
        format.unwrap_or("1")
    );
    let Metadata {
        host,
        key,
        notified,
        ..
    } = from_json(to_json(&metadata.mapping, true))?;
    anyhow::ensure!(is_key(&key), "`key` is not 16 hexadecimal digits");
    let mut log = IncidentLog {
        id: id.to_owned(),
        key,
        host,
        events: vec![],
    };
    for document in events {
        let event: Event = from_json(to_json(&document.mapping, true))
            .with_context(|| format!("line {}", document.start_line))?;
        anyhow::ensure!(
            event
                .urls
                .iter()
                .all(|url| url.joining.is_some() == event.event.joins()),
            "line {}: a URL that joins has `file`, `line` and `since`, and no other has",
            document.start_line
        );
        match log.events.last_mut() {
            Some(last) if continues(last, &event) => last.urls.extend(event.urls),
            _ => log.events.push(event),
        }
    }
    Ok(IncidentFile { log, notified })
}

/// Whether a document has the next URLs of the event before.
fn continues(last: &Event, event: &Event) -> bool {
    let without_urls = |event: &Event| Event {
        urls: vec![],
        evidence: vec![],
        ..event.clone()
    };
    last.urls.len().is_multiple_of(MOST_URLS)
        && !last.urls.is_empty()
        && event.evidence.is_empty()
        && without_urls(last) == without_urls(event)
}

fn is_key(key: &str) -> bool {
    key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit())
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
        if lines.and_then(Vec::pop).is_some() || drop_last(&mut evidence.contents) {
            continue;
        }
        let Evidence {
            detail,
            observed,
            last_modified,
            explanation,
            ..
        } = &mut evidence;
        let texts = [
            Some(detail),
            observed.final_url.as_mut(),
            observed.redirect.as_mut(),
            observed.content_type.as_mut(),
            last_modified.as_mut(),
            explanation.as_mut().map(|it| &mut it.sentence),
        ];
        for text in texts.into_iter().flatten() {
            *text = Shown::new(text, MOST_TEXT);
        }
        // A long promise or URL is the user's own, and all of it is needed.
        break;
    }
    Ok(evidence)
}

/// Drops the last line of the last text in an archive, or else the last name. False if there are none.
fn drop_last(contents: &mut Option<Contents>) -> bool {
    let Some(contents) = contents else {
        return false;
    };
    let mut lines = contents
        .members
        .iter_mut()
        .rev()
        .filter_map(|member| Some(&mut member.text.as_mut()?.lines));
    lines.any(|lines| lines.pop().is_some()) || contents.members.pop().is_some()
}

fn to_mapping(value: &impl Serialize) -> anyhow::Result<Mapping> {
    Ok(to_yaml(fields_of(value)?.into_iter(), true))
}

/// The document of a struct whose fields have the names of the file.
///
/// # Errors
/// When the value is no struct.
pub(in crate::ledger) fn to_document(value: &impl Serialize) -> anyhow::Result<Mapping> {
    Ok(to_yaml(fields_of(value)?.into_iter(), false))
}

/// The struct of a document of [`to_document`]. Other keys than its fields are passed over.
///
/// # Errors
/// When a field is missing, or has another form.
pub(in crate::ledger) fn from_document<T: DeserializeOwned>(
    document: &Mapping,
) -> anyhow::Result<T> {
    from_json(to_json(document, false))
}

fn fields_of(value: &impl Serialize) -> anyhow::Result<Map<String, Json>> {
    match serde_json::to_value(value)? {
        Json::Object(fields) => Ok(fields),
        _ => anyhow::bail!("it is no mapping"),
    }
}

/// `is_ours`: names are fields, which a file has in kebab case.
fn to_yaml(fields: impl Iterator<Item = (String, Json)>, is_ours: bool) -> Mapping {
    let mut mapping = Mapping::new();
    for (key, value) in fields {
        let key = if is_ours { key.replace('_', "-") } else { key };
        let is_omitted = is_ours && OMITTED_IF_EMPTY.contains(&key.as_str());
        let value = match value {
            Json::Null => continue,
            Json::Object(fields) if fields.is_empty() && is_omitted => continue,
            Json::String(text) if text.is_empty() && is_omitted => continue,
            Json::Object(fields) => {
                let is_named = is_ours && key != NOTIFIED;
                Value::Map(to_yaml(fields.into_iter(), is_named))
            }
            Json::Array(items) => {
                let items = items.into_iter().filter_map(|item| match item {
                    Json::String(text) => Some(Value::Text(text)),
                    Json::Object(fields) => Some(Value::Map(to_yaml(fields.into_iter(), is_ours))),
                    _ => None,
                });
                Value::List(items.collect())
            }
            Json::String(text) => Value::Text(text),
            Json::Bool(flag) => Value::Bool(flag),
            Json::Number(number) => Value::Int(number.as_u64().unwrap_or_default()),
        };
        mapping.insert(key, value);
    }
    mapping
}

fn from_json<T: DeserializeOwned>(fields: Map<String, Json>) -> anyhow::Result<T> {
    Ok(serde_json::from_value(Json::Object(fields))?)
}

fn to_json(mapping: &Mapping, is_ours: bool) -> Map<String, Json> {
    mapping
        .iter()
        .map(|(key, value)| {
            let is_number = is_ours && INTEGERS.contains(&key);
            let is_flag = is_ours && BOOLEANS.contains(&key);
            let value = match value {
                Value::Map(fields) => Json::Object(to_json(fields, is_ours && key != NOTIFIED)),
                Value::List(items) => items
                    .iter()
                    .filter_map(|item| match item {
                        Value::Map(fields) => Some(Json::Object(to_json(fields, is_ours))),
                        item => item.as_text().map(Json::from),
                    })
                    .collect(),
                Value::Text(text) | Value::Plain(text) | Value::Quoted(text) if is_number => {
                    let number: Option<u64> = text.parse().ok();
                    number.map_or(Json::Null, |number| Json::Number(Number::from(number)))
                }
                Value::Text(text) | Value::Plain(text) | Value::Quoted(text) if is_flag => {
                    Json::Bool(text == "true")
                }
                Value::Text(text) | Value::Plain(text) | Value::Quoted(text) => {
                    Json::from(text.as_str())
                }
                Value::Int(number) => Json::from(*number),
                Value::Bool(flag) => Json::Bool(*flag),
            };
            let key = if is_ours {
                key.replace('-', "_")
            } else {
                key.to_owned()
            };
            (key, value)
        })
        .collect()
}

#[cfg(test)]
#[path = "every_field_tests.rs"]
mod every_field_tests;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use urldb_protocol::{
        Because, EventKind, Explanation, ExplanationKind, MemberChange, MemberDifference, Observed,
        Promised, State, TextDifference,
    };
    use urldb_verdict::incident::{Cause, EventUrl, Joining, MemberKey};

    use super::*;

    fn shown(text: &str) -> Shown {
        Shown::new(text, Shown::LONGEST)
    }

    fn url(path: &str, joins: bool) -> EventUrl {
        let time = |text: &str| text.parse().unwrap();
        EventUrl {
            key: MemberKey {
                url: format!("http://a.example{path}"),
                ..MemberKey::default()
            },
            joining: joins.then(|| Joining {
                file: "urldb/a.example.yaml".to_owned(),
                line: 2,
                categories: vec!["core".to_owned()],
                owner: Some("gaia".to_owned()),
                promise: format!("sha256:{}", "1".repeat(64)),
                since: time("2026-11-02T04:17:03Z"),
                last_good: Some(time("2026-11-01T04:17:02Z")),
            }),
        }
    }

    fn contents() -> Contents {
        let member = |name, change, text| MemberDifference {
            name: shown(name),
            change,
            text,
        };
        let text = TextDifference {
            removed: 1,
            lines: vec![shown("-12")],
            ..TextDifference::default()
        };
        Contents {
            files: 132,
            single: false,
            differing: 2,
            folders: 1,
            members: vec![
                member("configure", MemberChange::Changed, Some(text)),
                member("true", MemberChange::Added, None),
                member("src/", MemberChange::Removed, None),
            ],
        }
    }

    fn incident() -> IncidentFile {
        let evidence = Evidence {
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
            first_difference: Some(0),
            text: Some(TextDifference {
                added: 1,
                removed: 0,
                appended_after: Some(7),
                lines: vec![shown("+5"), shown(" yes")],
            }),
            contents: Some(contents()),
            explanation: Some(Box::new(Explanation {
                kind: ExplanationKind::Moved,
                host: "a.example".to_owned(),
                urls: 2,
                of: 3,
                sentence: shown("redirects 2 URLs to 5"),
            })),
            ..Evidence::default()
        };
        let opened = Event {
            id: "20261102T041703Z-5de248cc".to_owned(),
            cause: Some(Cause::new(State::Changed, None)),
            urls: vec![url("/1", true), url("/2", true)],
            evidence: vec![evidence],
            ..Event::default()
        };
        let shrunk = Event {
            id: "20261104T041702Z-0b7733de".to_owned(),
            event: EventKind::Shrunk,
            because: Some(Because::Recovered),
            urls: vec![url("/2", false)],
            ..Event::default()
        };
        let card = NewestCard {
            at: Some("2026-11-04T04:17:02Z".parse().unwrap()),
            through: Some(shrunk.id.clone()),
            digest: Some("0123456789abcdef".to_owned()),
            urls: 1,
            states: ["changed".to_owned()].into(),
            facts: BTreeMap::from([("message-id".to_owned(), shown("1.2@example.org"))]),
        };
        IncidentFile {
            log: IncidentLog {
                id: "0a1b2c3d".to_owned(),
                key: "0123456789abcdef".to_owned(),
                host: "a.example".to_owned(),
                events: vec![opened, shrunk],
            },
            notified: BTreeMap::from([
                ("gaia".to_owned(), NewestCard::default()),
                ("mail_1".to_owned(), card),
            ]),
        }
    }

    #[test]
    fn a_file_has_everything_that_later_runs_need() {
        let incident = incident();
        let text = to_text(&incident).unwrap();
        insta::assert_snapshot!(text);
        assert_eq!(parse(&incident.log.id, &text).unwrap(), incident);
    }

    #[test]
    fn a_closed_incident_begins_so_that_it_is_not_read() {
        let mut incident = incident();
        let run = "20261105T041703Z-00000000";
        for event in [EventKind::Shrunk, EventKind::Closed] {
            incident.log.events.push(Event {
                id: run.to_owned(),
                event,
                urls: vec![url("/1", false)],
                ..Event::default()
            });
        }
        let text = to_text(&incident).unwrap();
        let begin = "---\nclosed: '2026-11-05T04:17:03Z'\n";
        assert!(text.starts_with(begin), "{text}");
        assert_eq!(parse(&incident.log.id, &text).unwrap(), incident);
    }

    #[test]
    fn an_event_with_many_urls_has_several_documents() {
        let mut incident = incident();
        let many = (0..2_500).map(|number| url(&format!("/{number}"), true));
        incident.log.events[0].urls = many.collect();
        let text = to_text(&incident).unwrap();
        assert_eq!(text.matches("event: opened").count(), 3);
        assert_eq!(parse(&incident.log.id, &text).unwrap(), incident);
    }

    #[test]
    fn evidence_is_cut() {
        let mut evidence = incident().log.events[0].evidence[0].clone();
        evidence.detail = shown(&"x".repeat(9000));
        evidence.text = Some(TextDifference {
            lines: vec![shown(&"+".repeat(900)); 20],
            ..TextDifference::default()
        });
        let text = write_documents(&[to_mapping(&bounded(&evidence).unwrap()).unwrap()]);
        assert!(text.len() <= MOST_EVIDENCE, "{} bytes", text.len());
        evidence.text = None;
        evidence.detail = Shown::default();
        let mut contents = contents();
        for member in &mut contents.members {
            member.name = shown(&"n".repeat(800));
            member.text = Some(TextDifference {
                lines: vec![shown(&"-".repeat(200)); 20],
                ..TextDifference::default()
            });
        }
        evidence.contents = Some(contents);
        let cut = bounded(&evidence).unwrap();
        let text = write_documents(&[to_mapping(&cut).unwrap()]);
        assert!(text.len() <= MOST_EVIDENCE, "{} bytes", text.len());
        let members = cut.contents.unwrap().members;
        assert_eq!(members.len(), 3, "lines go before names");
    }

    #[test]
    fn a_file_in_another_form_is_an_error() {
        let good = to_text(&incident()).unwrap();
        for bad in [
            String::new(),
            "---\n".to_owned(),
            good.replace("state: changed", "state: bad"),
            good.replace("state: changed", "state:\n  - changed"),
            good.replace("key: 0123456789abcdef", "key: ../../x"),
            good.replace("line: 2", "line: two"),
            good.replace("event: opened", "event: exploded"),
            good.replace("host:", "<<<<<<< host:"),
        ] {
            assert!(parse("0a1b2c3d", &bad).is_err(), "{bad}");
        }
        let newer = good.replace("format: 2", "format: 3");
        let error = parse("0a1b2c3d", &newer).unwrap_err().to_string();
        assert_eq!(error, "it has the form 3, and this program reads 2");
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
            texts in proptest::collection::vec(some_text(), 10),
            number in any::<u64>(),
            flag in any::<bool>(),
        ) {
            let mut incident = incident();
            incident.log.host.clone_from(&texts[0]);
            let event = &mut incident.log.events[0];
            event.cause = Some(Cause {
                reason: Some(texts[1].clone()),
                redirect: flag.then(|| shown(&texts[2])),
                ..Cause::new(State::Gone, None)
            });
            event.urls[0].key.url.clone_from(&texts[3]);
            event.urls[0].key.request = flag.then(|| texts[4].clone());
            event.urls[0].key.variant = flag.then(|| texts[9].clone());
            event.evidence[0].detail = shown(&texts[5]);
            event.evidence[0].observed.content_type = Some(shown(&texts[6]));
            event.evidence[0].observed.length = Some(number);
            let contents = event.evidence[0].contents.as_mut().unwrap();
            (contents.files, contents.single) = (number, flag);
            contents.members[0].name = shown(&texts[2]);
            event.unconfirmed = !flag;
            event.host_urls = Some(number);
            let facts = BTreeMap::from([(texts[7].clone(), shown(&texts[8]))]);
            let card = NewestCard { facts, ..NewestCard::default() };
            incident.notified = BTreeMap::from([(texts[8].clone(), card)]);
            let text = to_text(&incident).unwrap();
            prop_assert_eq!(parse(&incident.log.id, &text).unwrap(), incident);
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
