//! The common part of `urldb archive compact` and `urldb archive prune`.

use std::io::Write;

use indicatif::BinaryBytes;
use serde::Serialize;
use urldb_text::sanitize;
use urldb_warc::join::JoinedFile;

use super::{Context, ExitCode, archive_files};
use crate::ambient::Ambient;
use crate::archive::{ArchiveFiles, Catalogue, RewritePlan, upload_before_rewrite};
use crate::cli::print::output;
use crate::cli::print::style::{GOOD, ListFormat, ReportFormat, count, paint, print_warning};
use crate::cli::print::upload::upload_new_index_and_print;

/// Options of commands that rewrite the archive.
#[derive(Debug, clap::Args)]
pub(super) struct RewriteArgs {
    /// Say what the command would do, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Output for people, or one JSON object per line: files, then a summary
    #[arg(long, default_value = "human")]
    format: ListFormat,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum JsonLine<'a> {
    /// Files that would become one file.
    Planned { files: &'a [String] },
    /// A new file in the place of others.
    Joined {
        file: &'a str,
        records: u64,
        left_out: u64,
        bytes_before: u64,
        bytes: u64,
    },
    /// A file that stays as it is.
    Unchanged { message: &'a str },
    Summary {
        /// The files before, and after.
        files: u64,
        new_files: u64,
        /// The captures that are left out, and the length of their records.
        captures: u64,
        bytes: u64,
    },
}

/// Makes a plan for the archive and carries it out, or prints it. `plan` also returns notes about files that
/// stay as they are.
pub(super) fn plan_and_carry_out(
    args: &RewriteArgs,
    context: &Context,
    plan: impl FnOnce(&Catalogue) -> anyhow::Result<(RewritePlan, Vec<String>)>,
) -> anyhow::Result<ExitCode> {
    if !args.dry_run {
        upload_before_rewrite(&context.config)?;
    }
    let catalogue = Catalogue::open(archive_files(context)?)?;
    let (plan, notes) = plan(&catalogue)?;
    carry_out(&plan, &notes, &catalogue.into_files(), args, context)
}

fn carry_out(
    plan: &RewritePlan,
    notes: &[String],
    files: &ArchiveFiles,
    args: &RewriteArgs,
    context: &Context,
) -> anyhow::Result<ExitCode> {
    let mut stored = ExitCode::Success;
    let mut printer = RewritePrinter {
        args,
        context,
        unchanged: 0,
        before: 0,
        after: 0,
        failure: Ok(()),
    };
    for note in notes {
        printer.unchanged(note);
    }
    if args.dry_run {
        printer.planned(plan);
    } else {
        let config = &context.config;
        plan.carry_out(files, config, Ambient::SYSTEM, &mut |done| match done {
            Ok(joined) => printer.joined(&joined),
            Err(problem) => printer.unchanged(&problem),
        })?;
        let format = match args.format {
            ListFormat::Human => ReportFormat::Human,
            ListFormat::Jsonl => ReportFormat::Jsonl,
        };
        stored = upload_new_index_and_print(context, format)?;
    }
    Ok(printer.end(plan)?.max(stored))
}

struct RewritePrinter<'a> {
    args: &'a RewriteArgs,
    context: &'a Context,
    /// Number of files that stay as they are because something is wrong with them.
    unchanged: u64,
    /// The lengths of the old and the new files, in bytes.
    before: u64,
    after: u64,
    /// The first error of standard output; the work goes on.
    failure: anyhow::Result<()>,
}

impl RewritePrinter<'_> {
    fn is_human(&self) -> bool {
        self.args.format == ListFormat::Human
    }

    fn print(&mut self, line: &JsonLine<'_>, text: &str) {
        if self.failure.is_err() {
            return;
        }
        let mut out = output::stdout();
        self.failure = match self.args.format {
            ListFormat::Human if text.is_empty() || self.context.quiet => Ok(()),
            ListFormat::Human => writeln!(out, "{text}").map_err(Into::into),
            ListFormat::Jsonl => output::write_json_line(&mut out, line).map_err(Into::into),
        };
    }

    fn unchanged(&mut self, message: &str) {
        self.unchanged += 1;
        if self.is_human() {
            print_warning(message);
        }
        self.print(&JsonLine::Unchanged { message }, "");
    }

    fn planned(&mut self, plan: &RewritePlan) {
        for files in &plan.groups {
            let text = match &files[..] {
                [file] => format!("would rewrite {}", sanitize(file)),
                files => format!(
                    "would join {} to {}, {}",
                    sanitize(&files[0]),
                    sanitize(&files[files.len() - 1]),
                    count(files.len() as u64, "file")
                ),
            };
            self.print(&JsonLine::Planned { files }, &text);
        }
    }

    fn joined(&mut self, joined: &JoinedFile) {
        self.before += joined.bytes_before;
        self.after += joined.bytes;
        let file = self.context.shown(&joined.path);
        let text = format!(
            "{file}: {}, {} left out, {} instead of {}",
            paint(GOOD, format!("{} kept", count(joined.records, "record"))),
            count(joined.left_out, "record"),
            BinaryBytes(joined.bytes),
            BinaryBytes(joined.bytes_before),
        );
        let line = JsonLine::Joined {
            file: &file,
            records: joined.records,
            left_out: joined.left_out,
            bytes_before: joined.bytes_before,
            bytes: joined.bytes,
        };
        self.print(&line, &text);
    }

    fn end(mut self, plan: &RewritePlan) -> anyhow::Result<ExitCode> {
        let new_files = plan.groups.len() as u64;
        let text = if plan.groups.is_empty() {
            "nothing to leave out, and no files to join".to_owned()
        } else if self.args.dry_run {
            format!(
                "would leave out {} of {}, and make {} of {}",
                count(plan.captures, "capture"),
                BinaryBytes(plan.bytes),
                count(new_files, "file"),
                plan.files,
            )
        } else {
            format!(
                "left out {}, made {} of {}, {} instead of {}",
                count(plan.captures, "capture"),
                count(new_files, "file"),
                plan.files,
                BinaryBytes(self.after),
                BinaryBytes(self.before),
            )
        };
        let summary = JsonLine::Summary {
            files: plan.files,
            new_files,
            captures: plan.captures,
            bytes: plan.bytes,
        };
        self.print(&summary, &text);
        self.failure?;
        Ok(if self.unchanged == 0 {
            ExitCode::Success
        } else {
            ExitCode::Findings
        })
    }
}
