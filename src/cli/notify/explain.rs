//! `urldb notify explain`: the part of each section in an open incident.

use std::io::{self, Write};

use serde::Serialize;
use urldb_render::numbers::{count, moment, with_spaces};
use urldb_text::sanitize;

use crate::ambient::Ambient;
use crate::cli::Context;
use crate::cli::args::open_incident;
use crate::cli::print::output;
use crate::cli::print::style::Format;
use crate::exit::ExitCode;
use crate::ledger::IncidentFile;
use crate::notify::{SectionExplanation, explain};

/// The explanation as data.
#[derive(Serialize)]
struct Document<'a> {
    protocol: u32,
    incident: &'a str,
    host: &'a str,
    /// The URL that was asked about; absent for the whole incident.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    /// Number of URLs that the incident affects, or 1.
    urls: u64,
    sections: Vec<SectionExplanation>,
}

pub(super) fn run(target: &str, format: Format, context: &Context) -> anyhow::Result<ExitCode> {
    let now = (Ambient::SYSTEM.now)();
    let known = context.incidents(Some(now))?;
    let advice = "; `urldb status` shows the state of each URL";
    let file = open_incident(known.known(), target, advice)?;
    let url = target.contains("://").then_some(target);
    let members = file
        .log
        .state()
        .members
        .into_keys()
        .filter(|key| url.is_none_or(|url| key.url == url));
    let document = Document {
        protocol: 1,
        incident: &file.log.id,
        host: &file.log.host,
        url,
        urls: members.count() as u64,
        sections: explain(&context.config, file, url, now),
    };
    let mut out = output::stdout();
    match format {
        Format::Human => write(&mut out, &document, file)?,
        Format::Json => output::write_json_pretty(&mut out, &document)?,
    }
    Ok(ExitCode::Success)
}

fn write(out: &mut impl Write, document: &Document<'_>, file: &IncidentFile) -> io::Result<()> {
    let urls = with_spaces(&count(document.urls, "URL"));
    let about = document.url.map_or(urls, |url| sanitize(url).into_owned());
    let host = sanitize(&file.log.host);
    writeln!(out, "incident {} of {host}: {about}", document.incident)?;
    if document.sections.is_empty() {
        writeln!(out, "urldb.toml has no [notify.NAME]: nobody is notified.")?;
    }
    for section in &document.sections {
        let gets = match section.urls {
            0 => "gets nothing".to_owned(),
            urls if urls == document.urls && urls == 1 => "gets it".to_owned(),
            urls if urls == document.urls => "gets all".to_owned(),
            urls => format!("gets {}", with_spaces(&count(urls, "URL"))),
        };
        writeln!(out, "\n{}  {gets}", section.section)?;
        for reason in &section.excluded {
            writeln!(out, "  not told  {}", sanitize(reason))?;
        }
        if let Some(delivered) = section.delivered {
            writeln!(out, "  told      {}", with_spaces(&moment(delivered)))?;
        }
        if let Some(next) = &section.next {
            writeln!(out, "  next      {}", with_spaces(next))?;
        }
    }
    Ok(())
}
