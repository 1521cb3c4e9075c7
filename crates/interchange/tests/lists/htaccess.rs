//! The redirects of Apache, as Apache 2.4 answers: `.ci/acceptance.d/93-redirects` compares more of them with it.

use proptest::prelude::*;
use urldb_format::Value;
use urldb_interchange::budget::Budget;
use urldb_interchange::htaccess::HtaccessTree;
use urldb_interchange::{NoticeSeverity, ReadError};

use crate::common::Taken;

/// Reads the files of a tree, each with its folder.
fn read_tree(files: &[(&str, &str)], base: &str) -> (Taken, Result<(), ReadError>) {
    Taken::with_result(|sink| {
        let mut tree = HtaccessTree::new(&Budget::default());
        for (folder, text) in files {
            let file = format!("{folder}.htaccess").into();
            tree.add(text.as_bytes(), folder, &file)?;
        }
        tree.read(base, sink)
    })
}

fn tree(files: &[(&str, &str)]) -> Taken {
    let (taken, result) = read_tree(files, "http://a.test/");
    result.unwrap();
    taken
}

/// Each item in one line, and each notice by place and code.
fn shown(taken: &Taken) -> Vec<String> {
    let items = taken.items.iter().map(|item| {
        let record = &item.record;
        let target = record.redirects_to.as_deref().unwrap_or("-");
        let accept = record.request_headers.get("Accept");
        let accept = accept.and_then(|it| match it {
            Value::Text(text) => Some(format!(" ({text})")),
            _ => None,
        });
        format!(
            "{} {}{} {} {target}",
            item.location,
            item.url().unwrap().as_str(),
            accept.unwrap_or_default(),
            record.status.unwrap(),
        )
    });
    let notices = taken.notices.iter().map(|notice| {
        let word = match notice.severity {
            NoticeSeverity::LeftOut => "left out",
            _ => "refused",
        };
        format!("{} {word} {}", notice.location, notice.code)
    });
    items.chain(notices).collect()
}

#[track_caller]
fn finds(files: &[(&str, &str)], wanted: &[&str]) {
    let taken = tree(files);
    assert_eq!(shown(&taken), wanted, "{:?}", taken.notices);
}

#[test]
fn rules_become_an_item_for_each_of_their_few_texts() {
    finds(
        &[(
            "ns/",
            "RewriteEngine on\n\
             RewriteRule ^a/?$ http://t.test/a [R=301,L]\n\
             RewriteRule ^(b|c)/d$ \\\n  https://t.test/$1?x=\\%20 [R=303,NE,L]\n\
             RewriteRule \"^e f$\" http://t.test/? [L]\n\
             RewriteRule ^gone$ - [G]\n\
             RewriteRule ^$ /local [R=permanent,L]\n\
             Redirect seeother /ns/x http://t.test/x#part\n\
             RedirectMatch 301 ^/ns/(y|z)$ http://t.test/$1\n\
             Redirect gone /ns/old\n",
        )],
        &[
            "ns/.htaccess:2 http://a.test/ns/a 301 http://t.test/a",
            "ns/.htaccess:2 http://a.test/ns/a/ 301 http://t.test/a",
            "ns/.htaccess:3 http://a.test/ns/b/d 303 https://t.test/b?x=%20",
            "ns/.htaccess:3 http://a.test/ns/c/d 303 https://t.test/c?x=%20",
            "ns/.htaccess:5 http://a.test/ns/e%20f 302 http://t.test/",
            "ns/.htaccess:6 http://a.test/ns/gone 410 -",
            "ns/.htaccess:7 http://a.test/ns/ 301 http://a.test/local",
            "ns/.htaccess:8 http://a.test/ns/x 303 http://t.test/x#part",
            "ns/.htaccess:9 http://a.test/ns/y 301 http://t.test/y",
            "ns/.htaccess:9 http://a.test/ns/z 301 http://t.test/z",
            "ns/.htaccess:10 http://a.test/ns/old 410 -",
        ],
    );
}

#[test]
fn the_promise_is_what_a_rule_says() {
    // Apache sends `%23` and `a0b`, which a check finds.
    finds(
        &[(
            "",
            "RewriteEngine on\nRewriteRule ^a$ http://t.test/#a [L]\nRewriteRule ^b$ http://t.test/a%20b [L]\n",
        )],
        &[
            ".htaccess:2 http://a.test/a 302 http://t.test/#a",
            ".htaccess:3 http://a.test/b 302 http://t.test/a%20b",
        ],
    );
}

#[test]
fn an_accept_is_chosen_that_reaches_the_rule() {
    finds(
        &[(
            "",
            "RewriteEngine on\n\
             RewriteCond %{HTTP_ACCEPT} text/html [OR]\n\
             RewriteCond %{HTTP_USER_AGENT} ^Mozilla\n\
             RewriteRule ^a$ http://t.test/a.html [R=303,L]\n\
             RewriteCond %{HTTP:Accept} ^application/x\\-own$\n\
             RewriteRule ^a$ http://t.test/a.own [R=303,L]\n\
             RewriteCond %{HTTP_ACCEPT} !ttl\n\
             RewriteCond %{HTTP_ACCEPT} =text/turtle\n\
             RewriteRule ^a$ http://t.test/a.ttl [R=303,L]\n\
             RewriteCond %{HTTP_ACCEPT} !html\n\
             RewriteRule ^a$ http://t.test/a [R=303,L]\n\
             RewriteCond %{HTTP_ACCEPT} !\\*/\\*\n\
             RewriteRule ^b$ http://t.test/b [R=303,L]\n",
        )],
        &[
            ".htaccess:4 http://a.test/a (text/html) 303 http://t.test/a.html",
            ".htaccess:6 http://a.test/a (application/x-own) 303 http://t.test/a.own",
            ".htaccess:9 http://a.test/a (text/turtle) 303 http://t.test/a.ttl",
            // A request of urldb is none of a browser.
            ".htaccess:11 http://a.test/a 303 http://t.test/a",
            ".htaccess:13 http://a.test/b (text/html) 303 http://t.test/b",
        ],
    );
}

#[test]
fn rules_that_no_request_reaches_are_refused() {
    let taken = tree(&[
        (
            "",
            "RewriteEngine on\n\
             RewriteRule ^/a$ http://t.test/1 [L]\n\
             RewriteRule ^b(c|d)$ http://t.test/2 [L]\n\
             RewriteRule ^bc$ http://t.test/3 [L]\n\
             RewriteRule ^ns/x$ http://t.test/4 [L]\n\
             RewriteRule ^ns$ http://t.test/5 [L]\n\
             RewriteRule ^plain/x$ http://t.test/6 [L]\n\
             RewriteRule ^(bd|e)$ http://t.test/7 [L]\n\
             Redirect /old http://t.test/8\n\
             Redirect /old/new http://t.test/9\n\
             Redirect /q?x=1 http://t.test/10\n\
             Redirect bd http://t.test/11\n\
             RewriteRule ^f$ http://t.test/12\n\
             RewriteRule ^http: http://t.test/13 [L]\n",
        ),
        ("ns/", "RewriteEngine on\n"),
        (
            "plain/",
            "Options -Indexes\nRedirect /other http://t.test/14\n",
        ),
    ]);
    let shadowed = taken.notices.iter().filter(|it| it.code == "shadowed-rule");
    let shadowed: Vec<String> = shadowed.map(ToString::to_string).collect();
    let not_seen = "it does not match the path of";
    assert_eq!(
        shadowed,
        [
            (2, format!("{not_seen} http://a.test//a, as the server sees it")),
            (4, "http://a.test/bc is answered by .htaccess:3".to_owned()),
            (5, "ns/.htaccess has rules of its own, which replace those of its parent for http://a.test/ns/x".to_owned()),
                        (6, "ns/.htaccess has rules of its own, which replace those of its parent for http://a.test/ns".to_owned()),
(13, "http://a.test/f is answered by .htaccess:14".to_owned()),
            (10, "http://a.test/old/new is answered by .htaccess:9".to_owned()),
            (11, "rules look at the path, which has no query".to_owned()),
            (12, "the path does not begin with /".to_owned()),
        ]
        .map(|(line, why)| format!(".htaccess:{line}: no request reaches this rule: {why} (shadowed-rule)"))
        .into_iter()
        .chain([format!("plain/.htaccess:2: no request reaches this rule: {not_seen} http://a.test/other, as the server sees it (shadowed-rule)")])
        .collect::<Vec<_>>()
    );
    let others: Vec<String> = shown(&taken)
        .into_iter()
        .filter(|it| !it.contains("shadowed-rule"))
        .collect();
    assert_eq!(
        others,
        [
            ".htaccess:3 http://a.test/bc 302 http://t.test/2",
            ".htaccess:3 http://a.test/bd 302 http://t.test/2",
            ".htaccess:7 http://a.test/plain/x 302 http://t.test/6",
            ".htaccess:8 http://a.test/e 302 http://t.test/7",
            ".htaccess:9 http://a.test/old 302 http://t.test/8",
            ".htaccess:8 left out shadowed-url",
            ".htaccess:14 left out pattern",
        ]
    );
}

#[test]
fn rules_of_parents_are_inherited_only_where_options_say_so() {
    let root = "RewriteEngine on\nRewriteRule ^n/a$ http://t.test/1 [L]\nRewriteRule ^a$ http://t.test/2 [L]\n";
    for (child, wanted) in [
        (
            "RewriteRule ^a$ http://t.test/3 [L]\n",
            "n/.htaccess:1 http://a.test/n/a 302 http://t.test/3",
        ),
        (
            "RewriteOptions Inherit\nRewriteRule ^a$ http://t.test/3 [L]\n",
            "n/.htaccess:2 http://a.test/n/a 302 http://t.test/3",
        ),
        (
            "RewriteOptions InheritBefore\nRewriteRule ^a$ http://t.test/3 [L]\n",
            ".htaccess:3 http://a.test/a 302 http://t.test/2",
        ),
        (
            "RewriteEngine off\nRewriteRule ^a$ http://t.test/3 [L]\n",
            "n/.htaccess:2 left out engine-off",
        ),
        (
            "Options +Indexes\n",
            ".htaccess:2 http://a.test/n/a 302 http://t.test/1",
        ),
    ] {
        let taken = tree(&[("", root), ("n/", child)]);
        assert!(
            shown(&taken).iter().any(|it| it == wanted),
            "{child}: {:?}",
            shown(&taken)
        );
    }
    // The last rule of the child is behind an equal one of its parent.
    let taken = tree(&[
        ("", root),
        (
            "n/",
            "RewriteOptions InheritBefore\nRewriteRule ^a$ http://t.test/3 [L]\n",
        ),
    ]);
    assert!(shown(&taken).contains(&"n/.htaccess:2 refused shadowed-rule".to_owned()));
}

#[test]
fn rules_are_skipped_by_chains_and_counts() {
    finds(
        &[(
            "",
            "RewriteEngine on\nRewriteRule ^b$ - [C]\nRewriteRule ^a$ http://t.test/1 [L]\n\
             RewriteRule ^c$ - [S=1]\nRewriteRule ^c$ http://t.test/2 [L]\nRewriteRule ^d$ http://t.test/3 [L]\n",
        )],
        &[
            ".htaccess:6 http://a.test/d 302 http://t.test/3",
            ".htaccess:2 left out internal",
            ".htaccess:3 refused shadowed-rule",
            ".htaccess:4 left out internal",
            ".htaccess:5 refused shadowed-rule",
        ],
    );
}

#[test]
fn redirects_of_the_deepest_folder_come_first() {
    finds(
        &[
            ("", "Redirect /n http://t.test/1\n"),
            ("n/", "Redirect /n/a http://t.test/2\n"),
        ],
        &[
            ".htaccess:1 http://a.test/n 302 http://t.test/1",
            "n/.htaccess:1 http://a.test/n/a 302 http://t.test/2",
        ],
    );
}

#[test]
fn everything_else_is_counted_by_kind() {
    let off = (
        "off/",
        "RewriteEngine off\nRewriteRule ^a$ http://t.test/ [L]\n",
    );
    let doubt = (
        "doubt/",
        "RewriteEngine on\n<IfModule mod_x.c>\nRewriteRule ^x$ http://t.test/ [L]\n</IfModule>\nRewriteRule ^a$ http://t.test/ [L]\n",
    );
    finds(
        &[
            (
                "",
                "<IfModule !mod_rewrite.c>\nRedirect / http://t.test/\n</IfModule>\n\
                 <IfModule mod_rewrite.c>\n\
                 RewriteEngine on\n\
                 RewriteRule ^ - [E=x:y]\n\
                 RewriteRule ^a[0-9]+$ http://t.test/ [L]\n\
                 RewriteRule !^b$ - [S=1]\n\
                 RewriteRule ^b$ http://t.test/%{HTTP_USER_AGENT} [L]\n\
                 RewriteRule ^c$ http://t.test/ [P]\n\
                 RewriteRule ^d$ d.html [L]\n\
                 RewriteRule ^e$ http://t.test/ [R=300,L]\n\
                 RewriteCond %{REQUEST_FILENAME} -f\n\
                 RewriteRule ^f$ http://t.test/ [L]\n\
                 RewriteRule ^g$ ftp://t.test/ [R,L]\n\
                 RewriteRule ^(h%)$ http://t.test/$1 [L]\n\
                 </IfModule>\n",
            ),
            off,
            doubt,
        ],
        &[
            "doubt/.htaccess:3 left out section",
            ".htaccess:6 left out internal",
            ".htaccess:7 left out pattern",
            ".htaccess:8 left out internal",
            ".htaccess:9 left out variable",
            ".htaccess:10 left out proxy",
            ".htaccess:11 left out internal",
            ".htaccess:12 left out status",
            ".htaccess:14 left out condition",
            ".htaccess:15 left out target",
            ".htaccess:16 left out variable",
            "off/.htaccess:2 left out engine-off",
            "doubt/.htaccess:5 left out condition",
        ],
    );
}

#[test]
fn a_redirect_without_a_path_is_for_the_whole_folder() {
    for text in [
        "Redirect 301 /b",
        "Redirect gone",
        "Redirect http://b.test/",
    ] {
        finds(
            &[
                ("", "Redirect /a http://t.test/\n"),
                ("n/", &format!("Redirect /n/a http://t.test/\n{text}\n")),
            ],
            &[
                ".htaccess:1 http://a.test/a 302 http://t.test/",
                "n/.htaccess:1 refused shadowed-rule",
                "n/.htaccess:2 left out pattern",
            ],
        );
    }
}

#[test]
fn a_directive_that_apache_refuses_is_refused() {
    let text = "RewriteEngine maybe\nRewriteRule ^a$ http://t.test/ [R=99]\nRewriteRule ^b$ http://t.test/ [R=301, L]\n\
                RewriteRule ^c$\nRewriteCond %{HTTP_ACCEPT}\nRedirectPermanent /d\nRedirect gone /e http://t.test/\nRedirect /f g\nRedirect\n";
    let wanted: Vec<String> = (1..=9)
        .map(|line| format!(".htaccess:{line} refused bad-directive"))
        .collect();
    assert_eq!(shown(&tree(&[("", text)])), wanted);
}

#[test]
fn the_base_may_be_a_folder() {
    let text = "RewriteEngine on\nRewriteRule ^a$ http://t.test/ [L]\nRedirect /docs/b http://t.test/\nRedirect /b http://t.test/\n";
    let (taken, result) = read_tree(&[("", text)], "https://a.test/docs/");
    result.unwrap();
    assert_eq!(
        shown(&taken),
        [
            ".htaccess:2 https://a.test/docs/a 302 http://t.test/",
            ".htaccess:3 https://a.test/docs/b 302 http://t.test/",
            ".htaccess:4 refused shadowed-rule",
        ]
    );
}

#[test]
fn a_large_tree_ends() {
    let comment = format!("#{}\n", "x".repeat(1 << 19));
    let (_, result) = read_tree(&[("", &comment.repeat(3))], "http://a.test/");
    assert!(result.unwrap_err().to_string().contains("more than 1 MiB"));
    let names: Vec<String> = (0..20).map(|number| format!("{number}/")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|it| (&**it, &*comment)).collect();
    let (_, result) = read_tree(&files, "http://a.test/");
    assert!(result.unwrap_err().to_string().contains("8 MiB"));
    // More patterns than are compiled at a time.
    let files: Vec<(String, String)> = (0..100)
        .map(|folder| {
            let rules = (0..30)
                .map(|rule| format!("RewriteRule ^(x{folder}y{rule})$ http://t.test/$1 [L]"));
            let rules: Vec<String> = rules.collect();
            (
                format!("{folder}/"),
                format!("RewriteEngine on\n{}", rules.join("\n")),
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(one, other)| (&**one, &**other))
        .collect();
    let taken = tree(&files);
    assert_eq!((taken.items.len(), taken.notices.len()), (3000, 0));
    // Conditions that are not known double the ways.
    let rule = "RewriteCond %{HTTPS} on\nRewriteRule ^a - [E=x]\n";
    let text = format!(
        "RewriteEngine on\n{}RewriteRule ^a$ http://t.test/ [L]\n",
        rule.repeat(2000)
    );
    let taken = tree(&[("", &text)]);
    assert_eq!(
        shown(&taken).last().unwrap(),
        ".htaccess:4002 left out condition"
    );
}

/// A rule that a check can promise: its text, and its item.
#[test]
fn rules_that_take_too_much_work_are_refused_at_their_line() {
    // Each rule may answer for the path of any other, for any type.
    let rules = (0..300).map(|number| {
        format!(
            "RewriteCond %{{HTTP_ACCEPT}} a{number}.*b [OR]\n\
             RewriteCond %{{HTTP_ACCEPT}} c{number}.*d [OR]\nRewriteCond %{{HTTP_ACCEPT}} e{number}.*f\n\
             RewriteRule ^(a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p)$ http://t.test/{number} [R=303,L]\n"
        )
    });
    let text = format!("RewriteEngine on\n{}", rules.collect::<String>());
    let budget = Budget::of(50_000_000);
    for (file, starts) in [("a", "a:"), ("b", "b:5:")] {
        let mut tree = HtaccessTree::new(&budget);
        tree.add(text.as_bytes(), "", &file.into()).unwrap();
        let (_, result) = Taken::with_result(|sink| tree.read("http://a.test/", sink));
        let error = result.unwrap_err().to_string();
        assert!(
            error.starts_with(starts) && error.contains("more work"),
            "{error}"
        );
    }
}

fn simple_rule() -> impl Strategy<Value = (String, String)> {
    let parts = (
        "[a-z]{1,3}(/[a-z]{1,2})?",
        prop::sample::select(vec![301_u16, 302, 303, 307, 308]),
        0..5_u8,
    );
    parts.prop_map(|(name, status, kind)| {
        let target = format!("http://t.test/{name}");
        let text = match kind {
            0 => format!("RewriteRule ^{name}$ {target} [R={status},L]"),
            1 => format!("rewriterule \"^{name}$\" \\\n\t{target} [last,redirect={status}] x"),
            2 => format!("<IfModule mod_rewrite.c>\n RewriteRule '^({name})$' http://t.test/$1 [R={status},END]\n</IfModule>"),
            3 => format!("RedirectMatch {status} ^/{name}$ {target}"),
            _ => format!("redirect {status} /{name} \"{target}\""),
        };
        (text, format!("http://a.test/{name} {status} {target}"))
    })
}

proptest! {
    #[test]
    fn any_text_is_read(text in "(RewriteRule|RewriteCond|Redirect(Match)?|<IfModule|</IfModule>|RewriteEngine on\n|[\\PC\n \"'\\\\]| \\^|\\$|\\[L,R=301\\]|http://t/|\n){0,60}") {
        let (_, result) = read_tree(&[("", &text), ("n/", &text)], "http://a.test/");
        prop_assert!(result.is_ok());
    }

    #[test]
    fn simple_rules_are_read(rules in prop::collection::vec(simple_rule(), 1..8)) {
        let lines: Vec<&str> = rules.iter().map(|(text, _)| &**text).collect();
        let text = lines.join("\n");
        let taken = tree(&[("", &format!("RewriteEngine on\n{text}\n"))]);
        let mut found: Vec<String> = shown(&taken);
        found.retain(|it| !it.contains("shadowed"));
        let found: Vec<&str> = found.iter().map(|it| it.split_once(' ').unwrap().1).collect();
        // The first rule of a path answers, and rules of mod_rewrite come before redirects.
        for (_, item) in &rules {
            let url = item.split(' ').next().unwrap();
            let answers = found.iter().filter(|it| it.split(' ').next() == Some(url)).count();
            let below = rules.iter().any(|(_, other)| {
                let other = other.split(' ').next().unwrap();
                url.starts_with(&format!("{other}/"))
            });
            prop_assert!(answers == 1 || answers == 0 && below, "{item} in {text}: {found:?}");
        }
        for it in &found {
            prop_assert!(rules.iter().any(|(_, item)| item == it), "{it} in {text}");
        }
    }
}
