//! The work that one command may spend on its lists, which may be those of a stranger.
//!
//! The units of a piece of work are guesses that depend on the input alone, so a list is read, or refused, on every machine
//! alike.

use std::io::{self, Read};

use urldb_apache_redirects::Work;

/// The units of a command: two GiB of text, or sixteen million lines.
const MAX_UNITS: u64 = 2 << 30;

/// The units of a byte of text, and those that a line takes beside its bytes.
const BYTE: u64 = 1;
const LINE: u64 = 127;

/// The rest of the work of a command. Clones share it.
#[derive(Debug, Clone)]
pub struct Budget(Work);

/// The error of a command whose lists take too much work.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error(
    "the lists of this command take more work than urldb spends on them: two GiB of text, sixteen million lines, or as much time for patterns; read fewer lists at a time"
)]
pub struct Exhausted;

impl Default for Budget {
    fn default() -> Self {
        Self::of(MAX_UNITS)
    }
}

impl Budget {
    /// A budget of so many units.
    pub fn of(units: u64) -> Self {
        Self(Work::of(units))
    }

    /// Takes units away.
    ///
    /// # Errors
    /// If not so many are left. Then none are.
    pub(crate) fn spend(&self, units: u64) -> Result<(), Exhausted> {
        self.0.spend(units).then_some(()).ok_or(Exhausted)
    }

    /// The same budget, for the rules of Apache.
    pub(crate) fn work(&self) -> Work {
        self.0.clone()
    }

    /// A reader of text, which takes its bytes and lines from the budget.
    pub fn reader<R: Read>(&self, inner: R) -> impl Read + use<R> {
        BudgetReader {
            inner,
            budget: self.clone(),
        }
    }
}

struct BudgetReader<R> {
    inner: R,
    budget: Budget,
}

impl<R: Read> Read for BudgetReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let lines = buffer
            .get(..read)
            .unwrap_or_default()
            .split(|byte| *byte == b'\n')
            .count()
            - 1;
        let units = BYTE * read as u64 + LINE * lines as u64;
        self.budget.spend(units).map_err(io::Error::other)?;
        Ok(read)
    }
}
