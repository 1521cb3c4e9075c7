//! `urldb diff`: which records two states of the database differ in.
//!
//! `compared` reads the two versions of each file and compares them. One file is in memory at a time:
//! `human` and `json` write each file at once, `markdown` collects the lines of `human` up to its limit.

mod compared;
mod human;
mod json;
mod markdown;
mod moves;
mod values;

pub(crate) use markdown::settings_line;

use std::io;
use std::path::PathBuf;

use clap::ValueEnum;

use self::compared::{ComparedFile, Totals, Versions};
use self::moves::Moves;
use super::Context;
use super::print::output;
use crate::cli::args::{changed_settings, domain_file_name};
use crate::exit::ExitCode;
use crate::git::{ChangedFile, Comparison, Repository};

/// Show which records were added, removed and changed between two states of the database
///
/// Compares the last commit with the files on disk, also those that git does not track. Formatting
/// and comments are no difference. A changed promise is marked: a key that says what is requested,
/// or what must come back.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb diff                      since the last commit
  urldb diff --staged             what the next commit changes
  urldb diff main...              on this branch, since it left main
  urldb diff --stat v1.0..v2.0    between two commits, a line for each file
  urldb diff v1.0..v2.0           between two commits
  urldb diff --format markdown main... | gh pr comment --body-file -

Exit codes: 0 also with differences, 2 errors")]
pub(super) struct Args {
    /// REV with the files on disk; REV..REV two commits; REV...REV the second with the last commit
    /// that both have in common
    #[arg(value_name = "REV[..REV]", allow_hyphen_values = false)]
    range: Option<String>,
    /// As in `git diff A B`; the error says how it is written here
    #[arg(hide = true)]
    second: Option<String>,
    /// Compare with the staged files
    #[arg(long)]
    staged: bool,
    /// Form of the output
    #[arg(long, default_value = "human")]
    format: DiffFormat,
    /// Only a line with numbers for each file
    #[arg(long)]
    stat: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    /// Text for a terminal.
    Human,
    /// Text for a pull request, below GitHub's limit of a comment.
    Markdown,
    /// One document with every value.
    Json,
}

/// Writes compared files in one form.
trait Writer {
    /// Writes a file that differs.
    fn add(&mut self, file: &ComparedFile<'_>) -> io::Result<()>;

    /// Writes the end.
    fn finish(&mut self, totals: &Totals) -> io::Result<()>;
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    if let (Some(first), Some(second)) = (&args.range, &args.second) {
        let range = format!("{first}..{second}");
        let command = urldb_render::command_line(&["urldb", "diff", &range])
            .filter(|_| !first.contains("..") && !second.contains(".."));
        anyhow::bail!(
            "two states are one argument: `{}`",
            command.as_deref().unwrap_or("urldb diff REV..REV")
        );
    }
    anyhow::ensure!(
        !args.stat || args.format == DiffFormat::Human,
        "--stat is for people: it has no other --format"
    );
    let database = context.database();
    let repository = Repository::of_project(&database)?.ok_or_else(|| {
        let folder = context.shown(&database);
        anyhow::anyhow!("{folder} is in no git repository, so there is nothing to compare it with")
    })?;
    let comparison = repository.comparison(args.range.as_deref(), args.staged)?;
    let settings = changed_settings(&repository, &comparison, context)?;
    let settings = settings.as_ref();
    let out = io::BufWriter::new(output::stdout());
    let mut writer: Box<dyn Writer> = match args.format {
        DiffFormat::Human => Box::new(human::HumanWriter::new(out, settings, args.stat, context)?),
        DiffFormat::Markdown => {
            let text = human::HumanWriter::new(vec![], None, false, context)?;
            Box::new(markdown::MarkdownWriter::new(out, text, settings))
        }
        DiffFormat::Json => Box::new(json::JsonWriter::new(out, settings, &comparison)?),
    };
    compare(&repository, &comparison, context, writer.as_mut())?;
    Ok(ExitCode::Success)
}

/// Compares every domain file that git says may differ.
fn compare(
    repository: &Repository,
    comparison: &Comparison,
    context: &Context,
    writer: &mut dyn Writer,
) -> anyhow::Result<()> {
    let database = context.database();
    let folder = repository.relative(&database)?;
    let files: Vec<(ChangedFile, PathBuf)> = repository
        .changed_files(comparison, &folder)?
        .into_iter()
        .filter_map(|file| {
            let path = database.join(domain_file_name(&file.path, &folder)?);
            Some((file, path))
        })
        .collect();
    let moves = Moves::find(repository, &files)?;
    let mut totals = Totals::default();
    for (index, (file, path)) in files.iter().enumerate() {
        if moves.is_source(index) {
            continue;
        }
        let Some(mut versions) = Versions::read(repository, file, path)? else {
            continue;
        };
        if let Some((file, path)) = moves.source_of(index).and_then(|from| files.get(from)) {
            versions.move_from(Versions::read(repository, file, path)?);
        }
        let compared = versions.compare(context.shown(path));
        totals.add(&compared);
        if compared.differs() {
            writer.add(&compared)?;
        }
    }
    writer.finish(&totals)?;
    Ok(())
}
