//! Compares records with the site rules: pages with two records, and records that the rules reject.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use urldb_canon::RequestUrl;
use urldb_canon::rules::SiteRules;
use urldb_format::{DomainReader, Error};
use urldb_text::{Code, Finding};

use super::page_redirect::PromisedRedirect;
use super::site_rules::refusal;

/// The canonical request of a record, and its variant.
type RequestOfPage = (Option<String>, Option<String>);

/// Collects records of domain files, and finds those that contradict the site rules.
#[derive(Debug)]
pub struct PageCheck<'a> {
    rules: &'a SiteRules,
    /// Cnames, and the hosts that they are aliases of.
    aliases: BTreeMap<String, String>,
    /// The hosts that have a file.
    hosts: BTreeSet<String>,
    /// The records of each page: its host, its path, and the request if that is not GET.
    records: BTreeMap<(String, String, RequestOfPage), Vec<RecordLocation>>,
    findings: Vec<Finding>,
}

#[derive(Debug, Clone)]
struct RecordLocation {
    path: PathBuf,
    line: usize,
    host: String,
    url: RequestUrl,
    /// Whether its `_path` equals that of the page.
    has_path_of_page: bool,
}

impl<'a> PageCheck<'a> {
    /// No records yet.
    pub fn new(rules: &'a SiteRules) -> Self {
        Self {
            rules,
            aliases: BTreeMap::new(),
            hosts: BTreeSet::new(),
            records: BTreeMap::new(),
            findings: vec![],
        }
    }

    /// Adds the records of a file.
    ///
    /// # Errors
    /// When the file cannot be read; the records before are added.
    pub fn add<R: Read>(&mut self, mut file: DomainReader<R>) -> Result<(), Error> {
        let (path, metadata) = (file.path().to_owned(), file.metadata().clone());
        let host = urldb_format::host_of(&path);
        let aliases = metadata.cnames.iter();
        self.aliases
            .extend(aliases.map(|cname| (cname.clone(), host.clone())));
        self.hosts.insert(host.clone());
        while let Some(document) = file.next()? {
            let Some(entry) = document.to_entry() else {
                continue;
            };
            let record = entry.record();
            // A record without a valid URL is a mistake of its own.
            let Some(url) = RequestUrl::new(metadata.scheme_of(record), &host, &record.path) else {
                continue;
            };
            let trace = self.rules.explain(url.as_str());
            if trace.domain_rules.is_none() && trace.website_rules.is_none() {
                continue;
            }
            let found = trace.outcome;
            let redirect = found.as_ref().ok().and_then(PromisedRedirect::of);
            match found.and_then(|found| found.record) {
                Ok(page) => {
                    let schemes = metadata.schemes_of(record);
                    let is_kept = |redirect: &PromisedRedirect| {
                        record.request_key().is_some()
                            || redirect.is_promised_by(record, &host, &schemes)
                    };
                    if let Some(redirect) = redirect.filter(|redirect| !is_kept(redirect)) {
                        let key = redirect.contradiction(record, &host, &schemes);
                        let finding = missing_redirect(&url, &redirect, key, entry.line());
                        self.findings.push(finding.in_file(&path));
                    }
                    let place = RecordLocation {
                        path: path.clone(),
                        line: entry.line(),
                        host: host.clone(),
                        url,
                        has_path_of_page: page.path == record.path,
                    };
                    let request = (record.request_key(), metadata.variant_of(record));
                    let key = (page.host, page.path, request);
                    self.records.entry(key).or_default().push(place);
                }
                Err(failure) => {
                    let (code, message) = refusal(url.as_str(), &failure);
                    let finding = Finding::new(code, entry.line(), message);
                    self.findings.push(finding.in_file(&path));
                }
            }
        }
        Ok(())
    }

    /// The findings in the files that are judged. Where two of them have one page, one record is right.
    pub fn finish(mut self, is_judged: impl Fn(&Path) -> bool) -> Vec<Finding> {
        let mut pages: BTreeMap<_, Vec<RecordLocation>> = BTreeMap::new();
        for ((host, path, request), places) in self.records {
            // A website may be a cname, whose records stand in the file of another host.
            let host = self
                .aliases
                .get(&host)
                .filter(|_| !self.hosts.contains(&host))
                .cloned()
                .unwrap_or(host);
            pages
                .entry((host, path, request))
                .or_default()
                .extend(places);
        }
        for ((host, path, _), places) in pages {
            self.findings
                .extend(findings_of_page(&host, &path, &places, &is_judged));
        }
        let of_judged = |finding: &Finding| finding.file.as_deref().is_some_and(&is_judged);
        self.findings.retain(of_judged);
        self.findings
    }
}

/// The finding about a record that does not promise the redirect of its URL; `key` promises another answer.
fn missing_redirect(
    url: &RequestUrl,
    redirect: &PromisedRedirect,
    key: Option<&str>,
    line: usize,
) -> Finding {
    let (description, keys) = (redirect.description(), redirect.keys());
    let problem = key.map_or_else(String::new, |key| format!("; its `{key}` differs"));
    let message = format!("{url} should promise {description}{problem}");
    let help = match key {
        None => format!("`urldb add {url}` adds {keys}"),
        Some(_) => format!("write {keys}"),
    };
    Finding::new(Code::MissingRedirect, line, message).with_help(help)
}

/// The findings about the records of one page.
fn findings_of_page(
    host: &str,
    path: &str,
    places: &[RecordLocation],
    is_judged: impl Fn(&Path) -> bool,
) -> Vec<Finding> {
    let is_own = |place: &&RecordLocation| place.host == host && place.has_path_of_page;
    // Of several records, the one with the spelling of the page stays.
    let others = || places.iter().filter(|place| !is_judged(&place.path));
    let kept = others()
        .find(is_own)
        .or_else(|| others().next())
        .or_else(|| places.iter().find(is_own));
    let Some(kept) = kept.or(places.first()) else {
        return vec![];
    };
    let finding = |place: &RecordLocation| {
        let RecordLocation { line, url, .. } = place;
        let (code, message) = if !std::ptr::eq(place, kept) {
            let message = format!(
                "{url}: to the rules this is {host}{path}, which has a record already: {} ({})",
                kept.url,
                location(&kept.path, kept.line)
            );
            (Code::SamePage, message)
        } else if is_own(&place) {
            return None;
        } else {
            let message = format!("{url}: `urldb add` would write this page as {host}{path}");
            (Code::PageNotCanonical, message)
        };
        Some(Finding::new(code, *line, message).in_file(&place.path))
    };
    places.iter().filter_map(finding).collect()
}

/// The second place of a finding, for people: the name of a domain file in the same folder, and the line.
pub(super) fn location(path: &Path, line: usize) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}:{line}")
}
