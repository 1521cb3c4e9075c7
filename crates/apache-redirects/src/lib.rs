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
//! | `promises` | a promise for each text of a rule |
//! | `event` | promises and notes |
//!
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use std::sync::Arc;

use urldb_canon::{authority, identify};

use crate::pattern::Matcher;
use crate::promises::Promises;
use crate::tree::Tree;

pub use crate::event::{OutOfWork, RuleEvent, RuleNote, RulePromise, Work};

pub mod escape;
mod event;
mod flags;
mod lines;
mod pattern;
mod promises;
mod rules;
mod target;
mod tree;

/// The rules of a tree of `.htaccess` files.
#[derive(Debug)]
pub struct RedirectTree {
    tree: Tree,
    notes: Vec<RuleNote>,
}

impl RedirectTree {
    /// A tree without files, whose rules are compared with this work.
    pub fn new(work: Work) -> Self {
        let mut tree = Tree::default();
        tree.matcher = Matcher::new(work);
        Self {
            tree,
            notes: vec![],
        }
    }

    /// Adds the file of a folder. `folder` is the path of the folder below the root of the tree, such as `ns/`; the
    /// root is empty. A line that cannot be read is an error that says why.
    pub fn add(
        &mut self,
        folder: &str,
        file: &Arc<str>,
        lines: impl IntoIterator<Item = Result<String, &'static str>>,
    ) {
        let folder = rules::read(lines, folder, file, &mut self.notes);
        self.tree.add(folder);
    }

    /// Passes the promises and the notes on. `base` is the URL of the root of the tree, with a final `/`.
    ///
    /// # Errors
    /// Those of `take`, and [`OutOfWork`].
    pub fn read<E: From<OutOfWork>>(
        mut self,
        base: &str,
        take: &mut dyn FnMut(RuleEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        for note in self.notes {
            take(RuleEvent::Note(note))?;
        }
        let Ok(root) = identify(base) else {
            return Ok(());
        };
        self.tree.root = promises::decoded(&root.path);
        let origin = format!("{}://{}", root.scheme, authority(&root.host));
        Promises::new(&self.tree, base, &origin, &root.host).read(take)
    }
}
