//! Documents that cost much, and documents that are damaged.

use proptest::prelude::*;
use urldb_interchange::documents::{self, DocumentKind, DocumentOptions};
use urldb_interchange::{NoticeSeverity, ReadEvent};

const KINDS: [DocumentKind; 5] = [
    DocumentKind::Markdown,
    DocumentKind::Html,
    DocumentKind::Bibtex,
    DocumentKind::CslJson,
    DocumentKind::Notebook,
];

/// The number of items and of refusals.
fn read(kind: DocumentKind, bytes: &[u8], base: Option<&str>) -> (usize, usize) {
    let options = DocumentOptions {
        base,
        path: "a/b.md",
        is_local: &|_| false,
    };
    let (mut items, mut refused) = (0, 0);
    let result = documents::read(bytes, kind, &"d".into(), &options, &mut |event| {
        match event {
            ReadEvent::Item(item) => {
                assert!(item.url().is_some());
                items += 1;
            }
            ReadEvent::Notice(notice) => {
                refused += usize::from(notice.severity == NoticeSeverity::Refused);
            }
        }
        Ok(())
    });
    result.unwrap();
    (items, refused)
}

const MARKDOWN: &[(&str, &str)] = &[
    ("", "["),
    ("", "![["),
    ("", "[a]("),
    ("", "> "),
    ("", "* "),
    ("", "*a_ "),
    ("", "**a*"),
    ("", "<"),
    ("", "<!--"),
    ("", "<a href='"),
    ("", "`"),
    ("", "``` ` "),
    ("", "&amp;"),
    ("", "&#0;"),
    ("", "a|"),
    ("", "\\"),
    ("", "](x)"),
    ("", "[^a]"),
    ("", "\n[a]: x"),
    ("", "- a\n"),
    ("", "://"),
    ("", "http://"),
    ("", "www."),
    ("", "https://a.test/"),
    ("", "https://a.test/ "),
    ("", "h:"),
    ("", "[a](https://a.test/)"),
    ("", "\n> - "),
    ("", "<?"),
    ("", "<![CDATA["),
    ("", "~~a"),
    ("", "\n    x"),
    ("", "\t"),
    ("", "\r"),
    ("|a|\n|-|\n", "|"),
    ("[a]: x\n\n", "[a]"),
];

const OTHERS: &[(DocumentKind, &str, &str)] = &[
    (DocumentKind::Html, "", "<a href=x>"),
    (DocumentKind::Html, "<a ", "b "),
    (DocumentKind::Html, "<a ", "href=x "),
    (DocumentKind::Html, "", "<!--"),
    (DocumentKind::Html, "<img srcset='", "https://a.test/x, "),
    (DocumentKind::Html, "<img srcset='", "a ("),
    (DocumentKind::Html, "", "&amp"),
    (
        DocumentKind::Html,
        "<base href='//a.test/'>",
        "<a href=../x>",
    ),
    (DocumentKind::Html, "<a href='", "x"),
    (DocumentKind::Html, "", "<script>"),
    (DocumentKind::Html, "", "<"),
    (DocumentKind::Bibtex, "", "@"),
    (DocumentKind::Bibtex, "", "@\n"),
    (DocumentKind::Bibtex, "", "@a{\n"),
    (DocumentKind::Bibtex, "", "@a{b,c={\n"),
    (DocumentKind::Bibtex, "@a{b,c=", "{"),
    (DocumentKind::Bibtex, "@a{b,", "c=1,"),
    (DocumentKind::Bibtex, "@a{b,note={", "\\url{"),
    (DocumentKind::Bibtex, "", "@string{a=a#a}\n"),
    (
        DocumentKind::Bibtex,
        "@string{a={x}}\n",
        "@string{a=a#a#a#a}\n",
    ),
    (DocumentKind::Bibtex, "", "@a{b,url={https://a.test/}}\n"),
    (DocumentKind::Bibtex, "@a{b,url={", "\\"),
    (DocumentKind::CslJson, "", "["),
    (DocumentKind::CslJson, "[{", "\"a\":1,"),
    (DocumentKind::CslJson, "[{\"a\":", "["),
    (DocumentKind::CslJson, "[{}", ",{}"),
    (DocumentKind::Notebook, "{\"cells\":[{}", ",{}"),
    (
        DocumentKind::Notebook,
        "{\"cells\":[{\"cell_type\":\"markdown\",\"source\":[\"\"",
        ",\"\"",
    ),
    (
        DocumentKind::Notebook,
        "{\"cells\":[{\"cell_type\":\"markdown\",\"source\":\"",
        "[",
    ),
];

#[test]
fn repetitions_are_read_to_their_end() {
    let markdown = MARKDOWN
        .iter()
        .map(|(start, piece)| (DocumentKind::Markdown, *start, *piece));
    for (kind, start, piece) in markdown.chain(OTHERS.iter().copied()) {
        let text = start.to_owned() + &piece.repeat((1 << 15) / piece.len());
        read(kind, text.as_bytes(), Some("https://a.test/"));
    }
}

const SEEDS: [&str; 5] = [
    "[a](https://a.test/1 't') ![b](<c>)\n\n> * <https://a.test/2> `x` www.a.test\n\n[r]: //a.test/3\n<a href='x'>&amp;</a>\n|a|\n|-|\n[^1]: x\n",
    "<base href=//a.test/><a href='x' rel=y><img srcset='a 1x, b'><!-- --><meta http-equiv=refresh content='0;url=x'><script>",
    "@string{a = \"b\"}\n@article{k, url = {https://a.test/\\_} # a, doi={10.1/x}, note={\\url{y}}, eprint={2101.00001}}\n@comment{x}\n@preamble{\"x\"}\n% c\n",
    "[{\"URL\": \"https://a.test/\", \"DOI\": \"10.1/\\u00e9\"}]",
    "{\"cells\": [{\"cell_type\": \"markdown\", \"source\": [\"[a](b)\\n\", \"c\"]}], \"nbformat\": 4}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn damaged_documents_are_read_to_their_end(
        seed in 0_usize..5,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..6, prop::sample::select(
            b"[]()<>*_`\\{}@#\"'=,%&;:!|-\n\r\t \0/.axh\xff\xc3\xa9".to_vec())), 0..24),
        doubled in any::<bool>(),
    ) {
        let mut bytes = SEEDS[seed].as_bytes().to_vec();
        if doubled {
            bytes.extend_from_within(..);
        }
        for (index, action, byte) in edits {
            let at = index.index(bytes.len().max(1)).min(bytes.len());
            match action {
                0 if at < bytes.len() => { bytes.remove(at); }
                1 => bytes.truncate(at.max(1)),
                2 => bytes.splice(at..at, std::iter::repeat_n(byte, 3)).for_each(drop),
                _ => bytes.insert(at, byte),
            }
        }
        for kind in KINDS {
            read(kind, &bytes, None);
            read(kind, &bytes, Some("https://a.test/b/"));
        }
    }
}
