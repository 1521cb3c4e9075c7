//! `urldb rm`.

use std::io::Write;

use urldb_format::{DomainFile, Identity};

use super::edit::Edit;
use super::select::find_records;
use super::{Context, Exit, style};

/// Take URLs out of the database
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  urldb rm http://example.org/old.csv")]
pub(super) struct Args {
    /// URLs of the database
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let _edit = Edit::begin(&context.database())?;
    // All are looked up before any is removed: a typo in one leaves everything as it was.
    let records = find_records(context, &args.urls)?;
    let mut out = anstream::stdout().lock();
    for (host, path) in records {
        let file = context.database().join(format!("{host}.yaml"));
        let mut domain = DomainFile::read(&file)?.file;
        // A URL may have a record for each of several requests.
        let records = domain.records().map(|entry| entry.record().identity());
        let named: Vec<Identity> = records.filter(|identity| identity.path == path).collect();
        for identity in &named {
            domain.remove(identity)?;
        }
        domain.write()?;
        if !context.quiet {
            writeln!(
                out,
                "{} {host}{path} from {}",
                style::paint(style::GOOD, "removed"),
                context.shown(&file)
            )?;
        }
    }
    Ok(Exit::Fine)
}
