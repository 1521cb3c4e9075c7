//! `urldb url explain`.

use std::path::{Path, PathBuf};

use urldb_canon::rules::SiteRules;
use urldb_canon::surt;

use super::explanation::{Explanation, RecordLocation, UrlProblem};
use super::table;
use crate::cli::Context;
use crate::cli::print::output;
use crate::cli::print::style::Format;
use crate::database::aliases::Aliases;
use crate::database::lookup::DomainIndex;
use crate::database::site_rules::{self, domain_file, website_file};
use crate::exit::ExitCode;

/// Show each step from a URL to its record
///
/// Shows the parts of the URL, the site rules that were tried and the one that
/// was taken, the resulting page, and whether the database has it. Works
/// without network. The exit code is 1 for a URL that cannot be a record.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb url explain 'http://en.example.org/stars?sort=name'
  urldb url explain --format json http://example.org/ | jq -r .record.file")]
pub(super) struct Args {
    /// A table, or one JSON object
    #[arg(long, default_value = "human")]
    format: Format,
    /// The URL
    #[arg(value_name = "URL")]
    url: String,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let explanation = explain(&args.url, context)?;
    let mut out = output::stdout();
    match args.format {
        Format::Human => table::write(&mut out, &explanation)?,
        Format::Json => output::write_json_pretty(&mut out, &explanation)?,
    }
    Ok(if explanation.record.is_some() {
        ExitCode::Success
    } else {
        ExitCode::Findings
    })
}

fn explain(url: &str, context: &Context) -> anyhow::Result<Explanation> {
    let folder = context.database();
    let has_database = urldb_files::is_folder(&folder);
    let (rules, aliases) = if has_database {
        let aliases = Aliases::load(&context.config)?;
        (site_rules::load(&context.config)?, Some(aliases))
    } else {
        (SiteRules::new(), None)
    };
    let trace = rules.explain(url);
    let file = |name: &Option<String>, file_of: fn(&Path, &str) -> PathBuf| {
        let path = file_of(&folder, name.as_deref()?);
        Some(context.shown(&path))
    };
    let domain_rules = trace.domain_rules.as_ref();
    let website_rules = trace.website_rules.as_ref();
    let (page, problem) = match &trace.outcome {
        Err(failure) => (None, Some(failure)),
        Ok(found) => (found.record.as_ref().ok(), found.record.as_ref().err()),
    };
    let mut explanation = Explanation {
        url: trace.parts.as_ref().map(ToString::to_string),
        domain_file: domain_rules.and_then(|_| file(&trace.domain, domain_file)),
        website_file: website_rules.and_then(|_| file(&trace.website, website_file)),
        record: None,
        surt: trace.parts.as_ref().map(|parts| surt(&parts.to_string())),
        database: has_database.then(|| context.shown(&folder)),
        problem: problem.map(UrlProblem::new),
        trace: trace.clone(),
    };
    if let Some(page) = page {
        let host = aliases.map(|known| known.primary_host(&page.host));
        let mut kept = page.clone();
        kept.host = host.unwrap_or(kept.host);
        explanation.surt = Some(surt(&kept.to_string()));
        let path = context.domain_file(&kept.host);
        let index = DomainIndex::read(&path)?;
        let found = index.find(&kept.path);
        explanation.record = Some(RecordLocation {
            file: context.shown(&path),
            cname: (kept.host != page.host).then(|| page.host.clone()),
            known: has_database.then_some(found.is_some()),
            line: found.map(|(_, record)| record.line),
            path: found.map_or(kept.path.clone(), |(spelling, _)| spelling.to_owned()),
        });
    }
    Ok(explanation)
}
