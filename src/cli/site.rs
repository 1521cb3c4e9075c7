//! `urldb site`.

use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use urldb_files::Root;
use urldb_html::SiteChanges;

use super::Context;
use super::print::output;
use super::print::style::count;
use crate::config::NotifierKind;
use crate::exit::ExitCode;
use crate::notify::{Outbox, site_templates};
use crate::overview;

/// Build the status site from the ledger, without network
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb site build
  urldb site build public")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Build the status site; only pages whose content changed are written
    Build {
        /// The folder of the site [default: `path` of the html notifiers in urldb.toml, or site]
        dir: Option<PathBuf>,
    },
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let Command::Build { dir } = &args.command;
    let config = &context.config;
    let now = Timestamp::now();
    let waiting = Outbox::new(&context.ledger()).waiting(|_| true);
    let configured: Vec<_> = config
        .notifiers
        .iter()
        .filter_map(|(name, notify)| match &notify.kind {
            NotifierKind::Html(html) => Some((name, notify, html)),
            _ => None,
        })
        .collect();
    let mut sites = vec![];
    match (dir, configured.first()) {
        (Some(dir), Some((name, notify, _))) => {
            sites.push((
                Root::new(context.directory.join(dir), "the site"),
                site_templates(config, Some((name, notify)))?,
            ));
        }
        (Some(dir), None) => {
            let folder = Root::new(context.directory.join(dir), "the site");
            sites.push((folder, site_templates(config, None)?));
        }
        (None, None) => {
            let folder = config.site_root(Path::new("site"));
            folder.check()?;
            sites.push((folder, site_templates(config, None)?));
        }
        (None, Some(_)) => {
            for (name, notify, html) in &configured {
                let templates = site_templates(config, Some((name, notify)))?;
                sites.push((config.site_root(&html.path), templates));
            }
        }
    }
    context.incidents(None)?;
    for (folder, templates) in sites {
        let changes = overview::site::build(config, &templates, &folder, now, waiting.clone())?;
        if !context.quiet {
            let SiteChanges {
                written,
                unchanged,
                removed,
            } = changes;
            let mut out = output::stdout();
            let shown = context.shown(folder.path());
            writeln!(
                out,
                "{shown}: {} written, {unchanged} unchanged, {removed} removed",
                count(written, "file")
            )?;
        }
    }
    Ok(ExitCode::Success)
}
