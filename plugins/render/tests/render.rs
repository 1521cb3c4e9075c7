//! Views, filters and rendering.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use urldb_protocol::{Envelope, State};
use urldb_render::{Renderer, View, one_line, shorten};

fn envelope() -> Envelope {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/envelope.example.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// What `template` prints of the example.
fn print(template: &str) -> String {
    let renderer = Renderer::new([("test.txt", template.to_owned())]).unwrap();
    renderer
        .render("test.txt", &View::new(&envelope(), 100))
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
fn each_list_holds_what_its_name_says() {
    let totals =
        print("{{ totals.urls }} {{ totals.kept }} {{ totals.broken }} {{ totals.unsure }}");
    assert_eq!(totals, "16234 16228 5 1");
    for (list, expected) in [
        ("new_broken", "stars.fits README.txt"),
        ("recovered", "notes.pdf"),
        ("moved", ""),
        ("still_broken", "0.png 1.png?"),
        ("pending", "42.pdf"),
        ("broken", "stars.fits README.txt 0.png 1.png? 42.pdf"),
        ("unsure", "manual.pdf"),
        ("warnings", "standard.html"),
    ] {
        let template = format!(
            "{{% for group in {list}.groups %}}{{% for row in group.rows %}}{{{{ (row.url|split('/')|list)[-1] }}}} {{% endfor %}}{{% endfor %}}"
        );
        let printed = print(&template);
        let names: Vec<_> = printed.split_whitespace().collect();
        assert_eq!(
            names.len(),
            expected.split_whitespace().count(),
            "{list}: {printed}"
        );
        for (name, expected) in names.iter().zip(expected.split_whitespace()) {
            assert!(name.starts_with(expected), "{list}: {printed}");
        }
    }
}

#[test]
fn a_change_from_bad_to_bad_is_neither_new_nor_recovered() {
    let mut envelope = envelope();
    let (from, to) = (State::Gone, State::Forbidden);
    for change in &mut envelope.changes {
        (change.from, change.to) = (from, to);
    }
    let view = View::new(&envelope, 100);
    assert_eq!(
        (
            view.new_broken.total,
            view.recovered.total,
            view.moved.total
        ),
        (0, 0, 3)
    );
}

#[test]
fn a_limit_hides_rows_but_not_their_number() {
    let view = View::new(&envelope(), 3);
    assert_eq!(view.broken.total, 5);
    let rows: usize = view
        .broken
        .groups
        .iter()
        .map(|group| group.rows.len())
        .sum();
    let more: usize = view.broken.groups.iter().map(|group| group.more).sum();
    assert_eq!((rows, more), (3, 2));
    assert!(
        view.broken
            .groups
            .iter()
            .all(|group| group.total == group.rows.len() + group.more)
    );
}

#[test]
fn a_limit_hides_mistakes_but_not_their_number() {
    let mut envelope = envelope();
    let mistake = envelope.mistakes[0].clone();
    envelope.mistakes = vec![mistake; 5];
    for mistake in &mut envelope.mistakes[..4] {
        mistake.new = false;
    }
    let view = View::new(&envelope, 3);
    let misread = &view.mistakes;
    assert_eq!((misread.total, misread.rows.len(), misread.more), (5, 3, 2));
    assert_eq!(misread.new, 1);
    assert!(misread.rows[0].new, "news comes first");
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
    let mut envelope = envelope();
    for reason in reasons {
        envelope.findings[0].reason = Some(reason.to_owned());
        let view = View::new(&envelope, 1);
        let cause = view.broken.groups[0].cause.as_deref().unwrap();
        assert_ne!(cause, reason, "a code is no word");
    }
}

#[test]
fn a_url_that_had_to_be_changed_is_no_link() {
    let mut envelope = envelope();
    let mut link = |url: &str| {
        envelope.findings[0].url = url.to_owned();
        View::new(&envelope, 1).broken.groups[0].rows[0]
            .link
            .clone()
    };
    assert!(link("https://example.org/").is_some());
    assert!(link("http://example.org/").is_some());
    for url in [
        "javascript:alert(1)",
        "ftp://example.org/",
        "https://example.org/\u{202e}",
        "",
    ] {
        assert_eq!(link(url), None, "{url}");
    }
    assert_eq!(
        link(&format!("https://example.org/{}", "x".repeat(3_000))),
        None
    );
}

#[test]
fn only_html_is_escaped() {
    let mut envelope = envelope();
    envelope.run.repository = "<&\"'>".to_owned();
    let view = View::new(&envelope, 1);
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
        .render("test.txt", &View::new(&envelope(), 1))
        .unwrap_err();
    assert_eq!((error.name.as_str(), error.line), ("test.txt", 3));
    let renderer = Renderer::new([("test.txt", "{{ 'x'|day }}".to_owned())]).unwrap();
    let error = renderer
        .render("test.txt", &View::new(&envelope(), 1))
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
        let renderer = Renderer::new([("test.html", "{{ run.repository }}{{ broken }}{{ warnings }}".to_owned())]).unwrap();
        let printed = renderer.render("test.html", &View::new(&envelope, 100)).unwrap();
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
        let outcome = renderer.and_then(|r| r.render("test.txt", &View::new(&envelope(), 100)));
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
