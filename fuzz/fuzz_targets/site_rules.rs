//! Any two scripts compile or have findings, and the page of every URL resolves to itself.
//!
//! The input is a domain script, a website script and a URL, separated by NULs, which no string of a
//! script can have.
#![no_main]

use libfuzzer_sys::fuzz_target;
use urldb_canon::rules::{DomainScript, SiteRules, WebsiteScript, registrable_domain};
use urldb_text::Finding;

/// Positions are inside the script.
fn check(source: &str, findings: &[Finding]) {
    for finding in findings {
        assert!(finding.line <= source.len() + 1 && finding.column <= source.len() + 1);
        let excerpt = finding.excerpt.as_ref().expect("an excerpt");
        assert!(excerpt.length <= source.len().max(1));
        let _ = excerpt.lines();
    }
}

fuzz_target!(|input: &str| {
    let mut inputs = input.splitn(3, '\0');
    let mut next = || inputs.next().unwrap_or("");
    let (domain, website, url) = (next(), next(), next());
    let domain_script = DomainScript::compile(domain);
    let website_script = WebsiteScript::compile(website);
    check(domain, &domain_script.findings);
    check(website, &website_script.findings);

    let mut rules = SiteRules::new();
    let Some(parts) = rules.explain(url).parts else {
        return;
    };
    if let Some(script) = domain_script.script {
        rules.insert_domain(registrable_domain(&parts.host), script);
    }
    if let (Some(script), Some(host)) = (website_script.script, rules.explain(url).website) {
        rules.insert_website(&host, script);
    }
    let Ok(found) = rules.resolve(url) else {
        return;
    };
    if let Ok(official) = &found.official {
        let again = rules
            .resolve(official)
            .expect("an official URL is admitted");
        assert_eq!((&again.website, &again.page), (&found.website, &found.page));
        assert_eq!(again.official.as_ref(), Ok(official));
    }
    if let Ok(record) = &found.record {
        let again = rules
            .resolve(&record.to_string())
            .expect("a record is admitted");
        assert_eq!(again.record.as_ref(), Ok(record));
        assert_eq!(again.redirect, found.redirect);
        let page = rules.resolve(&found.page_url).expect("a page is admitted");
        assert_eq!((page.redirect, page.record.is_ok()), (None, true));
    }
});
