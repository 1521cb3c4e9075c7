//! The lists of a commit, in a temporary folder.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;
use urldb_files::Root;
use urldb_interchange::own_file;

use crate::config::{self, Author, Config, Database, FILE_NAME, ListSource};
use crate::git::{FileVersion, Repository, Snapshot};
use crate::sync::fixed_part;

/// Sources by name.
type Sources = BTreeMap<String, ListSource>;

/// The configuration with the lists of a commit. `choose` gets the sources that urldb.toml had in the commit, and says
/// which are read. The folder is removed when the second value is dropped.
///
/// # Errors
/// When `revision` names no commit, or a file cannot be written.
pub(crate) fn at_revision(
    config: &Config,
    revision: &str,
    choose: impl FnOnce(Sources) -> Sources,
) -> anyhow::Result<(Config, TempDir)> {
    let repository = Repository::of_project(&config.root)?.with_context(|| {
        let folder = config.root.display();
        format!("--changed-since {revision}: {folder} is in no git repository")
    })?;
    let folder = urldb_files::temporary_folder().context("cannot make a temporary folder")?;
    let checkout = Checkout {
        top: repository.relative(&config.root)?,
        folder: Root::new(folder.path(), "the temporary folder"),
        state: Snapshot::Commit(repository.changes_since(revision)?.before),
        repository,
    };
    checkout.write(Path::new(FILE_NAME))?;
    let settings = folder.path().join(FILE_NAME);
    // A file with mistakes has no sources.
    let past = config::load_by(&settings, Author::Stranger).ok();
    let sources = choose(past.map(|it| it.sources).unwrap_or_default());
    for pattern in sources.values().flat_map(|source| &source.path) {
        checkout.write(&fixed_part(pattern))?;
    }
    let database = Database {
        path: std::path::absolute(config.database_root().path())?,
        is_of_lists: true,
    };
    let config = Config {
        root: folder.path().to_owned(),
        // The folder has files of the commit alone, and no link.
        author: Author::Maintainer,
        database,
        sources,
        ..config.clone()
    };
    Ok((config, folder))
}

/// The state of a commit, and the folder that gets some of its files.
struct Checkout {
    repository: Repository,
    state: Snapshot,
    /// The folder of urldb.toml, relative to the work tree.
    top: PathBuf,
    folder: Root,
}

impl Checkout {
    /// Writes the files at a path, which may be a folder: the regular ones, and the links of git-annex as pointers.
    fn write(&self, path: &Path) -> anyhow::Result<()> {
        for (name, version) in self
            .repository
            .files_of(&self.state, &self.top.join(path))?
        {
            let name = name.strip_prefix(&self.top).unwrap_or(&name);
            let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
            if !name.components().all(is_plain) {
                continue;
            }
            let Some(bytes) = self.content(&version)? else {
                continue;
            };
            if let Some(parent) = self.folder.path().join(name).parent() {
                urldb_files::make_folder(parent)?;
            }
            self.folder.file(name).create_new()?.write_all(&bytes)?;
        }
        Ok(())
    }

    /// The bytes to write; a link itself could lead anywhere.
    fn content(&self, version: &FileVersion) -> anyhow::Result<Option<Vec<u8>>> {
        Ok(match version {
            FileVersion::Blob(blob) => Some(self.repository.read_blob(blob)?),
            FileVersion::Link(blob) => {
                let target = String::from_utf8(self.repository.read_blob(blob)?).ok();
                target
                    .and_then(|target| own_file::pointer_of(&target))
                    .map(String::into_bytes)
            }
            _ => None,
        })
    }
}
