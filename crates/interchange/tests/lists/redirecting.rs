//! Rules of redirects: what each promises, and what is left out.

use proptest::prelude::*;
use urldb_interchange::budget::Budget;
use urldb_interchange::{NoticeSeverity, ReadEvent, Sink, redirects};

use crate::common::Taken;

/// URL, status and target of each item.
fn promises(taken: &Taken) -> Vec<String> {
    let items = taken.items.iter().map(|item| {
        let status = item.record.status.map(|status| status.to_string());
        let facts = [
            item.url().unwrap().to_string(),
            status.unwrap_or_default(),
            item.record.redirects_to.clone().unwrap_or_default(),
        ];
        facts.join(" ")
    });
    items.collect()
}

fn rules(text: &str, base: &str) -> Taken {
    Taken::of(|sink| {
        redirects::read(
            text.as_bytes(),
            &"_redirects".into(),
            base,
            &Budget::default(),
            sink,
        )
    })
}

const RULES: &str = "\
# rules
/a /b 301
/a /c 302
/A https://x.test/?y#z
/s/* /t/:splat 301
/n/:name /x 301
/q id=1 /x 301
/q?id=1 /x 301
/l /x 302 Language=en
/r /x 200
/r /x 301
/f /x 404
/v /x 307! # comment
HTTPS://old.test/v http://new.test/ 308
word /x
/x
/w /x 301 word
/w /x word
";

#[test]
fn each_rule_of_a_site_promises_its_redirect() {
    let taken = rules(RULES, "https://a.test/docs/");
    assert_eq!(
        promises(&taken),
        [
            "https://a.test/a 301 /b",
            "https://a.test/A  https://x.test/?y#z",
            "https://a.test/v 307 /x",
            "https://old.test/v 308 http://new.test/"
        ]
    );
    assert_eq!(
        taken.codes(NoticeSeverity::LeftOut),
        [
            "_redirects:3 shadowed",
            "_redirects:5 pattern",
            "_redirects:6 pattern",
            "_redirects:7 query",
            "_redirects:8 query",
            "_redirects:9 condition",
            "_redirects:10 rewrite",
            "_redirects:11 shadowed",
            "_redirects:12 status",
        ]
    );
    assert_eq!(
        taken.refused(),
        [
            "_redirects:15 bad-line",
            "_redirects:16 bad-line",
            "_redirects:17 bad-line",
            "_redirects:18 bad-line"
        ]
    );
}

#[test]
fn a_rule_behind_one_for_many_urls_is_no_promise() {
    let promise = "https://a.test/s/a 301 /b";
    for (before, result) in [
        ("/s/* /t/:splat 301", "shadowed-rule"),
        ("/* /t 301", "shadowed-rule"),
        ("/* /t", "shadowed-rule"),
        ("/s/:name /t 302", "shadowed-rule"),
        ("/:x/a /t 302", "shadowed-rule"),
        ("/:x/:y /t 302", "shadowed-rule"),
        ("/s/a/* /t 301", ""),
        ("/s/* /t 301!", "shadowed-rule"),
        ("/s/* /app 200", "shadowed-rule"),
        ("https://a.test/s/* /t 301", "shadowed-rule"),
        ("https://b.test/* /t 301", ""),
        // Hosts differ: some ignore these.
        ("/* /index.html 200", "shadowed"),
        ("/* /404.html 404", "shadowed"),
        ("/*/a /t 301", "shadowed"),
        ("/s* /t 301", "shadowed"),
        ("/s/:a.html /t 301", "shadowed"),
        ("/s/* /t 301 Country=fr", "shadowed"),
        // A request of urldb has no query, no cookie and no language.
        ("/s/* id=:id /t 301", ""),
        ("/s/* /t 301 Language=fr", ""),
        ("/s/* /t 301 Cookie=x", ""),
        ("/s/* /t 301 Country=fr Role=admin", ""),
        ("/t/* /t 301", ""),
        ("/:name /t 301", ""),
        ("/S/* /t 301", ""),
        ("/s/a/:b /t 301", ""),
    ] {
        let taken = rules(&format!("{before}\n/s/a /b 301\n"), "https://a.test/");
        let found: Vec<&str> = taken.notices[1..].iter().map(|it| &*it.code).collect();
        match result {
            "" => {
                assert_eq!(promises(&taken), [promise], "{before}");
                assert_eq!(found, [""; 0], "{before}");
            }
            code => {
                assert_eq!(promises(&taken), [""; 0], "{before}");
                assert_eq!(found, [code], "{before}");
                assert!(taken.notices[1].message.contains("line 1"), "{before}");
            }
        }
        let after = rules(&format!("/s/a /b 301\n{before}\n"), "https://a.test/");
        assert_eq!(promises(&after), [promise], "{before}");
    }
    // A forced rule counts where the site has a file, and the one before it does not.
    let taken = rules("/s/* /t 301\n/s/a /b 301!\n", "https://a.test/");
    assert_eq!(promises(&taken), [""; 0]);
    assert_eq!(taken.notices[1].code, "shadowed");
    let taken = rules("/s/* /t 301!\n/s/a /b 301!\n", "https://a.test/");
    assert_eq!(taken.notices[1].code, "shadowed-rule");
}

#[test]
fn many_rules_for_many_urls_are_refused() {
    let read = |text: &str| {
        let file = "r".into();
        let (_, result) = Taken::with_result(|sink| {
            redirects::read(
                text.as_bytes(),
                &file,
                "http://a.test/",
                &Budget::of(100_000_000),
                sink,
            )
        });
        result.unwrap_err().to_string()
    };
    let many = |rules: usize| (0..rules).map(|number| format!("/s/:a/{number} /x\n"));
    let text: String = many(10_001).collect();
    let error = read(&text);
    assert!(
        error.starts_with("r:10001: the file has more than 10000 rules"),
        "{error}"
    );
    let name = "b".repeat(1000);
    let behind = (0..2000).map(|number| format!("/s/{name}/c{number} /x\n"));
    let error = read(&many(2000).chain(behind).collect::<String>());
    assert!(
        error.starts_with("r:2") && error.contains("more work than urldb spends"),
        "{error}"
    );
}

#[test]
fn a_known_host_has_a_status_of_its_own() {
    for (base, status) in [
        ("https://x.netlify.app/", "301"),
        ("https://x.gitlab.io/p/", "301"),
        ("https://x.pages.dev/", "302"),
        ("https://netlify.app.test/", ""),
    ] {
        let taken = rules("/a /b\n", base);
        assert!(
            promises(&taken)[0].ends_with(&format!("/a {status} /b")),
            "{taken:?}"
        );
        // Only the target has a place in the file: the status comes from the host.
        assert_eq!(taken.items[0].spans.len(), 1);
    }
}

#[test]
fn a_base_without_a_host_is_an_error() {
    let read = |sink: &mut Sink<'_>| {
        redirects::read(
            &b"/a /b\n"[..],
            &"r".into(),
            "https://",
            &Budget::default(),
            sink,
        )
    };
    let (_, result) = Taken::with_result(read);
    let error = result.unwrap_err().to_string();
    assert!(
        error.starts_with("r:1: https:// is not the URL of a site"),
        "{error}"
    );
}

/// Events of hostile text: each is in the file, and each span is within it.
fn survive(text: &str, event: &ReadEvent) {
    let location = match event {
        ReadEvent::Item(item) => {
            for span in &item.spans {
                assert!(span.range.start < span.range.end);
                assert!(span.range.end <= text.len() as u64);
            }
            &item.location
        }
        ReadEvent::Notice(notice) => &notice.location,
    };
    assert!(
        location.line_number() <= 1 + text.matches('\n').count(),
        "{text:?}"
    );
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_of_rules_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "http://b.test/%41%", "/a", "/b/:c", "http://x.test", "301", "302!", "*", "a=b", "#",
            "\n", "\n", "\n", " ", "\t", "\r\n", "\u{feff}", "\u{e9}", "\"", "'", "&a ", "*a", "[", "]", "{", "}", "|", ">-\n", "%", "\0",
        ]), 0..40),
    ) {
        let text = words.concat();
        let file = "f".into();
        let sink: &mut Sink<'_> = &mut |event| {
            survive(&text, &event);
            Ok(())
        };
        let _ = redirects::read(text.as_bytes(), &file, "http://a.test/", &Budget::default(), sink);
    }
}
