//! Standard output, or the file that has a report in its place: `-o`.
#![expect(
    clippy::disallowed_methods,
    reason = "cli::print::output sanitizes what goes to standard output"
)]

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::sync::OnceLock;

use anstream::StripStream;
use anyhow::Context as _;

/// The report so far: a temporary file without a name.
static REPORT: OnceLock<File> = OnceLock::new();

/// Lets the report go into a file, which has it with [`save`].
pub(super) fn begin() -> anyhow::Result<()> {
    let file = urldb_files::unnamed_file().context("cannot make a temporary file")?;
    REPORT.get_or_init(|| file);
    Ok(())
}

/// Replaces the file at `path` by the report.
pub(super) fn save(path: &Path) -> anyhow::Result<()> {
    let Some(mut report) = REPORT.get() else {
        return Ok(());
    };
    report
        .rewind()
        .and_then(|()| {
            urldb_files::write_atomically_with(path, |file| io::copy(&mut report, file).map(drop))
        })
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The output for text. Colours are left out where there is no terminal.
pub(super) fn text() -> Box<dyn Write> {
    match REPORT.get() {
        Some(file) => Box::new(StripStream::new(Box::new(file) as Box<dyn Write>)),
        None => Box::new(anstream::stdout()),
    }
}

/// The output for bytes.
pub(super) fn bytes() -> Box<dyn Write> {
    match REPORT.get() {
        Some(file) => Box::new(file),
        None => Box::new(io::stdout().lock()),
    }
}
