//! `*.dvc` files of DVC that import a URL (`dvc import-url`).

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use urldb_format::{Algorithm, Digest};

use crate::digest;
use crate::input::read_document;
use crate::model::{ListItem, Location, Notice, ReadError, Sink};
use crate::sums::notice;
use crate::yaml::{self, Child, Mapping, Node, Scalar};

/// The end of a digest of a folder.
const FOLDER: &str = ".dir";

/// Reads the URLs of `deps`, which promise `size` and `md5` of the first of `outs`.
///
/// Left out are data without a URL (`no-url`), files of this machine (`local`) and of a repository (`git`), folders
/// (`folder`), the results of a command (`command`), and each `md5` without `hash: md5`, since older versions of DVC
/// computed it from text with other line ends (`text-digest`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no YAML, is nested too deeply, or has aliases, which DVC does not write;
/// [`ReadError::Input`] if it is larger than 256 KiB.
pub fn read(input: impl Read, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let text = read_document(input, yaml::MAX_FILE, file)?;
    let content = yaml::parse(&text, file)?;
    if let Some(line) = content.alias {
        return Err(ReadError::Malformed {
            location: Location::line(file, line),
            message: "an alias, which DVC does not write".to_owned(),
        });
    }
    let mut reader = Reader { file, sink };
    let mut documents = content.documents.iter();
    documents.try_for_each(|document| reader.stage(document))
}

struct Reader<'a, 'b> {
    file: &'a Arc<str>,
    sink: &'a mut Sink<'b>,
}

/// The promise of a file: its length and its digest, each with its place.
#[derive(Default)]
struct Promise {
    length: Option<(u64, Option<Range<u64>>)>,
    digest: Option<(Digest, Option<Range<u64>>)>,
}

impl Reader<'_, '_> {
    fn stage(&mut self, node: &Node) -> Result<(), ReadError> {
        let Some(stage) = node.mapping() else {
            let message = "the file is no mapping";
            let notice = Notice::refused(self.at(1), "bad-value", message);
            return Ok((self.sink)(notice.into())?);
        };
        let deps = list(stage, "deps");
        if deps.is_empty() {
            let message = "the data have no URL";
            return self.leave_out(stage.line, "no-url", message);
        }
        if stage.get("cmd").is_some() {
            return self.leave_out(stage.line, "command", "a command made the data");
        }
        let outs = list(stage, "outs");
        let promise = match outs.first().and_then(|out| out.node.mapping()) {
            Some(out) if deps.len() == 1 => self.promise(out)?,
            _ => Some(Promise::default()),
        };
        let Some(promise) = promise else {
            return Ok(());
        };
        deps.iter().try_for_each(|dep| self.dep(dep, &promise))
    }

    fn dep(&mut self, dep: &Child, promise: &Promise) -> Result<(), ReadError> {
        let dep = dep.node.mapping();
        let path = dep.and_then(|dep| text(dep, "path"));
        let (Some(dep), Some(path)) = (dep, path) else {
            let notice = Notice::refused(self.at(1), "bad-value", "an entry of `deps` has no path");
            return Ok((self.sink)(notice.into())?);
        };
        if dep.get("repo").is_some() {
            return self.leave_out(path.line, "git", "the data are in a git repository");
        }
        if !path.text.contains("://") {
            return self.leave_out(path.line, "local", "the data are on this machine");
        }
        let item = ListItem::new(self.at(path.line), path.text.trim()).map(|mut item| {
            if let Some((length, place)) = &promise.length {
                item.set_length(*length, place.clone());
            }
            if let Some((digest, place)) = &promise.digest {
                item.set_digest(digest, place.clone());
            }
            item
        });
        Ok((self.sink)(item.into())?)
    }

    /// The promise of `outs`; `None` if a notice says why there is none.
    fn promise(&mut self, out: &Mapping) -> Result<Option<Promise>, ReadError> {
        let mut promise = Promise::default();
        let md5 = text(out, "md5");
        if let Some(md5) = md5.filter(|md5| md5.text.ends_with(FOLDER)) {
            self.leave_out(md5.line, "folder", "the digest is that of a folder")?;
            return Ok(None);
        }
        if let Some(size) = text(out, "size") {
            let Ok(length) = size.text.parse() else {
                let message = "the size is no number of bytes";
                let notice = Notice::refused(self.at(size.line), "bad-length", message);
                (self.sink)(notice.into())?;
                return Ok(None);
            };
            promise.length = Some((length, size.span.clone()));
        }
        let Some(md5) = md5 else {
            return Ok(Some(promise));
        };
        if text(out, "hash").is_none_or(|hash| hash.text != "md5") {
            let message = "older versions of DVC changed line ends before they computed the digest";
            self.leave_out(md5.line, "text-digest", message)?;
            return Ok(Some(promise));
        }
        match digest::parse(&md5.text, Some(Algorithm::Md5)) {
            Ok(digest) => promise.digest = Some((digest, md5.span.clone())),
            Err(unknown) => {
                let notice = notice(self.at(md5.line), &unknown);
                (self.sink)(notice.into())?;
                return Ok(None);
            }
        }
        Ok(Some(promise))
    }

    fn at(&self, line: u64) -> Location {
        Location::line(self.file, line)
    }

    fn leave_out(&mut self, line: u64, code: &str, why: &str) -> Result<(), ReadError> {
        let notice = Notice::left_out(self.at(line), code, why);
        Ok((self.sink)(notice.into())?)
    }
}

/// The entries of a list; empty if the value is none.
fn list<'a>(mapping: &'a Mapping, key: &str) -> &'a [Child] {
    match mapping.get(key).map(|child| &*child.node) {
        Some(Node::List(items)) => items,
        _ => &[],
    }
}

/// The value of a key, unless it is empty.
fn text<'a>(mapping: &'a Mapping, key: &str) -> Option<&'a Scalar> {
    let scalar = mapping.get(key)?.node.text();
    scalar.filter(|scalar| !scalar.is_null())
}
