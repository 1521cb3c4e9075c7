//! The links of documents.

use std::path::Path;

use urldb_interchange::documents::{
    self, DocumentKind, DocumentOptions, MAX_DOCUMENT, MAX_MARKDOWN, kind_of, lychee,
};
use urldb_interchange::{NoticeSeverity, Position};

use crate::common::Taken;

const ALONE: DocumentOptions<'_> = DocumentOptions {
    base: None,
    path: "pages/a.md",
    is_local: &|_| false,
};

fn links(kind: DocumentKind, bytes: &[u8], options: &DocumentOptions<'_>) -> Taken {
    Taken::of(|sink| documents::read(bytes, kind, &"d".into(), options, sink))
}

/// Line and URL of each item.
fn lines(taken: &Taken) -> Vec<String> {
    let items = taken.items.iter();
    items
        .map(|item| match item.location.at {
            Position::Line(line) => format!("{line} {}", item.url().unwrap()),
            Position::Byte(byte) => panic!("byte {byte}"),
        })
        .collect()
}

/// Location, code and number of each notice.
fn counts(taken: &Taken) -> Vec<String> {
    assert!(taken.refused().is_empty(), "{:?}", taken.refused());
    let notices = taken.notices.iter();
    notices
        .map(|notice| {
            let number = notice.message.split(' ').next().unwrap();
            format!("{} {} {number}", notice.location, notice.code)
        })
        .collect()
}

fn markdown(text: &str) -> Taken {
    links(DocumentKind::Markdown, text.as_bytes(), &ALONE)
}

fn html(text: &str) -> Taken {
    links(DocumentKind::Html, text.as_bytes(), &ALONE)
}

#[test]
fn the_extension_decides() {
    for (name, kind) in [
        ("a/README.MD", Some(DocumentKind::Markdown)),
        ("a.markdown", Some(DocumentKind::Markdown)),
        ("a.htm", Some(DocumentKind::Html)),
        ("a.html", Some(DocumentKind::Html)),
        ("a.bib", Some(DocumentKind::Bibtex)),
        ("a.ipynb", Some(DocumentKind::Notebook)),
        ("a.csl.json", Some(DocumentKind::CslJson)),
        ("a.json", None),
        ("md", None),
        ("a.txt", None),
    ] {
        assert_eq!(kind_of(Path::new(name)), kind, "{name}");
    }
}

#[test]
fn markdown_has_each_kind_of_link() {
    let taken = markdown(
        "[a](https://a.test/1 \"t\") and ![b](<https://a.test/2>)\n\
         <https://a.test/3>, bare https://a.test/4_x_y?a=1&amp;b=2.\n\
         (https://a.test/5) www.a.test/6 **https://a.test/7**\n\
         \n\
         [used][r] and [r] and [R][]\n\
         \n\
         [r]: https://a.test/8\n\
         [unused]: //a.test/9#part\n\
         \n\
         <a href=\"https://a.test/10\">text</a>\n\
         \n\
         <div>\n\
         <img src='https://a.test/11'>\n\
         </div>\n\
         \n\
         | x |\n\
         |---|\n\
         | https://a.test/12 |\n\
         \n\
         note[^1]\n\
         \n\
         [^1]: https://a.test/13\n\
         [![i](https://a.test/14)](https://a.test/15)\n\
         [https://b.test/](https://a.test/16)\n\
         > https://a.test/17\n\
         > https://a.test/17\n",
    );
    let mut found = lines(&taken);
    found.sort_by_key(|it| it.split(' ').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(
        found,
        [
            "1 https://a.test/1",
            "1 https://a.test/2",
            "2 https://a.test/3",
            "2 https://a.test/4_x_y?a=1&b=2",
            "3 https://a.test/5",
            "3 http://www.a.test/6",
            "3 https://a.test/7",
            "7 https://a.test/8",
            "8 https://a.test/9",
            "10 https://a.test/10",
            "13 https://a.test/11",
            "18 https://a.test/12",
            "22 https://a.test/13",
            "23 https://a.test/15",
            "23 https://a.test/14",
            "24 https://a.test/16",
            "25 https://a.test/17",
            "26 https://a.test/17",
        ]
    );
    assert_eq!(counts(&taken), Vec::<String>::new());
}

#[test]
fn bare_urls_end_as_those_of_github_do() {
    // As `cmark-gfm` 0.29.0.gfm.13 links them. An empty text: no link.
    for (text, wanted) in [
        (
            "https://a.test/pkg/__init__.py x",
            &["https://a.test/pkg/__init__.py"][..],
        ),
        (
            "https://a.test/Foo_(bar)_-_baz",
            &["https://a.test/Foo_(bar)_-_baz"],
        ),
        ("https://a.test/a*b*c", &["https://a.test/a*b*c"]),
        ("*https://a.test/a*b", &["https://a.test/a*b"]),
        ("https://a.test/~~u~~ ~~x~~", &["https://a.test/~~u"]),
        ("**https://a.test/x**", &["https://a.test/x"]),
        ("_https://a.test/_", &["https://a.test/"]),
        ("~~https://a.test/x~~", &["https://a.test/x"]),
        (
            "(https://a.test/x) (see https://a.test/(y))",
            &["https://a.test/x", "https://a.test/(y)"],
        ),
        ("https://a.test/x?!.,:*_~'\"", &["https://a.test/x"]),
        (
            "https://a.test/x&copy; https://a.test/x;y; \"https://a.test/z\"",
            &["https://a.test/x", "https://a.test/x;y", "https://a.test/z"],
        ),
        ("https://a.test/<b>x</b>", &["https://a.test/"]),
        (
            "https://a.test/`b c` https://x.test/",
            &["https://a.test/%60b", "https://x.test/"],
        ),
        (
            "https://a.test/`b ` https://x.test/ ` c",
            &["https://a.test/%60b"],
        ),
        (
            "https://a.test/[x](http://b.test/y) z",
            &["https://a.test/[x](http://b.test/y)"],
        ),
        (
            "https://a.test/#[x] https://b.test/",
            &["https://a.test/", "https://b.test/"],
        ),
        (
            "www.a.test *www.b.test Www.c.test xwww.d.test www.e",
            &["http://www.a.test/", "http://www.b.test/", "http://www.e/"],
        ),
        ("</b>www.a.test\nwww.b.test", &["http://www.b.test/"]),
        (
            "xhttps://a.test/ HTTPS://A.test/ https:// https://?x",
            &["https://a.test/"],
        ),
        (
            "https://a_b.test/ https://a.b_c/ https://a_b.c.test/ https://localhost/x",
            &["https://a_b.c.test/", "https://localhost/x"],
        ),
        (
            "| a |\n|--|\n| https://a.test/a\\|b_c_d |",
            &["https://a.test/a%7Cb_c_d"],
        ),
        (
            "> https://a.test/_x_\n> https://a.test/_y_z",
            &["https://a.test/_x", "https://a.test/_y_z"],
        ),
        (
            "https://a.test/\u{3002}x https://a.test/\u{e9}_\u{e9}_",
            &["https://a.test/%E3%80%82x", "https://a.test/%C3%A9_%C3%A9"],
        ),
        (
            "https://a.test/a\n_b_ https://a.test/c",
            &["https://a.test/a", "https://a.test/c"],
        ),
        (
            "# https://a.test/__x__ #\n- https://a.test/__y__z\n",
            &["https://a.test/__x", "https://a.test/__y__z"],
        ),
        // Another than GitHub: brackets that are no link end a URL, and `&amp;` is `&`.
        (
            "[see https://a.test/_x_y] [https://a.test/z]",
            &["https://a.test/_x_y", "https://a.test/z"],
        ),
        (
            "[ https://a.test/x_[b](https://b.test/)",
            &["https://a.test/x", "https://b.test/"],
        ),
        ("https://a.test/?a=1&amp;b=2", &["https://a.test/?a=1&b=2"]),
    ] {
        let taken = markdown(text);
        assert_eq!(taken.urls(), wanted, "{text}");
    }
}

#[test]
fn white_space_of_unicode_ends_a_bare_url() {
    let blanks = (0..=0xffff).filter_map(char::from_u32);
    let blanks: Vec<char> = blanks.filter(|char| char.is_whitespace()).collect();
    assert!(blanks.len() > 20);
    let without_width = ['\u{180e}', '\u{200b}', '\u{2060}', '\u{feff}'];
    for blank in blanks.into_iter().chain(without_width) {
        if ('\u{b}'..='\u{c}').contains(&blank) {
            continue;
        }
        let taken = markdown(&format!("x https://a.test/x_y{blank}z www.b.test{blank}"));
        assert_eq!(
            taken.urls(),
            ["https://a.test/x_y", "http://www.b.test/"],
            "{blank:?}"
        );
    }
    // A control character does not end it.
    let taken = markdown("x https://a.test/x\u{7}y");
    assert_eq!(taken.urls(), [""; 0]);
    assert_eq!(taken.refused(), ["d:1 control-character"]);
}

#[test]
fn templates_with_blanks_are_templates() {
    for template in [
        "{{ version }}",
        "{{version}}",
        "{{ page.url | absolute_url }}",
        "{% url 'x' %}",
        "${ V }",
        "${V}",
        "<%= v %>",
        "<% v %>",
        "{{ a_b_c }}",
        "{{ `x` }}",
    ] {
        for text in [
            format!("https://a.test/v{template}/x"),
            format!("https://a.test/{template}"),
            format!("https://{template}/x"),
            format!("(https://a.test/v{template}/x)"),
            format!("[a](https://a.test/v{template}/x)"),
            format!("[a]: https://a.test/v{template}/x"),
            format!("<https://a.test/v{template}/x>"),
            format!("<a href=\"https://a.test/v{template}/x\">x</a>"),
        ] {
            let taken = markdown(&format!("{text}\n\nhttps://b.test/\n"));
            let is_attribute = text.starts_with("<a ");
            if !is_attribute || !template.contains('`') {
                assert_eq!(taken.urls(), ["https://b.test/"], "{text}");
                assert_eq!(counts(&taken), ["d:1 template 1"], "{text}");
            }
        }
        let taken = html(&format!("<a href=\"https://a.test/v{template}/x\">"));
        assert_eq!(taken.urls(), [""; 0]);
        assert_eq!(counts(&taken), ["d:1 template 1"], "{template}");
    }
    // Without an end there is no template; the URL is not asked all the same.
    let taken = markdown("https://a.test/{{ x\nhttps://b.test/");
    assert_eq!(taken.urls(), ["https://b.test/"]);
}

#[test]
fn front_matter_is_no_text() {
    for (text, wanted) in [
        (
            "---\nurl: https://a.test/1\n---\nhttps://a.test/2\n",
            &["4 https://a.test/2"][..],
        ),
        (
            "\u{feff}---\r\n# x\r\nurl: https://a.test/1\r\n...\r\nhttps://a.test/2\r\n",
            &["5 https://a.test/2"],
        ),
        (
            "+++\nurl = \"https://a.test/1\"\n+++\nhttps://a.test/2\n",
            &["4 https://a.test/2"],
        ),
        ("---\n---\nhttps://a.test/2\n", &["3 https://a.test/2"]),
        // No front matter: prose between two lines, no end, not at the start.
        (
            "---\nhello https://a.test/1\n\n---\nhttps://a.test/2\n",
            &["2 https://a.test/1", "5 https://a.test/2"],
        ),
        ("---\nurl: https://a.test/1\n", &["2 https://a.test/1"]),
        (
            "x\n\n---\nurl: https://a.test/1\n---\n",
            &["4 https://a.test/1"],
        ),
        (
            "--- x\nurl: https://a.test/1\n---\n",
            &["2 https://a.test/1"],
        ),
    ] {
        assert_eq!(lines(&markdown(text)), wanted, "{text}");
    }
}

#[test]
fn code_and_comments_have_no_links() {
    let taken = markdown(
        "`https://a.test/1` ``[x](https://a.test/2)``\n\n    https://a.test/3\n\n```\nhttps://a.test/4\n```\n\n\
         <!-- https://a.test/5 <a href=https://a.test/6> -->\n\n<code>https://a.test/7</code> \\[x](/y)\n",
    );
    assert_eq!(taken.urls(), Vec::<String>::new());
    assert_eq!(counts(&taken), Vec::<String>::new());
}

#[test]
fn other_references_are_counted_by_kind() {
    let taken = markdown(
        "[a](b.md) [a](#part) [a]()\n[m](mailto:a@a.test) <a@a.test>\n[t](tel:+1)\n[d](data:text/plain,x)\n\
         [j](JavaScript:x)\n[p](https://a.test:80/) [f](ftp://a.test/) [u](https://u:p@a.test/)\n\
         [v](https://a.test/${x}) [v](https://a.test/{{x}})\n[l](https://a.test/\u{fffd})\n",
    );
    assert_eq!(taken.urls(), Vec::<String>::new());
    assert_eq!(
        counts(&taken),
        [
            "d:4 data 1",
            "d:8 encoding 1",
            "d:5 javascript 1",
            "d:2 mailto 2",
            "d:6 port 1",
            "d:1 relative 3",
            "d:6 scheme 1",
            "d:3 tel 1",
            "d:7 template 2",
            "d:6 userinfo 1",
        ]
    );
}

#[test]
fn relative_references_resolve_against_the_base_and_the_path() {
    let options = DocumentOptions {
        base: Some("https://a.test/site/"),
        path: "pages/a#b.md",
        is_local: &|path| ["pages/there.md", "pages/a#b.md", "x y", "folder/"].contains(&path),
    };
    let text = "[a](there.md#part) [b](away.md?q#part) [c](../x%20y) [d](/site/folder/) [e](/other) [f](#part) [g](../../up)";
    let taken = links(DocumentKind::Markdown, text.as_bytes(), &options);
    assert_eq!(
        taken.urls(),
        [
            "https://a.test/site/pages/away.md?q",
            "https://a.test/other",
            "https://a.test/up",
        ]
    );
    assert_eq!(counts(&taken), ["d:1 local 4"]);
}

#[test]
fn html_has_links_in_attributes() {
    let taken = html(
        "<!DOCTYPE html><base><base href='https://b.test/x/'>\n<a href=one>\n<link rel='x PRECONNECT' href=https://a.test/no><link href='https://a.test/1 '>\r\n\
         <img src=//a.test/2 srcset='https://a.test/3 1x, https://a.test/4,https://a.test/5,\n https://a.test/6'>\n\
         <video poster=https://a.test/7 src=https://a.test/8></video><object data=https://a.test/9></object>\n\
         <q cite=https://a.test/10><meta content='0;URL = \"https://a.test/11\"' http-equiv=Refresh>\n\
         <svg><use xlink:href=https://a.test/12 /></svg><A HREF='https://a.test/13?a&amp;b' href=https://a.test/no>\n\
         <form action=https://a.test/no><a ping=https://a.test/no><p style='background:url(https://a.test/no)'>https://a.test/no\n\
         <!-- <a href=https://a.test/no> --><script>'<a href=\"https://a.test/no\">'</script>\n\
         <meta content='0; url=https://a.test/no'><a href=\"https:\n//a.test/14\">\n</a href=https://a.test/no><a href=https://a.test/no",
    );
    assert_eq!(
        lines(&taken),
        [
            "2 https://b.test/x/one",
            "3 https://a.test/1",
            "4 https://a.test/2",
            "4 https://a.test/3",
            "4 https://a.test/4,https://a.test/5",
            "4 https://a.test/6",
            "6 https://a.test/7",
            "6 https://a.test/8",
            "6 https://a.test/9",
            "7 https://a.test/10",
            "7 https://a.test/11",
            "8 https://a.test/12",
            "8 https://a.test/13?a&b",
            "11 https://a.test/14",
        ]
    );
    assert_eq!(counts(&taken), Vec::<String>::new());
}

#[test]
fn bibliographies_have_urls_dois_and_eprints() {
    let text = "% @book{no, url={https://a.test/no}}\n@string{base = \"https://a.test/\"}\n@article{a,\n url = {https://a.test/a\\_b\\%20c\\&d},\n DOI = {10.1/(x)<y>},\n\
        eprint = {2101.00001v2},\n}\n@misc{b, url = base # {2},\n note = {See \\url{https://a.test/3} and \\href{https://a.test/4}{it {\\em b}}, \\\\url{https://a.test/no}},\n\
        howpublished = \"\\url{https://a.test/{5}}\", title={https://a.test/no}}\n@broken{c, url = \n@misc{d, eprint={1}, archiveprefix={other}, doi={https://doi.org/10.1/z}}\nmail a@b.test\n\
        @misc{e, abstract={\n@ home}, eprint={hep-th/9901001}, eprinttype={arXiv}}\n";
    let taken = links(DocumentKind::Bibtex, text.as_bytes(), &ALONE);
    assert_eq!(
        lines(&taken),
        [
            "4 https://a.test/a_b%20c&d",
            "5 https://doi.org/10.1/(x)%3Cy%3E",
            "6 https://arxiv.org/abs/2101.00001v2",
            "8 https://a.test/2",
            "9 https://a.test/3",
            "9 https://a.test/4",
            "10 https://a.test/5",
            "12 https://doi.org/10.1/z",
            "15 https://arxiv.org/abs/hep-th/9901001",
        ]
    );
    assert_eq!(counts(&taken), ["d:11 bad-entry 1"]);
}

#[test]
fn two_urls_of_one_field_are_never_joined() {
    for (field, wanted) in [
        (
            "url = {https://a.test/1 https://a.test/2}",
            &["https://a.test/1", "https://a.test/2"][..],
        ),
        (
            "url = {https://a.test/1, https://a.test/2}",
            &["https://a.test/1", "https://a.test/2"],
        ),
        (
            "url = {https://a.test/1;https://a.test/2}",
            &["https://a.test/1", "https://a.test/2"],
        ),
        (
            "url = {https://a.test/1\n  HTTP://a.test/2}",
            &["https://a.test/1", "http://a.test/2"],
        ),
        (
            "url = {{https://a.test/1}{https://a.test/2}}",
            &["https://a.test/1", "https://a.test/2"],
        ),
        (
            "url = {https://a.test/1 and https://a.test/2}",
            &["https://a.test/1", "https://a.test/2"],
        ),
        (
            "url = {https://a.test/1 \\& https://a.test/2}",
            &["https://a.test/1", "https://a.test/2"],
        ),
        (
            "url = {https://a.test/1 \\\\ https://a.test/2}",
            &["https://a.test/1", "https://a.test/2"],
        ),
        (
            "url = {https://a.test/1 (https://a.test/2)}",
            &["https://a.test/1", "https://a.test/2"],
        ),
        (
            "url = {<https://a.test/1> <https://a.test/2>}",
            &["https://a.test/1", "https://a.test/2"],
        ),
        (
            "url = {\\url{https://a.test/1} \\url{https://a.test/2 https://a.test/3}}",
            &["https://a.test/1", "https://a.test/2", "https://a.test/3"],
        ),
        (
            "note = {\\url{https://a.test/1 https://a.test/2}}",
            &["https://a.test/1", "https://a.test/2"],
        ),
        (
            "doi = {10.1000/1, 10.1000/2}",
            &["https://doi.org/10.1000/1", "https://doi.org/10.1000/2"],
        ),
        (
            "doi = {10.1000/1 https://doi.org/10.1000/2}",
            &["https://doi.org/10.1000/1", "https://doi.org/10.1000/2"],
        ),
        (
            "eprint = {2101.00001, 2101.00002}",
            &[
                "https://arxiv.org/abs/2101.00001",
                "https://arxiv.org/abs/2101.00002",
            ],
        ),
        // One URL: in two lines, and inside of another.
        ("url = {https://a.test/\n  1}", &["https://a.test/1"]),
        (
            "url = {https://a.test/web/https://b.test/?u=https://c.test/}",
            &["https://a.test/web/https://b.test/?u=https://c.test/"],
        ),
        ("url = {https://a.test/a_(b)}", &["https://a.test/a_(b)"]),
        (
            "doi = {10.1002/(SICI)1097-4636(199823)43:3<338::AID>3.0.CO;2-B}",
            &["https://doi.org/10.1002/(SICI)1097-4636(199823)43:3%3C338::AID%3E3.0.CO;2-B"],
        ),
    ] {
        let text = format!("@misc{{a,\n{field}}}\n");
        let taken = links(DocumentKind::Bibtex, text.as_bytes(), &ALONE);
        assert_eq!(taken.urls(), wanted, "{field}");
        assert_eq!(counts(&taken), [""; 0], "{field}");
    }
    // Words are between them.
    let text = "@misc{a, url = {https://a.test/1 as of 2020, https://a.test/2}}";
    let taken = links(DocumentKind::Bibtex, text.as_bytes(), &ALONE);
    assert_eq!(taken.urls(), ["https://a.test/2"]);
    assert_eq!(counts(&taken), ["d:1 several-urls 1"]);
    let text = r#"[{"URL": "https://a.test/1 https://a.test/2"}, {"DOI": "10.1000/1; 10.1000/2"}, {"URL": "https://a.test/a b"}]"#;
    let taken = links(DocumentKind::CslJson, text.as_bytes(), &ALONE);
    assert_eq!(
        taken.urls(),
        [
            "https://a.test/1",
            "https://a.test/2",
            "https://doi.org/10.1000/1",
            "https://doi.org/10.1000/2",
            "https://a.test/a%20b"
        ]
    );
}

#[test]
fn csl_json_has_urls_and_dois() {
    let text = "[{\"id\":1,\n\"URL\":\"https://a.test/1\",\n\"DOI\":\"10.1/x\"},\n{\"URL\":null,\"note\":{\"URL\":\"https://a.test/no\"}},{\"DOI\":\"doi:10.1/y\"}]";
    let taken = links(DocumentKind::CslJson, text.as_bytes(), &ALONE);
    assert_eq!(
        lines(&taken),
        [
            "2 https://a.test/1",
            "3 https://doi.org/10.1/x",
            "4 https://doi.org/10.1/y"
        ]
    );
}

#[test]
fn notebooks_have_links_in_markdown_cells() {
    let text = "{\"cells\": [\n{\"cell_type\": \"code\", \"source\": \"https://a.test/no\", \"outputs\": [{\"source\": \"https://a.test/no\"}]},\n\
        {\"source\": [\n\"[a](https://a.test/1)\\n\",\n\"`x` https://a.test/2\\n\",\n\"https://a.te\",\n\"st/3\"\n], \"cell_type\": \"markdown\"},\n\
        {\"cell_type\": \"markdown\", \"source\": \"x\\n\\nhttps://a.test/4\"}], \"nbformat\": 4}";
    let taken = links(DocumentKind::Notebook, text.as_bytes(), &ALONE);
    assert_eq!(
        lines(&taken),
        [
            "4 https://a.test/1",
            "5 https://a.test/2",
            "6 https://a.test/3",
            "9 https://a.test/4"
        ]
    );
}

#[test]
fn broken_and_large_documents_are_refused() {
    for (kind, bytes, refusal) in [
        (
            DocumentKind::Notebook,
            &b"{\"cells\": [\n{]"[..],
            "d:2 bad-json",
        ),
        (DocumentKind::Notebook, b"[]", "d:1 bad-json"),
        (DocumentKind::CslJson, b"[{}]\nx", "d:2 bad-json"),
        (DocumentKind::CslJson, b"\xff", "d:1 bad-json"),
        (DocumentKind::Html, b"\xff\xfe<", "d:1 encoding"),
        (
            DocumentKind::Markdown,
            &vec![b'x'; MAX_MARKDOWN + 1],
            "d:1 too-large",
        ),
        (
            DocumentKind::Html,
            &vec![b'x'; MAX_DOCUMENT + 1],
            "d:1 too-large",
        ),
    ] {
        assert_eq!(links(kind, bytes, &ALONE).refused(), [refusal]);
    }
}

#[test]
fn lychee_dumps_have_sources_or_none() {
    let text = "https://a.test/1 (pages/a (1).md)\nhttps://a.test/2\nmailto:a@a.test (x)\n\nhttps://a.test/3 (x) [excluded]\nfile:///x (y)\n";
    let taken = Taken::of(|sink| lychee::read(text.as_bytes(), &"d".into(), sink));
    assert_eq!(lines(&taken), ["1 https://a.test/1", "2 https://a.test/2"]);
    assert_eq!(
        taken.codes(NoticeSeverity::LeftOut),
        ["d:5 excluded", "d:6 local", "d:3 mailto"]
    );
}
