//! Folders whose files are read and written without leaving them.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::atomic::{
    remove, remove_old_stray_files, remove_stray_files, replace_unsynced, write_atomically,
    write_atomically_with, write_new_atomically_with,
};
use crate::limit::Limit;
use crate::outside::{Outside, Refusal};
use crate::reading::{self, Kind};

/// A folder and the boundary around it, which no symbolic link crosses.
///
/// A link that is exchanged between the check and the use of a file can lead outside: whoever can do that
/// on the machine needs no link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Root {
    /// The folder whose links lead only to what is in it.
    boundary: PathBuf,
    /// The folder for people, such as `the repository`.
    name: &'static str,
    /// The folder of the files, in the boundary.
    folder: PathBuf,
    access: Access,
}

/// The files within the boundary that a [`Root`] opens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    /// All of them.
    All,
    /// Those that no link leads to.
    WithoutLinks,
    /// Those among these, by their real paths. The text says to people what they are.
    Only(Arc<BTreeSet<PathBuf>>, &'static str),
}

/// A file in a [`Root`], which need not exist. A path with `..`, and an absolute one, is refused when the file
/// is used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RootFile {
    root: Root,
    /// The path in the folder of the root.
    name: PathBuf,
}

impl Root {
    /// The folder at `path`, which need not exist, and which is a boundary of its own. The way to it may have
    /// links. `name` is what people call the folder, such as `the archive`.
    pub fn new(path: impl Into<PathBuf>, name: &'static str) -> Self {
        let boundary = path.into();
        let folder = boundary.clone();
        Self {
            boundary,
            name,
            folder,
            access: Access::All,
        }
    }

    /// The same folder, in which no link is followed.
    #[must_use]
    pub fn without_links(self) -> Self {
        Self {
            access: Access::WithoutLinks,
            ..self
        }
    }

    /// The same folder, of which only these files are opened. They are real paths: a link leads to one of them, or
    /// is refused. `wanted` says what they are, such as `a file that git tracks`.
    #[must_use]
    pub fn only(self, files: BTreeSet<PathBuf>, wanted: &'static str) -> Self {
        Self {
            access: Access::Only(Arc::new(files), wanted),
            ..self
        }
    }

    /// A folder in this one, within the same boundary.
    #[must_use]
    pub fn folder(&self, path: impl AsRef<Path>) -> Self {
        Self {
            folder: self.folder.join(path),
            ..self.clone()
        }
    }

    /// The files that alone are opened, for people, if there are such: [`Self::only`].
    pub fn wanted(&self) -> Option<&'static str> {
        match self.access {
            Access::Only(_, wanted) => Some(wanted),
            _ => None,
        }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// A file in the folder.
    pub fn file(&self, path: impl Into<PathBuf>) -> RootFile {
        RootFile {
            root: self.clone(),
            name: path.into(),
        }
    }

    /// The files and folders in the folder, sorted by name; none if there is no folder.
    ///
    /// # Errors
    /// If the folder is a link out of the boundary, or cannot be listed.
    pub fn files(&self) -> io::Result<Vec<RootFile>> {
        self.check()?;
        let entries = match fs::read_dir(self.folder_or_current()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            entries => entries?,
        };
        let mut files = vec![];
        for entry in entries {
            files.push(self.file(entry?.file_name()));
        }
        files.sort();
        Ok(files)
    }

    /// Refuses a folder that is a link out of the boundary, or behind one.
    ///
    /// # Errors
    /// If there is such a link.
    pub fn check(&self) -> Result<(), Outside> {
        self.check_path(&self.folder, true)
    }

    /// Whether the folder is there, within the boundary.
    pub fn is_folder(&self) -> bool {
        self.check().is_ok() && self.folder_or_current().is_dir()
    }

    /// Makes the folder, and those above it.
    ///
    /// # Errors
    /// If a link leads out of the boundary, or a folder cannot be made.
    pub fn make(&self) -> io::Result<()> {
        self.check()?;
        fs::create_dir_all(&self.folder)
    }

    /// Removes the folder, and those above it, `levels` in all, until one is not empty or cannot be removed.
    pub fn remove_empty(&self, levels: usize) {
        self.folder
            .ancestors()
            .take(levels)
            .filter(|folder| folder.starts_with(&self.boundary))
            .all(|folder| self.check_path(folder, true).is_ok() && fs::remove_dir(folder).is_ok());
    }

    /// Removes the temporary files of killed processes in the folder, as [`crate::remove_stray_files`] does.
    ///
    /// # Errors
    /// If a link leads out of the boundary, and if a file cannot be removed.
    pub fn remove_stray_files(&self) -> io::Result<Vec<PathBuf>> {
        self.check()?;
        remove_stray_files(self.folder_or_current())
    }

    /// Removes the old temporary files in the folder, as [`crate::remove_old_stray_files`] does.
    ///
    /// # Errors
    /// If a link leads out of the boundary, or the folder cannot be listed.
    pub fn remove_old_stray_files(&self, age: Duration) -> io::Result<()> {
        self.check()?;
        remove_old_stray_files(self.folder_or_current(), age)
    }

    /// A temporary file without a name in the folder, which is made if need be. It ends with the process.
    ///
    /// # Errors
    /// If a link leads out of the boundary, and if the file cannot be made.
    pub fn unnamed_file(&self) -> io::Result<File> {
        self.make()?;
        tempfile::tempfile_in(self.folder_or_current())
    }

    /// Moves the folder to the place of another, which is empty or not there.
    ///
    /// # Errors
    /// If a link leads out of the boundary, and if the folder cannot be moved.
    pub fn rename(&self, to: &Self) -> io::Result<()> {
        self.check()?;
        to.check()?;
        fs::rename(&self.folder, &to.folder)
    }

    fn folder_or_current(&self) -> &Path {
        or_current(&self.folder)
    }

    /// Refuses a path that leaves the boundary. `is_folder` tells the kind that is wanted.
    fn check_path(&self, path: &Path, is_folder: bool) -> Result<(), Outside> {
        let outside = |path: &Path, refusal| Outside {
            path: path.strip_prefix(&self.boundary).unwrap_or(path).into(),
            name: self.name,
            refusal,
        };
        let below = path
            .strip_prefix(&self.boundary)
            .map_err(|_| outside(path, Refusal::Path))?;
        let mut part = self.boundary.clone();
        for name in below.components() {
            if name == Component::ParentDir {
                return Err(outside(path, Refusal::Path));
            }
            part.push(name);
            if !part.is_symlink() {
                continue;
            }
            let is_folder = is_folder || part != path;
            let wanted = if is_folder { "folder" } else { "file" };
            if !self.leads_inside(&part) {
                return Err(outside(&part, Refusal::LinkOut(wanted)));
            }
            if self.access == Access::WithoutLinks {
                return Err(outside(&part, Refusal::Link(wanted)));
            }
        }
        match (&self.access, fs::canonicalize(path)) {
            (Access::Only(files, wanted), Ok(real)) if !is_folder && !files.contains(&real) => {
                let below = fs::canonicalize(or_current(&self.boundary))
                    .ok()
                    .and_then(|it| real.strip_prefix(it).ok().map(PathBuf::from));
                Err(outside(path, Refusal::Other(below.unwrap_or(real), wanted)))
            }
            _ => Ok(()),
        }
    }

    fn leads_inside(&self, link: &Path) -> bool {
        let boundary = fs::canonicalize(or_current(&self.boundary));
        boundary
            .and_then(|boundary| Ok((boundary, fs::canonicalize(link)?)))
            .is_ok_and(|(boundary, target)| target.starts_with(boundary))
    }
}

fn or_current(path: &Path) -> &Path {
    if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    }
}

impl RootFile {
    /// The file at `path`, with its folder as the boundary, which people call `name`.
    pub fn at(path: &Path, name: &'static str) -> Self {
        let folder = path.parent().unwrap_or(Path::new(""));
        Root::new(folder, name).file(path.file_name().unwrap_or_default())
    }

    /// The folder that the path is relative to.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The path in the folder of the root.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The whole path, for messages and for programs that take paths.
    pub fn path(&self) -> PathBuf {
        self.root.folder.join(&self.name)
    }

    /// The kind of the file; `None` if nothing is there, or only a link out of the boundary.
    pub fn kind(&self) -> Option<Kind> {
        Kind::at(&self.inside().ok()?)
    }

    /// Whether [`Root::only`] leaves the file out. A link counts as a file of its own.
    pub fn is_left_out(&self) -> bool {
        let Access::Only(files, _) = &self.root.access else {
            return false;
        };
        let path = self.path();
        let folder = path
            .parent()
            .and_then(|it| fs::canonicalize(or_current(it)).ok());
        let real = folder
            .zip(path.file_name())
            .map(|(folder, name)| folder.join(name));
        real.is_none_or(|real| !files.contains(&real))
    }

    /// Refuses a link that is read itself, if its folder is outside of the boundary, or [`Self::is_left_out`].
    ///
    /// # Errors
    /// [`Outside`] names the folder or the link.
    pub fn check_link(&self) -> Result<(), Outside> {
        let folder = self.name.parent().unwrap_or(Path::new(""));
        self.root.folder(folder).check()?;
        match self.root.wanted() {
            Some(wanted) if self.is_left_out() => Err(Outside {
                path: self.name.clone(),
                name: self.root.name,
                refusal: Refusal::Other(self.name.clone(), wanted),
            }),
            _ => Ok(()),
        }
    }

    /// Whether this is a regular file within the boundary.
    pub fn is_file(&self) -> bool {
        self.kind() == Some(Kind::File)
    }

    /// The length and the times of a regular file.
    ///
    /// # Errors
    /// If a link leads out of the boundary, and as [`crate::open`].
    pub fn metadata(&self) -> io::Result<Metadata> {
        let known = fs::metadata(self.inside()?)?;
        reading::ensure_regular(known.file_type())?;
        Ok(known)
    }

    /// Opens a regular file to read it.
    ///
    /// # Errors
    /// If a link leads out of the boundary, and as [`crate::open`].
    pub fn open(&self) -> io::Result<File> {
        reading::open(&self.inside()?)
    }

    /// Opens a regular file that is read piece by piece, if it has no more bytes than the limit.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn open_within(&self, limit: Limit) -> io::Result<File> {
        let file = self.open()?;
        limit.check(file.metadata()?.len())?;
        Ok(file)
    }

    /// Opens a regular file that is there, to read it and to write to it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_to_write(&self) -> io::Result<File> {
        reading::open_with(OpenOptions::new().read(true).write(true), &self.inside()?)
    }

    /// Opens a file, which is made if need be, to read it and to append to it.
    ///
    /// # Errors
    /// As [`Self::open`], and if the file cannot be made.
    pub fn open_to_append(&self) -> io::Result<File> {
        let path = self.to_write()?;
        let mut options = OpenOptions::new();
        reading::open_with(options.create(true).append(true).read(true), &path)
    }

    /// Makes and opens a file that must not exist, to write it.
    ///
    /// # Errors
    /// If a link leads out of the boundary, and if the file exists or cannot be made.
    pub fn create_new(&self) -> io::Result<File> {
        File::create_new(self.to_write()?)
    }

    /// The bytes of a regular file.
    ///
    /// # Errors
    /// As [`Self::open`], and if the file has more bytes than the limit.
    pub fn read(&self, limit: Limit) -> io::Result<Vec<u8>> {
        limit.read(self.open()?)
    }

    /// The text of a regular file.
    ///
    /// # Errors
    /// As [`Self::read`], and if the file is not UTF-8.
    pub fn read_to_string(&self, limit: Limit) -> io::Result<String> {
        reading::text_of(self.read(limit)?)
    }

    /// Replaces the file in one step, as [`crate::write_atomically`] does, and makes its folder if need be.
    ///
    /// # Errors
    /// If a link leads out of the boundary, and if the file cannot be written.
    pub fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        write_atomically(&self.to_write()?, bytes)
    }

    /// [`Self::replace`] without waiting for the disk, as [`crate::replace_unsynced`] does.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub fn replace_unsynced(&self, bytes: &[u8]) -> io::Result<()> {
        replace_unsynced(&self.to_write()?, bytes)
    }

    /// [`Self::replace`] by what `write` produces piece by piece.
    ///
    /// # Errors
    /// As [`Self::replace`], and the errors of `write`.
    pub fn replace_with<E: From<io::Error>>(
        &self,
        write: impl FnOnce(&mut File) -> Result<(), E>,
    ) -> Result<(), E> {
        write_atomically_with(&self.to_write()?, write)
    }

    /// Gives the file another path, and replaces what is there.
    ///
    /// # Errors
    /// If a link leads one of the paths out of its boundary, and if the file cannot be moved.
    pub fn rename(&self, to: &Self) -> io::Result<()> {
        fs::rename(self.inside()?, to.to_write()?)
    }

    /// Gives a regular file a second path, where nothing may be. Behind a link, it is the file that gets
    /// the path.
    ///
    /// # Errors
    /// As [`Self::open`], and if something is at the path, or the file system has no second paths.
    pub fn hard_link(&self, to: &Self) -> io::Result<()> {
        self.metadata()?;
        fs::hard_link(fs::canonicalize(self.inside()?)?, to.to_write()?)
    }

    /// Makes a file that must not exist by what `write` produces, as [`crate::write_new_atomically_with`]
    /// does, and makes its folder if need be.
    ///
    /// # Errors
    /// If a link leads out of the boundary, if the file exists or cannot be written, and the errors of
    /// `write`.
    pub fn write_new_with<E: From<io::Error>>(
        &self,
        write: impl FnOnce(&mut File) -> Result<(), E>,
    ) -> Result<(), E> {
        write_new_atomically_with(&self.to_write()?, write)
    }

    /// Removes the file, and tells whether it was there. A link is removed, not its target.
    ///
    /// # Errors
    /// If a link leads out of the boundary, or the file cannot be removed.
    pub fn remove(&self) -> io::Result<bool> {
        remove(&self.inside()?)
    }

    /// The path to write to, whose folder exists.
    fn to_write(&self) -> io::Result<PathBuf> {
        let path = self.inside()?;
        if let Some(folder) = path.parent()
            && !or_current(folder).is_dir()
        {
            fs::create_dir_all(folder)?;
        }
        Ok(path)
    }

    /// The path, if no link leads it out of the boundary.
    fn inside(&self) -> io::Result<PathBuf> {
        if self.name.components().next().is_none() {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        let path = self.path();
        self.root.check_path(&path, false)?;
        Ok(path)
    }
}

impl fmt::Display for RootFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path().display().fmt(f)
    }
}
