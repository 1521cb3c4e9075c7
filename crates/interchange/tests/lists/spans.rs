//! The spans of values: the text at a span is the value, and replacing it changes that value only.

use proptest::prelude::*;
use urldb_format::{Algorithm, Digest, Mapping, Value};
use urldb_interchange::budget::Budget;
use urldb_interchange::table::Columns;
use urldb_interchange::{
    ListItem, bazel_registry, conandata, datapackage, digest, dvc, jsonld, metalink, redirects,
    sums, table, tfds,
};

use crate::common::Taken;

/// The texts of one file for a URL.
#[derive(Debug, Clone)]
struct Source {
    name: String,
    bytes: [u8; 64],
    length: u32,
    form: u8,
}

prop_compose! {
    fn source()(name in "[a-z\u{e9}]{1,4}", bytes: [u8; 64], length: u32, form: u8) -> Source {
        Source { name, bytes, length, form }
    }
}

fn sources() -> impl Strategy<Value = Vec<Source>> {
    prop::collection::vec(source(), 1..6)
}

impl Source {
    fn digest(&self, algorithm: Algorithm) -> Digest {
        Digest::new(algorithm, &self.bytes[..algorithm.length()]).unwrap()
    }

    /// A digest in one of the spellings.
    fn spelled(&self, algorithm: Algorithm) -> String {
        let digest = self.digest(algorithm);
        match self.form % 3 {
            0 => digest.hex().to_owned(),
            1 => digest.hex().to_uppercase(),
            _ => digest.to_string(),
        }
    }

    fn integrity(&self) -> String {
        let old = "sha256-WJG1tSLV3whtD/CxEPvZ0hu0/HFjrzTQgoai6Eb2vgM=";
        digest::like(old, &self.digest(Algorithm::Sha256)).unwrap()
    }
}

/// The new text for the value at a span.
fn replacement(key: &str, old: &str) -> String {
    match key {
        "content-length" => "4242".to_owned(),
        "status" => "308".to_owned(),
        "content-type" => "x/new".to_owned(),
        "redirects-to" => "/new".to_owned(),
        _ => {
            let algorithm = Algorithm::of_key(key).unwrap();
            let new = Digest::new(algorithm, &vec![0x5a; algorithm.length()]).unwrap();
            digest::like(old, &new).unwrap()
        }
    }
}

/// The value of a key for a text.
fn value(key: &str, text: &str) -> Value {
    match (key, Algorithm::of_key(key)) {
        ("content-length" | "status", _) => Value::Int(text.parse().unwrap()),
        (_, Some(algorithm)) => Value::from(digest::parse(text, Some(algorithm)).unwrap().hex()),
        _ => Value::from(text),
    }
}

/// Checks each span of a file of which `read` reads `keys` values.
fn check(text: &str, keys: usize, read: &dyn Fn(&[u8]) -> Taken) -> Result<(), TestCaseError> {
    let mappings = |items: &[ListItem]| -> Vec<Mapping> {
        items.iter().map(|item| item.record.to_mapping()).collect()
    };
    let taken = read(text.as_bytes());
    prop_assert!(taken.notices.is_empty(), "{:?}", taken.notices);
    let spans = taken.items.iter().map(|item| item.spans.len());
    prop_assert_eq!(spans.sum::<usize>(), keys, "{}", text);
    for item in &taken.items {
        for span in &item.spans {
            let range = usize::try_from(span.range.start).unwrap()
                ..usize::try_from(span.range.end).unwrap();
            let old = &text[range.clone()];
            prop_assert_eq!(
                item.record.to_mapping().get(span.key).cloned(),
                Some(value(span.key, old))
            );
            let new = replacement(span.key, old);
            let mut edited = text.to_owned();
            edited.replace_range(range, &new);
            let mut expected = taken.items.clone();
            for other in expected
                .iter_mut()
                .filter(|other| other.spans.contains(span))
            {
                let mut mapping = other.record.to_mapping();
                mapping.insert(span.key, value(span.key, &new));
                other.record = urldb_format::Record::from_mapping(mapping).unwrap();
            }
            let again = read(edited.as_bytes());
            prop_assert_eq!(mappings(&again.items), mappings(&expected), "{}", edited);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn of_tables(sources in sources(), delimiter in "[,;\t]", is_crlf: bool, has_bom: bool) {
        let mut text = String::from(if has_bom { "\u{feff}" } else { "" });
        let header = ["# SHA 256", "url", "note", "size", "MD5", "content_type", "status", "redirects-to", "checksum"];
        let mut rows = vec![header.map(str::to_owned)];
        for source in &sources {
            let is_quoted = source.form & 8 > 0;
            let quoted = |text: String| if is_quoted { format!("\"{text}\"") } else { text };
            rows.push([
                quoted(format!(" {} ", source.spelled(Algorithm::Sha256))),
                quoted(format!("http://a.test/{}", source.name)),
                "\"a \"\"note\"\"\nof two lines\"".to_owned(),
                quoted(source.length.to_string()),
                quoted(source.spelled(Algorithm::Md5)),
                quoted(format!("text/{}", source.name)),
                quoted("301".to_owned()),
                format!("\"/{}\"", source.name),
                quoted(source.spelled(Algorithm::Sha512)),
            ]);
        }
        for row in rows {
            text.push_str(&row.join(&delimiter));
            text.push_str(if is_crlf { "\r\n" } else { "\n\n" });
        }
        let names = [("note".to_owned(), "name".to_owned())];
        let columns = Columns::named(names.into());
        let read = |bytes: &[u8]| Taken::of(|sink| table::read(bytes, &"t.csv".into(), &columns, sink));
        check(&text, 7 * sources.len(), &read)?;
    }

    #[test]
    fn of_lists_of_digests(sources in sources(), is_signed: bool) {
        let mut text = String::new();
        if is_signed {
            text.push_str("-----BEGIN PGP SIGNED MESSAGE-----\r\nHash: SHA256\r\n\r\n");
        }
        for (index, source) in sources.iter().enumerate() {
            let name = format!("{}{index}", source.name);
            let hex = source.digest(Algorithm::ALL[usize::from(source.form) % 5]).hex().to_owned();
            let sha256 = source.spelled(Algorithm::Sha256);
            let line = match source.form / 5 % 7 {
                0 => format!("{hex}  {name}"),
                1 => format!("\\{} *{name}\\n", hex.to_uppercase()),
                2 => format!("SHA256 ({name}) = {sha256}"),
                3 => format!("SHA2-512({name})= {}", source.digest(Algorithm::Sha512).hex()),
                4 => format!("'{name} x' {sha256}  http://b.test/{name}"),
                5 => format!("{name}\\ y \"{sha256}\""),
                _ => format!("./-{name} md5:{}", source.digest(Algorithm::Md5).hex()),
            };
            text.push_str(if is_signed && source.form > 99 { "- " } else { "" });
            text.push_str(&line);
            text.push_str("\r\n");
        }
        if is_signed {
            text.push_str("-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n");
        }
        let read = |bytes: &[u8]| Taken::of(|sink| sums::read(bytes, &"SUMS".into(), "http://a.test/", sink));
        check(&text, sources.len(), &read)?;
    }

    #[test]
    fn of_checksums_of_tfds(sources in sources()) {
        let lines = sources.iter().map(|source| {
            let digest = source.spelled(Algorithm::Sha256);
            let (name, length) = (&source.name, source.length);
            match source.form % 2 {
                0 => format!(" http://a.test/{name}\t{length}\t{digest}\t{name} x\r\n"),
                _ => format!("http://a.test/{name}%20b {length} {digest}\n"),
            }
        });
        let read = |bytes: &[u8]| Taken::of(|sink| tfds::read(bytes, &"c".into(), sink));
        check(&lines.collect::<String>(), 2 * sources.len(), &read)?;
    }

    #[test]
    fn of_bazel_registries(source in source(), other in source()) {
        let (one, two) = (source.integrity(), other.integrity());
        let text = format!(
            "{{\n \"docs_url\": \"\u{e9}\", \"mirror_urls\": [\"http://b.test/{0}\"],\n \"integrity\": \" {1}?x sha512:{2}\",\n\"url\": \"http://a.test/\", \"patches\": {{\"{0}\": \"{3}\"}}, \"overlay\": {{}}}}",
            source.name, one, source.digest(Algorithm::Sha512).hex(), two,
        );
        let file = "r/modules/m/1/source.json".into();
        let read = |bytes: &[u8]| Taken::of(|sink| bazel_registry::read(bytes, &file, Some("https://r.test/"), sink));
        check(&text, 5, &read)?;
        let text = format!("{{\"attestations\": {{\"\u{e9}\": {{\"url\": \"http://a.test/{}\", \"integrity\": \"{one}\"}}}}}}", source.name);
        check(&text, 1, &read)?;
    }

    #[test]
    fn of_conan_recipes(sources in sources()) {
        let mut text = String::from("# \u{e9} a comment\nsources:\n");
        for (index, source) in sources.iter().enumerate() {
            let name = &source.name;
            let sha256 = source.spelled(Algorithm::Sha256);
            let md5 = source.spelled(Algorithm::Md5);
            let quote = ["", "'", "\""][usize::from(source.form / 3) % 3];
            let entry = match source.form / 9 % 4 {
                0 => format!("  \"1.{index}\":\n    url: http://a.test/{name}\n    sha256: {quote}{sha256}{quote} # x\n    md5: {quote}{md5}{quote}\n"),
                1 => format!("  2.{index}: {{url: ['http://a.test/{name}'], sha256: \"{sha256}\", md5: '{md5}'}}\n"),
                2 => format!("  3.{index}:\n    linux:\n      - url:\n          - http://a.test/{name}\n        sha256: {quote}{sha256}{quote}\n        md5: !!str &a{index} {quote}{md5}{quote}\n"),
                _ => format!("  4.{index}:\n    url: \"http://a.test/\u{e9}{name}\"\n    md5: {quote}{md5}{quote}\n    sha256: &b{index}\n      {quote}{sha256}{quote}\n"),
            };
            text.push_str(&entry);
        }
        let read = |bytes: &[u8]| Taken::of(|sink| conandata::read(bytes, &"conandata.yml".into(), sink));
        check(&text, 2 * sources.len(), &read)?;
    }

    #[test]
    fn of_redirects(sources in sources()) {
        let mut keys = 0;
        let lines = sources.iter().enumerate().map(|(index, source)| {
            let name = &source.name;
            keys += 1 + usize::from(source.form % 3 > 0);
            match source.form % 3 {
                0 => format!(" /{index}\t/{name}\r\n"),
                1 => format!("/{index} http://b.test/{name} 302! # x\n"),
                _ => format!("\n/{index}  /{name} 301\n"),
            }
        });
        let text = format!("\u{feff}{}", lines.collect::<String>());
        let read = |bytes: &[u8]| Taken::of(|sink| redirects::read(bytes, &"_redirects".into(), "http://a.test/", &Budget::default(), sink));
        check(&text, keys, &read)?;
    }

    #[test]
    fn of_packages(sources in sources()) {
        let resources = sources.iter().map(|source| {
            let (name, length) = (&source.name, source.length);
            let digest = match source.form % 2 {
                0 => source.digest(Algorithm::Md5).hex().to_uppercase(),
                _ => format!("sha256:{}", source.digest(Algorithm::Sha256).hex()),
            };
            let length = if source.form & 4 > 0 { format!("\"{length}\"") } else { length.to_string() };
            format!("\n{{\"path\" : \"{name}\", \"bytes\": {length},\"hash\":\"{digest}\", \"\u{e9}\": \"\"}}")
        });
        let text = format!("\u{feff}{{\"resources\": [{}]}}", resources.collect::<Vec<_>>().join(","));
        let read = |bytes: &[u8]| Taken::of(|sink| datapackage::read(bytes, &"p".into(), Some("https://a.test/"), sink));
        check(&text, 2 * sources.len(), &read)?;
    }

    #[test]
    fn of_json_ld(sources in sources()) {
        let files = sources.iter().map(|source| {
            let (name, length) = (&source.name, source.length);
            let (sha256, md5) = (source.spelled(Algorithm::Sha256), source.spelled(Algorithm::Md5));
            match source.form % 2 {
                0 => format!("{{\"sha256\": \"{sha256}\", \"contentUrl\": \"{name}\", \"contentSize\": \"{length}\", \"md5\":\"{md5}\"}}"),
                _ => format!("{{\"\u{e9}\": {{\n\"@type\": \"File\", \"@id\": \"https://a.test/{name}\", \"contentSize\": {length} , \"sc:sha256\": \"{sha256}\",\n\"md5\": \"{md5}\"}}}}"),
            }
        });
        let text = format!("\u{feff}{{\"@graph\": [{}]}}", files.collect::<Vec<_>>().join(",\n"));
        let read = |bytes: &[u8]| Taken::of(|sink| jsonld::read(bytes, &"j".into(), Some("https://b.test/"), sink));
        check(&text, 3 * sources.len(), &read)?;
    }

    #[test]
    fn of_metalinks(sources in sources(), has_bom: bool) {
        let mut text = String::from(if has_bom { "\u{feff}" } else { "" });
        text.push_str("<metalink><!-- \u{e9} -->");
        for source in &sources {
            let (name, length) = (&source.name, source.length);
            let (sha512, md5) = (source.spelled(Algorithm::Sha512), source.digest(Algorithm::Md5).hex().to_owned());
            let blank = ["", " ", "\r\n"][usize::from(source.form) % 3];
            let file = format!("<file name='{name}'><url>https://a.test/{name}</url><url>https://b.test/{name}</url>\n<hash type=\"sha-512\">{blank}{sha512}{blank}</hash><size>{blank}{length}</size><hash type=\"md5\">{md5}</hash></file>");
            text.push_str(&file);
        }
        text.push_str("</metalink>");
        let read = |bytes: &[u8]| Taken::of(|sink| metalink::read(bytes, &"m".into(), sink));
        check(&text, 6 * sources.len(), &read)?;
    }

    #[test]
    fn of_dvc(source in source()) {
        let (name, length) = (&source.name, source.length);
        let md5 = source.digest(Algorithm::Md5).hex().to_owned();
        let quote = ["", "'", "\""][usize::from(source.form) % 3];
        let text = format!("# \u{e9}\ndeps:\n- path: http://a.test/{name} # x\n  size: 1\nouts:\n- size: {length}\n  path: \u{e9}\n  hash: md5\n  md5: '{md5}'\n- md5: {quote}x{quote}\n");
        let read = |bytes: &[u8]| Taken::of(|sink| dvc::read(bytes, &"x.dvc".into(), sink));
        check(&text, 2, &read)?;
    }
}
