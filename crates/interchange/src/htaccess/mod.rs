//! The redirects of a tree of `.htaccess` files: the directives of Apache's `mod_rewrite` and `mod_alias`.
//!
//! The promise is what a rule says, not what a simulation of the server yields, so that a check finds the server's
//! fault. The simulation chooses only an `Accept` with which a request reaches the rule, and finds rules that no
//! request reaches (`shadowed-rule`).
//!
//! | module | content |
//! |---|---|
//! | `lines` | lines, continued lines, words and quotes |
//! | `rules` | the directives of a file |
//! | `flags` | flags and statuses |
//! | `pattern` | the texts that a pattern matches; matching within limits |
//! | `target` | variables and captures |
//! | `tree` | the rule that answers a request |
//! | `items` | an item for each text of a rule |

use std::io::Read;
use std::sync::Arc;

use urldb_canon::identify;

use self::items::Items;
use self::pattern::Matcher;
use self::tree::Tree;
use crate::budget::Budget;
use crate::model::{Notice, ReadError, Sink};

mod flags;
mod items;
mod lines;
mod pattern;
mod rules;
mod target;
mod tree;

/// The limit of all files together, in bytes; a tree of a thousand files has less than one MiB.
const MAX_TREE: u64 = 8 << 20;

/// The rules of a tree, file by file.
#[derive(Debug, Default)]
pub struct HtaccessTree {
    tree: Tree,
    notices: Vec<Notice>,
    bytes: u64,
}

impl HtaccessTree {
    /// A tree without files, whose rules are compared within a budget.
    pub fn new(budget: &Budget) -> Self {
        let mut tree = Self::default();
        tree.tree.matcher = Matcher::new(budget);
        tree
    }

    /// Adds the file of a folder. `folder` is the path of the folder below the root of the tree, such as `ns/`; the
    /// root is empty.
    ///
    /// # Errors
    /// [`ReadError::Input`] if the file cannot be read, has more than 1 MiB, or all files have more than 8 MiB.
    pub fn add(
        &mut self,
        input: impl Read,
        folder: &str,
        file: &Arc<str>,
    ) -> Result<(), ReadError> {
        let mut input = Counted { input, bytes: 0 };
        let read = rules::read(&mut input, folder, file, &mut self.notices);
        self.bytes += input.bytes;
        let folder = read?;
        if self.bytes > MAX_TREE {
            let message = "the files of the tree have more than 8 MiB together";
            return Err(ReadError::malformed(file, 1, message));
        }
        self.tree.add(folder);
        Ok(())
    }

    /// Passes the redirects on. `base` is the URL of the root of the tree, with a final `/`.
    ///
    /// # Errors
    /// Those of the sink, and [`ReadError::Malformed`] with the line at which the budget is spent.
    pub fn read(mut self, base: &str, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        for notice in self.notices {
            sink(notice.into())?;
        }
        let Ok(root) = identify(base) else {
            return Ok(());
        };
        self.tree.root = items::decoded(&root.path);
        let origin = format!("{}://{}", root.scheme, root.host);
        Items::new(&self.tree, base, &origin, &root.host).read(sink)
    }
}

/// Counts the bytes that are read.
struct Counted<R> {
    input: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}
