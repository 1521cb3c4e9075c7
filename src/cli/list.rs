//! `urldb list`.

use std::io::Write;

use serde::Serialize;
use urldb_format::Record;

use super::select::SelectArgs;
use super::{Context, Exit, check::Format};

/// List the URLs of the database
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb list
  urldb list -d example.org -c core
  urldb list --format json | jq -r .url")]
pub(super) struct Args {
    #[command(flatten)]
    select: SelectArgs,
    /// One URL a line, or one JSON object a line
    #[arg(long, default_value = "human")]
    format: Format,
}

/// One line of `--format json`.
#[derive(Serialize)]
struct Listed<'a> {
    url: String,
    file: &'a str,
    line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [String],
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let selection = args.select.resolve(context)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for parsed in context.config.open_database()?.read() {
        let file = parsed?.file;
        let (host, name) = (file.host(), context.shown(file.path()));
        if !selection.wants_domain(host) {
            continue;
        }
        let scheme = if file.metadata().http {
            "http"
        } else {
            "https"
        };
        for entry in file
            .records()
            .filter(|entry| selection.wants_record(host, entry.record()))
        {
            let url = format!("{scheme}://{host}{}", entry.record().path);
            match args.format {
                Format::Human => writeln!(out, "{url}")?,
                Format::Json => {
                    serde_json::to_writer(
                        &mut out,
                        &listed(url, &name, entry.line(), entry.record()),
                    )?;
                    writeln!(out)?;
                }
            }
        }
    }
    out.flush()?;
    Ok(Exit::Fine)
}

fn listed<'a>(url: String, file: &'a str, line: usize, record: &'a Record) -> Listed<'a> {
    Listed {
        url,
        file,
        line,
        length: record.content_length,
        sha256: record.content_sha256.as_deref(),
        content_type: record.content_type.as_deref(),
        categories: &record.categories,
    }
}
