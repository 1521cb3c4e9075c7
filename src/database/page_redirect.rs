//! The promise that site rules make about a URL with retired options, or with parameters that the site does not
//! know: the redirect to the page without them.

use urldb_canon::rules::{PageRedirect, Resolution};
use urldb_canon::{RequestUrl, Scheme};
use urldb_format::Record;
use urldb_verdict::pseudo_status;

/// The redirect that the record of a URL promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PromisedRedirect {
    redirect: PageRedirect,
    /// The host of the page.
    website: String,
    /// The path of the page: the value of `redirects-to`, so that it is right for every scheme of the record.
    target: String,
    /// The URL of the page, for people.
    page_url: String,
}

impl PromisedRedirect {
    /// The redirect of a URL, if the site rules promise one.
    pub(crate) fn of(found: &Resolution) -> Option<Self> {
        Some(Self {
            redirect: found.redirect.clone()?,
            website: found.website.clone(),
            target: found.page.clone(),
            page_url: found.page_url.clone(),
        })
    }

    /// The redirect in words, which continue a sentence that ends in "promises".
    pub(crate) fn description(&self) -> String {
        let PageRedirect { status, removed } = &self.redirect;
        let names: Vec<String> = removed.iter().map(|name| format!("`{name}`")).collect();
        format!(
            "a redirect ({status}) to {}, since the site rules remove {}",
            self.page_url,
            names.join(", ")
        )
    }

    /// The keys of the promise, as a record has them.
    pub(crate) fn keys(&self) -> String {
        let status = self.redirect.status;
        format!("`status: {status}` and `redirects-to: {}`", self.target)
    }

    /// The first key of a record, served at `host` over these schemes, that promises another answer.
    pub(crate) fn contradiction(
        &self,
        record: &Record,
        host: &str,
        schemes: &[Scheme],
    ) -> Option<&'static str> {
        let status = self.redirect.status;
        if record.status.is_some_and(|promised| promised != status) {
            return Some("status");
        }
        if record
            .content_type
            .as_deref()
            .and_then(pseudo_status)
            .is_some_and(|promised| promised != status)
        {
            return Some("content-type");
        }
        let target = record.redirects_to.as_deref()?;
        let is_other = |scheme: &Scheme| !self.is_target(target, record, host, *scheme);
        schemes.iter().any(is_other).then_some("redirects-to")
    }

    /// Whether a record promises exactly this redirect.
    pub(crate) fn is_promised_by(&self, record: &Record, host: &str, schemes: &[Scheme]) -> bool {
        let pseudo = record.content_type.as_deref().and_then(pseudo_status);
        let is_any = record.status.is_none() && record.has_category("redirect-ok");
        (record.status.is_some() || pseudo.is_some())
            && !is_any
            && record.redirects_to.is_some()
            && self.contradiction(record, host, schemes).is_none()
    }

    /// Whether the redirect leads from `url` to `target`.
    pub(crate) fn leads_to(&self, url: &str, target: &str) -> bool {
        url::Url::parse(url)
            .and_then(|url| url.join(&self.target))
            .is_ok_and(|page| page.as_str() == target)
    }

    /// Adds to a record what it lacks of the promise. A target that the record has already stays.
    pub(crate) fn complete(&self, record: &mut Record) {
        record.status.get_or_insert(self.redirect.status);
        record
            .redirects_to
            .get_or_insert_with(|| self.target.clone());
    }

    /// Adds the promise to a record of a list. The target gets the spelling of all such records, so that lists agree.
    pub(crate) fn complete_item(&self, record: &mut Record) {
        record.redirects_to = None;
        self.complete(record);
    }

    /// Whether `target` is the page for a record that is asked over `scheme`. A cname may be in the place of its
    /// domain.
    fn is_target(&self, target: &str, record: &Record, host: &str, scheme: Scheme) -> bool {
        let base = RequestUrl::new(scheme, host, &record.path)
            .and_then(|base| url::Url::parse(base.as_str()).ok());
        let Some(url) = base.and_then(|base| base.join(target).ok()) else {
            return false;
        };
        let page = |host| RequestUrl::new(scheme, host, &self.target);
        [page(host), page(&self.website)]
            .iter()
            .flatten()
            .any(|it| it.as_str() == url.as_str())
    }
}

/// Whether a record has the promise that site rules make: a redirect with status 301 or 302 to its own path without
/// some of the parameters or segments, and without scheme and host.
pub(crate) fn is_of_site_rules(record: &Record) -> bool {
    let Some(target) = record.redirects_to.as_deref() else {
        return false;
    };
    matches!(record.status, Some(301 | 302))
        && target != record.path
        && target.starts_with('/')
        && !target.starts_with("//")
        && leaves_out(target, &record.path)
}

/// Whether all segments and parameters of `target` are in `path`, in this order.
fn leaves_out(target: &str, path: &str) -> bool {
    let split = |text: &str| -> (Vec<String>, Vec<String>) {
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let parts = |text: &str, separator: char| {
            text.split(separator)
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        };
        (parts(path, '/'), parts(query, '&'))
    };
    let is_within = |some: &[String], all: &[String]| {
        let mut all = all.iter();
        some.iter().all(|part| all.any(|other| other == part))
    };
    let (segments, parameters) = split(target);
    let (all_segments, all_parameters) = split(path);
    is_within(&segments, &all_segments) && is_within(&parameters, &all_parameters)
}

#[cfg(test)]
mod tests {
    use urldb_canon::rules::{SiteRules, WebsiteScript};

    use super::*;

    fn record(path: &str, status: u16, target: &str) -> Record {
        Record {
            status: Some(status),
            redirects_to: Some(target.to_owned()),
            ..Record::new(path.to_owned())
        }
    }

    #[test]
    fn a_redirect_of_site_rules_leaves_something_out() {
        let table = [
            ("/x?old=1", 301, "/x", true),
            ("/x?id=7&old=1&b=2", 302, "/x?id=7", true),
            ("/a/x", 302, "/x", true),
            ("/a/", 302, "/", true),
            ("/x?old=1", 303, "/x", false),
            ("/x?old=1", 301, "/y", false),
            ("/x?old=1", 301, "/x?new=1", false),
            ("/x?old=1", 301, "http://www.example.org/x", false),
            ("/x?old=1", 301, "//x", false),
            ("/x", 301, "/x", false),
            ("/x", 301, "/x/y", false),
        ];
        for (path, status, target, expected) in table {
            let record = record(path, status, target);
            assert_eq!(is_of_site_rules(&record), expected, "{path} {target}");
        }
        assert!(!is_of_site_rules(&Record::new("/x?old=1".to_owned())));
    }

    #[test]
    fn a_target_without_scheme_is_right_for_each_scheme() {
        let found = {
            let script = "main { query optional old = redirect('1', '301'); };";
            let mut rules = SiteRules::new();
            let compiled = WebsiteScript::compile(script).script.expect("a script");
            rules.insert_website("www.example.org", compiled);
            rules
                .resolve("http://www.example.org/x?old=1")
                .expect("a page")
        };
        let redirect = PromisedRedirect::of(&found).expect("a redirect");
        let both = [Scheme::Http, Scheme::Https];
        let table = [
            ("/x", "www.example.org", &both[..], true),
            ("/x", "example.org", &both, true),
            (
                "http://www.example.org/x",
                "www.example.org",
                &both[..1],
                true,
            ),
            ("http://www.example.org/x", "example.org", &both[..1], true),
            ("http://www.example.org/x", "www.example.org", &both, false),
            ("x", "www.example.org", &both, true),
            ("/y", "www.example.org", &both, false),
            ("http://[", "www.example.org", &both, false),
        ];
        for (target, host, schemes, expected) in table {
            let record = record("/x?old=1", 301, target);
            assert_eq!(
                redirect.is_promised_by(&record, host, schemes),
                expected,
                "{target} {host}"
            );
        }
        let pseudo = |content_type: &str| Record {
            status: None,
            content_type: Some(content_type.to_owned()),
            ..record("/x?old=1", 301, "/x")
        };
        assert!(redirect.is_promised_by(&pseudo("X-301-Redirect"), "www.example.org", &both));
        assert!(!redirect.is_promised_by(&pseudo("X-302-Redirect"), "www.example.org", &both));
        assert!(!redirect.is_promised_by(&pseudo("text/html"), "www.example.org", &both));
        let any = Record {
            categories: vec!["redirect-ok".to_owned()],
            ..pseudo("X-301-Redirect")
        };
        assert!(!redirect.is_promised_by(&any, "www.example.org", &both));
    }
}
