//! The folders that urldb.toml names, as roots: no link leads a file out of them.
//!
//! The repository is one boundary, since anybody's commit may bring a link: a folder at a path in it is a
//! part of it. A folder that urldb.toml itself places elsewhere is a boundary of its own, and so are the
//! archive and the folder of messages, which are often on another disk. If strangers wrote the files, no link in the
//! repository is followed: it could lead to `.git/config`.

use std::path::{Component, Path};

use urldb_files::{Outside, Root};

use super::untrusted::Author;
use super::{Config, NotifierKind};
use crate::database::site_rules;
use crate::ledger;

impl Config {
    /// The folder of urldb.toml.
    pub fn repository_root(&self) -> Root {
        repository(&self.root, self.author)
    }

    /// The folder of domain files.
    pub fn database_root(&self) -> Root {
        self.placed(&self.database.path, "the database")
    }

    /// The folder of site rules.
    pub fn rules_root(&self) -> Root {
        self.database_root().folder(site_rules::FOLDER)
    }

    /// The folder of the ledger.
    pub fn ledger_root(&self) -> Root {
        self.placed(&self.ledger.path, "the ledger")
    }

    /// The folder of the archive.
    pub fn archive_root(&self) -> Root {
        Root::new(self.root.join(&self.archive.path), "the archive")
    }

    /// The folder of a site, at the path that a notifier or a command names.
    pub fn site_root(&self, path: &Path) -> Root {
        self.placed(path, "the site")
    }

    /// The folder to which a notifier writes its messages.
    pub fn mail_root(&self, path: &Path) -> Root {
        Root::new(self.root.join(path), "the folder of messages")
    }

    /// The folders to which notifiers write.
    pub fn output_roots(&self) -> impl Iterator<Item = Root> {
        self.notifiers
            .values()
            .map(|notify| &notify.kind)
            .filter_map(|kind| match kind {
                NotifierKind::Html(html) => Some(self.site_root(&html.path)),
                kind => kind.folder().map(|folder| self.mail_root(folder)),
            })
    }

    /// The folder with the templates of a notifier.
    pub fn templates_root(&self, path: &Path) -> Root {
        Root::new(self.root.join(path), "the templates")
    }

    /// Refuses links that lead a folder of the repository out of it: the database, its site rules, the ledger,
    /// and the folders of html notifiers.
    ///
    /// # Errors
    /// [`Outside`] names the first such folder.
    pub fn ensure_inside(&self) -> Result<(), Outside> {
        self.rules_root().check()?;
        let ledger = self.ledger_root();
        for part in ledger::FOLDERS {
            ledger.folder(part).check()?;
        }
        self.output_roots().try_for_each(|root| root.check())
    }

    /// The folder at `path` in the repository; or elsewhere, as a boundary of its own.
    fn placed(&self, path: &Path, name: &'static str) -> Root {
        let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if path.components().all(is_below) {
            self.repository_root().folder(path)
        } else {
            Root::new(self.root.join(path), name)
        }
    }
}

/// The repository whose urldb.toml is in `root`.
pub(super) fn repository(root: &Path, author: Author) -> Root {
    let repository = Root::new(root, "the repository");
    match author {
        Author::Maintainer => repository,
        Author::Stranger => repository.without_links(),
    }
}
