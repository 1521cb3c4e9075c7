//! `urldb archive export --wacz`.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use urldb_canon::RequestUrl;
use urldb_format::{Metadata, Record};
use urldb_verdict::Selection;
use urldb_warc::http::StoredRequest;

use super::{Args, Context, ExitCode, catalogue};
use crate::ambient::Ambient;
use crate::archive::wacz::{
    Answers, PackageDescription, SelectedRequest, WaczContents, WaczExport, WaczSelection,
};
use crate::cli::print::output;
use crate::cli::print::style::{count, print_warning};

/// Writes the package `target`.
pub(super) fn run(target: &Path, args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let catalogue = catalogue(context)?;
    let (selection, titles) = selection(args, context)?;
    let mut warnings = 0_u64;
    let mut warn = |text: String| {
        warnings += 1;
        print_warning(text);
    };
    let export = WaczExport::prepare(&catalogue, &selection, &mut warn)?;
    anyhow::ensure!(!export.is_empty(), "there is nothing to export");
    let about = PackageDescription {
        title: crate::run::project_name(&context.config),
        description: context.config.archive.description.clone(),
        created: Ambient::SYSTEM.now_in_seconds(),
    };
    let contents = if target.as_os_str() == "-" {
        output::write_bytes(|out| Ok(export.write(&about, &titles, out)?.1))?
    } else {
        let mut contents = WaczContents::default();
        let path = context.directory.join(target);
        urldb_files::write_new_atomically_with(&path, |file| {
            let (mut out, written) = export.write(&about, &titles, BufWriter::new(file))?;
            out.flush()?;
            contents = written;
            anyhow::Ok(())
        })
        .map_err(|error| refusal(error, target))?;
        contents
    };
    if contents.lost > 0 {
        let captures = count(contents.lost, "capture");
        warn(format!("{captures} of the index cannot be exported"));
    }
    if !context.quiet && target.as_os_str() != "-" {
        let captures = count(contents.captures, "capture");
        let (urls, pages) = (count(contents.urls, "URL"), count(contents.pages, "page"));
        writeln!(
            output::stdout(),
            "exported {captures} of {urls}, {pages} of them, to {}",
            target.display()
        )?;
    }
    Ok(if warnings == 0 {
        ExitCode::Success
    } else {
        ExitCode::Findings
    })
}

/// The advice for a file that exists already.
fn refusal(error: anyhow::Error, target: &Path) -> anyhow::Error {
    let is_there = error.downcast_ref::<io::Error>();
    if is_there.is_some_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
        return anyhow::anyhow!("{} is there already: name a new file", target.display());
    }
    error.context(format!("{} was not written", target.display()))
}

/// The captures to export, and the names of records as titles of pages.
fn selection(
    args: &Args,
    context: &Context,
) -> anyhow::Result<(WaczSelection, HashMap<String, String>)> {
    let selection = args.select.resolve(context)?;
    let is_everything = selection.is_everything();
    let (mut requests, mut titles) = (vec![], HashMap::new());
    // An archive can be exported without the database of its URLs.
    let has_database = urldb_files::is_folder(&context.database());
    if has_database || !is_everything {
        read_records(context, &selection, &mut |request, title| {
            if let (Some(title), Answers::To(None)) = (title, &request.answers) {
                let urls = request.urls.iter().cloned();
                titles.extend(urls.map(|url| (url, title.to_owned())));
            }
            if !is_everything {
                requests.push(request);
            }
        })?;
    }
    let selection = if !args.urls.is_empty() {
        let of_url = |url: &String| SelectedRequest {
            urls: vec![url.clone()],
            answers: Answers::All,
            is_expected: true,
        };
        WaczSelection::Requests(args.urls.iter().map(of_url).collect())
    } else if is_everything {
        WaczSelection::Everything
    } else {
        WaczSelection::Requests(requests)
    };
    Ok((selection, titles))
}

/// Passes on the request of each selected record, to the domain and to each of its cnames, with the
/// record's `name`.
fn read_records(
    context: &Context,
    selection: &Selection,
    take: &mut dyn FnMut(SelectedRequest, Option<&str>),
) -> anyhow::Result<()> {
    let database = context.config.open_database()?;
    for parsed in database.read_where(|host| selection.wants_domain(host)) {
        let file = parsed?.file;
        for entry in file.records() {
            let record = entry.record();
            if selection.wants_record(file.host(), record) {
                let metadata = file.metadata();
                let names = metadata.cnames.iter().map(String::as_str);
                for (number, host) in std::iter::once(file.host()).chain(names).enumerate() {
                    let request = SelectedRequest {
                        urls: urls(metadata, host, record),
                        answers: Answers::To(request_of(record)),
                        // Only some records are archived under the other names of their domain.
                        is_expected: number == 0 && record.is_static(),
                    };
                    take(request, record.name.as_deref());
                }
            }
        }
    }
    Ok(())
}

/// The URLs of a record under a name of its domain.
fn urls(metadata: &Metadata, host: &str, record: &Record) -> Vec<String> {
    metadata
        .schemes_of(record)
        .into_iter()
        .filter_map(|scheme| RequestUrl::new(scheme, host, &record.path))
        .map(String::from)
        .collect()
}

/// The request of a record; `None` for a GET.
fn request_of(record: &Record) -> Option<StoredRequest> {
    let request = urldb_verdict::Request::of(record);
    let content_type = request
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    (request.method != "GET").then(|| StoredRequest {
        content_type: content_type.map(|(_, it)| it.clone()).unwrap_or_default(),
        method: request.method.clone(),
        body: request.body.clone().unwrap_or_default().into_bytes(),
    })
}
