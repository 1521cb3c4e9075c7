//! The URLs of a source: without those that it excludes, and as the site rules write them.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use urldb_canon::rules::SiteRules;
use urldb_interchange::{ListItem, Notice};
use urldb_text::Code;

use crate::config::ListSource;
use crate::database::page_redirect::PromisedRedirect;
use crate::database::site_rules::refusal;

/// The URLs that a source leaves out.
pub(super) fn excluded(source: &ListSource) -> anyhow::Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in &source.exclude {
        set.add(GlobBuilder::new(pattern).literal_separator(true).build()?);
    }
    Ok(set.build()?)
}

/// Whether a URL with a promise may be taken to another page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherPage {
    /// The page gets the promise.
    Taken,
    Refused,
}

/// The item, with the URL of its page where the domain has site rules.
///
/// # Errors
/// If the rules do not admit the URL, or refuse that another page gets its promise; or if the rules promise a
/// redirect, and the list another answer.
pub(crate) fn page_of(
    rules: &SiteRules,
    mut item: ListItem,
    other_page: OtherPage,
) -> Result<ListItem, Box<Notice>> {
    if rules.is_empty() {
        return Ok(item);
    }
    let Some(url) = item.url() else {
        return Ok(item);
    };
    let trace = rules.explain(url.as_str());
    if trace.domain_rules.is_none() && trace.website_rules.is_none() {
        return Ok(item);
    }
    let location = item.location.clone();
    let refused =
        |code: Code, message: String| Box::new(Notice::refused(location, code.as_str(), message));
    let redirect = trace.outcome.as_ref().ok().and_then(PromisedRedirect::of);
    match trace.outcome.and_then(|found| found.record) {
        Ok(page) => {
            // Another request than GET is not redirected.
            let redirect = redirect.filter(|_| item.record.request_key().is_none());
            let is_same = (&item.host, &item.record.path) == (&page.host, &page.path);
            let states = item.record.is_static()
                || item.record.status.is_some()
                || item.record.redirects_to.is_some()
                || item.record.content_type.is_some();
            if !is_same && states && other_page == OtherPage::Refused {
                let message = format!(
                    "the site rules take {} to {page}; change the list or the rules",
                    url.as_str()
                );
                return Err(refused(Code::OtherPage, message));
            }
            if let Some(redirect) = &redirect {
                let schemes = [page.scheme];
                if let Some(key) = redirect.contradiction(&item.record, &page.host, &schemes) {
                    let message = format!(
                        "{page} should promise {}; its `{key}` differs: change the list or the rules",
                        redirect.description()
                    );
                    return Err(refused(Code::OtherPage, message));
                }
                redirect.complete_item(&mut item.record);
            }
            let is_other = !is_same || item.scheme != page.scheme;
            item.written = is_other.then(|| url.as_str().into());
            (item.scheme, item.host, item.record.path) = (page.scheme, page.host, page.path);
            Ok(item)
        }
        Err(failure) => {
            let (code, message) = refusal(url.as_str(), &failure);
            Err(refused(code, message))
        }
    }
}
