//! Any bytes are a domain file, with findings or without. A file that the quick reader calls clean is its own
//! canonical form, has no error, and says to the general reader what it says to the quick one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use urldb_format::{DomainFile, Mapping, Schema, lint, read_documents, write_documents};

const PATH: &str = "example.org.yaml";

fuzz_target!(|bytes: &[u8]| {
    let parsed = DomainFile::parse(PATH, bytes);
    let findings = lint(&parsed, &[]);
    if !DomainFile::is_clean(PATH, bytes, &[]) {
        return;
    }
    let text = std::str::from_utf8(bytes).expect("a clean file is text");
    assert_eq!(parsed.file.canonical().ok().as_deref(), Some(text));
    assert!(
        !findings.iter().any(|finding| finding.is_error()),
        "{findings:?}"
    );
    let (documents, findings) = read_documents(text, &Schema::DOMAIN_FILE);
    assert!(findings.is_empty(), "{findings:?}");
    let has_comment = documents
        .iter()
        .any(|document| !document.above.is_empty() || !document.comments.is_empty());
    if !has_comment {
        let mappings: Vec<Mapping> = documents.into_iter().map(|it| it.mapping).collect();
        assert_eq!(write_documents(&mappings), text);
    }
});
