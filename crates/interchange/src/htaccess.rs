//! The redirects of a tree of `.htaccess` files, as `urldb-apache-redirects` reads them.

use std::io::{BufReader, Read};
use std::sync::Arc;

use urldb_apache_redirects::{OutOfWork, RedirectTree, RuleEvent, RuleNote, RulePromise};

use crate::budget::{Budget, Exhausted};
use crate::input::{LimitedReader, LineReader};
use crate::model::{ListItem, Location, Notice, ReadError, Sink};

/// The size limit of a file. The largest in use have 130 kB.
const MAX_FILE: u64 = 1 << 20;

/// The limit of all files together, in bytes; a tree of a thousand files has less than one MiB.
const MAX_TREE: u64 = 8 << 20;

/// The rules of a tree, file by file.
#[derive(Debug)]
pub struct HtaccessTree {
    tree: RedirectTree,
    bytes: u64,
}

impl HtaccessTree {
    /// A tree without files, whose rules are compared within a budget.
    pub fn new(budget: &Budget) -> Self {
        Self {
            tree: RedirectTree::new(budget.work()),
            bytes: 0,
        }
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
        let mut texts = vec![];
        let mut lines = LineReader::new(BufReader::new(LimitedReader::new(input, MAX_FILE)));
        while let Some(line) = lines.next_line().map_err(ReadError::input(file))? {
            self.bytes += 1 + line.text.map_or(0, str::len) as u64;
            texts.push(line.text.map(str::to_owned));
        }
        if self.bytes > MAX_TREE {
            let message = "the files of the tree have more than 8 MiB together";
            return Err(ReadError::malformed(file, 1, message));
        }
        self.tree.add(folder, file, texts);
        Ok(())
    }

    /// Passes the redirects on. `base` is the URL of the root of the tree, with a final `/`.
    ///
    /// # Errors
    /// Those of the sink, and [`ReadError::Malformed`] with the line at which the budget is spent.
    pub fn read(self, base: &str, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        self.tree.read(base, &mut |event| {
            Ok(match event {
                RuleEvent::Note(note) => sink(notice_of(note).into()),
                RuleEvent::Promise(promise) => sink(item_of(promise).into()),
            }?)
        })
    }
}

impl From<OutOfWork> for ReadError {
    fn from(error: OutOfWork) -> Self {
        Self::malformed(&error.file, error.line, Exhausted.to_string())
    }
}

fn notice_of(note: RuleNote) -> Notice {
    let location = Location::line(&note.file, note.line);
    if note.is_mistake {
        Notice::refused(location, note.code, note.message)
    } else {
        Notice::left_out(location, note.code, note.message)
    }
}

fn item_of(promise: RulePromise) -> Result<ListItem, Notice> {
    let location = Location::line(&promise.file, promise.line);
    ListItem::new(location, &promise.url).map(|mut item| {
        item.record.status = Some(promise.status);
        item.record.redirects_to = promise.target;
        if let Some(accept) = promise.accept {
            item.record.request_headers.insert("Accept", accept);
        }
        item
    })
}
