//! `urldb init`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::GlobalArgs;
use super::print::style;
use crate::cli::print::output;
use crate::config::FILE_NAME;
use crate::exit::ExitCode;

/// Set up a repository: urldb.toml, the database folder, and settings for git
///
/// Existing files are not overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb init             in the current directory
  urldb init promises/   in another one")]
pub(super) struct Args {
    /// Directory to initialize (created if missing)
    dir: Option<PathBuf>,
}

const CONFIG: &str = include_str!("../../templates/init.toml");

/// The history of a ledger only grows, at its end: a merge takes the lines of both sides.
const HISTORY: &str = "status/history/*.jsonl merge=union";

/// Runs make the index of the archive from its files.
const INDEX: &str = "archive/index/";

/// The temporary files of a killed urldb.
const TEMPORARY: &str = ".urldb-tmp-*";

/// The archive's lock belongs to this machine only.
const IGNORED: &str = "archive/.*";

pub(super) fn run(args: &Args, global: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let root = match &args.dir {
        Some(dir) => global.directory()?.join(dir),
        None => global.directory()?,
    };
    let database = root.join("urldb");
    let mut out = output::stdout();
    if !database.is_dir() {
        fs::create_dir_all(&database)
            .with_context(|| format!("cannot make {}", database.display()))?;
        writeln!(
            out,
            "{} urldb/, the database: one file a domain",
            style::paint(style::GOOD, "made")
        )?;
    }
    let config = root.join(FILE_NAME);
    if !config.exists() {
        write(&config, CONFIG)?;
        writeln!(
            out,
            "{} {FILE_NAME}: every key in it is optional",
            style::paint(style::GOOD, "wrote")
        )?;
    }
    let lines = [
        (".gitattributes", HISTORY, "so that histories merge"),
        (".gitignore", INDEX, "for the archive's index"),
        (".gitignore", IGNORED, "for the archive's hidden files"),
        (".gitignore", TEMPORARY, "for temporary files"),
    ];
    for (name, line, why) in lines {
        if add_line(&root.join(name), line)? {
            writeln!(out, "{} {name}, {why}", style::paint(style::GOOD, "wrote"))?;
        }
    }
    writeln!(
        out,
        "next: `urldb add --static URL`, then `urldb hook install`, then `urldb check`"
    )?;
    Ok(ExitCode::Success)
}

/// Adds a line to a file of lines, unless it is there.
fn add_line(path: &Path, line: &str) -> anyhow::Result<bool> {
    let before = if path.exists() {
        urldb_files::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?
    } else {
        String::new()
    };
    if before.lines().any(|known| known.trim() == line) {
        return Ok(false);
    }
    let gap = if before.is_empty() || before.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    write(path, &format!("{before}{gap}{line}\n"))?;
    Ok(true)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    urldb_files::write_atomically(path, text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}
