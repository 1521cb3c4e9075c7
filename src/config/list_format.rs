//! The formats of lists: their names, and the options of their readers.

use std::path::Path;

use clap::ValueEnum;
use urldb_interchange::{documents, table};

/// The name of the files with rules of Apache.
const HTACCESS: &str = ".htaccess";

/// The formats that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// SSD3 URI-Catalogue
    Ssd3,
    /// One URL per line
    List,
    /// A sitemap, or an index with its sitemaps beside it; gzip too
    Sitemap,
    /// A table (CSV, tabs, semicolons) whose first row names the columns
    Table,
    /// Output of `urldb export jsonl`
    Jsonl,
    /// Digests of files below --base, such as SHA256SUMS or registry.txt
    Sums,
    /// Checksums of TensorFlow Datasets
    Tfds,
    /// source.json and attestations.json of a Bazel registry
    BazelRegistry,
    /// conandata.yml of Conan recipes
    Conandata,
    /// sources.json of nixpkgs or Guix
    NixSources,
    /// formula.json of Homebrew
    BrewJson,
    /// Sources and Packages of a Debian archive below --base; gzip and xz too
    DebianSources,
    /// catalog.json of a schema store
    Schemastore,
    /// datapackage.json of a Data Package
    Datapackage,
    /// JSON-LD that describes files, such as Croissant and RO-Crate
    Jsonld,
    /// Metalink files (version 4, `.meta4`)
    Metalink,
    /// `*.dvc` files that import a URL
    Dvc,
    /// Output of `git annex whereis --json`
    Annex,
    /// Rules of a static site, `_redirects`
    Redirects,
    /// Redirects of Apache: the .htaccess files of a folder, whose URL is --base
    Htaccess,
    /// The files of a folder themselves, which are served below --base
    Files,
    /// A bag: fetch.txt and its manifests
    Bagit,
    /// A web archive
    Warc,
    /// The index of a web archive, which is read too if it lies beside it
    Cdxj,
    /// Links of Markdown, HTML, `.bib`, `.csl.json` and notebooks, or of a folder with them
    Links,
    /// Output of `lychee --dump`
    Lychee,
}

impl Format {
    /// Whether the names in its files are below a base URL.
    pub(crate) fn needs_base(self) -> bool {
        matches!(
            self,
            Self::Sums | Self::DebianSources | Self::Redirects | Self::Htaccess | Self::Files
        )
    }

    /// Whether a line is a rule for several URLs, and rules of all files depend on each other.
    pub(crate) fn has_rules(self) -> bool {
        self == Self::Htaccess
    }

    /// Whether the format reads a file of this name in a folder; `None` if it reads no folders.
    pub(crate) fn of_folder(self) -> Option<fn(&Path) -> bool> {
        match self {
            Self::Links => Some(|path| documents::kind_of(path).is_some()),
            Self::Htaccess => Some(|path| path.ends_with(HTACCESS)),
            Self::Files => Some(|_| true),
            _ => None,
        }
    }

    /// Whether conflict markers may be a part of its files.
    pub(crate) fn may_have_markers(self) -> bool {
        matches!(self, Self::Links | Self::Lychee | Self::Files)
    }

    /// Why `accept` cannot edit a value that has no place of its own; `place` is its line.
    pub(crate) fn not_edited(self, place: &str, stated: &str, new: &str) -> String {
        match self {
            Self::Files => format!("{place}: the file is the promise; change the file"),
            _ if self.has_rules() => {
                format!("{place}: accept cannot edit this format; change the line to {new}")
            }
            _ => {
                format!("{place}: accept cannot edit this value; write {new} in place of {stated}")
            }
        }
    }

    /// Whether `accept` can edit no value of its files.
    pub(crate) fn is_edited_by_hand(self) -> bool {
        self == Self::Files || self.has_rules()
    }

    /// The format of a file, by its name.
    pub(crate) fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        match (&*name, extension) {
            (HTACCESS, _) => Some(Self::Htaccess),
            ("conandata.yml", _) => Some(Self::Conandata),
            ("sources" | "packages", None) => Some(Self::DebianSources),
            ("sources.gz" | "sources.xz" | "packages.gz" | "packages.xz", _) => {
                Some(Self::DebianSources)
            }
            ("formula.json", _) => Some(Self::BrewJson),
            ("catalog.json", _) => Some(Self::Schemastore),
            ("datapackage.json", _) => Some(Self::Datapackage),
            ("ro-crate-metadata.json" | "croissant.json", _) | (_, Some("jsonld")) => {
                Some(Self::Jsonld)
            }
            (_, Some("meta4" | "metalink")) => Some(Self::Metalink),
            (_, Some("dvc")) => Some(Self::Dvc),
            (_, Some("json")) if name.starts_with("sources") => Some(Self::NixSources),
            ("_redirects", _) => Some(Self::Redirects),
            ("source.json" | "attestations.json", _) => Some(Self::BazelRegistry),
            ("checksums.tsv", _) => Some(Self::Tfds),
            (_, Some("txt")) if is_in(path, "url_checksums") => Some(Self::Tfds),
            ("checksums.txt" | "registry.txt", _)
            | (_, Some("sha256" | "sha512" | "sha384" | "sha1" | "md5")) => Some(Self::Sums),
            (_, Some("csv" | "tsv")) => Some(Self::Table),
            (_, Some("jsonl")) => Some(Self::Jsonl),
            (_, Some("uric")) => Some(Self::Ssd3),
            _ if name.contains("sums") => Some(Self::Sums),
            _ => documents::kind_of(path).map(|_| Self::Links),
        }
    }
}

/// Whether the folder of a path has the name.
fn is_in(path: &Path, folder: &str) -> bool {
    path.parent().is_some_and(|parent| parent.ends_with(folder))
}

/// `--base`: a folder's URL, or a scheme alone.
pub(crate) fn parse_base(text: &str) -> Result<String, String> {
    if matches!(text, "http://" | "https://") {
        return Ok(text.to_owned());
    }
    let url = if text.ends_with('/') {
        text.to_owned()
    } else {
        format!("{text}/")
    };
    let identity = urldb_canon::identify(&url).map_err(|error| error.to_string())?;
    if identity.path.contains('?') {
        return Err("it has a query, which no folder has".to_owned());
    }
    Ok(identity.to_string())
}

/// Whether a column of a table can have this name.
pub(crate) fn is_column(key: &str) -> bool {
    table::is_column(key)
}

pub(crate) fn parse_column(text: &str) -> Result<(String, String), String> {
    let (key, name) = text
        .split_once('=')
        .ok_or("write KEY=NAME, for example url=Link")?;
    if !is_column(key) {
        return Err(format!("{key} is nothing that a column can hold"));
    }
    Ok((key.to_owned(), name.to_owned()))
}
