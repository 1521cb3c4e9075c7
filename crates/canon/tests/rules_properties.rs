//! Site rules: properties of all scripts and URLs.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use proptest::prelude::*;
use urldb_canon::identify;
use urldb_canon::rules::{DomainScript, SiteRules, WebsiteScript};
use urldb_text::Finding;

/// Text of which some parts look like a script.
fn scribble() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[ \\t\\r\\n]{0,3}",
        "[a-zA-Z_0-9]{1,4}",
        prop::sample::select(vec![
            "a {",
            "};",
            "}",
            ";",
            "=",
            "::",
            "(",
            ")",
            ",",
            "optional ",
            "required ",
            "path ",
            "query ",
            "protocol",
            "port",
            "namespace ",
            "canonalize",
            "website(",
            "flag(",
            "redirect(",
            "lower(",
            "lower",
            "parameters",
            "parameter(",
            "strict",
            "\"301\"",
            "\"",
            "'",
            "\\",
            "/*",
            "*/",
            "//",
            "\"(a|b)\\.\"",
            "'[a-z]+'",
            "\"\\u00e9\"",
            "\"\\x",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

/// A variable. From function 5 on it is a retired option.
fn variable(
    patterns: Vec<&'static str>,
    functions: std::ops::Range<i32>,
) -> impl Strategy<Value = String> {
    (
        prop::sample::select(vec!["optional", "optional", "required"]),
        prop::sample::select(vec!["", "", "canonalize::", "options::"]),
        prop::sample::select(vec!["lang", "ver", "site"]),
        prop::sample::select(patterns),
        prop::bool::weighted(0.2),
        functions,
    )
        .prop_map(|(mode, namespace, name, pattern, is_lower, function)| {
            let pattern = if is_lower {
                format!("lower('{pattern}')")
            } else {
                format!("'{pattern}'")
            };
            match function {
                5 => return format!("optional {name} = redirect({pattern}, '301');"),
                6 => return format!("optional options::{name} = redirect({pattern}, '302');"),
                _ => {}
            }
            let value = match function {
                0 => pattern,
                1 => format!("website({pattern}, 'www')"),
                2 => format!("flag({pattern}, 'en')"),
                _ => format!("flag({pattern})"),
            };
            format!("{mode} {namespace}{name} = {value};")
        })
}

fn domain_script() -> impl Strategy<Value = String> {
    let patterns = vec![
        r"w{1,4}\.",
        r"(en|fr)\.",
        r"([a-z][a-z])[-.]",
        r"[0-9]+\.[0-9]+\.",
        r"[a-z]+",
        r"(?:[a-z0-9]+\.)*",
        r".*",
    ];
    prop::collection::vec(prop::collection::vec(variable(patterns, 0..5), 1..4), 1..3)
        .prop_map(script)
}

fn website_script() -> impl Strategy<Value = String> {
    let patterns = || {
        vec![
            r"(en|fr)/",
            r"(en|fr)",
            r"lang-(en|fr)/",
            r"blog/?",
            r"[a-z]+",
            r"\./",
            r".*",
            r"",
            r"[^/]*/",
        ]
    };
    let item = prop_oneof![
        variable(patterns(), 0..7),
        variable(patterns(), 0..7).prop_map(|v| format!("query {v}")),
        prop::sample::select(vec![
            "protocol = 'https';",
            "protocol = 'any';",
            "port = '8080';",
            "parameters = strict;",
            "parameters = redirect('302');",
            "parameters = lower;",
            "path = lower;",
            "path = parameter('q');",
            "path = parameter('site');",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(prop::collection::vec(item, 1..4), 1..3).prop_map(script)
}

fn script(rules: Vec<Vec<String>>) -> String {
    let rule =
        |(index, items): (usize, Vec<String>)| format!("r{index} {{ {} }};\n", items.concat());
    rules.into_iter().enumerate().map(rule).collect()
}

fn url() -> impl Strategy<Value = String> {
    let label = prop::sample::select(vec!["en.", "fr.", "www.", "w.", "3.5.", "x.", "en-"]);
    let segment = prop::sample::select(vec![
        "en", "EN", "fr", "blog", "Blog", "x", ".", "lang-en", "%C3%A9", "",
    ]);
    let argument = prop::sample::select(vec![
        "q=en/x",
        "q=%2FBlog/%3Fx%2541",
        "Q=fr%2fen/",
        "q=/",
        "q=../x",
        "q=//%ff%5c+x",
        "lang=EN",
        "Site=Www",
        "lang=en",
        "LANG=fr",
        "lang",
        "site=",
        "site=www",
        "ver=a%2Fb",
        "a=1",
        "",
        "ver=.",
    ]);
    (
        prop::sample::select(vec!["http", "https"]),
        prop::collection::vec(label, 0..4),
        prop::sample::select(vec!["", ":8080", ":443"]),
        prop::collection::vec(segment, 0..5),
        prop::collection::vec(argument, 0..4),
    )
        .prop_map(|(scheme, labels, port, segments, arguments)| {
            let query = if arguments.is_empty() { "" } else { "?" };
            format!(
                "{scheme}://{}example.org{port}/{}{query}{}",
                labels.concat(),
                segments.join("/"),
                arguments.join("&")
            )
        })
}

/// Items of a rule that go together.
const PROPERTIES: [&str; 9] = [
    "path optional old = redirect('(?:x|blog)/', '302');",
    "path optional lang = flag(lower('(en|fr)/'));",
    "query optional site = redirect('.*', '301');",
    "query optional ver = lower('.*');",
    "parameters = redirect('301');",
    "parameters = lower;",
    "path = lower;",
    "path = parameter('q');",
    "protocol = 'any';",
];

/// A set with both scripts, as far as they compile; the second one is for many websites.
fn rules(domain: &str, website: &str) -> SiteRules {
    let mut rules = SiteRules::new();
    if let Some(script) = DomainScript::compile(domain).script {
        rules.insert_domain("example.org", script);
    }
    if let Some(script) = WebsiteScript::compile(website).script {
        for labels in ["", "www.", "www.www.", "x.", "x.www.", "en.", "fr."] {
            rules.insert_website(&format!("{labels}example.org"), script.clone());
        }
    }
    rules
}

/// Findings point into the text of the script.
fn check_places(source: &str, findings: &[Finding]) {
    let unix = source.replace("\r\n", "\n").replace('\r', "\n");
    for finding in findings {
        let excerpt = finding.excerpt.as_ref().expect("an excerpt");
        let line = unix.split('\n').nth(finding.line - 1);
        let length = line.expect("a line of the script").chars().count();
        // A missing token is reported one column after the line.
        assert!(finding.column <= length + 1, "{finding:?}");
        assert!(
            excerpt.length == 1 || finding.column + excerpt.length <= length + 1,
            "{finding:?}"
        );
        let [text, carets] = excerpt.lines();
        assert!(
            !text.contains(['\r', '\n']) && carets.ends_with('^'),
            "{finding:?}"
        );
    }
}

proptest! {
    #[test]
    fn no_script_panics(source in scribble()) {
        check_places(&source, &DomainScript::compile(&source).findings);
        check_places(&source, &WebsiteScript::compile(&source).findings);
    }

    #[test]
    fn a_page_is_its_own_page(
        domain in domain_script(), website in website_script(), url in url()
    ) {
        let rules = rules(&domain, &website);
        if let Ok(found) = rules.resolve(&url) {
            if let Ok(official) = &found.official {
                let again = rules.resolve(official).expect("the official URL is admitted");
                prop_assert_eq!(&again.website, &found.website);
                prop_assert_eq!(&again.page, &found.page);
                prop_assert_eq!(again.official.as_ref(), Ok(official));
            }
            if let Ok(record) = &found.record {
                let again = rules.resolve(&record.to_string()).expect("the record is admitted");
                prop_assert_eq!(again.record.as_ref(), Ok(record));
                prop_assert_eq!(&again.redirect, &found.redirect);
                prop_assert_eq!(urldb_canon::host_of(&record.host), &found.website);
                prop_assert_eq!(record.path == found.page, found.redirect.is_none());
                let page = rules.resolve(&found.page_url).expect("the page is admitted");
                prop_assert_eq!(&page.redirect, &None);
                let page_record = page.record.expect("the page is a record");
                prop_assert_eq!(page_record.to_string(), found.page_url);
            }
        }
    }

    #[test]
    fn a_redirect_leads_from_its_record_to_the_page(
        items in prop::sample::subsequence(PROPERTIES.to_vec(), 0..PROPERTIES.len()), url in url()
    ) {
        let rules = rules("", &script(vec![items.into_iter().map(str::to_owned).collect()]));
        let Ok(found) = rules.resolve(&url) else { return Ok(()) };
        let Ok(record) = found.record else { return Ok(()) };
        let again = rules.resolve(&record.to_string()).expect("the record is admitted");
        prop_assert_eq!(again.record.as_ref(), Ok(&record));
        prop_assert_eq!((&again.redirect, &again.page_url), (&found.redirect, &found.page_url));
        prop_assert_eq!(record.path == found.page, found.redirect.is_none());
        let page = rules.resolve(&found.page_url).expect("the page is admitted");
        prop_assert_eq!(page.redirect, None);
        let [own, official] = [page.official, found.official].map(|url| url.expect("an official URL"));
        prop_assert!(own == official || found.options != page.options, "{} {}", own, official);
        prop_assert_eq!(page.record.map(|record| record.to_string()), Ok(found.page_url));
    }

    #[test]
    fn any_url_has_an_answer(
        domain in domain_script(), website in website_script(), url in "\\PC{0,40}"
    ) {
        let rules = rules(&domain, &website);
        let _ = rules.resolve(&url);
        let _ = rules.resolve(&format!("http://www.example.org/{url}"));
        let _ = rules.resolve(&format!("http://{url}.example.org/"));
    }

    #[test]
    fn without_rules_the_identity_decides(url in prop_oneof![url(), "http://\\PC{0,20}"]) {
        let record = SiteRules::new().resolve(&url).map_err(|failure| failure.to_string());
        let identity = identify(&url);
        match (record, &identity) {
            (Ok(found), Ok(identity)) => {
                prop_assert_eq!(found.record.as_ref(), Ok(identity));
                prop_assert_eq!(found.official, Ok(identity.to_string()));
            }
            (Ok(_), Err(error)) => prop_assert_eq!(error.code(), "port"),
            (found, identity) => prop_assert_eq!(
                found.map(|found| found.page_url),
                Err(identity.clone().expect_err("refused").to_string())
            ),
        }
    }
}
