//! What a writer writes, its reader reads, as far as the format can hold it.

use proptest::prelude::*;
use urldb_format::{Algorithm, Digest, HELD_URIS, Mapping, Metadata, Record, Value};
use urldb_interchange::{DomainRecord, archive, jsonl, list, sitemap, sums, table};

use crate::common::Taken;

prop_compose! {
    fn record()(
        path in prop_oneof!["/[a-z]{0,3}(\\?[a-z=&;']{1,3})?", "/[a-z]{1,2}/[ -~]{1,4}", "/\\PC{0,3}", "/%[0-9A-F]{2}"],
        length in proptest::option::of(any::<u64>()),
        digest in proptest::option::of("[0-9a-f]{64}|[0-9A-F]{64}|x"),
        categories in proptest::collection::btree_set("[a-z;, ]{0,4}", 0..3),
        texts in proptest::collection::btree_map("name|description|content-type|status|method|redirects-to|[a-z]{1,3}", "[ -~\n\u{e9}]{0,5}", 0..5),
    ) -> Record {
        let mut mapping: Mapping = texts.into_iter().map(|(key, text)| (key, Value::from(text))).collect();
        mapping.insert("_path", path);
        let mut record = Record::from_mapping(mapping).unwrap();
        (record.content_length, record.content_sha256) = (length, digest);
        record.categories = categories.into_iter().collect();
        record
    }
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let schemes = prop_oneof![Just((true, false)), Just((false, true)), Just((true, true))];
    (
        schemes,
        proptest::collection::vec("[a-z]{1,3}\\.test", 0..2),
    )
        .prop_map(|((http, https), cnames)| Metadata {
            http,
            https,
            cnames,
            ..Metadata::default()
        })
}

/// The URL as `add` would have it, if it is the record's.
fn own_url(domain_record: &DomainRecord<'_>) -> Option<String> {
    let url = domain_record.url();
    let identity = urldb_canon::identify(url).ok()?;
    (identity.to_string() == url).then(|| url.to_owned())
}

proptest! {
    #[test]
    fn tables_and_json_lines_hold_everything(record in record(), metadata in metadata()) {
        let domain_record = DomainRecord::new("a.test", &metadata, &record).unwrap();
        let (mut rows, mut lines) = (Vec::new(), Vec::new());
        let mut writer = table::Writer::new(&mut rows).unwrap();
        writer.write(&domain_record).unwrap();
        writer.finish().unwrap();
        jsonl::write(&mut lines, &domain_record).unwrap();
        // A path that no URL can have keeps the record from being domain_record by its URL.
        if urldb_canon::identify(domain_record.url()).is_ok() {
            let stated = domain_record.stated_metadata(domain_record.scheme()).map(Metadata::to_mapping);
            let from_rows = Taken::of(|sink| table::read(&rows[..], &"t".into(), &table::Columns::default(), sink));
            let from_lines = Taken::of(|sink| jsonl::read(&lines[..], &"j".into(), sink));
            for taken in [from_rows, from_lines] {
                prop_assert_eq!(taken.items.len(), 1, "{:?} {}", taken, String::from_utf8_lossy(&rows));
                let item = &taken.items[0];
                let (back, there) = (item.record.to_mapping(), record.to_mapping());
                prop_assert_eq!(back.sorted(), there.sorted());
                prop_assert_eq!(item.metadata.as_ref().map(Metadata::to_mapping), stated.clone());
            }
        }
    }

    #[test]
    fn tables_and_json_lines_keep_held_uris(
        uri in "(ftp|URN|doi)://[a-c:]{1,3}/[a-z%~]{0,2}|urn:[a-z:?#=/]{0,5}|https?://(a\\.test:8[0-9]|\\[::1\\])(/[a-z]{0,2}#?)?|[ -~]{0,8}",
        mut record in record(),
    ) {
        record.path = uri;
        let metadata = Metadata::default();
        let domain_record = DomainRecord::new(HELD_URIS, &metadata, &record);
        prop_assert_eq!(domain_record.is_some(), urldb_canon::kind_of_held(&record.path).is_some());
        if let Some(domain_record) = domain_record {
            let (mut rows, mut lines) = (Vec::new(), Vec::new());
            let mut writer = table::Writer::new(&mut rows).unwrap();
            writer.write(&domain_record).unwrap();
            writer.finish().unwrap();
            jsonl::write(&mut lines, &domain_record).unwrap();
            let from_rows = Taken::of(|sink| table::read(&rows[..], &"t".into(), &table::Columns::default(), sink));
            let from_lines = Taken::of(|sink| jsonl::read(&lines[..], &"j".into(), sink));
            for taken in [from_rows, from_lines] {
                prop_assert_eq!(taken.items.len(), 1, "{:?} {}", taken, String::from_utf8_lossy(&rows));
                let item = &taken.items[0];
                prop_assert!(item.is_held() && item.url().is_none());
                let (back, there) = (item.record.to_mapping(), record.to_mapping());
                prop_assert_eq!(back.sorted(), there.sorted());
            }
        }
    }

    #[test]
    fn lists_of_urls_hold_urls(record in record(), metadata in metadata()) {
        let domain_record = DomainRecord::new("a.test", &metadata, &record).unwrap();
        if let Some(url) = own_url(&domain_record) {
            let (mut lines, mut xml) = (Vec::new(), Vec::new());
            list::write(&mut lines, &domain_record).unwrap();
            let mut writer = sitemap::Writer::new(&mut xml).unwrap();
            prop_assert!(writer.write(&domain_record).unwrap());
            writer.finish().unwrap();
            let (_, rest) = url.split_once(':').unwrap();
            let schemes = metadata.schemes().into_iter();
            let all: Vec<String> = schemes.map(|scheme| format!("{scheme}:{rest}")).collect();
            prop_assert_eq!(Taken::of(|sink| list::read(&lines[..], &"l".into(), sink)).urls(), all);
            let mut found = Vec::new();
            sitemap::parse(&xml[..], &"s".into(), &mut |_, _, loc| {
                found.push(loc.to_owned());
                Ok(())
            }).unwrap();
            prop_assert_eq!(found, [url]);
        }
    }

    #[test]
    fn sums_of_any_algorithm_come_back(index in 0_usize..5, bytes: [u8; 64], name in "[a-z \\\\]{1,4}") {
        let algorithm = Algorithm::ALL[index];
        let digest = Digest::new(algorithm, &bytes[..algorithm.length()]).unwrap();
        let mut record = Record::new(format!("/{}", name.replace(' ', "%20").replace('\\', "%5C")));
        record.set_digest(&digest);
        let metadata = Metadata::default();
        let domain_record = DomainRecord::new("a.test", &metadata, &record).unwrap();
        let base = format!("{}://a.test/", domain_record.scheme());
        for other in Algorithm::ALL {
            let mut line = Vec::new();
            let is_written = sums::write(&mut line, &base, other, &domain_record).unwrap();
            prop_assert_eq!(is_written, other == algorithm);
            if is_written {
                let taken = Taken::of(|sink| sums::read(&line[..], &"sums".into(), &base, sink));
                prop_assert_eq!(&taken.items[0].record, &record);
            }
        }
    }

    #[test]
    fn digests_lead_back_to_their_urls(record in record(), metadata in metadata()) {
        let domain_record = DomainRecord::new("a.test", &metadata, &record).unwrap();
        for base in [format!("{}://", domain_record.scheme()), format!("{}://a.test/a/", domain_record.scheme())] {
            let mut line = Vec::new();
            if sums::write(&mut line, &base, Algorithm::Sha256, &domain_record).unwrap() {
                let taken = Taken::of(|sink| sums::read(&line[..], &"sums".into(), &base, sink));
                prop_assert_eq!(taken.urls(), [domain_record.url()], "{}", String::from_utf8_lossy(&line));
                prop_assert_eq!(&taken.items[0].record.content_sha256, &record.content_sha256.as_ref().map(|text| text.to_lowercase()));
            } else {
                prop_assert!(line.is_empty());
            }
        }
        if let (Some(line), Some(url)) = (archive::cdxj_line(&domain_record, "20261121103000"), own_url(&domain_record)) {
            let nowhere = urldb_files::Root::new("", "nowhere");
            let taken = Taken::of(|sink| archive::read_cdxj(line.as_bytes(), &nowhere, &"i".into(), sink));
            prop_assert_eq!(taken.urls(), [url]);
            prop_assert_eq!(taken.items[0].record.content_length, record.content_length);
        }
    }
}
