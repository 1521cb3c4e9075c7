//! Site rules: the shared vectors, except for those of the lexer, which `lex.rs` tests.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use serde_json::{Map, Value, json};
use urldb_canon::rules::{
    Compilation, DomainScript, MatchResult, Resolution, ResolveError, SiteRules, Trace,
    WebsiteScript, registrable_domain,
};
use urldb_text::Finding;

fn vectors(kind: &str) -> Vec<Value> {
    let all: Value =
        serde_json::from_str(include_str!("site-rules.json")).expect("vectors are JSON");
    let all = all["vectors"].as_array().expect("a list");
    let chosen: Vec<_> = all.iter().filter(|v| v["kind"] == kind).cloned().collect();
    assert!(!chosen.is_empty(), "there are {kind} vectors");
    chosen
}

fn text<'a>(vector: &'a Value, key: &str) -> &'a str {
    vector[key].as_str().expect(key)
}

/// The script of a compilation that must have no errors.
fn good<S>(compiled: Compilation<S>, vector: &Value) -> S {
    let Compilation { script, findings } = compiled;
    script.unwrap_or_else(|| panic!("{vector}: {findings:?}"))
}

/// Whether the script compiles, and its findings.
fn outcome<S>(compiled: Compilation<S>) -> (bool, Vec<Finding>) {
    (compiled.script.is_some(), compiled.findings)
}

#[test]
fn scripts_compile_or_not() {
    for vector in vectors("compile") {
        let source = text(&vector, "rules");
        let (ok, findings) = if text(&vector, "language") == "domain" {
            outcome(DomainScript::compile(source))
        } else {
            outcome(WebsiteScript::compile(source))
        };
        let expected = vector["expect"]["ok"] == json!(true);
        assert_eq!(ok, expected, "{vector}: {findings:?}");
    }
}

#[test]
fn urls_match_or_not() {
    for vector in vectors("match") {
        let trace = explain(&vector);
        let expected = vector["expect"].as_object().expect("a mapping");
        let found = describe(&trace);
        for (key, value) in expected {
            assert_eq!(found.get(key), Some(value), "{key} of {vector}: {trace:?}");
        }
    }
}

/// The trace of the URL of `vector` under its rules. The website script belongs to the website that the
/// domain script gives for the URL.
fn explain(vector: &Value) -> Trace {
    let url = text(vector, "url");
    let mut rules = SiteRules::new();
    let trace = rules.explain(url);
    let host = trace.parts.expect("a URL").host;
    let script = good(DomainScript::compile(text(vector, "domain_rules")), vector);
    rules.insert_domain(registrable_domain(&host), script);
    let trace = rules.explain(url);
    match (&trace.website, vector["website_rules"].as_str()) {
        (Some(website), Some(source)) => {
            rules.insert_website(website, good(WebsiteScript::compile(source), vector));
            rules.explain(url)
        }
        _ => trace,
    }
}

/// A trace with the names that the vectors use.
fn describe(trace: &Trace) -> Map<String, Value> {
    let mut all = Map::new();
    all.insert("domain".into(), json!(trace.domain));
    let rules = [
        ("domain_rule", &trace.domain_rules),
        ("website_rule", &trace.website_rules),
    ];
    for (key, tried) in rules {
        if let Some(last) = tried.iter().flatten().last()
            && matches!(
                last.result,
                MatchResult::Matched | MatchResult::MatchedWithSeparators
            )
        {
            all.insert(key.into(), json!(last.rule.name));
        }
    }
    match &trace.outcome {
        Err(failure) => {
            all.insert("error".into(), json!(failure.code()));
            match failure {
                ResolveError::ContradictoryOption { name, .. } => {
                    all.insert("option".into(), json!(name));
                }
                ResolveError::UnknownParameter { name, nearest, .. } => {
                    all.insert("parameter".into(), json!(name));
                    all.insert("nearest".into(), json!(nearest));
                }
                ResolveError::UnknownDomain { default, .. }
                | ResolveError::UnknownWebsite { default, .. } => {
                    let url = default.as_ref().and_then(|default| default.url.as_ref());
                    all.insert("suggestion".into(), json!(url));
                }
                _ => {}
            }
            all.insert("page".into(), Value::Null);
        }
        Ok(Resolution {
            website,
            page,
            options,
            official,
            record,
            redirect,
            page_url,
        }) => {
            all.insert("website".into(), json!(website));
            all.insert("page".into(), json!(page));
            all.insert("options".into(), json!(options));
            all.insert("official_url".into(), json!(official.as_ref().ok()));
            let url = record.as_ref().map(ToString::to_string);
            all.insert("record".into(), json!(url.ok()));
            let error = record.as_ref().err().map(ResolveError::code);
            all.insert("record_error".into(), json!(error));
            let redirect = redirect.as_ref().map(|redirect| {
                let (status, removed) = (redirect.status, &redirect.removed);
                json!({ "status": status, "to": page_url, "removed": removed })
            });
            all.insert("redirect".into(), json!(redirect));
        }
    }
    all
}
