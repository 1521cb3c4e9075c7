//! The common part of `urldb archive compact` and `urldb archive prune`.

use std::fmt::Display;
use std::io::Write;

use indicatif::BinaryBytes;
use serde::Serialize;
use urldb_text::sanitize;
use urldb_warc::join::JoinedFile;

use super::line_printer::LinePrinter;
use super::{Context, ExitCode, archive_files};
use crate::ambient::Ambient;
use crate::archive::{ArchiveFiles, Catalogue, RewritePlan, upload_before_rewrite};
use crate::cli::print::output;
use crate::cli::print::style::{GOOD, ListFormat, count, paint, print_warning};
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
enum RewriteLine<'a> {
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
    let mut printer = RewritePrinter {
        lines: LinePrinter::new(output::stdout(), args.format),
        context,
        is_any_unchanged: false,
    };
    for note in notes {
        printer.unchanged(note);
    }
    let mut stored = ExitCode::Success;
    let captures = count(plan.captures, "capture");
    let new_files = count(plan.groups.len() as u64, "file");
    let text = if args.dry_run {
        for files in &plan.groups {
            printer.planned(files);
        }
        let bytes = BinaryBytes(plan.bytes);
        format!(
            "would leave out {captures} of {bytes}, and make {new_files} of {}",
            plan.files
        )
    } else {
        let (mut before, mut after) = (0, 0);
        let config = &context.config;
        plan.carry_out(files, config, Ambient::SYSTEM, &mut |done| match done {
            Ok(joined) => {
                before += joined.bytes_before;
                after += joined.bytes;
                printer.joined(&joined);
            }
            Err(problem) => printer.unchanged(&problem),
        })?;
        stored = upload_new_index_and_print(context, args.format.into())?;
        let (before, after) = (BinaryBytes(before), BinaryBytes(after));
        format!(
            "left out {captures}, made {new_files} of {}, {after} instead of {before}",
            plan.files
        )
    };
    printer.summary(plan, &text);
    printer.lines.end()?;
    Ok(if printer.is_any_unchanged {
        ExitCode::Findings.max(stored)
    } else {
        stored
    })
}

struct RewritePrinter<'a, W> {
    lines: LinePrinter<W>,
    context: &'a Context,
    /// Whether a file stays as it is because something is wrong with it.
    is_any_unchanged: bool,
}

impl<W: Write> RewritePrinter<'_, W> {
    fn print(&mut self, line: &RewriteLine<'_>, text: impl Display) {
        self.lines.print_unless(self.context.quiet, line, text);
    }

    fn unchanged(&mut self, message: &str) {
        self.is_any_unchanged = true;
        if self.lines.is_human() {
            print_warning(message);
        } else {
            self.print(&RewriteLine::Unchanged { message }, "");
        }
    }

    fn planned(&mut self, files: &[String]) {
        let text = match files {
            [file] => format!("would rewrite {}", sanitize(file)),
            files => format!(
                "would join {} to {}, {}",
                sanitize(&files[0]),
                sanitize(&files[files.len() - 1]),
                count(files.len() as u64, "file")
            ),
        };
        self.print(&RewriteLine::Planned { files }, text);
    }

    fn joined(&mut self, joined: &JoinedFile) {
        let file = self.context.shown(&joined.path);
        let text = format!(
            "{file}: {}, {} left out, {} instead of {}",
            paint(GOOD, format!("{} kept", count(joined.records, "record"))),
            count(joined.left_out, "record"),
            BinaryBytes(joined.bytes),
            BinaryBytes(joined.bytes_before),
        );
        let line = RewriteLine::Joined {
            file: &file,
            records: joined.records,
            left_out: joined.left_out,
            bytes_before: joined.bytes_before,
            bytes: joined.bytes,
        };
        self.print(&line, text);
    }

    fn summary(&mut self, plan: &RewritePlan, text: &str) {
        let new_files = plan.groups.len() as u64;
        let summary = RewriteLine::Summary {
            files: plan.files,
            new_files,
            captures: plan.captures,
            bytes: plan.bytes,
        };
        let is_idle = plan.groups.is_empty();
        let idle = "nothing to leave out, and no files to join";
        self.print(&summary, if is_idle { idle } else { text });
    }
}
