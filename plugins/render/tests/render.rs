//! Data, filters and rendering.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use urldb_protocol::{Envelope, Reason};
use urldb_render::{Renderer, one_line, shorten, template_data};

fn envelope() -> Envelope {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/envelope.example.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// What `template` prints of the example.
fn print(template: &str) -> String {
    let renderer = Renderer::new([("test.txt", template.to_owned())]).unwrap();
    renderer
        .render("test.txt", &template_data(&envelope()))
        .unwrap()
}

#[test]
fn filters_say_it_in_words() {
    for (expression, words) in [
        ("0|number", "0"),
        ("999|number", "999"),
        ("1000|number", "1,000"),
        ("18446744073709551615|number", "18,446,744,073,709,551,615"),
        ("1|plural('URL')", "1 URL"),
        ("0|plural('URL')", "0 URLs"),
        ("2000|plural('entry', 'entries')", "2,000 entries"),
        ("1|bytes", "1 B"),
        ("999|bytes", "999 B"),
        ("1000|bytes", "1.00 kB"),
        ("1999999|bytes", "1.99 MB"),
        ("18446744073709551615|bytes", "18.4 EB"),
        ("12|duration", "0.0 s"),
        ("1250|duration", "1 s"),
        ("723000|duration", "12 min 3 s"),
        ("3599999|duration", "59 min 59 s"),
        ("7260000|duration", "2 h 1 min"),
        (
            "'https://a.test/b/c/'|breakable",
            "https://a.test/<wbr>b/<wbr>c/",
        ),
        ("'/b/c.csv é<'|breakable", "/b/<wbr>c.csv é&lt;"),
        ("'/'|breakable", "/"),
        (
            "'urldb check <x>'|command",
            "<span style=\"white-space:nowrap\">urldb</span> \
             <span style=\"white-space:nowrap\">check</span> \
             <span style=\"white-space:nowrap\">&lt;x&gt;</span>",
        ),
        ("run.finished|moment", "2026-11-20 14:05 UTC"),
        ("run.finished|day", "2026-11-20"),
        ("'https://example.org/a/'|bare", "example.org/a"),
        ("'http://example.org'|bare", "example.org"),
        ("'ftp://example.org'|bare", "ftp://example.org"),
        ("'one two three'|shorten(9)", "one two…"),
    ] {
        assert_eq!(
            print(&format!("{{{{ {expression} }}}}")),
            words,
            "{expression}"
        );
    }
}

#[test]
fn every_reason_has_its_words() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings.md");
    let page = fs::read_to_string(path).unwrap();
    let (_, reasons) = page.split_once("\n## Reasons\n").unwrap();
    let reasons = reasons.lines().take_while(|line| !line.starts_with("## "));
    let reasons: Vec<_> = reasons
        .filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'))
        .collect();
    assert!(reasons.len() > 20);
    for name in reasons {
        let reason: Reason = name.parse().unwrap();
        assert_ne!(reason.explanation(), name, "a code is no word");
    }
}

#[test]
fn only_html_is_escaped() {
    let mut envelope = envelope();
    envelope.run.repository = "<&\"'>".to_owned();
    let view = template_data(&envelope);
    let source = "{{ run.repository }}".to_owned();
    let renderer = Renderer::new([("a.txt", source.clone()), ("a.html", source)]).unwrap();
    assert_eq!(renderer.render("a.txt", &view).unwrap(), "<&\"'>");
    assert_eq!(
        renderer.render("a.html", &view).unwrap(),
        "&lt;&amp;&quot;&#x27;&gt;"
    );
}

#[test]
fn mistakes_in_templates_are_named() {
    let error = Renderer::new([("test.txt", "\n{% for %}".to_owned())]).unwrap_err();
    assert_eq!(error.line, 2);
    let renderer = Renderer::new([("test.txt", "\n\n{{ run.nothing }}".to_owned())]).unwrap();
    let error = renderer
        .render("test.txt", &template_data(&envelope()))
        .unwrap_err();
    assert_eq!((error.name.as_str(), error.line), ("test.txt", 3));
    let renderer = Renderer::new([("test.txt", "{{ 'x'|day }}".to_owned())]).unwrap();
    let error = renderer
        .render("test.txt", &template_data(&envelope()))
        .unwrap_err();
    assert!(error.to_string().contains("not a timestamp"), "{error}");
}

proptest! {
    #[test]
    fn one_line_is_one_short_harmless_line(text in any::<String>()) {
        let line = one_line(&text);
        prop_assert!(!line.contains(char::is_control));
        prop_assert!(line.chars().count() <= 2_000);
        prop_assert_eq!(one_line(&line), line);
    }

    #[test]
    fn shortened_text_is_a_prefix_within_the_limit(text in any::<String>(), limit in 1_usize..80) {
        let short = shorten(&text, limit);
        prop_assert!(short.chars().count() <= limit);
        if short != text {
            prop_assert!(text.starts_with(short.strip_suffix('…').unwrap()));
        }
    }

    #[test]
    fn any_text_renders(text in any::<String>()) {
        let mut envelope = envelope();
        envelope.run.repository.clone_from(&text);
        envelope.findings[0].url.clone_from(&text);
        envelope.findings[0].code.clone_from(&text);
        envelope.findings[0].reason = Some(text.clone());
        let renderer = Renderer::new([("test.html", "{{ run.repository }}{{ findings }}{{ mistakes }}".to_owned())]).unwrap();
        let printed = renderer.render("test.html", &template_data(&envelope)).unwrap();
        prop_assert!(!printed.contains(['<', '\r', '\0']));
    }
}

/// Each of these would take gigabytes.
#[test]
fn what_a_template_makes_is_bounded() {
    for (template, words) in [
        (
            "{{ ('x' * 100000)|replace('x', 'y' * 100000) }}",
            "more than 64 MiB",
        ),
        (
            "{{ (('x' * 100000)|list)|join('y' * 100000) }}",
            "more than 64 MiB",
        ),
        (
            "{% set long = 'x' * 1000000 %}{% for n in range(1000) %}{{ long }}{% endfor %}",
            "more than 64 MiB",
        ),
        (
            "{% set ns = namespace(x='x') %}{% for n in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
            "namespace is unknown",
        ),
        (
            "{% macro twice(x, n) %}{% if n %}{{ twice(x ~ x, n - 1) }}{% endif %}{% endmacro %}{{ twice('x', 60) }}",
            "recursion limit",
        ),
        (
            "{% macro twice(x, n) %}{{ x }}{{ x }}{% endmacro %}{% set long = 'x' * 30000000 %}{% set a = twice(long) %}{% set b = twice(a) %}",
            "more than 64 MiB",
        ),
        (
            "{% set long = 'x' * 1000000 %}{% set all %}{% for n in range(1000) %}{{ long }}{% endfor %}{% endset %}",
            "more than 64 MiB",
        ),
        ("{{ 'x'|indent(10000000000) }}", "unknown filter"),
        ("{{ '%10000000000d'|format(1) }}", "unknown filter"),
        ("{{ [1]|batch(10000000000, 0) }}", "unknown filter"),
        ("{{ 'x' * 10000000000 }}", "too large"),
        (
            "{% for n in range(100000) %}{% for m in range(100000) %}{% endfor %}{% endfor %}",
            "fuel",
        ),
    ] {
        let renderer = Renderer::new([("test.txt", template.to_owned())]);
        let outcome = renderer.and_then(|r| r.render("test.txt", &template_data(&envelope())));
        let error = outcome.expect_err(template);
        assert!(error.to_string().contains(words), "{template}: {error}");
    }
}

#[test]
fn bounded_filters_do_what_minijinja_documents() {
    assert_eq!(print("{{ 'a-b-c'|replace('-', '+') }}"), "a+b+c");
    assert_eq!(print("{{ ['a', 1, none]|join(', ') }}"), "a, 1, None");
    assert_eq!(print("{{ ['a', 'b']|join }}"), "ab");
}
