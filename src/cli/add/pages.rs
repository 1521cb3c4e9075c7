//! The URLs of the command line, as the site rules and `cnames` have them.

use std::collections::HashSet;
use std::io::{self, BufRead, Write};

use anyhow::Context as _;
use urldb_canon::rules::{ResolveError, UrlParts};
use urldb_canon::{Identity, RequestUrl, UrlError, kind_of_held};
use urldb_format::Record;

use crate::cli::Context;
use crate::cli::print::output;
use crate::database::aliases::Aliases;
use crate::database::page_redirect::PromisedRedirect;
use crate::database::site_rules;

/// The reason why a URL cannot be added.
fn refusal(url: &str, error: UrlError) -> anyhow::Error {
    if kind_of_held(url).is_none() {
        return error.into();
    }
    anyhow::anyhow!(
        "{error}; `urldb import` of ssd3, jsonl or table holds such a URI, and nothing checks it"
    )
}

/// The URL of a record, and the redirect that it promises by the site rules.
pub(super) struct Page {
    pub(super) identity: Identity,
    pub(super) redirect: Option<PromisedRedirect>,
}

/// The page of each URL, without duplicates, spelled as the site rules and `cnames` have it.
pub(super) fn pages(
    urls: &[String],
    asked: &Record,
    context: &Context,
) -> anyhow::Result<Vec<Page>> {
    let aliases = Aliases::load(&context.config)?;
    let rules = site_rules::load(&context.config)?;
    let mut out = output::stdout();
    let (mut pages, mut known) = (vec![], HashSet::new());
    for url in urls {
        let spelled = UrlParts::parse(url)
            .map_err(|error| refusal(url, error))?
            .to_string();
        let found = rules.resolve(url);
        let redirect = found.as_ref().ok().and_then(PromisedRedirect::of);
        let mut page = match found.and_then(|found| found.record) {
            Ok(page) => page,
            Err(ResolveError::Url(error)) => return Err(refusal(url, error)),
            Err(failure) => {
                let code = failure.code();
                anyhow::bail!("{spelled} cannot be added: {failure} ({code})");
            }
        };
        if page.to_string() != spelled && !context.quiet {
            writeln!(out, "{spelled} is {page} to the site rules")?;
        }
        page.host = aliases.primary_host(&page.host);
        anyhow::ensure!(
            RequestUrl::new(page.scheme, &page.host, &page.path).is_some(),
            "{spelled} cannot be added: its host is a cname in {}, whose name is not a host",
            context.shown(&context.domain_file(&page.host))
        );
        if known.insert(page.clone()) {
            pages.push(Page {
                identity: page,
                // Another request than GET is not redirected.
                redirect: redirect.filter(|_| asked.request_key().is_none()),
            });
        }
    }
    Ok(pages)
}

pub(super) fn read_urls(arguments: &[String]) -> anyhow::Result<Vec<String>> {
    let mut urls = vec![];
    for argument in arguments {
        if argument == "-" {
            for line in io::stdin().lock().lines() {
                let line = line.context("cannot read URLs from standard input")?;
                urls.extend(
                    Some(line.trim().to_owned())
                        .filter(|url| !url.is_empty() && !url.starts_with('#')),
                );
            }
        } else {
            urls.push(argument.clone());
        }
    }
    Ok(urls)
}
