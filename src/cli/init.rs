//! `urldb init`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{Exit, GlobalArgs, style};
use crate::config::FILE_NAME;

/// Make a repository ready: urldb.toml, the database folder, and .gitattributes
///
/// Nothing that is there is overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb init             in the current directory
  urldb init promises/   in another one")]
pub(super) struct Args {
    /// Where; made if it does not exist
    dir: Option<PathBuf>,
}

const CONFIG: &str = include_str!("init.toml");

/// The history of a ledger only grows, at its end: a merge takes the lines of both sides.
const ATTRIBUTES: &str = "status/history.jsonl merge=union";

pub(super) fn run(args: &Args, global: &GlobalArgs) -> anyhow::Result<Exit> {
    let root = match &args.dir {
        Some(dir) => global.directory()?.join(dir),
        None => global.directory()?,
    };
    let database = root.join("urldb");
    let mut out = anstream::stdout().lock();
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
    if add_attributes(&root.join(".gitattributes"))? {
        writeln!(
            out,
            "{} .gitattributes, so that histories merge",
            style::paint(style::GOOD, "wrote")
        )?;
    }
    writeln!(
        out,
        "next: `urldb add --static URL`, then `urldb hook install`, then `urldb check`"
    )?;
    Ok(Exit::Fine)
}

fn add_attributes(path: &Path) -> anyhow::Result<bool> {
    let before = if path.exists() {
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
    } else {
        String::new()
    };
    if before.lines().any(|line| line.trim() == ATTRIBUTES) {
        return Ok(false);
    }
    let gap = if before.is_empty() || before.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    write(path, &format!("{before}{gap}{ATTRIBUTES}\n"))?;
    Ok(true)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    urldb_format::write_atomically(path, text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}
