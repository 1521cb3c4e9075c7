//! What the specification shows, and the way into a database and back.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Cursor;

use jiff::civil::DateTime;
use urldb_canon::Scheme;
use urldb_format::{Metadata, Record};
use urldb_interchange::ssd3::{CatalogueDraft, CatalogueRecord, parse_date, read};
use urldb_interchange::{DomainRecord, ListItem, NoticeSeverity, ReadEvent};

use crate::{vectors, write};

const AMENDED: &str = "21/11/2026 10:30:00";

fn amended() -> DateTime {
    parse_date(AMENDED).unwrap()
}

/// One domain of a database.
pub(crate) type Domain = (String, Metadata, Vec<Record>);

/// The database as a catalogue.
pub(crate) fn exported(domains: &[Domain]) -> Vec<CatalogueRecord> {
    let records = domains.iter().flat_map(|(domain, metadata, records)| {
        records
            .iter()
            .map(move |record| DomainRecord::new(domain, metadata, record).unwrap())
    });
    let mut draft = CatalogueDraft::default();
    records.for_each(|domain_record| draft.add(&domain_record, amended()));
    draft.finish().collect()
}

pub(crate) fn items(catalogue: &[u8]) -> Vec<ListItem> {
    let mut items = Vec::new();
    read(Cursor::new(catalogue), &"a.uric".into(), &mut |found| {
        match found {
            ReadEvent::Item(item) => items.push(*item),
            ReadEvent::Notice(notice) => {
                assert_eq!(notice.severity, NoticeSeverity::Remark, "{notice}");
            }
        }
        Ok(())
    })
    .unwrap();
    items
}

/// The items as an empty database would have them.
pub(crate) fn imported(items: Vec<ListItem>) -> Vec<Domain> {
    let mut hosts: BTreeMap<String, Vec<ListItem>> = BTreeMap::new();
    for item in items {
        hosts.entry(item.host.clone()).or_default().push(item);
    }
    let domain = |(host, items): (String, Vec<ListItem>)| {
        let schemes = |item: &ListItem| -> Vec<Scheme> {
            let implied = Metadata::for_schemes(&[item.scheme]);
            item.metadata
                .as_ref()
                .unwrap_or(&implied)
                .schemes_of(&item.record)
        };
        let stated = items.iter().find_map(|item| item.metadata.clone());
        let urls = items.iter().flat_map(|item| {
            let path = item.record.path.as_str();
            schemes(item).into_iter().map(move |scheme| (path, scheme))
        });
        let metadata = stated.unwrap_or_else(|| Metadata::of_urls(urls));
        let records = items.into_iter().map(|mut item| {
            let named = schemes(&item);
            let own = std::mem::take(&mut item.record.schemes);
            if own.is_empty() {
                metadata.add_schemes(&mut item.record, false, &named);
            } else {
                metadata.set_schemes(&mut item.record, &named);
            }
            let domain_record = DomainRecord::new(&host, &metadata, &item.record).unwrap();
            if let Some(uri) = item
                .spelling
                .take()
                .filter(|uri| *uri != domain_record.url())
            {
                item.record
                    .catalogue
                    .get_or_insert_default()
                    .insert("uri", uri);
            }
            item.record
        });
        let mut records: Vec<_> = records.collect();
        records.sort_by_key(Record::identity);
        (host, metadata, records)
    };
    hosts.into_iter().map(domain).collect()
}

/// The text of a database: what it says, whatever the order in memory.
pub(crate) fn text(domains: &[Domain]) -> String {
    let mut text = String::new();
    for (domain, metadata, records) in domains {
        let mut records: Vec<_> = records.iter().collect();
        records.sort_by_key(|record| record.identity());
        let documents: Vec<_> = records.iter().map(|record| record.to_mapping()).collect();
        writeln!(text, "{domain} {:?}", metadata.to_mapping().sorted()).unwrap();
        text.push_str(&urldb_format::write_documents(&documents));
    }
    text
}

#[test]
fn the_examples_of_the_specification_come_out_as_they_went_in() {
    for id in ["seed-4.1-full", "seed-4.2-minimum"] {
        let vectors = vectors();
        let vector = vectors.iter().find(|vector| vector["id"] == id).unwrap();
        let input = vector["input"].as_str().unwrap();
        let domains = imported(items(input.as_bytes()));
        let output = String::from_utf8(write(exported(&domains)).unwrap()).unwrap();
        // The writer ends the last line too.
        assert_eq!(output.trim_end(), input.trim_end(), "{}", text(&domains));
    }
}

#[test]
fn what_only_the_format_wants_is_marked_and_dropped() {
    let mut record = Record::new("/caf%C3%A9?x=1");
    record.name = Some("Café".to_owned());
    record.content_length = Some(3);
    record.content_type = Some("text/html".to_owned());
    record.categories = vec!["core".to_owned(), "redirect-ok".to_owned()];
    let domains = [("a.test".to_owned(), Metadata::default(), vec![record])];
    let output = String::from_utf8(write(exported(&domains)).unwrap()).unwrap();
    assert_eq!(
        output,
        "URI: http://a.test/caf%C3%A9?x=1\r\nNAME: Caf?\r\nDATE: 21/11/2026 10:30:00\r\n\
         CATEGORY: core, redirect-ok\r\nTYPE: text/html\r\nX-Content-Length: 3\r\n\
         X-DB-Extra: {\"categories\":[\"core\",\"redirect-ok\"],\"content-type\":\"text/html\",\"name\":\"Caf\\u00e9\"}\r\n\
         X-DB-Synthesized: NAME, DATE, TYPE, CATEGORY, POSITION\r\n"
    );
    assert_eq!(text(&imported(items(output.as_bytes()))), text(&domains));
}

#[test]
fn nothing_that_repeats_the_uri_orders_a_catalogue() {
    let paths = ["/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h"];
    let records: Vec<Record> = paths.into_iter().map(Record::new).collect();
    let domain = ("a.test".to_owned(), Metadata::default(), records);
    let catalogue = exported(std::slice::from_ref(&domain));
    let uris: Vec<_> = catalogue
        .iter()
        .filter_map(|record| record.get("URI"))
        .collect();
    assert_eq!(uris.len(), paths.len());
    assert!(
        !uris.is_sorted() && !uris.iter().rev().is_sorted(),
        "{uris:?}"
    );
    let mut reversed = domain;
    reversed.2.reverse();
    assert_eq!(
        exported(&[reversed]),
        catalogue,
        "the order does not depend on the source"
    );
}

#[test]
fn a_second_record_for_one_request_is_discarded() {
    let date = "DATE: 01/01/2020 00:00:00\r\n";
    let one = format!("URI: http://a.test/\r\nNAME: first\r\n{date}");
    let again = format!("URI: HTTP://A.test:80/\r\nNAME: second\r\nRATING: 5\r\n{date}");
    let text = format!("{one}\r\n{again}");
    let (mut items, mut notices) = (vec![], vec![]);
    read(Cursor::new(text), &"a.uric".into(), &mut |found| {
        match found {
            ReadEvent::Item(item) => items.push(*item),
            ReadEvent::Notice(notice) if notice.severity == NoticeSeverity::LeftOut => {
                notices.push(notice.code);
            }
            ReadEvent::Notice(_) => {}
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].record.name.as_deref(), Some("first"));
    assert_eq!(notices, ["repeated-uri"]);
}
