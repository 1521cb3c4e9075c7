//! Site rules: cases that neither the vectors nor docs/site-rules.md have.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use urldb_canon::rules::{
    DomainScript, MatchResult, Namespace, RuleRef, ScriptFile, SiteRules, UrlPart, ValueSource,
    VariableRole, WebsiteScript, registrable_domain,
};

/// A set with a script for `example.org`, and one for the website `www.example.org`.
fn rules(domain: &str, website: &str) -> SiteRules {
    let mut rules = SiteRules::new();
    if !domain.is_empty() {
        let compiled = DomainScript::compile(domain);
        rules.insert_domain("example.org", compiled.script.expect(domain));
    }
    if !website.is_empty() {
        let compiled = WebsiteScript::compile(website);
        rules.insert_website("www.example.org", compiled.script.expect(website));
    }
    rules
}

/// Page, official URL and record, or the error instead of each.
fn outcome(rules: &SiteRules, url: &str) -> [String; 3] {
    match rules.resolve(url) {
        Err(failure) => [failure.code().to_owned(), String::new(), String::new()],
        Ok(found) => [
            format!("{}{}", found.website, found.page),
            found.official.unwrap_or_else(|e| e.to_string()),
            match found.record {
                Ok(record) => record.to_string(),
                Err(failure) => failure.code().to_owned(),
            },
        ],
    }
}

/// Checks the page and official path of paths of `www.example.org` under `script`.
#[track_caller]
fn paths(script: &str, table: &[(&str, &str, &str)]) {
    let rules = rules("", script);
    for (url, page, official) in table {
        let [found_page, found_official, _] =
            outcome(&rules, &format!("http://www.example.org{url}"));
        let host = "http://www.example.org";
        let short = |text: &str| text.trim_start_matches(host).to_owned();
        assert_eq!(
            found_page.trim_start_matches("www.example.org"),
            *page,
            "{url}"
        );
        assert_eq!(short(&found_official), *official, "{url}");
    }
}

#[test]
fn a_flag_ends_with_its_segment() {
    paths(
        "a { optional canonalize::lang = flag('(en|english|fr)'); };",
        &[
            ("/en", "/", "/en/"),
            ("/en/", "/", "/en/"),
            ("/en/x", "/x", "/en/x"),
            ("/en//x", "//x", "/en//x"),
            ("/english/x", "/x", "/english/x"),
            ("/enx", "/enx", "/enx"),
            ("/", "/", "/"),
            ("//en", "//en", "//en"),
        ],
    );
}

#[test]
fn a_position_that_was_empty_is_filled() {
    paths(
        "a { optional canonalize::lang = flag('(en|fr)'); query optional lang = flag('en|fr'); };",
        &[
            ("/x?lang=en", "/x", "/en/x"),
            ("/?lang=en", "/", "/en/"),
            ("//x?lang=en&b=1", "//x?b=1", "/en//x?b=1"),
        ],
    );
    paths(
        "a { optional lang = flag('(en|fr)/'); query optional canonalize::lang = flag('en|fr| '); };",
        &[
            ("/en/x?a=1", "/x?a=1", "/x?a=1&lang=en"),
            ("/x?lang=en&a=1", "/x?a=1", "/x?a=1&lang=en"),
            ("/x?lang=+", "/x", "/x?lang=%20"),
        ],
    );
}

#[test]
fn separators_are_added_where_they_are_missing() {
    let script = "a { required blog = 'blog'; required year = flag('[0-9]{4}'); };";
    paths(
        script,
        &[
            ("/blog2011/x", "/blog/x", ""),
            ("/blog/2011/x", "/blog/x", ""),
        ]
        .map(|(url, page, _)| (url, page, REQUIRED)),
    );
    let trace = rules("", script).explain("http://www.example.org/blog/2011/x");
    let tried = trace.website_rules.expect("a script");
    assert_eq!(tried[0].result, MatchResult::MatchedWithSeparators);
}

/// The rule refuses `/blog/x`, which lacks the year.
const REQUIRED: &str = "the rules rewrite the URL as `http://www.example.org/blog/x`, but refuse \
                        that URL (no rule of the website `www.example.org` matches the URL): \
                        change the rules";

#[test]
fn a_spelling_that_no_value_gives_is_kept() {
    paths(
        "a { optional canonalize::lang = flag('lang-(en|fr)/'); };",
        &[("/lang-en/x", "/x", "/lang-en/x")],
    );
}

#[test]
fn a_page_that_does_not_lead_back_is_no_record() {
    let replaced = rules("a { required www = website('snap\\.', 'www'); };", "");
    let [page, official, record] = outcome(&replaced, "http://snap.example.org/x");
    assert_eq!(page, "www.example.org/x");
    assert_eq!(
        official,
        "the rules rewrite the URL as `http://www.example.org/x`, but refuse that URL (no rule of \
         `example.org` matches the host `www.example.org`): change the rules"
    );
    assert_eq!(record, "rule-rejected");

    let inner = rules(
        "",
        "a { optional canonalize::lang = flag('(en|fr)/', 'de'); };",
    );
    let [page, official, record] = outcome(&inner, "http://www.example.org/en/x");
    assert_eq!(page, "www.example.org/x");
    assert_eq!(official, "http://www.example.org/en/x");
    assert_eq!(
        record, "rule-rejected",
        "the page's own official URL is `/de/x`"
    );

    // A value must not lead to another host.
    let escape = rules(
        "a { optional canonalize::lang = flag('(.*)\\.'); optional www = website('www\\.', 'www'); };",
        "a { query optional lang = flag('.*'); };",
    );
    let [_, official, record] = outcome(&escape, "http://www.example.org/x?lang=evil.com/");
    assert!(
        official.starts_with("the rules rewrite the URL as `http://evil.com/.www.example.org/x`")
    );
    assert_eq!(record, "rule-rejected");
}

#[test]
fn a_rule_can_make_no_host() {
    let rules = rules("a { optional a = website('x\\.', 'y..'); };", "");
    let failure = rules.resolve("http://x.example.org/").expect_err("refused");
    assert_eq!(failure.code(), "bad-website");
    assert_eq!(
        failure.to_string(),
        "the website `y..example.org` has an empty label: remove the extra dot"
    );
}

#[test]
fn a_website_stays_below_its_domain() {
    // `x` and `example.org` are not joined to `xexample.org`.
    let dashed = rules(
        "a { required a = '[a-z]+'; optional b = flag('-(en|fr)\\.'); };",
        "",
    );
    let [page, _, record] = outcome(&dashed, "http://x-en.example.org/y");
    assert_eq!(page, "x.example.org/y");
    assert_eq!(record, "http://x.example.org/y");
    let dropped = rules("a { optional a = website('t\\.', ''); };", "");
    assert_eq!(
        outcome(&dropped, "http://t.example.org/x")[0],
        "example.org/x"
    );
}

#[test]
fn long_urls_are_refused_where_there_are_rules() {
    let rules = rules("", "a { protocol = 'any'; };");
    let long = |host: &str| format!("http://{host}/{}", "x".repeat(8 << 10));
    let failure = rules
        .resolve(&long("www.example.org"))
        .expect_err("too long");
    assert_eq!(failure.code(), "url-too-long");
    assert!(rules.resolve(&long("example.org")).is_ok());
}

#[test]
fn a_slow_pattern_does_not_hang() {
    let rules = rules("", "a { required x = '(?:(?:a+)+b/?|[ab]*c)'; };");
    let url = format!("http://www.example.org/{}", "a".repeat(8000));
    assert_eq!(
        rules.resolve(&url).expect_err("no match").code(),
        "unknown-website"
    );
}

#[test]
fn a_trace_has_each_step() {
    let rules = rules(
        "first { required host = 'x\\.'; };\nmain {\n  optional version = flag('([0-9]\\.[0-9])\\.');\n  \
         optional www = website('w{1,4}\\.', 'www');\n};",
        "admin { port = '8080'; };\nsecure { protocol = 'https'; };\n\
         list { query required page = '[0-9]+'; };\nblog { required site = 'blog/'; };\n\
         main { optional canonalize::language = flag('(en|fr)/', 'en'); };",
    );
    let trace = rules.explain("http://ww.example.org/fr/x");
    let parts = trace.parts.as_ref().expect("a URL");
    assert_eq!((parts.host.as_str(), parts.port), ("ww.example.org", 80));
    assert_eq!(trace.domain.as_deref(), Some("example.org"));
    let tried = |tried: Option<Vec<_>>| -> Vec<(String, usize, MatchResult)> {
        let short = |tried: urldb_canon::rules::RuleAttempt| {
            let RuleRef { name, line } = tried.rule;
            assert!(!tried.lower_case);
            (name, line, tried.result)
        };
        tried.into_iter().flatten().map(short).collect()
    };
    assert_eq!(
        tried(trace.domain_rules),
        [
            ("first".into(), 1, MatchResult::Host),
            ("main".into(), 2, MatchResult::Matched)
        ]
    );
    assert_eq!(trace.website.as_deref(), Some("www.example.org"));
    assert_eq!(
        tried(trace.website_rules),
        [
            ("admin".into(), 1, MatchResult::Port),
            ("secure".into(), 2, MatchResult::Protocol),
            ("list".into(), 3, MatchResult::Query),
            ("blog".into(), 4, MatchResult::Path),
            ("main".into(), 5, MatchResult::Matched)
        ]
    );
    let [version, www, language] = &trace.variables[..] else {
        panic!("three variables: {:?}", trace.variables);
    };
    assert_eq!(
        (version.source.clone(), &version.value),
        (ValueSource::Unset, &None)
    );
    assert_eq!((version.line, version.namespace), (3, Namespace::Domain));
    assert_eq!(www.source, ValueSource::Matched("ww.".into()));
    assert_eq!(
        (www.role, www.part, www.value.as_deref()),
        (VariableRole::Website, UrlPart::Host, Some("www"))
    );
    assert_eq!(language.source, ValueSource::Matched("fr/".into()));
    assert_eq!(
        (language.role, language.part),
        (VariableRole::Flag, UrlPart::Path)
    );
    assert_eq!(language.namespace.as_str(), "canonalize");
    let found = trace.outcome.expect("a page");
    assert_eq!(found.page_url, "http://www.example.org/x");

    let trace = rules.explain("http://www.example.org/x");
    assert_eq!(trace.variables[2].source, ValueSource::Default);
    let trace = rules.explain("http://y.example.org/x");
    assert_eq!(trace.outcome.expect_err("refused").code(), "unknown-domain");
    assert!(trace.website.is_none() && trace.website_rules.is_none());
}

#[test]
fn the_example_of_the_specification() {
    let mut rules = SiteRules::new();
    let domain = DomainScript::compile(
        "main { optional language = flag('([a-z]{2})\\.'); optional version = \
         flag('([0-9]+\\.[0-9]+)\\.', '1.0'); optional www = website('w{1,4}\\.', 'www'); };",
    );
    rules.insert_domain("example.com", domain.script.expect("good"));
    let url = "http://en.3.5.example.com:8080/software/snap?page=1";
    let found = rules.resolve(url).expect("a page");
    assert_eq!(
        found.page_url,
        "http://www.example.com:8080/software/snap?page=1"
    );
    assert_eq!(found.options["language"], "en");
    assert_eq!(found.options["version"], "3.5");
    assert_eq!(found.record.expect("a record").host, "www.example.com+8080");
}

#[test]
fn names_of_files() {
    let domain = |name: &str| Some(ScriptFile::Domain(name.to_owned()));
    let website = |name: &str| Some(ScriptFile::Website(name.to_owned()));
    let table = [
        ("example.org.rules", domain("example.org")),
        ("example.co.uk.rules", domain("example.co.uk")),
        ("www.example.org.website.rules", website("www.example.org")),
        ("example.org.website.rules", website("example.org")),
        ("example.website.rules", domain("example.website")),
        (
            "www.example.website.website.rules",
            website("www.example.website"),
        ),
        ("localhost.rules", domain("localhost")),
        ("127.0.0.1.rules", domain("127.0.0.1")),
        ("www.example.org.rules", None),
        ("Example.org.rules", None),
        ("example.org.yaml", None),
        (".rules", None),
        (".website.rules", None),
    ];
    for (name, expected) in table {
        assert_eq!(ScriptFile::from_name(name), expected, "{name}");
    }
}

#[test]
fn registrable_domains() {
    let table = [
        ("www.data.example.org", "example.org"),
        ("a.example.co.uk", "example.co.uk"),
        ("me.github.io", "me.github.io"),
        ("github.io", "github.io"),
        ("a.b.internal", "b.internal"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("", ""),
    ];
    for (host, domain) in table {
        assert_eq!(registrable_domain(host), domain, "{host}");
    }
}

#[test]
fn a_rule_without_protocol_keeps_the_scheme() {
    let record = |script: &str| {
        let [_, official, record] = outcome(&rules("", script), "https://www.example.org/x?b=1");
        assert_eq!(official, record);
        record
    };
    assert_eq!(
        record("main { query optional b = \"[0-9]\"; };"),
        "https://www.example.org/x?b=1"
    );
    assert_eq!(
        record("main { protocol = \"any\"; query optional b = \"[0-9]\"; };"),
        "http://www.example.org/x?b=1"
    );
}

#[test]
fn declared_parameters_have_one_order() {
    let script = "main {
        query optional b = \"[0-9]\";
        query optional a = website(\"[0-9]\", \"0\");
        query optional sort = flag(\"[a-z]+\");
    };";
    let rules = rules("", script);
    let urls = [
        "?b=1&x=2&a=3&y=4",
        "?a=3&b=1&x=2&y=4",
        "?x=2&y=4&sort=name&a=3&b=1",
        "?x=2&b=1&y=4",
    ];
    for query in urls {
        let [_, _, record] = outcome(&rules, &format!("http://www.example.org/{query}"));
        assert_eq!(record, "http://www.example.org/?b=1&a=0&x=2&y=4", "{query}");
    }
}
