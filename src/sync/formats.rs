//! The reader for each format, and its input.

use std::cell::Cell;
use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use urldb_files::Root;
use urldb_interchange::budget::Budget;
use urldb_interchange::documents::{self, DocumentOptions, lychee};
use urldb_interchange::htaccess::HtaccessTree;
use urldb_interchange::own_file::Published;
use urldb_interchange::table::Columns;
use urldb_interchange::{
    Location, Notice, ReadEvent, Sink, annex, archive, bag, bazel_registry, brew_json, conandata,
    datapackage, debian_sources, dvc, input, jsonl, jsonld, list, metalink, nix_sources, own_file,
    redirects, schemastore, sitemap, ssd3, sums, table, tfds,
};
use urldb_warc::index::INDEX_DIRECTORY;

use crate::config::Format;
use crate::stop::{Stop, StoppableReader};

pub(crate) struct ReadOptions<'a> {
    pub(crate) format: Format,
    /// The URL of the folder with the files that a list of digests names.
    pub(crate) base: Option<&'a str>,
    /// The keys that the columns of a table hold.
    pub(crate) columns: &'a Columns,
    /// Names of files that a server sends for their folder too.
    pub(crate) index: &'a [String],
    /// The folder that `base` is the URL of, for formats whose files are read together.
    pub(crate) top: &'a Path,
    /// The folder that no file of a list is outside of; without one, the folder of each list.
    pub(crate) root: Option<&'a Root>,
    /// The work that is left for the lists of the command.
    pub(crate) budget: &'a Budget,
    /// Ends the reading.
    pub(crate) stop: &'a Stop,
}

impl ReadOptions<'_> {
    fn needed_base(&self) -> anyhow::Result<&str> {
        self.base
            .context("--base URL is needed: it says where the files are served")
    }

    /// The folder at an absolute path, whose files a list may name.
    fn folder(&self, path: &Path) -> Root {
        match self.root {
            Some(root) => root.folder(path),
            None => Root::new(path, "the folder of the list"),
        }
    }
}

/// A file of a list.
pub(crate) struct ListFile {
    pub(crate) path: PathBuf,
    /// The name in messages.
    pub(crate) shown: Arc<str>,
}

/// Receives the events of several files.
pub(crate) type FilesSink<'a> =
    dyn FnMut(&ListFile, ReadEvent) -> Result<(), Box<dyn Error + Send + Sync>> + 'a;

/// Reads every list; the paths are relative to `directory`. Standard input comes first.
pub(crate) fn read(
    files: &[PathBuf],
    options: &ReadOptions<'_>,
    directory: &Path,
    sink: &mut Sink<'_>,
) -> anyhow::Result<()> {
    let mut lists = vec![];
    for file in files {
        let path = directory.join(file);
        if file.as_os_str() == "-" {
            // Some formats are read twice.
            let mut stdin = urldb_files::unnamed_file().context("cannot make a temporary file")?;
            io::copy(&mut io::stdin().lock(), &mut stdin).context("cannot read standard input")?;
            stdin.rewind()?;
            Source::new(Err(stdin), &"standard input".into(), options).read(sink)?;
            continue;
        }
        let of_folder = options.format.of_folder();
        let found = match of_folder.filter(|_| urldb_files::is_folder(&path)) {
            Some(wants) => super::files::files_in(&path, options.format, wants)?,
            None => vec![path.clone()],
        };
        let found = found.into_iter().map(|found| {
            // Without a slash at the end of a file.
            let shown = match found.strip_prefix(&path) {
                Ok(below) if below.as_os_str().is_empty() => file.clone(),
                Ok(below) => file.join(below),
                Err(_) => found.clone(),
            };
            ListFile {
                shown: shown.display().to_string().into(),
                path: found,
            }
        });
        lists.extend(found);
    }
    read_files(options, &lists, &mut |_, event| sink(event))
}

/// Reads the files of a list.
pub(crate) fn read_files(
    options: &ReadOptions<'_>,
    files: &[ListFile],
    sink: &mut FilesSink<'_>,
) -> anyhow::Result<()> {
    if options.format.has_rules() {
        return read_tree(options, files, sink);
    }
    for file in files {
        if options.format == Format::Files {
            read_own_file(options, file, &mut |event| sink(file, event))?;
            continue;
        }
        Source::new(Ok(&file.path), &file.shown, options).read(&mut |event| sink(file, event))?;
    }
    Ok(())
}

/// Reads a file that is a promise itself.
fn read_own_file(
    options: &ReadOptions<'_>,
    file: &ListFile,
    sink: &mut Sink<'_>,
) -> anyhow::Result<()> {
    let name = file.path.strip_prefix(options.top).unwrap_or(&file.path);
    let parts: Option<Vec<&str>> = name.iter().map(|part| part.to_str()).collect();
    let Some(parts) = parts else {
        let message = "the name is not UTF-8";
        let notice = Notice::refused(Location::line(&file.shown, 1), "bad-name", message);
        return sink(notice.into()).map_err(|error| anyhow::anyhow!(error));
    };
    let published = Published {
        name: &parts.join("/"),
        base: options.needed_base()?,
        index: options.index,
    };
    let open = |path: &Path| {
        let input = urldb_files::open_input(path)?;
        Ok(StoppableReader::new(input, options.stop))
    };
    Ok(own_file::read(
        &file.path,
        &file.shown,
        published,
        open,
        sink,
    )?)
}

/// Reads files whose rules depend on each other.
fn read_tree(
    options: &ReadOptions<'_>,
    files: &[ListFile],
    sink: &mut FilesSink<'_>,
) -> anyhow::Result<()> {
    let base = options.needed_base()?;
    let mut tree = HtaccessTree::new(options.budget);
    let mut by_name = HashMap::new();
    for file in files {
        let folder = file.path.parent().unwrap_or(&file.path);
        let folder = folder.strip_prefix(options.top).unwrap_or(folder);
        let parts = folder.iter().map(|part| part.to_string_lossy() + "/");
        let input = Source::new(Ok(&file.path), &file.shown, options).plain()?;
        tree.add(input, &parts.collect::<String>(), &file.shown)?;
        by_name.insert(&*file.shown, file);
    }
    tree.read(base, &mut |event| match by_name.get(event.file()) {
        Some(file) => sink(file, event),
        None => Ok(()),
    })?;
    Ok(())
}

/// The input of a list.
struct Source<'a> {
    /// The file, or the bytes of standard input.
    path: Result<&'a Path, File>,
    shown: &'a Arc<str>,
    options: &'a ReadOptions<'a>,
    /// Whether the input turned out to be compressed.
    is_packed: Cell<bool>,
}

impl<'a> Source<'a> {
    fn new(
        path: Result<&'a Path, File>,
        shown: &'a Arc<str>,
        options: &'a ReadOptions<'a>,
    ) -> Self {
        Self {
            path,
            shown,
            options,
            is_packed: Cell::new(false),
        }
    }

    fn path(&self, format: &str) -> anyhow::Result<&'a Path> {
        self.path
            .as_ref()
            .ok()
            .copied()
            .with_context(|| format!("{format} cannot be read from standard input; name the file"))
    }

    /// The input as it is, which takes nothing from the budget: its reader knows the size, or reads only bytes on disk.
    fn plain(&self) -> anyhow::Result<BufReader<StoppableReader<File>>> {
        let file = match &self.path {
            Ok(path) => urldb_files::open_input(path),
            Err(stdin) => stdin.try_clone(),
        };
        let file = file.with_context(|| format!("cannot read {}", self.shown))?;
        Ok(BufReader::new(StoppableReader::new(
            file,
            self.options.stop,
        )))
    }

    fn text(&self) -> anyhow::Result<Box<dyn BufRead>> {
        let mut plain = self.plain()?;
        let text = input::is_packed(&mut plain).and_then(|is_packed| {
            self.is_packed.set(is_packed);
            input::unpacked(plain, self.options.budget)
        });
        text.with_context(|| format!("cannot read {}", self.shown))
    }

    /// Reads the list. In a compressed file, no item has places of its values.
    fn read(&self, sink: &mut Sink<'_>) -> anyhow::Result<()> {
        let sink: &mut Sink<'_> = &mut |mut event| {
            if let ReadEvent::Item(item) = &mut event
                && self.is_packed.get()
            {
                item.spans.clear();
            }
            sink(event)
        };
        let (options, shown) = (self.options, self.shown);
        let text = || self.text();
        let base = options.base;
        match options.format {
            Format::Ssd3 => ssd3::read(self.plain()?, shown, sink)?,
            Format::List => list::read(text()?, shown, sink)?,
            Format::Sitemap => {
                let path = self.path("a sitemap")?;
                let folder = options.folder(path.parent().unwrap_or(path));
                sitemap::read(text()?, &folder, shown, options.budget, sink)?;
            }
            Format::Table => table::read(text()?, shown, options.columns, sink)?,
            Format::Jsonl => jsonl::read(text()?, shown, sink)?,
            Format::Sums => sums::read(text()?, shown, options.needed_base()?, sink)?,
            Format::Tfds => tfds::read(text()?, shown, sink)?,
            Format::BazelRegistry => bazel_registry::read(text()?, shown, base, sink)?,
            Format::Conandata => conandata::read(text()?, shown, sink)?,
            Format::NixSources => nix_sources::read(text()?, shown, sink)?,
            Format::BrewJson => brew_json::read(text()?, shown, sink)?,
            Format::DebianSources => {
                debian_sources::read(text()?, shown, options.needed_base()?, sink)?;
            }
            Format::Schemastore => schemastore::read(text()?, shown, sink)?,
            Format::Datapackage => datapackage::read(text()?, shown, base, sink)?,
            Format::Jsonld => jsonld::read(text()?, shown, base, sink)?,
            Format::Metalink => metalink::read(text()?, shown, sink)?,
            Format::Dvc => dvc::read(text()?, shown, sink)?,
            Format::Annex => annex::read(text()?, shown, sink)?,
            Format::Redirects => {
                redirects::read(text()?, shown, options.needed_base()?, options.budget, sink)?;
            }
            Format::Bagit => {
                let folder = options.folder(self.path("a bag")?);
                bag::read(&folder, shown, base, options.budget, sink)?;
            }
            Format::Warc => archive::read_warc(self.path("a WARC file")?, shown, sink)?,
            Format::Cdxj => {
                let folder = options.folder(archive_folder(self.path("an index")?));
                archive::read_cdxj(text()?, &folder, shown, sink)?;
            }
            Format::Links => self.read_links(sink)?,
            Format::Lychee => lychee::read(text()?, shown, sink)?,
            Format::Htaccess | Format::Files => {
                anyhow::bail!("{shown}: name the file or the folder")
            }
        }
        Ok(())
    }

    /// Reads a document. Relative references resolve against its path below the folder that `shown` is
    /// relative to.
    fn read_links(&self, sink: &mut Sink<'_>) -> anyhow::Result<()> {
        let (path, shown) = (self.path("a document")?, self.shown);
        let kind = documents::kind_of(path)
            .with_context(|| format!("{shown} is no document ({})", documents::EXTENSIONS))?;
        let name: PathBuf = Path::new(&**shown).components().collect();
        let (root, name) = if is_below(&name) && path.ends_with(&name) {
            (path.ancestors().nth(name.components().count()), name)
        } else {
            (
                path.parent(),
                path.file_name().map(PathBuf::from).unwrap_or_default(),
            )
        };
        let root = Root::new(root.unwrap_or(Path::new("")), "the folder of the documents");
        let is_local = |below: &str| {
            let file = root.file(below);
            let is_inside = is_below(Path::new(below)) && file.check_link().is_ok();
            is_inside && urldb_files::is_there(&file.path())
        };
        let document = DocumentOptions {
            base: self.options.base,
            path: &name.to_string_lossy(),
            is_local: &is_local,
        };
        documents::read(self.plain()?, kind, shown, &document, sink)?;
        Ok(())
    }
}

/// The folder of the archive whose index, or a segment of it, is at `path`.
fn archive_folder(path: &Path) -> &Path {
    let folder = path.parent().unwrap_or(Path::new(""));
    match (folder.file_name(), folder.parent()) {
        (Some(name), Some(archive)) if name == INDEX_DIRECTORY => archive,
        _ => folder,
    }
}

/// Whether the path cannot lead out of a folder.
fn is_below(path: &Path) -> bool {
    path.components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
